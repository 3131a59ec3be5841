"""The dtypes that a model's arrays may have."""

from __future__ import annotations

from typing import Any

import numpy as np

# By the name in the manifest. Files are little-endian on every machine.
_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(f"<{np.dtype(name).str[1:]}") for name in _NAMES.split()}
# The safetensors package writes arrays in this order of dtypes, and those of one dtype in the order of their names.
_WRITE_ORDER = "uint64 int64 float64 float32 uint32 int32 float16 uint16 int16 int8 uint8 bool"
RANKS: dict[str, int] = {name: rank for rank, name in enumerate(_WRITE_ORDER.split())}
# The names of the dtypes in safetensors.
SAFETENSORS: dict[str, str] = {
    name: "BOOL" if name == "bool" else f"{name[0].upper()}{dtype.itemsize * 8}" for name, dtype in DTYPES.items()
}
