"""Native code's tokens know letters, spaces and lower case as the running Python does."""

from __future__ import annotations

import numpy as np

from labelwood.text.characters import code_points


def test_each_code_point_is_what_python_says_of_it_alone():
    points = code_points()
    every = [chr(i) for i in range(0x110000)]
    assert points.lower.tolist() == [ord(c.lower()[0]) for c in every]
    assert np.array_equal(points.word, [c.isalnum() or c == "_" for c in every])
    assert np.array_equal(points.space, [c.isspace() for c in every])
