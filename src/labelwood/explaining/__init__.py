"""Explains where a label is in the trees: its copies, the topics of their leaves, and how the copies differ."""

from labelwood.explaining.explanation import Copy, LabelExplanation, Neighbour, Word
from labelwood.explaining.labels import explain_label
from labelwood.explaining.picture import draw_explanation, explanation_page
from labelwood.explaining.ranking import DividedLabel, most_divided
from labelwood.explaining.terminal import explanation_text, ranking_text

__all__ = [
    "Copy",
    "DividedLabel",
    "LabelExplanation",
    "Neighbour",
    "Word",
    "draw_explanation",
    "explain_label",
    "explanation_page",
    "explanation_text",
    "most_divided",
    "ranking_text",
]
