"""Who takes part: the rivals with their settings, and Labelwood's settings. One line here changes a setting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from labelwood.linear.classifier import PRESETS


@dataclass(frozen=True)
class Entry:
    """A line of the comparison: which library (and environment) runs with which parameters."""

    library: str
    params: dict[str, Any] = field(default_factory=dict)
    by_default: bool = True


_BONSAI = {"cluster_k": 100, "cluster_balanced": False, "max_depth": 3}

RIVALS = {
    "pecos-xrl-16": Entry("pecos", {"nr_splits": 16}),
    "pecos-xrl-16-hash": Entry("pecos", {"nr_splits": 16, "layout": "HASH_CHUNKED"}),
    "pecos-ovr": Entry("pecos", by_default=False),  # minutes, even on small data
    "omikuji-parabel-1": Entry("omikuji", {"n_trees": 1}),
    "omikuji-parabel-3": Entry("omikuji", {"n_trees": 3}),
    "omikuji-bonsai-1": Entry("omikuji", {"n_trees": 1, **_BONSAI}),
    "omikuji-bonsai-3": Entry("omikuji", {"n_trees": 3, **_BONSAI}),
    "napkinxc-plt": Entry("napkinxc", {"arity": 2, "max_leaves": 100}),
    "libmultilabel-tree": Entry("libmultilabel", {"options": "-s 1 -B 1 -e 0.0001 -q"}),
}

_TREE = {"model": "TreeClassifier"}

SETTINGS = {
    **{name: Entry("labelwood", {**_TREE, **params}) for name, params in PRESETS.items()},
    "balanced": Entry("labelwood", {**_TREE, "tree": "balanced", "max_leaf": 128}, by_default=False),
    "float16": Entry("labelwood", {**_TREE, "precision": "float16"}, by_default=False),
    "float32": Entry("labelwood", {**_TREE, "precision": "float32"}, by_default=False),
    "one-vs-rest": Entry("labelwood", {"model": "OneVsRest"}, by_default=False),  # rows × labels
}
