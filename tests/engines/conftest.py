"""Several nodes of a Ray cluster on loopback addresses of this machine."""

from __future__ import annotations

import importlib.util
import os
import secrets
from collections.abc import Iterator

import pytest
from loopback_cluster import KEY, KEY_VARIABLE, LoopbackCluster
from postgres_server import PASSWORD, PostgresServer


@pytest.fixture(scope="session")
def cluster(postgres: PostgresServer) -> Iterator[LoopbackCluster]:
    """Two nodes and a head; nodes have the key and the password in their environment."""
    # Not imported before the settings stand: Ray reads them once.
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is missing: pip install 'areopagus[ray]'")
    settings = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "PGPASSWORD": PASSWORD,
        KEY_VARIABLE: KEY,
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    made = LoopbackCluster()
    try:
        made.keep(2)
        yield made
    finally:
        made.shutdown()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
