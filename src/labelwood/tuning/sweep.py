"""Trains every λ with every seed, measures each, and writes down what it found as it goes."""

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
from labelwood.tuning.folder import ReportFolder, fingerprint, opened, store_matrix, write_json
from labelwood.tuning.grid import INTERPOLATED, Run, checked_lams, default_lams, default_max_leaf, runs_of, settings_of
from labelwood.tuning.summary import FIGURES, Point, recommend, write_table

_CURVE = 200  # points of an imbalance curve that are kept


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
    """What λ does to precision, depth, latency and size, on held-out rows; written to `report` and returned.

    A second call does only what is missing, so λ's, seeds and variants may be added; other rows, or another meaning of
    a variant's name, are an error unless `restart` empties the folder first.

    Parameters:
        X_train, Y_train, X_held_out, Y_held_out: Features and labels, sparse or dense.
        report: Folder for tradeoff.json, tradeoff.csv, and runs/ with a file for each training.
        lams: Which λ's; `default_lams()` if not given.
        seeds: So many trainings of each λ, with seeds from 0.
        variants: Parameters of `TreeClassifier` by a name for them. `tree` names a builder, "interpolated" if not
            given; others have no λ and run once a seed. `tree_options` are passed to `labelwood.trees.interpolated`,
            such as rule or midpoint. The first variant is the one λ is recommended for. If none are given, one named
            "interpolated" with `default_max_leaf`.
        filters: Pairs (held-out row, label) that must not count.
        jobs: Trainings at a time, each with one thread; one for each core if not given.
        latency_rows, latency_rounds: How many rows are asked for one by one, and how often.
        budget_ms: Also recommend the most precise λ whose median row takes no longer.
        restart: Whether to empty the folder first.
        progress: Whether to show progress where somebody watches.

    Example:
        >>> import tempfile, numpy as np
        >>> X = np.eye(4).repeat(5, axis=0)
        >>> found = sweep(X, X, np.eye(4), np.eye(4), tempfile.mkdtemp() + "/report", lams=[0], seeds=1, jobs=1)
        >>> found["points"][0]["mean"]["P@1"], found["recommended"]["same_precision"]["lam"]
        (100.0, 0.0)
    """
    if seeds < 1 or latency_rows < 1 or latency_rounds < 1 or (jobs is not None and jobs < 1):
        raise ParameterError("seeds, jobs, latency_rows and latency_rounds must be at least 1")
    parts = _checked(X_train, Y_train, X_held_out, Y_held_out, filters)
    if variants is None:
        variants = {INTERPOLATED: {"max_leaf": default_max_leaf(parts["Y_train"].n_cols)}}
    settings = settings_of(variants)
    runs = runs_of(settings, checked_lams(default_lams() if lams is None else lams), range(seeds))
    origin = _origin(parts, latency_rows, latency_rounds)
    with opened(Path(report), origin, settings, restart=restart) as folder:
        trained = _train(folder, runs, parts, jobs or thread_count(None), progress)
        _time(folder, runs, parts["X_held_out"], origin["latency"], progress)
        summary = _summary(folder, runs, parts, budget_ms)
        write_json(folder.path / "tradeoff.json", summary)
        write_table(folder.path / "tradeoff.csv", [Point.from_plain(point) for point in summary["points"]])
        folder.clean()
    return {**summary, "trained": trained}


def _checked(X_train: Any, Y_train: Any, X_held_out: Any, Y_held_out: Any, filters: Any) -> dict[str, Any]:
    """The matrices as native code reads them."""
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
    """Trains what is missing: what has no figures, or neither latency nor a model to measure it on."""
    missing = [run for run in runs if not _is_trained(folder, run)]
    if not missing:
        return 0
    for name, matrix in parts.items():
        if name != "filters":
            store_matrix(folder.work, name, matrix)
        elif matrix is not None:
            np.save(folder.work / "filters.npy", matrix)
    answers = workers.finished(folder, missing, jobs)
    with _bar("training", len(missing), "run", progress) as bar, closing(answers):  # which ends the processes
        for run, figures in answers:
            folder.keep(run, {**figures, "latency": None})
            bar.update()
    return len(missing)


def _is_trained(folder: ReportFolder, run: Run) -> bool:
    from labelwood.store import is_model

    facts = folder.kept(run)
    return facts is not None and (facts["latency"] is not None or is_model(folder.model(run)))


def _time(folder: ReportFolder, runs: Sequence[Run], X: Any, how: Mapping[str, int], progress: bool) -> None:
    """Measures the latency of what lacks it, with nothing else running."""
    from labelwood.contract.kinds import load

    known = [(run, facts) for run in runs if (facts := folder.kept(run)) is not None and facts["latency"] is None]
    if not known:
        return
    models = [load(folder.model(run), verify=False) for run, _ in known]
    with _bar("latency", len(models) * how["rounds"], "turn", progress) as bar:
        rows = X.to_scipy() if isinstance(X, Sparse) else X
        found = latency.measure(models, rows, **how, on_model=bar.update)
    for (run, facts), times in zip(known, found, strict=True):
        folder.keep(run, {**facts, "latency": times})


def _summary(
    folder: ReportFolder, runs: Sequence[Run], parts: Mapping[str, Any], budget_ms: float | None
) -> dict[str, Any]:
    described = []
    groups: dict[tuple[str, float | None], list[dict[str, Any]]] = {}
    for run in runs:
        facts = folder.kept(run)
        if facts is None:
            raise LabelwoodError(f"the figures of {run.name} have gone while the sweep ran: run it again")
        figures = {**facts["results"], **facts["latency"]}
        entry = {**run.plain(), "figures": {name: figures[name] for name in FIGURES}, "shape": facts["shape"]}
        described.append(entry)
        groups.setdefault((run.variant, run.lam), []).append(entry)
    points = [Point.of(*of, [entry["figures"] for entry in entries]) for of, entries in groups.items()]
    first = [point for point in points if point.variant == runs[0].variant]
    recommended = recommend(first, budget_ms) if any(point.lam is not None for point in first) else {}
    return {
        "data": _described(parts),
        "recommended": recommended,
        "points": [point.plain() for point in points],
        "imbalance": _imbalance(parts["Y_train"]),
        "runs": described,
    }


def _described(parts: Mapping[str, Any]) -> dict[str, int]:
    X, Y = parts["X_train"], parts["Y_train"]
    return {
        "training_rows": Y.n_rows,
        "held_out_rows": parts["Y_held_out"].n_rows,
        "features": X.n_cols if isinstance(X, Sparse) else X.shape[1],
        "labels": Y.n_cols,
    }


def _imbalance(Y: Sparse) -> dict[str, dict[str, Any]]:
    """Of each kind of cover the shares of labels at evenly spread shares of rows, and that for half of the rows."""
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


def _bar(what: str, total: int, unit: str, progress: bool) -> Any:
    from tqdm import tqdm

    # The mean speed since the start tells the time left; that of the last run would jump with every λ.
    return tqdm(desc=what, total=total, unit=unit, smoothing=0, leave=False, disable=None if progress else True)
