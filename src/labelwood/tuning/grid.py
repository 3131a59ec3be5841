"""What a sweep runs: every λ of every variant with every seed, each described by plain data."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from labelwood.contract.bundles import one_by_one
from labelwood.contract.checks import check_params
from labelwood.errors import ParameterError
from labelwood.linear.classifier import TreeClassifier
from labelwood.trees import interpolated, lam_of

SCALES = (0, 0.5, 1, 2, 6, 10, 30, 100, 300, 1000, 1e5)  # λ′ of the default grid
INTERPOLATED = "interpolated"
_LARGEST_LEAF, _LEAVES = 100, 64
_OF_THE_SWEEP = ("lam", "seed", "n_threads", "verbose")
_OF_THE_TREE = ("vectors", "Y", "lam", "seed", "n_threads", "row_weights")


@dataclass(frozen=True)
class Run:
    """One training: a variant's settings with a λ and a seed.

    `tree` are options of `labelwood.trees.interpolated` that `TreeClassifier` does not know, `model` are parameters of
    `TreeClassifier`. `lam` is None where the model's tree has no such knob.

    Example:
        >>> run = Run("plain", 0.5, 1, model={"max_leaf": 10})
        >>> run.name.startswith("plain-lam0.5-seed1-")
        True
        >>> Run(**run.plain()) == run
        True
    """

    variant: str
    lam: float | None
    seed: int
    tree: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """The run as data for JSON."""
        return asdict(self)

    @property
    def name(self) -> str:
        """A name for its files: other runs have others."""
        digest = hashlib.sha256(json.dumps(self.plain(), sort_keys=True).encode()).hexdigest()[:8]
        knob = "" if self.lam is None else f"-lam{self.lam:.6g}"
        return f"{re.sub(r'[^A-Za-z0-9_.]+', '_', self.variant)}{knob}-seed{self.seed}-{digest}"


def default_lams() -> list[float]:
    """The grid of λ's: 0 to almost 2, dense where trees change most.

    Example:
        >>> [round(lam, 3) for lam in default_lams()][:5]
        [0.0, 0.667, 1.0, 1.333, 1.714]
    """
    return [lam_of(scale) for scale in SCALES]


def default_max_leaf(n_labels: int) -> int:
    """Labels of a leaf: 100, or fewer where that would leave less than 64 leaves, a tree too small to differ in λ.

    Example:
        >>> default_max_leaf(100_000), default_max_leaf(640), default_max_leaf(20)
        (100, 10, 1)
    """
    return max(1, min(_LARGEST_LEAF, n_labels // _LEAVES))


def settings_of(variants: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Variants as {name: {"tree": …, "model": …}}, from parameters of `TreeClassifier` and `tree_options` among them.

    Example:
        >>> settings_of({"greedy": {"max_leaf": 10, "tree_options": {"rule": "greedy"}}})
        {'greedy': {'tree': {'rule': 'greedy'}, 'model': {'max_leaf': 10}}}
    """
    if not variants:
        raise ParameterError("there is no variant to run: name at least one")
    found: dict[str, dict[str, Any]] = {}
    for name, params in variants.items():
        model = one_by_one(TreeClassifier, params)
        tree = dict(model.pop("tree_options", {}))
        _check(model, tree)
        found[name] = {"tree": tree, "model": model}
    return found


def _check(model: Mapping[str, Any], tree: Mapping[str, Any]) -> None:
    taken = [name for name in _OF_THE_SWEEP if name in model]
    if taken:
        raise ParameterError(f"{taken[0]} is what the sweep itself sets: leave it out of a variant's parameters")
    builder = model.get("tree", INTERPOLATED)
    if not isinstance(builder, str) or builder == "given":
        raise ParameterError("a variant's tree must be the name of a builder, such as interpolated")
    check_params(TreeClassifier, model)
    if tree and builder != INTERPOLATED:
        raise ParameterError(f"tree_options are for interpolated trees and not for {builder}: leave them out")
    known = [name for name in inspect.signature(interpolated).parameters if name not in _OF_THE_TREE]
    for name in tree:
        if name not in known:
            raise ParameterError(f"interpolated trees have no option {name!r}; there are: {', '.join(known)}")


def runs_of(settings: Mapping[str, Mapping[str, Any]], lams: Sequence[float], seeds: Iterable[int]) -> list[Run]:
    """All runs: those with the first seed of every λ first, so that a sweep that is cut short has seen all of them.

    Example:
        >>> [(run.lam, run.seed) for run in runs_of(settings_of({"a": {}}), [0.0, 2.0], range(2))]
        [(0.0, 0), (2.0, 0), (0.0, 1), (2.0, 1)]
    """
    return [
        Run(name, lam, seed, **parts)
        for seed in seeds
        for name, parts in settings.items()
        for lam in (lams if parts["model"].get("tree", INTERPOLATED) == INTERPOLATED else [None])
    ]


def checked_lams(lams: Iterable[float]) -> list[float]:
    """λ's in ascending order, each once.

    Example:
        >>> checked_lams([2, 0.5, 2])
        [0.5, 2.0]
    """
    found = sorted({float(lam) for lam in lams})
    if not found or not all(0 <= lam <= 2 for lam in found):
        raise ParameterError("lams must be numbers from 0 to 2, at least one, such as 0,0.5,1")
    return found
