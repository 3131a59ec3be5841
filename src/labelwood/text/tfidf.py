"""Texts to tf-idf, native and parallel, equal to scikit-learn's `TfidfVectorizer` on any script."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from annotated_types import Ge, Le, Len
from numpy.typing import NDArray

from labelwood import _native
from labelwood.arrays.threads import FEW, thread_count
from labelwood.contract.checks import check_params
from labelwood.contract.params import Params, Threads
from labelwood.errors import LabelwoodError, ModelError, ParameterError, not_fitted
from labelwood.text.analysis import analysis_of, weighing_of, without_vain_ngrams
from labelwood.text.documents import ArrowTexts, Documents, as_documents, count_of, with_lower_sigma, without_accents
from labelwood.text.native import Analysis, NativeVectorizer, Terms, to_scipy
from labelwood.text.pruning import idf_of, kept_terms
from labelwood.text.restoring import restored_idf, restored_terms

if TYPE_CHECKING:
    from labelwood.store import State

_INT32_MAX = 2**31 - 1

Analyzer: TypeAlias = Literal["word", "char", "char_wb"]
Length: TypeAlias = Annotated[int, Ge(1), Le(_INT32_MAX)]
Ngrams: TypeAlias = tuple[Length, Length] | Annotated[list[Length], Len(2, 2)]
Share: TypeAlias = Annotated[int, Ge(1)] | Annotated[float, Ge(0), Le(1)]
Counts: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]  # indptr, indices, counts


@dataclass(frozen=True)
class _Learned:
    """What `fit` leaves behind: later changes of parameters do not touch it."""

    params: dict[str, Any]
    analysis: Analysis
    terms: Terms | None  # None with buckets


class _Cached(NamedTuple):
    """The native vectorizer and what it was made of."""

    native: NativeVectorizer
    learned: _Learned
    idf: NDArray[np.float64] | None


class TextVectorizer(Params):
    """Turns texts into rows of tf-idf weights: one column a term, or a bucket of hashed terms.

    The result equals that of scikit-learn's `TfidfVectorizer` with the same settings, for every script, at a
    fraction of the time. With `n_buckets` it equals `HashingVectorizer` followed by `TfidfTransformer`.

    Args:
        analyzer: what a term is: a `"word"`, a `"char"`acter, or characters within words, padded by a space
            (`"char_wb"`).
        ngrams: the shortest and the longest run of words or characters that is a term.
        min_token: the fewest characters of a word, 1 or 2.
        lowercase: whether to write everything in lower case first.
        strip_accents: whether to remove accents and other combining marks.
        stop_words: words to leave out, in the form in which they are met after lowering.
        min_df: leave out terms that fewer texts contain; a whole number of texts, or a share between 0 and 1.
        max_df: leave out terms that more texts contain; a whole number of texts, or a share between 0 and 1.
        max_features: keep only so many terms, those that occur most often.
        n_buckets: hash terms into so many columns instead of keeping a vocabulary; the terms are forgotten.
        binary: whether to count a term once a text.
        sublinear_tf: whether a count c becomes 1 + log c.
        use_idf: whether terms that few texts contain weigh more.
        smooth_idf: whether to count one more text that contains every term. Without it, a bucket that was
            empty in training has no weight and is left out.
        norm: whether weights of a row are divided by their sum (`"l1"`), by their length (`"l2"`) or not.
        n_threads: how many threads to use; `None` is one a core. The result is the same.

    Fitted attributes: `n_features_`, and `idf_`, the weight of each column (`None` without `use_idf`).

    Example:
        >>> vectorizer = TextVectorizer()
        >>> X = vectorizer.fit_transform(["the oak and the elm", "the pine"])
        >>> vectorizer.get_feature_names_out()
        array(['and', 'elm', 'oak', 'pine', 'the'], dtype=object)
        >>> vectorizer.transform(["oak, elm, yew"]).toarray().round(2)
        array([[0.  , 0.71, 0.71, 0.  , 0.  ]], dtype=float32)
    """

    kind: ClassVar[str] = "text-vectorizer"
    # Parameters that describe the machine rather than the vectorizer; they are not saved.
    machine_params: ClassVar[frozenset[str]] = frozenset({"n_threads"})

    n_features_: int
    idf_: NDArray[np.float64] | None
    _learned: _Learned

    def __init__(
        self,
        *,
        analyzer: Analyzer = "word",
        ngrams: Ngrams = (1, 1),
        min_token: Literal[1, 2] = 2,
        lowercase: bool = True,
        strip_accents: bool = False,
        stop_words: list[str] | None = None,
        min_df: Share = 1,
        max_df: Share = 1.0,
        max_features: Annotated[int, Ge(1)] | None = None,
        n_buckets: Annotated[int, Ge(1), Le(_INT32_MAX)] | None = None,
        binary: bool = False,
        sublinear_tf: bool = True,
        use_idf: bool = True,
        smooth_idf: bool = True,
        norm: Literal["l1", "l2"] | None = "l2",
        n_threads: Threads = None,
    ) -> None:
        self.analyzer = analyzer
        self.ngrams = ngrams
        self.min_token = min_token
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.n_buckets = n_buckets
        self.binary = binary
        self.sublinear_tf = sublinear_tf
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.norm = norm
        self.n_threads = n_threads

    def fit(self, texts: Any, Y: Any = None) -> Self:
        """Learns the vocabulary and the weights of terms from texts. `Y` is not used."""
        self._fit(texts, with_matrix=False)
        return self

    def fit_transform(self, texts: Any, Y: Any = None) -> Any:
        """The same as `fit` and then `transform`, reading the texts once."""
        return self._fit(texts, with_matrix=True)

    def transform(self, texts: Any) -> Any:
        """The tf-idf weights of texts, a float32 `csr_array` with sorted columns."""
        native, learned, _ = self._ready()
        few = type(texts) is list and len(texts) <= FEW
        threads = 1 if few else thread_count(self.n_threads)
        if not learned.params["strip_accents"] and (X := native.transform_plain(texts, threads)) is not None:
            return X
        return native.transform(_prepared(as_documents(texts), learned.params), threads)

    @property
    def has_names(self) -> bool:
        """Whether each feature has a name, so that `restricted_to` can keep some."""
        return self.n_buckets is None

    def use_threads(self, n_threads: int | None) -> None:
        """Answers with so many threads from now on."""
        self.n_threads = n_threads

    def native_rows(self, texts: Any, n_features: int) -> Any:
        """A few texts as `_native.Rows`, which models take as well, widened to so many features.

        None for anything but a list of at most 64 plain strings: `transform` knows what to do with it.

        Example:
            >>> vectorizer = TextVectorizer().fit(["the oak"])
            >>> vectorizer.native_rows(["an oak"], 2) is None, vectorizer.native_rows([b"an oak"], 2) is None
            (False, True)
        """
        native, learned, _ = self._ready()
        if type(texts) is not list or len(texts) > FEW or learned.params["strip_accents"]:
            return None
        if type(self).transform is not TextVectorizer.transform:  # a subclass may do more there
            return None
        return native.rows(texts, n_features)

    def _ready(self) -> _Cached:
        learned = self._check_fitted()
        cached = self.__dict__.get("_cached")
        if cached is None or cached.learned is not learned or cached.idf is not self.idf_:
            weighing = weighing_of(learned.params, self.idf_)
            analysis = without_vain_ngrams(learned.analysis, learned.terms)
            native = NativeVectorizer(analysis, learned.terms, weighing, self.n_features_)
            cached = self._cached = _Cached(native, learned, self.idf_)
        return cached

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_cached"}

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The terms in the order of their columns."""
        learned = self._check_fitted()
        if learned.terms is None:
            raise LabelwoodError("hashed terms are not kept: fit without n_buckets to have names of features")
        data, offsets = learned.terms
        names = np.empty(self.n_features_, object)
        names[:] = ArrowTexts(offsets, data).tolist()
        return names

    def restricted_to(self, features: Any) -> TextVectorizer:
        """A copy that knows some of the terms only: those with the given numbers, which must ascend.

        Where weights are divided by their sum or length, the terms that remain share it.

        Example:
            >>> vectorizer = TextVectorizer().fit(["the oak and the elm"])
            >>> vectorizer.restricted_to([1, 2]).get_feature_names_out()
            array(['elm', 'oak'], dtype=object)
        """
        learned = self._check_fitted()
        if learned.terms is None:
            raise LabelwoodError("hashed terms are not kept, so none can be left out: fit without n_buckets")
        kept = np.ascontiguousarray(features, np.int64)
        if len(kept) and (kept[0] < 0 or kept[-1] >= self.n_features_ or (np.diff(kept) <= 0).any()):
            raise ParameterError(f"features must be numbers from 0 to {self.n_features_ - 1} that ascend")
        terms = Terms(*_native.pick_terms(learned.terms, kept))
        copy = type(self)(**self.get_params())
        copy.n_features_ = len(kept)
        copy.idf_ = None if self.idf_ is None else self.idf_[kept]
        copy._learned = _Learned(learned.params, learned.analysis, terms)
        return copy

    def state(self) -> State:
        """Everything the store needs to write this vectorizer."""
        from labelwood.store import State

        learned = self._check_fitted()
        arrays: dict[str, NDArray[Any]] = {} if self.idf_ is None else {"idf": self.idf_}
        if learned.terms is not None:
            arrays |= dict(zip(("term_bytes", "term_offsets"), learned.terms, strict=True))
        params = {k: _as_json(v) for k, v in learned.params.items() if k not in self.machine_params}
        return State(kind=self.kind, params=params, fitted={"n_features": self.n_features_}, arrays=arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The vectorizer that `state` describes; raises `ModelError` where its fields cannot be right."""
        check_params(cls, state.params)
        params = dict(state.params)
        if "ngrams" in params:
            params["ngrams"] = tuple(params["ngrams"])
        vectorizer = cls(**params)
        _check_together(vectorizer.get_params())
        vectorizer.n_features_ = state.count("n_features")
        vectorizer.idf_ = restored_idf(state, vectorizer.n_features_) if vectorizer.use_idf else None
        terms = None if vectorizer.n_buckets else restored_terms(state, vectorizer.n_features_)
        if vectorizer.n_buckets not in (None, vectorizer.n_features_):
            raise ModelError("the model's n_buckets and n_features differ: save the model again")
        vectorizer._learned = _Learned(vectorizer.get_params(), analysis_of(vectorizer.get_params()), terms)
        return vectorizer

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=[]),
            input_tags=InputTags(string=True, two_d_array=False),
        )

    def _check_fitted(self) -> _Learned:
        if not hasattr(self, "_learned"):
            raise not_fitted(self)
        return self._learned

    def _fit(self, texts: Any, *, with_matrix: bool) -> Any:
        params = self.get_params()
        check_params(type(self), params)
        _check_together(params)
        documents = _prepared(as_documents(texts), params)
        if count_of(documents) == 0:
            raise LabelwoodError("there are no texts to learn from: give at least one")
        if params["n_buckets"] is None:
            return self._fit_terms(documents, params, with_matrix)
        return self._fit_buckets(documents, params, with_matrix)

    def _fit_terms(self, documents: Documents, params: dict[str, Any], with_matrix: bool) -> Any:
        analysis = analysis_of(params)
        threads = thread_count(self.n_threads)
        found, n_texts, occurrences, counts = _native.count_terms(documents, analysis, with_matrix, threads)
        terms = Terms(*found)
        if len(n_texts) == 0:
            raise LabelwoodError(
                "empty vocabulary: the texts hold no terms, perhaps only stop words; "
                "check stop_words, min_token and ngrams"
            )
        kept = kept_terms(params, n_texts, occurrences, count_of(documents))
        columns = np.full(len(n_texts), -1, np.int32)
        columns[kept] = np.arange(len(kept), dtype=np.int32)
        if len(kept) < len(n_texts):
            terms = Terms(*_native.pick_terms(terms, kept))
        self.n_features_ = len(kept)
        self.idf_ = idf_of(params, n_texts[kept], count_of(documents)) if params["use_idf"] else None
        self._learned = _Learned(params, analysis, terms)
        return self._weigh(counts, columns) if with_matrix else None

    def _fit_buckets(self, documents: Documents, params: dict[str, Any], with_matrix: bool) -> Any:
        analysis = analysis_of(params)
        n_buckets = int(params["n_buckets"])
        counts = _native.count_buckets(documents, analysis, n_buckets, thread_count(self.n_threads))
        self.n_features_ = n_buckets
        self.idf_ = None
        if params["use_idf"]:
            self.idf_ = idf_of(params, np.bincount(counts[1], minlength=n_buckets), count_of(documents))
        self._learned = _Learned(params, analysis, None)
        return self._weigh(counts, np.zeros(0, np.int32)) if with_matrix else None

    def _weigh(self, counts: Counts, columns: NDArray[np.int32]) -> Any:
        weighing, threads = weighing_of(self._learned.params, self.idf_), thread_count(self.n_threads)
        csr = _native.weigh_counts(
            *counts, columns=columns, n_cols=self.n_features_, weighing=weighing, n_threads=threads
        )
        return to_scipy(csr, self.n_features_)


def _check_together(params: dict[str, Any]) -> None:
    """What no single annotation can say."""
    shortest, longest = params["ngrams"]
    if shortest > longest:
        raise ParameterError(f"ngrams is ({shortest}, {longest}): give the shorter length first")
    for name in ("min_df", "max_df"):
        if isinstance(params[name], Integral) and params[name] < 1:
            raise ParameterError(f"{name} is {params[name]}: give at least 1 text, or a share such as 0.0")
    if params["n_buckets"] is not None:
        defaults = {"min_df": 1, "max_df": 1.0, "max_features": None}
        for name, default in defaults.items():
            if params[name] != default:
                raise ParameterError(f"{name} needs a vocabulary, which n_buckets replaces: leave out one of them")
    if params["stop_words"] and params["analyzer"] != "word":
        raise ParameterError("stop_words needs analyzer='word': leave out stop_words, or count words")


def _prepared(documents: Documents, params: dict[str, Any]) -> Documents:
    if params["strip_accents"]:
        return without_accents(documents, lowercase=params["lowercase"])
    return with_lower_sigma(documents) if params["lowercase"] else documents


def _as_json(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return [_as_json(item) for item in value] if isinstance(value, tuple | list) else value
