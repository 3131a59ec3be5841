"""What attacks are made of: an attack on something that is broken anyway would prove nothing."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from attack.answers import check_top, same_answers
from attack.opened import Opened
from attack.protocol import Failure
from scipy import sparse

import labelwood as lw
from attack import file_samples, hostile_arrays, model_samples, mutations
from labelwood.arrays.topk import TopK


@pytest.mark.parametrize("name", ["tree", "softmax-compressed", "text", "fused"])
def test_a_model_that_was_not_changed_loads_and_answers_the_same(name, tmp_path):
    model_samples.MADE[name](tmp_path).save(tmp_path / "model")
    Opened(tmp_path / "model").write(tmp_path / "again")
    answers = [lw.load(tmp_path / place).predict_topk(model_samples.questions(name), 3) for place in ("model", "again")]
    assert same_answers(*answers)


def test_most_changes_of_a_model_reach_what_is_behind_the_hashes(tmp_path):
    model_samples.tree(tmp_path).save(tmp_path / "model")
    told = []
    for number in range(60):
        opened = Opened(tmp_path / "model")
        mutations.model(Random(number), opened, [Opened(tmp_path / "model")])
        try:
            opened.write(tmp_path / str(number))
            lw.load(tmp_path / str(number))
        except (UnicodeEncodeError, lw.LabelwoodError, TypeError, ValueError) as error:
            told.append(str(error))
    assert len(told) > 20
    assert not [message for message in told if "sha256" in message]


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_matrices_in_other_forms_mean_the_same():
    sound = model_samples.rows(n_rows=20)[0]
    hows = set()
    for number in range(200):
        made = hostile_arrays.twisted(Random(number), sound)
        dense = made.value.toarray() if sparse.issparse(made.value) else np.asarray(made.value, np.float32)
        np.testing.assert_allclose(dense, sound.toarray(), rtol=1e-6, err_msg=made.how)
        hows.add(made.how)
    assert len(hows) > 15


def test_sound_files_of_every_format_are_read(tmp_path):
    file_samples.write_all(tmp_path)
    for name in file_samples.NAMES:
        assert len(lw.read(tmp_path / name / name)) >= 2


@pytest.mark.parametrize(
    ("ids", "scores"),
    [
        ([[0, 9]], [[1, 0]]),
        ([[0, 0]], [[1, 1]]),
        ([[0, 1]], [[0, 1]]),
        ([[-1, 1]], [[-np.inf, 1]]),
        ([[0, -1]], [[1, 0]]),
        ([[0, 1]], [[np.nan, 1]]),
        ([[0]], [[1]]),
    ],
)
def test_answers_that_are_not_well_formed_are_noticed(ids, scores):
    check_top(TopK(np.array([[1, -1]]), np.array([[1, -np.inf]])), 1, 2, 3)
    with pytest.raises(Failure, match="wrong answer"):
        check_top(TopK(np.array(ids), np.array(scores, np.float64)), 1, 2, 3)
