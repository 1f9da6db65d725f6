"""Modules know only what lies below them, and none knows itself through others."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _loggers() -> Iterator[None]:
    """The linter sets logging up for itself, and switches off all loggers that there are."""
    loggers = [each for each in logging.Logger.manager.loggerDict.values() if _is_on(each)]
    yield
    for each in loggers:
        each.disabled = False  # type: ignore[union-attr]


def _is_on(logger: object) -> bool:
    return isinstance(logger, logging.Logger) and not logger.disabled


def test_every_layer_knows_only_those_below_it() -> None:
    """The contracts stand in pyproject.toml; imports for types alone count too."""
    assert lint_imports(str(ROOT / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("areopagus", cache_dir=None)
    left = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    # Whoever imports nobody that is left is in no circle.
    while free := [name for name, imported in left.items() if not imported & left.keys()]:
        for name in free:
            del left[name]
    # And whoever nobody imports that is left only leads to one.
    while top := [name for name in left if not any(name in imported for imported in left.values())]:
        for name in top:
            del left[name]
    assert sorted(left) == []
