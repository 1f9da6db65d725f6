"""One NA, one wrong code, one missing rater, one doubled row, in every layout: told, and counted.

The layouts are those of `planted_study`; one that is added there is tested here. SPSS and Stata
cannot hold a text among numbers, and say their missing codes themselves (`test_statistical`).
"""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import planted_study
import pytest
from planted_study import Given, Written, planted

from areopagus.records.humans import HumanReading, read_humans

STUDY = planted()
Writer = Callable[[list[Given], Path], Written]
TABLES = [one for one in planted_study.LAYOUTS if one.__name__ not in ("spss", "stata")]
ORDERS = planted_study.RANKINGS
PAIRS = planted_study.PREFERENCES
N = len(STUDY)


def name(writer: Writer) -> str:
    return writer.__name__


def read(written: Written, **more: Any) -> HumanReading:
    path, given = written
    return read_humans(path, **{**given, **more})


def n_told(reading: HumanReading) -> int:
    """Returns all judgments: of the tables, missing, left out (faults are not counted here)."""
    left = sum(one.n for one in reading.exclusions)
    tables = (reading.table, reading.labels, reading.preferences)
    return sum(map(len, tables)) + reading.n_missing + left


def with_depth(value: Any) -> list[Given]:
    """The study with another value for depth in one place, neither first nor last."""
    place = N // 2
    return [*STUDY[:place], STUDY[place]._replace(depth=value), *STUDY[place + 1 :]]


def edited(written: Written, of_cells: Callable[[list[list[str]]], None]) -> Written:
    """The file with other cells; of JSON the text is edited as the only cell."""
    path, given = written
    if path.suffix == ".json":
        cells = [[path.read_text()]]
        of_cells(cells)
        path.write_text(cells[0][0])
        return written
    with path.open(newline="") as file:
        cells = list(csv.reader(file))
    of_cells(cells)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(cells)
    return path, given


@pytest.mark.parametrize("code", ["NA", "n/a", "NaN", "null", "None", ".", "-99"])
def test_what_stands_for_no_rating_is_counted_by_its_code(code: str, tmp_path: Path) -> None:
    reading = read(planted_study.wide(with_depth(code), tmp_path)).require_sound()
    (missing,) = reading.missing
    assert (missing.code, missing.criterion, missing.n) == (code, "depth", 1)
    assert missing.lines == (N // 2 + 2,)
    assert len(reading.table) == 3 * N - 1


@pytest.mark.parametrize("value", ["NA", -99])
@pytest.mark.parametrize("writer", TABLES, ids=name)
def test_one_missing_value_takes_nothing_else_with_it(
    writer: Writer, value: Any, tmp_path: Path
) -> None:
    reading = read(writer(with_depth(value), tmp_path)).require_sound()
    assert [(one.code, one.criterion, one.n) for one in reading.missing] == [
        (str(value), "depth", 1)
    ]
    assert (len(reading.table), len(reading.labels)) == (3 * N - 1, N)
    assert n_told(reading) == 4 * N


@pytest.mark.parametrize("writer", TABLES, ids=name)
def test_a_wrong_code_is_a_fault_with_its_column_and_the_rest_is_read(
    writer: Writer, tmp_path: Path
) -> None:
    reading = read(writer(with_depth("x"), tmp_path))
    (fault,) = reading.faults
    assert "must be a number, got the text 'x'" in fault.message
    assert fault.field
    assert (len(reading.table), len(reading.labels)) == (3 * N - 1, N)
    # said to be missing, it is; said to be a number, it is one
    declared = read_with(writer, with_depth("x"), tmp_path, {"missing": ["x"]})
    assert [(one.code, one.n) for one in declared.missing] == [("x", 1)]
    coded = read_with(writer, with_depth("x"), tmp_path, {"codes": {"x": 4}})
    assert (coded.n_missing, len(coded.table)) == (0, 3 * N)


def read_with(
    writer: Writer, study: list[Given], folder: Path, more: dict[str, Any]
) -> HumanReading:
    """The reading with something added to the layout's own column map."""
    from areopagus.records.humans import read_column_map

    path, given = writer(study, folder)
    own = read_column_map(given.get("columns")).model_dump(exclude_unset=True)
    return read_humans(path, **{**given, "columns": {**own, **more}}).require_sound()


@pytest.mark.parametrize("writer", TABLES, ids=name)
def test_a_score_off_the_scale_is_told_with_its_row(writer: Writer, tmp_path: Path) -> None:
    reading = read(writer(with_depth(17), tmp_path), scale=(1, 7))
    (misfit,) = reading.misfits()
    assert misfit.said == "1 rating is off the scale, and left out"
    one = STUDY[N // 2]
    assert misfit.places[0].startswith(f"17 by {one.rater} of {one.response}, depth: row ")


def blank_a_rater(cells: list[list[str]]) -> None:
    for row in cells:
        for place, cell in enumerate(row):
            if cell in ("ann", "ann@example.org"):
                row[place] = ""
                return
            if '"ann"' in cell:
                row[place] = cell.replace('"ann"', "null", 1)
                return
    raise AssertionError("no rater to blank")


WITH_RATERS = [one for one in (*TABLES, *ORDERS, *PAIRS) if name(one) != "limesurvey"]
"""LimeSurvey numbers its answers: who has no token is known by the number."""


@pytest.mark.parametrize("writer", WITH_RATERS, ids=name)
def test_a_missing_rater_is_one_fault_of_its_row(writer: Writer, tmp_path: Path) -> None:
    whole = n_told(read(writer(STUDY, tmp_path)))
    reading = read(edited(writer(STUDY, tmp_path), blank_a_rater))
    (fault,) = reading.faults
    assert "must not be empty" in fault.message
    assert 0 < n_told(reading) < whole


def doubled(cells: list[list[str]]) -> None:
    if len(cells[0]) == 1 and cells[0][0][:1] == "[":
        records = json.loads(cells[0][0])
        records[-1] = double_of(records[-1])
        cells[0][0] = json.dumps(records)
    else:
        cells.append(cells[-1])


def double_of(record: dict[str, Any]) -> dict[str, Any]:
    if "annotations" in record:
        return {**record, "annotations": [*record["annotations"], record["annotations"][-1]]}
    twice = {part: [*said, said[-1]] for part, said in record["responses"].items()}
    return {**record, "responses": twice}


@pytest.mark.parametrize("writer", [*TABLES, *ORDERS, *PAIRS], ids=name)
def test_a_doubled_row_is_told_and_its_judgments_count_once(writer: Writer, tmp_path: Path) -> None:
    whole = read(writer(STUDY, tmp_path))
    reading = read(edited(writer(STUDY, tmp_path), doubled)).require_sound()
    n_more = n_told(reading) - n_told(whole)
    assert n_more > 0
    told = dict(repeats(reading))
    assert sum(told.values()) == n_more, told


def repeats(reading: HumanReading) -> Iterator[tuple[str, int]]:
    for misfit in reading.misfits():
        yield misfit.said, misfit.n
    for one in reading.exclusions:
        yield one.reason, one.n


def spoil_last(text: str) -> Callable[[list[list[str]]], None]:
    """Returns what puts a text in place of a judgment: in JSON of the last choice."""

    def edit(cells: list[list[str]]) -> None:
        if len(cells) == 1:
            before, _, after = cells[0][0].rpartition('"choices": ["')
            rest = after.partition('"')[2]
            cells[0][0] = f'{before}"choices": ["{text}"{rest}'
        else:
            for column in ("winner", "preferred"):
                if column in cells[0]:
                    cells[-1][cells[0].index(column)] = text
                    return
            cells[-1][-1] = text

    return edit


ONE_HOT = "arena_one_hot"  # who won stands in three columns there


@pytest.mark.parametrize("writer", [one for one in PAIRS if name(one) != ONE_HOT], ids=name)
def test_a_winner_that_is_missing_or_nobody(writer: Writer, tmp_path: Path) -> None:
    n = len(planted_study.pairs(STUDY))
    reading = read(edited(writer(STUDY, tmp_path), spoil_last("NA"))).require_sound()
    assert [(one.code, one.n) for one in reading.missing] == [("NA", 1)]
    assert len(reading.preferences) == n - 1
    reading = read(edited(writer(STUDY, tmp_path), spoil_last("elsewhere")))
    (fault,) = reading.faults
    assert "must be one of the two responses" in fault.message
    assert len(reading.preferences) == n - 1


@pytest.mark.parametrize("writer", ORDERS, ids=name)
def test_a_missing_cell_of_an_order_is_counted(writer: Writer, tmp_path: Path) -> None:
    whole = read(writer(STUDY, tmp_path))
    reading = read(edited(writer(STUDY, tmp_path), spoil_last("NA"))).require_sound()
    n_cells = {one.code: one.n for one in reading.missing}
    assert n_cells["NA"] == 1
    assert reading.table.is_rank.all()
    assert len(whole.table) - 4 <= len(reading.table) <= len(whole.table)
