"""A dual encoder beside and together with a tree on tf-idf, as lines of a table.

Everything here is a function of what was learned: `compare` wants the rows' tf-idf, the unit vectors that an encoder
gave to them, and the labels' vectors. The encoder must not have learned from the held-out rows, on which the fusion is
calibrated; the trees do not either.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import labelwood as lw
from labelwood.arrays.topk import TopK, padded
from labelwood.dual_encoder.answering.index import PrototypeIndex
from labelwood.dual_encoder.training.extreme import classifier_scores
from labelwood.labels import inverse_propensities, label_frequencies
from labelwood.metrics import apply_filter, evaluate, extra_candidates
from labelwood.text import mixed_rows

METRICS = ("P@1", "P@5", "PSP@1", "PSP@5", "R@100")
K = 100
TREE, BOTH, PRIME, W, PRIME_W = "tree", "tree on both", "PRIME", "W", "PRIME W"


@dataclass(frozen=True)
class Part:
    """Rows of one kind: those to learn from, held-out ones, or test rows.

    `embeddings` are what `PrimeClassifier.embed` returns; `filters` are pairs (row, label) that do not count.
    """

    X: Any
    embeddings: NDArray[np.float32]
    Y: Any
    filters: Any = None


@dataclass
class Answers:
    """What a model says about held-out and test rows, without what the filters bar; `note` is kept in its line."""

    held_out: TopK
    test: TopK
    note: dict[str, float] = field(default_factory=dict)


def compare(
    learn: Part,
    held_out: Part,
    test: Part,
    prototypes: NDArray[np.float32],
    classifiers: NDArray[np.float32] | None = None,
    *,
    tree: Mapping[str, Any] | None = None,
    share: float = 0.5,
    family: str = "default",
    device: Any = None,
) -> list[dict[str, Any]]:
    """Lines with each model alone, then fused; `tree` are parameters of `TreeClassifier`, the same for both trees."""
    parts = held_out, test
    answers = {
        TREE: tree_answers(learn.X, learn.Y, [part.X for part in parts], parts, tree or {}),
        PRIME: encoder_answers(prototypes, parts, device),
    }
    if classifiers is not None:
        answers[W] = encoder_answers(classifiers, parts, device)
        answers[PRIME_W] = encoder_answers(classifier_scores(prototypes, classifiers, "fused"), parts, device)
    mixed = [mixed_rows(part.embeddings, part.X, share=share) for part in (learn, *parts)]
    answers[BOTH] = tree_answers(mixed[0], learn.Y, mixed[1:], parts, tree or {})
    last = PRIME if classifiers is None else PRIME_W
    together = [(TREE, last), (BOTH, last), (TREE, BOTH, last)]
    rarity = inverse_propensities(label_frequencies(learn.Y), learn.Y.shape[0], family=family)
    return lines(answers, held_out.Y, test.Y, rarity, together)


def lines(
    answers: Mapping[str, Answers], Y_held_out: Any, Y_test: Any, rarity: Any, together: Sequence[Sequence[str]]
) -> list[dict[str, Any]]:
    """A line for each model, and one for each group of models that are to be fused.

    Of a fused line, `tail` is what was chosen on the held-out rows, `ahead` the least lead over its members in P@1, P@5
    and PSP@5 on test rows, and ``P@1 at tail 0`` and so on what ranking by probability alone gives.
    """
    alone = {name: {"model": name, **measured(a.test, Y_test, rarity), **a.note} for name, a in answers.items()}
    found: list[dict[str, Any]] = list(alone.values())
    for names in together:
        began = time.perf_counter()
        fusion = lw.Fusion().fit([answers[name].held_out for name in names], Y_held_out, rarity)
        seconds = time.perf_counter() - began
        tests = [answers[name].test for name in names]
        line: dict[str, Any] = {"model": " + ".join(names), **measured(fusion.combine(tests, K), Y_test, rarity)}
        leads = [line[m] - max(alone[name][m] for name in names) for m in ("P@1", "P@5", "PSP@5")]
        line |= {"tail": fusion.tail_, "ahead": min(leads), "calibration_seconds": seconds}
        fusion.tail_ = 0.0
        likely = measured(fusion.combine(tests, K), Y_test, rarity)
        found.append(line | {f"{name} at tail 0": value for name, value in likely.items()})
    return found


def measured(top: TopK, Y: Any, rarity: Any) -> dict[str, float]:
    """The metrics of the table; rows with fewer than 100 answers have missed the rest."""
    found = evaluate(padded(top, K), Y, ks=(1, 5, K), metrics=("P", "PSP", "R"), inv_propensity=rarity)
    return {name: found[name] for name in METRICS}


def encoder_answers(vectors: NDArray[np.float32], parts: Sequence[Part], device: Any = None) -> Answers:
    """The nearest labels of both parts' rows."""
    index = PrototypeIndex(vectors, device=device)
    return Answers(*(kept(index.topk(part.embeddings, width(part)), part) for part in parts))


def tree_answers(X: Any, Y: Any, rows: Sequence[Any], parts: Sequence[Part], tree: Mapping[str, Any]) -> Answers:
    """What a tree that has learned from `X` says about both parts, of which `rows` are the features."""
    began = time.perf_counter()
    model = lw.TreeClassifier(**tree).fit(X, Y)
    seconds = time.perf_counter() - began
    found = [kept(model.predict_topk(some, width(part)), part) for some, part in zip(rows, parts, strict=True)]
    return Answers(
        *found, {"fit_seconds": seconds, "megabytes": sum(a.nbytes for a in model.state().arrays.values()) / 1e6}
    )


def width(part: Part) -> int:
    """How many answers to ask for, so that 100 are left."""
    return K + (0 if part.filters is None else extra_candidates(part.filters, part.Y.shape[0]))


def kept(top: TopK, part: Part) -> TopK:
    """The first 100 of what the filters leave."""
    top = top if part.filters is None else apply_filter(top, part.filters)
    return TopK(top.ids[:, :K], top.scores[:, :K])


def split(Y: Any, share: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to learn from and rows to calibrate on, both ascending; rows without a label are always learned from."""
    useful = np.flatnonzero(np.diff(sparse.csr_array(Y).indptr))
    held_out = np.sort(np.random.default_rng(seed).permutation(useful)[: round(share * len(useful))])
    return np.setdiff1d(np.arange(Y.shape[0]), held_out), held_out
