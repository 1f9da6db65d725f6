"""A small study for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from study_data import MODELS_PROMPT, study_rows

from areopagus.study import BuiltStudy, RatingSettings, build_study


@pytest.fixture
def rows() -> list[dict[str, str]]:
    """Eight prompts with five people and three models each, and two calibration items."""
    return study_rows()


@pytest.fixture
def built(tmp_path: Path, rows: list[dict[str, str]]) -> BuiltStudy:
    """Six raters, eight prompts, six responses a page."""
    return build_study(
        [rows],
        raters=6,
        out=tmp_path / "study",
        all_models=[MODELS_PROMPT],
        settings=RatingSettings(pause_minutes=0),
        seed=11,
    )
