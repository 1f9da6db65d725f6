"""Names of a package that are resolved when they are first used, so that importing it loads little.

Type checkers read the package's `__init__.pyi` instead; the tests hold the two equal.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_imports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Args:
        package: the package's `__name__`.
        homes: each name and the module that has it, relative to the package (`".errors"`).

    Returns:
        A function that finds a name and binds it in the package, so that it is asked once for
        each; it raises AttributeError for a name that is not in `homes`. And one that lists what
        the package has and what its `__all__` names.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        module = sys.modules[package]
        return sorted({*vars(module), *module.__all__})

    return find, names
