"""Makes names of labels and words safe to display: they come from users' data."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

_JOINERS = "\u200c\u200d"  # some scripts need them between letters


def safe_text(text: str) -> str:
    """The text without characters that move a terminal's cursor, change the writing direction or break XML.

    Example:
        >>> safe_text("red \\x1b[31m apple")
        'red �[31m apple'
    """
    return "".join(c if c.isprintable() or c in _JOINERS else "�" for c in text)


def width(text: str) -> int:
    """How many columns of a terminal the text takes.

    Example:
        >>> width("dog"), width("犬")
        (3, 2)
    """
    return sum(0 if combining(c) or c in _JOINERS else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def shorten(text: str, columns: float) -> str:
    """The safe text, cut to a number of columns.

    Example:
        >>> shorten("a long name", 7), shorten("short", 7)
        ('a long…', 'short')
    """
    text = safe_text(text)
    if width(text) <= columns:
        return text
    while text and width(text) > columns - 1:
        text = text[:-1]
    return text.rstrip() + "…"


def number_of(count: int, noun: str) -> str:
    """A count and its noun.

    Example:
        >>> number_of(1, "copy"), number_of(2000, "copy"), number_of(2, "tree")
        ('1 copy', '2,000 copies', '2 trees')
    """
    plural = {"copy": "copies", "leaf": "leaves"}.get(noun, f"{noun}s")
    return f"{count:,} {noun if count == 1 else plural}"


def headline(n_rows: int, n_copies: int, n_trees: int) -> str:
    """The facts about a label in one line.

    Example:
        >>> headline(12, 2, 1)
        'lies in 2 leaves · 12 training rows'
    """
    trees = f" of {number_of(n_trees, 'tree')}" if n_trees > 1 else ""
    at_most = "up to " if n_trees > 1 and n_copies > 1 else ""
    return f"lies in {at_most}{number_of(n_copies, 'leaf')}{trees} · {number_of(n_rows, 'training row')}"
