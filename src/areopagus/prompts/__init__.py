"""Construction of prompts: scenarios from sources, open-ended prompts from models, a study set.

Names are resolved when they are first used: the help of a command loads nothing of it.
"""

from __future__ import annotations

from ..lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
