"""Lists of plain strings take a shorter way to their features than other texts: with the same result."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelwood._native import Rows
from labelwood.arrays.rows import as_features
from labelwood.errors import LabelwoodError, NotFittedError
from labelwood.text import TextVectorizer

LEARNED = ["the oak and the elm", "ΟΔΟΣ Σ οδος oak", "漢字 pine İstanbul", "", "elm elm é e\u0301 x_1 don't", "a b"]
TRICKY = st.sampled_from("ΣσςİıIi'.\u0301\u0307 \t\n\x1c\x85_aA1²éßẞ漢\U0001d7d8\0")
TEXT = st.lists(st.sampled_from([*LEARNED, "oak", "ELM", " "]) | st.text(TRICKY, max_size=80), max_size=5).map("".join)
SETTINGS = [
    {"min_token": 1},
    {"ngrams": (1, 2), "stop_words": ["the"]},
    {"lowercase": False},
    {"strip_accents": True},
    {"analyzer": "char_wb", "ngrams": (2, 4)},
    {"n_buckets": 16, "norm": None, "sublinear_tf": False},
]


def assert_same(X, expected):
    assert type(X) is sparse.csr_array
    assert X.shape == expected.shape
    for name in ("indptr", "indices", "data"):
        got, wanted = getattr(X, name), getattr(expected, name)
        assert got.dtype == wanted.dtype
        assert got.tobytes() == wanted.tobytes()
    assert X.has_canonical_format
    assert X.has_sorted_indices


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(TEXT, max_size=4), params=st.sampled_from(SETTINGS))
def test_a_list_gives_the_rows_that_arrow_gives(texts, params):
    vectorizer = TextVectorizer(**params).fit(LEARNED)
    expected = vectorizer.transform(pa.array(texts, pa.string()))
    assert_same(vectorizer.transform(texts), expected)
    rows = vectorizer.native_rows(texts, vectorizer.n_features_ + 3)
    if params.get("strip_accents"):
        assert rows is None
        return
    sparse_rows = as_features(rows)
    assert sparse_rows.n_cols == vectorizer.n_features_ + 3
    assert sparse_rows.indptr.tolist() == expected.indptr.tolist()
    assert sparse_rows.indices.tobytes() == expected.indices.tobytes()
    assert sparse_rows.values.tobytes() == expected.data.tobytes()


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(TEXT, min_size=1, max_size=70))
def test_texts_alone_give_the_rows_they_have_among_others(texts):
    vectorizer = TextVectorizer(min_token=1, ngrams=(1, 2)).fit(LEARNED)
    together = vectorizer.transform(texts)
    for i, text in enumerate(texts):
        assert_same(vectorizer.transform([text]), together[i : i + 1])


def test_a_long_text_gives_the_row_that_arrow_gives():
    text = " ".join(f"w{i * i % 7001}" for i in range(100_000))
    vectorizer = TextVectorizer().fit([text, "w1 other"])
    assert_same(vectorizer.transform([text]), vectorizer.transform(pa.array([text])))
    assert_same(vectorizer.transform(["w1"]), vectorizer.transform(pa.array(["w1"])))


def test_a_single_row_is_as_good_as_any_of_scipys():
    vectorizer = TextVectorizer().fit(LEARNED)
    row = vectorizer.transform(["oak elm"])
    expected = sparse.csr_array((row.data, row.indices, row.indptr), shape=row.shape)
    assert (row != expected).nnz == 0
    assert row.data.flags.writeable
    for made in (row.copy(), row.tocsc().tocsr(), pickle.loads(pickle.dumps(row)), copy.deepcopy(row), row[:, ::1]):
        assert (made != expected).nnz == 0
    assert (sparse.vstack([row, row]).toarray() == np.vstack([row.toarray()] * 2)).all()
    row.data[:] = 0
    row.eliminate_zeros()
    assert vectorizer.transform(["oak elm"]).nnz == 2
    assert vectorizer.transform([""]).nnz == 0


@pytest.mark.parametrize(
    "texts",
    [("oak",), ["oak", b"elm"], ["\ud800"], "oak", None, [None], [np.str_("oak")], ["oak"] * 65, np.array(["oak"])],
    ids=repr,
)
def test_only_a_few_plain_strings_become_native_rows(texts):
    vectorizer = TextVectorizer().fit(["oak elm"])
    assert vectorizer.native_rows(texts, 2) is None
    assert isinstance(vectorizer.native_rows(["oak"] * 64, 2), Rows)


def test_rows_are_not_made_for_a_model_with_fewer_features_or_from_weights_that_are_not_finite():
    vectorizer = TextVectorizer().fit(["oak elm"])
    assert vectorizer.native_rows(["oak"], 1) is None
    vectorizer.idf_ = np.array([np.inf, 1.0])
    assert vectorizer.native_rows(["elm"], 2) is None
    with pytest.raises(NotFittedError):
        TextVectorizer().native_rows(["oak"], 1)


def test_a_subclass_with_a_transform_of_its_own_makes_no_rows_without_it():
    class Reversed(TextVectorizer):
        def transform(self, texts):
            return super().transform([text[::-1] for text in texts])

    vectorizer = Reversed().fit(["oak elm"])
    assert vectorizer.native_rows(["oak"], 2) is None
    assert vectorizer.transform(["kao"]).nnz == 1


def test_weights_that_are_replaced_or_changed_count_at_once():
    vectorizer = TextVectorizer(norm=None).fit(["oak elm"])
    assert vectorizer.transform(["oak"]).data.tolist() == [1.0]
    vectorizer.idf_ = np.array([2.0, 3.0])
    assert vectorizer.transform(["oak"]).data.tolist() == [3.0]
    vectorizer.idf_[1] = 4.0
    assert vectorizer.transform(["oak"]).data.tolist() == [4.0]
    vectorizer.idf_ = np.array([1.0])
    with pytest.raises(LabelwoodError, match="idf has a different size"):
        vectorizer.transform(["oak"])
    assert vectorizer.fit(["pine"]).transform(["pine oak"]).data.tolist() == [1.0]


def test_it_can_be_pickled_and_copied_after_use():
    vectorizer = TextVectorizer().fit(LEARNED)
    expected = vectorizer.transform(LEARNED)
    for made in (pickle.loads(pickle.dumps(vectorizer)), copy.deepcopy(vectorizer)):
        assert (made.transform(LEARNED) != expected).nnz == 0


def test_several_threads_may_ask_at_once():
    texts = [f"{text} {other}" for text in LEARNED for other in LEARNED] * 4
    vectorizer = TextVectorizer(min_token=1).fit(LEARNED)
    expected = vectorizer.transform(texts)
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda text: vectorizer.transform([text]), texts))
    assert (sparse.vstack(rows) != expected).nnz == 0
