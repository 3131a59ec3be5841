"""Why a label is found where it is: its copies, what their leaves are about, and what tells the copies apart."""

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
