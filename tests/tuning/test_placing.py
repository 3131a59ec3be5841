"""Labels of points do not overlap and stay inside the box."""

from __future__ import annotations

import random

import pytest

from labelwood.tuning.placing import place


@pytest.mark.parametrize("seed", range(5))
def test_labels_of_close_points_do_not_overlap(seed):
    numbers = random.Random(seed)
    points = [(100 + numbers.gauss(0, 12), 100 + numbers.gauss(0, 12)) for _ in range(11)]
    width, height = 36, 9
    middles = place(points, [(width, height)] * len(points), (0, 0, 200, 200))
    for i, (x, y) in enumerate(middles):
        assert width / 2 <= x <= 200 - width / 2
        assert height / 2 <= y <= 200 - height / 2
        assert all(abs(x - a) >= width or abs(y - b) >= height for a, b in middles[:i])


def test_a_label_avoids_a_line():
    free = place([(50, 50)], [(20, 8)], (0, 0, 200, 100))
    assert free[0][0] > 60  # to the right, where the line will be
    ((x, y),) = place([(50, 50)], [(20, 8)], (0, 0, 200, 100), [((50, 50), (90, 50))])
    assert x + 10 <= 50 or abs(y - 50) >= 4
