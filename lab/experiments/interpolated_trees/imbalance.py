"""Figures 1 and 6: how few of the most frequent labels cover how many rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.experiments.common.rows import Rows
from labelwood.labels import labels_to_cover

MODES = ("any", "three", "all")
CURVE = 60  # points of a curve that are kept


def measure(rows: Rows) -> dict[str, dict[str, Any]]:
    """Of each kind of cover, shares of labels and of training rows in per cent."""
    curves = {}
    for mode in MODES:
        shares = 100 * labels_to_cover(rows.Y_train, mode)
        places = np.unique(np.linspace(0, len(shares) - 1, CURVE).astype(int))
        curves[mode] = {
            "labels": shares[places].tolist(),
            "rows": (100 * (places + 1) / len(shares)).tolist(),
            "labels_for_half": float(shares[(len(shares) - 1) // 2]),
        }
    return curves
