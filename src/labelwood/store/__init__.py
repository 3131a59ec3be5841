"""Models on disk: a manifest, plain arrays and names. Nothing that can execute."""

from labelwood.store.state import State

__all__ = ["State"]
