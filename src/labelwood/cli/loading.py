"""Loading a model for a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labelwood.cli.options import settings
from labelwood.errors import ModelError

if TYPE_CHECKING:
    from labelwood.models.text import TextClassifier


def load_classifier(path: Path, threads: int | None, assign: list[str] | None, *, verify: bool) -> TextClassifier:
    """The classifier saved at `path`, set to use `threads`, with parameters of its model changed by ``key=value``."""
    from labelwood.models import load
    from labelwood.models.text import TextClassifier
    from labelwood.settings import check_params

    classifier = load(path, verify=verify)
    if not isinstance(classifier, TextClassifier):
        raise ModelError(f"{path}: a bare {type(classifier).__name__} has no label names; load it in Python instead")
    classifier.n_threads = classifier.model_.n_threads = threads
    for part in getattr(classifier.vectorizer_, "parts_", [classifier.vectorizer_]):
        if part is not None:
            part.n_threads = threads
    changes = settings(None, assign or [])
    check_params(type(classifier.model_), changes)
    classifier.model_.set_params(**changes)
    return classifier
