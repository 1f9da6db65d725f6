"""Fewer judges where fewer will do: what a stopping rule spares, and what that costs."""

from .tally import PrecisionTally, Reliability, panel_with_rule, reliability_kept
from .text import precision_of, precision_sentences

__all__ = [
    "PrecisionTally",
    "Reliability",
    "panel_with_rule",
    "precision_of",
    "precision_sentences",
    "reliability_kept",
]
