"""Writes docs/results/disentanglement.md: page.md with the kept tables.

Usage: python -m lab.experiments.disentanglement.page [OUT]

OUT is a folder that run.py has filled; its tables are kept first.
"""

from __future__ import annotations

from pathlib import Path

from lab.experiments.common.page import filled, publish

TEMPLATE = Path(__file__).parent / "page.md"


def text() -> str:
    """The whole page."""
    return filled(TEMPLATE)


if __name__ == "__main__":
    publish("disentanglement", TEMPLATE, text)
