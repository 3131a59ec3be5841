"""Measures how λ of interpolated label trees changes precision, depth and latency, and recommends a λ."""

from labelwood.tuning.grid import Run, default_lams, default_max_leaf
from labelwood.tuning.report import write_report
from labelwood.tuning.summary import Point, pareto_front, recommend
from labelwood.tuning.sweep import sweep

__all__ = ["Point", "Run", "default_lams", "default_max_leaf", "pareto_front", "recommend", "sweep", "write_report"]
