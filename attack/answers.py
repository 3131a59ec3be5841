"""What holds for every answer of every model, however hostile the model is."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from attack.protocol import WRONG, Failure


def check_answers(model: Any, rows: Any, rng: Random) -> None:
    """Asks with an odd k and limits; the answers must be well formed, and the same for one row and for many."""
    n_labels = int(model.n_labels_ if hasattr(model, "n_labels_") else len(model.labels_))
    k = rng.choice([1, 2, 3, 5, n_labels, n_labels + 1])
    whole = check_top(model.predict_topk(rows, k), len_of(rows), k, n_labels)
    one = rows[2:3]
    alone = model.predict_topk(one, k)
    if not (np.array_equal(alone.ids[0], whole.ids[2]) and np.array_equal(alone.scores[0], whole.scores[2])):
        raise Failure(WRONG, "one row alone has another answer than among others")
    names = getattr(model, "labels_", None)
    allowed = sorted(rng.sample(range(n_labels), rng.randint(0, n_labels)))
    limits = {rng.choice(["include", "exclude"]): allowed if names is None else [names[i] for i in allowed]}
    limited = check_top(model.predict_topk(rows, k, **limits), len_of(rows), k, n_labels)
    inside = np.isin(limited.ids, allowed) | (limited.ids < 0)
    if "include" in limits and not inside.all():
        raise Failure(WRONG, "an answer is not one of those that are included")
    if "exclude" in limits and np.isin(limited.ids, allowed).any():
        raise Failure(WRONG, "an answer is one of those that are excluded")


def check_top(top: Any, n_rows: int, k: int, n_labels: int) -> Any:
    """Well-formed answers: labels that exist, none twice, best first, short rows padded."""
    if top.ids.shape != (n_rows, k) or top.scores.shape != (n_rows, k):
        raise Failure(WRONG, f"answers of shape {top.ids.shape} for {n_rows} rows and k={k}")
    real = top.ids >= 0
    if (top.ids >= n_labels).any() or (top.ids < -1).any():
        raise Failure(WRONG, "an answer is a label that does not exist")
    if np.isnan(top.scores).any():
        raise Failure(WRONG, "a score is not a number")
    if (real[:, 1:] & ~real[:, :-1]).any() or not np.isneginf(top.scores[~real]).all():
        raise Failure(WRONG, "padding is not at the end, or has scores")
    if (top.scores[:, 1:] > top.scores[:, :-1]).any():
        raise Failure(WRONG, "the best answers do not come first")
    for row in top.ids:
        found = row[row >= 0]
        if len(set(found.tolist())) < len(found):
            raise Failure(WRONG, "a label is answered twice")
    return top


def same_answers(a: Any, b: Any) -> bool:
    """Whether two answers are the same to the bit."""
    return np.array_equal(a.ids, b.ids) and np.array_equal(a.scores, b.scores)


def len_of(rows: Any) -> int:
    """How many rows."""
    return len(rows) if isinstance(rows, list) else int(rows.shape[0])
