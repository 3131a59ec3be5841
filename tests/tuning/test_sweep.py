"""A sweep trains only what is missing, refuses to mix data, and leaves no half-written files."""

from __future__ import annotations

import csv
import fcntl
import json
import os

import numpy as np
import pytest

import labelwood as lw
from labelwood.errors import InputError, LabelwoodError, ParameterError
from labelwood.tuning import latency, sweep, workers
from labelwood.tuning.grid import Run
from labelwood.tuning.worker import classifier

QUICK = {"seeds": 1, "jobs": 1, "latency_rows": 20, "latency_rounds": 2}


@pytest.fixture(scope="module")
def rows():
    """Rows whose features are their labels plus noise; some labels are frequent, others rare."""
    random = np.random.default_rng(0)
    shares = 1 / np.arange(1, 31)
    Y = (random.random((300, 30)) < shares).astype(float)
    Y[np.arange(300), random.integers(0, 30, 300)] = 1
    X = Y + 0.1 * random.random(Y.shape)
    return X[:200], Y[:200], X[200:], Y[200:]


def files(folder):
    return {path.name: path.read_bytes() for path in (folder / "runs").iterdir()}


def test_json_csv_and_runs_agree_and_the_work_folder_is_removed(rows, tmp_path):
    found = sweep(*rows, tmp_path / "r", lams=[0, 2], **{**QUICK, "seeds": 2, "jobs": 2})
    saved = json.loads((tmp_path / "r/tradeoff.json").read_text())
    assert saved["points"] == found["points"]
    with (tmp_path / "r/tradeoff.csv").open() as table:
        lines = list(csv.DictReader(table))
    assert [float(line["lam"]) for line in lines] == [0, 2]
    for line, point in zip(lines, saved["points"], strict=True):
        figures = [run["figures"] for run in saved["runs"] if run["lam"] == point["lam"]]
        assert len(figures) == point["seeds"] == 2
        for name in ("P@1", "depth@5", "p50_ms", "search_nodes", "model_bytes"):
            assert float(line[name]) == pytest.approx(np.mean([run[name] for run in figures]))
            assert float(line[f"{name}_spread"]) == pytest.approx(np.ptp([run[name] for run in figures]))
    assert not (tmp_path / "r/work").exists()
    shape = saved["runs"][0]["shape"]
    assert sum(shape["labels"]) == pytest.approx(1)
    assert sum(shape["occurrences"]) == pytest.approx(1)


def test_a_second_sweep_trains_only_what_is_missing(rows, tmp_path):
    first = sweep(*rows, tmp_path / "r", lams=[0, 1], **QUICK)
    before = files(tmp_path / "r")
    assert (first["trained"], len(before)) == (2, 2)
    assert sweep(*rows, tmp_path / "r", lams=[0, 1], **QUICK)["trained"] == 0
    assert files(tmp_path / "r") == before
    gone = next(name for name in before if "-lam1-" in name)
    (tmp_path / "r/runs" / gone).unlink()
    assert sweep(*rows, tmp_path / "r", lams=[0, 1], **QUICK)["trained"] == 1
    after = files(tmp_path / "r")
    assert [name for name in before if after[name] != before[name]] == [gone]
    more = sweep(*rows, tmp_path / "r", lams=[0, 1, 2], **QUICK)
    assert more["trained"] == 1
    assert [point["lam"] for point in more["points"]] == [0, 1, 2]


def test_a_missing_latency_is_measured_without_training_again(rows, tmp_path, monkeypatch):
    measure = latency.measure

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(latency, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(*rows, tmp_path / "r", lams=[0, 1], **QUICK)
    assert all(json.loads(text)["latency"] is None for text in files(tmp_path / "r").values())
    monkeypatch.setattr(latency, "measure", measure)
    assert sweep(*rows, tmp_path / "r", lams=[0, 1], **QUICK)["trained"] == 0
    assert all(json.loads(text)["latency"]["p50_ms"] > 0 for text in files(tmp_path / "r").values())


def test_runs_with_damaged_or_foreign_files_are_trained_again(rows, tmp_path):
    sweep(*rows, tmp_path / "r", lams=[0, 1], **QUICK)
    one, other = sorted((tmp_path / "r/runs").iterdir())
    one.write_text(one.read_text()[:50])
    other.write_text(json.dumps({**json.loads(other.read_text()), "fingerprint": "another"}))
    assert sweep(*rows, tmp_path / "r", lams=[0, 1], **QUICK)["trained"] == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, Y, X2, Y2: ((2 * X, Y, X2, Y2), {}), "other training rows"),
        (lambda X, Y, X2, Y2: ((X, Y, X2[1:], Y2[1:]), {}), "other held-out rows"),
        (lambda *rows: (rows, {"variants": {"interpolated": {"cost": 2.0}}}), "other settings of the model"),
        (lambda *rows: (rows, {"latency_rows": 5}), "other settings of the latency measurement"),
    ],
)
def test_another_fingerprint_is_refused_unless_restarted(rows, tmp_path, change, words, monkeypatch):
    def no_work(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(workers, "train_in_workers", no_work)
    with pytest.raises(ZeroDivisionError):
        sweep(*rows, tmp_path / "r", lams=[0], **QUICK)
    matrices, options = change(*rows)
    with pytest.raises(InputError, match=words + ".*--restart"):
        sweep(*matrices, tmp_path / "r", lams=[0], **{**QUICK, **options})
    with pytest.raises(ZeroDivisionError):
        sweep(*matrices, tmp_path / "r", lams=[0], restart=True, **{**QUICK, **options})


def test_variants_with_tree_options_and_other_builders_run_together(rows, tmp_path):
    variants = {
        "marginal": {"max_leaf": 2},
        "greedy": {"max_leaf": 2, "tree_options": {"rule": "greedy", "midpoint": False}},
        "kmeans": {"tree": "kmeans", "arity": 4, "max_leaf": 4},
    }
    found = sweep(*rows, tmp_path / "r", lams=[0, 1.5], variants=variants, **QUICK)
    kinds = [(point["variant"], point["lam"]) for point in found["points"]]
    assert kinds == [("marginal", 0), ("marginal", 1.5), ("greedy", 0), ("greedy", 1.5), ("kmeans", None)]
    # The rule matters only for λ above 0; at 0 both trees are the same.
    depths = {kind: point["mean"]["depth@1"] for kind, point in zip(kinds, found["points"], strict=True)}
    assert depths["marginal", 0] == depths["greedy", 0]
    assert depths["marginal", 1.5] != depths["greedy", 1.5]


def test_tree_options_reach_the_builder(rows):
    X, Y, *_ = rows
    shared = {"max_leaf": 2, "arity": 3}
    plain = classifier(Run("a", 1.5, 3, model=shared)).fit(X, Y)
    same = classifier(Run("a", 1.5, 3, tree={"rule": "marginal"}, model=shared)).fit(X, Y)
    assert np.array_equal(plain.trees_[0].tree.label_depths, same.trees_[0].tree.label_depths)


def test_filtered_answers_do_not_count(rows, tmp_path):
    X, Y, X2, Y2 = rows
    plain = sweep(X, Y, X2, Y2, tmp_path / "a", lams=[0], **QUICK)["points"][0]["mean"]
    every = np.argwhere(Y2)
    filtered = sweep(X, Y, X2, Y2, tmp_path / "b", lams=[0], filters=every, **QUICK)["points"][0]["mean"]
    assert plain["P@1"] > 50
    assert filtered["P@1"] == 0


def test_an_error_in_a_worker_is_raised_and_finished_runs_are_kept(rows, tmp_path):
    variants = {"good": {}, "bad": {"tree_options": {"rule": "nonsense"}}}
    with pytest.raises(LabelwoodError, match="rule must be marginal"):
        sweep(*rows, tmp_path / "r", lams=[1], variants=variants, **QUICK)
    assert [name.partition("-")[0] for name in files(tmp_path / "r")] == ["good"]


def test_a_worker_that_dies_is_noticed(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(workers.sys, "executable", "/bin/false")
    with pytest.raises(LabelwoodError, match="finished runs are kept"):
        sweep(*rows, tmp_path / "r", lams=[1], **QUICK)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lams": [3]}, "from 0 to 2"),
        ({"lams": []}, "at least one"),
        ({"seeds": 0}, "at least 1"),
        ({"variants": {}}, "at least one"),
        ({"variants": {"a": {"lam": 1.0}}}, "the sweep itself sets lam"),
        ({"variants": {"a": {"tree": lw.Interpolated(1.5)}}}, "the sweep itself sets lam"),
        ({"variants": {"a": {"tree": "kmeans", "tree_options": {"rule": "greedy"}}}}, "not for kmeans"),
        ({"variants": {"a": {"tree_options": {"rules": "greedy"}}}}, "no option 'rules'"),
        ({"variants": {"a": {"coste": 1.0}}}, "did you mean 'cost'"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(rows, tmp_path, options, words):
    with pytest.raises(ParameterError, match=words):
        sweep(*rows, tmp_path / "r", **{**QUICK, **options})
    assert not (tmp_path / "r").exists()


def test_a_folder_with_other_files_is_not_touched(rows, tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(InputError, match="neither empty nor a report"):
        sweep(*rows, tmp_path, lams=[0], restart=True, **QUICK)
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_only_one_sweep_at_a_time_can_use_a_folder(rows, tmp_path):
    sweep(*rows, tmp_path, lams=[0], **QUICK)
    held = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        with pytest.raises(InputError, match="in use by another sweep"):
            sweep(*rows, tmp_path, lams=[0], **QUICK)
    finally:
        os.close(held)
    assert sweep(*rows, tmp_path, lams=[0], **QUICK)["trained"] == 0
