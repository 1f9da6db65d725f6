"""A panel of ten disciplinary and ideological judges for responses that have no right answer.

Names are resolved when they are first used, so that `import areopagus` loads nothing heavy.
"""

from __future__ import annotations

from typing import Any

from .lazy import lazy_names

_find, __dir__, __all__ = lazy_names(__name__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("areopagus")
    return _find(name)
