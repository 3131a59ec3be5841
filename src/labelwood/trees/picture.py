"""Trees as pictures: plain SVG, for notebooks and documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import NDArray

from labelwood.errors import ParameterError
from labelwood.trees.tree import LabelTree

_ROW, _COLUMN, _MARGIN, _HEAD = 26, 96, 20, 34
_PILL = 18
_CHARACTER = 6.6  # mean width at 12 pixels; wide enough for most scripts
_LONGEST_NAME, _LONGEST_LINE = 28, 84
_STYLE = """
  text { font: 12px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; fill: #24292f; }
  .count { font-size: 11px; font-weight: 600; text-anchor: middle; }
  .note { fill: #6e7781; }
  path { fill: none; stroke: #c4ccd4; stroke-width: 1.4; }
  .inner { fill: #dfe7f5; stroke: #6f8fc9; } .leaf { fill: #dcf0df; stroke: #67a871; }
  .folded { fill: #fbeccb; stroke: #cf9f3c; } .folded.behind { opacity: 0.6; }
"""


@dataclass
class _Shown:
    """A node as it is drawn."""

    kind: str  # inner, leaf, folded (a subtree not shown) or more (siblings not shown)
    count: int  # labels below
    note: str = ""
    tip: str = ""
    children: list[_Shown] = field(default_factory=list)
    depth: int = 0
    row: float = 0.0


def draw(tree: LabelTree, names: Sequence[str] | None = None, *, max_nodes: int = 40) -> str:
    """An SVG picture of a tree: the root on the left, a line for each leaf with the names of its labels.

    Of a tree with more nodes than `max_nodes`, the upper part is shown; subtrees below and siblings beyond are summed
    up in words. `names` are the labels' names, such as a `LabelIndex`; ids are shown where there are none.

    Example:
        >>> svg = draw(LabelTree.from_nested([[0, 1], [2]]), ["dog", "cat", "rose"])
        >>> svg.startswith("<svg") and "dog, cat" in svg
        True
    """
    if max_nodes < 1:
        raise ParameterError(f"max_nodes must be at least 1, not {max_nodes}")
    if names is not None and len(names) < tree.n_labels:
        raise ParameterError(f"names has {len(names)} names and the tree {tree.n_labels} labels: give each its name")
    root = _Selection(tree, names, max_nodes).root
    n_rows = _place(root)
    return _svg(root, n_rows, _headline(tree))


class _Selection:
    """Which nodes are drawn: level by level, until there are enough of them."""

    def __init__(self, tree: LabelTree, names: Sequence[str] | None, max_nodes: int) -> None:
        self._tree, self._names = tree, names
        self._sizes, self._leaves, self._heights = _totals(tree)
        self._room = max_nodes - 1
        self.root = self._shown(0)
        level = [(0, self.root)]
        while level:
            level = [pair for node, shown in level for pair in self._open(node, shown, len(level))]

    def _open(self, node: int, shown: _Shown, n_siblings: int) -> list[tuple[int, _Shown]]:
        first, end = int(self._tree.child_ptr[node]), int(self._tree.child_ptr[node + 1])
        if first == end or self._room < 2:
            return []
        share = end - first
        if share > self._room // n_siblings:  # a wide node leaves room for its siblings' children and the next level
            share = max(min(self._room // n_siblings, self._room * 2 // 3), 2)
        if share == end - first - 1:
            share += 1  # a line that says "one more" takes as much room as the one
        opened = [(child, self._shown(child)) for child in range(first, min(end, first + share))]
        self._room -= len(opened)
        shown.kind, shown.note = "inner", ""
        shown.children = [part for _, part in opened]
        if hidden := range(first + len(opened), end):
            count = int(self._sizes[hidden].sum())
            note = f"{_number(len(hidden), 'more node')} with {_number(count, 'label')}"
            shown.children.append(_Shown("more", count, note, note))
        return opened

    def _shown(self, node: int) -> _Shown:
        size = int(self._sizes[node])
        if not self._heights[node]:
            named = self._some_names(node, 50)
            more = ["…"] if size > len(named) else []
            return _Shown("leaf", size, _line(named, size), f"leaf {node}: {', '.join([*named, *more])}")
        below = f"{_number(int(self._leaves[node]), 'leaf')}, {_number(int(self._heights[node]), 'level')} deep"
        examples = (
            "" if self._names is None else f": {', '.join(_short(name) for name in self._some_names(node, 2))}, …"
        )
        return _Shown("folded", size, f"in {below}{examples}", f"node {node}: {_number(size, 'label')} in {below}")

    def _some_names(self, node: int, most: int) -> list[str]:
        """The names of the first labels of the first leaf below."""
        while self._heights[node]:
            node = int(self._tree.child_ptr[node])
        start, end = (int(place) for place in self._tree.label_ptr[node : node + 2])
        return [self._name(int(label)) for label in self._tree.labels[start : min(end, start + most)]]

    def _name(self, label: int) -> str:
        return str(label) if self._names is None else str(self._names[label])


def _totals(tree: LabelTree) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Of each node: the labels and the leaves below it, and how many levels."""
    sizes = np.diff(tree.label_ptr)
    leaves = (np.diff(tree.child_ptr) == 0).astype(np.int64)
    heights = np.zeros(tree.n_nodes, np.int64)
    for node in range(tree.n_nodes - 1, 0, -1):  # children come after their parents
        parent = tree.parents[node]
        sizes[parent] += sizes[node]
        leaves[parent] += leaves[node]
        heights[parent] = max(heights[parent], heights[node] + 1)
    return sizes, leaves, heights


def _place(root: _Shown) -> int:
    """Gives each node its depth and row: a row for each that has no children, the middle of its children for others."""
    order, waiting, n_rows = [], [root], 0
    while waiting:
        shown = waiting.pop()
        order.append(shown)
        if not shown.children:
            shown.row = n_rows
            n_rows += 1
        for child in reversed(shown.children):
            child.depth = shown.depth + 1
            waiting.append(child)
    for shown in reversed(order):
        if shown.children:
            shown.row = (shown.children[0].row + shown.children[-1].row) / 2
    return n_rows


def _svg(root: _Shown, n_rows: int, headline: str) -> str:
    links: list[str] = []
    nodes: list[str] = []
    right = _MARGIN + len(headline) * _CHARACTER
    waiting = [root]
    while waiting:
        shown = waiting.pop()
        links += [_link(shown, child) for child in shown.children]
        nodes.append(_node(shown))
        waiting += shown.children
        right = max(right, _x(shown) + _pill_width(shown) + 8 + len(shown.note) * _CHARACTER)
    width, height = round(right + _MARGIN), round(_HEAD + n_rows * _ROW + _MARGIN)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="label tree: {escape(headline)}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
        f'<text class="note" x="{_MARGIN}" y="22">{escape(headline)}</text>',
        *links,
        *nodes,
        "</svg>",
    ])  # fmt: skip


def _link(parent: _Shown, child: _Shown) -> str:
    x1, y1, x2, y2 = _x(parent) + _pill_width(parent), _y(parent), _x(child), _y(child)
    middle = (_x(parent) + _pill_width(parent) + x2) / 2
    dashes = ' stroke-dasharray="3 3"' if child.kind == "more" else ""
    return f'<path d="M{x1:.0f} {y1:.0f} C{middle:.0f} {y1:.0f} {middle:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"{dashes}/>'


def _node(shown: _Shown) -> str:
    x, y, width = _x(shown), _y(shown), _pill_width(shown)
    note = f'<text x="{x + width + 8:.0f}" y="{y + 4:.0f}"{_note_class(shown)}>{escape(shown.note)}</text>'
    if shown.kind == "more":
        return f"<g>{note}</g>"
    pill = f'width="{width:.0f}" height="{_PILL}" rx="{_PILL / 2:.0f}"'
    # A second pill behind says that there is more below.
    behind = f'<rect class="folded behind" x="{x + 3:.0f}" y="{y - _PILL / 2 + 3:.0f}" {pill}/>'
    return (
        f"<g><title>{escape(shown.tip)}</title>{behind if shown.kind == 'folded' else ''}"
        f'<rect class="{shown.kind}" x="{x:.0f}" y="{y - _PILL / 2:.0f}" {pill}/>'
        f'<text class="count" x="{x + width / 2:.0f}" y="{y + 4:.0f}">{shown.count:,}</text>'
        f"{note if shown.note else ''}</g>"
    )


def _note_class(shown: _Shown) -> str:
    return "" if shown.kind == "leaf" else ' class="note"'


def _x(shown: _Shown) -> float:
    return _MARGIN + shown.depth * _COLUMN


def _y(shown: _Shown) -> float:
    return _HEAD + (shown.row + 0.5) * _ROW


def _pill_width(shown: _Shown) -> float:
    return 0 if shown.kind == "more" else max(26, 14 + len(f"{shown.count:,}") * _CHARACTER)


def _headline(tree: LabelTree) -> str:
    counts = _number(tree.n_labels, "label"), _number(tree.n_nodes, "node"), _number(len(tree.leaves), "leaf")
    return f"{' · '.join(counts)} · depth {tree.depths.max()}"


def _line(names: list[str], size: int) -> str:
    """As many names as fit, and how many more there are."""
    shown: list[str] = []
    for name in names:
        short = _short(name)
        if shown and len(", ".join([*shown, short])) > _LONGEST_LINE:
            break
        shown.append(short)
    rest = f"  + {size - len(shown):,} more" if size > len(shown) else ""
    return ", ".join(shown) + rest


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1].rstrip() + "…"


def _number(count: int, noun: str) -> str:
    plural = "leaves" if noun == "leaf" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
