"""Matrices and vectors as no well-meaning caller passes them: broken inside, of odd dtypes, layouts and types."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

LARGE = [-1, -(2**31), 2**31 - 1, 10**6, 999]


class Made(NamedTuple):
    """A hostile value, and what it means if it means the same as some sound matrix."""

    value: Any
    how: str
    same_as: Any = None


class Counting:
    """An object that looks like an array and lies about its shape."""

    def __init__(self, inner: Any, shape: tuple[int, ...]) -> None:
        self.inner, self.shape, self.ndim, self.dtype = inner, shape, len(shape), inner.dtype

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.inner

    def __len__(self) -> int:
        return self.shape[0]


def matrix(rng: Random, sound: Any) -> Made:
    """A hostile matrix made of a sound `csr_array`."""
    ways: list[Callable[[Random, Any], Made]] = [broken, broken, broken, broken, twisted, twisted, retyped, odd, values]
    return rng.choice(ways)(rng, sound)


def broken(rng: Random, sound: Any) -> Made:
    """Compressed rows whose arrays contradict each other, as an assignment to them makes them."""
    bad = sound.copy()
    what = rng.choice(["data", "indices", "indptr", "entry", "entry", "pointer", "pointer", "shape", "both"])
    if what in {"data", "both"}:
        bad.data = resized(rng, bad.data)
    if what in {"indices", "both"}:
        bad.indices = resized(rng, bad.indices)
    if what == "indptr":
        bad.indptr = resized(rng, bad.indptr)
    if what == "entry":
        for _ in range(rng.choice([1, 3])):
            bad.indices[rng.randrange(bad.nnz)] = rng.choice([*LARGE, bad.shape[1], bad.shape[1] - 1])
    if what == "pointer":
        at = rng.choice([0, len(bad.indptr) - 1, rng.randrange(len(bad.indptr))])
        bad.indptr[at] = rng.choice([*LARGE, int(bad.indptr[at]) + 1, int(bad.indptr[at]) - 1])
    if what == "shape":
        bad._shape = rng.choice(
            [(bad.shape[0] + 5, bad.shape[1]), (bad.shape[0], 1), (bad.shape[0], 2**31), (0, 0), (-1, 3)]
        )
    if rng.random() < 0.3:
        bad.has_sorted_indices = bad.has_canonical_format = rng.choice([True, False])
    return Made(bad, f"broken {what}")


def resized(rng: Random, a: Any) -> Any:
    """Cut short, longer, empty, or of two dimensions."""
    return rng.choice([a[:-1], a[: len(a) // 2], a[:0], np.append(a, a[-1:]), np.append(a, a), a[None], a[::2]])


def twisted(rng: Random, sound: Any) -> Made:
    """The same matrix in another form: its answers must be the same."""
    dense = sound.toarray()
    ways: dict[str, Callable[[], Any]] = {
        "csc": sound.tocsc,
        "coo": lambda: _shuffled_coo(rng, sound),
        "lil": sound.tolil,
        "dok": sound.todok,
        "bsr": sound.tobsr,
        "dia": sound.todia,
        "csr_matrix": lambda: sparse.csr_matrix(sound),
        "64-bit indices": lambda: _wide(sound),
        "Fortran order": lambda: np.asfortranarray(dense),
        "big-endian": lambda: dense.astype(">f4"),
        "negative strides": lambda: dense[::-1, ::-1].copy()[::-1, ::-1],
        "every second": lambda: np.repeat(dense, 2, axis=1)[:, ::2],
        "read-only": lambda: _read_only(dense.copy()),
        "unaligned": lambda: _unaligned(dense),
        "lists": dense.tolist,
        "np.matrix": lambda: np.asmatrix(dense),
        "float64": lambda: dense.astype(np.float64),
        "longdouble": lambda: dense.astype(np.longdouble),
        "objects": lambda: dense.astype(object),
        "read-only sparse": lambda: _read_only_sparse(sound.copy()),
        "unsorted": lambda: _unsorted(sound),
        "sparse big-endian": lambda: _with_data(sound, sound.data.astype(">f8")),
    }
    how = rng.choice(sorted(ways))
    return Made(ways[how](), how, sound)


def retyped(rng: Random, sound: Any) -> Made:
    """Numbers of other types."""
    kind = rng.choice(
        ["int8", "uint64", "bool", "complex64", "float16", "datetime64[s]", "U5", "S3", "O", "V4", "i4,f4"]
    )
    dense = sound.toarray()
    if kind == "i4,f4":
        return Made(np.zeros(dense.shape, kind), kind)
    if kind in {"int8", "uint64", "bool", "complex64", "float16"} and rng.random() < 0.5:
        return Made(_with_data(sound, (sound.data * 100).astype(kind)), f"sparse {kind}")
    return Made((dense * 100).astype("i8").astype(kind), kind)


def odd(rng: Random, sound: Any) -> Made:
    """What is no matrix."""
    dense = sound.toarray()
    made = [
        None, 3, "text", b"bytes", [], [[]], [[1], [1, 2]], {}, {"a": 1}, object(), np.array(1.0), dense[0],
        dense[None],
        dense[:0], dense[:, :0], sparse.csr_array((0, 0)), sparse.coo_array(dense[0]),
        np.ma.masked_array(dense, dense > 0),
        Counting(dense, (dense.shape[0], dense.shape[1] + 9)), Counting(dense, (1 << 40, 2)), [["a", "b"]], [[None]],
        dense[:-1], dense[:, :-1], sound[:-1], sound[:, :-1], iter([1, 2]), range(5), [dense.tolist()],
        np.broadcast_to(np.float32(1), (dense.shape[0], dense.shape[1])), sparse.csr_array((dense.shape[0], 2**31 + 5)),
        {1, 2}, [[10**400]], [[True]],
    ]  # fmt: skip
    value = rng.choice(made)
    return Made(value, f"odd {type(value).__name__}")


def values(rng: Random, sound: Any) -> Made:
    """Numbers that are not finite, very large, very small, or zeros that are stored."""
    bad = sound.copy()
    value = rng.choice([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, 0.0, -1.0])
    for _ in range(rng.choice([1, 5])):
        bad.data[rng.randrange(bad.nnz)] = value
    if rng.random() < 0.2:
        bad.data[:] = value
    return Made(rng.choice([bad, bad.toarray()]), f"values {value}")


def vector(rng: Random, n: int) -> Made:
    """A hostile vector where one number for each of n rows belongs."""
    good = np.arange(n)
    made = [
        good[:-1], np.append(good, 0), good - 1, good * 10**6, good.astype(np.float32) + 0.5, np.full(n, np.nan),
        good[None],
        np.full(n, 2**31 - 1), np.full(n, -1), good.astype("U"), [None] * n, "text", 3, None, [],
        np.full(n, 2**63, np.uint64),
        np.full(n, np.inf), np.zeros(n), np.full(n, 1e308), good.astype(complex), [[1]] * n, good[::-1],
        good.astype(object),
        np.full(n, -1.0), {"a": 1}, np.ones((n, n)), good.astype("datetime64[s]"), np.full(n, 10**12),
    ]  # fmt: skip
    value = rng.choice(made)
    return Made(value, f"vector {np.asarray(value, object).dtype if value is not None else None}")


def pairs(rng: Random, n_rows: int, n_labels: int) -> Any:
    """Hostile pairs of row and label."""
    return rng.choice([
        [[0, 0]], [[-1, 0]], [[0, -1]], [[n_rows, 0]], [[0, n_labels]], [[2**31, 2**31]], [[2**63, 0]], [[0.5, 0]],
        [0, 1],
        [[0, 1, 2]], [], [[]], "0 0", None, np.zeros((0, 2)), np.full((3, 2), np.nan), [["a", "b"]], [[0, 0]] * 5,
        {0: 0},
        np.zeros((2, 2), np.uint8), [[None, 0]], sparse.csr_array((2, 2)),
    ])  # fmt: skip


def _shuffled_coo(rng: Random, sound: Any) -> Any:
    """Entries in any order, some in two halves that add up exactly."""
    coo = sound.tocoo()
    order = np.random.default_rng(rng.randrange(1 << 30)).permutation(coo.nnz)
    rows, cols, data = coo.row[order], coo.col[order], coo.data[order]
    half = data / 2
    return sparse.coo_array((np.append(half, half), (np.append(rows, rows), np.append(cols, cols))), shape=coo.shape)


def _wide(sound: Any) -> Any:
    bad = sound.copy()
    bad.indices, bad.indptr = bad.indices.astype(np.int64), bad.indptr.astype(np.int64)
    return bad


def _read_only(a: Any) -> Any:
    a.flags.writeable = False
    return a


def _read_only_sparse(a: Any) -> Any:
    for part in (a.data, a.indices, a.indptr):
        _read_only(part)
    return a


def _unaligned(dense: Any) -> Any:
    raw = np.empty(dense.nbytes + 1, np.uint8)
    view = raw[1:].view(np.uint8)
    view[:] = np.frombuffer(dense.tobytes(), np.uint8)
    return np.ndarray(dense.shape, dense.dtype, raw, 1)


def _unsorted(sound: Any) -> Any:
    bad = sound.copy()
    for begin, end in zip(bad.indptr[:-1], bad.indptr[1:], strict=True):
        bad.indices[begin:end] = bad.indices[begin:end][::-1].copy()
        bad.data[begin:end] = bad.data[begin:end][::-1].copy()
    bad.has_sorted_indices = bad.has_canonical_format = False
    return bad


def _with_data(sound: Any, data: Any) -> Any:
    bad = sound.copy()
    bad.data = data
    return bad
