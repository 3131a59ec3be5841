"""What every kind of model promises, whatever its rows are; see `labelwood.contract.model`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests.contract.conftest import CANNOT, CASES, as_texts, generated, learned

import labelwood as lw
from labelwood.contract.examples import EXTRAS
from labelwood.contract.kinds import KINDS
from labelwood.errors import LabelwoodError, ModelError, NotFittedError, ParameterError

X, Y = generated()


def same(a, b):
    return np.array_equal(a.ids, b.ids) and np.array_equal(a.scores, b.scores)


def test_every_kind_is_here_but_the_one_that_puts_names_to_any_of_them():
    assert {*CASES, "text"} == set(KINDS)
    assert {name for name, _ in CANNOT} <= set(CASES)


def test_answers_are_sorted_unique_and_of_the_right_shape(kind):
    top = learned(kind.name).predict_topk(kind.rows(X), k=7)
    assert top.ids.shape == top.scores.shape == (X.shape[0], 7)
    assert (top.ids.dtype, top.scores.dtype) == (np.int32, np.float32)
    real = top.ids >= 0
    assert (top.ids < Y.shape[1]).all()
    assert (np.diff(np.where(real, top.scores, -1e30), axis=1)[real[:, 1:]] <= 0).all()
    assert np.isneginf(top.scores[~real]).all()
    for ids in top.ids:
        kept = ids[ids >= 0]
        assert len(set(kept)) == len(kept)
        assert (ids[len(kept) :] == -1).all(), "padding comes last"


def test_it_learns_more_than_popularity(kind):
    popular = np.asarray(Y.sum(axis=0)).ravel().max() / Y.shape[0]
    assert learned(kind.name).score(kind.rows(X), Y) > popular + 0.1


def test_one_row_many_rows_and_any_chunking_give_the_same_answer(kind):
    model = learned(kind.name)
    whole = model.predict_topk(kind.rows(X), k=5)
    for step in (1, 7, 64):
        for start in range(0, 128, step):
            part = model.predict_topk(kind.rows(X[start : start + step]), k=5)
            assert np.array_equal(part.ids, whole.ids[start : start + step])
            assert np.array_equal(part.scores, whole.scores[start : start + step])


def test_the_first_answers_do_not_depend_on_k(kind):
    many = learned(kind.name).predict_topk(kind.rows(X), k=10)
    for k in (1, 3, 9):
        few = learned(kind.name).predict_topk(kind.rows(X), k=k)
        assert np.array_equal(few.ids, many.ids[:, :k])
        assert np.array_equal(few.scores, many.scores[:, :k])


@pytest.mark.promise("labels in another order")
def test_permuted_labels_give_permuted_answers(kind):
    order = np.random.default_rng(1).permutation(Y.shape[1])
    plain = learned(kind.name).predict_topk(kind.rows(X), k=3)
    permuted = kind.learned(X, Y[:, order]).predict_topk(kind.rows(X), k=3)
    assert np.array_equal(permuted.scores, plain.scores)
    for ids, other_ids, scores in zip(plain.ids, permuted.ids, plain.scores, strict=True):
        above = scores > scores[-1]  # labels that score the same may stand in another order
        assert set(ids[above]) == set(order[other_ids[above]])


@pytest.mark.promise("any value marks a label")
def test_values_of_y_other_than_zero_all_mean_the_same(kind):
    expected = learned(kind.name).predict_topk(kind.rows(X), k=5)
    for marks in (Y * 3.0, Y.astype(bool), Y.toarray(), sparse.coo_array(Y)):
        assert same(kind.learned(X, marks).predict_topk(kind.rows(X), k=5), expected)


@pytest.mark.promise("any number of threads")
def test_same_seed_same_bytes_for_any_number_of_threads(kind, tmp_path):
    saved = []
    for n_threads in (1, 2, 8):
        kind.learned(X, Y, n_threads=n_threads).save(tmp_path / str(n_threads))
        saved.append({file.name: file.read_bytes() for file in (tmp_path / str(n_threads)).iterdir()})
    assert saved[0] == saved[1] == saved[2]


def test_same_seed_same_bytes(kind, tmp_path):
    saved = []
    for number in ("1", "2"):
        kind.learned(X, Y).save(tmp_path / number)
        saved.append({file.name: file.read_bytes() for file in (tmp_path / number).iterdir()})
    assert saved[0] == saved[1]


@pytest.mark.parametrize("verify", [True, False])
def test_save_and_load_give_identical_answers(kind, tmp_path, verify):
    model = learned(kind.name)
    model.save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model", verify=verify)
    assert type(loaded) is type(model)
    assert (loaded.n_labels_, loaded.labels_per_row_) == (model.n_labels_, model.labels_per_row_)
    assert same(loaded.predict_topk(kind.rows(X), k=5), model.predict_topk(kind.rows(X), k=5))
    loaded.save(tmp_path / "again")
    assert {f.name: f.read_bytes() for f in (tmp_path / "model").iterdir()} == {
        f.name: f.read_bytes() for f in (tmp_path / "again").iterdir()
    }


def test_a_model_that_says_to_answer_more_labels_than_it_has_is_refused(kind):
    state = learned(kind.name).state()
    state.fitted["labels_per_row"] = state.fitted["n_labels"] + 1
    with pytest.raises(ModelError, match="more labels per row than labels"):
        type(learned(kind.name)).from_state(state)


def test_a_dataset_is_learned_from_like_its_parts(kind):
    given = kind.given(X, Y)
    rows = {"texts": kind.rows(X)} if learned(kind.name).takes == "texts" else {"sparse": X}
    labels = [f"label {i}" for i in range(Y.shape[1])]
    if "groups" in given:
        rows["groups"] = lw.data.Groups(given["groups"], Y)
    else:
        rows["Y"] = Y
    data = lw.Dataset(**rows, labels=labels, label_texts=given.get("label_texts"))
    expected = learned(kind.name).predict_topk(kind.rows(X), 5)
    assert same(kind.make().fit(data).predict_topk(kind.rows(X), 5), expected)


def test_what_a_model_cannot_use_is_an_error(kind):
    model = kind.make()
    given = {
        "label_texts": ["a text"] * Y.shape[1],
        "filters": [(0, 0)],
        "row_weights": np.ones(X.shape[0]),
        "groups": np.arange(X.shape[0]),
        "feature_names": ["a name"] * X.shape[1],
    }
    assert set(given) == set(EXTRAS)
    for name in set(given) - model.uses:
        with pytest.raises(ParameterError, match=f"{type(model).__name__} makes no use of {name} "):
            kind.fit(model, X, Y, **{name: given[name]})


def test_what_a_model_needs_is_named(kind):
    model = kind.make()
    for name in model.needs:
        with pytest.raises(LabelwoodError, match=f"give {name}"):
            model.fit(kind.rows(X), Y)


def test_rows_of_groups_are_refused_where_groups_cannot_be_used(kind):
    model = kind.make()
    if "groups" not in model.uses:
        rows = {"texts": kind.rows(X)} if model.takes == "texts" else {"sparse": X}
        groups = lw.data.Groups(np.arange(X.shape[0]), Y)
        labels = [f"label {i}" for i in range(Y.shape[1])]
        with pytest.raises(LabelwoodError, match="those of groups and not of single rows"):
            model.fit(lw.Dataset(**rows, labels=labels, groups=groups))


@pytest.mark.promise("weights are repetitions")
def test_rows_that_count_more_are_like_rows_that_are_there_more_often(kind):
    if "row_weights" not in kind.make().uses:
        pytest.skip("it makes no use of weights, which another test finds to be an error")
    more, times = np.arange(50), 8
    weights = np.ones(X.shape[0])
    weights[more] = times
    often = np.concatenate([np.arange(X.shape[0]), np.repeat(more, times - 1)])

    def scores(model):
        return model.predict_topk(X[more], k=Y.shape[1]).to_scipy(Y.shape[1]).toarray()

    repeated = scores(kind.learned(X[often], Y[often]))
    weighted = scores(kind.fit(kind.make(), X, Y, row_weights=weights))
    plain = scores(learned(kind.name))
    assert abs(weighted - repeated).mean() < 0.75 * abs(plain - repeated).mean()
    for wrong in (weights[:-1], -weights, weights * np.nan, np.zeros(len(weights))):
        with pytest.raises(ParameterError, match="row_weights"):
            kind.fit(kind.make(), X, Y, row_weights=wrong)


def test_predict_marks_the_best_labels(kind):
    model = learned(kind.name)
    marks, top = model.predict(kind.rows(X), k=2), model.predict_topk(kind.rows(X), k=2)
    assert sparse.issparse(marks)
    assert marks.shape == Y.shape
    assert [sorted(ids[ids >= 0]) for ids in top.ids] == [
        marks.indices[a:b].tolist() for a, b in zip(marks.indptr[:-1], marks.indptr[1:], strict=True)
    ]
    assert model.predict(kind.rows(X)).sum() / X.shape[0] <= round(Y.sum() / Y.shape[0])


def test_training_again_forgets_what_was_learned_before(kind):
    model = kind.learned(X[:100], Y[:100, :5])
    assert same(kind.fit(model, X, Y).predict_topk(kind.rows(X), 5), learned(kind.name).predict_topk(kind.rows(X), 5))


def test_a_failed_fit_leaves_the_model_as_it_was(kind):
    model = kind.learned(X, Y)
    with pytest.raises(LabelwoodError):
        model.fit(kind.rows(X), Y[:-1], **kind.given(X, Y))
    assert same(model.predict_topk(kind.rows(X), 5), learned(kind.name).predict_topk(kind.rows(X), 5))


def test_answers_keep_within_limits(kind):
    model, rows = learned(kind.name), kind.rows(X)
    every = model.predict_topk(rows, k=40)
    include = [3, 5, 8, 20]
    some = model.predict_topk(rows, k=4, include=include)
    assert np.isin(some.ids[some.ids >= 0], include).all()
    for row, ids in zip(every.ids, some.ids, strict=True):
        kept = row[np.isin(row, include)]
        assert set(kept) <= set(ids)
    assert not np.isin(model.predict_topk(rows, k=30, exclude=include).ids, include).any()
    assert (model.predict_topk(rows, k=2, include=[7], exclude=[7]).ids == -1).all()
    lowest = float(np.median(every.scores[every.ids >= 0]))
    high = model.predict_topk(rows, k=40, min_score=lowest)
    assert (high.scores[high.ids >= 0] >= lowest - 1e-5 * abs(lowest)).all()
    assert 0 < (high.ids >= 0).sum() < (every.ids >= 0).sum()
    for wrong in ([40], [-1], [0.5], ["a"]):
        with pytest.raises(ParameterError, match="label ids from 0 to 39"):
            model.predict_topk(rows, include=wrong)
    with pytest.raises(ParameterError, match="min_score"):
        model.predict_topk(rows, min_score=float("nan"))


@pytest.mark.promise("filters leave other scores")
def test_filtered_pairs_are_no_answers_and_others_take_their_place(kind):
    model, rows = learned(kind.name), kind.rows(X)
    before = model.predict_topk(rows, k=6)
    pairs = [(row, int(before.ids[row, 0])) for row in range(0, X.shape[0], 2)]
    after = model.predict_topk(rows, k=5, filters=pairs)
    assert after.ids.shape == (X.shape[0], 5)
    assert np.array_equal(after.ids[::2], before.ids[::2, 1:])
    assert np.array_equal(after.ids[1::2], before.ids[1::2, :5])
    with pytest.raises(LabelwoodError, match="filters name row 300"):
        model.predict_topk(rows, filters=[(300, 0)])


def test_filtered_pairs_are_no_answers(kind):
    before = learned(kind.name).predict_topk(kind.rows(X), k=1)
    after = learned(kind.name).predict_topk(
        kind.rows(X), k=5, filters=[(row, before.ids[row, 0]) for row in range(300)]
    )
    assert after.ids.shape == (300, 5)
    assert not (after.ids == before.ids).any()
    assert (after.ids[:, 0] >= 0).all()


def test_k_larger_than_the_labels_is_padded(kind):
    top = learned(kind.name).predict_topk(kind.rows(X[:5]), k=Y.shape[1] + 10)
    assert top.ids.shape == (5, Y.shape[1] + 10)
    assert (top.ids[:, Y.shape[1] :] == -1).all()
    assert np.isneginf(top.scores[:, Y.shape[1] :]).all()


def test_no_rows_get_no_answers(kind):
    assert learned(kind.name).predict_topk(kind.rows(X[:0]), k=2).ids.shape == (0, 2)


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", None, True, 10_001])
def test_a_k_that_cannot_be_used_is_refused(kind, k):
    with pytest.raises(ParameterError, match="k must be a whole number"):
        learned(kind.name).predict_topk(kind.rows(X), k=k)


def test_what_is_not_fitted_says_so(kind):
    for ask in (lambda m: m.predict_topk(kind.rows(X)), lambda m: m.save("never-written"), lambda m: m.describe()):
        with pytest.raises(NotFittedError, match="call fit first"):
            ask(kind.make())


def test_it_describes_itself(kind):
    facts = learned(kind.name).describe()
    assert (facts["model"], facts["labels"]) == (kind.name, 40)
    assert len(facts) == 3


def test_wrong_labels_get_a_sentence(kind):
    for wrong, words in (
        (Y[:-1], "Y has 299 rows|from 0 to 298"),
        (Y[:, :0], "at least one label"),
        (None, "Y is missing"),
    ):
        with pytest.raises(LabelwoodError, match=words):
            kind.make().fit(kind.rows(X), wrong, **kind.given(X, Y))


def test_unknown_and_wrong_parameters_are_named(kind):
    with pytest.raises(ParameterError, match="n_threads is 0 but should be greater than or equal to 1"):
        kind.learned(X, Y, n_threads=0)
    with pytest.raises(ParameterError, match="no parameter 'speed'"):
        kind.make().set_params(speed=3)


def test_a_tagger_takes_any_of_them(kind):
    names = [
        [f"name {i}" for i in ids] for ids in (Y.indices[a:b] for a, b in zip(Y.indptr, Y.indptr[1:], strict=False))
    ]
    tagger = lw.TextClassifier(model=kind.make())
    given = {name: value for name, value in kind.given(X, Y).items() if name == "groups"}
    tagger.fit(as_texts(X), names, **given)
    assert tagger.n_labels_ == 40
    ((name, score), *_), *_ = tagger.suggest(as_texts(X[:2]), k=3)
    assert name in names[0]
    assert isinstance(score, float)


def test_a_tagger_that_was_only_looked_at_is_not_fitted(kind):
    tagger = lw.TextClassifier(model=kind.make())
    tagger.settled()
    with pytest.raises(NotFittedError, match="call fit first"):
        tagger.suggest(["a text"])


def test_what_is_given_beside_a_dataset_is_used():
    class Recording(lw.PrimeClassifier):
        def _fit(self, examples):
            told.append(examples)

    told = []
    data = lw.Dataset.from_texts(["a dog", "a rose"], [["animal"], ["plant"]])
    for model in (Recording(), lw.TextClassifier(model=Recording())):
        model.fit(data, label_texts=["beasts", "herbs"], filters=[(0, 1)])
    assert [examples.label_texts.to_pylist() for examples in told] == [["beasts", "herbs"]] * 2
    assert [examples.filters.tolist() for examples in told] == [[[0, 1]]] * 2


def test_sparse_and_dense_features_of_a_dataset_are_not_dropped(kind):
    model = kind.make()
    if model.takes == "features":
        data = lw.Dataset(sparse=X, dense=X.toarray(), Y=Y, labels=[f"label {i}" for i in range(Y.shape[1])])
        with pytest.raises(LabelwoodError, match="TextClassifier, which joins them"):
            model.fit(data)


def test_labels_and_groups_beside_a_dataset_are_refused(kind):
    data = lw.Dataset.from_texts(["a dog", "a rose"], [["animal"], ["plant"]])
    for model in (kind.make(), lw.TextClassifier(model=kind.make())):
        for given in ({"Y": np.eye(2)}, {"groups": [0, 1]}):
            with pytest.raises(ParameterError, match=r"has its labels and groups itself|makes no use of groups"):
                model.fit(data, **given)


@pytest.mark.parametrize("inner", ["multi-instance", "softmax-tree", "one-vs-rest"])
def test_any_model_over_features_learns_from_groups(inner, tmp_path):
    if inner == "multi-instance":
        pytest.importorskip("torch")
    texts, pages = [f"word{i % 3} other{i % 5}" for i in range(30)], np.arange(30) // 3
    tags = [["a", "b", "c"]] * 10
    model = {"softmax-tree": lambda: lw.SoftmaxTreeClassifier(dim=2, word_vectors=tmp_path / "w.vec")}.get(inner)
    (tmp_path / "w.vec").write_text("word0 1 0\nword1 0 1\n")
    tagger = lw.TextClassifier(model=model() if model else inner).fit_grouped(texts, pages, tags)
    assert len(tagger.suggest(["word1"], k=2)[0]) == 2


def test_what_a_grouped_model_was_learned_with_stays():
    model = lw.GroupedClassifier(model="centroid", eagle=lw.Eagle(iterations=5)).fit(X, Y, groups=np.arange(300))
    model.set_params(eagle__iterations=17)
    assert model.state().params["eagle"]["iterations"] == 5
    with pytest.raises(LabelwoodError, match="cannot learn from groups"):
        lw.GroupedClassifier(model=lw.Eagle()).fit(X, Y, groups=np.arange(300))
