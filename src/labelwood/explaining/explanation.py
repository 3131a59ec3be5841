"""What is said of a label: plain data, for the terminal, for JSON and for pictures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Word:
    """A feature by its name, or as ``#number`` where it has none, and how much it counts.

    Example:
        >>> Word("pear", 1.5)
        Word(word='pear', weight=1.5)
    """

    word: str
    weight: float


@dataclass(frozen=True)
class Neighbour:
    """Another label of the same leaf, its description if there is one, and how alike it is (a cosine).

    Example:
        >>> Neighbour("pear", 0.5)
        Neighbour(label='pear', similarity=0.5, text=None)
    """

    label: str
    similarity: float
    text: str | None = None


@dataclass(frozen=True)
class Copy:
    """One of the leaves that a label lies in.

    `cluster_words` are what the classifiers on the way to the leaf weigh most: the weights for each node of the path
    are added up, those of the leaf itself fully, those of its parent by half, and so on upwards. `words` are what the
    label's own classifier in this leaf weighs most. `separating_words` are those words of the label that lead to this
    copy rather than to another one of the same tree: the sum of a word's weights on the way to the leaf, less the
    largest such sum of another copy, times what the word counts for the label itself. (What the label's classifiers in
    the leaves weigh differently would mislead: each learns from all rows of the label, and that of a leaf of fruits
    relies on "computer", because nothing else there has to do with computers.)

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
    siblings: tuple[Neighbour, ...] = ()  # whose classifiers are most like the label's
    characteristic: tuple[Neighbour, ...] = ()  # whose classifiers are most like the cluster's words

    @property
    def depth(self) -> int:
        """The number of edges from the root."""
        return len(self.path) - 1


@dataclass(frozen=True)
class LabelExplanation:
    """Where a label lies in each tree of a model.

    Example:
        >>> LabelExplanation("pear", None, 3, trees=((Copy(0, 1, (0, 1), 9), Copy(0, 2, (0, 2), 9)),)).n_copies
        2
    """

    label: str
    text: str | None  # its description, where the data had one
    n_rows: int  # training rows that have it
    trees: tuple[tuple[Copy, ...], ...]
    has_names: bool = True  # whether features have names

    @property
    def n_copies(self) -> int:
        """In how many leaves it lies; of several trees, in the one where these are most."""
        return max(len(copies) for copies in self.trees)

    def plain(self) -> dict[str, Any]:
        """All of it as one JSON object holds it.

        Example:
            >>> LabelExplanation("pear", None, 3, trees=((Copy(0, 1, (0, 1), 9),),)).plain()["trees"][0][0]["depth"]
            1
        """
        trees = [[{**asdict(copy), "depth": copy.depth} for copy in copies] for copies in self.trees]
        return {**asdict(self), "n_copies": self.n_copies, "trees": trees}
