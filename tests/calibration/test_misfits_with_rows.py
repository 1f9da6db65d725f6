"""What does not fit in a file of ratings: reported together, with rows, and never used silently."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from calibration_worlds import figure

from areopagus import InputError
from areopagus.calibration import agreement, calibrate
from areopagus.calibration.reading import Screened
from areopagus.cli.main import cli
from areopagus.records.humans import read_humans
from areopagus.records.humans.misfits import rows_said


def run(*arguments: str) -> Any:
    return cli.main([*arguments], standalone_mode=False)


@pytest.fixture
def spoiled(make_world: Callable[..., Any]) -> Any:
    """A world of six prompts (rows 2 to 181) with a 77, a duplicate and an unknown id."""
    files = make_world(6)
    with files.humans.open("a") as file:
        file.write("h9,p0,p0r2,human,,A,77\nh1,p0,p0r1,human,,A,3\nh1,p0,nowhere,human,,A,5\n")
    return files


def test_all_kinds_stand_in_text_and_record_with_their_rows_and_change_no_figure(
    spoiled: Any, tmp_path: Path
) -> None:
    roster = {f"h{k}": "APPROVED" for k in (0, 1, 2, 3)}
    clean = tmp_path / "clean.csv"
    clean.write_text("".join(spoiled.humans.read_text().splitlines(keepends=True)[:181]))
    found, plain = (
        calibrate(spoiled.judgments, read_humans(path, scale=(1, 10), roster=roster))
        for path in (spoiled.humans, clean)
    )
    counts = ("n_out_of_range", "n_without_match", "n_repeated", "n_ratings")
    assert [figure(found, "matched", n).value for n in counts] == [1, 1, 1, 180]
    left = [
        one.estimates[one.estimates["table"] != "matched"].reset_index(drop=True)
        for one in (plain, found)
    ]
    assert left[0].equals(left[1])
    text = " ".join(found.text.split())
    told = dict(found.record["matched"]["misfits"])
    for sentence, place in (
        ("1 rating is of a response that the run does not have, and left out",
         "no such response: nowhere (1 rating, row 184)"),
        ("1 rating is off the scale, and left out", "77 by h9 of p0r2, overall: row 182"),
        ("1 rater is not on the roster; the ratings count",
         "h4: 36 ratings, rows 26, 27, 28, 29, 30, 31 and 30 more"),
    ):  # fmt: skip
        assert told[sentence] == [place]
        assert f"{sentence}: {place}." in text
    (repeat,) = told["1 rating repeats an earlier one of the same rater; the first stands"]
    assert repeat.startswith("h1 of p0r1, overall, score: ")
    assert repeat.endswith("in rows 9, 183")


def test_where_nobody_stated_a_scale_the_panels_is_held_to_and_all_faults_are_told(
    spoiled: Any,
) -> None:
    reading = read_humans(spoiled.humans)
    screened = Screened.of(reading, stated=None, assumed=(1.0, 10.0))
    screened.kept(reading.table)
    with pytest.raises(
        InputError, match="must be from 1 to 10 as the panel's scores, got 77"
    ) as no:
        screened.require()
    assert f"{spoiled.humans}:182: overall" in str(no.value)
    assert "`scale`" in str(no.value)


def test_a_rank_below_one_is_refused_with_every_row(tmp_path: Path) -> None:
    path = tmp_path / "ranks.csv"
    rows = [f"{who},p{p},p{p}r{r},{r}" for who in "ab" for p in range(2) for r in range(3)]
    path.write_text("\n".join(["rater_id,prompt_id,response_id,rank", *rows]) + "\n")
    with pytest.raises(InputError) as refused:
        agreement(path)
    (fault,) = refused.value.faults
    assert fault.where == f"{path}:2"
    assert fault.message == "must be a rank of 1 or more, got 0, in rows 2, 5, 8, 11"
    assert "Ranks count from 1" in str(refused.value)


def test_without_a_scale_the_report_says_that_nothing_was_checked(spoiled: Any) -> None:
    assert any(
        "no scale is known" in text
        for text in agreement(spoiled.humans).record["matched"]["notices"]
    )


def test_calibration_items_are_checked_as_well(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    lines = ["rater_id,prompt_id,response_id,item_type,score"]
    for who in "abc":
        for r in range(3):
            lines.append(f"{who},p,p{r},standard,{r + 3}")
            lines.append(f"{who},cal,c{r},quality_floor,{r + 3}")
    lines += ["a,cal,c0,quality_floor,5", "b,cal,c9,quality_floor,11"]
    path.write_text("\n".join(lines) + "\n")
    found = agreement(read_humans(path, scale=(1, 10)))
    counts = [figure(found, "matched", name).value for name in ("n_repeated", "n_out_of_range")]
    assert counts == [1, 1]
    assert "in rows 3, 20" in found.text
    assert "row 21" in found.text


def test_inspect_reports_scale_repeats_and_strangers_and_exits_with_2(
    spoiled: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text("rater_id\n" + "".join(f"h{k}\n" for k in range(5)))
    arguments = ("humans", "inspect", str(spoiled.humans), "--roster", str(roster))
    assert run(*arguments, "--scale", "1:10") == 2
    printed = capsys.readouterr().out
    assert "77 by h9 of p0r2, overall: row 182" in printed
    assert "in rows 9, 183" in printed
    assert "h9: 1 rating, row 182" in printed
    assert "not checked" not in printed
    assert run(*arguments) == 2
    assert "No --scale was given" in capsys.readouterr().out


def test_inspect_of_a_file_that_fits_exits_with_0(
    planted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("humans", "inspect", str(planted.humans), "--scale", "1:10") == 0
    assert "720 ratings by 5 raters of 144 responses to 24 prompts" in capsys.readouterr().out


def test_rows_in_words() -> None:
    assert rows_said((4,)) == "row 4"
    assert rows_said((4, 7)) == "rows 4, 7"
    assert rows_said(tuple(range(1, 10))) == "rows 1, 2, 3, 4, 5, 6 and 3 more"
    assert rows_said((4,), 12) == "rows 4 and 11 more"
