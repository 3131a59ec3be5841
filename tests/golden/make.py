"""Makes the golden models: one small saved model of each kind, with what it answers.

    python -m tests.golden.make tests/golden/format-1 [NAME …]

Every format of models gets a folder once, made by the version that introduced it, and so does every new kind.
`test_golden.py` checks that all of them load and answer the same for ever, so a folder that is there is never made
anew.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import labelwood as lw
from labelwood.groups import merged_labels

K = 4
SHOWN = 20  # rows whose answers are kept
QUICK = {
    "batches": {"size": 16, "random_epochs": 1},
    "training": {"epochs": 20, "learning_rate": 0.01, "warm_up": 1.0},
    "classifiers": {"epochs": 2},
}


def rows() -> lw.Dataset:
    """Sixty definitions and their twelve labels, from the built-in sample."""
    whole = lw.data.sample()[0]
    frequent = np.argsort(-lw.labels.label_frequencies(whole.Y), kind="stable")[20:32]
    numbers = np.flatnonzero(np.diff(whole.Y[:, frequent].indptr))[::40][:60]
    names = [whole.labels[int(label)] for label in frequent]
    return lw.Dataset(
        texts=whole.texts.take(numbers),
        Y=whole.Y[numbers][:, frequent],
        labels=names,
        label_texts=whole.label_texts.take(frequent),
    )


def features(data: lw.Dataset) -> tuple[Any, Any]:
    """Sparse and dense features of the same rows."""
    X = lw.TextVectorizer().fit_transform(data.texts)
    random = np.random.default_rng(0).standard_normal((X.shape[1], 8)).astype(np.float32)
    return X, np.ascontiguousarray((X @ random).astype(np.float32))


def write_encoder(folder: Path, data: lw.Dataset) -> Path:
    """A BERT of eight numbers that knows the words of the rows and labels."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    texts = [*data.texts.to_pylist(), *data.label_texts.to_pylist()]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *sorted({word for text in texts for word in text.lower().split()})]
    rules = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    rules.normalizer, rules.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.WhitespaceSplit()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    rules.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    PreTrainedTokenizerFast(tokenizer_object=rules, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(words), max_position_embeddings=64, **sizes)).save_pretrained(folder)
    return folder


def makers(data: lw.Dataset, encoder: Path) -> dict[str, tuple[str, Callable[[], Any]]]:
    """Of each model by its name what it reads, and how it is made."""
    texts, Y = data.texts, data.Y
    X, dense = features(data)
    groups = np.arange(len(data)) // 3
    group_labels = merged_labels(Y, groups)
    small: dict[str, Any] = {"arity": 2, "max_leaf": 2}
    joined = lw.JoinedVectorizer(
        parts=[lw.TextVectorizer(), lw.TextVectorizer(analyzer="char", ngrams=(3, 3), max_features=300)]
    )
    prime = lw.PrimeClassifier(settings={"encoder": {"checkpoint": str(encoder), "max_tokens": 24}, **QUICK})
    tiny = lw.PrimeClassifier(settings={"encoder": {"checkpoint": "tiny"}, **QUICK})
    pair = [lw.TextClassifier(), prime]
    bags = (dense, groups)
    return {
        "centroid": ("sparse", lambda: lw.CentroidClassifier().fit(X, Y)),
        "centroid-dense": ("dense", lambda: lw.CentroidClassifier().fit(dense, Y)),
        "tree": ("sparse", lambda: lw.TreeClassifier().fit(X, Y)),
        "tree-dense": ("dense", lambda: lw.TreeClassifier(tree="balanced", **small).fit(dense, Y)),
        "tree-copies": ("sparse", lambda: lw.TreeClassifier(n_trees=3, copies=2, merge="mean", **small).fit(X, Y)),
        "tree-calibrated": (
            "sparse",
            lambda: (
                lw.TreeClassifier(tree="interpolated", max_leaf=1, precision="float32")
                .fit(X, Y)
                .calibrate(X, k=K, loss=0.1)
            ),
        ),
        "one-vs-rest": ("sparse", lambda: lw.OneVsRest().fit(X, Y)),
        "softmax-tree": ("sparse", lambda: lw.SoftmaxTreeClassifier(dim=8, epochs=30).fit(X, Y)),
        "softmax-tree-compressed": (
            "sparse",
            lambda: lw.SoftmaxTreeClassifier(dim=8, tree="interpolated").fit(X, Y).compressed(max_features=100),
        ),
        "softmax-one-vs-rest": ("sparse", lambda: lw.SoftmaxTreeClassifier(dim=8, loss="one-vs-rest").fit(X, Y)),
        "multi-instance": ("dense", lambda: _network(epochs=60, learning_rate=0.01, hidden=16).fit(bags, group_labels)),
        "multi-instance-attending": (
            "dense",
            lambda: _network(
                epochs=60,
                learning_rate=0.01,
                hidden=16,
                label_embeddings=lw.Eagle().fit(dense, groups, group_labels).label_embeddings_,
            ).fit(bags, group_labels),
        ),
        "prime": ("texts", lambda: prime.fit(texts, Y, data.label_texts)),
        "prime-tiny": (
            "texts",
            lambda: tiny.fit(texts, Y, data.label_texts).set_params(probes=2).fit_classifiers(texts, Y),
        ),
        "fused": ("texts", lambda: lw.FusedClassifier(members=pair).fit(texts, Y, data.label_texts)),
        "grouped": (
            "sparse",
            lambda: lw.GroupedClassifier(eagle=lw.Eagle(iterations=5)).fit(X, group_labels, groups=groups),
        ),
        "text-tree": ("texts", lambda: lw.TextClassifier().fit_dataset(data)),
        "text-joined": ("texts", lambda: lw.TextClassifier(model="one-vs-rest", vectorizer=joined).fit_dataset(data)),
        "text-groups": ("texts", lambda: lw.TextClassifier().fit_grouped(texts, groups, group_labels)),
        "text-prime": ("texts", lambda: lw.TextClassifier(model=prime).fit_dataset(data)),
        "text-fused": ("texts", lambda: lw.TextClassifier(model=lw.FusedClassifier(members=pair)).fit_dataset(data)),
    }


def answers(model: Any, given: Any) -> dict[str, Any]:
    """What a model says, as plain lists: the best labels, and those of two labels alone."""
    two = {"include": [model.labels_[1], model.labels_[5]]} if hasattr(model, "labels_") else {"include": [1, 5]}
    found = {}
    for name, how in (("all", {}), ("two labels", two)):
        top = model.predict_topk(given[:SHOWN], K, **how)
        found[name] = {"ids": top.ids.tolist(), "scores": [[_plain(s) for s in row] for row in top.scores.tolist()]}
    return found


def _plain(score: float) -> float | None:
    return None if score == -np.inf else score


def _network(**params: Any) -> Any:
    from labelwood.groups.multi_instance import MultiInstanceClassifier

    return MultiInstanceClassifier(n_threads=1, **params)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    data = rows()
    X, dense = features(data)
    (folder / "texts.json").write_text(json.dumps(data.texts.to_pylist(), indent=0) + "\n", "utf-8")
    sparse.save_npz(folder / "sparse.npz", X)
    np.save(folder / "dense.npy", dense, allow_pickle=False)
    given = {"texts": data.texts.to_pylist(), "sparse": X, "dense": dense}
    told: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        made = makers(data, write_encoder(Path(place, "encoder"), data))
        made = {name: made[name] for name in sys.argv[2:] or made}
        for name, (_, make) in made.items():
            make().save(folder / name)
    for name, (reads, _) in made.items():
        told[name] = {"reads": reads, **answers(lw.load(folder / name), given[reads])}
    (folder / "answers.json").write_text(json.dumps(told) + "\n", "utf-8")


if __name__ == "__main__":
    main()
