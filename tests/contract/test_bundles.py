"""Parameters that belong together are given as one value, or one by one, and mean the same."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest
from annotated_types import Ge
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from tests.contract.conftest import generated

import labelwood as lw
from labelwood.contract.bundles import Bundle, one_by_one
from labelwood.contract.checks import check_params
from labelwood.contract.params import Params, unfitted
from labelwood.errors import ParameterError
from labelwood.trees.copies import CopiesFields
from labelwood.trees.interpolated import InterpolatedFields

HOW = {"rounds": 3, "refit": "ranker", "matching": "out-of-fold", "crowding": None, "merge": "mean"}
BUNDLE = lw.Copies(2, **HOW)
FIELDS = {f"copies__{name}": value for name, value in {"number": 2, **HOW}.items()}
TREES = {"tree": lw.TreeClassifier, "softmax-tree": lw.SoftmaxTreeClassifier}


def with_attributes(model, **values):
    for name, value in values.items():
        setattr(model, name, value)
    return model


def of_table(table):
    return lw.TreeClassifier(**one_by_one(lw.TreeClassifier, table, tables=True))


WAYS = {
    "one value": lambda: lw.TreeClassifier(copies=BUNDLE),
    "one by one": lambda: lw.TreeClassifier(copies=2, **HOW),
    "one value and a field of it": lambda: lw.TreeClassifier(copies=BUNDLE, merge="mean"),
    "set as one": lambda: lw.TreeClassifier(copies=5, crowding=7.0).set_params(copies=BUNDLE),
    "set one by one": lambda: lw.TreeClassifier().set_params(copies=2, **HOW),
    "set as fields": lambda: lw.TreeClassifier().set_params(**FIELDS),
    "set in a pipeline": lambda: make_pipeline(lw.TreeClassifier()).set_params(
        **{f"treeclassifier__{name}": value for name, value in FIELDS.items()}
    )[0],
    "set in a tagger": lambda: lw.TextClassifier(model=lw.TreeClassifier()).set_params(model__copies=BUNDLE).model,
    "an attribute": lambda: with_attributes(lw.TreeClassifier(), copies=BUNDLE),
    "attributes": lambda: with_attributes(lw.TreeClassifier(), copies=2, **HOW),
    "a table": lambda: of_table({"copies": {"number": 2, **HOW}}),
    "a table and a number": lambda: of_table({"copies": HOW}).set_params(copies=2),
    "a clone": lambda: clone(lw.TreeClassifier(copies=BUNDLE)),
    "its parameters again": lambda: lw.TreeClassifier(**lw.TreeClassifier(copies=BUNDLE).get_params()),
    "its parameters, one changed": lambda: lw.TreeClassifier(
        **{**lw.TreeClassifier(copies=5, **HOW).get_params(deep=False), "copies": 2}
    ),
    "an unfitted copy": lambda: unfitted(lw.TreeClassifier(copies=BUNDLE)),
    "a pickled copy": lambda: pickle.loads(pickle.dumps(lw.TreeClassifier(copies=BUNDLE))),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_give_parameters_means_the_same(way):
    model = WAYS[way]()
    expected = {**lw.TreeClassifier().get_params(), "copies": 2, **HOW}
    assert model.get_params() == model.get_params(deep=False) == model.settled() == expected
    assert {name: getattr(model, name) for name in expected} == expected
    assert repr(model) == (
        "TreeClassifier(copies=2, rounds=3, refit='ranker', matching='out-of-fold', crowding=None, merge='mean')"
    )


@pytest.mark.parametrize("kind", TREES)
def test_an_interpolated_tree_is_one_value_or_two(kind, tmp_path):
    X, Y = generated()
    make = TREES[kind]
    models = [
        make(tree=lw.Interpolated(lam=1.5)),
        make(tree="interpolated", lam=1.5),
        make(lam=0.5).set_params(tree=lw.Interpolated(), tree__lam=1.5),
        make(tree="interpolated").set_params(tree__lam=1.5),
        make(**one_by_one(make, {"tree": {"lam": 1.5}}, tables=True)),
        clone(make(tree=lw.Interpolated(1.5))),
    ]
    for number, model in enumerate(models):
        assert (model.tree, model.lam) == ("interpolated", 1.5)
        model.fit(X, Y).save(tmp_path / str(number))
    manifests = [(tmp_path / str(number) / "manifest.json").read_bytes() for number in range(len(models))]
    assert len(set(manifests)) == 1  # a manifest has the hashes of all that is learned
    loaded = lw.load(tmp_path / "0")
    assert (loaded.tree, loaded.lam) == ("interpolated", 1.5)


def test_models_with_copies_are_saved_with_the_same_bytes_however_they_are_made(tmp_path):
    X, Y = generated()
    how = {"tree": "balanced", "arity": 2, "max_leaf": 2}
    one = lw.TreeClassifier(**how, copies=lw.Copies(2, crowding=2.0, merge="mean")).fit(X, Y)
    other = lw.TreeClassifier(**how, copies=2, crowding=2.0, merge="mean").fit(X, Y)
    plain = lw.TreeClassifier(**how).fit(X, Y)
    moved = lw.disentangle(plain, X, Y, copies=lw.Copies(2, crowding=2.0, merge="mean"))
    again = lw.disentangle(plain, X, Y, copies=2, crowding=2.0, merge="mean")
    for number, model in enumerate((one, other, moved, again)):
        model.save(tmp_path / str(number))
    manifests = [(tmp_path / str(number) / "manifest.json").read_bytes() for number in range(4)]
    assert manifests[0] == manifests[1]
    assert manifests[2] == manifests[3]


def test_a_number_of_copies_leaves_the_rest_and_a_value_sets_all():
    model = lw.TreeClassifier(copies=2, crowding=3.0)
    assert (model.set_params(copies=4).copies, model.crowding) == (4, 3.0)
    assert (model.set_params(copies=lw.Copies(5)).copies, model.crowding) == (5, 1.0)
    model.crowding, model.copies = 3.0, 6
    assert (model.copies, model.crowding) == (6, 3.0)


def test_lam_is_kept_for_when_the_tree_is_interpolated():
    model = clone(lw.TreeClassifier(lam=1.5))
    assert (model.tree, model.lam) == ("kmeans", 1.5)
    assert clone(model).set_params(tree="interpolated").lam == 1.5


def test_a_field_that_is_given_twice_and_differently_is_an_error():
    with pytest.raises(ParameterError, match="merge is given as 'max' and as 'mean': give it once"):
        lw.TreeClassifier(copies=lw.Copies(merge="mean"), merge="max")
    model = lw.TreeClassifier()
    with pytest.raises(ParameterError, match="rounds is given as 1 and as None"):
        model.set_params(copies=lw.Copies(2), rounds=1)
    with pytest.raises(ParameterError, match=r"lam is given as 1.0 and as 1.5"):
        lw.TreeClassifier(**{**model.get_params(), "tree": lw.Interpolated(lam=1.5)})
    assert model.copies == 1


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("number", 0, "TreeClassifier: copies is 0 but should be greater than or equal to 1"),
        ("number", "x", "TreeClassifier: copies is 'x' but should be a valid integer"),
        ("rounds", -1, "TreeClassifier: rounds is -1 but should be greater than or equal to 0"),
        ("refit", "some", "TreeClassifier: refit is 'some' but should be 'all' or 'ranker'"),
        ("crowding", 0.5, "TreeClassifier: crowding is 0.5 but should be greater than or equal to 1"),
        ("merge", "min", "TreeClassifier: merge is 'min' but should be 'max' or 'mean'"),
    ],
)
def test_a_wrong_value_is_named_in_the_same_words_when_it_is_used(field, value, message):
    name = "copies" if field == "number" else field
    bundle = lw.Copies(**{field: value})
    for model in (
        lw.TreeClassifier(**{name: value}),
        lw.TreeClassifier(copies=bundle),
        lw.TreeClassifier().set_params(**{f"copies__{field}": value}),
        with_attributes(lw.TreeClassifier(), **{name: value}),
    ):
        with pytest.raises(ParameterError) as error:
            model.fit(np.eye(3), np.eye(3))
        assert str(error.value) == message
    for params in ({"copies": bundle}, {name: value}):
        with pytest.raises(ParameterError) as error:
            check_params(lw.TreeClassifier, params)
        assert str(error.value) == message


def test_a_bundle_of_something_else_is_no_value():
    with pytest.raises(ParameterError, match=r"tree is Copies\(number=1"):
        lw.TreeClassifier(tree=lw.Copies()).settled()
    with pytest.raises(ParameterError, match="copies is Interpolated"):
        lw.TreeClassifier(copies=lw.Interpolated()).settled()
    with pytest.raises(ParameterError, match=r"copies is \{'number': 2\}"):
        lw.TreeClassifier(copies={"number": 2}).settled()  # tables are for the command line


def test_a_wrong_name_changes_nothing():
    model = lw.TreeClassifier()
    for wrong, message in (
        ({"copies__round": 1}, "copies has no parameter 'round'; did you mean 'rounds'"),
        ({"tree__lam": 1.5}, "tree is 'kmeans' and has no parameter 'lam'"),
        ({"number": 2}, "TreeClassifier has no parameter 'number'"),
    ):
        with pytest.raises(ParameterError, match=message):
            model.set_params(beam=3, **wrong)
    assert model.beam == 10
    with pytest.raises(TypeError, match=r"TreeClassifier.__init__\(\) got an unexpected keyword argument 'number'"):
        lw.TreeClassifier(number=2)
    with pytest.raises(ParameterError, match="OneVsRest has no parameter 'rounds'"):
        lw.OneVsRest().set_params(rounds=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'lam'"):
        lw.OneVsRest(lam=1.0)


def test_a_grid_search_goes_over_bundles_and_their_fields():
    X, Y = generated()
    grid = [
        {"copies": [lw.Copies(2), lw.Copies(2, crowding=None)]},
        {"copies": [1, 2], "rounds": [0]},
        {"copies__number": [3], "tree": [lw.Interpolated(0.5), "balanced"]},
    ]
    search = GridSearchCV(lw.TreeClassifier(max_leaf=5, merge="mean"), grid, cv=2).fit(X, Y)
    assert len(search.cv_results_["params"]) == 6
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_what_is_set_after_training_waits_for_the_next(tmp_path):
    X, Y = generated()
    model = lw.TreeClassifier(max_leaf=5).fit(X, Y)
    saved = model.state().params
    model.set_params(copies=lw.Copies(2, merge="mean"), tree=lw.Interpolated())
    assert model.state().params == saved
    assert model.fit(X, Y).state().params == {**saved, "copies": 2, "merge": "mean", "tree": "interpolated"}


def test_a_signature_has_the_parameters_and_not_their_fields():
    names = list(signature(lw.TreeClassifier).parameters)
    assert {"tree", "copies"} <= set(names)
    assert not {"fields", "lam", *HOW} & set(names)
    assert list(signature(lw.OneVsRest).parameters) == list(lw.OneVsRest().get_params())


@dataclass(frozen=True)
class Turning(Bundle):
    """A bundle of a model that is none of Labelwood's."""

    renamed: ClassVar[Mapping[str, str]] = {"times": "turns"}

    times: int = 3
    speed: Annotated[float, Ge(0)] = 1.0


class Knob(Params):
    """It names the bundle, and no field of it."""

    bundles: ClassVar[Mapping[str, type[Bundle]]] = {"turns": Turning}

    def __init__(self, *, turns: int | Turning = 3, **fields: Any) -> None:
        self._set_bundles(fields, turns=turns)


def test_a_field_is_a_parameter_without_another_word():
    for knob in (
        Knob(speed=2.0),
        Knob(turns=Turning(speed=2.0)),
        Knob().set_params(turns__speed=2.0),
        Knob().set_params(speed=2.0),
        with_attributes(Knob(), speed=2.0),
    ):
        assert knob.settled() == knob.get_params() == {"turns": 3, "speed": 2.0}
        assert repr(knob) == "Knob(speed=2.0)"
        assert Turning.of(knob) == Turning(speed=2.0)
    with pytest.raises(ParameterError, match=r"Knob: speed is -1\.0 but should be"):
        Knob(speed=-1.0).settled()


def test_type_checkers_know_fields_that_there_are():
    assert set(CopiesFields.__annotations__) <= set(lw.Copies.param_names().values())
    assert set(InterpolatedFields.__annotations__) <= set(lw.Interpolated.param_names().values())
