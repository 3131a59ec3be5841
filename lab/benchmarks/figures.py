"""Figures to the last digit, and a fingerprint of all that is learned: has a change changed any result?

    python -m lab.benchmarks.figures [DATA …] --json before.json
    python -m lab.benchmarks.figures [DATA …] --against before.json

DATA are folders with a train and a test split; the built-in sample is always among them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import labelwood as lw
from labelwood.groups import merged_labels, random_groups

MODELS: dict[str, Callable[[], Any]] = {
    "centroid": lw.CentroidClassifier,
    "tree": lw.TreeClassifier,
    "three trees": lambda: lw.TreeClassifier(n_trees=3, max_leaf=100, seed=7),
    "interpolated": lambda: lw.TreeClassifier(tree="interpolated", lam=1.5, max_leaf=50),
    "copies": lambda: lw.TreeClassifier(tree="balanced", max_leaf=100, copies=2),
    "beam negatives": lambda: lw.TreeClassifier(negatives="both", precision="float16", max_passes=2),
    "softmax tree": lambda: lw.SoftmaxTreeClassifier(dim=32, epochs=3),
    "softmax interpolated": lambda: lw.SoftmaxTreeClassifier(tree="interpolated", dim=16, epochs=2),
}


def figures(name: str, train: lw.Dataset, test: lw.Dataset) -> dict[str, Any]:
    """Of each model its metrics and its fingerprint."""
    found: dict[str, Any] = {}
    if train.texts is None:
        X, queries = train.X, test.X
    else:
        words = lw.TextVectorizer().fit(train.texts)
        X, queries = words.transform(train.texts), words.transform(test.texts)
        tagger = lw.TextClassifier().fit_dataset(train)
        found["texts"] = tagger.evaluate(test) | {"learned": fingerprint(tagger)}
    Y = test.align(train.labels).Y
    for kind, make in MODELS.items():
        model = make().fit(X, train.Y)
        top = model.predict_topk(queries, 5)
        found[kind] = lw.metrics.evaluate(top, Y, ks=(1, 5)) | {"learned": fingerprint(model), "answers": digest(top)}
    groups = random_groups(X.shape[0], size=4, seed=0)
    shared = lw.Eagle().fit_transform(X, groups, merged_labels(train.Y, groups))
    found["EAGLE"] = {"learned": hashed([shared.indptr, shared.indices, shared.data])}
    print(f"{name}: {len(found)} models", file=sys.stderr, flush=True)
    return found


def fingerprint(model: Any) -> str:
    """A hash of everything that `save` would write."""
    return hashed(arrays_of(model.state()))


def arrays_of(state: Any) -> list[Any]:
    own = [array for _, array in sorted(state.arrays.items())]
    own += [np.array(names.to_pylist()) for _, names in sorted(state.names.items())]
    return own + [array for _, part in sorted(state.parts.items()) for array in arrays_of(part)]


def digest(top: lw.TopK) -> str:
    return hashed([top.ids, top.scores])


def hashed(arrays: list[Any]) -> str:
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array).tobytes())
    return whole.hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", type=Path)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--against", type=Path, help="figures of before; a difference is an error")
    given = parser.parse_args()
    found = {"sample": figures("sample", *lw.data.sample())}
    for folder in given.data:
        found[folder.name] = figures(folder.name, *(lw.read(folder, split=split) for split in ("train", "test")))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    if given.against:
        before = json.loads(given.against.read_text("utf-8"))
        changed = [
            f"{data}, {kind}" for data, kinds in found.items() for kind in kinds if kinds[kind] != before[data][kind]
        ]
        print(f"{sum(map(len, found.values()))} results, {len(changed)} of them changed {'; '.join(changed)}")
        sys.exit(bool(changed))


if __name__ == "__main__":
    main()
