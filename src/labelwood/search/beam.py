"""How many nodes a search opens at each depth."""

from __future__ import annotations

_MOST = 2**31 - 1  # no tree has more nodes


def beam_of(beam: int | None) -> int:
    """A beam as native code takes it: zero opens all that can matter, and no more than there can be are needed.

    Example:
        >>> beam_of(None), beam_of(10), beam_of(2**80)
        (0, 10, 2147483647)
    """
    return 0 if beam is None else min(beam, _MOST)
