"""Models of every kind with right hashes and false contents: each gives an error or an answer within limits."""

from itertools import islice

import numpy as np
import pytest
from tests.store.hostile_models import (
    SOUND,
    Change,
    capped,
    changed,
    changes,
    every_number,
    opened,
    sound_models,
    tried,
    write,
)

import labelwood as lw
from labelwood import _native
from labelwood.arrays.rows import Sparse
from labelwood.errors import LabelwoodError, ModelError
from labelwood.linear.centroid import CentroidClassifier
from labelwood.softmax_tree.stored_rows import StoredRows
from labelwood.trees import LabelTree

pytestmark = pytest.mark.deep

KINDS = [
    *("tree", "copies", "one-vs-rest", "softmax-tree", "softmax-flat", "softmax-small", "centroid", "centroid-dense"),
    *("text", "text-joined", "fused", "prime", "prime-classifiers", "multi-instance", "grouped"),
]
HUGE = [2**31 - 1, 2**40, 2**63]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return {name: opened(folder) for name, folder in sound_models(tmp_path_factory.mktemp("sound"))}


def test_every_kind_of_model_is_here(models):
    from labelwood.contract.kinds import KINDS as EVERY_KIND

    assert list(models) == KINDS
    assert {model.manifest["model"]["kind"] for model in models.values()} == set(EVERY_KIND)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unaltered_model_answers(models, kind, tmp_path):
    write(tmp_path / "m", models[kind])
    for mmap in (True, False):
        assert tried(tmp_path / "m", verify=True, mmap=mmap)[0] == "answered"


@pytest.mark.parametrize("kind", KINDS)
def test_altered_models_are_refused_or_answer_within_bounds(models, kind, tmp_path):
    rng = np.random.default_rng(7)
    numbers = list(every_number(models[kind]))
    some = [(numbers[at], verify) for at in rng.choice(len(numbers), 12) for verify in (True, False)]
    some += [(change, True) for change in islice(changes(models[kind], rng), 16)]
    for number, (change, verify) in enumerate(some):
        write(tmp_path / str(number), change)
        word, details = tried(tmp_path / str(number), verify=verify)
        assert word in SOUND, (change.name, verify, word, details)


PLACES = [
    ("tree", "params.n_trees"),
    ("tree", "params.beam"),
    ("tree", "fitted.n_labels"),
    ("tree", "fitted.n_features"),
    ("tree", "fitted.labels_per_row"),
    ("copies", "fitted.n_labels"),
    ("one-vs-rest", "fitted.n_labels"),
    ("softmax-tree", "params.dim"),
    ("softmax-tree", "params.beam"),
    ("softmax-tree", "fitted.n_labels"),
    ("softmax-small", "fitted.n_features"),
    ("softmax-small", "params.dim"),
    ("softmax-flat", "fitted.n_labels"),
    ("centroid", "fitted.n_labels"),
    ("centroid-dense", "fitted.n_labels"),
    ("text", "parts.model.params.n_trees"),
    ("text", "parts.model.fitted.n_labels"),
    ("text", "fitted.n_rows"),
    ("text", "parts.vectorizer.fitted.n_features"),
    ("text-joined", "parts.vectorizer.fitted.n_parts"),
    ("text-joined", "parts.vectorizer.parts.1.params.n_buckets"),
    ("fused", "fitted.n_members"),
    ("fused", "params.candidates"),
    ("fused", "parts.fusion.fitted.n_models"),
    ("prime", "fitted.n_labels"),
    ("prime", "params.settings.prototypes.feedforward"),
    ("prime", "params.settings.prototypes.heads"),
    ("prime", "parts.encoder.fitted.words"),
    ("prime", "parts.encoder.fitted.dim"),
    ("multi-instance", "params.hidden"),
    ("multi-instance", "params.concepts"),
    ("multi-instance", "fitted.n_labels"),
]


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(("kind", "place"), PLACES)
def test_a_number_without_a_matching_array_takes_no_memory(models, kind, place, verify, tmp_path):
    for value in HUGE:
        write(tmp_path / str(value), changed(models[kind], place, value))
        word, details = tried(tmp_path / str(value), verify=verify)
        assert word in ("answered", "refused"), (value, word, details)


def test_a_model_that_is_refused_is_named(models, tmp_path):
    for place, value in (("params.n_trees", "many"), ("params.n_trees", 9), ("fitted.n_labels", 2**40), ("kind", "x")):
        write(tmp_path / "m", changed(models["tree"], place, value))
        with pytest.raises(ModelError) as caught:
            lw.load(tmp_path / "m")
        assert str(caught.value).startswith(f"{tmp_path / 'm'}")
        assert "save" in str(caught.value) or "install a newer one" in str(caught.value)


def test_an_error_about_a_long_parameter_is_short(models, tmp_path):
    write(tmp_path / "m", changed(models["tree"], "params.precision", "x" * 1_000_000))
    with pytest.raises(ModelError) as caught:
        lw.load(tmp_path / "m")
    assert len(str(caught.value)) < 600 + len(str(tmp_path))


def test_pointers_of_a_tree_whose_differences_wrap_around_are_refused(models, tmp_path):
    """Four leaves of 2⁶² labels each add up to zero in 64 bits, so a search with limits would read beyond arrays."""
    child_ptr = np.array([1, 6, 6, 6, 6, 6, 6], np.int32)
    label_ptr = np.array([0, 0, 2**62, -(2**63), -(2**62), 0, 2], np.int64)
    with pytest.raises(LabelwoodError, match="its leaves do not match its labels"):
        LabelTree(child_ptr, label_ptr, np.array([0, 1], np.int32), 2)
    far = np.array([1, 2**31 - 1, -(2**31), -1, 3], np.int32)
    with pytest.raises(LabelwoodError, match="not the child of exactly one other"):
        LabelTree(far, np.zeros(5, np.int64), np.array([0, 1], np.int32), 2)


def test_a_tree_with_more_labels_than_places_is_refused_before_counting():
    with pytest.raises(LabelwoodError, match="1099511627776 labels and its leaves hold 2"):
        LabelTree.from_arrays(LabelTree.from_nested([[0], [1]]).arrays(), 2**40, verify=False)


@pytest.mark.parametrize("kept", [[1, 0], [0, 0], [-1, 2], [0, 9], [2**31 - 1, -(2**31)]])
def test_kept_features_that_do_not_ascend_or_do_not_exist_are_refused(kept):
    table = StoredRows(plain=np.ones((2, 8), np.float32))
    with pytest.raises(LabelwoodError, match="keeps features that it does not have"):
        flat_tree(table, table, np.array(kept, np.int32), n_features=9)


def flat_tree(embeddings, vectors, kept, n_features):
    return _native.SoftmaxTree(
        tree=None,
        embeddings=embeddings,
        vectors=vectors,
        kept=kept,
        scaling="unit",
        n_features=n_features,
        n_labels=2,
    )


@pytest.mark.parametrize("kept", [[], [0], [7], [0, 1, 2, 3], [5, 2**31 - 2], [2**31 - 2], list(range(0, 90, 3))])
def test_kept_features_find_their_embeddings(kept):
    n_features = 2**31 - 1
    table = np.arange(1, 8 * len(kept) + 1, dtype=np.float32).reshape(-1, 8)
    labels = StoredRows(plain=np.ones((2, 8), np.float32))
    tree = flat_tree(StoredRows(plain=table), labels, np.array(kept, np.int32), n_features)
    asked = np.array(sorted({*range(100), *kept, n_features - 1}), np.int32)
    rows = Sparse(np.arange(len(asked) + 1), asked, np.ones(len(asked), np.float32), n_features)
    found = tree.embed(rows, 1)
    for feature, vector in zip(asked.tolist(), found, strict=True):
        wanted = table[kept.index(feature)] if feature in kept else np.zeros(8)
        assert vector.tolist() == list(wanted), feature


def test_centroids_of_far_more_labels_than_weights_are_refused_when_saved(tmp_path):
    from scipy import sparse

    Y = sparse.csr_array((np.ones(1, np.float32), [2**25], [0, 1]), shape=(1, 2**25 + 1))
    model = CentroidClassifier().fit(sparse.csr_array(np.ones((1, 1), np.float32)), Y)
    with pytest.raises(ModelError, match="leave out labels that no row has"):
        model.save(tmp_path / "m")


def test_counts_of_rows_that_are_negative_are_refused(models, tmp_path):
    text = models["text"]
    arrays = {**text.arrays, "frequencies": -text.arrays["frequencies"]}
    write(tmp_path / "m", Change("negative", text.manifest, arrays, text.origin))
    with pytest.raises(ModelError, match="frequencies"):
        lw.load(tmp_path / "m")


@pytest.mark.parametrize(("kind", "part"), [("text", "parts.vectorizer"), ("text-joined", "parts.vectorizer.parts.0")])
def test_ngrams_longer_than_every_term_cost_nothing(models, kind, part, tmp_path):
    text = " ".join(["the old dog barks"] * 10_000)
    write(tmp_path / "sound", models[kind])
    write(tmp_path / "m", changed(models[kind], f"{part}.params.ngrams", [1, 2**31 - 1]))
    answers = str(lw.load(tmp_path / "sound").suggest([text], k=2))
    assert capped(lambda: ("answered", str(lw.load(tmp_path / "m").suggest([text], k=2)))) == ("answered", answers)
