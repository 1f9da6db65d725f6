"""Where personas depart from people beyond what the other personas of the panel do.

Names are resolved when they are first used: the help of a command needs the options alone.
"""

from __future__ import annotations

from ..lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
