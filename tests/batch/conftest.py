"""Fixtures of the tests of batch runs."""

from __future__ import annotations

import pytest
from batch_material import CANARY

from areopagus.batch import BatchSettings

FAST = BatchSettings(poll_s=0.005)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, no_report: None) -> None:
    monkeypatch.setenv("BATCH_TEST_KEY", CANARY)
    # A batch that is not listed is looked for over a minute.
    monkeypatch.setattr("areopagus.batch.submit.LOOK_AGAIN_S", (0.001,) * 4)


@pytest.fixture(scope="module")
def personas() -> list[str]:
    from areopagus.personas import list_personas

    return [item.name for item in list_personas()][:2]
