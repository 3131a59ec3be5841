"""Rows and labels of datasets as models learn from them and answer for them."""

from __future__ import annotations

from typing import Any, TypeAlias

from scipy import sparse

from labelwood.data.dataset import Dataset
from labelwood.errors import LabelwoodError
from labelwood.text import JoinedVectorizer, TextVectorizer

Vectorizer: TypeAlias = TextVectorizer | JoinedVectorizer


def features_to_learn_from(data: Dataset, vectorizer: Vectorizer) -> tuple[Vectorizer | None, Any]:
    """Features of rows to learn from, and the vectorizer, fitted to their texts; None where they have no texts.

    Example:
        >>> vectorizer, X = features_to_learn_from(Dataset.from_texts(["a dog", "one cat"]), TextVectorizer())
        >>> X.shape[0], len(features_as_learned(Dataset.from_texts(["dog"]), vectorizer, X.shape[1]).data)
        (2, 1)
    """
    if data.texts is None:
        return None, _joined(None, data)
    return vectorizer, _joined(vectorizer.fit_transform(data.texts), data)


def feature_names(vectorizer: Vectorizer | None, X: Any) -> list[str]:
    """What the features of learned rows are called: terms by themselves, numeric features by nothing.

    Example:
        >>> vectorizer, X = features_to_learn_from(Dataset.from_texts(["a dog", "one cat"]), TextVectorizer())
        >>> feature_names(vectorizer, X)
        ['cat', 'dog', 'one']
    """
    terms = [] if vectorizer is None else list(vectorizer.get_feature_names_out())
    return terms + [""] * (X.shape[1] - len(terms))


def features_as_learned(data: Dataset, vectorizer: Vectorizer | None, n_features: int) -> Any:
    """Features of other rows, made as those that were learned from.

    Example:
        >>> features_as_learned(Dataset(sparse=[[1.0]]), None, 3).toarray()
        array([[1., 0., 0.]], dtype=float32)
    """
    words = None
    if vectorizer is not None:
        if data.texts is None:
            raise LabelwoodError("the model was trained on texts and these rows have none: name the text column")
        words = vectorizer.transform(data.texts)
    return _widened(_joined(words, data), n_features)


def _joined(words: Any, data: Dataset) -> Any:
    """Features of texts and numeric features side by side; dense rows stay dense where they are all there is."""
    if words is None and data.sparse is None:
        if data.dense is None:
            raise LabelwoodError("these rows have no features: the model was trained on numbers, not on texts")
        return data.dense
    dense = None if data.dense is None else sparse.csr_array(data.dense)
    blocks = [block for block in (words, data.sparse, dense) if block is not None]
    return blocks[0] if len(blocks) == 1 else sparse.hstack(blocks, format="csr")


def _widened(X: Any, n_features: int) -> Any:
    """Rows of a format without a header may be narrower than the model: the missing features are zero."""
    if not sparse.issparse(X) or X.shape[1] >= n_features:
        return X
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
