"""A file of people's judgments beside a run: prompts known by their text, and what inspect says."""

import csv
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError, Panel
from areopagus.calibration import calibrate
from areopagus.calibration.reading import read_people, read_texts
from areopagus.cli.main import cli

PROMPTS = [f"What is the city\u2019s \u201cduty {k}\u201d?\nWhy?" for k in range(6)]
COPIED = [f'WHAT IS THE CITY\'S  "DUTY {k}"? Why?' for k in range(6)]
RESPONSES = [
    {
        "response_id": f"q{k}-{who}",
        "prompt_id": f"q{k}",
        "prompt_text": prompt,
        "response_text": f"Because of {who}, for reason {k}; however, others disagree.",
        "respondent_id": who,
    }
    for k, prompt in enumerate(PROMPTS)
    for who in ("alder", "birch", "cedar")
]
HEADER = ["user", "question", "system", "score"]
RATED = [
    [rater, COPIED[k], who, 2 + 2 * n + (k % 3 == n) + (rater == "b")]
    for rater in "abc"
    for k in range(6)
    for n, who in enumerate(("alder", "birch", "cedar"))
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people") / "run"
    with Panel("offline/lexical", ledger=folder.with_suffix(".sqlite")) as panel:
        panel.score_many(RESPONSES, folder)
    return folder


def write(path: Path, header: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def inspect(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, str]:
    code = cli.main(["humans", "inspect", *map(str, words)], standalone_mode=False)
    return code, " ".join(capsys.readouterr().out.split())


def test_prompts_named_by_their_text_are_those_of_the_run(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "h.csv", HEADER, RATED)
    ids = [[r, f"q{COPIED.index(text)}", who, score] for r, text, who, score in RATED]
    by_id = write(tmp_path / "ids.csv", HEADER, ids)
    calibrated, same = calibrate(run, path), calibrate(run, by_id)
    notice = "54 of 54 rows matched to the run's prompts by their text"
    assert notice in calibrated.record["matched"]["notices"]
    assert not calibrated.record["matched"]["misfits"]
    assert calibrated.estimates["value"].equals(same.estimates["value"])
    assert not any("by their text" in text for text in same.record["matched"]["notices"])
    code, printed = inspect(capsys, path, "--run", run)
    assert code == 0
    assert notice in printed


def test_rows_whose_text_no_prompt_has_are_counted_and_left_out(run: Path, tmp_path: Path) -> None:
    more = [["a", "Another question, of nobody? " * 5, "alder", 5]]
    calibrated = calibrate(run, write(tmp_path / "h.csv", HEADER, [*RATED, *more]))
    matched = calibrated.record["matched"]
    assert "54 of 55 rows matched to the run's prompts by their text" in matched["notices"]
    ((sentence, places),) = matched["misfits"]
    assert sentence.startswith("1 rating is of a response that the run does not have")
    assert places[0].endswith("body? /alder (1 rating, row 56)")
    assert len(places[0]) < 120


def test_texts_may_come_from_the_responses_where_the_run_keeps_none(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", HEADER, RATED)
    keys = read_texts(RESPONSES).prompt
    reading, table, _ = read_people(path, RESPONSES, prompt_keys=keys)
    assert reading is not None
    assert set(table.response_id.used()) == {row["response_id"] for row in RESPONSES}
    assert set(table.prompt_id.used()) == {f"q{k}" for k in range(6)}


def test_a_file_is_ready_only_once_it_was_matched_to_a_run(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = ["rater_id", "response_id", "score"]
    rated = [[r, f"q{COPIED.index(text)}-{who}", score] for r, text, who, score in RATED]
    path = write(tmp_path / "h.csv", header, rated)
    code, printed = inspect(capsys, path)
    assert code == 0
    assert printed.startswith(
        "54 ratings by 3 raters of 18 responses. "
        "Not tried: whether a run has these responses (--run RUN)."
    )
    assert "ready for" not in printed
    code, printed = inspect(capsys, path, "--run", run)
    assert code == 0
    assert printed.startswith(
        f"54 ratings by 3 raters of 18 responses: ready for calibrate with {run}"
    )

    other = write(tmp_path / "o.csv", header, [[r, f"x{name}", s] for r, name, s in rated])
    code, printed = inspect(capsys, other, "--run", run)
    assert code == 2
    assert f"They cannot be compared with {run} yet." in printed
    assert "no rating is of a response that was judged" in printed
    assert "ready for" not in printed

    off = write(tmp_path / "f.csv", header, [[r, name, 10 * s] for r, name, s in rated])
    code, printed = inspect(capsys, off, "--run", run)
    assert code == 2
    assert "1 thing to fix" in printed
    rule = "score: must be from 1 to 10 as the panel's scores, got 20 to 80, in rows 2, 3, 4"
    assert rule.removeprefix("score: ") in printed
    with pytest.raises(InputError, match="and 48 more"):
        calibrate(run, off)
    code, printed = inspect(capsys, off, "--run", run, "--scale", "1:100")
    assert (code, "ready for calibrate" in printed) == (0, True)


def test_most_ratings_dropped_as_repeats_is_said_first(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rated = [["a", f"q{COPIED.index(text)}-{who}", score] for _, text, who, score in RATED]
    path = write(tmp_path / "h.csv", ["rater_id", "response_id", "score"], rated)
    repeats = "36 ratings repeat an earlier one of the same rater; the first stands."
    code, printed = inspect(capsys, path)
    assert code == 2
    counted = "54 ratings by 1 rater of 18 responses (agreement needs a second rater)."
    assert printed.startswith(f"{counted} {repeats}")
    code, printed = inspect(capsys, path, "--run", run)
    assert code == 2
    assert printed.startswith(f"{counted} {repeats} 18 of 54 can be compared with {run}.")
