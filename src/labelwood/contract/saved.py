"""What can be written to a folder."""

from __future__ import annotations

from os import PathLike
from typing import Any


class Saved:
    """What can be written to a folder, and be read again by `labelwood.load`.

    Example:
        >>> from labelwood import CentroidClassifier
        >>> CentroidClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]]).save("model")
    """

    state: Any

    @property
    def writes(self) -> bool:
        """Whether `save` does: of processes that trained a model together, only the main one's does."""
        return True

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the model to a folder, replacing a model that is there in one step."""
        from labelwood import store

        if self.writes:
            store.write(path, self.state())
