"""The LangGraph state machines (the panel, `generate`), and what models write and rule by them."""

from .panel_spec import PanelSpec, judge_id
from .screening import Screening, screen
from .state import PanelContext, PanelState

__all__ = ["PanelContext", "PanelSpec", "PanelState", "Screening", "judge_id", "screen"]
