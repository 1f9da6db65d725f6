"""The LangGraph state machines: panel, reframing, adjudication, and those that write prompts."""

from .panel_spec import PanelSpec, judge_id
from .screening import Screening, screen
from .state import PanelContext, PanelState

__all__ = ["PanelContext", "PanelSpec", "PanelState", "Screening", "judge_id", "screen"]
