"""How many threads native code uses."""

from __future__ import annotations

import os

from labelwood.arrays.values import whole_number

FEW = 64  # so many texts are one part of native loops, which one thread does anyway
_MOST_THREADS = 1024  # results do not depend on it, and scratch space is set aside for each


def thread_count(n_threads: int | None) -> int:
    """How many threads to use; `None` means one for each core this process may run on.

    Example:
        >>> thread_count(3)
        3
    """
    if n_threads is not None:
        return min(whole_number(n_threads, "n_threads", most=2**63), _MOST_THREADS)
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available else os.cpu_count() or 1
