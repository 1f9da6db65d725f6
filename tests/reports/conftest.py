"""Run folders that several tests of reports read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Tab
from filelock import FileLock
from report_runs import WrittenReport, make_hostile_run, make_large_run, make_run, plain_verdicts

from areopagus.any_report import write_any_report as write_report


@pytest.fixture(scope="session")
def large_report(tmp_path_factory: pytest.TempPathFactory) -> WrittenReport:
    """10,000 responses by 30 judges, pictures drawn; one of the suite's processes writes it."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    took = place / "large_report.txt"
    with FileLock(place / "large_report.lock"):
        if not took.exists():
            run = make_large_run(
                place / "large_report", n_responses=10_000, n_personas=10, n_models=3
            )
            began = time.monotonic()
            write_report(run)
            took.write_text(str(time.monotonic() - began))
    return WrittenReport(place / "large_report" / "report.html", float(took.read_text()))


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
