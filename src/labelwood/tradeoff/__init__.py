"""What the knob λ of interpolated label trees does to precision, depth and latency, and which λ to take."""

from labelwood.tradeoff.grid import Run, default_lams, default_max_leaf
from labelwood.tradeoff.report import write_report
from labelwood.tradeoff.summary import Point, pareto_front, recommend
from labelwood.tradeoff.sweep import sweep

__all__ = ["Point", "Run", "default_lams", "default_max_leaf", "pareto_front", "recommend", "sweep", "write_report"]
