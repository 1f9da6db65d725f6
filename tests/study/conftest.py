"""A small study for the tests of this folder."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from study_data import MODELS_PROMPT, study_rows

from areopagus.study import BuiltStudy, RatingSettings, build_study


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> BuiltStudy:
    """Six raters, eight prompts, six responses a page; to be read and copied only."""
    return build_study(
        [study_rows()], raters=6, out=tmp_path_factory.mktemp("once") / "study",
        all_models=[MODELS_PROMPT], settings=RatingSettings(pause_minutes=0), seed=11,
    )  # fmt: skip


@pytest.fixture
def built(built_once: BuiltStudy, tmp_path: Path) -> BuiltStudy:
    """A copy of it."""
    return replace(built_once, folder=Path(shutil.copytree(built_once.folder, tmp_path / "study")))


@pytest.fixture
def rows() -> list[dict[str, str]]:
    """The responses of that study."""
    return study_rows()
