"""What a saved vectorizer has learned, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labelwood import _native
from labelwood.errors import LabelwoodError, ModelError
from labelwood.text.native import Terms

if TYPE_CHECKING:
    from labelwood.store import State


def restored_idf(state: State, n_features: int) -> NDArray[np.float64]:
    """Weights of terms, one a feature.

    Example:
        >>> from labelwood.store import State
        >>> restored_idf(State("text", {}, {}, arrays={"idf": np.ones(2)}), n_features=2)
        array([1., 1.])
    """
    idf = state.array("idf", np.float64, 1)
    if len(idf) != n_features:
        raise ModelError(f"the model has {len(idf)} idf weights for {n_features} features: save the model again")
    if state.verify and not (np.isfinite(idf) & (idf >= 0)).all():
        raise ModelError("the model's idf weights are not all finite and positive: save the model again")
    return idf


def restored_terms(state: State, n_features: int) -> Terms:
    """The terms themselves, one a feature.

    Example:
        >>> from labelwood.store import State
        >>> terms = {"term_bytes": np.frombuffer(b"oak", np.uint8), "term_offsets": np.array([0, 3])}
        >>> restored_terms(State("text", {}, {}, arrays=terms), n_features=1).offsets
        array([0, 3])
    """
    terms = Terms(state.array("term_bytes", np.uint8, 1), state.array("term_offsets", np.int64, 1))
    n_terms = len(terms.offsets) - 1
    if n_terms != n_features:
        raise ModelError(f"the model has {n_terms} terms for {n_features} features: save the model again")
    if state.verify:
        _verify_terms(terms)
    return terms


def _verify_terms(terms: Terms) -> None:
    import pyarrow as pa

    try:
        _native.check_vocabulary(terms)
        data, offsets = terms
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        pa.LargeStringArray.from_buffers(len(offsets) - 1, buffers[1], buffers[2]).validate(full=True)
    except LabelwoodError as e:
        raise ModelError(str(e)) from None
    except pa.ArrowInvalid:
        raise ModelError("the model's vocabulary is not valid UTF-8: save the model again") from None
