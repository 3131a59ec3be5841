"""Seeded hostile arguments for native functions: they may refuse or answer, but not end the process or read outside.

Sound calls are recorded while public functions run, and then one or two of their arguments are changed: arrays are cut,
lengthened and filled with extreme numbers, numbers become extreme, tuples lose parts, and so do fields of structures
and options. What checks the arrays of a model when it is loaded is asked first, as loading asks it: native code relies
on it later.

    python -m tests.hostile.natives --cases 5000 --seed 1
"""

from __future__ import annotations

import argparse
import signal
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from tests.hostile.child import Outcome, in_children, serve

from labelwood import _native
from labelwood.arrays.options import fields_of, options_of
from labelwood.arrays.rows import Sparse
from labelwood.contract.limits import NO_LIMITS, Limits
from labelwood.groups.grouped import GroupedLabels

_SEVERAL = 0.3  # of cases change two arguments
_SECONDS = 20  # before a call is interrupted, as by Ctrl-C

WHOLE = (-(2**63), -(2**31), -1, 0, 1, 2, 7, 64, 2**15, 2**31 - 1, 2**31, 2**40, 2**63 - 1)
REAL = (float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 1e-45, 1e38, 1e300)
# Options that say how long a call works may not be large: it would work long.
WORK = {"max_passes", "epochs", "iterations"}

Arguments: TypeAlias = dict[int | str, Any]  # by place or by name


class Call(NamedTuple):
    """A sound call of a function, or of the methods of a class: arguments of its making, then of a method."""

    name: str
    made: Arguments | None
    method: str
    arguments: Arguments


_CLASSES = ("TreeModel", "SoftmaxTree", "PrototypeIndex", "Vectorizer")
_OPTIONS = (_native.TrainingOptions, _native.SearchOptions, _native.SoftmaxOptions, _native.EagleOptions)


@cache
def recorded() -> list[Call]:
    """Sound calls of every native function that takes arrays, one or more of each."""
    calls: list[Call] = []
    originals = {name: getattr(_native, name) for name in dir(_native) if not name.startswith("_")}
    try:
        for name, original in originals.items():
            if name in _CLASSES:
                setattr(_native, name, _recording_class(name, original, calls))
            elif callable(original) and not isinstance(original, type):
                setattr(_native, name, _recording(name, original, calls))
        _use_everything()
    finally:
        for name, original in originals.items():
            setattr(_native, name, original)
    return _few_of_each(calls)


def _recording(name, original, calls):
    def record(*arguments, **named):
        calls.append(Call(name, None, "", _together(arguments, named)))
        return original(*arguments, **named)

    return record


def _recording_class(name, original, calls):
    class Recording:
        def __init__(self, *made, **named):
            self.made = _together(made, named)
            self.object = original(*made, **named)

        def __getattr__(self, method):
            def record(*arguments, **named):
                calls.append(Call(name, self.made, method, _together(arguments, named)))
                return getattr(self.object, method)(*arguments, **named)

            return record

    return Recording


def _together(arguments: tuple[Any, ...], named: dict[str, Any]) -> Arguments:
    return {**dict(enumerate(arguments)), **named}


def _called(function: Any, arguments: Arguments) -> Any:
    places = [value for place, value in arguments.items() if isinstance(place, int)]
    return function(*places, **{name: value for name, value in arguments.items() if isinstance(name, str)})


def _few_of_each(calls, most=4):
    kept: dict[tuple[str, str], list[Call]] = {}
    for call in calls:
        found = kept.setdefault((call.name, call.method), [])
        if len(found) < most:
            found.append(call)
    return [call for found in kept.values() for call in found]


def _use_everything() -> None:
    from tests.hostile.problem import sound
    from tests.hostile.targets import TARGETS, TEXTS, fitted

    fitted.cache_clear()
    for dense in (False, True):
        for function, _ in TARGETS.values():
            function(sound(0, dense) | {"dense": dense})
    _use_the_rest(TEXTS)
    fitted.cache_clear()


def _use_the_rest(texts) -> None:
    import tempfile

    from tests.hostile.problem import sound

    import labelwood as lw
    from labelwood.arrays.rows import from_dense

    p = sound(0)
    for params in ({}, {"min_df": 2, "stop_words": ["and"]}, {"n_buckets": 64}, {"analyzer": "char", "ngrams": (2, 3)}):
        vectorizer = lw.TextVectorizer(**params)
        vectorizer.fit_transform(texts)
        vectorizer.transform(texts)
    softmax = lw.SoftmaxTreeClassifier(dim=8, epochs=1, n_threads=1).fit(p["X"], p["Y"])
    softmax.compressed().predict_topk(p["X"], 3)
    lw.SoftmaxTreeClassifier(dim=8, epochs=1, n_threads=1, loss="one-vs-rest").fit(p["X"], p["Y"])
    _native.product_codes(np.random.default_rng(0).random((300, 8), np.float32), 2, 0, 1)
    mean = lw.TreeClassifier(max_leaf=2, copies=2, merge="mean", n_threads=1, precision="float16").fit(p["X"], p["Y"])
    mean.predict_topk(p["X"], 3)
    lw.TreeClassifier(tree="interpolated", max_leaf=2, n_threads=1, negatives="both").fit(p["X"], p["Y"])
    mean.trees_[0].block(0)
    with tempfile.TemporaryDirectory() as folder:
        for model in (mean, softmax, lw.CentroidClassifier(n_threads=1).fit(p["X"], p["Y"])):
            model.save(f"{folder}/{model.kind}")
            lw.load(f"{folder}/{model.kind}")
    vectors = np.random.default_rng(0).random((40, 16), np.float32)
    clusters = np.random.default_rng(1).integers(0, 5, (40, 2)).astype(np.int32)
    directions = np.eye(16, 8, dtype=np.float32)
    for how in ((np.empty((0, 2), np.int32), np.empty((16, 0), np.float32)), (clusters, directions)):
        index = _native.PrototypeIndex(vectors, *how, 1)
        needed = np.full(3, 4, np.int64)
        clusters_of = 2 * bool(how[0].size)
        for limits, probes in ((NO_LIMITS, 0), (Limits.of(40, exclude=[3]), clusters_of)):
            index.topk(vectors[:3], 4, limits, probes=probes, needed=needed, n_threads=1)
    _native.dense_product(vectors, directions, 1)
    X = from_dense(vectors)
    _native.sparse_slot_products(X, X, _groups_of(40), 1)


def _groups_of(n):
    """Every row a group with a label of its own."""
    one_each = Sparse(np.arange(n + 1, dtype=np.int64), np.arange(n, dtype=np.int32), np.ones(n, np.float32), n)
    return GroupedLabels(labels=one_each, groups=one_each)


class Case(NamedTuple):
    name: str
    call: Call
    seed: int


def case(seed: int, number: int) -> Case:
    """The case of a number; its changes are made when it runs."""
    rng = np.random.default_rng([seed, number])
    calls = recorded()
    call = calls[rng.integers(len(calls))]
    return Case(f"{call.name}.{call.method}" if call.method else call.name, call, int(rng.integers(2**31)))


def attempt(case: Case) -> tuple[str, str]:
    """What becomes of a case: "refused" by whatever exception, or "right" for any answer."""
    rng = np.random.default_rng(case.seed)
    made, arguments = _changed(case.call, rng)
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(_SECONDS)
    try:
        if case.call.made is None:
            _checked_first(case.call.name, arguments)
            _called(getattr(_native, case.call.name), arguments)
        else:
            _called(getattr(_made(case.call.name, made), case.call.method), arguments)
    except (Exception, KeyboardInterrupt) as e:
        return "refused", f"{type(e).__name__}: {str(e)[:200]}"
    finally:
        signal.alarm(0)
    return "right", ""


def _too_long(*_: Any) -> None:
    raise KeyboardInterrupt


def _made(name: str, made: Arguments) -> Any:
    """An object whose arrays are checked as loading checks them."""
    if name == "Vectorizer" and made["terms"] is not None:
        _native.check_vocabulary(made["terms"])
    thing = _called(getattr(_native, name), made)
    if name == "TreeModel":
        thing.check()
    return thing


def _checked_first(name: str, arguments: Arguments) -> None:
    if name == "sparse_centroid_topk":
        _native.check_csr(arguments[1])


def _changed(call: Call, rng: Any) -> tuple[Arguments, Arguments]:
    made, arguments = dict(call.made or {}), dict(call.arguments)
    places = [(of, place) for of in (made, arguments) for place in of]
    for _ in range(2 if rng.random() < _SEVERAL else 1):
        if places:
            of, place = places[int(rng.integers(len(places)))]
            of[place] = changed(of[place], rng)
    return made, arguments


def changed(value: Any, rng: Any) -> Any:
    """A value of the same kind, mostly, that is hostile."""
    if type(value) in _OPTIONS:
        return _changed_options(value, rng)
    if is_dataclass(value):
        return _changed_structure({field.name: getattr(value, field.name) for field in fields(value)}, rng)
    if hasattr(value, "_asdict"):
        return _changed_structure(value._asdict(), rng)
    if isinstance(value, tuple) and value:
        return _changed_tuple(value, rng)
    if isinstance(value, list) and value:
        return list(_changed_tuple(tuple(value), rng))
    if isinstance(value, np.ndarray):
        return _changed_array(value, rng)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(rng.choice(WHOLE)) if rng.random() < 0.7 else value + int(rng.integers(-2, 3))
    if isinstance(value, float):
        return float(rng.choice(REAL))
    return value


def _changed_structure(named: dict[str, Any], rng: Any) -> Any:
    """The fields of a structure with one that is hostile or, seldom, missing."""
    name = str(rng.choice(list(named)))
    if rng.random() < 0.1:
        del named[name]
    else:
        named[name] = changed(named[name], rng)
    return SimpleNamespace(**named)


def _changed_options(options: Any, rng: Any) -> Any:
    kind = type(options)
    copy = options_of(kind, {name: getattr(options, name) for name in fields_of(kind)})
    name = str(rng.choice(sorted(set(fields_of(kind)) - WORK)))
    with suppress(TypeError):  # a number that no field can hold is refused there and then
        setattr(copy, name, changed(getattr(copy, name), rng))
    return copy


def _changed_tuple(value: tuple[Any, ...], rng: Any) -> tuple[Any, ...]:
    if rng.random() < 0.1:
        return value[: rng.integers(len(value))]
    place = int(rng.integers(len(value)))
    return tuple(changed(v, rng) if i == place else v for i, v in enumerate(value))


def _changed_array(array: np.ndarray[Any, Any], rng: Any) -> Any:
    way = int(rng.integers(12))
    if way == 0:
        return array[:0]
    if way == 1:
        return np.ascontiguousarray(array[: len(array) // 2])
    if way == 2:
        return np.ascontiguousarray(array[: max(len(array) - 1, 0)])
    if way == 3:
        return np.concatenate([array, array[-1:], array[-1:]])
    if way == 4:
        return array.astype(np.float64 if array.dtype != np.float64 else np.int16)
    if way == 5:
        return np.ascontiguousarray(array[::-1])
    if way == 6:
        return np.ascontiguousarray(array[..., : max(array.shape[-1] - 1, 0)])
    other = array.copy()
    if other.size:
        some = rng.integers(other.size, size=1 if way < 11 else other.size)
        other.reshape(-1)[some] = _extreme(other.dtype, rng)
    return other


def _extreme(dtype: Any, rng: Any) -> Any:
    if dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            return np.array(rng.choice(REAL)).astype(dtype)
    limits = np.iinfo(dtype)
    return np.array(rng.choice([w for w in WHOLE if limits.min <= w <= limits.max])).astype(dtype)


def outcomes(n_cases: int, seed: int) -> list[Outcome]:
    """What became of each case."""
    return list(in_children("tests.hostile.natives", seed, n_cases))


def run(n_cases: int, seed: int) -> dict[str, int]:
    """Counts as `tests.hostile.arrays.run` has them; whatever does not end the process is fine here."""
    from tests.hostile.arrays import counted

    return counted(outcomes(n_cases, seed))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=int)
    given = parser.parse_args()
    if given.child is not None:
        recorded()
        serve(given.child, given.cases, lambda number: case(given.seed, number), attempt)
        return
    from tests.hostile.arrays import report

    report(in_children("tests.hostile.natives", given.seed, given.cases))


if __name__ == "__main__":
    main()
