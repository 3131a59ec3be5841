"""What every error looks like."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import labelwood as lw
from labelwood.errors import InputError, LabelwoodError, ModelError, ParameterError


@pytest.mark.parametrize("kind", [LabelwoodError, ModelError, ParameterError, InputError])
@pytest.mark.parametrize("mark", ["\n", "\r", "\0", "\x1b", "\u2028", "\x85"])
def test_what_an_error_quotes_stays_on_its_line(kind, mark):
    message = str(kind(f"the label 'a{mark}b' is odd; mend it"))
    assert mark not in message
    assert message.startswith("the label 'a\\")
    assert message.endswith("b' is odd; mend it")


def test_a_long_message_keeps_its_beginning_and_its_fix():
    error = LabelwoodError(f"the label {'x' * 100_000} is long; shorten it")
    assert len(str(error)) < 2100
    assert str(error).startswith("the label xxx")
    assert str(error).endswith("; shorten it")
    assert str(pickle.loads(pickle.dumps(error))) == str(copy.copy(error)) == str(error)


def test_a_long_value_of_a_parameter_is_cut():
    with pytest.raises(ParameterError, match=r"^CentroidClassifier: n_threads is 'x{199}… but should be") as caught:
        lw.CentroidClassifier(n_threads="x" * 100_000).fit(np.eye(2), np.eye(2))
    assert len(str(caught.value)) < 500
