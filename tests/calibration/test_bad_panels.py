"""Panels that say nothing, say the opposite or copy a rater, beside honest ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from calibration_worlds import Files, summary, write_table

from areopagus.calibration import calibrate

Scores = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
"""A judge's scores of some responses, from their qualities and people's ratings (raters first)."""


def constant(quality: np.ndarray, _: np.ndarray, __: np.random.Generator) -> np.ndarray:
    return np.full(len(quality), 5.0)


def noise(quality: np.ndarray, _: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.clip(np.round(6 + rng.normal(scale=1.5, size=len(quality))), 1, 10)


def honest(quality: np.ndarray, _: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.clip(np.round(6 + 1.5 * quality + rng.normal(size=len(quality))), 1, 10)


def inverted(quality: np.ndarray, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 11 - honest(quality, people, rng)


def write_world(
    folder: Path, scores: Scores, *, seed: int = 1, prompts: int = 24, raters: int = 5,
    judges: int = 6,
) -> Files:  # fmt: skip
    """Prompts of six responses, rated from 1 to 10."""
    rng = np.random.default_rng(seed)
    judged: list[list[object]] = []
    rated: list[list[object]] = []
    for g in range(prompts):
        quality = rng.normal(size=6)
        people = 5.5 + 1.5 * quality + rng.normal(scale=1.2, size=(raters, 6))
        people = np.clip(np.round(people), 1, 10)
        for i in range(raters):
            rated += [[f"h{i}", f"p{g}", f"p{g}r{r}", int(people[i, r])] for r in range(6)]
        for j in range(judges):
            own = scores(quality, people, rng)
            judged += [[f"p{g}", f"p{g}r{r}", f"judge {j}", own[r]] for r in range(6)]
    folder.mkdir(parents=True, exist_ok=True)
    files = Files(folder / "judgments.csv", folder / "humans.csv")
    write_table(files.judgments, ["prompt_id", "response_id", "judge", "score"], judged)
    write_table(files.humans, ["rater_id", "prompt_id", "response_id", "score"], rated)
    return files


@pytest.mark.parametrize(
    ("scores", "first"),
    [
        (constant, "Always the same score on overall. "),
        (noise, "Not shown to agree with people on overall. "),
        (inverted, "Shown to disagree with people on overall (tau −0."),
    ],
)
def test_a_panel_without_agreement_gets_no_advice_to_keep_its_scores(
    tmp_path: Path, scores: Scores, first: str
) -> None:
    """All three were told that no correction is better: keep the scores."""
    found = calibrate(*write_world(tmp_path, scores), scale=(1, 10))
    text = summary(found)
    assert text.startswith(first)
    assert ("): is the scale reversed?" in text) == (scores is inverted)
    assert "Not shown above chance: all 6 judges." in text
    assert "corrected" not in text
    assert "keep the scores" not in found.text
    assert "keep equal weights" not in found.text
    assert "none, as the panel is not shown to agree with people" in " ".join(found.text.split())


def test_an_honest_panel_is_advised_as_before(tmp_path: Path) -> None:
    found = calibrate(*write_world(tmp_path, honest), scale=(1, 10))
    assert summary(found).startswith("Better than one more person on overall.")
    assert "corrected " in summary(found)
    assert "Not shown above chance" not in summary(found)
