"""The public face of the estimators."""

from __future__ import annotations

import importlib
import types
from pathlib import Path

import areopagus.aggregation as aggregation

FOLDER = Path(__file__).parents[2] / "aggregation"


def test_every_name_resolves_to_what_it_names_whatever_was_imported_before() -> None:
    for path in FOLDER.glob("*.py"):
        importlib.import_module(f"areopagus.aggregation.{path.stem}")
    for _ in range(2):
        for name in aggregation.__all__:
            assert not isinstance(getattr(aggregation, name), types.ModuleType), name
