"""One planted study in every layout: the same judgments come out of each."""

from collections.abc import Callable
from pathlib import Path

import planted_study
import pytest
from planted_study import Given, Written, pairs, planted

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
