"""Records training steps as CUDA graphs and replays them: launching kernels one by one takes longer than they run."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

from labelwood.errors import LabelwoodError


class Recorder:
    """A training step on a GPU, recorded once for each size of its inputs and then replayed.

    The first step of a size runs normally, so that everything is compiled. The second is recorded, if there is enough
    memory. `step` must change tensors in place, must not wait for the GPU, and must return one tensor. All recordings
    share the memory of the largest step. A larger step drops them all, and they are recorded again with more memory.

    Example:
        >>> if torch.cuda.is_available():
        ...     total = torch.zeros(1, device="cuda")
        ...     add = Recorder(lambda numbers: total.add_(numbers.sum()), "cuda")
        ...     found = [add(torch.ones(n, device="cuda")).item() for n in (2, 2, 3, 2)]
        ...     assert found == [2.0, 4.0, 7.0, 9.0]
        ...     assert add.n_recorded == 1
    """

    def __init__(self, step: Callable[..., Any], device: Any) -> None:
        self._step = step
        index = torch.device(device).index
        self._stream = _stream_of(torch.cuda.current_device() if index is None else index)
        self._recordings: dict[tuple[Any, ...], Callable[..., Any] | None] = {}
        self._has_room: bool | None  # None before it is known
        self.release()

    @property
    def n_recorded(self) -> int:
        """How many sizes have been recorded."""
        return sum(recording is not None for recording in self._recordings.values())

    def __call__(self, *inputs: Any) -> Any:
        """What the step returns for these inputs."""
        sizes = tuple(tensor.shape for tensor in inputs)
        if sizes not in self._recordings:
            if all(_n_numbers(sizes) > _n_numbers(others) for others in self._recordings):
                self._forget()
            self._recordings[sizes] = None
            return self._run(inputs)
        if self._has_room is None:
            self._has_room = has_room(self._stream.device)
        if not self._has_room:
            return self._run(inputs)
        replay = self._recordings[sizes] = self._recordings[sizes] or self._record(inputs)
        return replay(inputs)

    def release(self) -> None:
        """Drops all recordings and sizes, and frees their memory."""
        self._recordings.clear()
        self._forget()

    def _forget(self) -> None:
        """Drops all recordings but keeps the list of sizes."""
        self._recordings = dict.fromkeys(self._recordings)
        self._has_room = None
        self._pool = torch.cuda.graph_pool_handle()  # the old pool is freed with its last recording
        torch.cuda.empty_cache()

    def _run(self, inputs: tuple[Any, ...]) -> Any:
        """Runs the step without recording, but on the recording stream, so that torch's caches for it are filled."""
        outer = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(outer)
        with torch.cuda.stream(self._stream):
            found = self._step(*inputs)
        outer.wait_stream(self._stream)
        return found

    def _record(self, inputs: tuple[Any, ...]) -> Callable[..., Any]:
        """Records the step without running it; returns a function that replays it."""
        graph, own = torch.cuda.CUDAGraph(), [tensor.clone() for tensor in inputs]
        try:
            with _no_collections(), torch.cuda.stream(self._stream):
                graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")  # other threads may continue
                try:
                    if not self.n_recorded:
                        _reserve(self._stream.device)
                    found = self._step(*own)
                finally:
                    graph.capture_end()
        except RuntimeError as e:
            cause = e.__context__ or e  # the error of `capture_end` hides the one of the step
            if isinstance(cause, KeyboardInterrupt):
                raise cause from None
            reason = str(cause).partition("\n")[0]
            raise LabelwoodError(
                f"steps with this encoder cannot be recorded ({reason}): set training.replay to false, in a new process"
            ) from e

        def replay(inputs: tuple[Any, ...]) -> Any:
            for mine, given in zip(own, inputs, strict=True):
                mine.copy_(given)
            graph.replay()
            return found.clone()  # the next replay overwrites it

        return replay


def _n_numbers(sizes: tuple[Any, ...]) -> int:
    return sum(size.numel() for size in sizes)


@cache
def _stream_of(device: int) -> Any:
    """One stream per device for all trainings: torch never frees the memory it keeps for a stream."""
    return torch.cuda.Stream(device)


def has_room(device: Any) -> bool:
    """Whether there is memory for recordings and for other steps: each needs as much as the peak so far.

    Torch cannot free its cached memory during a recording, so it does so here.
    """
    torch.cuda.empty_cache()
    return bool(torch.cuda.mem_get_info(device)[0] >= 2 * torch.cuda.max_memory_allocated(device))


def _reserve(device: Any) -> None:
    """Allocates the memory of recordings as one block: torch cannot reuse blocks of one size for another."""
    n_bytes = torch.cuda.max_memory_allocated(device) - torch.cuda.memory_allocated(device)
    torch.empty(n_bytes, dtype=torch.uint8, device=device)


@contextmanager
def _no_collections() -> Iterator[None]:
    """Turns the garbage collector off: freeing another recording would break the current one."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
