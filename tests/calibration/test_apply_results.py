"""What `apply` says on people's scale: corrected means and differences, or why there are none."""

from __future__ import annotations

import csv
import html
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.prediction_powered import ppi_over_prompts
from areopagus.calibration import Applied, Calibration, SavedCalibration, apply, calibrate, load
from areopagus.cli.main import cli
from areopagus.records.estimates import estimate_at

NAMES = ("plain", "good", "long")
HELD = (5.0, 5.8, 5.0)
"""What people hold of each on average; the judges give the third .8 for its length."""


@dataclass(frozen=True)
class World:
    """A planted world.

    Attributes:
        judgments, humans: its files.
        panel: shape (prompts, respondents), the panel's mean scores.
        people: shape (prompts, respondents, raters), nan where nobody rated.
    """

    judgments: Path
    humans: Path
    panel: np.ndarray
    people: np.ndarray


def write(
    folder: Path,
    n_prompts: int = 80,
    n_rated: int = 30,
    *,
    seed: int = 5,
    first: int = 0,
    shift: float = 0.0,
    noise: float = 0.4,
) -> World:
    """Judges halve differences and stand 2 higher; three raters of different severity."""
    rng = np.random.default_rng(seed)
    held = np.array(HELD) + 0.8 * rng.normal(size=(n_prompts, 1))
    held = held + 0.6 * rng.normal(size=(n_prompts, 3))
    severity = np.array([-0.5, 0.0, 0.7])
    people = np.round(held[:, :, None] + severity + rng.normal(size=(n_prompts, 3, 3)))
    people[rng.permutation(n_prompts)[n_rated:]] = np.nan
    scores = 2 + 0.5 * held + 0.8 * (np.arange(3) == 2)
    scores = scores[:, :, None] + rng.normal(0, noise, (n_prompts, 3, 2)) + shift * np.arange(2)
    folder.mkdir(parents=True, exist_ok=True)
    judgments, humans = folder / "judgments.csv", folder / "humans.csv"
    with judgments.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["prompt_id", "response_id", "source", "judge", "score"])
        for g, k, j in np.ndindex(scores.shape):
            name = f"p{first + g}"
            lines.writerow([name, f"{name}-{k}", NAMES[k], f"judge{j}", round(scores[g, k, j], 4)])
    with humans.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["rater_id", "prompt_id", "response_id", "score"])
        for g, k, i in np.ndindex(people.shape):
            if np.isfinite(people[g, k, i]):
                name = f"p{first + g}"
                lines.writerow([f"h{i}", name, f"{name}-{k}", int(people[g, k, i])])
    return World(judgments, humans, scores.mean(axis=2), people)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def calibration(world: World) -> Calibration:
    return calibrate(world.judgments, world.humans, rated="random", scale=(0, 11))


@pytest.fixture(scope="module")
def saved(calibration: Calibration) -> SavedCalibration:
    return load(calibration)


@pytest.fixture(scope="module")
def applied(calibration: Calibration, world: World) -> Applied:
    return apply(calibration, world.judgments)


def at(found: Applied, table: str, measure: str, **keys: str) -> Estimate:
    one = estimate_at(found.estimates, table, measure, **keys)
    assert one is not None, (table, measure, keys)
    return one


def difference(found: Applied, first: str, second: str, measure: str) -> Estimate:
    """The difference of two, whichever of them stands first."""
    one = estimate_at(
        found.estimates, "comparison", measure, respondent=first, baseline=second
    )  # fmt: skip
    if one is not None:
        return one
    other = at(found, "comparison", measure, respondent=second, baseline=first)
    return replace(other, value=-other.value, low=-other.high, high=-other.low)


def test_a_difference_that_the_panel_turns_round_is_put_right(applied: Applied) -> None:
    raw = difference(applied, "good", "long", "difference")
    corrected = difference(applied, "good", "long", "corrected")
    assert raw.high < 0
    assert corrected.covers(0.8)
    assert (corrected.verdict, corrected.low > 0) == ("higher", True)
    equal = difference(applied, "plain", "long", "corrected")
    assert equal.covers(0)
    assert equal.verdict == "open"
    assert difference(applied, "plain", "long", "difference").high < 0
    (first,) = applied.document().headline
    assert first.startswith("On people's scale good is better than ")
    assert first.endswith("The panel alone says otherwise of 2 of 3 pairs.")
    # Intervals that are shown are those that decide.
    assert "intervals hold jointly for 3 pairs." in " ".join(str(applied).split())


def test_a_corrected_difference_is_that_of_people_less_what_the_panel_misses(
    applied: Applied, world: World
) -> None:
    """By hand from the world's arrays: people's and panel's paired difference on every prompt."""
    people, panel = world.people.mean(axis=2), world.panel
    by_hand = ppi_over_prompts(people[:, 1] - people[:, 2], panel[:, 1] - panel[:, 2], tests=3)
    corrected = difference(applied, "good", "long", "corrected")
    # scores stand in the file with four decimals
    assert corrected.value == pytest.approx(by_hand.mean.value, abs=1e-3)
    assert corrected.low == pytest.approx(by_hand.mean.low, abs=1e-3)
    assert corrected.p == pytest.approx(by_hand.mean.p, rel=0.01)
    assert (corrected.n, corrected.n_planned) == (30, 80)
    mean = at(applied, "means", "corrected", respondent="plain")
    assert mean.value == pytest.approx(
        ppi_over_prompts(people[:, 0], panel[:, 0]).mean.value, abs=1e-3
    )
    raw = at(applied, "means", "mean", respondent="plain")
    assert raw.value == pytest.approx(panel[:, 0].mean(), abs=1e-4)
    alone = difference(applied, "good", "long", "people alone")
    assert alone.value == pytest.approx(np.nanmean(people[:, 1] - people[:, 2]))


def test_corrected_differences_are_decided_over_all_pairs(applied: Applied) -> None:
    table = applied.estimates
    rows = table[(table["table"] == "comparison") & (table["measure"] == "corrected")]
    assert set(rows["family"]) == {"3 pairs"}
    assert (rows["high_family"] - rows["low_family"] > rows["high"] - rows["low"]).all()
    excludes = (rows["low_family"] > 0) | (rows["high_family"] < 0)
    assert (excludes == rows["verdict"].isin(["higher", "lower"])).all()
    assert (excludes == (rows["p"] <= 0.05)).all()


def test_the_folder_keeps_what_apply_needs(
    calibration: Calibration, applied: Applied, world: World, tmp_path: Path
) -> None:
    folder = calibration.write(tmp_path / "calibration", figures=False).path
    again = apply(folder, world.judgments)
    pd.testing.assert_frame_equal(again.estimates, applied.estimates)
    (folder / "people_scores.parquet").unlink()
    older = apply(folder, world.judgments)
    assert older.sampled.refused == "the calibration keeps no ratings by people: make it anew"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rated": "chosen"}, "the rated prompts were chosen, not drawn at random"),
        ({"rated": None}, "nobody said how the rated prompts were taken"),
        ({"few": 5}, "people rated 5 prompts of this run: 6 are needed"),
        ({"few": 0}, "people rated no response of this run"),
    ],
)
def test_no_correction_without_a_random_sample_of_enough_prompts(
    saved: SavedCalibration,
    world: World,
    change: dict[str, Any],
    reason: str,
) -> None:
    assert saved.people is not None
    if "few" in change:
        rated = saved.people.dropna(subset=["score"])["response_id"].str.split("-").str[0]
        kept = set(rated.unique()[: change["few"]])
        prompt = saved.people["response_id"].str.split("-").str[0]
        people = saved.people.assign(score=saved.people["score"].where(prompt.isin(kept)))
        change = {"people": people}
    without_map = replace(saved, map_x=(), map_y=(), **change)
    found = apply(without_map, world.judgments)
    assert found.sampled.refused is not None
    assert found.sampled.refused.startswith(reason)
    one = difference(found, "good", "long", "corrected")
    assert not one.is_defined
    assert one.reason == found.sampled.refused
    assert difference(found, "good", "long", "difference").is_defined
    first, second = found.document().headline
    assert first.startswith(f"Not corrected: {reason}")
    assert second.startswith("The panel's own scores: long less good +")
    # said in the headline, and not again below each table
    assert str(found).count(reason[:30]) == 1


def test_where_no_two_answered_one_prompt_the_panels_means_are_told(
    saved: SavedCalibration, world: World, tmp_path: Path
) -> None:
    """It said "long less good – points"."""
    header, *rows = world.judgments.read_text().splitlines()
    names = {row.split(",")[0]: NAMES[k % len(NAMES)] for k, row in enumerate(rows[::6])}
    kept = [row for row in rows if row.split(",")[2] == names[row.split(",")[0]]]
    apart = tmp_path / "apart.csv"
    apart.write_text("\n".join([header, *kept]) + "\n")
    found = apply(replace(saved, map_x=(), map_y=(), rated=None), apart)
    second = found.document().headline[1]
    assert second.startswith("The panel's own scores: long ")
    assert "–" not in second


def test_ranks_correct_no_level(tmp_path: Path, world: World) -> None:
    ranks = tmp_path / "ranks.csv"
    lines = world.humans.read_text().replace("score", "rank").splitlines()
    place = {"0": 2, "1": 1, "2": 3}
    for k, line in enumerate(lines[1:], start=1):
        rater, prompt, response, _ = line.split(",")
        lines[k] = f"{rater},{prompt},{response},{place[response[-1]]}"
    ranks.write_text("\n".join(lines) + "\n")
    found = apply(calibrate(world.judgments, ranks, rated="random"), world.judgments)
    assert (
        found.sampled.refused
        == "people gave no scores: ranks, preferences and labels hold no level"
    )


def test_where_every_prompt_is_rated_peoples_own_differences_stand(
    saved: SavedCalibration, world: World, tmp_path: Path
) -> None:
    """The run holds the rated prompts only: nothing is predicted, and nobody need say how they
    were taken."""
    rated = {f"p{g}" for g in np.flatnonzero(np.isfinite(world.people[:, 0, 0]))}
    lines = world.judgments.read_text().splitlines()
    part = tmp_path / "part.csv"
    kept = [line for line in lines[1:] if line.split(",")[0] in rated]
    part.write_text("\n".join([lines[0], *kept]) + "\n")
    found = apply(replace(saved, rated=None), part)
    assert found.sampled.refused is None
    one = difference(found, "good", "plain", "corrected")
    people = world.people.mean(axis=2)
    assert one.value == pytest.approx(np.nanmean(people[:, 1] - people[:, 0]))
    assert "people's own mean" in one.method
    assert "30 of 30 prompts rated by 3 raters, every one of them" in " ".join(str(found).split())


def test_on_other_prompts_the_map_speaks_without_an_interval(
    saved: SavedCalibration, tmp_path: Path
) -> None:
    later = write(tmp_path / "later", 40, 0, seed=8, first=500)
    line = replace(saved, map_name="line", map_x=(0.0, 11.0), map_y=(-4.0, 18.0))
    found = apply(line, later.judgments)
    one = difference(found, "good", "plain", "corrected")
    raw = difference(found, "good", "plain", "difference")
    assert one.value == pytest.approx(2 * raw.value, abs=1e-3)
    assert not one.has_interval
    assert np.isnan(one.p)
    assert one.reason is not None
    assert one.reason.startswith("the map holds if these responses are like the calibrated ones")
    first, second = found.document().headline
    # a map cannot put right what the panel favours a respondent by
    assert first.startswith("By the map, long has +")
    assert second == ("That is a guide without an interval: people rated no response of this run.")
    without = apply(replace(saved, map_x=(), map_y=()), later.judgments)
    assert not difference(without, "good", "plain", "corrected").is_defined


def test_prompts_that_were_not_calibrated_take_no_part_in_the_correction(
    saved: SavedCalibration, world: World, applied: Applied, tmp_path: Path
) -> None:
    more = write(tmp_path / "more", 20, 0, seed=9, first=500)
    both = tmp_path / "both.csv"
    lines = more.judgments.read_text().splitlines()[1:]
    both.write_text(world.judgments.read_text() + "\n".join(lines) + "\n")
    found = apply(saved, both)
    one, same = (difference(each, "good", "long", "corrected") for each in (found, applied))
    assert (one.value, one.low) == pytest.approx((same.value, same.low))
    assert difference(found, "good", "long", "difference").n == 100
    assert "20 prompts of this run were not calibrated" in " ".join(str(found).split())


def test_a_judge_that_moved_moves_the_raw_figures_and_not_the_corrected(
    saved: SavedCalibration, world: World, applied: Applied, tmp_path: Path
) -> None:
    moved = write(tmp_path / "moved", shift=1.0)
    found = apply(saved, moved.judgments)
    assert found.moved == ("judge1",)
    raw, before = (at(each, "means", "mean", respondent="plain") for each in (found, applied))
    assert raw.value - before.value == pytest.approx(0.5, abs=1e-3)
    one, same = (at(each, "means", "corrected", respondent="plain") for each in (found, applied))
    assert one.value == pytest.approx(same.value, abs=1e-3)
    assert "1 of 2 judges score identical responses differently now" in " ".join(str(found).split())


def test_ratings_of_another_text_do_not_count(
    calibration: Calibration, saved: SavedCalibration, world: World
) -> None:
    assert saved.people is not None
    texts = pd.DataFrame(
        {
            "response_id": [f"p{g}-{k}" for g in range(80) for k in range(3)],
            "prompt_text": "Why?", "prompt_id": [f"p{g}" for g in range(80) for _ in range(3)],
            "response_text": "Because.", "respondent_id": [*NAMES] * 80,
        }
    )  # fmt: skip
    then = saved.people.assign(text_sha256="of another text")
    found = apply(replace(saved, people=then), world.judgments, responses=texts)
    assert found.sampled.refused == "people rated no response of this run"


def test_a_rater_counts_in_a_difference_where_both_sides_were_rated(
    saved: SavedCalibration, world: World
) -> None:
    """A fourth rater, harsh by 4, rates `good` alone: nobody's difference moves."""
    assert saved.people is not None
    rated = saved.people.dropna(subset=["score"])
    mine = rated[(rated["rater"] == "h0") & rated["response_id"].str.endswith("-1")]
    harsh = mine.assign(rater="h9", score=mine["score"] - 4)
    found = apply(replace(saved, people=pd.concat([saved.people, harsh])), world.judgments)
    same = apply(saved, world.judgments)
    one, before = (difference(each, "good", "long", "corrected") for each in (found, same))
    assert one.value == pytest.approx(before.value)
    assert found.sampled.n_unpaired == 0
    alone = saved.people[
        ~(saved.people["response_id"].str.endswith("-1") & saved.people["rater"].notna())
    ]
    found = apply(replace(saved, people=pd.concat([alone, harsh])), world.judgments)
    # nobody rated both: the means of different raters, which is said
    assert found.sampled.n_unpaired == 60
    assert difference(found, "good", "long", "corrected").value < before.value - 3
    assert "60 differences on a prompt between different raters" in " ".join(str(found).split())


def test_it_shows_itself_in_80_columns_as_a_table_and_in_a_notebook(applied: Applied) -> None:
    lines = applied.text.splitlines()
    assert max(map(len, lines)) <= 80
    assert "What the panel adds" in applied.text
    assert applied.to_pandas().equals(applied.estimates)
    shown = html.unescape(re.sub("<[^>]+>", "", applied._repr_html_()))
    assert "On people's scale good is better than" in shown
    assert "30 of 80 prompts rated by 3 raters" in shown
    assert repr(applied).startswith("Applied(On people's scale good is better than ")
    assert applied.plot() is not None


def test_the_command_prints_raw_beside_corrected_and_writes_both_as_json(
    calibration: Calibration, world: World, tmp_path: Path
) -> None:
    folder = calibration.write(tmp_path / "calibration", figures=False).path
    file = tmp_path / "applied.json"
    ran = CliRunner().invoke(
        cli,
        ["apply", str(folder), str(world.judgments), "--json", str(file)],
    )
    assert ran.exit_code == 0, ran.output
    assert "pair" in ran.output
    head = next(line for line in ran.output.splitlines() if "raw" in line and "corrected" in line)
    assert head.split()[0] in ("pair", "respondent")
    content = json.loads(file.read_text())
    assert content["headline"][0].startswith("On people's scale good")
    measures = {row["measure"] for row in content["estimates"] if row["table"] == "comparison"}
    assert measures == {"difference", "corrected", "people alone", "weight"}
