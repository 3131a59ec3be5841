"""Explains where a label lies, from the weights of the classifiers on the way to it."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelwood.errors import ParameterError
from labelwood.explaining.explanation import Copy, LabelExplanation, Neighbour, Word
from labelwood.explaining.weights import UPWARDS, column, leaves_of, path_to, weights_for
from labelwood.linear.classifier import TreeClassifier
from labelwood.linear.trained import TrainedTree

if TYPE_CHECKING:
    from labelwood.labels import LabelIndex
    from labelwood.tagger.classifier import TextClassifier

_ALIKE = 0.05  # a smaller cosine comes from words that most classifiers have in common
_COMPARED = 20_000  # names that a misspelt one is compared with at most


def explain_label(model: TextClassifier, label: str, *, words: int = 8, siblings: int = 6) -> LabelExplanation:
    """Where a label lies in the trees of a model, and what is around it; see `Copy` for what is told of each place.

    `model` is a `TextClassifier` whose model is a `TreeClassifier`. Up to so many `words` and `siblings` are named.

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
        raise ParameterError(f"the model has no label named {label!r}{_instead(label, model.labels_)}")
    naming = Naming.of(model)
    found = [_Explaining(trained, tree, number, naming, words, siblings).copies() for tree, trained in enumerate(trees)]
    rows = int(model.frequencies_[number])
    return LabelExplanation(label, naming.text(number), rows, tuple(found), naming.has_names)


def trees_of(model: TextClassifier) -> list[TrainedTree]:
    """The trees of a model whose weights can be read.

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
    """What features and labels of a model are called."""

    features: NDArray[np.object_]
    labels: LabelIndex
    texts: Any

    @classmethod
    def of(cls, model: TextClassifier) -> Naming:
        """The names of a model; features of hashed terms and of numbers have none."""
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
        """What the data says of a label."""
        return None if self.texts is None else str(self.texts[label].as_py() or "") or None

    def strongest(self, weights: Any, count: int) -> tuple[Word, ...]:
        """The features with the largest weights, best first; none whose weight is not above zero."""
        weights = np.asarray(weights)
        best = np.argpartition(-weights, min(count, len(weights) - 1))[:count]
        ordered = best[np.lexsort((best, -weights[best]))]
        return tuple(Word(self.features[f] or f"#{f}", round(float(weights[f]), 4)) for f in ordered if weights[f] > 0)

    def nearest(self, labels: Any, cosines: Any, count: int) -> tuple[Neighbour, ...]:
        """The labels with the largest cosines, best first; none that is hardly alike."""
        order = np.lexsort((labels, -cosines))[:count]
        return tuple(
            Neighbour(self.labels[int(labels[i])], round(float(cosines[i]), 4), self.text(int(labels[i])))
            for i in order
            if cosines[i] > _ALIKE
        )


@dataclass
class _Place:
    """A leaf that the label lies in, and all that its weights say."""

    path: tuple[int, ...]
    labels: Any  # of the leaf
    cluster: NDArray[np.float32]  # of each feature: what it says for the cluster
    own: NDArray[np.float32]  # ... for the label, in this leaf
    way: NDArray[np.float32]  # ... for going all the way from the root to the leaf
    likeness: Any  # of each label of the leaf: cosine with the label
    typical: Any  # of each label of the leaf: cosine with the cluster


@dataclass
class _Explaining:
    """A label in one tree."""

    trained: TrainedTree
    tree: int
    label: int
    naming: Naming
    n_words: int
    n_siblings: int

    def copies(self) -> tuple[Copy, ...]:
        places = [self._place(leaf) for leaf in leaves_of(self.trained, self.label)]
        apart = _separating(places)
        return tuple(self._copy(place, words) for place, words in zip(places, apart, strict=True))

    def _place(self, leaf: int) -> _Place:
        path = path_to(self.trained, leaf)
        start, end = self.trained.tree.label_ptr[leaf : leaf + 2]
        labels = self.trained.tree.labels[start:end]
        weights = self.trained.block(leaf)[0].tocsc()
        on_the_way = weights_for(self.trained, path)
        own = column(weights, int(np.flatnonzero(labels == self.label)[0]))
        cluster = np.zeros_like(own)
        for steps_up, of_node in enumerate(reversed(on_the_way)):
            cluster += UPWARDS**steps_up * of_node
        way: NDArray[np.float32] = np.stack([np.zeros_like(own), *on_the_way]).sum(axis=0)
        is_other = labels != self.label
        others = labels[is_other]
        likeness = _cosines(weights, own)[is_other]
        typical = _cosines(weights.maximum(0), np.maximum(cluster, 0))[is_other]
        return _Place(path, others, cluster, own, way, likeness, typical)

    def _copy(self, place: _Place, separating: NDArray[np.float32]) -> Copy:
        return Copy(
            tree=self.tree,
            leaf=place.path[-1],
            path=place.path,
            n_labels=len(place.labels) + 1,
            cluster_words=self.naming.strongest(place.cluster, self.n_words),
            words=self.naming.strongest(place.own, self.n_words),
            separating_words=self.naming.strongest(separating, self.n_words),
            siblings=self.naming.nearest(place.labels, place.likeness, self.n_siblings),
            characteristic=self.naming.nearest(place.labels, place.typical, self.n_siblings),
        )


def _separating(places: list[_Place]) -> list[NDArray[np.float32]]:
    """Of each copy: how much each feature leads to it rather than to another; see `Copy`."""
    if len(places) == 1:
        return [np.zeros_like(places[0].own)]
    speaks_for_label = np.maximum(np.mean([place.own for place in places], axis=0), 0)
    found = []
    for place in places:
        best_other = np.max([other.way for other in places if other is not place], axis=0)
        found.append(speaks_for_label * (place.way - best_other))
    return found


def _cosines(weights: Any, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of each column with a vector."""
    lengths = np.sqrt(weights.multiply(weights).sum(axis=0)) * np.linalg.norm(vector)
    cosines: NDArray[np.float32] = (weights.T @ vector) / np.maximum(lengths, 1e-12)
    return cosines


def _instead(name: str, labels: LabelIndex) -> str:
    """The end of the sentence that no label has this name: those that nearly do."""
    near = _similar(name, labels)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else "; check its spelling"


def _similar(name: str, labels: LabelIndex) -> list[str]:
    """Up to three names: those that contain the given one, else those that are written alike.

    Of millions only names of about the same length that begin or end with the same letter are compared.
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
    compared = names.filter(pc.and_(of_length, ends))[:_COMPARED].to_pylist()
    return get_close_matches(name, compared, n=3, cutoff=0.6)
