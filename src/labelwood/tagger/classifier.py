"""Texts in, label names out: what the command line trains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from labelwood.arrays.rows import as_labels, from_scipy
from labelwood.arrays.topk import TopK
from labelwood.contract.compressible import Compressible
from labelwood.contract.examples import Examples, as_weights
from labelwood.contract.kinds import from_state, model_class, takes
from labelwood.contract.limits import NO_LIMITS, Limits
from labelwood.contract.params import Params, Threads, unfitted
from labelwood.contract.text_model import TextModel
from labelwood.data.dataset import Dataset, Groups, from_names
from labelwood.data.groups import check_groups, grouped_labels
from labelwood.data.texts import as_texts, few_texts
from labelwood.errors import LabelwoodError, ModelError, ParameterError
from labelwood.labels import InversePropensities, LabelIndex, inverse_propensities, label_frequencies
from labelwood.labels.given import is_matrix, name_lists
from labelwood.metrics import evaluate, extra_candidates
from labelwood.tagger.rows import Vectorizer, feature_names, features_as_learned, features_to_learn_from
from labelwood.text import JoinedVectorizer, TextVectorizer

if TYPE_CHECKING:
    from labelwood.groups import Eagle, Imputed
    from labelwood.store import State


_VECTORIZERS: dict[str, Any] = {cls.kind: cls for cls in (TextVectorizer, JoinedVectorizer)}
_ANY_K = 1000  # a k beyond the labels is harmless up to here; far beyond, answers would be mostly padding


class TextClassifier(TextModel):
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
    imputed_: Imputed | None = None  # which text got which label, where groups of texts were learned from

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

    @property
    def uses(self) -> frozenset[str]:
        """What its model makes use of; names of features come from the vectorizer."""
        uses: frozenset[str] = self._given_model().uses
        return uses - {"feature_names"}

    @property
    def needs(self) -> frozenset[str]:
        """What its model needs, but for texts of labels, in whose place names can stand."""
        needs: frozenset[str] = self._given_model().needs
        return needs - {"feature_names", "label_texts"}

    @property
    def inner_model(self) -> Any:
        """The model that answers."""
        return self.model_

    def fit_dataset(self, data: Dataset) -> Self:
        """Learns from whatever rows the dataset has: texts, features, or both. The same as `fit`."""
        return self.fit(data)

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
        data = self._grouped_data(as_texts(texts, "texts"), groups, group_labels)
        return self._fit_groups(data, eagle=eagle, baseline=baseline, choose=choose)

    def fit_grouped_dataset(
        self, data: Dataset, *, eagle: Eagle | None = None, baseline: bool = False, choose: bool = False
    ) -> Self:
        """The same for a dataset of groups, as `labelwood.read` returns it."""
        data = data.with_parts(groups=check_groups(data))
        return self._fit_groups(data, eagle=eagle, baseline=baseline, choose=choose)

    def _fit_groups(self, data: Dataset, **how: Any) -> Self:
        grouped_class: Any = model_class("grouped")
        grouped = grouped_class(model=self.model, **how)
        learner = type(self)(model=grouped, vectorizer=self.vectorizer, n_threads=self.n_threads).fit(data)
        learner.model_ = learner.model_.model_  # how it came to its labels is of no use for answers
        learner.model = self.model
        self._take_over(learner)
        return self

    def _of_dataset(self, data: Dataset, given: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        return data, None, given if data.groups is None else {"groups": data.groups.of_row, **given}

    def _examples(self, X: Any, Y: Any, given: Mapping[str, Any]) -> Examples:
        own = {name: given[name] for name in ("label_texts", "filters") if name in given}
        data = X if isinstance(X, Dataset) else self._data(as_texts(X, "texts"), Y, given.get("groups"))
        data = data.with_parts(**own) if own else data
        if data.groups is not None and "groups" not in self.uses:
            raise LabelwoodError("the labels are those of groups and not of single rows: use fit_grouped_dataset")
        labels = as_labels(data.labels_to_learn_from()) if data.groups is None else from_scipy(data.groups.Y)
        n_texts = labels.n_cols if data.label_texts is None else len(data.label_texts)
        for what, n in (("groups.Y has columns for", labels.n_cols), ("label_texts are for", n_texts)):
            if n != data.n_labels:  # the model could be saved, but not loaded
                raise LabelwoodError(f"{what} {n} labels and there are {data.n_labels}: give one for each label")
        weights = as_weights(given.get("row_weights"), len(data))
        filters = data.filters if data.filters is not None and "filters" in self.uses else None
        return Examples(data, labels, filters=filters, row_weights=weights)

    def _data(self, texts: Any, Y: Any, groups: Any) -> Dataset:
        if groups is not None:
            return self._grouped_data(texts, groups, Y)
        if is_matrix(Y):
            matrix = as_labels(Y, len(texts), "labels").to_scipy()
            labels = LabelIndex.numbered(matrix.shape[1])
        else:
            labels = LabelIndex()
            matrix = from_names(name_lists(Y), labels)
        return Dataset(texts=texts, Y=matrix, labels=labels)

    def _grouped_data(self, texts: Any, groups: Any, group_labels: Any) -> Dataset:
        of_row, counts, labels = grouped_labels(groups, group_labels)
        return Dataset(texts=texts, labels=labels, groups=Groups(of_row, counts))

    def _given_model(self) -> Any:
        model: Any = model_class(self.model)() if isinstance(self.model, str) else self.model
        if getattr(model, "takes", None) is None or model.kind == self.kind:
            raise ParameterError("model must be a model that is no TextClassifier itself, or the name of one")
        return model

    def _new_model(self) -> Any:
        """The model that is to learn, not fitted and with the threads of this classifier."""
        return unfitted(self._given_model(), self.n_threads)

    def _count(self, examples: Examples) -> None:
        pass  # known once names and model are there

    def _fit(self, examples: Examples) -> None:
        data, model, vectorizer = examples.X, self._new_model(), None
        given: dict[str, Any] = {"filters": examples.filters} if "filters" in model.uses else {}
        if len(examples.row_weights):
            given["row_weights"] = examples.row_weights
        if data.groups is not None:
            given["groups"] = data.groups.of_row
        if model.takes == "texts":
            X = data.texts_to_read()
            given |= {"label_texts": data.texts_of_labels()} if "label_texts" in model.uses else {}
        else:
            words = unfitted(self.vectorizer or TextVectorizer(), self.n_threads)
            vectorizer, X = features_to_learn_from(data, words)
            given |= {"feature_names": feature_names(vectorizer, X)} if "feature_names" in model.needs else {}
        self.model_: Any = model.fit(X, examples.Y, **given)
        self.vectorizer_: Any = vectorizer
        self.imputed_ = model.imputed_
        self.labels_ = LabelIndex(data.labels.to_arrow())  # the data's own index may grow
        self.n_labels_, self.labels_per_row_ = len(self.labels_), model.labels_per_row_
        self.label_texts_ = data.label_texts
        self.frequencies_ = label_frequencies(examples.Y if model.imputed_ is None else model.imputed_.Y)
        self.n_rows_ = len(data)

    def features(self, data: Dataset) -> Any:
        """The dataset's rows as the model takes them."""
        self.check_fitted()
        if self.model_.takes == "texts":
            return data.texts_to_read()
        return features_as_learned(data, self.vectorizer_, self.model_.n_features_in_)

    def _limits(self, include: Any, exclude: Any, min_score: float | None) -> Limits:
        return super()._limits(self._ids(include), self._ids(exclude), min_score)

    def _ids(self, names: Iterable[str] | None) -> Any:
        if names is None:
            return None
        wanted = list(names)
        ids = self.labels_.ids(wanted)
        if (ids < 0).any():
            raise ParameterError(f"the model has no label named {wanted[int(np.argmin(ids))]!r}; check its spelling")
        return ids

    def answer(self, X: Any, k: int, limits: Limits = NO_LIMITS, filters: Any = None) -> TopK:
        """As its model, for texts or the rows of a `Dataset`."""
        self.check_fitted()
        rows = self.features(X if isinstance(X, Dataset) else Dataset(texts=as_texts(X, "texts")))
        answers: TopK = self.model_.answer(rows, k, limits, filters)
        return answers

    def _topk(self, X: Any, k: int, limits: Limits) -> TopK:
        return self.answer(X, k, limits)

    def _topk_of_few(self, X: Any, k: Any) -> TopK | None:
        """Answers for a few texts without Arrow and scipy; None where that is not possible."""
        own = self.__dict__
        if "_settled" not in own:  # a parameter has changed, or nothing was asked yet
            self.check_fitted()
        vectorizer = own.get("vectorizer_")
        if vectorizer is None:
            return None
        texts = X if type(X) is list else few_texts(X)
        rows = vectorizer.native_rows(texts, self.model_.n_features_in_)
        if rows is None:
            return None
        answers: TopK = self.model_.predict_topk(rows, k)
        return answers

    def _parts(self) -> list[Any]:
        return [part for part in (self.model_, self.vectorizer_) if part is not None]

    def suggest(self, texts: Any, k: int = 5, **limits: Any) -> list[list[tuple[str, float]]]:
        """The names and scores of the `k` best labels of each text, best first; `limits` as for `predict_topk`."""
        top = self.predict_topk(texts, k, **limits)
        return [
            [(self.labels_[label], score) for label, score in zip(ids, scores, strict=True) if label >= 0]
            for ids, scores in zip(top.ids.tolist(), top.scores.tolist(), strict=True)
        ]

    def evaluate(self, data: Dataset, *, ks: tuple[int, ...] = (1, 3, 5), **options: Any) -> dict[str, float]:
        """Metrics in percent on labelled rows, propensity-scored ones with the training labels' frequencies.

        Labels that occur only in `data` count as misses. Pairs in `data.filters` are dropped before ranking.
        """
        self.check_fitted()
        if not ks or max(ks) > max(len(self.labels_), _ANY_K):
            raise ParameterError(f"ks is {tuple(ks)}; give whole numbers from 1 to the number of labels")
        aligned = data.align(self.labels_)
        if aligned.Y is None or aligned.Y.nnz == 0:
            raise LabelwoodError("the data has no labels to evaluate against: name the column that holds them")
        extra = 0 if aligned.filters is None else extra_candidates(aligned.filters, len(aligned))
        top = self.predict_topk(aligned, max(ks) + extra)
        options.setdefault("inv_propensity", self.inverse_propensities())
        return evaluate(top, aligned.Y, ks=ks, filters=aligned.filters, n_threads=self.n_threads, **options)

    def inverse_propensities(self, family: str = "default") -> InversePropensities:
        """Inverse propensities from the training labels' frequencies."""
        self.check_fitted()
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
        self.check_fitted()
        model = self.model_
        if not isinstance(model, Compressible):
            raise ParameterError(f"a model of the kind {model.kind!r} cannot be compressed: train --model softmax-tree")
        copy = type(self)(**self.get_params(deep=False))
        copy.__dict__ |= {name: value for name, value in self.__dict__.items() if name.endswith("_")}
        terms = self.vectorizer_
        if (
            max_features is not None
            and terms is not None
            and terms.has_names
            and terms.n_features_ == model.n_features_in_
        ):
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

        self.check_fitted()
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
        if inner is None or inner.kind == cls.kind or takes(inner.kind) is None or "labels" not in state.names:
            raise ModelError("the model lacks its labels or its inner model: save it again")
        model: Any = from_state(inner)
        words = state.parts.get("vectorizer")
        vectorizer = None if words is None else _vectorizer_from(words, model)
        # Parameters are those of copies that are not fitted, as after `fit`: changing them changes no answers.
        classifier = cls(model=unfitted(model), vectorizer=None if vectorizer is None else unfitted(vectorizer))
        classifier.model_, classifier.vectorizer_ = model, vectorizer
        classifier.learned_with_ = classifier.settled()
        classifier.labels_ = LabelIndex(state.names["labels"])
        classifier.n_labels_, classifier.labels_per_row_ = len(classifier.labels_), model.labels_per_row_
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
        self.check_fitted()
        from_texts = self.vectorizer_ is not None or self.model_.takes == "texts"
        return {**self.model_.describe(), "from_texts": from_texts, "training_rows": self.n_rows_}


def _vectorizer_from(state: State, model: Any) -> Vectorizer:
    if state.kind not in _VECTORIZERS:
        raise ModelError(f"this Labelwood has no vectorizer of the kind {state.kind!r}: install a newer one")
    found: Vectorizer = _VECTORIZERS[state.kind].from_state(state)
    if model.takes == "texts" or found.n_features_ > model.n_features_in_:  # fewer, where numbers stand beside texts
        raise ModelError("the model's vectorizer makes other features than the model has: save it again")
    return found
