"""Runs of these tests write no report, where nothing is read in it."""

import pytest

from areopagus import Run


@pytest.fixture
def no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "write_results", lambda run, **_: run)
