"""A PostgreSQL server for the ledger's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from postgres_server import PostgresServer, missing


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running server; the test is skipped, saying why, where there can be none."""
    pytest.importorskip("pg8000", reason="the driver is missing: pip install 'areopagus[postgres]'")
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()
