"""Run folders that several tests of reports read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Tab
from filelock import FileLock
from report_runs import make_hostile_run, make_large_run, make_run, plain_verdicts

from areopagus.any_report import write_any_report as write_report


@pytest.fixture(scope="session")
def large_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """10,000 responses by 30 judges, pictures drawn; one of the suite's processes writes it."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    folder = place / "large_report"
    with FileLock(place / "large_report.lock"):
        if not (folder / "report.html").exists():
            write_report(make_large_run(folder, n_responses=10_000, n_personas=10, n_models=3))
    return folder / "report.html"


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run full of attacks, pictures drawn."""
    return write_report(make_hostile_run(tmp_path_factory.mktemp("hostile") / "run"))


@pytest.fixture
def plain_run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "plain", list(plain_verdicts(8)))


@pytest.fixture
def hostile_run(tmp_path: Path) -> Path:
    return make_hostile_run(tmp_path / "hostile")


@pytest.fixture
def browser(tab: Tab) -> Iterator[Tab]:
    """A new tab; whatever the test, nothing is asked of the network."""
    yield tab
    assert tab.requests == {}
