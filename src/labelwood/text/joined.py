"""Several vectorizers side by side: words and characters, say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelwood.contract.params import Params, Threads
from labelwood.errors import ModelError, ParameterError, not_fitted
from labelwood.text.tfidf import TextVectorizer

if TYPE_CHECKING:
    from labelwood.store import State


class JoinedVectorizer(Params):
    """The features of several `TextVectorizer`s, one after the other.

    Parameters:
        parts: The vectorizers, not fitted yet.
        n_threads: How many threads each uses; what they say themselves if not given.

    Example:
        >>> words = TextVectorizer(ngrams=(1, 2))
        >>> characters = TextVectorizer(analyzer="char_wb", ngrams=(3, 5), n_buckets=1000)
        >>> X = JoinedVectorizer(parts=[words, characters]).fit_transform(["the old oak", "a young elm"])
        >>> X.shape
        (2, 1008)
    """

    kind: ClassVar[str] = "joined-vectorizer"

    n_features_: int
    parts_: list[TextVectorizer]

    def __init__(self, *, parts: list[TextVectorizer], n_threads: Threads = None) -> None:
        self.parts = parts
        self.n_threads = n_threads

    def fit(self, texts: Any, Y: Any = None) -> Self:
        """Learns the vocabularies of all parts. `Y` is not used."""
        self._keep([part.fit(texts) for part in self._fresh_parts()])
        return self

    def fit_transform(self, texts: Any, Y: Any = None) -> Any:
        """The same as `fit` and then `transform`, reading the texts once a part."""
        parts = self._fresh_parts()
        blocks = [part.fit_transform(texts) for part in parts]
        self._keep(parts)
        return sparse.hstack(blocks, format="csr")

    def transform(self, texts: Any) -> Any:
        """The features of texts, a float32 `csr_array` with sorted columns."""
        self._check_fitted()
        return sparse.hstack([part.transform(texts) for part in self.parts_], format="csr")

    has_names: ClassVar[bool] = False  # whether each feature has a name that `restricted_to` could keep or drop

    def native_rows(self, texts: Any, n_features: int) -> Any:
        """A few texts on a short way to the model; there is none for several parts."""
        return None

    def use_threads(self, n_threads: int | None) -> None:
        """Answers with so many threads from now on, in all parts."""
        self.n_threads = n_threads
        for part in self.parts_:
            part.use_threads(n_threads)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The terms of all parts in the order of their columns; buckets of hashed terms have no name."""
        self._check_fitted()
        return np.concatenate(
            [
                part.get_feature_names_out() if part.n_buckets is None else np.full(part.n_features_, "", object)
                for part in self.parts_
            ]
        )

    def state(self) -> State:
        """Everything the store needs to write this vectorizer."""
        from labelwood.store import State

        self._check_fitted()
        parts = {str(number): part.state() for number, part in enumerate(self.parts_)}
        return State(kind=self.kind, params={}, fitted={"n_parts": len(parts)}, arrays={}, parts=parts)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The vectorizer that `state` describes; raises `ModelError` where its fields cannot be right."""
        names = [str(number) for number in range(len(state.parts))]
        if state.count("n_parts") != len(names) or state.parts.keys() != set(names):
            raise ModelError("the model lacks parts of its vectorizer: save the model again")
        parts = [TextVectorizer.from_state(state.parts[name]) for name in names]
        joined = cls(parts=parts)
        joined._keep(parts)
        return joined

    def _fresh_parts(self) -> list[TextVectorizer]:
        if not self.parts:
            raise ParameterError("parts is empty: give at least one TextVectorizer")
        copies = [type(part)(**part.get_params(deep=False)) for part in self.parts]
        return [copy if self.n_threads is None else copy.set_params(n_threads=self.n_threads) for copy in copies]

    def _keep(self, parts: list[TextVectorizer]) -> None:
        self.parts_ = parts
        self.n_features_ = sum(part.n_features_ for part in parts)

    def _check_fitted(self) -> None:
        if not hasattr(self, "parts_"):
            raise not_fitted(self)
