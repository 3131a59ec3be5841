"""The report as one HTML page, without scripts or external files, for light and dark mode."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from labelwood.tuning.summary import SEARCH, Point, lam_text

# The plots' colours of text and background, which the page replaces with its own.
_INK, _PAPER = "#24292f", "#fffffe"
_CAPTIONS = {
    "precision-depth.svg": (
        "Precision and depth",
        "Each point is a λ: its precision on held-out rows, and the depth of the deepest of the first k answers. Up "
        "and left is better.",
    ),
    "precision-latency.svg": (
        "Precision and latency",
        "The same precision against the median time of one row with one thread.",
    ),
    "shapes.svg": (
        "Shapes of the trees",
        "How deep labels are. A large λ moves frequent labels up and the others down; dotted lines are means.",
    ),
    "imbalance.svg": (
        "Imbalance of the labels",
        "How many of the most frequent labels cover a share of the training rows. The further left the curves are, "
        "the more a tree can gain from frequencies.",
    ),
}
PLOTS = tuple(_CAPTIONS)
_COLUMNS = (
    ("P@1 (%)", "P@1", 1, 2),
    ("P@3 (%)", "P@3", 1, 2),
    ("P@5 (%)", "P@5", 1, 2),
    ("depth@1", "depth@1", 1, 2),
    ("depth@3", "depth@3", 1, 2),
    ("depth@5", "depth@5", 1, 2),
    ("p50 (ms)", "p50_ms", 1, 4),
    ("p99 (ms)", "p99_ms", 1, 4),
    *((name.removeprefix("search_"), name, 1, 1) for name in SEARCH),
    ("model (MB)", "model_bytes", 1e-6, 2),
    ("training (CPU s)", "train_cpu_s", 1, 2),
)
_STYLE = """
:root { color-scheme: light dark;
  --ink: #24292f; --paper: #ffffff; --soft: #f3f5f8; --line: #d5dbe1; --accent: #0072b2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #dde3e9; --paper: #14181d; --soft: #1f252c; --line: #3a424b; --accent: #56b4e9; }
}
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 0.3rem; }
.chosen { background: var(--soft); border-left: 4px solid var(--accent); padding: 0.7rem 1rem; }
.chosen p { margin: 0.2rem 0; }
.wide { overflow-x: auto; } .wide svg { display: block; width: 100%; height: auto; min-width: 40rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.85rem; }
th, td { padding: 0.25rem 0.6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
td small { opacity: 0.7; } tr.best { background: var(--soft); font-weight: 600; }
"""


def page(summary: Mapping[str, Any], plots: Mapping[str, str]) -> str:
    """The page of a sweep's summary; `plots` holds SVG text by file name.

    Example:
        >>> counts = {"training_rows": 8, "held_out_rows": 2, "features": 3, "labels": 4}
        >>> figures = {name: 1.0 for _, name, _, _ in _COLUMNS}
        >>> point = Point.of("interpolated", 0.5, [figures]).plain()
        >>> html = page({"data": counts, "recommended": {}, "points": [point]}, {})
        >>> "<td>0.5</td>" in html
        True
    """
    chosen = "".join(f"<p>{escape(found['sentence'])}</p>" for found in summary["recommended"].values())
    data = summary["data"]
    points = [Point.from_plain(point) for point in summary["points"]]
    marked = {found["lam"] for found in summary["recommended"].values()}
    figures = "".join(_figure(name, plots[name]) for name in _CAPTIONS if name in plots)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Which λ?</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>Which λ?</h1>\n"
        + (f'<div class="chosen">{chosen}</div>\n' if chosen else "")
        + f"<p>Interpolated label trees, trained on {data['training_rows']:,} rows with {data['labels']:,} labels and "
        f"{data['features']:,} features, measured on {data['held_out_rows']:,} held-out rows. λ goes from 0 (balanced "
        "clustering) to 2 (a Fano code, which puts frequent labels near the root).</p>\n"
        + figures
        + "<h2>All figures</h2>\n<p>Means over seeds, and in brackets the highest minus the lowest value. Seeds change "
        "the training but not the choice of held-out rows. The numbers of opened nodes and leaves, scored children "
        "and labels, and bytes of weights are those of one search, as means over rows.</p>\n"
        + f'<div class="wide">{_table(points, marked)}</div>\n</body>\n</html>\n'
    )


def _figure(name: str, svg: str) -> str:
    title, caption = _CAPTIONS[name]
    return f'<h2>{escape(title)}</h2>\n<p>{escape(caption)}</p>\n<div class="wide">{inline(svg, name, title)}</div>\n'


def inline(svg: str, name: str, title: str) -> str:
    """Prepares a plot to be part of a page: it takes the page's colours and width, and its ids become unique.

    Example:
        >>> inline('<svg width="9pt" height="5pt"><g id="a" fill="#24292f"/></svg>', "x.svg", "An x")
        '<svg role="img" aria-label="An x"><g id="x-a" fill="currentColor"/></svg>'
    """
    stem = name.removesuffix(".svg")
    svg = re.sub(r'(<svg\b[^>]*?) width="[^"]*" height="[^"]*"|(<svg\b[^>]*?) height="[^"]*"', r"\1\2", svg, count=1)
    svg = re.sub(r'\bid="', f'id="{stem}-', svg)
    svg = re.sub(r'href="#', f'href="#{stem}-', svg)
    svg = re.sub(r"url\(#", f"url(#{stem}-", svg)
    svg = svg.replace(_INK, "currentColor").replace(_PAPER, "none")
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1).strip()


def _table(points: Sequence[Point], marked: set[float | None]) -> str:
    several = len({point.variant for point in points}) > 1
    head = "".join(f"<th>{escape(title)}</th>" for title, *_ in _COLUMNS)
    lines = [f"<table>\n<tr>{'<th>variant</th>' if several else ''}<th>λ</th>{head}</tr>"]
    for point in points:
        cells = "".join(_cell(point, name, scale, digits) for _, name, scale, digits in _COLUMNS)
        best = point.lam is not None and point.lam in marked and point.variant == points[0].variant
        variant = f"<td>{escape(point.variant)}</td>" if several else ""
        row = '<tr class="best">' if best else "<tr>"
        lines.append(f"{row}{variant}<td>{lam_text(point.lam)}</td>{cells}</tr>")
    return "\n".join([*lines, "</table>"])


def _cell(point: Point, name: str, scale: float, digits: int) -> str:
    spread = f" <small>({point.spread[name] * scale:,.{digits}f})</small>" if point.seeds > 1 else ""
    return f"<td>{point.mean[name] * scale:,.{digits}f}{spread}</td>"
