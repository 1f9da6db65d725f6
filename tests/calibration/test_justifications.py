"""From raters' comments to scores that a panel infers from them, and back to their ratings."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from calibration_worlds import figure

from areopagus import InputError
from areopagus.calibration import calibrate
from areopagus.cli.main import cli
from areopagus.records.humans import read_humans
from areopagus.records.humans.comments import justifications
from areopagus.rubrics import load_rubric

DOCS = Path(__file__).parents[2] / "docs" / "guides" / "calibration.md"

WORDS = (
    "The response defines its terms, which means that the question has a clear sense.",
    "For example, the response to the question cites a study from 1998 with 40 per cent of cases.",
    "However, on the other hand, critics object, and the response answers the question they raise.",
    "Therefore, because its premises hold, the response concludes that the question stays open.",
    "According to Smith (2004), data suggest that responses to this question differ.",
)


def run(*arguments: str) -> Any:
    return cli.main([*arguments], standalone_mode=False)


def write_study(folder: Path) -> None:
    """Two raters, four prompts, three responses: better ones get more words of praise."""
    ratings = ["rater_id,prompt_id,response_id,blinded_label,score,comment"]
    judged, asked = ["prompt_id,response_id,judge,score"], []
    for p in range(4):
        for r in range(3):
            judged.append(f"p{p},p{p}r{r},one,{2 * r + 3}")
            asked.append([f"p{p}r{r}", f"p{p}", f"Is case {p} fair?", "Yes."])
            for who in "ab":
                words = " ".join(WORDS[: 2 * r + 1])
                comment = "" if (who, p, r) == ("b", 0, 0) else f'"{words}"'
                ratings.append(
                    f"{who},p{p},p{p}r{r},{'ABC'[r]},{2 * r + 2 + (who == 'a')},{comment}"
                )
    (folder / "ratings.csv").write_text("\n".join(ratings) + "\n")
    (folder / "judged.csv").write_text("\n".join(judged) + "\n")
    with (folder / "responses.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["response_id", "prompt_id", "prompt_text", "response_text"], *asked]
        )


def test_comments_are_scored_by_the_embedded_judge_and_held_against_the_ratings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    run("humans", "comments", "ratings.csv", "--responses", "responses.csv", "--out", "just.csv")
    printed = capsys.readouterr().out
    assert "23 justifications by 2 raters of 12 responses" in printed
    assert "Without a word: 1 of rater and response" in printed
    with Path("just.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["rater_id"], rows[0]["rated_response_id"]) == ("a", "p0r0")
    assert rows[0]["response_text"] == WORDS[0]
    assert "Is case 0 fair?" in rows[0]["prompt_text"]
    assert "that they call A" in rows[0]["prompt_text"]
    assert len({row["response_id"] for row in rows}) == 23
    run("score", "just.csv", "--out", "just-run", "--quiet", "--ledger", "ledger.sqlite")
    run(
        "calibrate", "judged.csv", "ratings.csv", "--inferred", "just-run", "--out", "cal", "--full"
    )
    printed = capsys.readouterr().out
    assert "INFERRED from justifications, all responses (.308)" in printed
    assert "INFERRED from justifications, within prompts" in printed
    found = calibrate("judged.csv", "ratings.csv", inferred="just-run")
    # more words of praise, more points: the same order throughout
    assert figure(found, "paper", "inferred").n == 12
    assert figure(found, "paper", "inferred_within").value > 0.5


def test_one_text_for_several_responses_without_a_label_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    lines = ["rater_id,prompt_id,response_id,rank,comment"]
    lines += [f"a,p,r{k},{k + 1},all in all the first one" for k in range(3)]
    path.write_text("\n".join(lines) + "\n")
    found = justifications(read_humans(path).table)
    assert (len(found.rows), found.n_shared, found.n_without) == (3, 3, 0)
    assert {row["prompt_id"] for row in found.rows} == {"p"}


def test_comments_on_several_criteria_are_paragraphs_of_one_text(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text(
        "rater_id,prompt_id,response_id,criterion,score,comment\n"
        "a,p,r,x,3,terse\na,p,r,y,4,fair\na,p,r,z,4,fair\n"
    )
    (row,) = justifications(read_humans(path).table).rows
    assert row["response_text"] == "terse\n\nfair"


def test_a_file_without_a_word_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("rater_id,prompt_id,response_id,score\na,p,r,3\n")
    with pytest.raises(InputError, match="no rating has a comment"):
        justifications(read_humans(path).table)


def test_the_rubric_of_the_documentation_is_one(tmp_path: Path) -> None:
    text = DOCS.read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(id: inferred\n.*?)```", text, flags=re.DOTALL)
    path = tmp_path / "inferred.yaml"
    path.write_text(block)
    assert load_rubric(str(path)).dimension_ids == ("opinion",)
