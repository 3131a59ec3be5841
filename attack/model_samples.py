"""A small saved model of every kind, and rows to ask each for answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

N_LABELS, N_FEATURES = 24, 30
WORDS = [f"word{i}" for i in range(40)]


def rows(seed: int = 0, n_rows: int = 120) -> tuple[Any, Any]:
    """Rows that lean towards the features of their labels."""
    rng = np.random.default_rng(seed)
    prototypes = rng.random((N_LABELS, N_FEATURES)) * (rng.random((N_LABELS, N_FEATURES)) < 0.3)
    Y = np.zeros((n_rows, N_LABELS), np.float32)
    for i, row in enumerate(Y):
        row[[i % N_LABELS, *rng.choice(N_LABELS, 1)]] = 1
    X = Y @ prototypes + rng.random((n_rows, N_FEATURES)) * (rng.random((n_rows, N_FEATURES)) < 0.1)
    return sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y)


def texts(seed: int = 0, n_rows: int = 120) -> tuple[list[str], Any, list[str]]:
    """Texts one word of which says the label, rows × labels, and texts of the labels."""
    rng = np.random.default_rng(seed)
    of_row = np.arange(n_rows) % N_LABELS
    made = [f"q{label} {' '.join(rng.choice(WORDS, 3))}" for label in of_row]
    Y = sparse.csr_array((np.ones(n_rows, np.float32), (np.arange(n_rows), of_row)), shape=(n_rows, N_LABELS))
    return made, Y, [f"label{i} q{i}" for i in range(N_LABELS)]


def tree(folder: Path) -> Any:
    import labelwood as lw

    return lw.TreeClassifier(tree="balanced", n_trees=2, arity=2, max_leaf=4, copies=2, seed=1).fit(*rows())


def one_vs_rest(folder: Path) -> Any:
    import labelwood as lw

    return lw.OneVsRest().fit(*rows())


def centroid(folder: Path) -> Any:
    import labelwood as lw

    return lw.CentroidClassifier().fit(*rows())


def softmax(folder: Path) -> Any:
    import labelwood as lw

    return lw.SoftmaxTreeClassifier(dim=8, epochs=2).fit(*rows())


def softmax_one_vs_rest(folder: Path) -> Any:
    import labelwood as lw

    return lw.SoftmaxTreeClassifier(dim=8, epochs=2, loss="one-vs-rest").fit(*rows())


def softmax_compressed(folder: Path) -> Any:
    import labelwood as lw

    return lw.SoftmaxTreeClassifier(dim=8, epochs=2, tree="interpolated").fit(*rows()).compressed()


def text(folder: Path) -> Any:
    import labelwood as lw

    words = lw.JoinedVectorizer(
        parts=[lw.TextVectorizer(), lw.TextVectorizer(analyzer="char_wb", ngrams=(3, 4), n_buckets=50)]
    )
    tree = lw.TreeClassifier(tree="balanced", max_leaf=4)
    made, Y, _ = texts()
    return lw.TextClassifier(model=tree, vectorizer=words).fit(made, [[f"n{label}"] for label in Y.indices])


def grouped(folder: Path) -> Any:
    import labelwood as lw

    made, Y, _ = texts()
    groups = np.arange(len(made)) // 3
    names = [[f"n{label}" for label in Y.indices[groups == group]] for group in range(groups.max() + 1)]
    return lw.TextClassifier(model="centroid").fit_grouped(made, groups, names)


def multi_instance(folder: Path) -> Any:
    from labelwood.groups import MultiInstanceClassifier

    X, Y = rows()
    groups = np.arange(X.shape[0]) // 3
    counts = Y[::3] + Y[1::3] + Y[2::3]
    embeddings = np.random.default_rng(0).random((N_LABELS, N_FEATURES)).astype(np.float32)
    model = MultiInstanceClassifier(hidden=5, concepts=2, epochs=1, label_embeddings=embeddings, device="cpu")
    return model.fit((X, groups), sparse.csr_array(counts))


def prime_tiny(folder: Path) -> Any:
    return _prime("tiny:16")


def prime_bert(folder: Path) -> Any:
    from tests.dual_encoder.samples import write_checkpoint

    return _prime(write_checkpoint(folder / "checkpoint"))


def fused(folder: Path) -> Any:
    import labelwood as lw

    members = [lw.TextClassifier(model="centroid"), lw.TextClassifier(model="one-vs-rest")]
    made, Y, label_texts = texts()
    return lw.FusedClassifier(members=members, held_out=0.3).fit(made, Y, label_texts)


def _prime(checkpoint: str) -> Any:
    from tests.dual_encoder.samples import changed

    import labelwood as lw

    settings = changed(
        encoder={"checkpoint": checkpoint}, prototypes={"free_vectors": 8, "feedforward": 16}, training={"epochs": 1}
    )
    return lw.PrimeClassifier(settings=settings, n_threads=1).fit(*texts())


MADE: dict[str, Callable[[Path], Any]] = {
    "tree": tree,
    "one-vs-rest": one_vs_rest,
    "centroid": centroid,
    "softmax-tree": softmax,
    "softmax-one-vs-rest": softmax_one_vs_rest,
    "softmax-compressed": softmax_compressed,
    "text": text,
    "grouped": grouped,
    "multi-instance": multi_instance,
    "prime-tiny": prime_tiny,
    "prime-bert": prime_bert,
    "fused": fused,
}
READ_TEXTS = {"text", "grouped", "prime-tiny", "prime-bert", "fused"}


def save_all(folder: Path) -> None:
    """Saves a model of every kind, and the answers of each."""
    for name, make in MADE.items():
        make(folder).save(folder / name)


def questions(name: str) -> Any:
    """Rows for a model."""
    return texts(seed=1, n_rows=7)[0] if name in READ_TEXTS else rows(seed=1, n_rows=7)[0]
