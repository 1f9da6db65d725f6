"""The layouts of files of human judgments: one module a tool, each of which makes flat rows."""

from .layout import HumanFile, Layout, Opened
from .registry import LAYOUTS, open_human_file, other_layouts

__all__ = ["LAYOUTS", "HumanFile", "Layout", "Opened", "open_human_file", "other_layouts"]
