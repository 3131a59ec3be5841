"""Loading a model for a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labelwood.errors import ModelError

if TYPE_CHECKING:
    from labelwood.models.text import TextClassifier


def load_classifier(path: Path, threads: int | None, *, verify: bool = True) -> TextClassifier:
    """The classifier saved at `path`, set to use `threads`."""
    from labelwood.models import load
    from labelwood.models.text import TextClassifier

    classifier = load(path, verify=verify)
    if not isinstance(classifier, TextClassifier):
        raise ModelError(f"{path}: a bare {type(classifier).__name__} has no label names; load it in Python instead")
    classifier.n_threads = classifier.model_.n_threads = threads
    if classifier.vectorizer_ is not None:
        classifier.vectorizer_.n_threads = threads
    return classifier
