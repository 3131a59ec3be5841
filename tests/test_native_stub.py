"""What mypy knows of native code is what native code is, and one build of it serves every Python."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

from labelwood import _native
from labelwood.arrays.options import fields_of, options_of
from labelwood.errors import LabelwoodError

KEPT = Path(__file__).parents[1] / "src" / "labelwood" / "_native.pyi"
BUILT = Path(_native.__file__).with_name("_native.pyi")
OPTIONS = (_native.TrainingOptions, _native.SearchOptions, _native.SoftmaxOptions, _native.EagleOptions)


def test_the_stub_in_the_repository_is_that_of_the_last_build():
    assert KEPT.read_text("utf-8") == BUILT.read_text("utf-8"), f"the border has changed: cp {BUILT} {KEPT}"


def test_the_module_is_built_for_the_stable_interface_of_python():
    assert Path(_native.__file__).name == "_native.abi3.so"


@pytest.mark.parametrize("kind", OPTIONS)
def test_options_are_refused_without_a_value_for_every_field(kind):
    values = {name: getattr(kind(), name) for name in fields_of(kind)}
    assert fields_of(type(options_of(kind, values | {"another": 1}))) == tuple(values)
    for name in values:
        with pytest.raises(KeyError, match=name):
            options_of(kind, {other: value for other, value in values.items() if other != name})


def test_an_option_with_a_value_that_it_cannot_have_is_refused():
    options = _native.SearchOptions()
    for value in ("no such link", "", 1, None, "sigmoid\0"):
        with pytest.raises(TypeError):
            options.link = value
    options.link = "sigmoid"
    assert options.link == "sigmoid"


def test_a_structure_without_a_field_is_refused_by_its_name():
    with pytest.raises(LabelwoodError, match="there is no field indptr"):
        _native.check_csr((np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 1))


def test_every_native_function_says_what_it_does():
    named = [getattr(_native, name) for name in dir(_native) if not name.startswith("_")]
    assert len(named) > 40
    assert [thing for thing in named if not inspect.getdoc(thing)] == []
