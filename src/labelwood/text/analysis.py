"""How a vectorizer's parameters say that texts are taken apart and their terms weighed, as native code reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwood.text.native import Analysis, Terms, Weighing


def analysis_of(params: dict[str, Any]) -> Analysis:
    """The analysis that a `TextVectorizer` with these parameters makes.

    Example:
        >>> from labelwood import TextVectorizer
        >>> analysis_of(TextVectorizer(analyzer="char", ngrams=(2, 3)).get_params())[:3]
        ('char', 2, 3)
    """
    shortest, longest = params["ngrams"]
    # Where accents are stripped, the texts have been lowered before, as the order of the two matters.
    lowercase = params["lowercase"] and not params["strip_accents"]
    stop_words = _stop_terms(params["stop_words"]) if params["stop_words"] else None
    unit = params["analyzer"]
    return Analysis(unit, int(shortest), int(longest), int(params["min_token"]), bool(lowercase), stop_words)


def without_vain_ngrams(analysis: Analysis, terms: Terms | None) -> Analysis:
    """The same without n-grams that are longer than every term: a file can ask for them, and long texts have many.

    Example:
        >>> one_term = Terms(np.frombuffer(b"oak", np.uint8), np.array([0, 3]))
        >>> without_vain_ngrams(Analysis("char", 1, 9, 1, True, None), one_term).max_n
        3
    """
    if terms is None:
        return analysis
    n_bytes = int(np.diff(terms.offsets).max(initial=0))
    # Words have a byte at least, and a space between.
    most = (n_bytes + 1) // 2 if analysis.unit == "word" else n_bytes
    return analysis._replace(max_n=max(analysis.min_n, min(analysis.max_n, most)))


def weighing_of(params: dict[str, Any], idf: NDArray[np.float64] | None) -> Weighing:
    """How a `TextVectorizer` with these parameters weighs counts; `idf` by column, if it uses that.

    Example:
        >>> from labelwood import TextVectorizer
        >>> weighing_of(TextVectorizer(norm=None).get_params(), None).norm
        'none'
    """
    return Weighing(bool(params["binary"]), bool(params["sublinear_tf"]), params["norm"] or "none", idf)


def _stop_terms(words: list[str]) -> Terms:
    encoded = [word.encode() for word in sorted(set(words))]
    data = np.frombuffer(b"".join(encoded), np.uint8)
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return Terms(data, offsets)
