"""A marker for tests that need a GPU."""

from __future__ import annotations

import pytest
import torch

on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
