"""Fails unless the native module that runs is one with sanitizers, and these report a read outside of an array.

Native code trusts the arrays of a model, because loading checks them. So a model that is not sound, and was not
checked, is a known read outside.

    python -m tests.hostile.canary
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from labelwood import _native
from labelwood.arrays.rows import Sparse
from labelwood.contract.limits import NO_LIMITS


def read_outside() -> None:
    """Asks for the best labels by centroids, of which one belongs to a label that is not there."""
    row = Sparse(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.float32), 1)
    weights = Sparse(np.array([0, 1]), np.full(1, 1 << 20, np.int32), np.ones(1, np.float32), 4)
    _native.sparse_centroid_topk(row, weights, 1, NO_LIMITS, 1)


def main() -> None:
    if "--read-outside" in sys.argv:
        read_outside()
        return
    command = [sys.executable, "-m", "tests.hostile.canary", "--read-outside"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if "AddressSanitizer" not in found.stderr:
        sys.exit(f"{_native.__file__} has no sanitizers, or they do not see a read outside of an array")
    sys.stdout.write(f"sanitizers are at work in {_native.__file__}\n")


if __name__ == "__main__":
    main()
