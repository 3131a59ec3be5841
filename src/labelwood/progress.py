"""Progress of native work, shown while it runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def shown(progress: Any, what: str, *, enabled: bool) -> Iterator[None]:
    """Shows a bar with the time left, from a thread that looks at `progress.done` and `progress.total` now and then.

    Where `progress` has a `note`, it stands behind the time.

    Example:
        >>> from labelwood import _native
        >>> with shown(_native.Progress(), "training", enabled=False):
        ...     pass
    """
    if not enabled:
        yield
        return
    from tqdm import tqdm

    done = threading.Event()
    with tqdm(
        desc=what, total=1, bar_format="{desc} {percentage:3.0f}% |{bar}| {elapsed} < {remaining}{postfix}", leave=False
    ) as bar:

        def look() -> None:
            while not done.wait(0.2):
                bar.total = max(progress.total, 1)
                bar.n = min(progress.done, bar.total)
                bar.set_postfix_str(getattr(progress, "note", ""), refresh=False)
                bar.refresh()

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
