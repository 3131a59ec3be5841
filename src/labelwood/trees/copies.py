"""How labels get several places in a tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias, TypedDict

from annotated_types import Ge, Le

from labelwood.arrays.values import MOST
from labelwood.contract.bundles import Bundle
from labelwood.contract.params import Count

Rounds: TypeAlias = Annotated[int, Ge(0), Le(MOST)] | None
Refit: TypeAlias = Literal["all", "ranker"]
Matching: TypeAlias = Literal["in-sample", "out-of-fold"]
Crowding: TypeAlias = Annotated[float, Ge(1)] | None
Merge: TypeAlias = Literal["max", "mean"]


@dataclass(frozen=True)
class Copies(Bundle):
    """In how many leaves of a tree a label may lie, and how these are chosen.

    A label that means several things is hard to find in one leaf; with more than one, leaves are chosen for each label
    so that the search for its rows finds it most often.

    Parameters:
        number: In how many leaves a label may lie.
        rounds: How often leaves are chosen anew; if not given, once where there are copies. Once with `number=1` only
            moves labels; 0 leaves them where they are.
        refit: Whether then all classifiers are trained, or only the "ranker": those of the labels in the leaves.
        matching: Whether leaves are chosen by where the search leads the training rows themselves ("in-sample"), or
            rows that its classifiers have not seen ("out-of-fold").
        crowding: Labels of a leaf at most, in multiples of what leaves would hold on average if all labels had all
            their copies; leaves that hold more already take no others. None for no limit: a little more precise, and
            slower to train and to search.
        merge: Which score counts of a label that lies in several leaves: the highest, or the mean over those that the
            beam reaches, which the search has to look at a few more leaves for. Both are exact.

    Example:
        >>> import labelwood as lw
        >>> lw.TreeClassifier(copies=lw.Copies(2, merge="mean"))
        TreeClassifier(copies=2, merge='mean')
    """

    renamed: ClassVar[Mapping[str, str]] = {"number": "copies"}

    number: Count = 1
    _: KW_ONLY
    rounds: Rounds = None
    refit: Refit = "all"
    matching: Matching = "in-sample"
    crowding: Crowding = 1.0
    merge: Merge = "max"

    @property
    def all_rounds(self) -> int:
        """How often leaves are chosen anew, where `rounds` is not given, too.

        Example:
            >>> Copies(1).all_rounds, Copies(2).all_rounds, Copies(1, rounds=1).all_rounds
            (0, 1, 1)
        """
        return int(self.number > 1) if self.rounds is None else self.rounds


class CopiesFields(TypedDict, total=False):
    """Fields of `Copies` that type checkers know as parameters of models, too."""

    rounds: Rounds
    refit: Refit
    matching: Matching
    crowding: Crowding
    merge: Merge
