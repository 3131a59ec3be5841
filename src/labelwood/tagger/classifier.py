"""Texts in, label names out: what the command line trains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from labelwood.arrays.rows import as_labels
from labelwood.arrays.topk import TopK, check_k
from labelwood.contract.checks import check_params
from labelwood.contract.kinds import MODELS, OF_TEXTS, model_class
from labelwood.contract.model import Model
from labelwood.contract.params import Params, Threads
from labelwood.contract.saved import Saved
from labelwood.data.dataset import Dataset, from_names, strings
from labelwood.data.groups import check_groups, grouped_labels
from labelwood.errors import LabelwoodError, ModelError, ParameterError, not_fitted
from labelwood.labels import InversePropensities, LabelIndex, inverse_propensities, label_frequencies
from labelwood.labels.given import is_matrix, name_lists
from labelwood.metrics import evaluate, extra_candidates
from labelwood.metrics.filters import answered_and_filtered
from labelwood.tagger.rows import (
    Vectorizer,
    feature_names,
    features_as_learned,
    features_to_learn_from,
    label_texts_of,
    labels_to_learn_from,
    texts_of,
)
from labelwood.text import JoinedVectorizer, TextVectorizer

if TYPE_CHECKING:
    from labelwood.groups import Eagle, Imputed
    from labelwood.store import State


_VECTORIZERS: dict[str, Any] = {cls.kind: cls for cls in (TextVectorizer, JoinedVectorizer)}
_ANY_K = 1000  # a k beyond the labels is harmless up to here; far beyond, answers would be mostly padding


class TextClassifier(Params, Saved):
    """Joins features, a model and label names.

    It learns from texts and names of labels, or from a whole `Dataset`; a dataset that brings numeric features needs
    no text, and one that brings both has them joined.

    Parameters:
        model: The name of a model (see `labelwood.contract.kinds`) or a model that is not fitted yet. The models
            "prime" and "fused" read texts by themselves, and learn from the texts of labels or, where they have none,
            from their names.
        vectorizer: How texts become features; by default words weighted by tf-idf. A `JoinedVectorizer` has several
            kinds side by side.
        n_threads: How many threads to use; all cores if not given.

    Example:
        >>> import labelwood as lw
        >>> tagger = lw.TextClassifier().fit(["a dog barks", "a rose blooms"], [["animal"], ["plant", "garden"]])
        >>> [name for name, score in tagger.suggest(["the dog"], k=1)[0]]
        ['animal']
    """

    kind: ClassVar[str] = "text"
    imputed_: Imputed | None = None  # who got which label, where groups of texts were learned from

    def __init__(
        self,
        *,
        model: Params | str = "tree",
        vectorizer: TextVectorizer | JoinedVectorizer | None = None,
        n_threads: Threads = None,
    ) -> None:
        self.model = model
        self.vectorizer = vectorizer
        self.n_threads = n_threads

    def fit(self, texts: Any, labels: Any) -> Self:
        """Learns from texts and either the names of each text's labels or a rows × labels matrix."""
        rows = strings(texts, "texts")
        if is_matrix(labels):
            Y = as_labels(labels, len(rows), "labels").to_scipy()
            return self.fit_dataset(Dataset(texts=rows, Y=Y, labels=LabelIndex.numbered(Y.shape[1])))
        index = LabelIndex()
        Y = from_names(name_lists(labels), index)
        return self.fit_dataset(Dataset(texts=rows, Y=Y, labels=index))

    def fit_dataset(self, data: Dataset) -> Self:
        """Learns from whatever rows the dataset has: texts, features, or both."""
        if data.groups is not None:
            raise LabelwoodError("the labels are those of groups and not of single rows: use fit_grouped_dataset")
        if data.Y is None or data.labels is None or data.Y.nnz == 0:
            raise LabelwoodError("the data has no labels to learn from: name the column that holds them")
        self._learn(data, *self._begun(data))
        self.imputed_ = None
        return self

    def fit_grouped(
        self,
        texts: Any,
        groups: Any,
        group_labels: Any,
        *,
        eagle: Eagle | None = None,
        baseline: bool = False,
        choose: bool = False,
    ) -> Self:
        """Learns to label single texts where only groups of them have labels: paragraphs, where pages have tags.

        `groups` has the group of each text, `group_labels` the names of each group's labels: a dictionary by names of
        groups; or, for groups that are numbers from zero, a list. Either may be a matrix of numbers, as for `Eagle`.
        `eagle` hands labels to texts; with `choose`, what is best for groups that are held out (`choose_eagle`); with
        `baseline`, texts get all labels of their groups. See `imputed_` for what came of it.

        Example:
            >>> import labelwood as lw
            >>> texts = ["a dog barks", "a rose blooms", "the dog sleeps", "old coins", "the rose fades", "new coins"]
            >>> pages, tags = [0, 0, 1, 1, 2, 2], [["animal", "plant"], ["animal"], ["plant"]]
            >>> tagger = lw.TextClassifier().fit_grouped(texts, pages, tags)
            >>> [tagger.suggest([text], k=1)[0][0][0] for text in ("my dog", "your rose")]
            ['animal', 'plant']
        """
        rows = strings(texts, "texts")
        of_row, counts, labels = grouped_labels(groups, group_labels)
        return self._fit_groups(
            Dataset(texts=rows, labels=labels), of_row, counts, eagle, baseline=baseline, choose=choose
        )

    def fit_grouped_dataset(
        self, data: Dataset, *, eagle: Eagle | None = None, baseline: bool = False, choose: bool = False
    ) -> Self:
        """The same for a dataset of groups, as `labelwood.read` returns it."""
        groups = check_groups(data)
        return self._fit_groups(
            data.with_parts(groups=None), groups.of_row, groups.Y, eagle, baseline=baseline, choose=choose
        )

    def _fit_groups(
        self, data: Dataset, groups: Any, counts: Any, eagle: Eagle | None, *, baseline: bool, choose: bool
    ) -> Self:
        from labelwood.groups.imputing import impute

        model, vectorizer, X = self._begun(data)
        if model.reads_texts:
            raise LabelwoodError(f"a model of the kind {model.kind!r} cannot learn from groups: use another model")
        how = None if eagle is None else self._fresh(eagle)
        imputed = impute(X, groups, counts, eagle=how, baseline=baseline, choose=choose)
        self._learn(data.with_parts(Y=imputed.Y), model, vectorizer, X)
        self.imputed_ = imputed
        return self

    def _begun(self, data: Dataset) -> tuple[Model, Vectorizer | None, Any]:
        """A model that is to learn, and the features of the rows it is to learn from."""
        check_params(type(self), self.get_params(deep=False))
        model = self._fresh(model_class(self.model)() if isinstance(self.model, str) else self.model)
        if model.reads_texts:
            return model, None, texts_of(data)
        return model, *features_to_learn_from(data, self._fresh(self.vectorizer or TextVectorizer()))

    def _learn(self, data: Dataset, model: Model, vectorizer: Vectorizer | None, X: Any) -> None:
        assert data.labels is not None
        Y = labels_to_learn_from(data)
        frequencies = label_frequencies(Y)
        more: dict[str, Any] = {}
        if model.reads_texts:
            more["label_texts"] = label_texts_of(data)
        elif model.needs_feature_names:
            more["feature_names"] = feature_names(vectorizer, X)
        model.fit(X, Y, **more)
        # Kept only now that all of it has worked: a failure leaves what was learned before in one piece.
        self.model_: Model = model
        self.vectorizer_ = vectorizer
        self.labels_ = LabelIndex(data.labels.to_arrow())  # the data's own index may grow
        self.label_texts_ = data.label_texts
        self.frequencies_ = frequencies
        self.n_rows_ = len(data)

    def features(self, data: Dataset) -> Any:
        """The dataset's rows as the model takes them."""
        self._check_fitted()
        if self.model_.reads_texts:
            return texts_of(data)
        return features_as_learned(data, self.vectorizer_, self.model_.n_features_in_)

    def predict_topk(
        self,
        texts: Any,
        k: int = 5,
        *,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        min_score: float | None = None,
        filters: Any = None,
    ) -> TopK:
        """The `k` best labels of each text (or row of a `Dataset`), best first.

        With `include`, only labels of these names can be answers; those in `exclude` cannot, nor can labels that score
        less than `min_score`, nor pairs (row, label id) in `filters`.
        """
        self._check_fitted()
        rows = self._rows(texts)
        if include is None and exclude is None and min_score is None and filters is None:
            return self.model_.predict_topk(rows, k)
        limits = {"include": self._ids(include), "exclude": self._ids(exclude), "min_score": min_score}
        return answered_and_filtered(
            lambda n: self.model_.predict_topk(rows, n, **limits), check_k(k, len(self.labels_)), filters, len(texts)
        )

    def _rows(self, texts: Any) -> Any:
        """Texts as the model takes them, a few strings by a way that is as short as they are."""
        if isinstance(self.vectorizer_, TextVectorizer):
            rows = self.vectorizer_.native_rows(texts, self.model_.n_features_in_)
            if rows is not None:
                return rows
        return self.features(texts if isinstance(texts, Dataset) else Dataset(texts=strings(texts, "texts")))

    def suggest(self, texts: Any, k: int = 5, **limits: Any) -> list[list[tuple[str, float]]]:
        """The names and scores of the `k` best labels of each text, best first; `limits` as for `predict_topk`."""
        top = self.predict_topk(texts, k, **limits)
        return [
            [(self.labels_[label], score) for label, score in zip(ids, scores, strict=True) if label >= 0]
            for ids, scores in zip(top.ids.tolist(), top.scores.tolist(), strict=True)
        ]

    def _ids(self, names: Iterable[str] | None) -> Any:
        if names is None:
            return None
        wanted = list(names)
        ids = self.labels_.ids(wanted)
        if (ids < 0).any():
            raise ParameterError(f"the model has no label named {wanted[int(np.argmin(ids))]!r}; check its spelling")
        return ids

    def predict(self, texts: Any, k: int | None = None) -> Any:
        """An indicator matrix (sparse, rows × labels), as `Model.predict` gives it."""
        self._check_fitted()
        return self.model_.predict(self._rows(texts), k)

    def evaluate(self, data: Dataset, *, ks: tuple[int, ...] = (1, 3, 5), **options: Any) -> dict[str, float]:
        """Metrics in percent on labelled rows, propensity-scored ones with the training labels' frequencies.

        Labels that occur only in `data` count as misses. Pairs in `data.filters` are dropped before ranking.
        """
        self._check_fitted()
        if not ks or max(ks) > max(len(self.labels_), _ANY_K):
            raise ParameterError(f"ks is {tuple(ks)}; give whole numbers from 1 to the number of labels")
        aligned = data.align(self.labels_)
        if aligned.Y is None or aligned.Y.nnz == 0:
            raise LabelwoodError("the data has no labels to evaluate against: name the column that holds them")
        extra = 0 if aligned.filters is None else extra_candidates(aligned.filters, len(aligned))
        top = self.predict_topk(aligned, max(ks) + extra)
        options.setdefault("inv_propensity", self.inverse_propensities())
        return evaluate(top, aligned.Y, ks=ks, filters=aligned.filters, n_threads=self.n_threads, **options)

    def score(self, texts: Any, labels: Any) -> float:
        """P@1 between 0 and 1 against a rows × labels matrix."""
        return evaluate(self.predict_topk(texts, 1), labels, ks=(1,), metrics=("P",))["P@1"] / 100

    def inverse_propensities(self, family: str = "default") -> InversePropensities:
        """Inverse propensities from the training labels' frequencies."""
        self._check_fitted()
        return inverse_propensities(self.frequencies_, self.n_rows_, family=family)

    def compressed(self, *, max_features: int | None = None, **how: Any) -> TextClassifier:
        """A copy that takes a fraction of the memory, for models that can be compressed (`SoftmaxTreeClassifier`).

        With `max_features`, terms that matter least are forgotten, together with their embeddings; `how` is what the
        model's own `compressed` takes.

        Example:
            >>> import labelwood as lw
            >>> tagger = lw.TextClassifier(model="softmax-tree").fit(["a dog barks", "a rose"], [["animal"], ["plant"]])
            >>> tagger.compressed(max_features=2).describe()["features"]
            2
        """
        self._check_fitted()
        model: Any = self.model_
        if not hasattr(model, "compressed"):
            raise ParameterError(f"a model of the kind {model.kind!r} cannot be compressed: train --model softmax-tree")
        copy = type(self)(**self.get_params(deep=False))
        copy.__dict__ |= {name: value for name, value in self.__dict__.items() if name.endswith("_")}
        terms: Any = self.vectorizer_
        has_terms = isinstance(terms, TextVectorizer) and terms.n_buckets is None
        if max_features is not None and has_terms and terms.n_features_ == model.n_features_in_:
            kept = model.features_that_matter(max_features)
            copy.vectorizer_, model, max_features = terms.restricted_to(kept), model.restricted_to(kept), None
        copy.model_ = model.compressed(max_features=max_features, **how)
        return copy

    @property
    def writes(self) -> bool:
        """Whether `save` does: where its model does."""
        return not hasattr(self, "model_") or bool(self.model_.writes)

    def state(self) -> State:
        """Everything the store needs."""
        from labelwood.store import State

        self._check_fitted()
        parts = {"model": self.model_.state()}
        if self.vectorizer_ is not None:
            parts["vectorizer"] = self.vectorizer_.state()
        names = {"labels": self.labels_.to_arrow()}
        if self.label_texts_ is not None:
            names["label_texts"] = self.label_texts_
        return State(
            kind=self.kind,
            params={},
            fitted={"n_rows": self.n_rows_},
            arrays={"frequencies": self.frequencies_},
            names=names,
            parts=parts,
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The classifier that `state` describes; raises `ModelError` where its fields contradict each other."""
        inner = state.parts.get("model")
        if inner is None or inner.kind not in MODELS | OF_TEXTS or "labels" not in state.names:
            raise ModelError("the model lacks its labels or its inner model: save it again")
        model = model_class(inner.kind).from_state(inner)
        words = state.parts.get("vectorizer")
        vectorizer = None if words is None else _vectorizer_from(words, model)
        # Parameters are those of copies that are not fitted, as after `fit`: changing them changes no answers.
        classifier = cls(model=_not_fitted(model), vectorizer=None if vectorizer is None else _not_fitted(vectorizer))
        classifier.model_, classifier.vectorizer_ = model, vectorizer
        classifier.labels_ = LabelIndex(state.names["labels"])
        classifier.label_texts_ = state.names.get("label_texts")
        classifier.frequencies_ = state.array("frequencies", np.int64, 1)
        classifier.n_rows_ = state.count("n_rows", most=2**63 - 1)
        lengths = {len(classifier.labels_), len(classifier.frequencies_), model.n_labels_}
        if state.verify and (classifier.frequencies_ < 0).any():
            raise ModelError("the model's frequencies of labels are below zero: save it again")
        if len(lengths) > 1 or (classifier.label_texts_ is not None and len(classifier.label_texts_) not in lengths):
            raise ModelError("the model's names, frequencies and labels differ in number: save it again")
        return classifier

    def describe(self) -> dict[str, Any]:
        """What a person asks for first."""
        self._check_fitted()
        from_texts = self.vectorizer_ is not None or self.model_.reads_texts
        return {**self.model_.describe(), "from_texts": from_texts, "training_rows": self.n_rows_}

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, multi_output=True, single_output=False),
            classifier_tags=ClassifierTags(multi_class=False, multi_label=True),
            input_tags=InputTags(string=True, two_d_array=False),
        )

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise not_fitted(self)
        if "_settled" not in self.__dict__:
            self.settled()

    def _fresh(self, part: Any) -> Any:
        """A copy of an unfitted part that uses this classifier's threads."""
        copy = _not_fitted(part)
        return copy if self.n_threads is None else copy.set_params(n_threads=self.n_threads)


def _not_fitted(part: Any) -> Any:
    return type(part)(**part.get_params(deep=False))


def _vectorizer_from(state: State, model: Any) -> Vectorizer:
    if state.kind not in _VECTORIZERS:
        raise ModelError(f"this Labelwood has no vectorizer of the kind {state.kind!r}: install a newer one")
    found: Vectorizer = _VECTORIZERS[state.kind].from_state(state)
    if model.reads_texts or found.n_features_ > model.n_features_in_:  # fewer, where numbers stand beside texts
        raise ModelError("the model's vectorizer makes other features than the model has: save it again")
    return found
