"""Sparse and dense matrices that are like a sound one in other clothes, and ones that are broken.

Each function takes a sound `csr_array` and a random generator. Attributes are set one by one, because scipy's
constructors refuse some of what users can make in steps.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

# What is like the sound matrix.


def _shuffled(csr, rng):
    other = csr.copy()
    for begin, end in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        order = begin + rng.permutation(end - begin)
        other.indices[begin:end], other.data[begin:end] = csr.indices[order], csr.data[order]
    other.has_sorted_indices = False
    return other


def _in_halves(csr, rng):
    """Every entry twice, with half of its value."""
    halves = np.repeat(csr.data / 2, 2)
    return sparse.csr_array((halves, np.repeat(csr.indices, 2), csr.indptr * 2), shape=csr.shape)


def _with(csr, **parts):
    other = csr.copy()
    for name, value in parts.items():
        setattr(other, name, value)
    return other


def _strided(array):
    wide = np.zeros(2 * len(array), array.dtype)
    wide[::2] = array
    return wide[::2]


def _read_only(csr, rng):
    other = csr.copy()
    for part in (other.data, other.indices, other.indptr):
        part.setflags(write=False)
    return other


def _with_zero(csr, rng):
    """An entry that is stored and is zero, where the row has room."""
    coo = csr.tocoo()
    free = np.argwhere(csr.toarray() == 0)
    row, column = free[rng.integers(len(free))]
    data, rows, columns = np.append(coo.data, 0), np.append(coo.row, row), np.append(coo.col, column)
    return sparse.csr_array((data.astype(csr.dtype), (rows, columns)), shape=csr.shape)


def _doubled_coo(csr, rng):
    coo = _in_halves(csr, rng).tocoo()
    order = rng.permutation(coo.nnz)
    return sparse.coo_array((coo.data[order], (coo.row[order], coo.col[order])), shape=csr.shape)


ALIKE = {
    "csc": lambda m, rng: m.tocsc(),
    "coo": lambda m, rng: m.tocoo(),
    "coo with halves": _doubled_coo,
    "bsr": lambda m, rng: sparse.bsr_array(m, blocksize=(1, m.shape[1])),
    "dia": lambda m, rng: m.todia(),
    "lil": lambda m, rng: m.tolil(),
    "dok": lambda m, rng: m.todok(),
    "csr_matrix": lambda m, rng: sparse.csr_matrix(m),
    "unsorted": _shuffled,
    "halves": _in_halves,
    "64-bit": lambda m, rng: _with(m, indices=m.indices.astype(np.int64), indptr=m.indptr.astype(np.int64)),
    "both widths": lambda m, rng: _with(m, indices=m.indices.astype(np.int64)),
    "unsigned": lambda m, rng: _with(m, indices=m.indices.astype(np.uint32), indptr=m.indptr.astype(np.uint64)),
    "other byte order": lambda m, rng: _with(
        m, data=m.data.astype(">f4"), indices=m.indices.astype(">i4"), indptr=m.indptr.astype(">i8")
    ),
    "strided": lambda m, rng: _with(m, data=_strided(m.data), indices=_strided(m.indices), indptr=_strided(m.indptr)),
    "backwards": lambda m, rng: _with(
        m, data=m.data[::-1].copy()[::-1], indices=m.indices[::-1].copy()[::-1], indptr=m.indptr[::-1].copy()[::-1]
    ),
    "read-only": _read_only,
    "stored zero": _with_zero,
    "float64": lambda m, rng: m.astype(np.float64),
    "longdouble": lambda m, rng: m.astype(np.longdouble),
}

ALIKE_DENSE = {
    "float64": lambda a, rng: a.astype(np.float64),
    "float16": lambda a, rng: a.astype(np.float16),
    "longdouble": lambda a, rng: a.astype(np.longdouble),
    "Fortran": lambda a, rng: np.asfortranarray(a),
    "other byte order": lambda a, rng: a.astype(">f8"),
    "backwards": lambda a, rng: a[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda a, rng: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "np.matrix": lambda a, rng: np.asmatrix(a),
    "objects": lambda a, rng: a.astype(object),
    "lists": lambda a, rng: a.tolist(),
    "tuples": lambda a, rng: tuple(map(tuple, a.tolist())),
    "without a mask": lambda a, rng: np.ma.array(a),
}


# What is broken.


def _changed(array, at, value):
    other = array.copy()
    other[at] = value
    return other


def _index(csr, rng, value, dtype=None):
    array = csr.indices if dtype is None else csr.indices.astype(dtype)
    parts = {"indices": _changed(array, rng.integers(csr.nnz), value)}
    if dtype is not None:
        parts["indptr"] = csr.indptr.astype(np.int64)
    return _with(csr, **parts)


class Liar(sparse.csr_array):
    """Says that it has another shape than its arrays."""

    says = (0, 0)

    @property
    def shape(self):
        return self.says


def _lying(csr, says):
    liar = Liar(csr)
    liar.says = says
    return liar


def _moved_columns(csr, fmt, change):
    other = csr.asformat(fmt)
    change(other)
    return other


def _set(name, change):
    def run(matrix):
        setattr(matrix, name, change(getattr(matrix, name)))

    return run


def _bad_list(matrix):
    matrix.rows[0] = [10**6, *matrix.rows[0][1:]]
    matrix.data[0] = [1.0, *matrix.data[0][1:]]


def _short_list(matrix):
    matrix.rows[0], matrix.data[0] = [0, 1], [1.0]


def _bad_key(matrix):
    matrix._dict[(10**6, 0)] = 1.0


BROKEN = {
    "short data": lambda m, rng: _with(m, data=m.data[: -rng.integers(1, m.nnz)]),
    "no data": lambda m, rng: _with(m, data=m.data[:0]),
    "long data": lambda m, rng: _with(m, data=np.append(m.data, m.data)),
    "short indices": lambda m, rng: _with(m, indices=m.indices[: -rng.integers(1, m.nnz)]),
    "short data and indices": lambda m, rng: _with(m, data=m.data[:-1], indices=m.indices[:-1]),
    "index = columns": lambda m, rng: _index(m, rng, m.shape[1]),
    "index beyond": lambda m, rng: _index(m, rng, m.shape[1] + 5000),
    "largest index": lambda m, rng: _index(m, rng, 2**31 - 1),
    "negative index": lambda m, rng: _index(m, rng, -1),
    "least index": lambda m, rng: _index(m, rng, -(2**31)),
    "index that wraps to a sound one": lambda m, rng: _index(m, rng, 2**32, np.int64),
    "largest wide index": lambda m, rng: _index(m, rng, 2**63 - 1, np.int64),
    "unsigned index": lambda m, rng: _index(m, rng, 2**64 - 1, np.uint64),
    "falling indptr": lambda m, rng: _with(m, indptr=m.indptr[::-1].copy()),
    "negative indptr": lambda m, rng: _with(m, indptr=_changed(m.indptr, 1, -5)),
    "indptr that begins later": lambda m, rng: _with(m, indptr=_changed(m.indptr, 0, 1)),
    "indptr that ends later": lambda m, rng: _with(m, indptr=_changed(m.indptr, -1, m.nnz + 100)),
    "indptr beyond in the middle": lambda m, rng: _with(m, indptr=_changed(m.indptr, 1, 2**30)),
    "short indptr": lambda m, rng: _with(m, indptr=m.indptr[:-2]),
    "empty indptr": lambda m, rng: _with(m, indptr=m.indptr[:0]),
    "indptr of floats": lambda m, rng: _with(m, indptr=m.indptr.astype(np.float64)),
    "indptr of objects": lambda m, rng: _with(m, indptr=m.indptr.astype(object)),
    "indices of floats": lambda m, rng: _with(m, indices=m.indices + 0.5),
    "indices of two dimensions": lambda m, rng: _with(m, indices=m.indices[None]),
    "data of two dimensions": lambda m, rng: _with(m, data=m.data[None]),
    "no indptr": lambda m, rng: _with(m, indptr=None),
    "objects as data": lambda m, rng: _with(m, data=np.array(["a"] * m.nnz, object)),
    "complex data": lambda m, rng: _with(m, data=m.data.astype(complex)),
    "dates as data": lambda m, rng: _with(m, data=m.data.astype("m8[s]")),
    "NaN": lambda m, rng: _with(m, data=_changed(m.data, rng.integers(m.nnz), np.nan)),
    "infinity": lambda m, rng: _with(m, data=_changed(m.data, rng.integers(m.nnz), -np.inf)),
    "too large shape": lambda m, rng: _lying(m, (m.shape[0] + 3, m.shape[1])),
    "too small shape": lambda m, rng: _lying(m, (m.shape[0], 1)),
    "negative shape": lambda m, rng: _lying(m, (-1, m.shape[1])),
    "shape of words": lambda m, rng: _lying(m, ("a", "b")),
    "shape of one": lambda m, rng: _lying(m, (m.shape[0],)),
    "too wide": lambda m, rng: _lying(m, (m.shape[0], 2**40)),
    "csc: short data": lambda m, rng: _moved_columns(m, "csc", _set("data", lambda a: a[:-3])),
    "csc: row beyond": lambda m, rng: _moved_columns(m, "csc", _set("indices", lambda a: a + m.shape[0])),
    "csc: largest row": lambda m, rng: _moved_columns(m, "csc", _set("indices", lambda a: _changed(a, 0, 2**31 - 1))),
    "csc: indptr beyond": lambda m, rng: _moved_columns(m, "csc", _set("indptr", lambda a: _changed(a, -1, 10**6))),
    "coo: row beyond": lambda m, rng: _moved_columns(m, "coo", _set("row", lambda a: _changed(a, 0, 10**6))),
    "coo: negative column": lambda m, rng: _moved_columns(m, "coo", _set("col", lambda a: _changed(a, 0, -7))),
    "coo: short data": lambda m, rng: _moved_columns(m, "coo", _set("data", lambda a: a[:-2])),
    "coo: short rows": lambda m, rng: _moved_columns(m, "coo", _set("row", lambda a: a[:-2])),
    "bsr: index beyond": lambda m, rng: _moved_columns(m, "bsr", _set("indices", lambda a: a + 10**6)),
    "bsr: short data": lambda m, rng: _moved_columns(m, "bsr", _set("data", lambda a: a[:-1])),
    "bsr: indptr beyond": lambda m, rng: _moved_columns(m, "bsr", _set("indptr", lambda a: _changed(a, -1, 10**6))),
    "dia: short data": lambda m, rng: _moved_columns(m, "dia", _set("data", lambda a: a[:-1])),
    "dia: offsets twice": lambda m, rng: _moved_columns(m, "dia", _set("offsets", np.zeros_like)),
    "lil: column beyond": lambda m, rng: _moved_columns(m, "lil", _bad_list),
    "lil: short values": lambda m, rng: _moved_columns(m, "lil", _short_list),
    "lil: no lists": lambda m, rng: _moved_columns(m, "lil", _set("rows", lambda a: _changed(a, 0, None))),
    "dok: row beyond": lambda m, rng: _moved_columns(m, "dok", _bad_key),
    "one dimension": lambda m, rng: sparse.coo_array(np.ones(m.shape[1])),
}


class Raising:
    """An object that raises what no library expects when it is asked for its array."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no array today\nnor tomorrow")


BROKEN_DENSE = {
    "NaN": lambda a, rng: _changed(a, (0, 0), np.nan),
    "infinity": lambda a, rng: _changed(a, (-1, 0), np.inf),
    "beyond float32": lambda a, rng: _changed(a.astype(np.float64), (0, 0), 1e300),
    "beyond float64": lambda a, rng: _changed(a.astype(object), (0, 0), 10**400),
    "complex": lambda a, rng: a.astype(complex),
    "dates": lambda a, rng: a.astype("M8[s]"),
    "words": lambda a, rng: a.astype(object).astype(str).astype(object) + "x",
    "structs": lambda a, rng: np.zeros(a.shape, [("a", "f4"), ("b", "i4")]),
    "masked": lambda a, rng: np.ma.array(a, mask=a > 0),
    "one dimension": lambda a, rng: a[0],
    "three dimensions": lambda a, rng: a[None],
    "no dimension": lambda a, rng: np.float64(1),
    "no rows": lambda a, rng: a[:0],
    "ragged": lambda a, rng: [*a.tolist(), [1.0]],
    "None": lambda a, rng: None,
    "a string": lambda a, rng: "abc",
    "bytes": lambda a, rng: b"abc",
    "a generator": lambda a, rng: (row for row in a),
    "sets": lambda a, rng: [{0, 1} for _ in a],
    "a dictionary": lambda a, rng: {"a": 1},
    "an object that raises": lambda a, rng: Raising(),
    "a class": lambda a, rng: np.ndarray,
    "a table": lambda a, rng: __import__("pyarrow").table({"a": ["x"] * len(a)}),
}
