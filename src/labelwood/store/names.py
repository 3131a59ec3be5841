"""A list of names as an Arrow IPC file: one batch with one column of strings, uncompressed so that it can be mapped."""

from __future__ import annotations

import struct
from itertools import islice
from struct import unpack_from
from typing import Any

import numpy as np
import pyarrow as pa

from labelwood.errors import ModelError
from labelwood.store.damage import damaged
from labelwood.store.draft import Draft
from labelwood.store.folder import Bytes

_BEGIN, _END = b"ARROW1\0\0", b"ARROW1"
_HEADER, _COMPRESSION = 2, 3  # numbers of two fields in Arrow's format: of Message and of RecordBatch
SCHEMA = pa.schema([pa.field("name", pa.large_string(), nullable=False)])


def storable_names(value: Any, where: str) -> Any:
    """The names in buffers that depend only on the names: a slice gets its own buffers.

    Example:
        >>> storable_names(pa.array(["a", "b"], pa.large_string())[1:], "labels").to_pylist()
        ['b']
    """
    if isinstance(value, pa.ChunkedArray):
        value = value.combine_chunks()
    if not isinstance(value, pa.LargeStringArray) or value.null_count:
        raise ModelError(
            f"{where} cannot be saved: it is not a pyarrow array of large_string without nulls, "
            "so make it one with pyarrow.array(names, pyarrow.large_string())"
        )
    try:
        value.validate(full=True)
    except pa.ArrowInvalid as e:
        raise ModelError(f"{where} cannot be saved: {_one_line(e)}; give valid UTF-8") from None
    if not len(value):
        return pa.LargeStringArray.from_buffers(0, pa.py_buffer(bytes(8)), pa.py_buffer(b""))
    _, offsets, text = value.buffers()
    borders = np.frombuffer(offsets, "<i8")[value.offset : value.offset + len(value) + 1]
    content = pa.py_buffer(b"") if text is None else text.slice(borders[0], borders[-1] - borders[0])
    return pa.LargeStringArray.from_buffers(len(value), pa.py_buffer(borders - borders[0]), content)


def write_names(draft: Draft, names: Any) -> None:
    """Writes names that `storable_names` returned."""
    batch = pa.record_batch([names], schema=SCHEMA)
    options = pa.ipc.IpcWriteOptions(compression=None)
    with pa.PythonFile(draft, "w") as sink, pa.ipc.new_file(sink, SCHEMA, options=options) as writer:
        writer.write_batch(batch)


def map_names(data: Bytes, where: str, *, verify: bool) -> Any:
    """The names as an Arrow array over the bytes of the file, without a copy."""
    whole = pa.py_buffer(data)
    try:
        names = _column(whole, where)
        names.validate(full=verify)
    except (pa.ArrowException, OSError, ValueError, MemoryError, struct.error) as e:
        if isinstance(e, ModelError):
            raise
        raise damaged(where, _one_line(e)) from None
    return names


def check_length(names: Any, length: int, where: str) -> Any:
    """The names; raises unless there are `length` of them and none is missing."""
    if len(names) != length or names.null_count:
        raise damaged(where, f"it has {len(names)} names, {names.null_count} of them null, and not {length}")
    return names


def _column(whole: Any, where: str) -> Any:
    """The names in the one batch. An Arrow file is a stream of messages between two marks, with a table of contents."""
    if memoryview(whole)[: len(_BEGIN)] != _BEGIN or memoryview(whole)[-len(_END) :] != _END:
        raise damaged(where, "it is not an Arrow IPC file")
    stream = pa.ipc.MessageReader.open_stream(pa.BufferReader(whole.slice(len(_BEGIN))))
    messages = list(islice(stream, 3))
    is_one = len(messages) == 2 and pa.ipc.read_schema(messages[0]).equals(SCHEMA, check_metadata=True)
    if not is_one or messages[1].type != "record batch":
        raise damaged(where, "it does not hold one batch of one column of names")
    if _is_compressed(messages[1].metadata):  # decompressed, they could be far larger than the file
        raise damaged(where, "its names are compressed and cannot be mapped")
    names = pa.ipc.read_record_batch(messages[1], SCHEMA).column(0)
    for buffer in names.buffers():
        if buffer is not None and not _within(buffer, whole):
            raise damaged(where, "its names do not lie in the file")
    return names


def _is_compressed(metadata: Any) -> bool:
    """Whether the buffers of a record batch are compressed, from its message: pyarrow does not tell before reading."""
    table = memoryview(metadata)

    def field(at: int, number: int) -> int:
        """The place of a field of a FlatBuffers table; zero if the field is missing."""
        vtable = at - unpack_from("<i", table, at)[0]
        slot = 4 + 2 * number
        offset: int = unpack_from("<H", table, vtable + slot)[0] if slot < unpack_from("<H", table, vtable)[0] else 0
        return at + offset if offset else 0

    header = field(unpack_from("<I", table)[0], _HEADER)
    return field(header + unpack_from("<I", table, header)[0], _COMPRESSION) != 0


def _within(buffer: Any, whole: Any) -> bool:
    inside: bool = whole.address <= buffer.address and buffer.address + buffer.size <= whole.address + whole.size
    return inside or not buffer.size


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
