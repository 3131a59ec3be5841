"""Writes a model: arrays and names into files named after their content, and the manifest that binds them."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from labelwood.errors import ModelError
from labelwood.store.arrays import storable, write_arrays
from labelwood.store.atomic import replace_model
from labelwood.store.manifest import FILE, NAME, manifest_of
from labelwood.store.plain import plain
from labelwood.store.state import State

_MAX_PARTS_DEPTH = 16


def write(path: str | os.PathLike[str], state: State) -> None:
    """See `labelwood.store.write`."""
    contents = _Contents()
    model = contents.add(state)
    place = Path(os.fsdecode(path))
    try:
        replace_model(place, lambda staging: contents.write(model, staging))
    except OSError as e:
        raise ModelError(
            f"{place} cannot be saved to ({e.strerror or e}): check its permissions and the free space, and save again"
        ) from e


@dataclass
class _Contents:
    """What goes into the data files, gathered and checked before the disk is touched."""

    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    # Each list with its entry in the manifest, which learns its file's name when that is written.
    names: list[tuple[dict[str, Any], Any]] = field(default_factory=list)

    def add(self, state: State, prefix: str = "") -> dict[str, Any]:
        """The manifest's entry of a state and its parts."""
        if prefix.count("/") > _MAX_PARTS_DEPTH:
            raise ModelError(f"the model cannot be saved: its parts are nested more than {_MAX_PARTS_DEPTH} deep")
        for name in (state.kind, *state.arrays, *state.names, *state.parts):
            _check_name(name)
        return {
            "kind": state.kind,
            "params": plain(state.params, f"{prefix}params"),
            "fitted": plain(state.fitted, f"{prefix}fitted"),
            "arrays": {name: self._add_array(value, prefix + name) for name, value in state.arrays.items()},
            "names": {name: self._add_names(value, prefix + name) for name, value in state.names.items()},
            "parts": {name: self.add(part, f"{prefix}{name}/") for name, part in state.parts.items()},
        }

    def write(self, model: dict[str, Any], staging: Path) -> None:
        """Fills a staging folder."""
        files: dict[str, dict[str, Any]] = {}
        draft = staging / "draft"
        draft.touch()
        mode = stat.S_IMODE(draft.stat().st_mode)
        write_arrays(draft, self.arrays)
        draft.chmod(mode)  # safetensors makes files for their owner alone; this is what the umask asks for
        arrays_file = _keep(draft, "arrays", ".safetensors", files)
        for entry, value in self.names:
            from labelwood.store.names import write_names

            write_names(draft, value)
            entry["file"] = _keep(draft, "names", ".arrow", files)
        (staging / FILE).write_bytes(manifest_of(model, arrays_file, files))

    def _add_array(self, value: Any, key: str) -> dict[str, Any]:
        array = self.arrays[key] = storable(value, f"the array {key!r}")
        return {"dtype": array.dtype.name, "shape": list(array.shape)}

    def _add_names(self, value: Any, key: str) -> dict[str, Any]:
        from labelwood.store.names import storable_names

        names = storable_names(value, f"the list of names {key!r}")
        entry = {"length": len(names)}
        self.names.append((entry, names))
        return entry


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name) or name == "__metadata__":
        raise ModelError(
            f"the name {name!r} cannot be saved: name kinds, arrays, lists and parts with 1 to 100 "
            "characters of A-Z, a-z, 0-9, _.-"
        )


def _keep(draft: Path, stem: str, suffix: str, files: dict[str, dict[str, Any]]) -> str:
    """Gives a finished file the name of its content, and lists it."""
    with draft.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    name = f"{stem}-{digest[:16]}{suffix}"
    files[name] = {"bytes": draft.stat().st_size, "sha256": digest}
    draft.replace(draft.with_name(name))
    return name
