"""Seeded hostile arrays for the public functions: made in a child process, so that a crash is one failed case.

`run` counts what becomes of cases. A case breaks one or two parameters of a sound problem, and must be refused in one
sentence that names one of them; or it gives one of them other clothes, and must be answered as the sound problem is.

    python -m tests.hostile.arrays --cases 5000 --seed 1
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from tests.hostile import values
from tests.hostile.child import Outcome, in_children, serve
from tests.hostile.containers import ALIKE, ALIKE_DENSE, BROKEN, BROKEN_DENSE
from tests.hostile.problem import sound
from tests.hostile.targets import SLOW, TARGETS

from labelwood.errors import LabelwoodError

_ALIKE = 0.35  # of cases are like the sound problem
_SEVERAL = 0.25  # of the others break two parameters
_SLOW = 0.01  # of cases are for slow targets

_MATRICES = ("X", "row", "Y", "labels", "group_labels", "Y_bags", "vectors", "scores", "reached")
_WHOLE = values.ALIKE_WHOLE, values.BROKEN_WHOLE
_REAL = values.ALIKE_VECTOR, values.BROKEN_REAL
_COUNT: Any = {}, values.BROKEN_COUNT
_NUMBER: Any = {}, values.BROKEN_NUMBER
_VALUES = {
    "groups": _WHOLE,
    "bags": _WHOLE,
    "include": _WHOLE,
    "exclude": _WHOLE,
    "frequencies": _WHOLE,
    "weights": _REAL,
    "inv_propensity": _REAL,
    "row_weights": _REAL,
    "filters": (values.ALIKE_PAIRS, values.BROKEN_PAIRS),
    "top": (values.ALIKE_TOPK, values.BROKEN_TOPK),
    "answers_scores": ({}, values.BROKEN_SCORES),
    "tree": (values.ALIKE_TREE, values.BROKEN_TREE),
    "k": _COUNT,
    "count": _COUNT,
    "n_threads": _COUNT,
    "seed": ({}, values.BROKEN_SEED),
    "min_score": _NUMBER,
    "lam": _NUMBER,
}
_PLACES = {"answers_scores": "top"}  # parameters that are a part of another
# What means something else to a function, which may take it: any number of rows in a group has a frequency, …
_TAKEN = {
    "frequencies": {"beyond", "wraps to a sound one", "largest", "unsigned"},
    "scores": {"infinity"},
    "X": {"no rows"},
    "row": {"no rows"},
    "Y": {"no rows"},
    "tree": {"labels: backwards"},
}
_ALSO_TAKEN = {
    ("inverse_propensities", "frequencies"): {"floats", "huge"},
    ("inverse_propensities", "count"): {"beyond 64 bits"},
    ("mixedness", "groups"): {"beyond"},
    ("clustered", "count"): {"zero"},
    ("text_fit", "labels"): {"sets", "words"},
    ("merged", "groups"): {"beyond"},
    ("codes", "weights"): {"short"},
    ("tree_expected_depth", "weights"): set(),
    ("dataset", "X"): {"NaN", "infinity", "beyond float32", "beyond float64", "None", "instead None"},
    ("dataset", "Y"): {"NaN", "infinity", "beyond float32", "beyond float64", "None", "instead None"},
}
# Lists of zeros and ones, or of objects, are taken for names and refused.
_REFUSED = {"text_fit": {"lists", "tuples", "objects"}, "text_fit_grouped": {"lists", "tuples", "objects"}}
_STORED_ZERO = {"X", "row", "vectors"}  # where zeros that are stored may decide between equal scores


class Case(NamedTuple):
    """A problem for a target; `alike` if the answer must be that of the sound problem."""

    name: str
    target: str
    dense: bool
    broken: tuple[tuple[str, str], ...]  # parameters, and what was done to them
    alike: bool
    seed: int


def case(seed: int, number: int) -> Case:
    """The case of a number, whatever other cases there are."""
    rng = np.random.default_rng([seed, number])
    targets = SLOW if rng.random() < _SLOW else TARGETS
    target = list(targets)[rng.integers(len(targets))]
    dense, alike = bool(rng.random() < 0.35), bool(rng.random() < _ALIKE)
    parameters = [p for p in targets[target][1] if _ways(p, dense)[0 if alike else 1]]
    if not parameters:
        alike, parameters = False, list(targets[target][1])
    n = 2 if not alike and len(parameters) > 1 and rng.random() < _SEVERAL else 1
    chosen = _of_different_places([parameters[i] for i in rng.permutation(len(parameters))])[:n]
    ways = [list(_ways(p, dense)[0 if alike else 1]) for p in chosen]
    broken = tuple((p, w[rng.integers(len(w))]) for p, w in zip(chosen, ways, strict=True))
    what = " and ".join(f"{p}: {way}" for p, way in broken)
    form = "dense" if dense else "sparse"
    return Case(f"{target} ({form}) with {what}", target, dense, broken, alike, int(rng.integers(2**31)))


def _of_different_places(parameters: list[str]) -> list[str]:
    return list({_PLACES.get(parameter, parameter): parameter for parameter in parameters}.values())


def _ways(parameter: str, dense: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    if parameter == "scores":
        return ALIKE_SCORES, BROKEN
    if parameter in _MATRICES:
        alike = {n: c for n, c in ALIKE.items() if n != "stored zero" or parameter not in _STORED_ZERO}
        return (ALIKE_DENSE, BROKEN_DENSE) if dense else (alike, BROKEN | _NOT_SPARSE)
    return _VALUES[parameter]


# A score that is stored and is zero is a candidate, and one that is infinite has its place.
_NO_SCORES = ("bsr", "dia", "stored zero")
ALIKE_SCORES = {name: change for name, change in ALIKE.items() if name not in _NO_SCORES}
# A sparse matrix that is replaced by something else altogether.
_NOT_SPARSE = {f"instead {name}": change for name, change in BROKEN_DENSE.items() if name in ("None", "a generator")}


def attempt(case: Case) -> tuple[str, str]:
    """What becomes of a case, and a word about it."""
    rng = np.random.default_rng(case.seed)
    problem = sound(0, case.dense) | {"dense": case.dense}
    ways = _ways
    for parameter, way in case.broken:
        place = _PLACES.get(parameter, parameter)
        problem[place] = ways(parameter, case.dense)[0 if case.alike else 1][way](problem[place], rng)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = _call(case.target, problem)
    except LabelwoodError as e:
        if case.alike and not {way for _, way in case.broken} <= _REFUSED.get(case.target, set()):
            return "wrong", f"refused: {e}"
        return _judged(case, str(e))
    except BaseException as e:
        return "untyped", f"{type(e).__name__}: {e}"
    if case.alike:
        return ("right", "") if same(answer, _expected(case.target, case.dense)) else ("wrong", "another answer")
    return ("right", "") if _may_be_taken(case) else ("wrong", "taken in silence")


def _may_be_taken(case: Case) -> bool:
    return all(
        way in _TAKEN.get(parameter, set()) | _ALSO_TAKEN.get((case.target, parameter), set())
        for parameter, way in case.broken
    )


def _judged(case: Case, message: str) -> tuple[str, str]:
    """A refusal, if it is one line that names what was broken."""
    names = {name for parameter, _ in case.broken for name in _NAMES.get(parameter, (parameter,))}
    if "\n" in message or len(message) > 600:
        return "untyped", f"not one sentence: {message}"
    named = any(name.lower() in message.lower() for name in names)
    return ("refused", message) if named else ("untyped", f"does not name {sorted(names)}: {message}")


# What an error may call a parameter.
_NAMES: dict[str, tuple[str, ...]] = {
    "row": ("X",),
    "Y_bags": ("Y",),
    "bags": ("groups",),
    "top": ("ids", "predictions", "answers", "TopK", "labels found"),
    "answers_scores": ("scores", "predictions", "answers"),
    "scores": ("scores", "predictions"),
    "labels": ("labels", "a label"),
    "group_labels": ("group_labels", "labels of group", "group "),
    "Y": ("Y", "data has no labels"),
    "count": ("max_leaf", "depth", "size", "n_rows", "copies"),
    "lam": ("lam", "noise"),
    "weights": ("weights", "frequencies"),
    "frequencies": ("frequencies",),
    "k": ("k",),
    "X": ("X", "rows", "dense", "sparse", "vectors", "features"),
}


@cache
def _expected(target: str, dense: bool) -> Any:
    return _call(target, sound(0, dense) | {"dense": dense})


def _call(target: str, problem: dict[str, Any]) -> Any:
    return (TARGETS | SLOW)[target][0](problem)


def same(a: Any, b: Any) -> bool:
    """Whether two answers are the same, bit by bit."""
    if sparse.issparse(a) or sparse.issparse(b):
        return sparse.issparse(a) and sparse.issparse(b) and same(a.toarray(), b.toarray())
    if isinstance(a, np.ndarray):
        kind = a.dtype.kind == "f"
        return isinstance(b, np.ndarray) and a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=kind))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(x, b[name]) for name, x in a.items())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b) or str(a) == str(b) == "nan"


def outcomes(n_cases: int, seed: int) -> list[Outcome]:
    """What became of each case."""
    return list(in_children("tests.hostile.arrays", seed, n_cases))


def run(n_cases: int, seed: int) -> dict[str, int]:
    """How many cases were attempted, refused in a sentence, answered right or wrong, untyped, and crashed or hung."""
    return counted(outcomes(n_cases, seed))


def counted(found: list[Outcome]) -> dict[str, int]:
    """Counts of outcomes by kind."""
    kinds = Counter(outcome.kind for outcome in found)
    names = ("refused", "right", "wrong", "untyped", "crash", "hang")
    return {"attempts": len(found)} | {name: kinds[name] for name in names}


def report(found: Iterable[Outcome]) -> None:
    """Prints what is not as it should be, as it comes, and the counts; exits with 1 if there was any."""
    every = []
    for outcome in found:
        every.append(outcome)
        if outcome.kind not in ("refused", "right"):
            sys.stdout.write(f"{outcome.kind}: {outcome.case}: {outcome.name}: {outcome.detail[:600]}\n")
            sys.stdout.flush()
    counts = counted(every)
    sys.stdout.write(", ".join(f"{n} {name}" for name, n in counts.items()) + "\n")
    sys.exit(any(counts[name] for name in ("wrong", "untyped", "crash", "hang")))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=int)
    given = parser.parse_args()
    if given.child is not None:
        serve(given.child, given.cases, lambda number: case(given.seed, number), attempt)
        return
    report(in_children("tests.hostile.arrays", given.seed, given.cases))


if __name__ == "__main__":
    main()
