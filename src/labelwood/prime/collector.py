"""Keeps Python's collector of garbage from stalling the steps of training."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[Callable[[], None]]:
    """Gives a function that collects garbage now and lets later collections pass over all that is left.

    A full collection looks at every object of the process. Compiling an encoder leaves a great many, much of it
    garbage, and to look at them takes longer than a step, while a GPU has nothing to do. In the end
    collections look at everything again. Where the program has had objects passed over before, that is left to it.

    Example:
        >>> with undisturbed() as settle:
        ...     settle()
        ...     gc.get_freeze_count() > 0
        True
        >>> gc.get_freeze_count()
        0
    """

    is_ours = gc.get_freeze_count() == 0

    def settle() -> None:
        gc.collect()
        if is_ours:
            gc.freeze()

    try:
        yield settle
    finally:
        if is_ours:
            gc.unfreeze()
