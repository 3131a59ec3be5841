"""The lines that compare a dual encoder with trees: each model once, filters kept, fused ones ahead."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import labelwood as lw
from lab.experiments.prime.corpora import reversed_pairs
from lab.experiments.prime.fusion import METRICS, Part, compare, encoder_answers, split

pytestmark = pytest.mark.deep

N_LABELS = 120


def made(n, seed):
    """Rows whose words say the label's last digit and whose embeddings say the rest of it, both with noise."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(N_LABELS, n, p=_chances())
    words = np.eye(10)[np.where(rng.random(n) < 0.9, labels % 10, rng.integers(10, size=n))]
    words = np.hstack([words, np.eye(N_LABELS)[np.where(rng.random(n) < 0.4, labels, rng.integers(N_LABELS, size=n))]])
    embeddings = _places()[labels] + 0.25 * rng.normal(size=(n, 16))
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    Y = sparse.csr_array((np.ones(n, np.float32), labels, np.arange(n + 1)), shape=(n, N_LABELS))
    return sparse.csr_array(words.astype(np.float32)), embeddings.astype(np.float32), Y


def _chances():
    weights = 1 / (1 + np.arange(N_LABELS))
    return weights / weights.sum()


def _places():
    places = np.random.default_rng(9).normal(size=(N_LABELS, 16))
    return (places / np.linalg.norm(places, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def parts():
    filters = np.array([[0, 0], [0, 1], [3, 7]])
    return Part(*made(1500, 0)), Part(*made(600, 1)), Part(*made(600, 2), filters)


@pytest.fixture(scope="module")
def lines(parts):
    return compare(*parts, _places(), _places(), tree={"n_threads": 1})


def test_there_is_a_line_for_each_model_alone_and_fused(lines):
    names = [line["model"] for line in lines]
    assert names[:5] == ["tree", "PRIME", "W", "PRIME W", "tree on both"]
    assert names[5:] == ["tree + PRIME W", "tree on both + PRIME W", "tree + tree on both + PRIME W"]
    assert all(0 <= line[name] <= 100 for line in lines for name in METRICS)


def test_fused_answers_are_ahead_and_the_lead_is_what_it_says(lines):
    of = {line["model"]: line for line in lines}
    fused = of["tree + PRIME W"]
    leads = [fused[m] - max(of["tree"][m], of["PRIME W"][m]) for m in ("P@1", "P@5", "PSP@5")]
    assert fused["ahead"] == pytest.approx(min(leads))
    assert fused["P@1"] > max(of["tree"]["P@1"], of["PRIME W"]["P@1"]) + 3


def test_filtered_labels_are_no_answers(parts):
    answers = encoder_answers(_places(), parts[1:])
    assert answers.test.ids.shape == (600, 100)
    assert not np.isin(answers.test.ids[0], [0, 1]).any()
    assert 7 not in answers.test.ids[3]


def test_every_row_is_either_learned_from_or_held_out():
    Y = sparse.csr_array(np.eye(20)[:, :15])
    learn, held_out = split(Y, 0.2, seed=0)
    assert sorted([*learn, *held_out]) == list(range(20))
    assert len(held_out) == 3
    assert (held_out < 15).all()


def test_reversed_pairs_are_those_that_were_learned_the_other_way_round():
    books, texts = ["a", "b", "c"], {"label_texts": ["a text", "b text", "c text"], "labels": ["a", "b", "c"]}
    learned = lw.Dataset(texts=["b text", "c text", "other"], Y=[[1, 0, 1], [0, 1, 0], [1, 1, 1]], **texts)
    rows = lw.Dataset(texts=["other", "a text", "c text"], Y=[[1, 1, 1], [0, 1, 1], [1, 1, 0]], **texts)
    pairs = [(["other", "a", "c"][row], books[label]) for row, label in reversed_pairs(rows, learned)]
    assert pairs == [("a", "b"), ("c", "b")]
