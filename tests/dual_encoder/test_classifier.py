"""PrimeClassifier as users see it: it answers, is saved and loaded, accepts new labels, and reports errors."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from tests.dual_encoder.samples import QUICK, changed, texts_and_labels, write_checkpoint

import labelwood as lw
from labelwood import store
from labelwood.arrays.rows import as_labels
from labelwood.dual_encoder.data.inputs import as_known
from labelwood.dual_encoder.training.trainer import Trainer
from labelwood.errors import LabelwoodError, ModelError, NotFittedError, ParameterError

pytestmark = pytest.mark.deep

WELL = changed(training={"epochs": 40, "learning_rate": 0.02})


@pytest.fixture(scope="module")
def data():
    return texts_and_labels()


@pytest.fixture(scope="module")
def fitted(data):
    return lw.PrimeClassifier(settings=WELL).fit(*data)


@pytest.fixture
def few_are_enough(monkeypatch):
    """Lets probes search only some clusters even if these have few labels."""
    monkeypatch.setattr("labelwood.dual_encoder.classifier.ENOUGH", 2)


def clone_of(model):
    return type(model).from_state(model.state())


def same(a, b):
    return np.array_equal(a.ids, b.ids) and np.array_equal(a.scores, b.scores)


def test_it_learns_and_answers(fitted, data):
    texts, Y, _ = data
    assert fitted.score(texts, Y) > 0.95
    top = fitted.predict_topk(texts[:3], k=30)
    assert top.ids.shape == (3, 30)
    assert (top.ids[:, 24:] == -1).all(), "there are 24 labels"
    assert fitted.predict(texts).shape == (96, 24)
    assert np.allclose(np.linalg.norm(fitted.prototypes_, axis=1), 1, atol=1e-5)


def test_limits_are_kept(fitted, data):
    texts = data[0][:5]
    assert set(fitted.predict_topk(texts, 3, include=[2, 5]).ids.ravel().tolist()) == {2, 5, -1}
    assert not (fitted.predict_topk(texts, 24, exclude=[7]).ids == 7).any()


@pytest.mark.parametrize("kind", ["tiny", "checkpoint", "text", "sum"])
def test_a_loaded_model_gives_the_same_answers(data, tmp_path, kind):
    settings = QUICK
    if kind == "checkpoint":
        settings = changed(encoder={"checkpoint": write_checkpoint(tmp_path / "bert")}, training={"epochs": 1})
    elif kind != "tiny":
        settings = changed(prototypes={"kind": kind})
    model = lw.PrimeClassifier(settings=settings).fit(*data)
    model.save(tmp_path / "model")
    loaded = lw.load(tmp_path / "model")
    assert same(model.predict_topk(data[0], 5), loaded.predict_topk(data[0], 5))
    assert [line.keys() for line in loaded.history_] == [
        line.keys() - {"queries_per_second"} for line in model.history_
    ]
    assert all(line.items() <= known.items() for line, known in zip(loaded.history_, model.history_, strict=True))
    assert loaded.settings_ == model.settings_
    assert model.add_labels(["label3 name3"]) == loaded.add_labels(["label3 name3"]) == [24]
    assert same(model.predict_topk(data[0], 5), loaded.predict_topk(data[0], 5))


def test_the_same_seed_gives_the_same_answers_and_torch_s_random_state_is_kept(data):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    a, b = (lw.PrimeClassifier(settings=QUICK).fit(*data).predict_topk(data[0], 5) for _ in range(2))
    assert same(a, b)
    assert torch.rand(1) == expected


def test_a_new_label_gets_a_prototype_from_its_text(data):
    texts, Y, label_texts = data
    model = lw.PrimeClassifier(settings=WELL).fit(texts, Y, label_texts)
    new = model.add_labels([label_texts[5], "something else"])
    assert new == [24, 25]
    assert model.n_labels_ == 26
    nearest = model.prototypes_[24] @ model.prototypes_[:24].T
    assert nearest.argmax() == 5, "the new label is near the trained label with the same text"
    assert np.allclose(np.linalg.norm(model.prototypes_, axis=1), 1, atol=1e-5)
    assert (model.predict_topk([texts[5]], 26).ids >= 0).all()


@pytest.mark.usefixtures("few_are_enough")
def test_answers_from_some_clusters_equal_those_of_a_full_search_for_labels_in_them(fitted, data, tmp_path):
    texts = data[0]
    exact = fitted.predict_topk(texts, k=3)
    model = lw.PrimeClassifier(settings=WELL, probes=4).fit(*data)
    assert same(model.set_params(probes=1000).predict_topk(texts, k=3), exact)
    some = model.set_params(probes=4).predict_topk(texts, k=3)
    hits = [len(set(a) & set(b)) for a, b in zip(some.ids, exact.ids, strict=True)]
    assert 0.6 < np.mean(hits) / 3 < 1
    model.save(tmp_path / "m")
    loaded = lw.load(tmp_path / "m")
    assert same(loaded.predict_topk(texts, k=3), exact)
    assert np.array_equal(loaded.clusters_, model.clusters_)
    assert same(loaded.set_params(probes=4).predict_topk(texts, k=3), some)


def test_filters_of_a_row_neither_shorten_its_answers_nor_change_other_rows(fitted, data):
    texts, model = data[0], clone_of(fitted).set_params(probes=3)
    plain = model.predict_topk(texts, k=2)
    barred = [(0, int(label)) for label in fitted.predict_topk(texts[:1], k=20).ids[0]]
    found = model.predict_topk(texts, k=2, filters=barred)
    assert set(found.ids[0]) == set(fitted.predict_topk(texts[:1], k=22).ids[0, 20:])
    assert same(lw.TopK(found.ids[1:], found.scores[1:]), lw.TopK(plain.ids[1:], plain.scores[1:]))


@pytest.mark.usefixtures("few_are_enough")
def test_clusters_work_with_the_scores_of_classifiers_too(data):
    settings = {**WELL, "classifiers": {"enabled": True, "epochs": 2, "warm_up": 1}}
    model = lw.PrimeClassifier(settings=settings, probes=2).fit(*data)
    for scores in ("fused", "prototypes", "classifiers"):
        some = model.set_params(probes=2, scores=scores).predict_topk(data[0], k=2)
        exact = model.set_params(probes=None).predict_topk(data[0], k=2)
        alike = some.ids == exact.ids
        assert 0.5 < alike.mean() < 1
        assert np.array_equal(some.scores[alike], exact.scores[alike])
        assert same(model.set_params(probes=99).predict_topk(data[0], k=2), exact)


def test_missing_clusters_are_found_once_before_the_first_answer(fitted, data, tmp_path):
    fitted.save(tmp_path / "m")
    model = lw.load(tmp_path / "m")
    model.predict_topk(data[0][:2], k=3)
    assert model.clusters_ is None
    model.set_params(probes=2).predict_topk(data[0][:2], k=3)
    assert model.clusters_.shape == (24, 2)
    model.save(tmp_path / "m2")
    assert np.array_equal(lw.load(tmp_path / "m2").clusters_, model.clusters_)


@pytest.mark.usefixtures("few_are_enough")
def test_a_new_label_is_found_in_the_cluster_of_similar_labels(data):
    texts, Y, label_texts = data
    model = lw.PrimeClassifier(settings=WELL, probes=1).fit(texts, Y, label_texts)
    before = model.clusters_.copy()
    (new,) = model.add_labels([label_texts[5]])
    nearest = int(np.argmax(model.prototypes_[:new] @ model.prototypes_[new]))
    assert np.array_equal(model.clusters_[new], model.clusters_[nearest])
    assert np.array_equal(model.clusters_[:new], before)
    rows = [texts[row] for row in np.flatnonzero(np.asarray(Y.todense())[:, nearest])]

    def finds_it():
        return (model.predict_topk(rows, k=2).ids == new).any()

    assert finds_it()
    far = int(np.argmin(model.prototypes_[:new] @ model.prototypes_[new]))
    model.clusters_[new], model._index = model.clusters_[far], None
    assert not finds_it()  # with probes, answers come only from some clusters


def test_held_out_rows_are_measured(data):
    model = lw.PrimeClassifier(settings=changed(training={"held_out": 0.2})).fit(*data)
    assert all("P@1" in line for line in model.history_)


def test_checkpoints_and_token_caches_are_used(data, tmp_path):
    settings = changed(training={"checkpoint_every": 2})
    options = {"settings": settings, "checkpoints": tmp_path / "c", "cache": tmp_path / "tokens"}
    model = lw.PrimeClassifier(**options).fit(*data)
    assert store.is_model(tmp_path / "c")
    assert len(list((tmp_path / "tokens").iterdir())) == 4
    again = lw.PrimeClassifier(**options).fit(*data)
    assert same(model.predict_topk(data[0], 5), again.predict_topk(data[0], 5))


def test_rows_without_labels_are_ignored(data):
    texts, Y, label_texts = data
    Y = Y.toarray()
    Y[:10] = 0
    some, others = (
        lw.PrimeClassifier(settings=QUICK).fit(texts[at:], Y[at:], label_texts).prototypes_ for at in (0, 10)
    )
    assert np.array_equal(some, others)


def test_parameters_can_be_cloned_and_settings_come_from_files(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text('[encoder]\ncheckpoint = "tiny"\n')
    assert clone(lw.PrimeClassifier(settings=str(path))).settings == str(path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((["a"], np.eye(2), ["x", "y"]), "Y has 2 rows and there are 1 texts"),
        ((["a", "b"], np.eye(2), ["x"]), "Y has 2 labels and there are 1 label_texts"),
        ((["a", None], np.eye(2), ["x", "y"]), r"texts\[1\] is None"),
        ((["a", "b"], np.eye(2), ["x", 3]), "label_texts must be strings"),
        (("a", np.eye(2), ["x", "y"]), "texts is a single string"),
        ((["a", "b"], np.zeros((2, 2)), ["x", "y"]), "Y has no label in any row"),
        ((["a", "b"], None, ["x", "y"]), "Y is missing"),
        ((["a", "b"], [[1, 0], [1]], ["x", "y"]), "Y has rows of different lengths"),
        ((["a", "b"], [[1, 0]], ["x", "y"]), "Y has 1 rows and there are 2 texts"),
    ],
)
def test_bad_input_is_one_clear_sentence(arguments, sentence):
    with pytest.raises(LabelwoodError, match=sentence) as e:
        lw.PrimeClassifier(settings=QUICK).fit(*arguments)
    assert "\n" not in str(e.value)


def test_bad_parameters_are_one_clear_sentence(data, fitted):
    strange = ({"prototypes": {"heads": 5}}, {"training": {"warm_up": np.inf}}, {"loss": {"margin": np.nan}})
    for settings in strange:
        with pytest.raises(LabelwoodError) as e:
            lw.PrimeClassifier(settings=changed(**settings)).fit(*data)
        assert "\n" not in str(e.value)
    for options in ({"settings": {"los": {}}}, {"settings": QUICK, "device": "abacus"}, {"verbose": "yes"}):
        with pytest.raises(LabelwoodError) as e:
            lw.PrimeClassifier(**options).fit(*data)
        assert "\n" not in str(e.value)
    for ask in ("predict_topk", "add_labels", "embed"):
        with pytest.raises(NotFittedError):
            getattr(lw.PrimeClassifier(), ask)(["a"])
    with pytest.raises(LabelwoodError, match="k must be"):
        fitted.predict_topk(["a"], k=0)
    for probes in (0, -1, 2.5, True, "many"):
        with pytest.raises(ParameterError, match="probes is"):
            lw.PrimeClassifier(settings=QUICK, probes=probes).fit(*data)
        with pytest.raises(ParameterError, match="probes is"):
            clone_of(fitted).set_params(probes=probes).predict_topk(["a"])
    assert (clone_of(fitted).set_params(probes=np.int64(2)).predict_topk(["a"], k=2).ids >= 0).all()


@pytest.mark.parametrize("lives", [2, 5, 8])
def test_training_that_was_killed_and_resumed_gives_the_same_model(data, tmp_path, monkeypatch, lives):
    """With everything that has state: held-out rows, best weights, accumulation, chunks, filters, classifiers."""
    settings = changed(
        batches={"size": 16, "hard_negatives": 1},
        training={"checkpoint_every": 1, "held_out": 0.2, "patience": 3, "accumulate": 2, "chunk_size": 8, "epochs": 6},
        classifiers={"enabled": True, "epochs": 2, "warm_up": 1, "size": 32},
    )
    filters = [(row, (row + 5) % 24) for row in range(0, 96, 3)]
    straight = lw.PrimeClassifier(settings=settings).fit(*data, filters=filters)

    class KilledError(Exception):
        pass

    update = Trainer._count_step

    def mortal(self):
        update(self)
        if self.course.step == lives:
            raise KilledError

    monkeypatch.setattr(Trainer, "_count_step", mortal)
    with pytest.raises(KilledError):
        lw.PrimeClassifier(settings=settings, checkpoints=tmp_path / "c").fit(*data, filters=filters)
    monkeypatch.undo()
    resumed = lw.PrimeClassifier(settings=settings, checkpoints=tmp_path / "c").fit(*data, filters=filters)
    assert np.array_equal(resumed.prototypes_, straight.prototypes_)
    assert np.array_equal(resumed.classifiers_, straight.classifiers_)
    assert [line["P@1"] for line in resumed.history_] == [line["P@1"] for line in straight.history_]
    with pytest.raises(ModelError, match="not a checkpoint of these"):
        lw.PrimeClassifier(settings=settings, checkpoints=tmp_path / "c").fit(*data)


@pytest.mark.parametrize("n_labels", [1, 2])
def test_a_single_text_can_be_learned_without_a_warning_of_collapse(n_labels):
    model = lw.PrimeClassifier(settings=QUICK).fit(["a dog"], np.eye(n_labels)[:1], ["x", "y"][:n_labels])
    assert set(model.predict_topk(["dog", ""], 3).ids[0].tolist()) == {*range(n_labels), -1}


def test_a_fitted_model_keeps_the_settings_of_its_training(data, tmp_path):
    path = tmp_path / "s.toml"
    path.write_text('[encoder]\ncheckpoint = "tiny:16"\nmax_tokens = 4\n[training]\nepochs = 1\n')
    model = lw.PrimeClassifier(settings=str(path)).fit(*data)
    before = model.predict_topk(data[0], 5)
    path.unlink()
    model.set_params(device="cpu")
    assert same(model.predict_topk(data[0], 5), before)
    model.save(tmp_path / "model")
    assert model.add_labels(["another"]) == lw.load(tmp_path / "model").add_labels(["another"]) == [24]
    loaded = lw.load(tmp_path / "model").set_params(settings={"encoder": {"checkpoint": "tiny", "max_tokens": 1}})
    assert same(loaded.predict_topk(data[0], 5), before), "new settings are only for the next training"


def test_patience_without_rows_to_measure_on_is_one_clear_sentence(data):
    for settings in (changed(training={"patience": 1}), changed(training={"patience": 1, "held_out": 0.001})):
        with pytest.raises(LabelwoodError, match=r"training\.patience needs rows"):
            lw.PrimeClassifier(settings=settings).fit(*data)


def test_a_filtered_pair_is_not_learned_even_if_y_has_it():
    known = as_known(as_labels([[1, 1, 0], [0, 1, 0]]), [(0, 1), (1, 2), (1, 2)], n_labels=3)
    assert known.truth.to_scipy().toarray().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert known.never_negative.to_scipy().toarray().tolist() == [[1, 1, 0], [0, 1, 1]]
    with pytest.raises(LabelwoodError, match="no label in any row"):
        as_known(as_labels([[1, 0]]), [(0, 0)], n_labels=2)


def hostile_changes(state):
    """States with one contradiction each, and a name for it."""
    arrays, mixer = state.arrays, state.parts["mixer"]
    other = {"layer.linear1.weight": np.zeros((3, 32), np.float32)}
    settings = state.params["settings"]
    vast = {**settings, "prototypes": {**settings["prototypes"], "feedforward": 10**9}}
    yield "prototypes", replace(state, arrays={**arrays, "prototypes": arrays["prototypes"][:-1]})
    yield "finite", replace(state, arrays={**arrays, "prototypes": np.full_like(arrays["prototypes"], np.nan)})
    yield "narrow", replace(state, arrays={**arrays, "prototypes": np.ascontiguousarray(arrays["prototypes"][:, :8])})
    yield "centres", replace(state, arrays={**arrays, "centres": arrays["centres"][:-1]})
    for name, clusters in (
        ("few", np.zeros((3, 2))),
        ("below", np.full((24, 2), -1)),
        ("beyond", np.full((24, 2), 24)),
    ):
        yield f"clusters-{name}", replace(state, arrays={**arrays, "clusters": clusters.astype(np.int32)})
    yield "clusters-floats", replace(state, arrays={**arrays, "clusters": np.zeros((24, 2), np.float32)})
    yield "encoder", replace(state, parts={"mixer": mixer})
    yield "mixer", replace(state, parts={"encoder": state.parts["encoder"]})
    yield "shape", replace(state, parts={**state.parts, "mixer": replace(mixer, arrays={**mixer.arrays, **other})})
    yield "vast", replace(state, params={"settings": vast})
    yield "file", replace(state, params={"settings": "settings.toml"})
    yield "per-row", replace(state, fitted={**state.fitted, "labels_per_row": 10**9})
    yield "unknown", replace(state, params={"settings": {"nothing": 1}})
    yield "words", replace(state, parts={**state.parts, "encoder": replace(state.parts["encoder"], kind="pickle")})
    wide = replace(state.parts["encoder"], fitted={"dim": 10**12, "words": 8192})
    yield "wide", replace(state, parts={**state.parts, "encoder": wide})


def test_hostile_files_are_refused(fitted, tmp_path):
    for name, state in hostile_changes(fitted.state()):
        store.write(tmp_path / name, state)
        with pytest.raises(ModelError) as e:
            lw.load(tmp_path / name)
        assert "\n" not in str(e.value), name


def test_hostile_clusters_are_refused_even_without_verification(fitted, data, tmp_path):
    for name, state in hostile_changes(fitted.state()):
        if name.startswith("clusters"):
            store.write(tmp_path / name, state)
            with pytest.raises(LabelwoodError, match="clusters") as e:
                lw.load(tmp_path / name, verify=False).set_params(probes=1).predict_topk(data[0][:2], k=1)
            assert "\n" not in str(e.value), name


def test_labelwood_and_its_command_line_do_not_import_torch():
    code = (
        "import sys, labelwood as lw, labelwood.cli; lw.PrimeClassifier; lw.dual_encoder.PrimeSettings();"
        "assert not {'torch', 'transformers', 'tokenizers'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_filtered_pairs_are_neither_positives_nor_negatives():
    """Every text equals the text of a wrong label, so without filters it would be pushed away from itself."""
    n = 32
    texts = [f"thing{i} kind{i % 4}" for i in range(n)]
    Y = np.roll(np.eye(n), 1, axis=1)
    itself = np.stack([np.arange(n)] * 2, axis=1)
    losses = []
    for filters in (None, itself):
        model = lw.PrimeClassifier(settings=changed(training={"epochs": 30}))
        losses.append(model.fit(texts, Y, texts, filters=filters).history_[-1]["query_to_label"])
    assert losses[1] < 0.8 * losses[0]


@pytest.mark.parametrize(("filters", "says"), [([(99, 0)], "row 99"), ([(0, 99)], "label 99"), ([0], "shape")])
def test_invalid_filters_are_one_clear_sentence(filters, says):
    texts, Y, label_texts = texts_and_labels()
    with pytest.raises(LabelwoodError, match=says):
        lw.PrimeClassifier(settings=QUICK).fit(texts, Y, label_texts, filters=filters)


def test_a_model_can_be_copied_and_pickled_after_it_has_answered(fitted, data):
    wanted = fitted.predict_topk(data[0][:5], 3)
    for other in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert same(other.predict_topk(data[0][:5], 3), wanted)
