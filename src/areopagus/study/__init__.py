"""The human study: blinded packets, the pages people rate and write on, and the way back.

Names are resolved when they are first used: a server loads nothing of what planning needs.
"""

from __future__ import annotations

from ..lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
