"""Gradients of large batches in little memory: texts are encoded twice, one chunk at a time.

The first pass, without a graph, gives all vectors for the loss, and the loss gives their gradients. In the second pass,
each chunk is encoded with a graph and its vectors' gradients are propagated. The result is the gradient of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Ids = NDArray[np.int64]


class CachedEmbeddings:
    """Vectors of texts; `backward` propagates their gradient to the encoder. `chunks` hold each text's place once.

    Example:
        >>> weight = torch.ones(1, requires_grad=True)
        >>> encode = lambda places: weight * torch.from_numpy(places).float()
        >>> cached = CachedEmbeddings(encode, [np.array([2, 0]), np.array([1])], "cpu")
        >>> cached.vectors.tolist()
        [0.0, 1.0, 2.0]
        >>> cached.vectors.sum().backward()
        >>> cached.backward()
        >>> weight.grad.item()
        3.0
    """

    def __init__(self, encode: Callable[[Ids], Any], chunks: list[Ids], device: Any) -> None:
        self._encode = encode
        self._chunks = chunks
        self._device = torch.device(device)
        self._randomness = []
        parts = []
        with torch.no_grad():
            for chunk in chunks:
                self._randomness.append(random_state(self._device))
                parts.append(encode(chunk))
        self._leaf = torch.cat(parts).detach().requires_grad_()
        self.vectors = self._leaf[torch.from_numpy(np.argsort(np.concatenate(chunks))).to(self._device)]

    def backward(self) -> None:
        """Adds the gradient of the encoder's weights, with the same dropout as in the first pass."""
        gradients = self._leaf.grad.split([len(chunk) for chunk in self._chunks])
        for chunk, state, gradient in zip(self._chunks, self._randomness, gradients, strict=True):
            with randomness(state, self._device):
                vectors = self._encode(chunk)
            vectors.backward(gradient.to(vectors.dtype))


def random_state(device: Any) -> list[Any]:
    """The states of torch's random generators, on the CPU and on the device.

    Example:
        >>> len(random_state(torch.device("cpu")))
        1
    """
    states = [torch.get_rng_state()]
    return [*states, torch.cuda.get_rng_state(device)] if device.type == "cuda" else states


def set_random_state(states: list[Any], device: Any) -> None:
    """Restores the states that `random_state` returned.

    Example:
        >>> before = random_state(torch.device("cpu"))
        >>> first = torch.rand(1)
        >>> set_random_state(before, torch.device("cpu"))
        >>> bool(torch.rand(1) == first)
        True
    """
    torch.set_rng_state(states[0])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states[1], device)


@contextmanager
def randomness(states: list[Any], device: Any) -> Iterator[None]:
    """Uses other states of random generators inside the block.

    Example:
        >>> cpu = torch.device("cpu")
        >>> with randomness(random_state(cpu), cpu):
        ...     first = torch.rand(1)
        >>> bool(torch.rand(1) == first)
        True
    """
    before = random_state(device)
    set_random_state(states, device)
    try:
        yield
    finally:
        set_random_state(before, device)
