"""One planted study in every layout: the same judgments come out of each."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import planted_study
import pytest
from planted_study import Given, Written, pairs, planted

from areopagus.calibration import agreement, calibrate
from areopagus.records.humans import HumanReading, read_humans

STUDY = planted()
Writer = Callable[[list[Given], Path], Written]


def ratings(reading: HumanReading) -> set[tuple[object, ...]]:
    table = reading.table
    names = ("rater_id", "prompt_id", "response_id", "criterion")
    columns = [getattr(table, name).texts().tolist() for name in names]
    found = [*zip(*columns, table.is_rank.tolist(), table.value.tolist(), strict=True)]
    assert len(set(found)) == len(found)
    return set(found)


def labels(reading: HumanReading) -> set[tuple[object, ...]]:
    names = ("rater_id", "prompt_id", "response_id", "criterion", "label")
    columns = [getattr(reading.labels, name).texts().tolist() for name in names]
    return set(zip(*columns, strict=True))


def name(writer: Writer) -> str:
    return writer.__name__


RANKS = {(one.rater, one.prompt, one.response, "overall", True, float(one.rank)) for one in STUDY}
SCORES = {
    (one.rater, one.prompt, one.response, criterion.lower(), False, float(value))
    for one in STUDY
    for criterion, value in (("clarity", one.clarity), ("depth", one.depth))
}
LABELS = {(one.rater, one.prompt, one.response, "accepted", one.accepted) for one in STUDY}


@pytest.mark.parametrize("writer", planted_study.LAYOUTS, ids=name)
def test_every_layout_holds_the_same_scores_ranks_and_labels(
    writer: Writer, tmp_path: Path
) -> None:
    path, given = writer(STUDY, tmp_path)
    reading = read_humans(path, **given).require_sound()
    assert ratings(reading) == SCORES | RANKS
    assert labels(reading) == LABELS
    assert reading.n_missing == 0
    assert not reading.exclusions


@pytest.mark.parametrize("writer", planted_study.RANKINGS, ids=name)
def test_every_way_to_write_an_order_holds_the_same_ranks(writer: Writer, tmp_path: Path) -> None:
    path, given = writer(STUDY, tmp_path)
    assert ratings(read_humans(path, **given).require_sound()) == RANKS


@pytest.mark.parametrize("writer", planted_study.PREFERENCES, ids=name)
def test_every_way_to_write_pairs_holds_the_same_preferences(
    writer: Writer, tmp_path: Path
) -> None:
    path, given = writer(STUDY, tmp_path)
    reading = read_humans(path, **given).require_sound()
    table = reading.preferences
    names = ("rater_id", "prompt_id", "response_a", "response_b")
    columns = [getattr(table, column).texts().tolist() for column in names]
    assert set(zip(*columns, table.won_a.tolist(), strict=True)) == {
        (one.rater, one.prompt, f"{one.prompt}/{one.a}", f"{one.prompt}/{one.b}", one.won_a)
        for one in pairs(STUDY)
    }
    assert len(table) == len(pairs(STUDY))
    assert len(reading.table) == 0


def figures(frame: pd.DataFrame) -> pd.DataFrame:
    """The estimates by their keys, in one order: a file may name raters in another one."""
    keys = ["table", "respondent", "persona", "model", "rater", "criterion", "group", "item",
            "detail", "measure"]  # fmt: skip
    shown = [*keys, "value", "low", "high", "se", "p", "n", "n_planned", "reason", "verdict"]
    return frame[shown].sort_values(keys, kind="stable", ignore_index=True)


def one(frame: pd.DataFrame, criterion: str, measure: str) -> pd.Series:
    found = frame[(frame.criterion == criterion) & (frame.measure == measure)]
    assert len(found) == 1
    return found.iloc[0]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The agreement by the long file."""
    path, given = planted_study.long(STUDY, tmp_path_factory.mktemp("long"))
    return figures(agreement(read_humans(path, **given), scale=(1, 7)).estimates)


def test_the_planted_agreement_is_found(people: pd.DataFrame) -> None:
    for criterion in planted_study.CRITERIA:
        icc = one(people, criterion, "icc_one")
        assert 0.15 < icc.low < 0.66 < icc.high
    assert one(people, "overall", "w").value > 2 * one(people, "overall", "w_by_chance").value


@pytest.mark.parametrize("writer", planted_study.LAYOUTS[1:], ids=name)
def test_agreement_is_the_same_in_every_layout(
    writer: Writer, people: pd.DataFrame, tmp_path: Path
) -> None:
    path, given = writer(STUDY, tmp_path)
    found = agreement(read_humans(path, **given), scale=(1, 7)).estimates
    pd.testing.assert_frame_equal(figures(found), people)


@pytest.mark.parametrize(
    "writer", [planted_study.by_label, planted_study.qualtrics, planted_study.spss], ids=name
)
def test_a_calibration_is_the_same_in_other_layouts(writer: Writer, tmp_path: Path) -> None:
    judges = planted_study.judged(STUDY, tmp_path)
    found = []
    for write in (planted_study.long, writer):
        path, given = write(STUDY, tmp_path)
        reading = read_humans(path, **given)
        found.append(figures(calibrate(judges, reading, scale=(1, 7)).estimates))
    pd.testing.assert_frame_equal(*found)


@pytest.mark.parametrize("writer", planted_study.RANKINGS[1:], ids=name)
def test_orders_have_the_same_figures(writer: Writer, tmp_path: Path) -> None:
    found = []
    for write in (planted_study.sheet, writer):
        path, given = write(STUDY, tmp_path)
        found.append(figures(agreement(read_humans(path, **given)).estimates))
    pd.testing.assert_frame_equal(*found)


def test_a_ruled_sheet_without_ties_has_the_same_order_as_its_ranks(tmp_path: Path) -> None:
    rows = [["a", "p1", "x1", "y1", "z1"], ["a", "p2", "z1", "x1", "y1"]]
    path = planted_study.write(tmp_path / "s.csv", ["rater", "prompt", "1st", "2nd", "3rd"], *rows)
    table = read_humans(path).require_sound().table
    found = dict(zip(table.response_id.texts(), table.value, strict=True))
    assert found["p2/z1"] == 1
    assert found["p2/y1"] == 3
