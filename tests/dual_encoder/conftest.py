"""One thread for torch: the tests' tensors are so small that several threads would only wait for each other."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    import torch

    torch.set_num_threads(1)
