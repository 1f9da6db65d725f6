"""One run for all tests of this folder, without its page."""

from __future__ import annotations

import pytest
from scored_run import score

from areopagus import Run


@pytest.fixture(scope="package")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AREOPAGUS_HOME", str(folder / "home"))
        patch.setattr("areopagus.run.Run.write_report", lambda run, **_: run.report_path)
        return score(folder / "run")
