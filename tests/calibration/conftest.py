"""The planted world, calibrated once, smaller ones beside it, and SummEval's experts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from calibration_worlds import Files, write_world

from areopagus.calibration import Agreement, Calibration, agreement, calibrate
from areopagus.records.humans import read_humans


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The planted world of 24 prompts."""
    return write_world(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="session")
def planted_report(planted: Files) -> Calibration:
    """The calibration of the planted world; nobody may change it."""
    return calibrate(planted.judgments, planted.humans, scale=(1, 10))


@pytest.fixture(scope="session")
def planted_folder(planted_report: Calibration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where it is written to."""
    return planted_report.write(tmp_path_factory.mktemp("written"), figures=False).path


@pytest.fixture(scope="session")
def few_report(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    """Three prompts: too few for any interval."""
    return calibrate(*write_world(tmp_path_factory.mktemp("few"), 3))


@pytest.fixture(scope="session")
def ranks_report(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    """Twelve prompts of which people gave ranks."""
    return calibrate(*write_world(tmp_path_factory.mktemp("ranks"), 12, as_ranks=True))


@pytest.fixture(scope="session")
def summeval_experts(shared_data: Path) -> Agreement:
    """The agreement of SummEval's three experts."""
    reading = read_humans(shared_data / "summeval" / "human_ratings_12systems.csv.gz")
    experts = reading.table.where("rater_id", "expert1", "expert2", "expert3")
    return agreement(experts, scale=(1, 5))


@pytest.fixture
def make_world(tmp_path: Path) -> Callable[..., Files]:
    """Writes further worlds."""

    def make(n_prompts: int = 24, **options: object) -> Files:
        return write_world(tmp_path / "world", n_prompts, **options)  # type: ignore[arg-type]

    return make
