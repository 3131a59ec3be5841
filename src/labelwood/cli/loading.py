"""Loading a model for a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.cli.options import settings
from labelwood.errors import ModelError

if TYPE_CHECKING:
    from labelwood.tagger.classifier import TextClassifier


def load_classifier(path: Path, threads: int | None, assign: list[str] | None, *, verify: bool) -> TextClassifier:
    """The classifier saved at `path`, set to use `threads`, with parameters of its model changed by ``key=value``.

    Of fused models, ``kind.key=value`` changes a parameter of the member of that kind.
    """
    from labelwood.contract.kinds import load
    from labelwood.tagger.classifier import TextClassifier

    classifier = load(path, verify=verify)
    if not isinstance(classifier, TextClassifier):
        raise ModelError(f"{path}: a bare {type(classifier).__name__} has no label names; load it in Python instead")
    _use_threads(classifier, threads)
    _change(classifier.model_, settings(None, assign or []))
    return classifier


def _use_threads(model: Any, threads: int | None) -> None:
    """Of the model and of all that it is made of."""
    model.n_threads = threads
    words = getattr(model, "vectorizer_", None)
    inner = (getattr(model, "model_", None), *getattr(words, "parts_", [words]), *getattr(model, "members_", []))
    for part in inner:
        if part is not None:
            _use_threads(part, threads)


def _change(model: Any, changes: dict[str, Any]) -> None:
    from labelwood.contract.checks import check_params
    from labelwood.fusion.classifier import model_of

    for member in getattr(model, "members_", []):
        inner = model_of(member)
        if isinstance(changes.get(inner.kind), dict):
            _change(inner, changes.pop(inner.kind))
    check_params(type(model), changes)
    model.set_params(**changes)
