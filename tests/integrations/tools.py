"""Tests of an adapter need the tool that it is for.

Most tools are not part of a development environment. `.ci/run` installs the package and what
tools.txt lists in one environment, and runs the tests there with AREOPAGUS_TOOLS set: then a tool
that is missing is a failure. Elsewhere its tests skip, and say so.
"""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from types import ModuleType

import pytest


def needs(tool: str, module: str | None = None) -> ModuleType:
    """The module of a tool; at the head of a test file, which skips as a whole without it.

    Args:
        tool: its name.
        module: what is imported, where it has another name.
    """
    try:
        return importlib.import_module(module or tool)
    except ImportError as error:
        if "AREOPAGUS_TOOLS" in os.environ:
            raise
        reason = f"{error}; .ci/run tests this in an environment with {tool}"
        pytest.skip(reason, allow_module_level=True)


def programs_of(page: str, tool: str) -> list[str]:
    """The Python programs of a page of docs/integrations that import a tool.

    tests/test_docs.py does not run them: they are marked so there, and run where the tool is.
    """
    path = Path(__file__).parents[2] / "docs" / "integrations" / f"{page}.md"
    imported = re.compile(rf"^(from|import) (areopagus\.integrations\.)?{tool}\b", flags=re.M)
    blocks = re.findall(r"^```python\n(.*?)^```", path.read_text("utf-8"), flags=re.M | re.S)
    found = [block for block in blocks if imported.search(block)]
    assert found, f"{page}.md has no program with {tool}"
    return found
