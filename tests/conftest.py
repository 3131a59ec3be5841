"""What all tests share: the command line inside the test's process, which saves a second a call, and Hypothesis."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import NamedTuple

import pytest
from hypothesis import settings

from labelwood.cli import status_of

# New examples are for those who can look at what they find; a run that decides whether a change lands tries the same
# ones each time, and no example may fail for being slow on a busy machine.
settings.register_profile("decides", derandomize=True, deadline=None)
settings.register_profile("explores", deadline=None)
settings.load_profile("decides" if os.environ.get("CI") else "explores")


# A shell starts what it puts into the background deaf to Ctrl-C, and tests of Ctrl-C would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


DEEP_FILE = re.compile(r"^pytestmark = .*\bmark\.deep\b", re.MULTILINE)


def pytest_ignore_collect(collection_path, config):
    """A file that is deep as a whole imports torch, so it is not even opened where deep tests are left out."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    left_out = is_test and "not deep" in config.option.markexpr
    return True if left_out and DEEP_FILE.search(collection_path.read_text("utf-8")) else None


class Result(NamedTuple):
    """What a command printed and returned."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        """The object in the last line."""
        return json.loads(self.out.splitlines()[-1])


@pytest.fixture
def labelwood(capsys):
    """Calls a command: ``labelwood("train", path, "-o", model)``."""

    def call(*arguments):
        status = status_of([str(a) for a in arguments])
        return Result(status, *capsys.readouterr())

    return call


@pytest.fixture
def pets(tmp_path):
    """A small labelled file."""
    rows = [
        {"id": "a", "text": "a dog barks at the cat", "labels": ["animal", "pet"]},
        {"id": "b", "text": "the cat sleeps", "labels": ["animal", "pet"]},
        {"id": "c", "text": "a red rose blooms", "labels": ["plant"]},
        {"id": "d", "text": "the oak and the rose grow", "labels": ["plant", "tree"]},
    ]
    path = tmp_path / "pets.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def model(labelwood, pets, tmp_path):
    """A model trained on it."""
    assert labelwood("train", pets, "-o", tmp_path / "model", "--model", "centroid").status == 0
    return tmp_path / "model"
