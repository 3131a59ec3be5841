"""Places the labels of points in a plot so that they cover neither each other nor the points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

Spot: TypeAlias = tuple[float, float]
Line: TypeAlias = tuple[Spot, Spot]
Box: TypeAlias = tuple[float, float, float, float]  # left, bottom, right, top

_RADII = (9.0, 14.0, 20.0, 28.0, 38.0, 50.0, 64.0)
_DIRECTIONS = [(math.cos(angle), math.sin(angle)) for angle in (math.pi / 8 * i for i in (2, 6, 10, 14, *range(16)))]
_MARKER = 4.0  # half of a marker's width
_GAP = 1.5  # between two labels
_CROWD = 40.0


def place(points: Sequence[Spot], sizes: Sequence[Spot], inside: Box, lines: Sequence[Line] = ()) -> list[Spot]:
    """The centre of each label, given the points, the labels' sizes and the box they must stay in, all in one unit.

    A label should be near its point and cover none of the `lines`, such as error bars. Points with many neighbours are
    placed first, because they have the least choice.

    Example:
        >>> [(round(x), round(y)) for x, y in place([(50, 50)], [(20, 8)], (0, 0, 100, 100))]
        [(65, 50)]
        >>> (ax, ay), (bx, by) = place([(50, 50), (51, 50)], [(20, 8)] * 2, (0, 0, 100, 100))
        >>> abs(ax - bx) >= 20 or abs(ay - by) >= 8
        True
    """
    crowd = [sum(math.dist(point, other) < _CROWD for other in points) for point in points]
    drawn = _Drawing(points, list(lines), inside)
    middles: dict[int, Spot] = {}
    for i in sorted(range(len(points)), key=lambda i: (-crowd[i], i)):
        tries = [
            (radius, _box(points[i], direction, radius, sizes[i])) for radius in _RADII for direction in _DIRECTIONS
        ]
        _, box = min(tries, key=lambda attempt: attempt[0] / 10 + drawn.cost(points[i], attempt[1]))
        drawn.add(points[i], box)
        middles[i] = _middle(box)
    return [middles[i] for i in range(len(points))]


class _Drawing:
    """The parts of the plot so far, and the cost of covering them."""

    def __init__(self, points: Sequence[Spot], lines: list[Line], inside: Box) -> None:
        self._markers = [(x - _MARKER, y - _MARKER, x + _MARKER, y + _MARKER) for x, y in points]
        self._lines, self._inside = lines, inside
        self._labels: list[Box] = []
        self._leaders: list[Line] = []

    def add(self, point: Spot, box: Box) -> None:
        self._labels.append(box)
        self._leaders.append((point, _middle(box)))

    def cost(self, point: Spot, box: Box) -> float:
        inside, leader = self._inside, (point, _middle(box))
        outside = max(inside[0] - box[0], inside[1] - box[1], box[2] - inside[2], box[3] - inside[3], 0.0)
        labels = sum(_overlap(box, other, _GAP) for other in self._labels)
        markers = sum(_overlap(box, marker, 0.0) for marker in self._markers)
        covered = sum(_length_inside(line, box) for line in self._lines)
        crossings = sum(_cross(leader, other) for other in self._leaders)
        through = sum(_length_inside(leader, other) for other in self._labels)
        through += sum(_length_inside(leader, other) for other in self._markers) - _MARKER  # its own does not count
        return 100 * outside + 10 * labels + 2 * markers + 0.4 * covered + 20 * crossings + 2 * through


def _box(point: Spot, direction: Spot, radius: float, size: Spot) -> Box:
    """The box of a label; its nearest edge is about `radius` minus half its height away from the point."""
    x = point[0] + direction[0] * (radius + size[0] / 2 - size[1] / 2)
    y = point[1] + direction[1] * radius
    return x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2


def _overlap(a: Box, b: Box, gap: float) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0]) + gap
    height = min(a[3], b[3]) - max(a[1], b[1]) + gap
    return width * height if width > 0 and height > 0 else 0.0


def _length_inside(line: Line, box: Box) -> float:
    """How much of a line lies in a box."""
    (x, y), (to_x, to_y) = line
    first, last = 0.0, 1.0
    for start, step, low, high in ((x, to_x - x, box[0], box[2]), (y, to_y - y, box[1], box[3])):
        if step == 0:
            if not low < start < high:
                return 0.0
            continue
        enters, leaves = sorted(((low - start) / step, (high - start) / step))
        first, last = max(first, enters), min(last, leaves)
    return max(last - first, 0.0) * math.dist(*line)


def _cross(a: Line, b: Line) -> bool:
    def side(p: Spot, q: Spot, r: Spot) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    apart = side(*a, b[0]) * side(*a, b[1]) < 0
    return apart and side(*b, a[0]) * side(*b, a[1]) < 0


def _middle(box: Box) -> Spot:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
