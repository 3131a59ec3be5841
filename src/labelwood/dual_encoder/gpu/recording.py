"""Steps of training that a GPU repeats from a recording: to ask for all they do takes longer than to do it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

from labelwood.errors import LabelwoodError


class Recorder:
    """A step of training on a GPU, recorded once for each size of its inputs and replayed from then on.

    The first step of a size is done as it is, so that everything is compiled; the second is recorded, if there is
    memory for it. What `step` changes must stay where it is, it must not wait for the GPU, and it returns one tensor.
    Recordings use the same memory one after the other, that of the largest step. When a larger one comes, all are
    forgotten and made again, in memory for that.

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
        self._has_room: bool | None  # None before it is asked
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
            return self._done(inputs)
        if self._has_room is None:
            self._has_room = has_room(self._stream.device)
        if not self._has_room:
            return self._done(inputs)
        replayed = self._recordings[sizes] = self._recordings[sizes] or self._recorded(inputs)
        return replayed(inputs)

    def release(self) -> None:
        """Forgets all recordings and sizes; the memory is there for others."""
        self._recordings.clear()
        self._forget()

    def _forget(self) -> None:
        """Forgets all recordings, not which sizes there are."""
        self._recordings = dict.fromkeys(self._recordings)
        self._has_room = None
        self._pool = torch.cuda.graph_pool_handle()  # another one ends with the last of its recordings
        torch.cuda.empty_cache()

    def _done(self, inputs: tuple[Any, ...]) -> Any:
        """Not recorded, but where recording takes place: what torch keeps for each stream is there then."""
        around = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(around)
        with torch.cuda.stream(self._stream):
            found = self._step(*inputs)
        around.wait_stream(self._stream)
        return found

    def _recorded(self, inputs: tuple[Any, ...]) -> Callable[..., Any]:
        """Records the step, which does not do it yet."""
        graph, own = torch.cuda.CUDAGraph(), [tensor.clone() for tensor in inputs]
        try:
            with _without_collections(), torch.cuda.stream(self._stream):
                graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")  # other threads may go on
                try:
                    if not self.n_recorded:
                        _reserve(self._stream.device)
                    found = self._step(*own)
                finally:
                    graph.capture_end()
        except RuntimeError as e:
            cause = e.__context__ or e  # where the step failed, its end only says that something had
            if isinstance(cause, KeyboardInterrupt):
                raise cause from None
            reason = str(cause).partition("\n")[0]
            raise LabelwoodError(
                f"steps with this encoder cannot be recorded ({reason}): set training.replay to false, in a new process"
            ) from e

        def replayed(inputs: tuple[Any, ...]) -> Any:
            for mine, given in zip(own, inputs, strict=True):
                mine.copy_(given)
            graph.replay()
            return found.clone()  # the next replay overwrites it

        return replayed


def _n_numbers(sizes: tuple[Any, ...]) -> int:
    return sum(size.numel() for size in sizes)


@cache
def _stream_of(device: int) -> Any:
    """One for all trainings: torch keeps some memory for each for good."""
    return torch.cuda.Stream(device)


def has_room(device: Any) -> bool:
    """Whether steps can be recorded, and others be done beside them: each needs as much as ever was used at a time.

    While a step is recorded torch cannot give back what it keeps for later, so that this is done before.
    """
    torch.cuda.empty_cache()
    return bool(torch.cuda.mem_get_info(device)[0] >= 2 * torch.cuda.max_memory_allocated(device))


def _reserve(device: Any) -> None:
    """Takes all the memory of recordings in one piece: from pieces that fit one size, torch could not make others."""
    n_bytes = torch.cuda.max_memory_allocated(device) - torch.cuda.memory_allocated(device)
    torch.empty(n_bytes, dtype=torch.uint8, device=device)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Another recording that is let go now would spoil the one that is made."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
