"""What a GPU does faster in kernels of our own, written in Triton: that comes with torch where torch is made for GPUs.

Nothing here is needed: each has its like in torch, which serves elsewhere and is what tests compare it with.
"""

from __future__ import annotations

from importlib.util import find_spec

HAS_TRITON = find_spec("triton") is not None
