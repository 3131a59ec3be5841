"""Means and spreads, the Pareto front and the recommended λ follow their definitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood.errors import ParameterError
from labelwood.tuning import Point, pareto_front, recommend
from labelwood.tuning.summary import lam_text, table_rows

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12)
GRIDS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0]), st.integers(0, 8), st.integers(1, 6)),
    min_size=1,
    unique_by=lambda point: point[0],
)


def grid(*points):
    return [Point.of("plain", lam, [{"P@1": precision, "p50_ms": ms}]) for lam, precision, ms in points]


@given(PAIRS)
def test_the_pareto_front_is_the_set_of_unbeaten_points(pairs):
    costs, gains = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    unbeaten = {
        i
        for i, (cost, gain) in enumerate(pairs)
        if not any(c <= cost and g >= gain and (c, g) != (cost, gain) for c, g in pairs)
    }
    front = pareto_front(costs, gains)
    assert set(front) == unbeaten
    assert [costs[i] for i in front] == sorted(costs[i] for i in front)


@given(GRIDS, st.integers(1, 7))
def test_recommendations_follow_their_definitions(points, budget):
    points = [(lam, 70 + precision / 20, ms / 100) for lam, precision, ms in points]
    found = recommend(grid(*points), budget_ms=budget / 100)
    by_lam = {lam: (precision, ms) for lam, precision, ms in points}
    wanted = by_lam[0.0][0] if 0.0 in by_lam else max(precision for precision, _ in by_lam.values())
    same = {lam: ms for lam, (precision, ms) in by_lam.items() if precision > wanted - 0.1001}
    assert same[found["same_precision"]["lam"]] == min(same.values())
    fitting = {lam: precision for lam, (precision, ms) in by_lam.items() if ms <= budget / 100}
    if fitting:
        assert fitting[found["budget"]["lam"]] == max(fitting.values())
    else:
        assert found["budget"]["lam"] is None
        assert by_lam[found["budget"]["fastest"]["lam"]][1] == min(ms for _, ms in by_lam.values())


def test_a_faster_but_less_precise_lam_does_not_have_the_same_precision():
    found = recommend(grid((0.0, 71.0, 0.04), (1.0, 70.91, 0.03), (1.5, 70.8, 0.01)))
    assert found["same_precision"]["lam"] == 1.0
    assert "25% less than λ = 0" in found["same_precision"]["sentence"]


def test_the_sentence_says_if_a_gain_is_smaller_than_the_spread():
    def at(lam, *times):
        return Point.of("plain", lam, [{"P@1": 70.0, "p50_ms": ms} for ms in times])

    clear = recommend([at(0.0, 0.040, 0.041), at(1.0, 0.030, 0.031)])["same_precision"]
    vague = recommend([at(0.0, 0.030, 0.041), at(1.0, 0.030, 0.031)])["same_precision"]
    assert clear["lam"] == vague["lam"] == 1.0
    assert "no larger than that between seeds" not in clear["sentence"]
    assert "no larger than that between seeds" in vague["sentence"]


def test_without_lam_0_precision_is_compared_with_the_best():
    assert recommend(grid((0.5, 70.0, 0.01), (1.0, 71.0, 0.05), (1.5, 70.95, 0.04)))["same_precision"]["lam"] == 1.5


def test_if_no_lam_meets_the_budget_the_fastest_is_named():
    found = recommend(grid((0.0, 71.0, 0.04), (1.0, 70.0, 0.03)), budget_ms=0.01)["budget"]
    assert found["sentence"].startswith("No λ answers within 0.01 ms: the fastest is λ = 1 ")


def test_a_budget_must_be_positive():
    with pytest.raises(ParameterError, match="more than 0"):
        recommend(grid((0.0, 71.0, 0.04)), budget_ms=0)


def test_the_spread_is_the_highest_minus_the_lowest():
    point = Point.of("plain", 1.0, [{"P@1": 70.0}, {"P@1": 73.0}, {"P@1": 71.0}])
    assert point.spread == {"P@1": 3.0}
    assert table_rows([point])[0]["P@1_spread"] == 3.0
    assert Point.from_plain(point.plain()) == point


def test_lams_of_the_default_grid_have_different_texts():
    from labelwood.tuning import default_lams

    texts = [lam_text(lam) for lam in [*default_lams(), 2.0]]
    assert len(set(texts)) == len(texts)
