"""Models of a grid, trained in worker processes and then timed one after another, with nothing else running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lab.experiments.common.rows import Rows
from labelwood.arrays.rows import as_features, as_labels
from labelwood.contract.kinds import load
from labelwood.store import is_model
from labelwood.tuning import Point, Run, latency
from labelwood.tuning.folder import ReportFolder, fingerprint, open_folder, store_matrix
from labelwood.tuning.grid import runs_of, settings_of
from labelwood.tuning.workers import train_in_workers

KS = (1, 5)
SEARCHED_ROWS, CALLED_ROWS = 3000, 1000


def points(
    rows: Rows,
    folder: Path,
    variants: Mapping[str, Mapping[str, Any]],
    lams: Sequence[float],
    *,
    seeds: int,
    jobs: int,
    rounds: int,
) -> list[dict[str, Any]]:
    """Precision, depth, what searches open and how long they take, of each variant and λ; means over seeds."""
    matrices = _matrices(rows)
    origin = {"rows": fingerprint(*matrices.values()), "rounds": rounds}
    settings = settings_of(variants)
    runs = runs_of(settings, lams, range(seeds))
    with open_folder(folder, origin, settings) as report:
        _train(report, runs, matrices, jobs)
        _time(report, runs, rows.X_test, rounds)
        facts = [report.read_run(run) or {} for run in runs]
        report.clean()
    groups: dict[tuple[str, float | None], list[dict[str, float]]] = {}
    for run, fact in zip(runs, facts, strict=True):
        groups.setdefault((run.variant, run.lam), []).append({**fact["results"], **fact["times"]})
    return [Point.of(*of, figures).plain() for of, figures in groups.items()]


def _matrices(rows: Rows) -> dict[str, Any]:
    """What a worker reads, by the names it looks for."""
    return {
        "X_train": as_features(rows.X_train),
        "Y_train": as_labels(rows.Y_train, rows.Y_train.shape[0]),
        "X_held_out": as_features(rows.X_test),
        "Y_held_out": as_labels(rows.Y_test, rows.Y_test.shape[0]),
    }


def _train(report: ReportFolder, runs: Sequence[Run], matrices: Mapping[str, Any], jobs: int) -> None:
    missing = [run for run in runs if not _is_trained(report, run)]
    if not missing:
        return
    for name, matrix in matrices.items():
        store_matrix(report.work, name, matrix)
    for run, figures in train_in_workers(report, missing, jobs):
        report.write_run(run, {**(report.read_run(run) or {}), **figures})


def _is_trained(report: ReportFolder, run: Run) -> bool:
    """Whether there are figures, and either times or a model to take them from."""
    return "results" in (report.read_run(run) or {}) and (_is_timed(report, run) or is_model(report.model(run)))


def _is_timed(report: ReportFolder, run: Run) -> bool:
    return "times" in (report.read_run(run) or {})


def _time(report: ReportFolder, runs: Sequence[Run], X: Any, rounds: int) -> None:
    """Models take turns in every round, each time in another order, so that noise hits all alike."""
    untimed = [run for run in runs if not _is_timed(report, run)]
    models = [load(report.model(run), verify=False) for run in untimed]
    if not models:
        return
    searches = _search_times(models, [run.lam == 0 for run in untimed], X[:SEARCHED_ROWS], rounds)
    calls = {k: latency.measure(models, X, k=k, rows=CALLED_ROWS, rounds=rounds) for k in KS}
    for i, (run, model) in enumerate(zip(untimed, models, strict=True)):
        times = {**searches[i], **{f"call_k{k}_us": 1000 * calls[k][i]["p50_ms"] for k in KS}}
        opened_k1 = {f"search_{name}_k1": cost for name, cost in model.search_costs(X, k=1).items()}
        report.write_run(run, {**(report.read_run(run) or {}), "times": {**times, **opened_k1}})


def _search_times(models: Sequence[Any], by_level: Sequence[bool], X: Any, rounds: int) -> list[dict[str, float]]:
    """Median microseconds of a row's search, the median over rounds; level by level too where asked for."""
    random = np.random.default_rng(0)
    found: list[dict[str, list[float]]] = [{} for _ in models]
    for _ in range(rounds):
        for number in random.permutation(len(models)).tolist():
            for k in KS:
                for best_first in (True, False) if by_level[number] else (True,):
                    seconds = models[number].search_seconds(X, k, best_first=best_first)
                    name = f"{'search' if best_first else 'level'}_k{k}_us"
                    found[number].setdefault(name, []).append(1e6 * float(np.median(seconds)))
    return [{name: float(np.median(turns)) for name, turns in each.items()} for each in found]
