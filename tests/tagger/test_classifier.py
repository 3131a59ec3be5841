"""TextClassifier: names in, names out, with numeric features beside or instead of texts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from labelwood.errors import LabelwoodError, NotFittedError, ParameterError

TEXTS = ["a dog barks", "the cat sleeps", "a red rose", "an old oak"]
LABELS = [["animal", "pet"], ["animal", "pet"], ["plant"], ["plant", "tree"]]


def names(suggestions):
    return [[name for name, _ in row] for row in suggestions]


def test_names_go_in_and_come_out():
    tagger = lw.TextClassifier(model="centroid").fit(TEXTS, LABELS)
    assert names(tagger.suggest(["my dog", "that oak"], k=1)) == [["animal"], ["tree"]]
    assert list(tagger.labels_) == ["animal", "pet", "plant", "tree"]


def test_a_matrix_of_labels_works_too():
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    for matrix in (Y, sparse.csr_array(Y)):
        assert lw.TextClassifier().fit(TEXTS, matrix).predict_topk(["rose"], k=1).ids.tolist() == [[1]]
    assert lw.TextClassifier().fit(TEXTS, Y).score(TEXTS, Y) == 1.0


def test_features_and_texts_are_joined():
    Y = sparse.csr_array(np.eye(2, dtype=np.float32))
    index = lw.LabelIndex(["one", "two"])
    both = lw.Dataset(texts=lw.Dataset.from_texts(["same", "same"]).texts, sparse=Y, Y=Y, labels=index)
    assert lw.TextClassifier().fit_dataset(both).predict_topk(both, k=1).ids.ravel().tolist() == [0, 1]
    dense = lw.Dataset(dense=np.eye(2, dtype=np.float32), Y=Y, labels=index)
    assert lw.TextClassifier().fit_dataset(dense).predict_topk(dense, k=1).ids.ravel().tolist() == [0, 1]
    mixed = lw.Dataset(texts=both.texts, dense=dense.dense, Y=Y, labels=index)
    assert lw.TextClassifier().fit_dataset(mixed).predict_topk(mixed, k=1).ids.ravel().tolist() == [0, 1]


def test_a_model_and_a_vectorizer_can_be_given_and_stay_unfitted():
    model, words = lw.CentroidClassifier(), lw.TextVectorizer(analyzer="char_wb", ngrams=(2, 3))
    tagger = lw.TextClassifier(model=model, vectorizer=words).fit(TEXTS, LABELS)
    assert not hasattr(model, "n_labels_")
    assert not hasattr(words, "n_features_")
    assert names(tagger.suggest(["doggy"], k=1)) == [["animal"]]


def test_saved_and_loaded_it_gives_the_same_answers(tmp_path):
    tagger = lw.TextClassifier(vectorizer=lw.TextVectorizer(ngrams=(1, 2))).fit(TEXTS, LABELS)
    tagger.save(tmp_path / "m")
    for verify in (True, False):
        loaded = lw.load(tmp_path / "m", verify=verify)
        assert loaded.suggest(TEXTS, k=3) == tagger.suggest(TEXTS, k=3)
        assert loaded.inverse_propensities().values.tolist() == tagger.inverse_propensities().values.tolist()


def test_evaluation_counts_unseen_labels_as_misses_and_knows_training_frequencies():
    tagger = lw.TextClassifier().fit(TEXTS, LABELS)
    test = lw.Dataset.from_texts(["dog"], [["robot", "animal"]])
    metrics = tagger.evaluate(test, ks=(1, 2))
    assert metrics["P@1"] == 100.0
    assert metrics["P@2"] == 50.0
    assert metrics["PSP@2"] < 100.0


def test_mistakes_get_a_sentence():
    with pytest.raises(NotFittedError, match="call fit first"):
        lw.TextClassifier().predict_topk(["x"])
    with pytest.raises(LabelwoodError, match="single string"):
        lw.TextClassifier().fit("a dog", [["animal"]])
    with pytest.raises(LabelwoodError, match="labels of row 0 are not a list"):
        lw.TextClassifier().fit(["a dog"], ["animal"])
    with pytest.raises(LabelwoodError, match="different numbers of rows"):
        lw.TextClassifier().fit(["a dog"], [["animal"], ["plant"]])
    with pytest.raises(LabelwoodError, match="no labels"):
        lw.TextClassifier().fit(["a dog"], [[]])
    with pytest.raises(LabelwoodError, match="strings"):
        lw.TextClassifier().fit([1.5], [["animal"]])
    with pytest.raises(ParameterError, match="no model 'forest'"):
        lw.TextClassifier(model="forest").fit(TEXTS, LABELS)
    with pytest.raises(LabelwoodError, match="texts and these rows have none"):
        lw.TextClassifier().fit(TEXTS, LABELS).predict_topk(lw.Dataset(dense=np.ones((1, 2), np.float32)))


def test_labels_of_the_wrong_kind_get_a_sentence():
    for labels, words in [
        (None, "list of names for each row"),
        ([[1, 0], [0, 1]], "matrix of zeros and ones"),
        ([["animal"], [None]], "row 1 has a label that is not a name"),
        ([["animal"], 3], "row 1 are not a list"),
    ]:
        with pytest.raises(LabelwoodError, match=words):
            lw.TextClassifier().fit(["a dog", "a rose"], labels)
    with pytest.raises(LabelwoodError, match="strings"):
        lw.TextClassifier().fit(["\ud800"], [["animal"]])
    with pytest.raises(ParameterError, match="set vectorizer itself first"):
        lw.TextClassifier().set_params(vectorizer__min_df=2)
    with pytest.raises(ParameterError, match="ks is"):
        lw.TextClassifier().fit(TEXTS, LABELS).evaluate(lw.Dataset.from_texts(TEXTS, LABELS), ks=(10**9,))


def test_numbers_and_arrays_of_names_are_names():
    tagger = lw.TextClassifier().fit(["a dog", "a rose"], np.array([["animal"], ["plant"]]))
    assert list(tagger.labels_) == ["animal", "plant"]
    assert list(lw.TextClassifier().fit(["a dog", "a rose"], [[7], [9, 11]]).labels_) == ["7", "9", "11"]


def test_a_dataset_takes_plain_lists_and_arrays():
    data = lw.Dataset(texts=["a dog", "a rose"], Y=np.eye(2), labels=["animal", "plant"])
    assert names(lw.TextClassifier().fit_dataset(data).suggest(["dog"], k=1)) == [["animal"]]


def test_it_searches_parameters_inside_scikit_learn():
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]] * 3)
    texts = np.array(["dog cat", "cat dog", "rose oak", "oak rose"] * 3)
    tagger = lw.TextClassifier(vectorizer=lw.TextVectorizer())
    assert clone(tagger).get_params()["vectorizer__min_df"] == 1
    search = GridSearchCV(tagger, {"vectorizer__min_df": [1, 2]}, cv=3).fit(texts, Y)
    assert search.best_score_ == 1.0


def test_labels_that_join_the_data_later_do_not_join_the_model(tmp_path):
    data = lw.Dataset.from_texts(["a dog", "an oak"], [["animal"], ["plant"]])
    tagger = lw.TextClassifier().fit_dataset(data)
    data.labels.add(["stone"])
    tagger.save(tmp_path / "model")
    assert list(lw.load(tmp_path / "model").labels_) == ["animal", "plant"]


def test_learning_that_fails_leaves_what_was_learned_before():
    tagger = lw.TextClassifier().fit(["a dog", "an oak"], [["animal"], ["plant"]])
    before = tagger.suggest(["dog"])
    with pytest.raises(lw.LabelwoodError, match="empty vocabulary"):
        tagger.fit(["?"], [["stone"]])
    assert tagger.suggest(["dog"]) == before


def test_a_model_whose_learning_is_interrupted_is_not_fitted():
    class Interrupted(lw.CentroidClassifier):
        def _fit(self, examples):
            raise KeyboardInterrupt

    model = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        model.fit([[1.0]], [[1]])
    with pytest.raises(NotFittedError):
        model.predict_topk([[1.0]], 1)


def test_parameters_of_parts_change_no_answers_before_the_next_fit_loaded_or_not(tmp_path):
    texts, labels = ["a dog barks", "a rose blooms", "old coins"], [["animal"], ["plant"], ["money"]]
    tagger = lw.TextClassifier(model=lw.TreeClassifier(), vectorizer=lw.TextVectorizer()).fit(texts, labels)
    tagger.save(tmp_path / "model")
    for one in (tagger, lw.load(tmp_path / "model")):
        expected = one.suggest(["the dog"], k=2)
        one.set_params(model__link="sigmoid", vectorizer__lowercase=False)
        assert one.suggest(["the dog"], k=2) == expected
        assert one.suggest(["the DOG"], k=2) == expected
        assert one.model.link == "sigmoid"


def test_texts_of_labels_and_labels_of_groups_are_as_many_as_there_are_labels():
    texts, Y = ["a dog", "a rose"], np.eye(2)
    few = lw.Dataset(texts=texts, Y=Y, labels=["x", "y"], label_texts=["one"])
    wide = lw.data.Groups(np.array([0, 1]), sparse.csr_array(np.eye(2, 3, dtype=np.float32)))
    grouped = lw.Dataset(texts=texts, labels=["x", "y"], groups=wide)
    for model, data, words in (("tree", few, "label_texts are for 1"), ("grouped", grouped, "columns for 3")):
        with pytest.raises(LabelwoodError, match=f"{words} labels and there are 2"):
            lw.TextClassifier(model=model).fit(data)
