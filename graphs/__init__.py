"""The LangGraph state machines: panel, reframing, adjudication, and those that write prompts."""

from .panel_spec import PanelSpec, judge_id
from .screening import Screening, screen
from .state import PanelState, Sitting

__all__ = ["PanelSpec", "PanelState", "Screening", "Sitting", "judge_id", "screen"]
