"""Trains and measures runs in a separate process: ``python -m labelwood.tuning.worker WORK``.

It reads one line of JSON per run and writes one line of JSON. It ends at the end of its input, so it finishes at most
one run after its parent process has ended.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.errors import LabelwoodError
from labelwood.labels import label_frequencies
from labelwood.linear.classifier import TreeClassifier
from labelwood.metrics import apply_filter, evaluate, extra_candidates
from labelwood.trees import LabelTree, expected_depth, interpolated
from labelwood.tuning.folder import map_matrix
from labelwood.tuning.grid import INTERPOLATED, Run

KS = (1, 3, 5)


def classifier(run: Run) -> TreeClassifier:
    """The run's model, unfitted, with one thread.

    Example:
        >>> classifier(Run("plain", 0.5, 1))
        TreeClassifier(tree='interpolated', lam=0.5, seed=1, n_threads=1)
    """
    params: dict[str, Any] = {"tree": INTERPOLATED, **run.model, "seed": run.seed, "n_threads": 1}
    if run.lam is None:
        return TreeClassifier(**params)
    model = TreeClassifier(**params, lam=run.lam)
    if not run.tree:
        return model
    options = {"arity": model.arity or 2, "max_leaf": model.max_leaf, **run.tree, "lam": run.lam, "n_threads": 1}
    return model.set_params(tree=lambda vectors, Y, seed: interpolated(vectors, Y, seed=seed, **options))


def evaluate_model(model: TreeClassifier, X: Any, Y: Any, filters: NDArray[np.int64] | None = None) -> dict[str, float]:
    """Measures on held-out rows a model's precision, the depth of its answers and the costs of its searches.

    Example:
        >>> model = TreeClassifier(tree="balanced", arity=2, max_leaf=1).fit(np.eye(8), np.eye(8))
        >>> found = evaluate_model(model, np.eye(8), np.eye(8))
        >>> found["P@1"], found["depth@1"]
        (100.0, 3.0)
    """
    extra = 0 if filters is None else extra_candidates(filters, X.shape[0])
    top = model.predict_topk(X, max(KS) + extra)
    precision = evaluate(top, Y, ks=KS, metrics=("P",), filters=filters, n_threads=1)
    answers = top if filters is None else apply_filter(top, filters)
    depths = [expected_depth(trained.tree, answers, KS) for trained in model.trees_]
    mean_depths = {name: float(np.mean([depth[name] for depth in depths])) for name in depths[0]}
    costs = {f"search_{name}": cost for name, cost in model.search_costs(X, k=max(KS)).items()}
    return {**precision, **mean_depths, **costs}


def shape_of(trees: list[LabelTree], frequencies: NDArray[np.int64]) -> dict[str, list[float]]:
    """The share of labels at each depth from 0, with and without weights by frequency; means over trees.

    Example:
        >>> shape_of([LabelTree.from_nested([[0], [[1], [2]]])], np.array([2, 1, 1]))["occurrences"]
        [0.0, 0.5, 0.5]
    """
    depths = np.concatenate([tree.label_depths for tree in trees])
    weights = {"labels": np.ones(len(depths)), "occurrences": np.tile(frequencies, len(trees)).astype(float)}
    return {name: (np.bincount(depths, each) / max(each.sum(), 1)).tolist() for name, each in weights.items()}


def execute(run: Run, work: Path, model_path: Path) -> dict[str, Any]:
    """Trains a run's model on the data in the work folder, saves it and returns its figures."""
    X, Y = map_matrix(work, "X_train"), map_matrix(work, "Y_train")
    started = time.process_time()
    model = classifier(run).fit(X, Y)
    seconds = time.process_time() - started
    model.save(model_path)
    filters = work / "filters.npy"
    results = evaluate_model(
        model,
        map_matrix(work, "X_held_out"),
        map_matrix(work, "Y_held_out"),
        np.load(filters, allow_pickle=False) if filters.exists() else None,
    )
    size = sum(file.stat().st_size for file in model_path.iterdir())
    shape = shape_of([trained.tree for trained in model.trees_], label_frequencies(Y))
    return {"results": {**results, "train_cpu_s": seconds, "model_bytes": size}, "shape": shape}


def main() -> None:
    """Executes the runs from standard input until there are no more."""
    work = Path(sys.argv[1])
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = execute(Run(**job["run"]), work, Path(job["model"]))
        except LabelwoodError as e:
            answer = {"error": str(e)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
