"""A saved model taken apart, changed, and written again with every size and hash made right.

It is written without Labelwood's own code, so that nothing there can refuse to write what is wrong.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

CODES = {"bool": "BOOL", "float16": "F16", "float32": "F32", "float64": "F64"}
CODES |= {f"{sign}int{bits}": f"{'U' if sign else 'I'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
DTYPES = {code: dtype for dtype, code in CODES.items()}


class Opened:
    """A model: its manifest's state, its arrays by key, and the bytes of its files of names."""

    def __init__(self, folder: Path) -> None:
        self.raw: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
        data = (folder / self.raw["arrays_file"]).read_bytes()
        start = 8 + int.from_bytes(data[:8], "little")
        self.arrays = {
            key: np.frombuffer(data[start:], DTYPES[entry["dtype"]], _count(entry["shape"]), entry["data_offsets"][0])
            .reshape(entry["shape"])
            .copy()
            for key, entry in json.loads(data[8:start]).items()
        }
        self.names = {name: (folder / name).read_bytes() for name in self.raw["files"] if name.endswith(".arrow")}
        self.changes_header: Any = None  # a function that changes the header of the arrays' file
        self.changes_bytes: Any = None  # and one that changes all its bytes

    @property
    def model(self) -> dict[str, Any]:
        """The state of the whole model."""
        return self.raw["model"]

    def states(self) -> list[tuple[str, dict[str, Any]]]:
        """Every state with what its arrays' keys begin with."""
        return list(_states("", self.model))

    def write(self, folder: Path) -> None:
        """Writes the model to a new folder."""
        folder.mkdir(parents=True)
        self._describe_arrays()
        text = json.dumps(self.raw)
        files: dict[str, Any] = {}
        for name, data in {self.raw["arrays_file"]: self._arrays_file(), **self.names}.items():
            digest = hashlib.sha256(data).hexdigest()
            new = f"{name.partition('-')[0]}-{digest[:16]}.{name.rpartition('.')[2]}"
            text = text.replace(json.dumps(name), json.dumps(new))
            files[new] = {"bytes": len(data), "sha256": digest}
            (folder / new).write_bytes(data)
        raw = json.loads(text)
        used = {spec["file"] for _, state in _states("", raw["model"]) for spec in _specs(state) if "file" in spec}
        raw["files"] = {name: entry for name, entry in files.items() if name in used | {raw["arrays_file"]}}
        (folder / "manifest.json").write_bytes(sealed(raw))

    def _describe_arrays(self) -> None:
        """Makes the manifest say what the arrays are now, where a state still has them."""
        for prefix, state in self.states():
            arrays = state.get("arrays")
            for name in list(arrays) if isinstance(arrays, dict) else []:
                array = self.arrays.get(prefix + name)
                if array is not None:
                    arrays[name] = {"dtype": array.dtype.name, "shape": list(array.shape)}

    def _arrays_file(self) -> bytes:
        wanted = [
            prefix + name
            for prefix, state in self.states()
            for name in (state["arrays"] if isinstance(state.get("arrays"), dict) else {})
        ]
        arrays = {key: self.arrays[key] for key in wanted if key in self.arrays}
        order = sorted(arrays, key=lambda key: (-arrays[key].dtype.itemsize, key))
        header, end, body = {}, 0, []
        for key in order:
            data = np.ascontiguousarray(arrays[key]).tobytes()
            shape = list(arrays[key].shape)
            header[key] = {
                "dtype": CODES[arrays[key].dtype.name],
                "shape": shape,
                "data_offsets": [end, end + len(data)],
            }
            body.append(data)
            end += len(data)
        if self.changes_header is not None:
            self.changes_header(header)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        data = len(text).to_bytes(8, "little") + text + b"".join(body)
        return data if self.changes_bytes is None else self.changes_bytes(data)


def sealed(raw: dict[str, Any]) -> bytes:
    """The bytes of a manifest that ends with the right sha256 of itself."""
    data = json.dumps(raw | {"sha256": "0" * 64}, sort_keys=True, indent=1).encode() + b"\n"
    body, end = data[:-68], data[-4:]
    return body + hashlib.sha256(body).hexdigest().encode() + end


def _states(prefix: str, state: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(state, dict):
        yield prefix, state
        parts = state.get("parts")
        for name, part in parts.items() if isinstance(parts, dict) else ():
            yield from _states(f"{prefix}{name}/", part)


def _specs(state: dict[str, Any]) -> list[dict[str, Any]]:
    names = state.get("names")
    return [spec for spec in names.values() if isinstance(spec, dict)] if isinstance(names, dict) else []


def _count(shape: list[int]) -> int:
    return int(np.prod(shape, dtype=np.int64))
