"""Fewer judges where fewer will do: the engine that counts what a stopping rule spares."""

from .engine import PrecisionEngine, PrecisionTally, Reliability, panel_with_rule, reliability_kept
from .text import precision_of, precision_sentences

__all__ = [
    "PrecisionEngine",
    "PrecisionTally",
    "Reliability",
    "panel_with_rule",
    "precision_of",
    "precision_sentences",
    "reliability_kept",
]
