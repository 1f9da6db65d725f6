"""Ledgers in a file and on a server: they behave alike."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from ledger_world import Place

_schemas = itertools.count(1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "ledger.sqlite"


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, path: Path) -> Place:
    """A new ledger in a file, and one in a schema of a server."""
    if request.param == "sqlite":
        return path
    return str(request.getfixturevalue("postgres").address(f"place_{next(_schemas)}"))
