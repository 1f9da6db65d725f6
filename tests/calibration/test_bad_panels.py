"""Panels that say nothing, say the opposite or copy a rater, beside honest ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from calibration_worlds import Files, figure, summary, write_table

from areopagus.calibration import calibrate
from areopagus.calibration.copies import copied_raters
from areopagus.calibration.dataset import targets_of
from areopagus.calibration.reading import Texts, panel_dataset

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
        (noise, "Compared with these 5 raters, the panel is not shown to be better than chance"),
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
    assert "the panel is better than one more person at ranking responses." in summary(found)
    assert "corrected " in summary(found)
    assert "Not shown above chance" not in summary(found)


def copy_of_h1(_: np.ndarray, people: np.ndarray, __: np.random.Generator) -> np.ndarray:
    return 2.0 * people[1]


def errorless(quality: np.ndarray, people: np.ndarray, _: np.random.Generator) -> np.ndarray:
    return np.clip(np.round(5.5 + 1.5 * quality), 1, 10)


def mean_of_people(_: np.ndarray, people: np.ndarray, __: np.random.Generator) -> np.ndarray:
    return np.asarray(people.mean(axis=0))


def copies_in(files: Files) -> list[tuple[str, int]]:
    dataset, _, _ = panel_dataset(files.judgments, files.humans, texts=Texts(), scale=(1, 10))
    return [(one.rater, one.n) for one in copied_raters(dataset, targets_of(dataset))]


def test_a_copy_of_a_rater_is_noticed_and_an_honest_panel_never_called_one(tmp_path: Path) -> None:
    """Copies were certified in 5 of 5 worlds."""
    for seed in range(5):
        assert copies_in(write_world(tmp_path, copy_of_h1, seed=seed, judges=1)) == [("h1", 144)]
        for scores in (honest, errorless, mean_of_people, constant):
            assert not copies_in(write_world(tmp_path, scores, seed=seed, judges=1))
    # raters who all say the same: the panel may be right as they are
    files = write_world(tmp_path, copy_of_h1, judges=1)
    rows = files.humans.read_text().splitlines()
    mine = {row.split(",")[2]: row.rpartition(",")[2] for row in rows if row.startswith("h1,")}
    same = [
        ",".join([*row.split(",")[:3], mine[row.split(",")[2]]]) if row[0] == "h" else row
        for row in rows
    ]
    files.humans.write_text("\n".join(same) + "\n")
    assert not copies_in(files)


def test_too_few_responses_show_no_copy(tmp_path: Path) -> None:
    assert not copies_in(write_world(tmp_path, copy_of_h1, prompts=3, judges=1))


def test_a_copied_rater_is_named_first_and_leaves_the_comparison(tmp_path: Path) -> None:
    files = write_world(tmp_path, copy_of_h1, judges=2, raters=3)
    found = calibrate(*files, scale=(1, 20))
    assert summary(found).startswith(
        "The panel orders all 144 responses exactly as rater h1 does: it seems to be a copy, and "
        "its agreement is that of h1, who is left out of the comparison. "
    )
    assert "With 2 raters left, one more person can only be compared with a single other" in (
        summary(found)
    )
    each = found.estimates[found.estimates["table"] == "one person"]["rater"].dropna()
    assert set(each) == {"h0", "h2"}
    assert set(found.people_scores["rater"].dropna()) == {"h0", "h2"}
    # people among themselves are all of them
    assert figure(found, "people", "n_raters", criterion="overall").value == 3


def test_with_one_rater_left_what_cannot_be_estimated_is_said(tmp_path: Path) -> None:
    found = calibrate(*write_world(tmp_path, copy_of_h1, judges=1, raters=2), scale=(1, 20))
    assert (
        "With 1 rater left, agreement among people, and one more person, cannot be estimated."
        in summary(found)
    )
