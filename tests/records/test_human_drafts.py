"""What a file is taken for, said; and a column map as it was understood, which reads the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import planted_study
import pytest
from planted_study import Given, Written, planted, write

from areopagus.cli.main import cli
from areopagus.errors import InputError
from areopagus.records.humans import HumanReading, look_at, read_humans
from areopagus.records.humans.draft import draft

STUDY = planted()
Writer = Callable[[list[Given], Path], Written]
ALL = (*planted_study.LAYOUTS, *planted_study.RANKINGS, *planted_study.PREFERENCES)


def name(writer: Writer) -> str:
    return writer.__name__


def frames(reading: HumanReading) -> list[str]:
    tables = (reading.table, reading.calibration, reading.labels, reading.preferences)
    return [table.to_pandas().to_csv() for table in tables]


def drafted(path: Path, **given: Any) -> tuple[HumanReading, HumanReading, str]:
    """The reading of a file, the reading with its unchanged draft, and the draft."""
    of_labels = {"source_map": given.get("source_map")}
    look = look_at(path, given.get("columns"), **of_labels)
    reading = read_humans(path, **given)
    text = draft(look, reading)
    place = path.with_suffix(".draft.yaml")
    place.write_text(text, encoding="utf-8")
    return reading, read_humans(path, columns=place, **of_labels), text


@pytest.mark.parametrize("writer", ALL, ids=name)
def test_a_file_read_with_its_unchanged_draft_gives_the_same_tables(
    writer: Writer, tmp_path: Path
) -> None:
    path, given = writer(STUDY, tmp_path)
    reading, again, text = drafted(path, **given)
    assert frames(again) == frames(reading)
    assert again.missing == reading.missing
    assert (again.layout, again.shape) == (reading.layout, reading.shape)
    assert all(" # " in line or line[:1] in "#" for line in text.splitlines())


def test_a_draft_keeps_what_was_said_and_ignores_what_was_not_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv",
        ["who", "prompt_id", "response_id", "clarity", "depth: 1-7", "age", "words", "yes"],
        ["a", "p1", "r1", 4, "dk", 31, "it is", 5],
        ["b", "p1", "r1", "high", 6, 44, "it's fine", "NA"],
    )
    given = {
        "columns": {"rater_id": "who"},
        "codes": {"high": 7},
        "missing": ["dk", -99],
        "scales": {"clarity": "1:7", "rest": "1:10"},
        "kind": "score",
    }
    reading, again, text = drafted(path, columns=given)
    assert frames(again) == frames(reading)
    assert again.scale == reading.scale == {"clarity": (1, 7), "rest": (1, 10)}
    assert "  - age " in text
    assert "by its name no rating" in text
    assert '"depth: 1-7": "depth: 1-7"' in text
    assert again.columns_unread[0].reason == "ignored by the column map"


def run(*arguments: str) -> Any:
    return cli.main([*arguments], standalone_mode=False)


def test_inspect_says_first_whether_the_file_can_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = planted_study.wide(STUDY, tmp_path)
    assert run("humans", "inspect", str(path)) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "384 ratings and 128 labels by 4 raters of 32 responses to 8 prompts."
    told = " ".join(" ".join(rest).split())
    assert "layout rows: a plain table" in told
    assert "Shape wide: a row is a rater and response: clarity, depth, accepted" in told
    assert "rater_id" in told


def test_inspect_says_what_to_fix_and_that_nothing_is_read_yet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = ["who knows", "prompt_id", "response_id", "clarity", "depth"]
    path = write(tmp_path / "h.csv", header, ["a", "p1", "r1", 4, "x"], ["b", "p1", "r1", 5, 6])
    assert run("humans", "inspect", str(path)) == 2
    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == "Cannot be read yet: 1 thing to fix."
    assert "no column names the rater" in printed
    assert "text, 2 different: 'a', 'b'" in printed
    assert run("humans", "inspect", str(path), "--column", "rater_id=who knows") == 2
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("Cannot be read yet: 1 thing to fix.")
    assert "must be a number, got the text 'x'" in printed
    assert "--missing TEXT where it is no rating" in printed
    fixed = ("--column", "rater_id=who knows", "--missing", "x")
    assert run("humans", "inspect", str(path), *fixed) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "3 ratings by 2 raters of 1 response to 1 prompt. Not tried" in printed
    assert "Missing ratings: 1 × x (row 2)" in printed


def test_a_draft_of_a_file_that_cannot_be_read_yet_says_what_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "h.csv", ["who knows", "task", "clarity"], ["a", "p1", 4])
    assert run("humans", "map", "--draft", str(path)) == 2
    printed = capsys.readouterr().out
    assert "cannot be read yet" in printed
    assert "no column names the rater" in printed
    assert '"who knows"' in printed
    out = tmp_path / "map.yaml"
    path, _ = planted_study.wide(STUDY, tmp_path)
    assert run("humans", "map", "--draft", str(path), "--out", str(out)) == 0
    assert len(read_humans(path, columns=out).table) == 3 * len(STUDY)


def test_what_the_command_line_says_of_columns_goes_before_the_map(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        tmp_path / "h.csv", ["one", "two", "response_id", "score"], ["a", "b", "r1", 4]
    )  # fmt: skip
    column_map = tmp_path / "map.yaml"
    column_map.write_text("columns: {rater_id: one, prompt_id: one}\n")
    arguments = ("humans", "map", "--draft", str(path), "--columns", str(column_map))
    run(*arguments, "--column", "rater_id=two")
    printed = capsys.readouterr().out
    assert "  rater_id: two " in printed
    assert "  prompt_id: one " in printed
    with pytest.raises(InputError, match="column map: who: must name one of rater_id"):
        run(*arguments, "--column", "who=two")
    with pytest.raises(InputError, match="no such column"):
        run(*arguments, "--column", "rater_id=three")
