"""All arrays of a model in one safetensors file, which is mapped back without a copy.

The package safetensors writes only to paths and its readers copy each array, so this module does both itself. Reading
is strict: the file must hold exactly the arrays of the manifest, without gaps, each aligned for its dtype.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.errors import ModelError
from labelwood.store import strict_json
from labelwood.store.damage import damaged, quoted
from labelwood.store.draft import Draft
from labelwood.store.dtypes import DTYPES, RANKS, SAFETENSORS
from labelwood.store.folder import Bytes
from labelwood.store.manifest import ArraySpec


def storable(arrays: Mapping[str, Any], prefix: str = "") -> dict[str, NDArray[Any]]:
    """The arrays in C order and in the byte order of the file; an array is copied only if it differs.

    Example:
        >>> storable({"w": np.arange(3, dtype=">i4")})["w"].dtype
        dtype('int32')
    """
    found = {}
    for name, value in arrays.items():
        if not isinstance(value, np.ndarray) or value.dtype.name not in DTYPES:
            what = f"has dtype {value.dtype}" if isinstance(value, np.ndarray) else f"is a {type(value).__name__}"
            raise ModelError(
                f"the array {prefix + name!r} cannot be saved: it {what}; give an array of {', '.join(DTYPES)}"
            )
        found[name] = np.asarray(value, dtype=DTYPES[value.dtype.name], order="C")
    return found


def write_arrays(draft: Draft, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Writes arrays that `storable` returned, with the same bytes as the safetensors package.

    That package writes to a path, which may lead elsewhere by then, and our hash could not see the bytes.
    """
    order = sorted(arrays, key=lambda key: (RANKS[arrays[key].dtype.name], key))
    header, end = {}, 0
    for key in order:
        begin, end = end, end + arrays[key].nbytes
        dtype = SAFETENSORS[arrays[key].dtype.name]
        header[key] = {"dtype": dtype, "shape": list(arrays[key].shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    draft.write(len(text).to_bytes(8, "little") + text)
    for key in order:
        draft.write(arrays[key].reshape(-1).view(np.uint8))


def map_arrays(data: Bytes, specs: Mapping[str, ArraySpec], where: str, *, verify: bool) -> dict[str, NDArray[Any]]:
    """Read-only views of the arrays in the file, which must be exactly those of the manifest."""
    start, header = _header(data, where)
    if header.keys() != specs.keys():
        odd = min(header.keys() ^ specs.keys())
        raise damaged(where, f"the array {quoted(odd)} is in only one of this file and the manifest")
    end = 0
    for key in sorted(header, key=lambda key: _span(header[key], specs[key], key, where)):
        begin, stop = _span(header[key], specs[key], key, where)
        if begin != end or (start + begin) % DTYPES[specs[key].dtype].itemsize:
            raise damaged(where, f"the array {quoted(key)} overlaps another, leaves a gap or is not aligned")
        end = stop
    if start + end != len(data):
        raise damaged(where, "its arrays do not fill it")
    views = {
        key: np.ndarray(spec.shape, DTYPES[spec.dtype], data, start + header[key]["data_offsets"][0])
        for key, spec in specs.items()
    }
    if verify:
        _check_bools(views, where)
    return views


def _header(data: Bytes, where: str) -> tuple[int, dict[str, Any]]:
    """The place where the arrays begin, and the header of the file."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > min(len(data) - 8, strict_json.MAX_BYTES):
        raise damaged(where, "its header is cut short or too large")
    try:
        header = strict_json.loads(bytes(data[8 : 8 + size]))
    except ValueError as e:
        raise damaged(where, f"{e}") from None
    if not isinstance(header, dict):
        raise damaged(where, "its header is not a JSON object")
    return 8 + size, header


def _span(entry: Any, spec: ArraySpec, key: str, where: str) -> tuple[int, int]:
    """The first byte of an array and the end of its bytes; raises if its entry contradicts the manifest."""
    expected = {"dtype": SAFETENSORS[spec.dtype], "shape": spec.shape}
    if isinstance(entry, dict) and entry.keys() == {"dtype", "shape", "data_offsets"}:
        offsets = entry["data_offsets"]
        whole = isinstance(offsets, list) and len(offsets) == 2 and all(type(n) is int for n in offsets)
        same = {name: entry[name] for name in expected} == expected
        if whole and same and offsets[1] - offsets[0] == spec.n_bytes:
            return offsets[0], offsets[1]
    raise damaged(where, f"its entry for the array {quoted(key)} differs from the manifest's or from its size")


def _check_bools(views: Mapping[str, NDArray[Any]], where: str) -> None:
    """Raises for a bool other than 0 and 1: compilers rely on it, so native code could do anything."""
    for key, view in views.items():
        if view.dtype == np.bool_ and view.view(np.uint8).max(initial=0) > 1:
            raise damaged(where, f"the array {quoted(key)} has entries that are neither true nor false")
