"""Run folders that several tests of reports read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Chromium, find_chromium
from report_runs import WrittenReport, make_hostile_run, make_large_run, make_run, plain_verdicts

from areopagus.reports import write_report


@pytest.fixture(scope="session")
def large_report(tmp_path_factory: pytest.TempPathFactory) -> WrittenReport:
    """10,000 responses by 30 judges, pictures drawn."""
    run = make_large_run(
        tmp_path_factory.mktemp("large") / "run", n_responses=10_000, n_personas=10, n_models=3
    )
    began = time.monotonic()
    path = write_report(run)
    return WrittenReport(path, time.monotonic() - began)


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run full of attacks, pictures drawn."""
    return write_report(make_hostile_run(tmp_path_factory.mktemp("hostile") / "run"))


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    if find_chromium() is None:
        pytest.skip("no Chromium on this machine")
    with Chromium() as opened:
        yield opened


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Chromium]:
    """A new page in the one browser; whatever test: nothing was asked of the network."""
    chromium.fresh()
    yield chromium
    assert chromium.requests == {}


@pytest.fixture
def plain_run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "plain", list(plain_verdicts(8)))


@pytest.fixture
def hostile_run(tmp_path: Path) -> Path:
    return make_hostile_run(tmp_path / "hostile")
