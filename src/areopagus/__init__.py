"""A panel of ten disciplinary and ideological judges for responses that have no right answer.

Names are resolved when they are first used, so that `import areopagus` loads nothing heavy.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .lazy import lazy_names

# A checkout without symbolic links (Windows, a zip) has the subpackages at its root only.
if not Path(__file__).with_name("judges").is_dir():
    __path__.append(str(Path(__file__).parents[2]))

_find, __dir__, __all__ = lazy_names(__name__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("areopagus")
    return _find(name)
