"""Examples in docstrings run, and every public name has one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import labelwood

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(labelwood.__path__, "labelwood.")
    if not module.name.endswith("._native")
)
DEEP = ("labelwood.devices", "labelwood.dual_encoder", "labelwood.groups.multi_instance")
ROOMS = [
    "labelwood",
    "labelwood.groups",
    "labelwood.data",
    "labelwood.explaining",
    "labelwood.text",
    "labelwood.labels",
    "labelwood.metrics",
    "labelwood.dual_encoder",
    "labelwood.store",
    "labelwood.tuning",
    "labelwood.trees",
]


def marked(module):
    """A parameter, with the marker of what its examples need."""
    return pytest.param(module, marks=[pytest.mark.deep] if module.startswith(DEEP) else [])


@pytest.mark.parametrize("name", [marked(module) for module in MODULES])
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as e:
        if e.name != "triton":
            raise
        pytest.skip("needs triton, which comes with torch for GPUs")
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_callable_has_an_example(room):
    module = importlib.import_module(room)
    public = [getattr(module, name) for name in module.__all__]
    without = [thing.__name__ for thing in public if callable(thing) and ">>>" not in (thing.__doc__ or "")]
    assert not without
