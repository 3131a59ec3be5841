"""An explanation as text for a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Sequence

from labelwood.explaining.explanation import Copy, LabelExplanation, Neighbour, Word
from labelwood.explaining.ranking import DividedLabel
from labelwood.explaining.wording import headline, number_of, safe_text, shorten, width

_WIDTH = 98
_COLUMN, _NAME, _BAR = 32, 16, 9
_BLOCKS = " ▏▎▍▌▋▊▉█"


def explanation_text(explained: LabelExplanation, *, blocks: bool = True) -> str:
    """A label's copies, one below the other, with bars of block characters, or of # if `blocks` is False.

    Example:
        >>> copy = Copy(0, 1, (0, 1), 9, words=(Word("sweet", 2.0), Word("tree", 1.0)))
        >>> print(explanation_text(LabelExplanation("pear", None, 3, ((copy,),)), blocks=False))
        pear  lies in 1 leaf · 3 training rows
        <BLANKLINE>
        copy 1: leaf 1, depth 1, 9 labels
          what sets it apart here
          sweet            ######### 2.00
          tree             ####      1.00
        <BLANKLINE>
    """
    facts = headline(explained.n_rows, explained.n_copies, len(explained.trees))
    lines = [f"{safe_text(explained.label)}  {facts}"]
    if explained.text:
        lines.append(shorten(explained.text, _WIDTH))
    if not explained.has_names:
        lines.append("The model's features have no names: their numbers are shown.")
    for number, copies in enumerate(explained.trees):
        of_tree = f"tree {number + 1}, " if len(explained.trees) > 1 else ""
        for place, copy in enumerate(copies):
            lines += ["", *_copy_lines(copy, f"{of_tree}copy {place + 1}", blocks)]
    return "\n".join(lines) + "\n"


def _copy_lines(copy: Copy, title: str, blocks: bool) -> list[str]:
    columns = [
        ("words of this cluster", copy.cluster_words),
        ("words that lead here", copy.separating_words),
        ("what sets it apart here", copy.words),
    ]
    shown = [_column(name, words, blocks) for name, words in columns if words]
    lines = [f"{title}: leaf {copy.leaf}, depth {copy.depth}, {number_of(copy.n_labels, 'label')}"]
    for row in range(max((len(column) for column in shown), default=0)):
        cells = [column[row] if row < len(column) else "" for column in shown]
        lines.append(("  " + " ".join(cell + " " * (_COLUMN - width(cell)) for cell in cells)).rstrip())
    return (
        lines
        + _labels("labels like it here: ", copy.siblings)
        + _labels("labels of the cluster: ", copy.characteristic)
    )


def _column(title: str, words: Sequence[Word], blocks: bool) -> list[str]:
    most = words[0].weight
    return [title, *(_bar_line(word, most, blocks) for word in words)]


def _bar_line(word: Word, most: float, blocks: bool) -> str:
    name = shorten(word.word, _NAME)
    return f"{name}{' ' * (_NAME - width(name))} {_bar(word.weight / most, blocks)} {word.weight:4.2f}"


def _bar(share: float, blocks: bool) -> str:
    if not blocks:
        return ("#" * max(1, round(share * _BAR))).ljust(_BAR)
    eighths = max(1, round(share * _BAR * 8))
    return ("█" * (eighths // 8) + _BLOCKS[eighths % 8].strip()).ljust(_BAR)


def _labels(title: str, labels: Sequence[Neighbour]) -> list[str]:
    """A title and names, wrapped between names."""
    lines: list[str] = []
    line = f"  {title}"
    for place, neighbour in enumerate(labels):
        name = shorten(neighbour.label, 40) + (", " if place + 1 < len(labels) else "")
        if width(line + name) > _WIDTH:
            lines.append(line.rstrip())
            line = " " * (len(title) + 2)
        line += name
    return [*lines, line] if labels else []


def ranking_text(labels: Sequence[DividedLabel]) -> str:
    """The labels of `most_divided` as a table.

    Example:
        >>> print(ranking_text([DividedLabel("apple", 9, 2, 0, 0.8, 0.5, (("fruit", "pie"), ("mac",)))]))
        label                        rows  apart  fit  one cluster                 another cluster
        apple                           9   0.80 0.50  fruit, pie                  mac
        <BLANKLINE>
    """
    lines = [f"{'label':<26} {'rows':>6}  apart  fit  {'one cluster':<27} another cluster"]
    for divided in labels:
        name = shorten(divided.label, 26)
        one, other = (shorten(", ".join(words), 27) for words in divided.words)
        padded = one + " " * (27 - width(one))
        figures = f"{divided.n_rows:>6,}   {divided.distance:4.2f} {divided.fit:4.2f}"
        lines.append(f"{name}{' ' * (26 - width(name))} {figures}  {padded} {other}")
    return "\n".join(lines) + "\n"
