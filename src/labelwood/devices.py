"""Where torch computes, and with how many threads; torch itself is imported only when it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from labelwood.errors import ParameterError


def find_device(device: str | None) -> Any:
    """The torch device of that name; without a name the GPU, if there is one.

    Example:
        >>> find_device("cpu").type
        'cpu'
    """
    import torch

    name = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(name)
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError, NotImplementedError) as e:
        raise ParameterError(
            f'device is {name!r}, which cannot be used here ({str(e).splitlines()[0]}): give "cpu" or leave it out'
        ) from None
    return found


@contextmanager
def threads(n_threads: int) -> Iterator[None]:
    """Lets torch use so many threads meanwhile.

    Example:
        >>> import torch
        >>> with threads(1):
        ...     torch.get_num_threads()
        1
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
