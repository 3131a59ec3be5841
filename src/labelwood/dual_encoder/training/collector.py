"""Keeps Python's garbage collector from delaying training steps."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_MIN_FROZEN = 10_000  # with more frozen objects, the program uses `gc.freeze` itself; Python starts with some hundred


@contextmanager
def frozen_collector() -> Iterator[Callable[[], None]]:
    """Yields a function that collects garbage and then freezes all objects, so that later collections skip them.

    A full collection visits every object of the process. Compiling an encoder creates very many objects, and visiting
    them takes longer than a step, while the GPU is idle. At the end the objects are unfrozen. If the program has frozen
    objects itself, nothing is done.

    Example:
        >>> before = gc.get_freeze_count()
        >>> with frozen_collector() as settle:
        ...     settle()
        ...     gc.get_freeze_count() > before
        True
        >>> gc.get_freeze_count() <= before
        True
    """

    is_unused = gc.get_freeze_count() < _MIN_FROZEN

    def settle() -> None:
        if is_unused:
            gc.collect()
            gc.freeze()

    try:
        yield settle
    finally:
        if is_unused:
            gc.unfreeze()
