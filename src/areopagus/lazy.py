"""Names of a package that are resolved when they are first used, so that importing it loads little.

The package's `__init__.pyi` is their only list: type checkers read it, and so does this. It goes
into the wheel like any other file; each of its lines is `from .module import name as name`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package, by its `__init__.pyi`.

    Args:
        package: the package's `__name__`.

    Returns:
        A function that finds a name and binds it in the package, so that it is asked once for
        each; it raises AttributeError for a name that the stub does not have. One that lists what
        the package has and what its `__all__` names. And `__all__`: the names of the stub, sorted,
        those among them that it only declares (`__version__: str`).

    Raises:
        FileNotFoundError: the stub was not installed with the package.
    """
    homes: dict[str, str] = {}
    declared: list[str] = []
    # Neither pathlib nor `ast`: each takes longer to load than all else here.
    file = f"{sys.modules[package].__path__[0]}/__init__.pyi"
    with open(file, encoding="utf-8") as stub:  # noqa: PTH123
        lines = stub.readlines()
    for line in lines:
        words = line.split()
        if words[:1] == ["from"]:
            homes[words[3]] = words[1]
        elif words and words[0].endswith(":"):
            declared.append(words[0][:-1])

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    public = sorted([*homes, *declared])

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public})

    return find, names, public
