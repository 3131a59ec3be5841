"""Steps that are recorded for each size of their inputs do the same as unrecorded steps."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tests.dual_encoder.gpus import on_a_gpu

from labelwood.dual_encoder.gpu import recording
from labelwood.dual_encoder.gpu.recording import Recorder, has_room
from labelwood.errors import LabelwoodError

pytestmark = pytest.mark.deep


class Graph:
    """Replaces a CUDA graph if there is no GPU: replays the function that the step set."""

    made = None  # the graph that is being recorded

    def capture_begin(self, *, pool, capture_error_mode):
        Graph.made, self.pool = self, pool

    def capture_end(self):
        Graph.made = None

    def replay(self):
        self.work()


class Memory:
    """The memory of a simulated GPU; recordings need twice as much as a step."""

    def __init__(self):
        self.free = 20


@pytest.fixture
def memory(monkeypatch):
    """Simulates a GPU; only the numbers stay on the CPU."""
    memory, stream = Memory(), SimpleNamespace(device="cpu", wait_stream=lambda other: None)
    stands_in = {
        "CUDAGraph": Graph,
        "graph_pool_handle": count().__next__,
        "current_device": lambda: 0,
        "current_stream": lambda device: stream,
        "stream": lambda stream: nullcontext(),
        "empty_cache": lambda: None,
        "mem_get_info": lambda device: (memory.free, 80),
        "max_memory_allocated": lambda device: 10,
        "memory_allocated": lambda device: 4,
    }
    for name, instead in stands_in.items():
        monkeypatch.setattr(torch.cuda, name, instead)
    monkeypatch.setattr(recording, "_stream_of", lambda device: stream)
    return memory


class Sums:
    """A step that adds numbers to a total. It logs how many numbers it gets whenever Python runs it."""

    def __init__(self, device):
        self.total, self.asked = torch.zeros(1, device=device), []

    def __call__(self, numbers):
        self.asked.append(len(numbers))
        if Graph.made is None:
            return self.total.add_(numbers.sum()).clone()
        found = torch.zeros(1)
        Graph.made.work = lambda: found.copy_(self.total.add_(numbers.sum()))
        return found


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=on_a_gpu)])
def device(request):
    if request.param == "cpu":
        request.getfixturevalue("memory")
    return request.param


def test_sizes_are_recorded_once_and_replayed_with_new_numbers(device):
    step, rng, expected = Sums(device), np.random.default_rng(0), 0.0
    recorder = Recorder(step, device)
    for _ in range(2):
        for size in (4, 4, 8, 4, 8, 8, 4, 2, 4):
            numbers = rng.integers(9, size=size)
            expected += float(numbers.sum())
            assert recorder(torch.from_numpy(numbers).to(device).float()).item() == expected
        assert recorder.n_recorded == 2
        assert step.asked == [4, 4, 8, 4, 8, 2], "4 runs and is recorded, again after 8; 2 came only once"
        recorder.release()
        assert recorder.n_recorded == 0
        step.asked.clear()


def test_recordings_share_memory_that_is_allocated_at_once(memory, monkeypatch):
    made, taken = [], []
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: made.append(Graph()) or made[-1])
    monkeypatch.setattr(recording, "_reserve", lambda device: taken.append(len(made)))
    recorder = Recorder(Sums("cpu"), "cuda")
    for size in (4, 4, 3, 3, 5, 4, 5, 3):
        recorder(torch.ones(size))
    first, second, *others = [graph.pool for graph in made]
    assert first == second, "4 and 3"
    assert first not in others, "all are recorded again in the memory of 5"
    assert len(others) == 3
    assert len(set(others)) == 1
    assert taken == [1, 3]


def test_nothing_is_recorded_without_enough_memory(memory):
    memory.free = 19
    step = Sums("cpu")
    recorder = Recorder(step, "cuda")
    for _ in range(3):
        recorder(torch.ones(4))
    assert step.asked == [4, 4, 4]
    assert recorder.n_recorded == 0
    memory.free = 20
    for _ in range(3):
        recorder(torch.ones(8))
    assert recorder.n_recorded == 1, "memory is checked again for a larger step"


@pytest.mark.parametrize("error", [RuntimeError("not permitted\nwhen recording"), KeyboardInterrupt()])
def test_a_step_that_cannot_be_recorded_is_one_clear_sentence(memory, monkeypatch, error):
    def end(graph):
        Graph.made = None
        raise RuntimeError("the recording failed for a previous error")

    def step(numbers):
        if Graph.made is not None:
            raise error

    monkeypatch.setattr(Graph, "capture_end", end)
    recorder = Recorder(step, "cuda")
    recorder(torch.ones(4))
    with pytest.raises((LabelwoodError, KeyboardInterrupt)) as e:
        recorder(torch.ones(4))
    if isinstance(error, KeyboardInterrupt):
        assert e.value is error
    else:
        assert "cannot be recorded (not permitted): set training.replay to false" in str(e.value)


@on_a_gpu
def test_each_replay_has_other_dropout_on_cuda():
    recorder = Recorder(lambda ones: torch.nn.functional.dropout(ones, 0.5), "cuda")
    found = [recorder(torch.ones(64, device="cuda")) for _ in range(6)]
    assert recorder.n_recorded == 1
    assert all(0 < float(each.mean()) < 2 for each in found)
    assert not any(torch.equal(a, b) for i, a in enumerate(found) for b in found[:i])


@on_a_gpu
def test_recordings_of_all_sizes_share_the_memory_of_the_largest_on_cuda():
    def step(numbers):
        return sum((numbers * n).sum() for n in range(8)) + numbers.sort().values.cumsum(0).sum()

    def held(sizes, n_recorded):
        torch.cuda.reset_peak_memory_stats()
        recorder = Recorder(step, "cuda")
        for size in sizes:
            recorder(torch.ones(size << 20, device="cuda"))
        assert recorder.n_recorded == n_recorded
        torch.cuda.empty_cache()
        return torch.cuda.memory_reserved()

    sizes = range(20, 40)
    most = 1.5 * held([39] * 2, 1) + sum(4 * size << 20 for size in sizes)  # plus an input for each size
    assert held([*sizes] * 3, 20) < most
    assert held([*sizes, *sizes][::-1], 20) < most
    assert held(np.repeat(sizes, 2).tolist(), 1) < most, "each size is larger than the ones before, which are dropped"


@pytest.mark.parametrize(("free", "cached", "fits"), [(20, 0, True), (15, 5, True), (15, 4, False)])
def test_steps_are_recorded_only_if_another_step_fits_into_memory(memory, monkeypatch, free, cached, fits):
    memory.free = free
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: setattr(memory, "free", free + cached))
    assert has_room("cuda") == fits
