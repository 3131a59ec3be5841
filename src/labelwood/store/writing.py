"""Writes a model: arrays and names into files named after their content, and the manifest that lists the files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from labelwood.errors import ModelError
from labelwood.store.arrays import storable, write_arrays
from labelwood.store.atomic import DRAFT, replace_model
from labelwood.store.damage import fix_of
from labelwood.store.draft import Draft
from labelwood.store.folder import Folder
from labelwood.store.manifest import FILE, MAX_PARTS_DEPTH, NAME, manifest_of
from labelwood.store.plain import plain
from labelwood.store.state import State


def write(path: str | os.PathLike[str], state: State) -> None:
    """See `labelwood.store.write`."""
    contents = _Contents()
    model = contents.add(state)
    place = Path(os.fsdecode(path))
    try:
        replace_model(place, lambda staging: contents.write(model, staging))
    except ModelError:
        raise
    except ValueError as e:  # the name holds a zero byte
        raise ModelError(f"{str(place)!r} cannot be saved to ({e}): give another name") from None
    except OSError as e:
        raise ModelError(f"{place} cannot be saved to ({e.strerror or e}): {fix_of(e)}") from e


@dataclass
class _Contents:
    """The contents of the data files, collected and checked before anything is written."""

    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    # Each list with its entry in the manifest; the entry gets the name of its file once that is written.
    names: list[tuple[dict[str, Any], Any]] = field(default_factory=list)

    def add(self, state: State, prefix: str = "") -> dict[str, Any]:
        """Adds a state and its parts, and returns their entry in the manifest."""
        if prefix.count("/") > MAX_PARTS_DEPTH:
            raise ModelError(f"the model cannot be saved: its parts are nested more than {MAX_PARTS_DEPTH} deep")
        for name in (state.kind, *state.arrays, *state.names, *state.parts):
            _check_name(name)
        arrays = storable(state.arrays, prefix)
        self.arrays |= {prefix + name: array for name, array in arrays.items()}
        return {
            "kind": state.kind,
            "params": plain(state.params, f"{prefix}params"),
            "fitted": plain(state.fitted, f"{prefix}fitted"),
            "arrays": {name: {"dtype": a.dtype.name, "shape": list(a.shape)} for name, a in arrays.items()},
            "names": {name: self._add_names(value, prefix + name) for name, value in state.names.items()},
            "parts": {name: self.add(part, f"{prefix}{name}/") for name, part in state.parts.items()},
        }

    def write(self, model: dict[str, Any], staging: Folder) -> None:
        """Writes all files into a staging folder."""
        files: dict[str, dict[str, Any]] = {}
        arrays_file = _write_data_file(
            staging, "arrays", ".safetensors", files, lambda draft: write_arrays(draft, self.arrays)
        )
        for entry, value in self.names:
            from labelwood.store.names import write_names

            fill = partial(write_names, names=value)
            entry["file"] = _write_data_file(staging, "names", ".arrow", files, fill)
        with Draft(staging, FILE) as manifest:
            manifest.write(manifest_of(model, arrays_file, files))

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


def _write_data_file(
    staging: Folder, stem: str, suffix: str, files: dict[str, dict[str, Any]], fill: Callable[[Draft], None]
) -> str:
    """Writes a file, names it after its content, adds it to `files`, and returns its name."""
    with Draft(staging, DRAFT) as draft:
        fill(draft)
    digest = draft.hash.hexdigest()
    name = f"{stem}-{digest[:16]}{suffix}"
    files[name] = {"bytes": draft.size, "sha256": digest}
    staging.move(DRAFT, staging, name)
    return name
