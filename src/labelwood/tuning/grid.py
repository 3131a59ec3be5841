"""The runs of a sweep, as plain data: every variant with every λ and every seed."""

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
_SET_BY_SWEEP = ("lam", "seed", "n_threads", "verbose")
_NOT_OPTIONS = ("vectors", "Y", "lam", "seed", "n_threads", "row_weights")


@dataclass(frozen=True)
class Run:
    """One training: a variant's settings with a λ and a seed.

    `model` holds parameters of `TreeClassifier`; `tree` holds options of `labelwood.trees.interpolated` that
    `TreeClassifier` does not have. `lam` is None if the variant's tree has no λ.

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
        """A name for its files, different for each run."""
        digest = hashlib.sha256(json.dumps(self.plain(), sort_keys=True).encode()).hexdigest()[:8]
        knob = "" if self.lam is None else f"-lam{self.lam:.6g}"
        return f"{re.sub(r'[^A-Za-z0-9_.]+', '_', self.variant)}{knob}-seed{self.seed}-{digest}"


def default_lams() -> list[float]:
    """The default values of λ: from 0 to almost 2, dense where trees change most.

    Example:
        >>> [round(lam, 3) for lam in default_lams()][:5]
        [0.0, 0.667, 1.0, 1.333, 1.714]
    """
    return [lam_of(scale) for scale in SCALES]


def default_max_leaf(n_labels: int) -> int:
    """The labels per leaf: 100, or fewer to have at least 64 leaves. In a smaller tree λ would change little.

    Example:
        >>> default_max_leaf(100_000), default_max_leaf(640), default_max_leaf(20)
        (100, 10, 1)
    """
    return max(1, min(_LARGEST_LEAF, n_labels // _LEAVES))


def settings_of(variants: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Splits each variant into {"tree": …, "model": …}: its `tree_options`, and its parameters of `TreeClassifier`.

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
        _check_variant(model, tree)
        found[name] = {"tree": tree, "model": model}
    return found


def _check_variant(model: Mapping[str, Any], tree: Mapping[str, Any]) -> None:
    taken = [name for name in _SET_BY_SWEEP if name in model]
    if taken:
        raise ParameterError(f"the sweep itself sets {taken[0]}: leave it out of a variant's parameters")
    builder = model.get("tree", INTERPOLATED)
    if not isinstance(builder, str) or builder == "given":
        raise ParameterError("a variant's tree must be the name of a builder, such as interpolated")
    check_params(TreeClassifier, model)
    if tree and builder != INTERPOLATED:
        raise ParameterError(f"tree_options are for interpolated trees and not for {builder}: leave them out")
    known = [name for name in inspect.signature(interpolated).parameters if name not in _NOT_OPTIONS]
    for name in tree:
        if name not in known:
            raise ParameterError(f"interpolated trees have no option {name!r}; there are: {', '.join(known)}")


def runs_of(settings: Mapping[str, Mapping[str, Any]], lams: Sequence[float], seeds: Iterable[int]) -> list[Run]:
    """All runs, seed by seed: a sweep that is interrupted has then already seen every λ.

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


def check_lams(lams: Iterable[float]) -> list[float]:
    """Checks values of λ; returns them sorted, without duplicates.

    Example:
        >>> check_lams([2, 0.5, 2])
        [0.5, 2.0]
    """
    found = sorted({float(lam) for lam in lams})
    if not found or not all(0 <= lam <= 2 for lam in found):
        raise ParameterError("lams must be numbers from 0 to 2, at least one, such as 0,0.5,1")
    return found
