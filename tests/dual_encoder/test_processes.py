"""Two processes that train together, as `accelerate launch` starts them, learn the same as one alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
import torch
from tests.dual_encoder import together
from tests.dual_encoder.samples import texts_and_labels, write_checkpoint

import labelwood as lw
from labelwood.dual_encoder.gpu import processes
from labelwood.dual_encoder.gpu.processes import Processes
from labelwood.errors import LabelwoodError, ParameterError

pytestmark = pytest.mark.deep

SECONDS = 240  # it takes 15 on an idle machine
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two encoders, one with dropout and one without."""
    folder = tmp_path_factory.mktemp("together")
    for name, dropout in (("dropout", 0.1), ("bert", 0.0)):
        torch.manual_seed(0)
        write_checkpoint(folder / name)
        path = folder / name / "config.json"
        config = json.loads(path.read_text())
        config |= {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
        path.write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def both(folder):
    """The results of two processes, and the output of each."""
    # We choose a free port for them, while `accelerate launch` has a fixed one, which could be in use.
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    common = {"WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": store.port}
    common |= {"TORCHELASTIC_USE_AGENT_STORE": True, "OMP_NUM_THREADS": 1, "HF_HUB_OFFLINE": 1, "PYTHONPATH": ROOT}
    logs = [folder / f"process-{rank}.log" for rank in (0, 1)]
    started = [_start(folder, log, {**common, "RANK": rank, "LOCAL_RANK": rank}) for rank, log in enumerate(logs)]
    try:
        until = monotonic() + SECONDS
        while any(p.poll() is None for p in started) and not any(p.poll() for p in started) and monotonic() < until:
            sleep(0.1)
    finally:
        for process in started:  # if one fails or hangs, the other waits for it
            process.kill()
            process.wait()
    printed = [log.read_text() for log in logs]
    assert [process.returncode for process in started] == [0, 0], "\n".join(printed)
    return [dict(np.load(folder / f"process-{rank}.npz")) for rank in (0, 1)], printed


def _start(folder, log, environment):
    others = {name: value for name, value in os.environ.items() if not name.startswith("ACCELERATE_")}
    with log.open("w") as file:
        return subprocess.Popen(
            [sys.executable, "-W", "error::FutureWarning", str(ROOT / "tests/dual_encoder/together.py"), str(folder)],
            env=others | {name: str(value) for name, value in environment.items()},
            stdout=file,
            stderr=file,
        )


def part(found, name):
    return {key.partition("/")[2]: array for key, array in found.items() if key.partition("/")[0] == name}


NAMES = list(together.cases(Path()))


@pytest.mark.parametrize("name", NAMES)
def test_two_processes_learn_the_weights_of_one(folder, both, name):
    alone = together.outcome(together.trained(together.cases(folder)[name]))
    rounding = 1e-4 if name.startswith("half") else 1e-5
    for found in both[0]:
        with_others = part(found, name)
        assert with_others.keys() == alone.keys()
        for key, array in alone.items():
            assert array.shape == with_others[key].shape, key
            assert np.allclose(array, with_others[key], rtol=0, atol=rounding), key


def test_two_processes_stop_early_at_the_same_epoch_as_one(folder, both):
    alone = together.outcome(together.trained(together.cases(folder)["early stop"]))
    assert len(alone["P@1"]) < 30
    for found in both[0]:
        assert np.array_equal(part(found, "early stop")["P@1"], alone["P@1"])


def test_all_processes_end_with_exactly_the_same_results(both):
    first, second = both[0]
    assert first.keys() == second.keys()
    differing = [key for key in first if not np.array_equal(first[key], second[key])]
    assert differing == ["randomness/own"], "each process has its own dropout"


def test_two_killed_processes_resume_to_the_same_weights(both):
    for found in both[0]:
        straight, resumed = part(found, "straight"), part(found, "resumed")
        assert all(np.array_equal(straight[key], resumed[key]) for key in straight)


def test_one_process_can_resume_from_the_checkpoint_of_two(folder, both):
    resumed = together.outcome(together.resumed(together.HANDED_OVER, folder / "handed over by 0"))
    for key, array in together.outcome(together.trained(together.HANDED_OVER)).items():
        assert np.allclose(array, resumed[key], rtol=0, atol=1e-5), key


def test_different_checkpoints_in_processes_are_an_error(both):
    assert all(found["refusal/is clear"] for found in both[0])


def test_processes_disconnect_before_they_end(folder, both):
    """Otherwise threads of their connection could abort Python at its end."""
    assert [(folder / f"is-connected-{rank}").read_text() for rank in (0, 1)] == ["False", "False"]


def test_only_the_main_process_shows_progress_and_writes_files(folder, both):
    found, printed = both
    assert ["training" in text for text in printed] == [True, False]
    assert not (folder / "model-1").exists()
    assert not (folder / "handed over by 1").exists()
    model = lw.load(folder / "model-0")
    assert np.array_equal(model.predict_topk(texts_and_labels()[0], 3).ids, found[1]["classifier/ids"])


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("size", [1, 2, 5, 14])
def test_shares_have_equal_sizes_and_contain_every_id_in_order(n, size):
    ids = np.arange(size) * 3
    shares = [Processes(rank, n).share(ids) for rank in range(n)]
    assert len({len(share) for share in shares}) == 1
    assert np.concatenate(shares)[:size].tolist() == ids.tolist()


def test_without_accelerate_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setattr(processes, "find_spec", lambda name: None)
    with pytest.raises(LabelwoodError, match="accelerate, which is not installed: pip install"):
        Processes.connect()


def test_one_gpu_for_all_processes_is_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "0")
    with pytest.raises(ParameterError, match="leave it out, each process has its own"):
        Processes.connect("cuda:0")
