"""Reads a model: first the manifest, then every file that it names, each mapped and checked against the manifest."""

from __future__ import annotations

import hashlib
import os
import time
from typing import Any

from numpy.typing import NDArray

from labelwood.errors import ModelError
from labelwood.store import manifest, strict_json
from labelwood.store.arrays import map_arrays
from labelwood.store.damage import UnreadableError, damaged
from labelwood.store.folder import Bytes, Folder
from labelwood.store.mounts import is_on_network
from labelwood.store.state import State

# A save may replace the files after the manifest was read. The new manifest is already in place then, so try again.
_ATTEMPTS = 10
_PAUSE = 0.005
_PIECE = 8 << 20


def read(path: str | os.PathLike[str], *, verify: bool, mmap: bool | None) -> State:
    """See `labelwood.store.read`."""
    place = os.fsdecode(path)
    facts, files = _open(place, mmap)
    if verify:
        for name, data in files.items():
            if _digest(data) != facts.files[name].sha256:
                raise damaged(f"{place}/{name}", "its sha256 differs from the manifest's")
    where = f"{place}/{facts.arrays_file}"
    arrays = map_arrays(files[facts.arrays_file], facts.arrays(), where, verify=verify)
    names = _map_names(place, facts, files, verify=verify)
    return _state(facts.model, "", arrays, names, verify=verify)


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """See `labelwood.store.describe`."""
    with Folder.at(os.fsdecode(path)) as folder:
        facts = _manifest(folder)
    parts = list(facts.model.walk())
    return {
        "format_version": facts.format_version,
        "labelwood": facts.labelwood,
        "kind": facts.model.kind,
        "params": facts.model.params,
        "fitted": facts.model.fitted,
        "files": {name: entry.bytes for name, entry in facts.files.items()},
        "arrays": {key: spec.model_dump() for key, spec in facts.arrays().items()},
        "names": {prefix + name: spec.length for prefix, part in parts for name, spec in part.names.items()},
        "parts": {
            prefix.rstrip("/"): {"kind": part.kind, "params": part.params, "fitted": part.fitted}
            for prefix, part in parts
            if prefix
        },
    }


def is_model(path: str | os.PathLike[str]) -> bool:
    """See `labelwood.store.is_model`."""
    try:
        with Folder.at(os.fsdecode(path)) as folder:
            manifest.recognise(folder.read(manifest.FILE, strict_json.MAX_BYTES), "")
    except UnreadableError:
        raise  # it may be a model
    except (ModelError, FileNotFoundError):
        return False
    return True


def _open(place: str, mmap: bool | None) -> tuple[manifest.Manifest, dict[str, Bytes]]:
    missing = None
    for _ in range(_ATTEMPTS):
        with Folder.at(place) as folder:
            facts = _manifest(folder)
            mapped = not is_on_network(folder.fd) if mmap is None else mmap
            contents = folder.map if mapped else folder.load
            try:
                return facts, {name: contents(name, entry.bytes) for name, entry in facts.files.items()}
            except FileNotFoundError as e:
                missing = e.filename
            except MemoryError:
                raise ModelError(f"{place} is larger than the memory that is free: map it, with mmap=True") from None
        time.sleep(_PAUSE)
    raise ModelError(f"{place}/{missing} is missing: copy or train the model again")


def _manifest(folder: Folder) -> manifest.Manifest:
    try:
        data = folder.read(manifest.FILE, strict_json.MAX_BYTES)
    except FileNotFoundError:
        raise ModelError(
            f"{folder.path} is not a Labelwood model (it has no {manifest.FILE}): give the folder of a saved model"
        ) from None
    return manifest.parse(data, folder.where(manifest.FILE))


def _digest(data: Bytes) -> str:
    digest = hashlib.sha256()
    with memoryview(data) as view:
        for begin in range(0, len(view), _PIECE):  # in pieces, so that Ctrl-C can interrupt
            digest.update(view[begin : begin + _PIECE])
    return digest.hexdigest()


def _map_names(place: str, facts: manifest.Manifest, files: dict[str, Bytes], *, verify: bool) -> dict[str, Any]:
    """The lists of names by their keys; pyarrow is imported only for a model that has such lists."""
    found: dict[str, Any] = {}
    of_file: dict[str, Any] = {}  # each file is checked once, however often it is named
    for prefix, part in facts.model.walk():
        for name, spec in part.names.items():
            from labelwood.store.names import check_length, map_names

            where = f"{place}/{spec.file}"
            if spec.file not in of_file:
                of_file[spec.file] = map_names(files[spec.file], where, verify=verify)
            found[prefix + name] = check_length(of_file[spec.file], spec.length, where)
    return found


def _state(
    part: manifest.Part, prefix: str, arrays: dict[str, NDArray[Any]], names: dict[str, Any], *, verify: bool
) -> State:
    return State(
        kind=part.kind,
        params=part.params,
        fitted=part.fitted,
        arrays={name: arrays[prefix + name] for name in part.arrays},
        names={name: names[prefix + name] for name in part.names},
        parts={
            name: _state(inner, f"{prefix}{name}/", arrays, names, verify=verify) for name, inner in part.parts.items()
        },
        verify=verify,
    )
