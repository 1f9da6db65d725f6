"""SilverSpoon: who is in the wrong, what somebody does, and what is told of somebody."""

from .audit import SilverSpoon
from .generate import agenerate_scenarios, generate_scenarios
from .gold import load_stored, stored_rows
from .options import SilverSpoonOptions

AUDIT = SilverSpoon()

__all__ = [
    "AUDIT",
    "SilverSpoon",
    "SilverSpoonOptions",
    "agenerate_scenarios",
    "generate_scenarios",
    "load_stored",
    "stored_rows",
]
