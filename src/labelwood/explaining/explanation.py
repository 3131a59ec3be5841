"""The explanation of a label as plain data, for the terminal, for JSON and for pictures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Word:
    """A feature's name, or ``#number`` if it has no name, and its weight.

    Example:
        >>> Word("pear", 1.5)
        Word(word='pear', weight=1.5)
    """

    word: str
    weight: float


@dataclass(frozen=True)
class Neighbour:
    """Another label of the same leaf, its cosine similarity, and its description if there is one.

    Example:
        >>> Neighbour("pear", 0.5)
        Neighbour(label='pear', similarity=0.5, text=None)
    """

    label: str
    similarity: float
    text: str | None = None


@dataclass(frozen=True)
class Copy:
    """A label's copy in one leaf.

    `cluster_words` have the largest weights in the classifiers on the path to the leaf. The weights of the nodes are
    added up: those of the leaf count fully, those of its parent half, and so on upwards. `words` have the largest
    weights in the label's own classifier in this leaf. `separating_words` lead to this copy rather than to another copy
    in the same tree. Their weight is the sum of the word's weights on the path to the leaf, minus the largest such sum
    of another copy, times the word's mean weight for the label. (Comparing the label's own classifiers would mislead:
    each learns from all rows of the label. In a leaf about fruit, the classifier of "apple" relies on the word
    "computer", because no other label of the leaf has to do with computers.)

    Example:
        >>> copy = Copy(tree=0, leaf=2, path=(0, 2), n_labels=9)
        >>> copy.depth
        1
    """

    tree: int
    leaf: int
    path: tuple[int, ...]  # the nodes from the root to the leaf
    n_labels: int  # of the leaf
    cluster_words: tuple[Word, ...] = ()
    words: tuple[Word, ...] = ()
    separating_words: tuple[Word, ...] = ()
    siblings: tuple[Neighbour, ...] = ()  # labels whose classifiers are most similar to the label's
    characteristic: tuple[Neighbour, ...] = ()  # labels whose classifiers are most similar to the cluster's words

    @property
    def depth(self) -> int:
        """The number of edges from the root."""
        return len(self.path) - 1


@dataclass(frozen=True)
class LabelExplanation:
    """The leaves of a label in each tree of a model.

    Example:
        >>> LabelExplanation("pear", None, 3, trees=((Copy(0, 1, (0, 1), 9), Copy(0, 2, (0, 2), 9)),)).n_copies
        2
    """

    label: str
    text: str | None  # the description, if the data had one
    n_rows: int  # training rows that have the label
    trees: tuple[tuple[Copy, ...], ...]
    has_names: bool = True  # whether features have names

    @property
    def n_copies(self) -> int:
        """The largest number of leaves that the label has in one tree."""
        return max(len(copies) for copies in self.trees)

    def plain(self) -> dict[str, Any]:
        """The explanation as data for one JSON object.

        Example:
            >>> LabelExplanation("pear", None, 3, trees=((Copy(0, 1, (0, 1), 9),),)).plain()["trees"][0][0]["depth"]
            1
        """
        trees = [[{**asdict(copy), "depth": copy.depth} for copy in copies] for copies in self.trees]
        return {**asdict(self), "n_copies": self.n_copies, "trees": trees}
