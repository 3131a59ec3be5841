"""Changes of values, arrays, lists of names and whole models that are likely to get past a careless check."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np

from attack.opened import Opened

WHOLE = [0, -1, 1, 2, 3, 7, 255, 65_536, 10**6, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 10**30]
REAL = [0.0, -0.0, 0.5, -0.5, 1e-300, 1e-45, 1e38, -1e38, 1e39, 1e308, 3.5]
TEXTS = ["", "x", "é" * 50, "a\nb", "\x00", "../../../etc/passwd", "/etc/passwd", "nan", "1", "tree", "prime", "\ud800"]
TEXTS += ["labels", "x" * 100_000, "__class__", "{}", "%s", "int8", "float32"]
OTHERS = [None, True, False, [], {}, [[]], [0], {"a": 1}, "1", 1, 1.5]


def value(rng: Random, old: Any, words: list[str]) -> Any:
    """Another value: near the old one, at a limit, or of another type."""
    if rng.random() < 0.2:
        return copy.deepcopy(rng.choice(OTHERS))
    if isinstance(old, bool):
        return rng.choice([not old, 2, "true"])
    if isinstance(old, int):
        return rng.choice([old + 1, old - 1, old * 2, old // 2, -old, float(old), *rng.sample(WHOLE, 4)])
    if isinstance(old, float):
        return rng.choice([old * 2, -old, old + 1, *rng.sample(REAL, 4), rng.choice(WHOLE)])
    if isinstance(old, str):
        return rng.choice([old + "x", old[:-1], old.upper(), *rng.sample(TEXTS, 3), rng.choice(words)])
    if isinstance(old, list):
        return rng.choice([old[:-1], old * 2, old[::-1], [*old, rng.choice(WHOLE)], old * 1000])
    return copy.deepcopy(rng.choice(OTHERS))


def leaves(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in nested lists and dictionaries: what holds it, and its key."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in list(items):
        yield node, key
        yield from leaves(inner)


def words_of(node: Any) -> list[str]:
    """All strings in nested lists and dictionaries, to be put where another belongs."""
    return sorted({x for holder, key in leaves(node) for x in (key, holder[key]) if isinstance(x, str)})


def array(rng: Random, old: Any) -> Any:
    """Another array: with other numbers, order, shape or dtype."""
    if old.size == 0:
        return rng.choice([np.ones((1,) * old.ndim, old.dtype), np.zeros((0, 0), old.dtype), old.astype("float64")])
    ways = [_one, _one, _one, _some, _neighbours, _shifted, _filled, _reordered, _resized, _reshaped, _retyped]
    return rng.choice(ways)(rng, old.copy())


def extreme(rng: Random, dtype: np.dtype[Any]) -> Any:
    """A number at the limits of a dtype, or a small one."""
    if dtype.kind == "f":
        info = np.finfo(dtype)
        return rng.choice([np.nan, np.inf, -np.inf, info.max, info.min, info.tiny, -1.0, 0.0, 1e30 % float(info.max)])
    if dtype.kind == "b":
        return rng.choice([True, False])
    limits = np.iinfo(dtype)
    near = [limits.min, limits.max, limits.max // 2, 0, 1, -1, 255, 2**31 - 1, 2**31, 2**40]
    return rng.choice([x for x in near if limits.min <= x <= limits.max])


def _one(rng: Random, a: Any) -> Any:
    """One number off by one, or at a limit; most often at an end, where pointers have their totals."""
    flat = a.reshape(-1)
    at = rng.choice([0, flat.size - 1, rng.randrange(flat.size), rng.randrange(flat.size)])
    if a.dtype.kind in "iu" and rng.random() < 0.5:
        flat[at : at + 1] += np.array([rng.choice([1, -1])]).astype(a.dtype)
    else:
        flat[at] = extreme(rng, a.dtype)
    return a


def _some(rng: Random, a: Any) -> Any:
    flat = a.reshape(-1)
    for _ in range(rng.choice([2, 5, 20])):
        flat[rng.randrange(flat.size)] = extreme(rng, a.dtype)
    return a


def _neighbours(rng: Random, a: Any) -> Any:
    """Two neighbours swapped or made equal, so that an order or a uniqueness is broken."""
    flat = a.reshape(-1)
    at = rng.randrange(max(1, flat.size - 1))
    pair = flat[at : at + 2]
    pair[:] = pair[::-1].copy() if rng.random() < 0.5 else pair[0]
    return a


def _shifted(rng: Random, a: Any) -> Any:
    if a.dtype.kind not in "iu":
        return a * a.dtype.type(rng.choice([-1, 2, 0.5, 100])) if a.dtype.kind == "f" else ~a
    at = rng.randrange(a.size)
    a.reshape(-1)[at:] += np.array([rng.choice([1, -1, 2, 1000])]).astype(a.dtype)
    return a


def _filled(rng: Random, a: Any) -> Any:
    return np.full_like(a, extreme(rng, a.dtype))


def _reordered(rng: Random, a: Any) -> Any:
    order = np.random.default_rng(rng.randrange(1 << 30)).permutation(a.size)
    return rng.choice(
        [
            a.reshape(-1)[order].reshape(a.shape),
            a.reshape(-1)[::-1].reshape(a.shape),
            np.sort(a, axis=None).reshape(a.shape),
        ]
    )


def _resized(rng: Random, a: Any) -> Any:
    """Rows cut off or added, without changing the number of dimensions."""
    if a.ndim == 0:
        return a[None]
    axis = rng.randrange(a.ndim)
    n = a.shape[axis]
    if rng.random() < 0.5:
        keep = rng.choice([0, 1, n - 1, n // 2])
        return a.take(np.arange(max(0, min(keep, n))), axis=axis)
    return np.concatenate([a, a.take(np.arange(rng.choice([1, n]) % (n + 1)), axis=axis)], axis=axis)


def _reshaped(rng: Random, a: Any) -> Any:
    return rng.choice([a.reshape(-1), a[None], a[..., None], a.T.copy(), a.reshape(-1, 1), a.reshape(1, -1)])


def _retyped(rng: Random, a: Any) -> Any:
    """Other dtypes: the same numbers, or the same bytes."""
    if rng.random() < 0.5:
        wanted = rng.choice(
            ["int8", "int32", "int64", "uint8", "uint32", "uint64", "float16", "float32", "float64", "bool"]
        )
        with np.errstate(all="ignore"):
            return a.astype(wanted)
    same = {1: ["int8", "uint8"], 2: ["float16", "int16"], 4: ["int32", "float32", "uint32"], 8: ["int64", "float64"]}
    return a.view(rng.choice(same[a.dtype.itemsize])) if a.ndim else a.astype("int32")


def model(rng: Random, opened: Opened, others: list[Opened]) -> None:
    """Changes a model in one to three ways."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        rng.choice(WAYS)(rng, opened, others)


def frame(rng: Random, opened: Opened) -> None:
    """Changes only what describes the contents: the manifest, the header, the length of the arrays' file."""
    rng.choice([_header, _named_array, _file, _manifest_key])(rng, opened, [opened])


def _manifest_value(rng: Random, opened: Opened, others: list[Opened]) -> None:
    """A number, a string or a list in the parameters and facts of some part."""
    places = [
        place for _, state in opened.states() for name in ("params", "fitted") for place in leaves(state.get(name))
    ]
    if places:
        holder, key = rng.choice(places)
        words = words_of(opened.model) + words_of(rng.choice(others).model)
        holder[key] = value(rng, holder[key], words)


def _manifest_key(rng: Random, opened: Opened, others: list[Opened]) -> None:
    """A key that is missing, has another name or is not known."""
    del others
    _, state = rng.choice(opened.states())
    holder = rng.choice([state, state.get("params"), state.get("fitted")])
    if not isinstance(holder, dict):
        return
    key = rng.choice([*holder, "unknown"])
    old = holder.pop(key, 1)
    new = rng.choice([None, key + "x", "unknown", "__init__", "n_labels", key.upper()])
    if new is not None:
        holder[new] = old


def _kind(rng: Random, opened: Opened, others: list[Opened]) -> None:
    _, state = rng.choice(opened.states())
    kinds = [other["kind"] for model in others for _, other in model.states() if "kind" in other]
    state["kind"] = rng.choice([*kinds, "prime-checkpoint", "unknown"])


def _array(rng: Random, opened: Opened, others: list[Opened]) -> None:
    del others
    if opened.arrays:
        key = rng.choice(sorted(opened.arrays))
        opened.arrays[key] = array(rng, opened.arrays[key])


def _swapped_arrays(rng: Random, opened: Opened, others: list[Opened]) -> None:
    """Two arrays in each other's place, or one in the place of another as well."""
    del others
    keys = sorted(opened.arrays)
    if len(keys) > 1:
        a, b = rng.sample(keys, 2)
        opened.arrays[a], opened.arrays[b] = opened.arrays[b], rng.choice([opened.arrays[a], opened.arrays[b]])


def _foreign_array(rng: Random, opened: Opened, others: list[Opened]) -> None:
    """An array of another model, under the same name if it has one."""
    other = rng.choice(others)
    if opened.arrays and other.arrays:
        key = rng.choice(sorted(opened.arrays))
        opened.arrays[key] = other.arrays.get(key, other.arrays[rng.choice(sorted(other.arrays))]).copy()


def _named_array(rng: Random, opened: Opened, others: list[Opened]) -> None:
    """An array that is missing, or has another name."""
    del others
    prefix, state = rng.choice(opened.states())
    names = state.get("arrays")
    if isinstance(names, dict) and names:
        name = rng.choice(sorted(names))
        spec = names.pop(name)
        if rng.random() < 0.5:
            new = rng.choice([f"{name}0", "9.weights", "x"])
            names[new] = spec
            opened.arrays[prefix + new] = opened.arrays.get(prefix + name, np.zeros(1))


def _part(rng: Random, opened: Opened, others: list[Opened]) -> None:
    """A part that is missing, moved, in another's place, or of another model."""
    prefix, state = rng.choice(opened.states())
    parts = state.get("parts")
    if not isinstance(parts, dict):
        return
    donor = rng.choice([*others, opened])
    from_prefix, foreign = rng.choice(donor.states())
    foreign = copy.deepcopy(foreign)
    name = rng.choice([*parts, "model", "member-0", "member-9", "vectorizer", "encoder"])
    if rng.random() < 0.4:
        parts.pop(name, None)
        return
    parts[name] = foreign
    for key, found in list(donor.arrays.items()):
        if key.startswith(from_prefix):
            opened.arrays[f"{prefix}{name}/{key.removeprefix(from_prefix)}"] = found
    opened.names |= donor.names


def _names(rng: Random, opened: Opened, others: list[Opened]) -> None:
    """A list of names with other bytes, or that of another model."""
    if not opened.names:
        return
    file = rng.choice(sorted(opened.names))
    foreign = [data for other in others for data in other.names.values()]
    opened.names[file] = rng.choice([_other_names, _spoilt_names])(rng, opened.names[file], foreign)


def _other_names(rng: Random, data: bytes, foreign: list[bytes]) -> bytes:
    import pyarrow as pa

    if foreign and rng.random() < 0.3:
        return rng.choice(foreign)
    try:
        with pa.ipc.open_file(data) as reader:
            names = [str(name) for name in reader.read_all().column(0).to_pylist()]
    except pa.ArrowInvalid:
        return data  # spoilt already
    field, wanted = "name", pa.large_string()
    way = rng.randrange(8)
    if way == 0:
        names[-1] = names[0]
    elif way == 1:
        names = names[:-1]
    elif way == 2:
        names[rng.randrange(len(names))] = rng.choice(["", "\x00", "a\nb", "\u202e", "x" * 100_000, " "])
    elif way == 3:
        names[rng.randrange(len(names))] = None
    elif way == 4:
        wanted = pa.string()
    elif way == 5:
        names, wanted = list(range(len(names))), pa.int64()
    elif way == 6:
        field = "names"
    else:
        names = [*names, *names]
    table = pa.table([pa.array(names, wanted)], schema=pa.schema([pa.field(field, wanted, nullable=way == 3)]))
    out = pa.BufferOutputStream()
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=rng.choice([1, 1 << 30]))
    return out.getvalue().to_pybytes()


def _spoilt_names(rng: Random, data: bytes, foreign: list[bytes]) -> bytes:
    del foreign
    return spoilt(rng, data)


def _file(rng: Random, opened: Opened, others: list[Opened]) -> None:
    """The arrays' file cut short, made longer or with other bytes."""
    del others
    opened.changes_bytes = lambda data: spoilt(rng, data)


def _header(rng: Random, opened: Opened, others: list[Opened]) -> None:
    """The header of the arrays' file."""
    del others

    def change(header: dict[str, Any]) -> None:
        places = list(leaves(header))
        holder, key = rng.choice(places)
        holder[key] = value(rng, holder[key], ["F32", "I64", "BOOL", "U8"])

    opened.changes_header = change


def spoilt(rng: Random, data: bytes) -> bytes:
    """Bytes with some of them changed, cut off, repeated or added."""
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(made) + 1)
        length = rng.choice([1, 1, 4, 8, 100])
        way = rng.randrange(5)
        if way == 0:
            del made[at:]
        elif way == 1:
            del made[at : at + length]
        elif way == 2:
            made[at:at] = made[: min(length, len(made))]
        else:
            made[at : at + length] = bytes(rng.choice([0, 1, 127, 128, 255, rng.randrange(256)]) for _ in range(length))
    return bytes(made)


Way = Callable[[Random, Opened, list[Opened]], None]
WAYS: list[Way] = [_manifest_value] * 6 + [_array] * 9 + [_manifest_key, _kind, _swapped_arrays, _foreign_array]
WAYS += [_named_array, _part, _part, _names, _names, _file, _header]
