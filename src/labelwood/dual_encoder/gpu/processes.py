"""Training in several processes at once, one a GPU, as `accelerate launch` starts them.

Each process encodes a share of a batch's texts and gets the vectors of all, so that it has the loss of the whole batch.
Gradients reach a process for its own share; their mean over the processes, where a gradient that came back through the
gathering counts once for each process, is the gradient of the batch. So a step is that of one process, up to rounding.
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
_DROPOUT = 5  # what random numbers are for; the samplers and the split have others
_LETTING_GO = 0.1  # seconds
_PATIENCE = timedelta(hours=2)  # the others wait while the main process finds clusters


class Processes:
    """This process among those that train together; alone, nothing is shared and every method gives back what it got.

    Args:
        rank: The number of this process; 0 is the main one, which shows progress and writes files.
        n: How many there are.
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
    def joined(cls, device: str | None = None) -> Processes:
        """This process among those that were launched with it, connected by Accelerate; without a launch it is alone.

        Example:
            >>> Processes.joined().n
            1
        """
        if int(os.environ.get("WORLD_SIZE") or 1) < 2 or "LOCAL_RANK" not in os.environ:
            return cls()
        if find_spec("accelerate") is None:
            raise LabelwoodError(
                "several processes need accelerate, which is not installed: pip install 'labelwood[deep]'"
            )
        if device not in (None, "cpu", "cuda"):
            raise ParameterError(f"device is {device!r} in each of several processes: leave it out, each has its own")
        from accelerate import PartialState

        if not distributed.is_initialized():
            atexit.register(_leave)
        # Without a GPU and without being told so, Accelerate would leave the processes alone.
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
        """The part of `ids` that is this process's; all get as many, and the last id fills up what is missing.

        Nobody is left without work, so that all have gradients of the same weights.
        """
        size = -(-len(ids) // self.n)
        return ids[np.minimum(np.arange(self.rank * size, (self.rank + 1) * size), len(ids) - 1)]

    def gathered(self, vectors: Any, n: int) -> Any:
        """The vectors of all `n` ids from those of each process's share; gradients flow back to the own share."""
        return vectors if self.n == 1 else _Gathered.apply(vectors, self.rank, self.n)[:n]

    def average(self, parameters: Iterable[Any]) -> None:
        """Gives the mean of all processes' gradients to each of them."""
        if self.n == 1:
            return
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        together = torch.cat([gradient.ravel() for gradient in gradients])
        distributed.all_reduce(together)
        together /= self.n
        for gradient, mean in zip(gradients, together.split([g.numel() for g in gradients]), strict=True):
            gradient.copy_(mean.view_as(gradient))

    def align(self, tensors: Iterable[Any]) -> None:
        """Fills tensors with what they are in the main process: sums on a GPU can differ in their last bits."""
        for tensor in tensors if self.n > 1 else ():
            distributed.broadcast(tensor.detach(), src=0)

    def from_main(self, array: Array) -> Array:
        """The main process's array, whatever its shape; others give one of the same type and number of dimensions."""
        if self.n == 1:
            return array
        shape = torch.tensor(array.shape, device=self.device)
        distributed.broadcast(shape, src=0)
        there = torch.empty(shape.tolist(), dtype=torch.from_numpy(array).dtype, device=self.device)
        if self.is_main:
            there.copy_(torch.from_numpy(array))
        distributed.broadcast(there, src=0)
        received: Array = there.cpu().numpy()
        return received

    def agree(self, number: int) -> bool:
        """Whether the number is the same in all processes."""
        numbers = self.gathered(torch.tensor([number], device=self.device), self.n)
        return bool((numbers == number).all())

    @contextmanager
    def main_first(self, when: bool = True) -> Iterator[None]:
        """Lets the main process do something before the others, which find on the disk what it leaves."""
        if when and not self.is_main:
            self.from_main(np.zeros(1))
        yield
        if when and self.is_main:
            self.from_main(np.zeros(1))

    @contextmanager
    def own_randomness(self, *moment: int) -> Iterator[None]:
        """Random numbers of this process alone, for the dropout of its share; those that all have in common wait."""
        if self.n == 1:
            yield
            return
        before = random_state(self.device)
        torch.manual_seed(int(np.random.SeedSequence([*moment, self.rank, _DROPOUT]).generate_state(1)[0]))
        try:
            yield
        finally:
            set_random_state(before, self.device)


def _leave() -> None:
    """Ends the connection before Python ends, while its threads may still let go of what they have sent.

    Later that aborts the process, and a launcher kills the main one then, which may still be saving the model.
    """
    if distributed.is_initialized():
        sleep(_LETTING_GO)
        distributed.destroy_process_group()


class _Gathered(torch.autograd.Function):  # type: ignore[misc]  # torch is not typed here
    """Vectors of all processes, in the order of their numbers."""

    @staticmethod
    def forward(ctx: Any, vectors: Any, rank: int, n: int) -> Any:
        ctx.rank, ctx.n = rank, n
        everything = vectors.new_empty((n * len(vectors), *vectors.shape[1:]))
        distributed.all_gather(list(everything.chunk(n)), vectors.detach().contiguous())
        return everything

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> tuple[Any, None, None]:
        # Every process has this gradient, and the mean over processes follows: the own part counts n times.
        return gradient.chunk(ctx.n)[ctx.rank] * ctx.n, None, None
