"""An explanation as a picture: the label on top, a card for each copy. Plain SVG, for light and dark mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from labelwood.explaining.explanation import Copy, LabelExplanation, Neighbour, Word
from labelwood.explaining.wording import headline, number_of, safe_text, shorten, width

_WIDTH, _MARGIN, _GAP = 960, 24, 20
_PADDING, _LINE, _CHIP = 20, 21, 25
_MOST_IN_ROW = 3
_SIZE = 0.6  # mean width of a character, relative to the font size
_LIGHT = ("#0072b2", "#d55e00", "#009e73", "#a6528a", "#8a6d00", "#4d5d9c")  # copies; safe for colour blindness
_DARK = ("#56b4e9", "#f08a3c", "#2fbf94", "#d98fc0", "#d9b93b", "#93a3e6")


def _colours(colours: tuple[str, ...]) -> str:
    return " ".join(f".c{i} {{ fill: {c}; stroke: {c}; }}" for i, c in enumerate(colours))


_STYLE = f"""
  text {{ font: 13px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; fill: #24292f; }}
  .paper {{ fill: #ffffff; }} .card {{ fill: #f6f8fa; stroke: #d5dbe1; }} .pill {{ fill: #24292f; }}
  .label {{ font-size: 21px; font-weight: 700; fill: #ffffff; text-anchor: middle; }}
  .note {{ fill: #57606a; }} .number {{ fill: #57606a; text-anchor: end; font-size: 11px; }}
  .title {{ font-size: 15px; font-weight: 700; }} .small {{ font-size: 12px; fill: #57606a; }}
  .section {{ font-size: 11px; font-weight: 600; letter-spacing: .04em; fill: #57606a; }}
  .middle {{ text-anchor: middle; }} .name {{ font-size: 12px; text-anchor: middle; }}
  {_colours(_LIGHT)}
  .track {{ fill: #e6eaef; }} .plain {{ fill: none; stroke: #aab4be; }}
  .chip {{ stroke-width: 1.2; fill-opacity: .14; }}
  path.link {{ fill: none; stroke-width: 2.5; }} rect.bar {{ stroke: none; }} .soft {{ opacity: .5; }}
  @media (prefers-color-scheme: dark) {{
    text {{ fill: #dde3e9; }} .paper {{ fill: #14181d; }} .card {{ fill: #1c2229; stroke: #3a424b; }}
    .label {{ fill: #14181d; }} .pill {{ fill: #dde3e9; }} .track {{ fill: #2b333c; }} .plain {{ stroke: #59636e; }}
    .note, .number, .small, .section {{ fill: #9aa5b1; }}
    {_colours(_DARK)}
  }}
"""
_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0 auto; max-width: 64rem; padding: 1rem; background: #ffffff; }
svg { display: block; width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { body { background: #14181d; } }
"""


def draw_explanation(explained: LabelExplanation) -> str:
    """An SVG picture: the label, and a card for each of its copies.

    Example:
        >>> copy = Copy(0, 1, (0, 1), 9, words=(Word("sweet", 2.0), Word("tree", 1.0)))
        >>> svg = draw_explanation(LabelExplanation("<pear>", None, 3, ((copy,),)))
        >>> svg.startswith("<svg") and "&lt;pear&gt;" in svg
        True
    """
    parts = _head(explained)
    start = 104 if explained.text else 84  # where the lines to the cards start
    top: float = start + 44
    for number, copies in enumerate(explained.trees):
        if len(explained.trees) > 1:
            parts.append(_text(_MARGIN, top + 8, f"Tree {number + 1}", "title"))
            top += 22
        for first in range(0, len(copies), _MOST_IN_ROW):
            row, height = _cards(copies, first, top, start if number == 0 and first == 0 else None)
            parts += row
            top += height + _GAP
    height = round(top - _GAP + _MARGIN)
    about = escape(safe_text(f"{explained.label}: {number_of(explained.n_copies, 'copy')}"))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" aria-label="{about}">',
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{height}" rx="10"/>',
        *parts,
        "</svg>",
    ])  # fmt: skip


def explanation_page(explained: LabelExplanation) -> str:
    """An HTML page with the same picture, without scripts or external files.

    Example:
        >>> copy = Copy(0, 1, (0, 1), 9, words=(Word("sweet", 2.0),))
        >>> explanation_page(LabelExplanation("pear", None, 3, ((copy,),))).startswith("<!DOCTYPE html>")
        True
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(safe_text(explained.label))}</title>\n<style>{_PAGE_STYLE}</style>\n</head>\n<body>\n"
        f"{draw_explanation(explained)}\n</body>\n</html>\n"
    )


def _head(explained: LabelExplanation) -> list[str]:
    name = shorten(explained.label, 60)
    pill = width(name) * 21 * _SIZE + 44
    facts = headline(explained.n_rows, explained.n_copies, len(explained.trees))
    lines = [facts if explained.has_names else f"{facts} · features have no names"]
    lines += [shorten(explained.text, 120)] if explained.text else []
    tip = "" if explained.text is None else f"<title>{escape(safe_text(explained.text))}</title>"
    return [
        f'<g>{tip}<rect class="pill" x="{(_WIDTH - pill) / 2:.1f}" y="18" width="{pill:.1f}" height="38" rx="19"/>',
        _text(_WIDTH / 2, 44, name, "label") + "</g>",
        *(_text(_WIDTH / 2, 76 + 20 * i, line, "note middle") for i, line in enumerate(lines)),
    ]


def _cards(copies: Sequence[Copy], first: int, top: float, links: float | None) -> tuple[list[str], float]:
    """A row of cards and its height. Lines to the cards start at the height `links`, if it is given."""
    row = copies[first : first + _MOST_IN_ROW]
    n_columns = min(len(copies), _MOST_IN_ROW)
    card_width = min((_WIDTH - 2 * _MARGIN - (n_columns - 1) * _GAP) / n_columns, 560)
    left = (_WIDTH - n_columns * card_width - (n_columns - 1) * _GAP) / 2
    cards = [_Card(copy, first + i, left + i * (card_width + _GAP), top, card_width) for i, copy in enumerate(row)]
    bodies = [card.body() for card in cards]
    height = max(card.bottom for card in cards) + _PADDING - top
    drawn = [] if links is None else [card.link(links) for card in cards]
    for card, body in zip(cards, bodies, strict=True):
        drawn += [card.frame(height), *body, "</g>"]
    return drawn, height


@dataclass
class _Card:
    """Draws the card of a copy from top to bottom."""

    copy: Copy
    number: int
    x: float
    y: float
    width: float
    bottom: float = 0.0

    @property
    def colour(self) -> str:
        return f"c{self.number % 6}"

    @property
    def inside(self) -> float:
        return self.width - 2 * _PADDING

    def link(self, start: float) -> str:
        """The line from the label to the card."""
        x, middle = self.x + self.width / 2, (start + self.y) / 2
        return (
            f'<path class="link {self.colour}" d="M{_WIDTH / 2:.1f} {start:.1f} C{_WIDTH / 2:.1f} {middle + 14:.1f} '
            f'{x:.1f} {middle - 14:.1f} {x:.1f} {self.y:.1f}"/>'
        )

    def frame(self, height: float) -> str:
        box = f'x="{self.x:.1f}" y="{self.y:.1f}" width="{self.width:.1f}"'
        return (
            f'<g><rect class="card" {box} height="{height:.1f}" rx="10"/>'
            f'<rect class="bar {self.colour}" {box} height="5" rx="2.5"/>'
        )

    def body(self) -> list[str]:
        copy, left = self.copy, self.x + _PADDING
        place = f"leaf {copy.leaf} · depth {copy.depth} · {number_of(copy.n_labels, 'label')}"
        parts = [
            _text(left, self.y + 32, f"Copy {self.number + 1}", "title"),
            _text(self.x + self.width - _PADDING, self.y + 32, place, "number"),
        ]
        self.bottom = self.y + 40
        parts += self._bars("WHAT THIS CLUSTER IS ABOUT", copy.cluster_words, strong=True)
        parts += self._bars("WORDS THAT LEAD HERE", copy.separating_words, strong=False)
        parts += self._chips("LABELS LIKE IT HERE", copy.siblings, f"chip {self.colour}")
        parts += self._chips("LABELS OF THE CLUSTER", copy.characteristic, "chip plain")
        return parts + self._own_words()

    def _section(self, title: str) -> str:
        self.bottom += 24
        return _text(self.x + _PADDING, self.bottom, title, "section")

    def _bars(self, title: str, words: Sequence[Word], *, strong: bool) -> list[str]:
        if not words:
            return []
        parts = [self._section(title)]
        self.bottom += 7
        names = min(150.0, self.inside * 0.42)
        left, room = self.x + _PADDING + names, self.inside - names - 34
        for word in words:
            middle = self.bottom + _LINE / 2
            length = max(room * word.weight / words[0].weight, 3)
            place = f'x="{left:.1f}" y="{middle - 5:.1f}" height="10" rx="3"'
            parts += [
                _text(self.x + _PADDING, middle + 4, shorten(word.word, names / 13 / _SIZE - 1), "", word.word),
                f'<rect class="track" {place} width="{room:.1f}"/>',
                f'<rect class="bar {self.colour}{"" if strong else " soft"}" {place} width="{length:.1f}"/>',
                _text(self.x + self.width - _PADDING, middle + 4, f"{word.weight:.2f}", "number"),
            ]
            self.bottom += _LINE
        return parts

    def _chips(self, title: str, labels: Sequence[Neighbour], style: str) -> list[str]:
        if not labels:
            return []
        parts = [self._section(title)]
        self.bottom += 8
        x = self.x + _PADDING
        for neighbour in labels:
            name = shorten(neighbour.label, (self.inside - 24) / 12 / _SIZE)
            wide = width(name) * 12 * _SIZE + 14
            if x + wide > self.x + self.width - _PADDING + 0.5:
                x, self.bottom = self.x + _PADDING, self.bottom + _CHIP + 4
            tip = f"{neighbour.label} ({neighbour.similarity:.2f}){f': {neighbour.text}' if neighbour.text else ''}"
            parts += [
                f"<g><title>{escape(safe_text(tip))}</title>"
                f'<rect class="{style}" x="{x:.1f}" y="{self.bottom:.1f}" width="{wide:.1f}" height="{_CHIP - 2}" '
                f'rx="{(_CHIP - 2) / 2}"/>'
                f'<text x="{x + wide / 2:.1f}" y="{self.bottom + 16:.1f}" class="name">'
                f"{escape(name)}</text></g>"
            ]
            x += wide + 6
        self.bottom += _CHIP
        return parts

    def _own_words(self) -> list[str]:
        """The label's own words, on as many lines as they need."""
        if not self.copy.words:
            return []
        parts = [self._section("WHAT SETS IT APART HERE")]
        columns = self.inside / 12 / _SIZE
        lines = [""]
        for word in self.copy.words:
            name = shorten(word.word, columns)
            if lines[-1] and width(f"{lines[-1]} · {name}") > columns:
                lines.append("")
            lines[-1] += f" · {name}" if lines[-1] else name
        for line in lines:
            self.bottom += 18
            parts.append(_text(self.x + _PADDING, self.bottom, line, "small"))
        return parts


def _text(x: float, y: float, content: str, style: str, tip: str | None = None) -> str:
    title = "" if tip is None or tip == content else f"<title>{escape(safe_text(tip))}</title>"
    kind = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{kind}>{title}{escape(content)}</text>'
