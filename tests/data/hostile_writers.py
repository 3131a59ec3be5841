"""Functions that write hostile files into a folder and return the file to read."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

MEBI = 1 << 20


def zstd(data: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as stream:
        stream.write(data)
    return out.getvalue().to_pybytes()


PACK = {".gz": lambda data: gzip.compress(data, 9), ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": zstd}


def bomb(name: str, suffix: str, head: bytes, row: bytes, n_bytes: int) -> Callable[[Path, random.Random], Path]:
    """A file of many compressed parts that all hold the same rows."""

    def write(folder: Path, _: random.Random) -> Path:
        part = row * (8 * MEBI // len(row))
        packed, path = PACK[suffix](part), folder / (name + suffix)
        path.write_bytes(PACK[suffix](head + part) + packed * (n_bytes // len(part)))
        return path

    return write


def plain(name: str, content: bytes, **beside: bytes) -> Callable[[Path, random.Random], Path]:
    """A file, with others beside it (dots in their names written as double underscores)."""

    def write(folder: Path, _: random.Random) -> Path:
        for other, data in beside.items():
            (folder / other.replace("__", ".")).write_bytes(data)
        (folder / name).write_bytes(content)
        return folder / name

    return write


def stretched(name: str, start: bytes, n_bytes: int) -> Callable[[Path, random.Random], Path]:
    """A file that continues with NULs, which take no space on the disk."""

    def write(folder: Path, _: random.Random) -> Path:
        path = folder / name
        path.write_bytes(start)
        os.truncate(path, n_bytes)
        return path

    return write


def table(name: str, make: Callable[[], Any], **how: Any) -> Callable[[Path, random.Random], Path]:
    """A Parquet file."""

    def write(folder: Path, _: random.Random) -> Path:
        pq.write_table(make(), folder / name, **({"compression": "zstd"} | how))
        return folder / name

    return write


def archive(name: str, zeros: int = 0, **members: bytes) -> Callable[[Path, random.Random], Path]:
    """A zip archive of these members, compressed, the first followed by zeros."""

    def write(folder: Path, _: random.Random) -> Path:
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
            for number, (member, data) in enumerate(members.items()):
                with out.open(member.replace("__", "."), "w") as stream:
                    stream.write(data)
                    for _ in range(0 if number else zeros // MEBI):
                        stream.write(bytes(MEBI))
        return folder / name

    return write


def npy(shape: tuple[int, ...], content: bytes, dtype: str = "<f4", fortran: bool = False) -> bytes:
    """The file of an array that claims a shape."""
    header = repr({"descr": dtype, "fortran_order": fortran, "shape": shape}).encode()
    header += b" " * (63 - (len(header) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def array(values: Any, dtype: Any = None) -> bytes:
    out = io.BytesIO()
    np.save(out, np.asarray(values, dtype))
    return out.getvalue()


def overlapping_archive(folder: Path, _: random.Random) -> Path:
    """An archive in which all entries of the directory point to the bytes of one member."""
    path = archive("X.trn.npz", 64 * MEBI, data__npy=npy((64 * MEBI,), b"", "|u1"))(folder, random.Random(0))
    whole = path.read_bytes()
    directory = whole.rindex(b"PK\x01\x02")
    entry, end = whole[directory : whole.rindex(b"PK\x05\x06")], bytearray(whole[whole.rindex(b"PK\x05\x06") :])
    entries = [entry.replace(b"data.npy", b"dat%d.npy" % i) for i in range(10)] * 10
    struct.pack_into("<HHI", end, 8, len(entries), len(entries), sum(map(len, entries)))
    path.write_bytes(whole[:directory] + b"".join(entries) + end)
    return path


def many_keys(folder: Path, seed: random.Random) -> Path:
    path = folder / "rows.jsonl"
    record = {f"k{seed.randrange(10**9)}": i for i in range(200_000)} | {"text": "a", "labels": ["b"]}
    path.write_text(json.dumps(record) + "\n")
    return path


def crowding_words(folder: Path, seed: random.Random) -> Path:
    """Texts of one word each, all of which a hash with two fixed factors would put into one slot of a table."""
    letters = np.random.default_rng(seed.randrange(2**32)).integers(97, 123, (2, 1 << 17, 8), np.uint8)
    first, last = letters.view("<u8")[..., 0]
    wanted = np.uint64(0x123456789ABCDEF0) - first * np.uint64(0xC2B2AE3D27D4EB4E)
    products = last * np.uint64(0x9E3779B97F4A7C15)
    order = np.argsort(products)
    begin = np.searchsorted(products[order], wanted)
    end = np.searchsorted(products[order], wanted + np.uint64(1 << 46))
    words = [
        (first[i].tobytes() + last[order[j]].tobytes()).decode()
        for i in range(len(first))
        for j in range(begin[i], end[i])
    ]
    path = folder / "words.txt"
    path.write_text(" ".join(words) + "\n")
    return path


def crowding_labels(folder: Path, seed: random.Random) -> Path:
    """Label names that all have the same hash in an Arrow dictionary."""
    rng, path = np.random.default_rng(seed.randrange(2**32)), folder / "rows.jsonl"
    inverse = np.uint64(pow(14029467366897019727, -1, 2**64))
    names: list[str] = []
    while len(names) < 100_000:
        last = rng.integers(97, 123, (1 << 20, 8), np.uint8).view("<u8").ravel()
        of_last = (last * np.uint64(11400714785074694791)).byteswap()
        first = ((of_last ^ np.uint64(0x123456789ABCDEF0)).byteswap() * inverse).view(np.uint8).reshape(-1, 8)
        written = ((first >= 32) & (first < 127)).all(axis=1)
        whole = np.hstack([first[written], last[written].view(np.uint8).reshape(-1, 8)])
        names += [row.tobytes().decode() for row in whole]
    path.write_text(json.dumps({"text": "a dog", "labels": names}) + "\n")
    return path


def wide_dictionary(folder: Path, _: random.Random) -> Path:
    """An xz file whose decompressor needs too much memory."""
    dictionary = {"id": lzma.FILTER_LZMA2, "dict_size": 300 * MEBI, "mode": lzma.MODE_FAST, "mf": lzma.MF_HC3}
    path = folder / "rows.txt.xz"
    path.write_bytes(lzma.compress(b"hello", filters=[dictionary]))
    return path


def wide_window(folder: Path, _: random.Random) -> Path:
    """A zstd frame of five bytes whose decompressor needs 2 GiB."""
    path = folder / "rows.txt.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + b"\x29\0\0hello")
    return path
