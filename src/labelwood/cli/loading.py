"""Loads a model for a command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelwood.cli.options import settings
from labelwood.errors import ModelError

if TYPE_CHECKING:
    from labelwood.tagger.classifier import TextClassifier


def load_classifier(path: Path, threads: int | None, assign: list[str] | None, *, verify: bool) -> TextClassifier:
    """Loads the classifier at `path`, sets its `threads`, and changes parameters of its model by ``key=value``.

    In a fused model, ``kind.key=value`` changes a parameter of the member of that kind.
    """
    from labelwood.contract.kinds import load
    from labelwood.tagger.classifier import TextClassifier

    classifier = load(path, verify=verify)
    if not isinstance(classifier, TextClassifier):
        raise ModelError(f"{path}: a bare {type(classifier).__name__} has no label names; load it in Python instead")
    classifier.use_threads(threads)
    _change(classifier.model_, settings(None, assign or []))
    return classifier


def _change(model: Any, changes: dict[str, Any]) -> None:
    from labelwood.contract.bundles import one_by_one
    from labelwood.contract.checks import check_params

    for member in getattr(model, "members_", []):
        inner = member.inner_model
        if isinstance(changes.get(inner.kind), dict):
            _change(inner, changes.pop(inner.kind))
    changes = one_by_one(type(model), changes, tables=True)
    check_params(type(model), changes)
    model.set_params(**changes)
