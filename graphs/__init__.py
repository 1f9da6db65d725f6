"""The LangGraph state machines: panel, reframing, adjudication, and those that write prompts."""

from .screening import Screening, screen
from .state import Bench, PanelState, Sitting, judge_id

__all__ = ["Bench", "PanelState", "Screening", "Sitting", "judge_id", "screen"]
