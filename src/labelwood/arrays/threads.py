"""The number of threads of native code."""

from __future__ import annotations

import os

from labelwood.arrays.values import whole_number

FEW = 64  # native loops give this many texts to one thread
_MOST_THREADS = 1024  # each thread needs its own memory; results do not depend on the number


def thread_count(n_threads: int | None) -> int:
    """The number of threads to use; `None` means one for each core that this process may use.

    Example:
        >>> thread_count(3)
        3
    """
    if n_threads is not None:
        return min(whole_number(n_threads, "n_threads", most=2**63), _MOST_THREADS)
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available else os.cpu_count() or 1
