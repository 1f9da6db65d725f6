"""The LangGraph state machines (the panel, `generate`), and what models write and rule by them."""

from .panel import PanelContext, PanelState
from .panel_spec import PanelSpec
from .screening import Screening, screen

__all__ = ["PanelContext", "PanelSpec", "PanelState", "Screening", "screen"]
