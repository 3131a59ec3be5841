"""One tree for everything: leaves at any depth, a label in one leaf or in several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.arrays.values import real_vector
from labelwood.errors import LabelwoodError, ParameterError

_DTYPES: dict[str, Any] = {"child_ptr": np.int32, "label_ptr": np.int64, "labels": np.int32}


@dataclass(frozen=True, eq=False)
class LabelTree:
    """A rooted tree whose leaves hold labels, in flat arrays.

    Nodes are numbered level by level, the root is 0: parents come before children, and the children of node `i` are
    the nodes from ``child_ptr[i]`` up to ``child_ptr[i + 1]``. A node without children is a leaf; its labels are
    ``labels[label_ptr[i]:label_ptr[i + 1]]``. Inner nodes hold no labels, and no leaf is empty. All this is checked
    unless `check` is off, for a tree from a file that can be trusted.

    Example:
        >>> tree = LabelTree.from_nested([[0, 1], [2]])
        >>> tree.n_nodes, tree.depths.tolist(), tree.label_depths.tolist()
        (3, [0, 1, 1], [1, 1, 1])
    """

    child_ptr: NDArray[np.int32]
    label_ptr: NDArray[np.int64]
    labels: NDArray[np.int32]
    n_labels: int
    verify: InitVar[bool] = True  # off only for arrays that were checked before, or come from our own builders

    def __post_init__(self, verify: bool) -> None:
        if verify:
            self._check_arrays()
            self._check_nodes(self.n_nodes)
            self._check_leaves()
        if self.n_labels > len(self.labels):  # before any memory is taken for so many
            raise _unsound(f"it has {self.n_labels} labels and its leaves hold {len(self.labels)}")
        if verify:
            self._check_labels()

    def _check_arrays(self) -> None:
        for name, dtype in _DTYPES.items():
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
                raise _unsound(f"{name} is not an array of one dimension and {np.dtype(dtype)}")
        n_nodes = len(self.child_ptr) - 1
        if n_nodes < 1 or len(self.label_ptr) != n_nodes + 1:
            raise _unsound("its arrays have different numbers of nodes")
        if not isinstance(self.n_labels, int | np.integer) or self.n_labels < 1:
            raise _unsound("it has no labels")

    def _check_nodes(self, n_nodes: int) -> None:
        # The first child comes right behind the root and the last child is the last node. With children after their
        # parents, as checked below, every node but the root has exactly one parent: no cycle and no orphan.
        if self.child_ptr[0] != 1 or self.child_ptr[-1] != n_nodes or not _rises(self.child_ptr):
            raise _unsound("some node is not the child of exactly one other")
        inner = np.flatnonzero(np.diff(self.child_ptr) > 0)
        if (self.child_ptr[inner] <= inner).any():
            raise _unsound("some node comes before its parent")

    def _check_leaves(self) -> None:
        sizes = np.diff(self.label_ptr)
        if self.label_ptr[0] != 0 or self.label_ptr[-1] != len(self.labels) or not _rises(self.label_ptr):
            raise _unsound("its leaves do not match its labels")
        is_inner = np.diff(self.child_ptr) > 0
        if ((sizes > 0) & is_inner).any():
            raise _unsound("an inner node holds labels")
        if ((sizes == 0) & ~is_inner).any():
            raise _unsound("a leaf holds no labels")

    def _check_labels(self) -> None:
        if self.labels.min() < 0 or self.labels.max() >= self.n_labels:
            raise _unsound(f"a label is not between 0 and {self.n_labels - 1}")
        missing = np.flatnonzero(np.bincount(self.labels, minlength=self.n_labels) == 0)
        if len(missing):
            raise _unsound(f"label {missing[0]} is in no leaf")
        if len(self.labels) == self.n_labels:
            return  # each of them once
        owner = np.repeat(np.arange(self.n_nodes), np.diff(self.label_ptr))
        if len(np.unique(owner * np.int64(self.n_labels) + self.labels)) < len(self.labels):
            raise _unsound("a leaf holds a label twice")

    def renamed(self, names: NDArray[np.int32]) -> LabelTree:
        """The same tree with other numbers for its labels: label i becomes ``names[i]``.

        Example:
            >>> LabelTree.from_nested([[0], [1, 2]]).renamed(np.array([5, 3, 4], np.int32) - 3).labels
            array([2, 0, 1], dtype=int32)
        """
        return replace(self, labels=names[self.labels], verify=False)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_labels: int, *, verify: bool = True) -> LabelTree:
        """A tree from its three arrays by name, as native code returns them; `arrays` may have others.

        Example:
            >>> tree = LabelTree.from_nested([[0], [1]])
            >>> LabelTree.from_arrays(tree.arrays(), 2).n_nodes
            3
        """
        return cls(arrays["child_ptr"], arrays["label_ptr"], arrays["labels"], n_labels, verify)

    @classmethod
    def from_nested(cls, nested: Any, n_labels: int | None = None) -> LabelTree:
        """A tree written as nested lists: a list of labels is a leaf, a list of lists is an inner node.

        Example:
            >>> LabelTree.from_nested([[[3], [1, 2]], [0]]).depths.tolist()
            [0, 1, 1, 2, 2]
        """
        if not isinstance(nested, list):
            raise _unsound(f"nested lists are needed and {type(nested).__name__} was given")
        nodes, child_ptr, leaves = [nested], [1], []
        for node in nodes:
            inner = any(isinstance(part, list) for part in node)
            if inner and not all(isinstance(part, list) for part in node):
                raise _unsound("a list holds labels and lists at once")
            nodes.extend(node if inner else [])
            child_ptr.append(len(nodes))
            leaves.append([] if inner else node)
        labels = np.array([label for leaf in leaves for label in leaf], np.int32)
        if n_labels is None:
            n_labels = int(labels.max()) + 1 if len(labels) else 0
        label_ptr = np.cumsum([0, *map(len, leaves)], dtype=np.int64)
        return cls(np.array(child_ptr, np.int32), label_ptr, labels, n_labels)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.child_ptr) - 1

    @cached_property
    def parents(self) -> NDArray[np.int32]:
        """The parent of each node; −1 for the root."""
        parents = np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.child_ptr))
        return np.concatenate([np.array([-1], np.int32), parents])

    @cached_property
    def depths(self) -> NDArray[np.int32]:
        """The number of edges from the root to each node."""
        depths = np.zeros(self.n_nodes, np.int32)
        start, end, depth = 0, 1, 0
        while start < end:  # a level's nodes are contiguous
            depths[start:end] = depth
            start, end, depth = end, int(self.child_ptr[end]), depth + 1
        return depths

    @property
    def leaves(self) -> NDArray[np.int64]:
        """The nodes that have no children."""
        return np.flatnonzero(np.diff(self.child_ptr) == 0)

    @property
    def leaf_sizes(self) -> NDArray[np.int64]:
        """The number of labels of each leaf, in the order of `leaves`."""
        return np.diff(self.label_ptr)[self.leaves]

    @cached_property
    def label_depths(self) -> NDArray[np.int32]:
        """The depth of each label's leaf; the shallowest where it has several."""
        depths = np.full(self.n_labels, np.iinfo(np.int32).max, np.int32)
        np.minimum.at(depths, self.labels, np.repeat(self.depths, np.diff(self.label_ptr)))
        return depths

    def expected_depth(self, weights: Any = None) -> float:
        """The mean depth of labels, weighted by their frequencies where `weights` are given.

        Example:
            >>> LabelTree.from_nested([[0], [[1], [2]]]).expected_depth([2, 1, 1])
            1.5
        """
        if weights is None:
            return float(self.label_depths.mean())
        frequencies = real_vector(weights, "weights")
        sound = len(frequencies) == self.n_labels and bool((np.isfinite(frequencies) & (frequencies >= 0)).all())
        if not sound or not frequencies.any():
            raise ParameterError(f"weights must be {self.n_labels} numbers, one a label, not negative and not all zero")
        return float(np.average(self.label_depths, weights=frequencies))

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The arrays by name, for the store."""
        return {name: getattr(self, name) for name in _DTYPES}

    def __repr__(self) -> str:
        sizes = self.leaf_sizes
        return (
            f"LabelTree({self.n_labels} labels, {self.n_nodes} nodes, {len(sizes)} leaves of {sizes.min()} to "
            f"{sizes.max()} labels, depth {self.depths.max()})"
        )

    def _repr_svg_(self) -> str:
        from labelwood.trees.picture import draw

        return draw(self)


def _rises(pointers: NDArray[Any]) -> bool:
    return not (pointers[1:] < pointers[:-1]).any()  # a difference of far numbers would wrap around


def _unsound(why: str) -> LabelwoodError:
    return LabelwoodError(f"the label tree is not sound: {why}; build it again")
