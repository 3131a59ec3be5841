"""Tests that only a GPU can run."""

from __future__ import annotations

import pytest
import torch

on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
