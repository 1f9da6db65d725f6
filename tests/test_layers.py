"""Modules know only what lies below them, and none knows itself through others."""

from __future__ import annotations

from pathlib import Path

import grimp
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parents[1]


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
