"""Fixtures of the tests of batch runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from batch_material import CANARY
from batch_server import BatchServer

from areopagus.batch import BatchSettings

FAST = BatchSettings(poll_s=0.005)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATCH_TEST_KEY", CANARY)
    # A batch that is not listed is looked for over a minute.
    monkeypatch.setattr("areopagus.batch.submit.LOOK_AGAIN_S", (0.001,) * 4)


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with BatchServer() as running:
        yield running
