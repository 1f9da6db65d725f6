"""The LangGraph state machines; `graphs.panel` and `graphs.served` load LangGraph when imported."""

from .screening import Screening, screen
from .state import Bench, PanelState, Sitting, judge_id

__all__ = ["Bench", "PanelState", "Screening", "Sitting", "judge_id", "screen"]
