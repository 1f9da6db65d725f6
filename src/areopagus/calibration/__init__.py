"""Calibration of a panel against human judgments, and the agreement of people alone.

Names are resolved when they are first used: the report of a run needs a corner of this alone.
"""

from __future__ import annotations

from ..lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
