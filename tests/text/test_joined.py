"""Vectorizers side by side."""

from __future__ import annotations

import numpy as np
import pytest

import labelwood as lw
from labelwood.cli.train import build
from labelwood.errors import LabelwoodError, ModelError, ParameterError

TEXTS = ["the old oak", "a young elm", "old elm", "", "ein alter Baum"]


def joined():
    words = lw.TextVectorizer(ngrams=(1, 2))
    return lw.JoinedVectorizer(parts=[words, lw.TextVectorizer(analyzer="char_wb", ngrams=(3, 4), n_buckets=50)])


def test_features_are_those_of_the_parts_one_after_the_other():
    X = joined().fit_transform(TEXTS)
    alone = [part.fit_transform(TEXTS).toarray() for part in joined().parts]
    assert np.array_equal(X.toarray(), np.hstack(alone))
    assert np.array_equal(joined().fit(TEXTS).transform(TEXTS).toarray(), X.toarray())


def test_buckets_have_no_names():
    names = joined().fit(TEXTS).get_feature_names_out()
    assert names[:2].tolist() == ["alter", "alter baum"]
    assert set(names[-50:]) == {""}


def test_a_classifier_with_words_and_characters_is_saved_whole(tmp_path):
    labels = [["tree"], ["tree"], ["tree", "old"], ["none"], ["old"]]
    tagger = lw.TextClassifier(model="softmax-tree", vectorizer=joined()).fit(TEXTS, labels)
    tagger.save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model")
    assert loaded.suggest(TEXTS, k=2) == tagger.suggest(TEXTS, k=2)
    assert loaded.suggest(TEXTS[:1], k=2) == tagger.suggest(TEXTS, k=2)[:1]


def test_a_list_of_tables_is_several_vectorizers():
    classifier = build("softmax-tree", None, {"vectorizer": [{"ngrams": [1, 2]}, {"analyzer": "char_wb"}]}, None)
    assert [part.analyzer for part in classifier.vectorizer.parts] == ["word", "char_wb"]
    with pytest.raises(ParameterError, match="table"):
        build(None, None, {"vectorizer": ["char"]}, None)


def test_what_cannot_be_joined_is_refused():
    with pytest.raises(ParameterError, match="parts is empty"):
        lw.JoinedVectorizer(parts=[]).fit(TEXTS)
    with pytest.raises(LabelwoodError, match="fit"):
        joined().transform(TEXTS)
    state = joined().fit(TEXTS).state()
    state.parts.pop("1")
    with pytest.raises(ModelError, match="lacks parts"):
        lw.JoinedVectorizer.from_state(state)
