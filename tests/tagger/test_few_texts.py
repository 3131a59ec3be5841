"""A few plain strings take a shorter way to their labels than other texts: with the same answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import labelwood as lw
from labelwood.errors import LabelwoodError, ParameterError

WORDS = ["oak", "elm", "rose", "dog", "cat", "ΟΔΟΣ", "İstanbul", "漢字", "naïve", "a", "barks", "the"]
TEXTS = [" ".join(WORDS[(i * j + j) % len(WORDS)] for j in range(1 + i % 5)) for i in range(60)]
LABELS = [[f"label {i % 7}", f"label {i % 3}"] for i in range(60)]
ASKED = st.lists(st.sampled_from([*WORDS, "Σ", "unknown", "\0", "'"]), max_size=8).map(" ".join)
MODELS = {
    "tree": lambda: lw.TreeClassifier(tree="balanced", arity=2, max_leaf=2),
    "several trees": lambda: lw.TreeClassifier(n_trees=3, max_leaf=2, link="sigmoid", normalize=False),
    "centroid": lw.CentroidClassifier,
    "one-vs-rest": lw.OneVsRest,
}


@pytest.fixture(scope="module", params=MODELS)
def tagger(request):
    vectorizer = lw.TextVectorizer(min_token=1)
    return lw.TextClassifier(model=MODELS[request.param](), vectorizer=vectorizer).fit(TEXTS, LABELS)


def assert_same(top, expected):
    assert top.ids.dtype == expected.ids.dtype
    assert top.scores.dtype == expected.scores.dtype
    assert top.ids.shape == expected.ids.shape
    assert top.ids.tobytes() == expected.ids.tobytes()
    assert top.scores.tobytes() == expected.scores.tobytes()


LIMITS = [{}, {"include": ["label 1", "label 5"]}, {"exclude": ["label 0"]}, {"min_score": 0.2}]


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(ASKED, max_size=5), k=st.sampled_from([1, 3, 7, 9]), limits=st.sampled_from(LIMITS))
def test_a_few_texts_get_the_answers_of_a_dataset(tagger, texts, k, limits):
    data = lw.Dataset.from_texts(texts)
    assert_same(tagger.predict_topk(texts, k, **limits), tagger.predict_topk(data, k, **limits))
    assert tagger.suggest(texts, k, **limits) == tagger.suggest(data, k, **limits)
    assert (tagger.predict(texts, k) != tagger.predict(data, k)).nnz == 0


def test_one_text_gets_the_answers_it_has_among_others(tagger):
    together = tagger.predict_topk(TEXTS * 3, 4)
    for i, text in enumerate(TEXTS):
        top = tagger.predict_topk([text], 4)
        assert top.ids.tolist() == together.ids[i : i + 1].tolist()
        assert top.scores.tobytes() == together.scores[i].tobytes()


def test_suggestions_are_plain_names_and_numbers_without_padding(tagger):
    for row in tagger.suggest(["oak", ""], k=9):
        assert len(row) <= 7
        assert all(type(name) is str and type(score) is float for name, score in row)


@pytest.mark.parametrize("texts", [["\ud800"], [None], "oak", [1]], ids=repr)
def test_what_is_no_text_is_refused_as_ever(tagger, texts):
    with pytest.raises(LabelwoodError, match=r"must be strings|single string|texts.0. is None"):
        tagger.predict_topk(texts)


@pytest.mark.parametrize("texts", [("oak",), [b"oak"], np.array(["oak"]), [np.str_("oak")]], ids=repr)
def test_other_texts_are_taken_as_ever(tagger, texts):
    assert tagger.predict_topk(texts, 3).ids.tolist() == tagger.predict_topk(["oak"], 3).ids.tolist()


@pytest.mark.parametrize("k", [0, -1, True, 2.0, None])
def test_a_k_that_is_none_is_refused_as_ever(tagger, k):
    with pytest.raises(ParameterError, match="k must be a whole number"):
        tagger.predict_topk(["oak"], k)


def test_names_that_are_no_labels_are_refused_as_ever(tagger):
    with pytest.raises(ParameterError, match="no label named 'stone'"):
        tagger.predict_topk(["oak"], include=["stone"])


def test_calibrated_searches_end_as_early_for_a_few_texts():
    model = lw.TreeClassifier(tree="balanced", arity=2, max_leaf=1)
    tagger = lw.TextClassifier(model=model, vectorizer=lw.TextVectorizer(min_token=1)).fit(TEXTS, LABELS)
    tagger.model_.calibrate(tagger.vectorizer_.transform(TEXTS * 20), k=2, loss=0.3)
    assert tagger.model_.slacks_.of_tree[0] > 0
    for text in TEXTS:
        assert_same(tagger.predict_topk([text], 2), tagger.predict_topk(lw.Dataset.from_texts([text]), 2))


def test_texts_without_the_numbers_learned_beside_them_have_zeros_there():
    numbers = sparse.csr_array(np.eye(60, 4, dtype=np.float32))
    data = lw.Dataset.from_texts(TEXTS, LABELS)
    mixed = lw.Dataset(texts=data.texts, sparse=numbers, Y=data.Y, labels=data.labels)
    tagger = lw.TextClassifier().fit_dataset(mixed)
    expected = tagger.predict_topk(lw.Dataset.from_texts(TEXTS[:5]), 3)
    assert_same(tagger.predict_topk(TEXTS[:5], 3), expected)
    with_zeros = lw.Dataset(texts=data.texts.slice(0, 5), sparse=sparse.csr_array((5, 4), dtype=np.float32))
    assert_same(tagger.predict_topk(with_zeros, 3), expected)


def test_a_model_that_learned_from_numbers_alone_refuses_texts_as_ever():
    Y = sparse.csr_array(np.eye(2, dtype=np.float32))
    tagger = lw.TextClassifier().fit_dataset(lw.Dataset(sparse=Y, Y=Y, labels=["one", "two"]))
    with pytest.raises(LabelwoodError, match="no features"):
        tagger.predict_topk(["oak"])


def test_a_vectorizer_with_a_transform_of_its_own_is_asked():
    class Reversed(lw.TextVectorizer):
        def transform(self, texts):
            return super().transform([text[::-1] for text in np.asarray(texts).tolist()])

    tagger = lw.TextClassifier(vectorizer=Reversed()).fit(["oak", "elm"], [["tree"], ["other"]])
    assert tagger.suggest(["mle"], k=1)[0][0][0] == "other"


def test_saved_and_loaded_a_few_texts_get_the_same_answers(tmp_path, tagger):
    expected = tagger.predict_topk(TEXTS[:3], 5)
    tagger.save(tmp_path / "m")
    for verify in (True, False):
        assert_same(lw.load(tmp_path / "m", verify=verify).predict_topk(TEXTS[:3], 5), expected)


def test_a_tree_whose_second_learning_failed_answers_single_rows_as_before(monkeypatch):
    model = lw.TreeClassifier().fit(np.eye(3), np.eye(3))
    row = sparse.csr_array(np.eye(3, dtype=np.float32)[:1])
    expected = model.predict_topk(row, 1)
    monkeypatch.setattr(lw.TreeClassifier, "_fit", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(np.eye(3), np.eye(3))
    found = model.predict_topk(row, 1)
    assert (found.ids == expected.ids).all()
    assert (found.scores == expected.scores).all()
