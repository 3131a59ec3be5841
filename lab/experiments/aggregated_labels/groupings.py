"""Ways to put rows into groups, by their names: R-4 is four rows at random, D-8 clusters halved eight times."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labelwood.groups import clustered_groups, noisy_groups, random_groups


@dataclass(frozen=True)
class Grouping:
    """A name, and how groups are made from features, a seed and a number of threads."""

    name: str
    make: Callable[[Any, int, int], Any]


def named(name: str) -> Grouping:
    """R-4, D-8, or N-8-0.5: D-8 of rows that were blurred by so much noise."""
    found = re.fullmatch(r"([RD])-(\d+)|N-(\d+)-(0|1|0?\.\d+)", name)
    if found is None:
        raise argparse.ArgumentTypeError(f"there is no grouping {name!r}: name some like R-4 or D-8")
    if found[1] == "R":
        return Grouping(name, lambda X, seed, _: random_groups(X.shape[0], int(found[2]), seed))
    if found[1] == "D":
        return Grouping(name, lambda X, seed, threads: clustered_groups(X, int(found[2]), seed, n_threads=threads))
    depth, noise = int(found[3]), float(found[4])
    return Grouping(name, lambda X, seed, threads: noisy_groups(X, depth, noise, seed, n_threads=threads))


def several(text: str) -> list[str]:
    """Reads names with commas between them."""
    return [named(name).name for name in text.split(",")]
