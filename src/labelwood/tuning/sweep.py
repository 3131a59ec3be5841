"""Trains and measures every λ with every seed, and saves each result as soon as it is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from labelwood.arrays.rows import Sparse, as_features, as_labels
from labelwood.arrays.threads import thread_count
from labelwood.errors import LabelwoodError, ParameterError
from labelwood.labels import labels_to_cover
from labelwood.tuning import latency, workers
from labelwood.tuning.folder import ReportFolder, fingerprint, open_folder, store_matrix, write_json
from labelwood.tuning.grid import INTERPOLATED, Run, check_lams, default_lams, default_max_leaf, runs_of, settings_of
from labelwood.tuning.summary import FIGURES, Point, recommend, write_table

_CURVE = 200  # points of a saved imbalance curve


def sweep(
    X_train: Any,
    Y_train: Any,
    X_held_out: Any,
    Y_held_out: Any,
    report: str | PathLike[str],
    *,
    lams: Iterable[float] | None = None,
    seeds: int = 3,
    variants: Mapping[str, Mapping[str, Any]] | None = None,
    filters: Any = None,
    jobs: int | None = None,
    latency_rows: int = 1000,
    latency_rounds: int = 5,
    budget_ms: float | None = None,
    restart: bool = False,
    progress: bool = False,
) -> dict[str, Any]:
    """Measures how λ changes precision, depth, latency and size on held-out rows; writes and returns a summary.

    A second call trains only what is missing, so you can add values of λ, seeds and variants. Other rows, or other
    settings for the same variant name, are an error unless `restart` empties the folder first.

    Parameters:
        X_train, Y_train, X_held_out, Y_held_out: Features and labels, sparse or dense.
        report: Folder for tradeoff.json, tradeoff.csv, and runs/ with a file for each training.
        lams: The values of λ; `default_lams()` if not given.
        seeds: How many trainings each λ gets, with seeds from 0.
        variants: Parameters of `TreeClassifier` by variant name. `tree` names a builder, "interpolated" if not given;
            other builders have no λ and run once per seed. `tree_options` are passed to
            `labelwood.trees.interpolated`, such as rule or midpoint. λ is recommended for the first variant. If no
            variants are given, there is one, named "interpolated", with `default_max_leaf`.
        filters: Pairs (held-out row, label) that must not count.
        jobs: How many trainings run at a time, each with one thread; one for each core if not given.
        latency_rows, latency_rounds: How many rows the latency is measured on, and how often.
        budget_ms: If given, the most precise λ whose median latency is within this budget is also recommended.
        restart: Whether to empty the folder first.
        progress: Whether to show progress on a terminal.

    Example:
        >>> import tempfile, numpy as np
        >>> X = np.eye(4).repeat(5, axis=0)
        >>> found = sweep(X, X, np.eye(4), np.eye(4), tempfile.mkdtemp() + "/report", lams=[0], seeds=1, jobs=1)
        >>> found["points"][0]["mean"]["P@1"], found["recommended"]["same_precision"]["lam"]
        (100.0, 0.0)
    """
    if seeds < 1 or latency_rows < 1 or latency_rounds < 1 or (jobs is not None and jobs < 1):
        raise ParameterError("seeds, jobs, latency_rows and latency_rounds must be at least 1")
    parts = _as_matrices(X_train, Y_train, X_held_out, Y_held_out, filters)
    if variants is None:
        variants = {INTERPOLATED: {"max_leaf": default_max_leaf(parts["Y_train"].n_cols)}}
    settings = settings_of(variants)
    runs = runs_of(settings, check_lams(default_lams() if lams is None else lams), range(seeds))
    origin = _origin(parts, latency_rows, latency_rounds)
    with open_folder(Path(report), origin, settings, restart=restart) as folder:
        trained = _train(folder, runs, parts, jobs or thread_count(None), progress)
        _measure_latency(folder, runs, parts["X_held_out"], origin["latency"], progress)
        summary = _summary(folder, runs, parts, budget_ms)
        write_json(folder.path / "tradeoff.json", summary)
        write_table(folder.path / "tradeoff.csv", [Point.from_plain(point) for point in summary["points"]])
        folder.clean()
    return {**summary, "trained": trained}


def _as_matrices(X_train: Any, Y_train: Any, X_held_out: Any, Y_held_out: Any, filters: Any) -> dict[str, Any]:
    """Checks the arguments and converts them to the matrices that native code reads."""
    parts: dict[str, Any] = {"X_train": as_features(X_train), "X_held_out": as_features(X_held_out, name="X_held_out")}
    sizes = {name: X.n_rows if isinstance(X, Sparse) else len(X) for name, X in parts.items()}
    parts["Y_train"] = as_labels(Y_train, sizes["X_train"])
    parts["Y_held_out"] = as_labels(Y_held_out, sizes["X_held_out"], "Y_held_out")
    for which in ("train", "held_out"):
        if len(parts[f"Y_{which}"].indices) == 0:
            words = "training" if which == "train" else "held-out"
            raise LabelwoodError(f"no {words} row has a label: give more rows, or hold out another share of them")
    parts["filters"] = None if filters is None else np.asarray(filters, np.int64).reshape(-1, 2)
    return parts


def _origin(parts: Mapping[str, Any], rows: int, rounds: int) -> dict[str, Any]:
    from labelwood import __version__

    held_out = [parts["X_held_out"], parts["Y_held_out"], *([] if parts["filters"] is None else [parts["filters"]])]
    return {
        "training_rows": fingerprint(parts["X_train"], parts["Y_train"]),
        "held_out_rows": fingerprint(*held_out),
        "latency": {"rows": rows, "rounds": rounds},
        "labelwood": __version__,
    }


def _train(folder: ReportFolder, runs: Sequence[Run], parts: Mapping[str, Any], jobs: int, progress: bool) -> int:
    """Trains the missing runs: those without figures, and those with neither a latency nor a model to measure."""
    missing = [run for run in runs if not _is_trained(folder, run)]
    if not missing:
        return 0
    for name, matrix in parts.items():
        if name != "filters":
            store_matrix(folder.work, name, matrix)
        elif matrix is not None:
            np.save(folder.work / "filters.npy", matrix)
    answers = workers.train_in_workers(folder, missing, jobs)
    with _progress_bar("training", len(missing), "run", progress) as bar, closing(answers):  # ends the processes
        for run, figures in answers:
            folder.write_run(run, {**figures, "latency": None})
            bar.update()
    return len(missing)


def _is_trained(folder: ReportFolder, run: Run) -> bool:
    from labelwood.store import is_model

    facts = folder.read_run(run)
    return facts is not None and (facts["latency"] is not None or is_model(folder.model(run)))


def _measure_latency(folder: ReportFolder, runs: Sequence[Run], X: Any, how: Mapping[str, int], progress: bool) -> None:
    """Measures the latency of runs that have none yet, while nothing else is running."""
    from labelwood.contract.kinds import load

    known = [(run, facts) for run in runs if (facts := folder.read_run(run)) is not None and facts["latency"] is None]
    if not known:
        return
    models = [load(folder.model(run), verify=False) for run, _ in known]
    with _progress_bar("latency", len(models) * how["rounds"], "turn", progress) as bar:
        rows = X.to_scipy() if isinstance(X, Sparse) else X
        found = latency.measure(models, rows, **how, on_model=bar.update)
    for (run, facts), times in zip(known, found, strict=True):
        folder.write_run(run, {**facts, "latency": times})


def _summary(
    folder: ReportFolder, runs: Sequence[Run], parts: Mapping[str, Any], budget_ms: float | None
) -> dict[str, Any]:
    described = []
    groups: dict[tuple[str, float | None], list[dict[str, Any]]] = {}
    for run in runs:
        facts = folder.read_run(run)
        if facts is None:
            raise LabelwoodError(f"the figures of {run.name} disappeared while the sweep ran: run it again")
        figures = {**facts["results"], **facts["latency"]}
        entry = {**run.plain(), "figures": {name: figures[name] for name in FIGURES}, "shape": facts["shape"]}
        described.append(entry)
        groups.setdefault((run.variant, run.lam), []).append(entry)
    points = [Point.of(*of, [entry["figures"] for entry in entries]) for of, entries in groups.items()]
    first = [point for point in points if point.variant == runs[0].variant]
    recommended = recommend(first, budget_ms) if any(point.lam is not None for point in first) else {}
    return {
        "data": _data_counts(parts),
        "recommended": recommended,
        "points": [point.plain() for point in points],
        "imbalance": _imbalance(parts["Y_train"]),
        "runs": described,
    }


def _data_counts(parts: Mapping[str, Any]) -> dict[str, int]:
    X, Y = parts["X_train"], parts["Y_train"]
    return {
        "training_rows": Y.n_rows,
        "held_out_rows": parts["Y_held_out"].n_rows,
        "features": X.n_cols if isinstance(X, Sparse) else X.shape[1],
        "labels": Y.n_cols,
    }


def _imbalance(Y: Sparse) -> dict[str, dict[str, Any]]:
    """For each kind of cover, the shares of labels that cover evenly spaced shares of rows, and half of the rows."""
    curves = {}
    for covered in ("any", "three", "all"):
        shares = labels_to_cover(Y.to_scipy(), covered)
        places = np.unique(np.linspace(0, len(shares) - 1, _CURVE).astype(int))
        curves[covered] = {
            "labels": shares[places].tolist(),
            "rows": ((places + 1) / len(shares)).tolist(),
            "labels_for_half": float(shares[(len(shares) - 1) // 2]),
        }
    return curves


def _progress_bar(what: str, total: int, unit: str, progress: bool) -> Any:
    from tqdm import tqdm

    # The mean speed since the start predicts the remaining time; the speed of the last run changes with every λ.
    return tqdm(desc=what, total=total, unit=unit, smoothing=0, leave=False, disable=None if progress else True)
