"""Runs the attacks with a build of Labelwood's native code under sanitizers."""

from __future__ import annotations


def use() -> None:
    """Makes the children of this process load that build."""
    raise SystemExit("there is no build under sanitizers yet")
