"""Missing values, columns that must be read, pools, scales and sums of files of judgments."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted_study import write

from areopagus.cli.main import cli
from areopagus.errors import InputError
from areopagus.records.humans import HumanReading, read_humans, read_judgments
from areopagus.records.humans.match import limits_of, scale_of

HEADER = ["rater_id", "prompt_id", "response_id"]


def wide(folder: Path, criteria: list[str], *rows: list[Any]) -> Path:
    """A file in which rater a0, a1, … rates response r0, r1, … of one prompt, a row each."""
    named = [[f"a{k % 2}", "p", f"r{k // 2}", *row] for k, row in enumerate(rows)]
    return write(folder / "h.csv", [*HEADER, *criteria], *named)


def missing(reading: HumanReading) -> dict[str, int]:
    return {code: n for code, (n, _) in reading.missing_by_code().items()}


# Missing values


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([1, 7, 3, -99], {"-99": 1}),  # below 0 where nothing else is
        ([1, 7, 3, 99], {"99": 1}),  # farther than the rest is wide
        ([0, 100, 55, 99], {}),  # a score of 0 to 100
        ([-10, 10, 3, -9], {}),  # a score of -10 to 10
        ([1, 7, 3, 8], {}),  # no code: a slip, for the scale to tell
        ([-99, -99, -99, -99], {}),  # nothing to tell it by
    ],
)
def test_a_number_is_a_missing_code_where_it_stands_apart_from_the_rest(
    values: list[int], codes: dict[str, int], tmp_path: Path
) -> None:
    reading = read_humans(wide(tmp_path, ["clarity"], *([value] for value in values)))
    assert missing(reading.require_sound()) == codes
    assert len(reading.table) == 4 - sum(codes.values())


def test_on_a_stated_scale_a_code_is_missing_off_it_and_a_score_on_it(tmp_path: Path) -> None:
    path = wide(tmp_path, ["clarity"], [5], [95], [99], [-99])
    assert missing(read_humans(path, scale=(0, 100))) == {"-99": 1}
    assert missing(read_humans(path, scale=(-100, 100))) == {}
    assert missing(read_humans(path, scale=(0, 10))) == {"99": 1, "-99": 1}
    # declared, it is missing wherever it stands
    declared = read_humans(path, scale=(-100, 100), columns={"missing": [99, "95.0"]})
    assert missing(declared) == {"95": 1, "99": 1}


def test_a_word_that_codes_turn_into_a_number_is_no_missing_value(tmp_path: Path) -> None:
    path = wide(tmp_path, ["clarity"], ["none"], ["some"], ["NA"], [2])
    reading = read_humans(path, columns={"codes": {"none": 0, "some": 1}}).require_sound()
    assert sorted(reading.table.value) == [0, 1, 2]
    assert missing(reading) == {"NA": 1}


def test_none_is_a_label_where_labels_are_read(tmp_path: Path) -> None:
    column_map = {"criteria": {"harm": {"criterion": "harm", "kind": "label"}}}
    path = wide(tmp_path, ["harm"], ["none"], ["some"], ["NA"], [""])
    reading = read_humans(path, columns=column_map).require_sound()
    assert reading.labels.label.texts().tolist() == ["none", "some"]
    assert missing(reading) == {"NA": 1, "empty": 1}


def test_ids_that_programs_write_for_nothing_are_no_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", [*HEADER, "score"], ["NA", "p", "r", 3], ["None", "p", "r", 4])
    reading = read_humans(path)
    assert [str(fault) for fault in reading.faults] == [f"{path}:2: rater_id: must not be empty"]
    assert reading.table.rater_id.used() == ("None",)


def test_one_na_among_1800_cells_takes_no_criterion_with_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [[int(rng.integers(1, 8)), int(rng.integers(1, 8))] for _ in range(900)]
    rows[700] = ["NA", rows[700][1]]  # type: ignore[list-item]  # far below the first rows
    reading = read_humans(wide(tmp_path, ["clarity", "depth"], *rows)).require_sound()
    assert reading.table.criterion.used() == ("clarity", "depth")
    assert (len(reading.table), missing(reading)) == (1799, {"NA": 1})


def test_a_criterion_that_begins_below_the_first_rows_is_read(tmp_path: Path) -> None:
    rows = [[3, ""] for _ in range(600)] + [[4, 5]]
    reading = read_humans(wide(tmp_path, ["clarity", "depth"], *rows))
    assert len(reading.table.where("criterion", "depth")) == 1
    assert missing(reading) == {"empty": 600}


def test_stored_judgments_have_missing_values_too(tmp_path: Path) -> None:
    header = ["prompt_id", "response_id", "judge", "clarity", "depth"]
    path = write(tmp_path / "j.csv", header, ["p", "r1", "k", 7, "NaN"], ["p", "r2", "k", 6, 5])
    reading = read_judgments(path).reading.require_sound()
    assert (len(reading.table), missing(reading)) == (3, {"NaN": 1})


# Columns that must be read


def test_mostly_numbers_with_some_texts_is_a_fault_a_text_with_its_rows(tmp_path: Path) -> None:
    rows = [[k % 7 + 1] for k in range(40)]
    rows[10], rows[20], rows[30] = ["n.s."], ["n.s."], ["4,5"]  # type: ignore[list-item]
    reading = read_humans(wide(tmp_path, ["depth"], *rows))
    assert [str(fault).partition("h.csv")[2] for fault in reading.faults] == [
        ":12: depth: must be a number, got the text 'n.s.', in rows 12, 22",
        ":32: depth: must be a number, got the text '4,5'",
    ]
    assert len(reading.table) == 37
    with pytest.raises(InputError, match="`missing='TEXT'` where it is no rating"):
        reading.require_sound()
    ignored = read_humans(wide(tmp_path, ["depth", "clarity"], *([*row, 3] for row in rows)),
                          columns={"ignore": ["depth"]}).require_sound()  # fmt: skip
    assert ignored.table.criterion.used() == ("clarity",)


def test_of_many_texts_the_first_are_named_and_all_are_counted(tmp_path: Path) -> None:
    rows = [[f"word {k}"] for k in range(30)]
    reading = read_humans(wide(tmp_path, ["clarity"], *rows), dimensions=["clarity"])
    assert len(reading.faults) == reading.n_faults == 21
    assert "10 more cells hold 10 other texts" in reading.faults[-1].message


def test_a_column_named_for_a_dimension_is_read_or_a_fault(tmp_path: Path) -> None:
    path = wide(tmp_path, ["clarity", "depth"], [3, "deep"], [4, "flat"], [5, "deep"])
    plain = read_humans(path).require_sound()
    assert [one.column for one in plain.columns_unread] == ["depth"]
    known = read_humans(path, dimensions=["depth"])
    assert [fault.field for fault in known.faults] == ["depth", "depth"]
    long = write(
        tmp_path / "l.csv", [*HEADER, "criterion", "value", "depth"], ["a", "p", "r", "x", 3, 4]
    )
    with pytest.raises(InputError, match="depth: has the name of a criterion and is not read"):
        read_humans(long, dimensions=["depth"])
    assert len(read_humans(long, dimensions=["depth"], columns={"ignore": ["depth"]}).table) == 1


def test_a_criterion_that_is_asked_for_and_absent_is_an_error(tmp_path: Path) -> None:
    path = wide(tmp_path, ["clarity", "depth"], [3, 4])
    with pytest.raises(InputError, match=r"claritty: there is no .* did you mean clarity\?"):
        read_humans(path, criteria=["claritty", "depth"])
    with pytest.raises(InputError) as raised:
        read_humans(path, criteria=["claritty"])
    assert len(raised.value.faults) == 1
    long = write(
        tmp_path / "l.csv", [*HEADER, "criterion", "value"],
        ["a", "p", "r", "clarity", 3], ["a", "p", "r", "depth", 4],
    )  # fmt: skip
    reading = read_humans(long, criteria=["depth"]).require_sound()
    assert reading.table.criterion.used() == ("depth",)
    assert [(one.reason, one.n) for one in reading.exclusions] == [
        ("rating: of another criterion than was asked for", 1)
    ]
    with pytest.raises(InputError, match="did you mean clarity"):
        read_humans(long, criteria=["claritty", "depth"]).require_sound()


def test_what_is_not_read_is_listed_with_its_reason(tmp_path: Path) -> None:
    columns = ["clarity", "gender", "age", "remark", "nothing", "left"]
    path = wide(tmp_path, columns, [3, "f", 30, "it is", "", 1], [4, "m", 41, "it's fine", "NA", 2])
    reading = read_humans(path, columns={"ignore": ["left"]})
    assert {one.column: one.reason for one in reading.columns_unread} == {
        "gender": "text, 2 different: 'f', 'm'",
        "age": "numbers, 30 to 41; by its name no rating",
        "remark": "text, 2 different: 'it is', \"it's fine\"",
        "nothing": "nothing",
        "left": "ignored by the column map",
    }
    assert reading.unread() == (
        "columns that are not read: gender, age, remark, nothing (humans inspect says why)"
    )


# Pools


def test_raters_of_one_pool_count_as_one_with_their_mean(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv", [*HEADER, "score", "source"],
        ["a", "p", "r1", 2, "crowd"], ["b", "p", "r1", 5, "crowd"], ["c", "p", "r1", 9, "expert"],
        ["a", "p", "r2", 4, "crowd"],
        ["a", "p", "r1", 8, "crowd"],  # again: the first stands
    )  # fmt: skip
    reading = read_humans(path, columns={"pool": "source"}).require_sound()
    table = reading.table
    names = [one.texts().tolist() for one in (table.rater_id, table.response_id)]
    assert list(zip(*names, table.value.tolist(), strict=True)) == [
        ("crowd", "r1", 3.5), ("expert", "r1", 9.0), ("crowd", "r2", 4.0),
    ]  # fmt: skip
    assert [(one.n, one.lines) for one in reading.exclusions] == [(1, (6,))]
    (notice,) = [one for one in reading.notices if "pooled" in one]
    assert notice == (
        "raters pooled by source: 3 raters in 2 pools; 3 ratings of the pools are the means of 4. "
        "Agreement is that of pools, not of single raters"
    )


def test_anonymous_rows_are_pooled_without_a_column_of_raters(tmp_path: Path) -> None:
    header = ["prompt_id", "response_id", "score", "batch"]
    path = write(
        tmp_path / "h.csv", header,
        ["p", "r1", 2, "one"], ["p", "r1", 3, "one"], ["p", "r1", 6, "two"],
    )  # fmt: skip
    with pytest.raises(InputError, match="no column names the rater"):
        read_humans(path)
    reading = read_humans(path, columns={"pool": "batch"}).require_sound()
    assert reading.table.rater_id.texts().tolist() == ["one", "two"]
    assert reading.table.value.tolist() == [2.5, 6]
    assert any("a row that stands there twice as two" in one for one in reading.notices)
    with pytest.raises(InputError, match="no such column, by which raters are to be pooled"):
        read_humans(path, columns={"pool": "panel"})


def test_pooled_raters_who_are_not_on_the_roster_are_named(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv", [*HEADER, "score", "team", "ok"],
        ["a", "p", "r", 3, "x", "yes"], ["b", "p", "r", 4, "x", "no"], ["c", "p", "r", 5, "y", ""],
    )  # fmt: skip
    roster = {"a": "APPROVED", "c": "REJECTED"}
    reading = read_humans(path, columns={"pool": "team"}, roster=roster).require_sound()
    assert reading.table.value.tolist() == [3.5]
    assert "raters who are not on the roster, and count in their pools: b" in reading.notices
    assert [(one.n, one.reason) for one in reading.exclusions] == [
        (1, "rating: the roster says REJECTED")
    ]
    assert reading.labels.rater_id.used() == ("a", "b")
    assert any("they are not pooled" in one for one in reading.notices)


def test_an_empty_pool_is_a_fault_and_comments_have_no_pool(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", [*HEADER, "score", "team"], ["a", "p", "r", 3, "NA"])
    (fault,) = read_humans(path, columns={"pool": "team"}).faults
    assert "team: must not be empty: it says who counts as one" in str(fault)
    with pytest.raises(InputError, match="a comment is that of one rater"):
        cli.main(
            ["humans", "comments", str(path), "--pool", "team", "--out", str(tmp_path / "c.csv")],
            standalone_mode=False,
        )


# Scales and sums


def test_a_scale_is_that_of_a_criterion_or_of_the_rest(tmp_path: Path) -> None:
    scale = {"x": (1.0, 5.0), "rest": (0.0, 1.0)}
    assert scale_of(scale, "x") == (1, 5)
    assert scale_of(scale, "y") == (0, 1)
    assert scale_of((1, 7), "y") == (1, 7)
    assert scale_of(None, "y") is scale_of({"x": (1.0, 5.0)}, "y") is None
    path = wide(tmp_path, ["x", "y"], [6, 1], [5, 6])
    reading = read_humans(path, columns={"scales": {"x": "1:5", "rest": [1, 5]}})
    assert limits_of(reading.table, reading.scale).tolist() == [[1, 5]] * 4
    (misfit,) = reading.misfits()
    assert misfit.n == 2
    # what the call says goes before the map
    assert read_humans(path, scale=(1, 9), columns={"scales": {"x": "1:5"}}).misfits() == ()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["clarity=5:1"], "must be LOW:HIGH, such as 1:10, got 'clarity=5:1'"),
        (["1:5", "1:7"], "is given twice without a criterion"),
        (["x=1:5", "x=1:7"], "x is named twice"),
        (["x=one:five"], "must be LOW:HIGH"),
    ],
)
def test_scales_on_the_command_line_are_checked(
    given: list[str], told: str, tmp_path: Path
) -> None:
    path = wide(tmp_path, ["x", "y"], [3, 4])
    options = [word for one in given for word in ("--scale", one)]
    with pytest.raises(InputError, match=told):
        cli.main(["humans", "inspect", str(path), *options], standalone_mode=False)


def test_an_overall_score_that_is_the_sum_of_the_others_has_a_scale_of_its_own(
    tmp_path: Path,
) -> None:
    rows = [[a, b, a + b] for a, b in ((1, 2), (5, 5), (3, 4), (2, 2), (4, 1), (3, 3), (2, 5),
                                       (1, 1), (5, 4), (4, 4))]  # fmt: skip
    path = wide(tmp_path, ["x", "y", "score"], *rows)
    reading = read_humans(path, scale=(1, 5)).require_sound()
    assert reading.sum is not None
    assert (reading.sum.parts, reading.sum.n, reading.sum.wrong_lines) == (("x", "y"), 10, ())
    assert scale_of(reading.scale, "overall") == (2, 10)
    assert reading.misfits() == ()
    # a sum that is wrong in one row is named; its own scale, where it is said, holds
    rows[3][2] = 9
    reading = read_humans(wide(tmp_path, ["x", "y", "score"], *rows), scale=(1, 5))
    assert any("not in row 5" in one for one in reading.notices)
    said = read_humans(path, scale={"overall": (1.0, 9.0), "rest": (1.0, 5.0)})
    assert [one.n for one in said.misfits()] == [1]


def test_a_mean_or_an_impression_is_no_sum(tmp_path: Path) -> None:
    rows = [[a, b, (a + b) / 2] for a, b in ((1, 2), (5, 5), (3, 4), (2, 2))]
    reading = read_humans(wide(tmp_path, ["x", "y", "score"], *rows), scale=(1, 5))
    assert reading.sum is None
    assert reading.scale == (1, 5)
