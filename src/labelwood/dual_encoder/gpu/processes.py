"""Training in several processes, one per GPU, as `accelerate launch` starts them.

Each process encodes a share of a batch's texts and gathers the vectors of all, so it can compute the loss of the whole
batch. Gradients flow back only to the process's own share, multiplied by the number of processes. The mean of these
gradients over processes is the gradient of the batch. So a step is the same as in one process, up to rounding.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib.util import find_spec
from time import sleep
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import distributed

from labelwood.dual_encoder.training.gradient_cache import random_state, set_random_state
from labelwood.errors import LabelwoodError, ParameterError

Ids = NDArray[np.int64]
Array = TypeVar("Array", bound=NDArray[Any])
_DROPOUT = 5  # a random stream; the samplers and the held-out split use others
_SHUTDOWN_PAUSE = 0.1  # seconds
_PATIENCE = timedelta(hours=2)  # the others wait while the main process finds clusters


class Processes:
    """This process among those that train together. If it is alone, all methods return their input.

    Args:
        rank: The number of this process; 0 is the main one, which shows progress and writes files.
        n: The number of processes.
        device: Where this process computes.

    Example:
        >>> Processes(rank=1, n=2).share(np.array([10, 11, 12])).tolist()
        [12, 12]
        >>> Processes().share(np.array([10, 11, 12])).tolist()
        [10, 11, 12]
    """

    def __init__(self, rank: int = 0, n: int = 1, device: Any = "cpu") -> None:
        self.rank, self.n = rank, n
        self.device = torch.device(device)

    @classmethod
    def connect(cls, device: str | None = None) -> Processes:
        """Connects to the processes that were launched together, by Accelerate; without a launch it is alone.

        Example:
            >>> Processes.connect().n
            1
        """
        if int(os.environ.get("WORLD_SIZE") or 1) < 2 or "LOCAL_RANK" not in os.environ:
            return cls()
        if find_spec("accelerate") is None:
            raise LabelwoodError(
                "several processes need accelerate, which is not installed: pip install 'labelwood[deep]'"
            )
        if device not in (None, "cpu", "cuda"):
            raise ParameterError(f"device is {device!r} for several processes: leave it out, each process has its own")
        from accelerate import PartialState

        if not distributed.is_initialized():
            atexit.register(_disconnect)
        # Without a GPU, Accelerate connects processes only if `cpu` is set.
        state = PartialState(cpu=device == "cpu" or not torch.cuda.is_available(), timeout=_PATIENCE)
        return cls(state.process_index, state.num_processes, state.device)

    @property
    def is_main(self) -> bool:
        """Whether this is the process that shows progress and writes files.

        Example:
            >>> Processes().is_main
            True
        """
        return self.rank == 0

    def share(self, ids: Ids) -> Ids:
        """This process's part of `ids`. All parts have the same size; the last id is repeated to fill them.

        No process is without work, so all have gradients for the same weights.
        """
        size = -(-len(ids) // self.n)
        return ids[np.minimum(np.arange(self.rank * size, (self.rank + 1) * size), len(ids) - 1)]

    def gather(self, vectors: Any, n: int) -> Any:
        """Gathers the vectors of all `n` ids from the processes' shares; gradients flow back to the own share."""
        return vectors if self.n == 1 else _Gather.apply(vectors, self.rank, self.n)[:n]

    def average(self, parameters: Iterable[Any]) -> None:
        """Replaces each gradient by its mean over all processes."""
        if self.n == 1:
            return
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        together = torch.cat([gradient.ravel() for gradient in gradients])
        distributed.all_reduce(together)
        together /= self.n
        for gradient, mean in zip(gradients, together.split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(mean.view_as(gradient))

    def align(self, tensors: Iterable[Any]) -> None:
        """Copies tensors from the main process to the others, since sums on GPUs can differ in their last bits."""
        for tensor in tensors if self.n > 1 else ():
            distributed.broadcast(tensor.detach(), src=0)

    def from_main(self, array: Array) -> Array:
        """Returns the main process's array of any shape; others pass one of the same type and number of dimensions."""
        if self.n == 1:
            return array
        shape = torch.tensor(array.shape, device=self.device)
        distributed.broadcast(shape, src=0)
        shared = torch.empty(shape.tolist(), dtype=torch.from_numpy(array).dtype, device=self.device)
        if self.is_main:
            shared.copy_(torch.from_numpy(array))
        distributed.broadcast(shared, src=0)
        received: Array = shared.cpu().numpy()
        return received

    def agree(self, number: int) -> bool:
        """Whether the number is the same in all processes."""
        numbers = self.gather(torch.tensor([number], device=self.device), self.n)
        return bool((numbers == number).all())

    @contextmanager
    def main_first(self, when: bool = True) -> Iterator[None]:
        """Lets the main process run first, so that the others find its files on disk."""
        if when and not self.is_main:
            self.from_main(np.zeros(1))
        yield
        if when and self.is_main:
            self.from_main(np.zeros(1))

    @contextmanager
    def own_randomness(self, *moment: int) -> Iterator[None]:
        """Uses random numbers of this process, for the dropout of its share; then restores the common ones."""
        if self.n == 1:
            yield
            return
        before = random_state(self.device)
        torch.manual_seed(int(np.random.SeedSequence([*moment, self.rank, _DROPOUT]).generate_state(1)[0]))
        try:
            yield
        finally:
            set_random_state(before, self.device)


def _disconnect() -> None:
    """Closes the connection before Python ends, while its threads can still release their buffers.

    Otherwise the process could abort. The launcher would then kill the main process, even while it saves the model.
    """
    if distributed.is_initialized():
        sleep(_SHUTDOWN_PAUSE)
        distributed.destroy_process_group()


class _Gather(torch.autograd.Function):  # type: ignore[misc]  # torch is not typed here
    """Vectors of all processes, in the order of their numbers."""

    @staticmethod
    def forward(ctx: Any, vectors: Any, rank: int, n: int) -> Any:
        ctx.rank, ctx.n = rank, n
        gathered = vectors.new_empty((n * len(vectors), *vectors.shape[1:]))
        distributed.all_gather(list(gathered.chunk(n)), vectors.detach().contiguous())
        return gathered

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, None, None]:
        # All processes have the same gradient and average it later, so the own part counts n times.
        return gradient.chunk(ctx.n)[ctx.rank] * ctx.n, None, None
