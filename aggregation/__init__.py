"""Every estimator: arrays in, `Estimate` out.

Names are resolved when they are first used: scoring a run loads none of what calibration needs.
Types and the rarer functions stand in the modules.
"""

from __future__ import annotations

from ..lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
