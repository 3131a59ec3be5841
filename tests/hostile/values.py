"""Vectors, pairs, answers, trees and numbers that are like sound ones in other clothes, and ones that are broken."""

from __future__ import annotations

import numpy as np
from tests.hostile.containers import BROKEN_DENSE, Raising, _strided

from labelwood.arrays.topk import TopK

_NO_NUMBERS = ("complex", "words", "structs", "a string", "a dictionary", "an object that raises", "a class", "sets")


def _with(array, value, dtype=None):
    other = array.astype(dtype or array.dtype)
    other[len(other) // 2] = value
    return other


def _no_numbers(a, rng):
    kind = _NO_NUMBERS[rng.integers(len(_NO_NUMBERS))]
    return BROKEN_DENSE[kind](a, rng)


ALIKE_VECTOR = {
    "list": lambda a, rng: a.tolist(),
    "tuple": lambda a, rng: tuple(a.tolist()),
    "strided": lambda a, rng: _strided(a),
    "backwards": lambda a, rng: a[::-1].copy()[::-1],
    "other byte order": lambda a, rng: a.astype(a.dtype.newbyteorder()),
    "read-only": lambda a, rng: np.frombuffer(a.tobytes(), a.dtype),
}
ALIKE_WHOLE = ALIKE_VECTOR | {
    "8-bit": lambda a, rng: a.astype(np.int8),
    "unsigned": lambda a, rng: a.astype(np.uint64),
}
BROKEN_WHOLE = {
    "beyond": lambda a, rng: _with(a, 10**6),
    "largest": lambda a, rng: _with(a, 2**63 - 1),
    "unsigned": lambda a, rng: _with(a, 2**64 - 1, np.uint64),
    "wraps to a sound one": lambda a, rng: _with(a, 2**32),
    "huge": lambda a, rng: [*a.tolist()[:-1], 10**30],
    "negative": lambda a, rng: _with(a, -1),
    "least": lambda a, rng: _with(a, -(2**63)),
    "floats": lambda a, rng: a + 0.5,
    "NaN": lambda a, rng: _with(a, np.nan, np.float64),
    "two dimensions of text": lambda a, rng: np.array([["a"] * len(a)]),
    "three dimensions": lambda a, rng: a[None, None],
    "no dimension": lambda a, rng: 1,
    "no numbers": _no_numbers,
}
BROKEN_REAL = {
    "NaN": lambda a, rng: _with(a, np.nan),
    "infinity": lambda a, rng: _with(a, np.inf),
    "negative": lambda a, rng: _with(a, -1.0),
    "short": lambda a, rng: a[:-1],
    "two dimensions": lambda a, rng: a[None],
    "no dimension": lambda a, rng: 1.0,
    "beyond float64": lambda a, rng: [*a.tolist()[:-1], 10**400],
    "dates": lambda a, rng: a.astype("M8[s]"),
    "no numbers": _no_numbers,
}

ALIKE_PAIRS = {
    "list": lambda a, rng: [tuple(pair) for pair in a.tolist()],
    "Fortran": lambda a, rng: np.asfortranarray(a),
    "unsigned": lambda a, rng: a.astype(np.uint64),
    "other byte order": lambda a, rng: a.astype(">i4"),
    "repeated": lambda a, rng: np.concatenate([a, a]),
}
BROKEN_PAIRS = {
    "row beyond": lambda a, rng: np.concatenate([a, [[10**6, 0]]]),
    "negative row": lambda a, rng: np.concatenate([a, [[-1, 0]]]),
    "negative label": lambda a, rng: np.concatenate([a, [[0, -1]]]),
    "label beyond 32 bits": lambda a, rng: np.concatenate([a, [[0, 2**32]]]),
    "unsigned": lambda a, rng: np.concatenate([a.astype(np.uint64), np.array([[2**64 - 1, 0]], np.uint64)]),
    "huge": lambda a, rng: [*a.tolist(), (10**30, 0)],
    "floats": lambda a, rng: a + 0.25,
    "triples": lambda a, rng: np.concatenate([a, a[:, :1]], axis=1),
    "one dimension": lambda a, rng: a.reshape(-1),
    "ragged": lambda a, rng: [*a.tolist(), [1]],
    "no numbers": _no_numbers,
    "one number": lambda a, rng: 5,
}

ALIKE_TOPK = {
    "64-bit ids": lambda t, rng: TopK(t.ids.astype(np.int64), t.scores),
    "other byte order": lambda t, rng: TopK(t.ids.astype(">i8"), t.scores),
    "Fortran": lambda t, rng: TopK(np.asfortranarray(t.ids), np.asfortranarray(t.scores)),
    "read-only": lambda t, rng: TopK(np.frombuffer(t.ids.tobytes(), t.ids.dtype).reshape(t.ids.shape), t.scores),
}
BROKEN_TOPK = {
    "ids of floats": lambda t, rng: TopK(t.ids + 0.5, t.scores),
    "ids beyond 32 bits": lambda t, rng: TopK(t.ids.astype(np.int64) + 2**32, t.scores),
    "unsigned ids": lambda t, rng: TopK(np.full(t.ids.shape, 2**64 - 1, np.uint64), t.scores),
    "one dimension": lambda t, rng: TopK(t.ids[0], t.scores[0]),
    "three dimensions": lambda t, rng: TopK(t.ids[None], t.scores[None]),
    "no ids": lambda t, rng: TopK(None, t.scores),
    "ids of words": lambda t, rng: TopK(t.ids.astype(str), t.scores),
    "ids that raise": lambda t, rng: TopK(Raising(), t.scores),
    "lists": lambda t, rng: [[1, 2]],
    "None": lambda t, rng: None,
}
BROKEN_SCORES = {
    "fewer scores": lambda t, rng: TopK(t.ids, t.scores[:-1]),
    "narrow scores": lambda t, rng: TopK(t.ids, t.scores[:, :-1]),
    "scores of words": lambda t, rng: TopK(t.ids, t.scores.astype(str).astype(object) + "x"),
    "no scores": lambda t, rng: TopK(t.ids, None),
}

BROKEN_COUNT = {
    "zero": lambda n, rng: 0,
    "negative": lambda n, rng: -1,
    "beyond 64 bits": lambda n, rng: 2**70,
    "a fraction": lambda n, rng: n + 0.5,
    "NaN": lambda n, rng: float("nan"),
    "a string": lambda n, rng: str(n),
    "an array": lambda n, rng: np.array([n, n]),
    "truth": lambda n, rng: True,
    "a list": lambda n, rng: [n],
    "bytes": lambda n, rng: bytes(3),
}
_NO_SEEDS = ("negative", "beyond 64 bits", "a fraction", "a string", "an array")
BROKEN_SEED = {name: BROKEN_COUNT[name] for name in _NO_SEEDS}
BROKEN_NUMBER = {
    "NaN": lambda n, rng: float("nan"),
    "a string": lambda n, rng: "abc",
    "an array": lambda n, rng: np.array([0.5, 0.5]),
    "a list": lambda n, rng: [n],
    "complex": lambda n, rng: 1j,
    "an object": lambda n, rng: object(),
}

# A tree's arrays as a tuple (child_ptr, label_ptr, labels).
ALIKE_TREE = {
    "read-only": lambda t, rng: tuple(np.frombuffer(a.tobytes(), a.dtype) for a in t),
}


def _tree(which, change):
    def run(arrays, rng):
        return tuple(change(a) if i == which else a for i, a in enumerate(arrays))

    return run


BROKEN_TREE = {
    f"{name}: {what}": _tree(i, change)
    for i, name in enumerate(("child_ptr", "label_ptr", "labels"))
    for what, change in {
        "beyond": lambda a: _with(a, 10**6),
        "negative": lambda a: _with(a, -1),
        "least": lambda a: _with(a, np.iinfo(a.dtype).min),
        "short": lambda a: a[:-1],
        "empty": lambda a: a[:0],
        "long": lambda a: np.append(a, a[-1] + 1).astype(a.dtype),
        "floats": lambda a: a.astype(np.float64),
        "two dimensions": lambda a: a[None],
        "unsigned": lambda a: a.astype(np.uint64),
        "None": lambda a: None,
        "list": lambda a: a.tolist(),
        "backwards": lambda a: a[::-1].copy(),
    }.items()
}
