"""Explains where a label is in the trees, from the weights of the classifiers on the path to it."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelwood.errors import ParameterError
from labelwood.explaining.explanation import Copy, LabelExplanation, Neighbour, Word
from labelwood.explaining.weights import PARENT_WEIGHT, column, leaves_of, path_to, weights_for
from labelwood.linear.classifier import TreeClassifier
from labelwood.linear.trained import TrainedTree

if TYPE_CHECKING:
    from labelwood.labels import LabelIndex
    from labelwood.tagger.classifier import TextClassifier

_MIN_COSINE = 0.05  # smaller cosines come from words that most classifiers share
_MAX_COMPARED = 20_000  # how many names a misspelt name is compared with


def explain_label(model: TextClassifier, label: str, *, words: int = 8, siblings: int = 6) -> LabelExplanation:
    """Explains in which leaves of a model's trees a label is, and which words and labels describe each leaf (`Copy`).

    `model` is a `TextClassifier` whose model is a `TreeClassifier`. `words` and `siblings` say how many words and
    labels an explanation has at most.

    Example:
        >>> import labelwood as lw
        >>> texts, labels = ["a dog barks", "a rose blooms"] * 2, [["animal"], ["plant"]] * 2
        >>> explained = explain_label(lw.TextClassifier().fit(texts, labels), "animal")
        >>> explained.n_copies, explained.trees[0][0].words[0].word
        (1, 'barks')
    """
    if words < 1 or siblings < 1:
        raise ParameterError(f"words and siblings must be at least 1, not {words} and {siblings}")
    trees = trees_of(model)
    number = int(model.labels_.ids([label])[0])
    if number < 0:
        raise ParameterError(f"the model has no label named {label!r}{_suggestion(label, model.labels_)}")
    naming = Naming.of(model)
    found = [_Explainer(trained, tree, number, naming, words, siblings).copies() for tree, trained in enumerate(trees)]
    rows = int(model.frequencies_[number])
    return LabelExplanation(label, naming.text(number), rows, tuple(found), naming.has_names)


def trees_of(model: TextClassifier) -> list[TrainedTree]:
    """The trained trees of a text classifier; an error if its model has none.

    Example:
        >>> import labelwood as lw
        >>> len(trees_of(lw.TextClassifier(model=lw.TreeClassifier(n_trees=2)).fit(["a dog"], [["animal"]])))
        2
    """
    inner = getattr(model, "model_", None)
    if not isinstance(inner, TreeClassifier):
        kind = repr(getattr(inner, "kind", type(model).__name__))
        raise ParameterError(
            f"a model of the kind {kind} has no weights of words for its clusters: train one with --model tree"
        )
    return inner.trees_


@dataclass(frozen=True)
class Naming:
    """The names of a model's features and labels."""

    features: NDArray[np.object_]
    labels: LabelIndex
    texts: Any

    @classmethod
    def of(cls, model: TextClassifier) -> Naming:
        """The names of a model; hashed terms and numeric features have no names."""
        vectorizer: Any = model.vectorizer_
        names = np.full(model.model_.n_features_in_, "", object)
        if vectorizer is not None and getattr(vectorizer, "n_buckets", None) is None:
            names[: vectorizer.n_features_] = vectorizer.get_feature_names_out()
        return cls(names, model.labels_, model.label_texts_)

    @property
    def has_names(self) -> bool:
        """Whether some feature has a name."""
        return bool((self.features != "").any())

    def text(self, label: int) -> str | None:
        """The description of a label in the data, if there is one."""
        return None if self.texts is None else str(self.texts[label].as_py() or "") or None

    def strongest(self, weights: Any, count: int) -> tuple[Word, ...]:
        """The features with the largest positive weights, best first."""
        weights = np.asarray(weights)
        best = np.argpartition(-weights, min(count, len(weights) - 1))[:count]
        ordered = best[np.lexsort((best, -weights[best]))]
        return tuple(Word(self.features[f] or f"#{f}", round(float(weights[f]), 4)) for f in ordered if weights[f] > 0)

    def nearest(self, labels: Any, cosines: Any, count: int) -> tuple[Neighbour, ...]:
        """The labels with the largest cosines above a small minimum, best first."""
        order = np.lexsort((labels, -cosines))[:count]
        return tuple(
            Neighbour(self.labels[int(labels[i])], round(float(cosines[i]), 4), self.text(int(labels[i])))
            for i in order
            if cosines[i] > _MIN_COSINE
        )


@dataclass
class _Leaf:
    """A leaf of the label, and the weights of each feature for it."""

    path: tuple[int, ...]
    labels: Any  # the other labels of the leaf
    cluster: NDArray[np.float32]  # weights for the cluster
    own: NDArray[np.float32]  # weights of the label's classifier in this leaf
    way: NDArray[np.float32]  # sums of the weights on the path from the root
    likeness: Any  # the other labels' cosines with the label
    typical: Any  # the other labels' cosines with the cluster


@dataclass
class _Explainer:
    """Explains a label in one tree."""

    trained: TrainedTree
    tree: int
    label: int
    naming: Naming
    n_words: int
    n_siblings: int

    def copies(self) -> tuple[Copy, ...]:
        leaves = [self._leaf(number) for number in leaves_of(self.trained, self.label)]
        return tuple(
            self._copy(leaf, weights) for leaf, weights in zip(leaves, _separating_weights(leaves), strict=True)
        )

    def _leaf(self, number: int) -> _Leaf:
        path = path_to(self.trained, number)
        start, end = self.trained.tree.label_ptr[number : number + 2]
        labels = self.trained.tree.labels[start:end]
        weights = self.trained.block(number)[0].tocsc()
        path_weights = weights_for(self.trained, path)
        own = column(weights, int(np.flatnonzero(labels == self.label)[0]))
        cluster = np.zeros_like(own)
        for steps_up, node_weights in enumerate(reversed(path_weights)):
            cluster += PARENT_WEIGHT**steps_up * node_weights
        way: NDArray[np.float32] = np.stack([np.zeros_like(own), *path_weights]).sum(axis=0)
        is_other = labels != self.label
        others = labels[is_other]
        likeness = _cosines(weights, own)[is_other]
        typical = _cosines(weights.maximum(0), np.maximum(cluster, 0))[is_other]
        return _Leaf(path, others, cluster, own, way, likeness, typical)

    def _copy(self, leaf: _Leaf, separating: NDArray[np.float32]) -> Copy:
        return Copy(
            tree=self.tree,
            leaf=leaf.path[-1],
            path=leaf.path,
            n_labels=len(leaf.labels) + 1,
            cluster_words=self.naming.strongest(leaf.cluster, self.n_words),
            words=self.naming.strongest(leaf.own, self.n_words),
            separating_words=self.naming.strongest(separating, self.n_words),
            siblings=self.naming.nearest(leaf.labels, leaf.likeness, self.n_siblings),
            characteristic=self.naming.nearest(leaf.labels, leaf.typical, self.n_siblings),
        )


def _separating_weights(leaves: list[_Leaf]) -> list[NDArray[np.float32]]:
    """For each copy: how much each feature leads to it rather than to another copy; see `Copy`."""
    if len(leaves) == 1:
        return [np.zeros_like(leaves[0].own)]
    label_weights = np.maximum(np.mean([leaf.own for leaf in leaves], axis=0), 0)
    found = []
    for leaf in leaves:
        best_other = np.max([other.way for other in leaves if other is not leaf], axis=0)
        found.append(label_weights * (leaf.way - best_other))
    return found


def _cosines(weights: Any, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of each column with a vector."""
    lengths = np.sqrt(weights.multiply(weights).sum(axis=0)) * np.linalg.norm(vector)
    cosines: NDArray[np.float32] = (weights.T @ vector) / np.maximum(lengths, 1e-12)
    return cosines


def _suggestion(name: str, labels: LabelIndex) -> str:
    """The end of the error message for an unknown name: similar names, if there are any."""
    near = _similar(name, labels)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else "; check its spelling"


def _similar(name: str, labels: LabelIndex) -> list[str]:
    """Up to three names that contain the given name, or else names with a similar spelling.

    To be fast for millions of names, it compares only names of similar length with the same first or last letter.
    """
    import pyarrow.compute as pc

    names = labels.to_arrow()
    holding = names.filter(pc.match_substring(names, name, ignore_case=True))
    if len(holding) and name:
        shortest = pc.select_k_unstable(pc.utf8_length(holding), 3, [("", "ascending")])
        return [str(found) for found in holding.take(shortest).to_pylist()]
    lengths = pc.utf8_length(names)
    of_length = pc.less_equal(pc.abs(pc.subtract(lengths, len(name))), 2 + len(name) // 4)
    ends = pc.or_(pc.starts_with(names, name[:1], ignore_case=True), pc.ends_with(names, name[-1:], ignore_case=True))
    compared = names.filter(pc.and_(of_length, ends))[:_MAX_COMPARED].to_pylist()
    return get_close_matches(name, compared, n=3, cutoff=0.6)
