"""The manifest: it describes a saved model and each of its files.

Nothing here trusts the file. A manifest that passes the checks has safe file names, each with the hash of its content,
and lists exactly the files that its arrays and names need.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from labelwood.errors import ModelError
from labelwood.store import strict_json
from labelwood.store.damage import damaged, quoted
from labelwood.store.dtypes import DTYPES
from labelwood.store.migrate import VERSION, check_version, migrate

FILE = "manifest.json"
FORMAT = "labelwood-model"
# Names of kinds, arrays, lists of names and parts. They are joined with slashes and appear in messages.
NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
MAX_PARTS_DEPTH = 16
DATA_FILE = re.compile(r"arrays-[0-9a-f]{16}\.safetensors|names-[0-9a-f]{16}\.arrow")
_SEAL_BYTES = 64 + len(b'"\n}\n')


def _must_match(pattern: re.Pattern[str], what: str) -> AfterValidator:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"{quoted(text)} is not {what}")
        return text

    return AfterValidator(check)


Count = Annotated[int, Field(ge=0, lt=2**63)]
Name = Annotated[str, _must_match(NAME, "a name of letters, digits and _.-")]
DataFile = Annotated[str, _must_match(DATA_FILE, "the name of a data file")]
Digest = Annotated[str, _must_match(re.compile(r"[0-9a-f]{64}"), "a sha256")]
Dtype = Annotated[str, _must_match(re.compile("|".join(DTYPES)), "a known dtype")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class FileEntry(_Strict):
    """Size and hash of one data file.

    Example:
        >>> FileEntry(bytes=3, sha256="0" * 64).bytes
        3
    """

    bytes: Count
    sha256: Digest


class ArraySpec(_Strict):
    """Dtype and shape of one array.

    Example:
        >>> ArraySpec(dtype="float32", shape=[2, 3]).n_bytes
        24
    """

    dtype: Dtype
    shape: Annotated[list[Count], Field(max_length=32)]

    @property
    def n_bytes(self) -> int:
        """The number of bytes of the array."""
        return math.prod(self.shape) * DTYPES[self.dtype].itemsize

    @model_validator(mode="after")
    def _fits_in_memory(self) -> Self:
        # An empty dimension counts as one, as in numpy's own check of shapes.
        if math.prod(n or 1 for n in self.shape) * DTYPES[self.dtype].itemsize >= 2**63:
            raise ValueError("the shape is larger than any memory")
        return self


class NamesSpec(_Strict):
    """Length and file of one list of names.

    Example:
        >>> NamesSpec(length=3, file="names-0123456789abcdef.arrow").length
        3
    """

    length: Count
    file: DataFile


class Part(_Strict):
    """The entry of one state: the model or a part of it.

    Example:
        >>> Part(kind="demo", params={}, fitted={}, arrays={}, names={}, parts={}).kind
        'demo'
    """

    kind: Name
    params: dict[str, Any]
    fitted: dict[str, Any]
    arrays: dict[Name, ArraySpec]
    names: dict[Name, NamesSpec]
    parts: dict[Name, Part]

    def walk(self, prefix: str = "") -> Iterator[tuple[str, Part]]:
        """Yields this part and all parts below it, each with the prefix of its arrays' keys."""
        yield prefix, self
        for name, part in self.parts.items():
            yield from part.walk(f"{prefix}{name}/")


class Manifest(_Strict):
    """The whole of manifest.json. `parse` makes one from a file's bytes."""

    format: Literal["labelwood-model"]
    format_version: int
    labelwood: str
    arrays_file: DataFile
    files: dict[DataFile, FileEntry]
    model: Part
    sha256: Digest

    @model_validator(mode="after")
    def _parts_are_shallow(self) -> Self:
        n_bytes = 0  # of the arrays' keys, which the header of the arrays' file repeats
        for prefix, part in self.model.walk():
            if prefix.count("/") > MAX_PARTS_DEPTH:
                raise ValueError(f"its parts are nested more than {MAX_PARTS_DEPTH} deep")
            n_bytes += sum(len(prefix) + len(name) for name in part.arrays)
            if n_bytes > strict_json.MAX_BYTES:
                raise ValueError("the names of its arrays are too long")
        return self

    @model_validator(mode="after")
    def _files_agree(self) -> Self:
        names = {spec.file for _, part in self.model.walk() for spec in part.names.values()}
        if names | {self.arrays_file} != set(self.files):
            raise ValueError("the files listed are not the files used")
        for file, entry in self.files.items():
            if f"-{entry.sha256[:16]}." not in file:
                raise ValueError(f"the name of {file} does not carry its sha256")
        return self

    def arrays(self) -> dict[str, ArraySpec]:
        """All arrays of the model and its parts, by their keys in the arrays' file."""
        return {prefix + name: spec for prefix, part in self.model.walk() for name, spec in part.arrays.items()}


def render(raw: dict[str, Any]) -> bytes:
    """The bytes of a manifest with its seal: the last value is the sha256 of all bytes before that value.

    Example:
        >>> render({"format": "labelwood-model"})[:40]
        b'{\\n "format": "labelwood-model",\\n "sha256'
    """
    data = strict_json.dumps(raw | {"sha256": "0" * 64})
    try:
        strict_json.check_size(data)
    except ValueError as e:
        raise ModelError(f"the model cannot be saved ({e}): keep large things in arrays and names") from None
    body, end = data[:-_SEAL_BYTES], data[-_SEAL_BYTES + 64 :]
    return body + hashlib.sha256(body).hexdigest().encode() + end


def recognise(data: bytes, where: str) -> dict[str, Any]:
    """The content of a file that says it is a Labelwood manifest of any version; nothing else is checked.

    Example:
        >>> recognise(b'{"format": "labelwood-model"}', "m/manifest.json")
        {'format': 'labelwood-model'}
    """
    try:
        raw = strict_json.loads(data)
    except ValueError as e:
        raise damaged(where, f"{e}") from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise ModelError(f"{where} is not a model's: give the folder of a saved model")
    return raw


def parse(data: bytes, where: str) -> Manifest:
    """The checked manifest in the bytes of a file, migrated to the current format version.

    Example:
        >>> parse(b"{}", "m/manifest.json")
        Traceback (most recent call last):
        ...
        labelwood.errors.ModelError: m/manifest.json is not a model's: give the folder of a saved model
    """
    raw = recognise(data, where)
    check_version(raw, where)  # first, because a later version may seal its manifest in another way
    body = hashlib.sha256(data[:-_SEAL_BYTES]).hexdigest()
    if raw.get("sha256") != body:
        raise damaged(where, "its own sha256 differs from the one it ends with")
    try:
        return Manifest.model_validate(migrate(raw, where))
    except ValidationError as e:
        raise damaged(where, _first_error(e)) from None


def manifest_of(model: dict[str, Any], arrays_file: str, files: dict[str, dict[str, Any]]) -> bytes:
    """The bytes of the manifest for a model that is being saved."""
    from importlib.metadata import version

    return render(
        {
            "format": FORMAT,
            "format_version": VERSION,
            "labelwood": version("labelwood"),
            "arrays_file": arrays_file,
            "files": files,
            "model": model,
        }
    )


def _first_error(error: ValidationError) -> str:
    detail = error.errors(include_url=False, include_input=False)[0]
    place = quoted(".".join(map(str, detail["loc"]))) + ": " if detail["loc"] else ""
    return place + detail["msg"].removeprefix("Value error, ")
