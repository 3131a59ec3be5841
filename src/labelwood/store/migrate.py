"""Migrates manifests of older format versions, so that a saved model keeps loading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labelwood.errors import ModelError
from labelwood.store.damage import damaged, quoted

VERSION = 1  # of the format that this Labelwood writes
# For each older version, the function that turns its manifest into that of the next version.
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


def migrate(raw: dict[str, Any], where: str) -> dict[str, Any]:
    """Migrates a manifest of any known version to the current version.

    Example:
        >>> migrate({"format_version": 2}, "m/manifest.json")
        Traceback (most recent call last):
        ...
        labelwood.errors.ModelError: m/manifest.json has format version 2, newer than 1: upgrade Labelwood
    """
    for older in range(check_version(raw, where), VERSION):
        try:
            raw = MIGRATIONS[older](raw) | {"format_version": older + 1}
        except (LookupError, TypeError, ValueError, AttributeError) as e:
            raise damaged(where, f"it cannot be brought from format version {older} to {older + 1}: {e!r}") from e
    return raw


def check_version(raw: dict[str, Any], where: str) -> int:
    """The format version of a manifest; raises `ModelError` if it is invalid or newer than this Labelwood.

    Example:
        >>> check_version({"format_version": 1}, "m/manifest.json")
        1
    """
    version = raw.get("format_version")
    if isinstance(version, bool) or not isinstance(version, int) or version < min(MIGRATIONS, default=VERSION):
        raise damaged(where, f"its format version is {quoted(version)}")
    if version > VERSION:
        raise ModelError(f"{where} has format version {quoted(version)}, newer than {VERSION}: upgrade Labelwood")
    return version
