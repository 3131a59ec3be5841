"""Keeps Python's collector of garbage from stalling the steps of training."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_WANTED = 10_000  # objects: where a program wants them passed over, there are more; some hundred are from the start on


@contextmanager
def undisturbed() -> Iterator[Callable[[], None]]:
    """Gives a function that collects garbage now and lets later collections pass over all that is left.

    A full collection looks at every object of the process. Compiling an encoder leaves a great many, much of it
    garbage, and to look at them takes longer than a step, while a GPU has nothing to do. In the end
    collections look at everything again. Where the program has had objects passed over before, that is left to it.

    Example:
        >>> before = gc.get_freeze_count()
        >>> with undisturbed() as settle:
        ...     settle()
        ...     gc.get_freeze_count() > before
        True
        >>> gc.get_freeze_count() <= before
        True
    """

    is_ours = gc.get_freeze_count() < _WANTED

    def settle() -> None:
        if is_ours:
            gc.collect()
            gc.freeze()

    try:
        yield settle
    finally:
        if is_ours:
            gc.unfreeze()
