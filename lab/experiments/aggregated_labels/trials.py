"""Labels handed out in some way, and how good a learner becomes from them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from scipy import sparse

import labelwood as lw
from lab.experiments.aggregated_labels import datasets
from lab.experiments.aggregated_labels.groupings import named
from lab.experiments.aggregated_labels.learner import LEARNER, precision
from lab.experiments.common.kept import Kept
from lab.experiments.common.rows import Rows
from labelwood.groups import advice, baseline_labels, choose_eagle, merged_labels, try_both
from labelwood.groups.choosing import CANDIDATES

# The three ways of the paper: `Eagle`'s parameters, None if every row has all labels of its group.
PAPERS: dict[str, dict[str, Any] | None] = {"baseline": None, "eagle-0": {"iterations": 0}, "eagle": {}}
ORACLE = "oracle"
CHOSEN = "chosen"


class Trials:
    """Runs on one dataset; what was measured before is not measured again."""

    def __init__(self, folder: Path, kept: Kept, *, rows: int | None, threads: int) -> None:
        self.folder, self.kept, self.n_rows, self.threads = folder, kept, rows, threads
        self._grouped: tuple[Any, ...] = ()

    @cached_property
    def rows(self) -> Rows:
        """Read when something has to be measured."""
        return datasets.sparse_rows(self.folder, self.n_rows)

    def oracle(self, seed: int) -> dict[str, Any]:
        """Of the learner that is told each row's own labels."""
        settings = {"seed": seed, "learner": LEARNER}
        return self.kept.figures(
            f"{ORACLE}-seed-{seed}", settings, lambda: precision(self.rows, LEARNER, seed, self.threads)
        )

    def way(self, grouping: str, seed: int, name: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Of the learner that is told labels that were handed out with these parameters of `Eagle`."""
        settings = {"grouping": grouping, "seed": seed, "eagle": params, "learner": LEARNER}
        return self.kept.figures(
            f"{grouping}-{name}-seed-{seed}", settings, lambda: self._measure(grouping, seed, params)
        )

    def choice(self, grouping: str, candidates: Sequence[Mapping[str, Any]] = CANDIDATES) -> list[dict[str, Any]]:
        """What held-out groups of the first seed say of parameters: they see neither labels of rows nor test rows."""

        def measure() -> dict[str, Any]:
            groups, counts = self.grouped(grouping, 0)
            eagle = lw.Eagle(n_threads=self.threads)
            started = time.process_time()
            found = choose_eagle(self.rows.X_train, groups, counts, candidates=candidates, eagle=eagle)
            cost = time.process_time() - started
            tried = [{"params": each.params, "score": each.score, "error": each.error} for each in found.tried]
            return {"tried": tried, "choose_cpu_s": cost}

        kind = CHOSEN if candidates is CANDIDATES else f"{CHOSEN}-of-{len(candidates)}"
        settings = {"grouping": grouping, "candidates": list(candidates)}
        tried: list[dict[str, Any]] = self.kept.figures(f"{grouping}-{kind}", settings, measure)["tried"]
        return tried

    def chosen(self, grouping: str, seed: int) -> dict[str, Any]:
        """Of the learner that is told labels that were handed out with what held-out groups chose."""
        return self.way(grouping, seed, CHOSEN, {"repeats": "topc", **best(self.choice(grouping))})

    def advice(self, grouping: str, seed: int) -> dict[str, Any]:
        """What is advised, once with counts of labels and once without."""

        def measure() -> dict[str, Any]:
            groups, counts = self.grouped(grouping, seed)
            given = {"counts": advice(self.rows.X_train, groups, counts)}
            counts = merged_labels(self.rows.Y_train, groups, merge="set")
            given["no counts"] = advice(self.rows.X_train, groups, counts)
            return {
                which: {"use": each.use, "wrong_rows": each.wrong_rows, "mixedness": each.mixedness}
                for which, each in given.items()
            }

        return self.kept.figures(f"{grouping}-advice-seed-{seed}", {"grouping": grouping, "seed": seed}, measure)

    def trial(self, grouping: str) -> dict[str, Any]:
        """What held-out groups of the first seed say of both ways."""

        def measure() -> dict[str, Any]:
            model, eagle = (kind(n_threads=self.threads) for kind in (lw.TreeClassifier, lw.Eagle))
            found = try_both(self.rows.X_train, *self.grouped(grouping, 0), eagle=eagle, model=model)
            return {"use": found.use, "assignment": found.assignment, "baseline": found.baseline}

        return self.kept.figures(f"{grouping}-trial", {"grouping": grouping}, measure)

    def grouped(self, grouping: str, seed: int) -> tuple[Any, Any]:
        """The group of each training row, and how often groups have labels; of the last call it is remembered."""
        if self._grouped[:2] != (grouping, seed):
            groups = named(grouping).make(self.rows.X_train, seed, self.threads)
            self._grouped = (grouping, seed, groups, merged_labels(self.rows.Y_train, groups))
        return self._grouped[2:]  # type: ignore[return-value]

    def _measure(self, grouping: str, seed: int, params: Mapping[str, Any] | None) -> dict[str, Any]:
        groups, counts = self.grouped(grouping, seed)
        started = time.process_time()
        if params is None:
            Y = baseline_labels(groups, counts)
        else:
            Y = lw.Eagle(seed=seed, n_threads=self.threads, **params).fit_transform(self.rows.X_train, groups, counts)
        cost = {"assign_cpu_s": time.process_time() - started}
        rows = Rows(self.rows.X_train, Y, self.rows.X_test, self.rows.Y_test)
        return {**cost, **agreement(Y, self.rows.Y_train), **precision(rows, LEARNER, seed, self.threads)}


def best(tried: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The parameters with the highest score; the first of several."""
    params: dict[str, Any] = max(tried, key=lambda each: each["score"])["params"]
    return params


def agreement(given: Any, truth: Any) -> dict[str, float]:
    """Of labels that rows got the share that is right, and of labels that rows have the share that they got."""
    given, truth = (sparse.csr_array(Y, copy=True) for Y in (given, truth))
    given.data[:], truth.data[:] = 1, 1
    both = float((given * truth).sum())
    return {"right": 100 * both / given.nnz, "found": 100 * both / truth.nnz}
