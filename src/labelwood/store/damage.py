"""How the store words what is wrong with a file."""

from __future__ import annotations

from labelwood.errors import ModelError


def damaged(where: str, why: str) -> ModelError:
    """The error for a file of a model that cannot be used.

    Example:
        >>> str(damaged("m/manifest.json", "it is empty"))
        'm/manifest.json is damaged (it is empty): copy or train the model again'
    """
    return ModelError(f"{where} is damaged ({why}): copy or train the model again")


def quoted(text: object) -> str:
    """Text from a file that nobody has checked, short and printable enough for a message of one line.

    Example:
        >>> quoted("two\\nlines")
        "'two\\\\nlines'"
    """
    shown = ascii(text)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
