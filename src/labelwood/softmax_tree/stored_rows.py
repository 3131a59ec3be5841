"""Rows of a dense matrix as a model keeps them: plain, or as codes of their parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood import _native
from labelwood.arrays.rows import Floats
from labelwood.errors import LabelwoodError, ModelError, ParameterError


@dataclass(frozen=True)
class StoredRows:
    """Rows of numbers, as native code reads them: plain, or as codes of their parts (product quantisation).

    Example:
        >>> rows = np.random.default_rng(0).normal(size=(1000, 8)).astype(np.float32)
        >>> small = StoredRows(plain=rows).as_codes(part=2, seed=0, n_threads=1)
        >>> small.codes.shape, small.codes.dtype
        ((1000, 4), dtype('uint8'))
    """

    plain: Floats | None = None
    codes: NDArray[np.uint8] | None = None  # rows × parts: which of 256 centers each part is near to
    centers: Floats | None = None  # parts × 256 × numbers of a part
    scales: Floats | None = None  # of each row
    width: int = 0  # with codes: numbers of a row

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        rows = self.plain if self.codes is None else self.codes
        return 0 if rows is None else len(rows)

    def as_codes(self, *, part: int, seed: int, n_threads: int) -> StoredRows:
        """The same rows, nearly, with a byte for each `part` numbers; few rows stay plain if codes would take more."""
        plain = self.plain_rows()
        if part < 1:
            raise ParameterError(f"part is {part}: a byte must stand for one number at least")
        codes, centers, scales = _native.product_codes(plain, min(part, plain.shape[1]), seed, n_threads)
        if codes.nbytes + centers.nbytes + scales.nbytes >= plain.nbytes:
            return self
        return StoredRows(codes=codes, centers=centers, scales=scales, width=plain.shape[1])

    def plain_rows(self) -> Floats:
        """The rows, where they are plain."""
        if self.plain is None:
            raise LabelwoodError("the model is compressed already: compress the one it was made from")
        return self.plain

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays for the store, each under its own name that begins with `name`."""
        if self.codes is None:
            assert self.plain is not None
            return {name: self.plain}
        assert self.centers is not None and self.scales is not None
        return {f"{name}.codes": self.codes, f"{name}.centers": self.centers, f"{name}.scales": self.scales}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str, width: int, *, verify: bool) -> StoredRows:
        """The reverse of `arrays`."""
        if name in arrays:
            matrix = cls(plain=checked(arrays, name, np.float32, 2))
            found = [matrix.plain]
        else:
            codes = checked(arrays, f"{name}.codes", np.uint8, 2)
            centers = checked(arrays, f"{name}.centers", np.float32, 3)
            scales = checked(arrays, f"{name}.scales", np.float32, 1)
            matrix = cls(codes=codes, centers=centers, scales=scales, width=width)
            found = [centers, scales]
        if verify and not all(_native.all_finite(array.reshape(-1)) for array in found if array is not None):
            raise ModelError(f"the model's {name} are not all finite numbers: save it again")
        return matrix


def checked(arrays: Mapping[str, NDArray[Any]], name: str, dtype: Any, ndim: int) -> NDArray[Any]:
    """An array of a saved model, if it is there and of this kind.

    Example:
        >>> checked({"kept": np.zeros(2, np.int32)}, "kept", np.int32, 1)
        array([0, 0], dtype=int32)
    """
    array = arrays.get(name)
    if array is None or array.dtype != dtype or array.ndim != ndim:
        raise ModelError(f"the model's array {name!r} is missing or of another type: save the model again")
    return array
