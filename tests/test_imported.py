"""Stored judgments as a run folder: the same figures as of the run they come from."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from areopagus import InputError, Panel, Run, calibrate, compare, examine_judges
from areopagus.records.export import export_run
from areopagus.records.tables import judgment_frame, read_texts

HUMANS = Path("examples/humans/ratings.csv")
KEYS = ["table", "respondent", "baseline", "persona", "model", "criterion", "measure"]


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("scored")
    with Panel(ledger=folder / "ledger.sqlite") as panel:
        return panel.score_many("examples/responses.csv", out=folder / "run")


def table(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(rows) + "\n")
    return path


def by_key(frame: pd.DataFrame, *tables: str) -> pd.Series:
    chosen = frame[frame["table"].isin(tables)]
    return chosen.set_index(KEYS)["value"].sort_index()


def test_what_a_run_exports_gives_the_same_means_and_differences(
    scored: Run, tmp_path: Path
) -> None:
    file = export_run(scored.path, "csv", tmp_path / "judgments.csv").path
    imported = Run.from_judgments(
        file, tmp_path / "again", responses="examples/responses.csv", scale=(1, 10)
    )

    assert imported.counts == scored.counts
    assert imported.n_planned == scored.n_planned == 320
    for name in ("respondent", "comparison", "worth", "design"):
        own, other = (by_key(run.estimates, name) for run in (scored, imported))
        pd.testing.assert_series_equal(own, other, rtol=1e-12)
    assert read_texts(imported.path, ["alder-p1"]) == read_texts(scored.path, ["alder-p1"])


def test_an_imported_run_is_calibrated_as_the_run_it_comes_from(
    scored: Run, tmp_path: Path
) -> None:
    file = export_run(scored.path, "csv", tmp_path / "judgments.csv").path
    texts = "examples/responses.csv"
    imported = Run.from_judgments(file, tmp_path / "again", responses=texts, scale=(1, 10))
    own, other = (calibrate(run, HUMANS).estimates for run in (scored, imported))
    for name in ("one person", "panel", "people"):
        pd.testing.assert_series_equal(by_key(own, name), by_key(other, name), rtol=1e-12)


HEADER = "prompt_id,response_id,respondent_id,persona,model,status,clarity,depth"


def test_each_row_ends_as_a_judgment_with_its_outcome(tmp_path: Path) -> None:
    file = table(
        tmp_path / "j.csv",
        HEADER,
        "p1,a1,a,poet,m,scored,4,5",
        "p1,a1,a,critic,m,scored,3,",  # a criterion is missing
        "p1,b1,b,poet,m,failed,1,1",  # the numbers beside a failure are no votes
        "p1,b1,b,critic,m,scored,2,9",  # off the scale
        "p2,a2,a,poet,m,refused,,",
        "p2,a2,a,critic,m,scored,5,5",
        "p2,b2,b,critic,m,scored,1,2",  # of poet the file has no row here
    )
    run = Run.from_judgments(file, tmp_path / "run", scale=(1, 5))

    frame = judgment_frame(run.path)
    outcome = frame.set_index(["response_id", "persona"])["status"].to_dict()
    assert outcome == {
        ("a1", "poet"): "scored",
        ("a1", "critic"): "unreadable",
        ("b1", "poet"): "failed",
        ("b1", "critic"): "unreadable",
        ("a2", "poet"): "refused",
        ("a2", "critic"): "scored",
        ("b2", "poet"): "not_asked",
        ("b2", "critic"): "scored",
    }
    assert set(frame.loc[frame["status"] == "not_asked", "reason"]) == {"absent"}
    assert (run.n_scored, run.n_planned) == (3, 7)
    assert "3 scored of 7 planned judgments" in run.text
    assert "of different runs" not in " ".join(run.text.split())
    # A response counts where two thirds of the rows that the file has of it hold a vote.
    verdicts = pd.read_csv(run.path / "scores.csv").set_index("response_id")["status"].to_dict()
    assert verdicts == {
        "a1": "inconclusive",
        "b1": "inconclusive",
        "a2": "inconclusive",
        "b2": "scored",
    }


def test_repeats_of_a_judge_keep_their_criteria_together(tmp_path: Path) -> None:
    file = table(
        tmp_path / "j.csv",
        "prompt_id,response_id,judge,clarity,depth",
        "p1,a1,m,4,",  # the first asking lacks depth; the second must not lend it hers
        "p1,a1,m,2,3",
        "p1,b1,m,5,5",
        "p1,b1,m,5,4",
    )
    run = Run.from_judgments(file, tmp_path / "run")
    frame = judgment_frame(run.path).set_index(["response_id", "repeat"])
    assert frame.loc[("a1", 0), "status"] == "unreadable"
    assert frame.loc[("a1", 1), ["clarity", "depth"]].tolist() == [2, 3]


def test_a_row_a_criterion_is_the_same_as_a_column_a_criterion(tmp_path: Path) -> None:
    wide = table(
        tmp_path / "w.csv",
        "prompt_id,response_id,judge,clarity,depth",
        "p1,a1,m,4,5",
        "p1,b1,m,2,3",
    )
    long = table(
        tmp_path / "l.csv",
        "prompt_id,response_id,judge,criterion,value",
        *("p1,a1,m,clarity,4", "p1,a1,m,depth,5", "p1,b1,m,clarity,2", "p1,b1,m,depth,3"),
    )
    frames = [
        judgment_frame(Run.from_judgments(file, tmp_path / file.stem).path) for file in (wide, long)
    ]
    pd.testing.assert_frame_equal(*frames)


def test_texts_beside_the_judgments_are_kept_and_make_ids(tmp_path: Path) -> None:
    file = tmp_path / "j.csv"
    with file.open("w", newline="") as handle:
        rows = csv.writer(handle)
        rows.writerow(["prompt_text", "response_text", "response_id", "system", "judge", "score"])
        for who, text, score in (("x", "Yes.", 3), ("y", "No, because it binds.", 5)):
            rows.writerow(["Should voting be compulsory?", text, f"{who}1", who, "m", score])
    run = Run.from_judgments(file, tmp_path / "run")
    assert read_texts(run.path, ["x1"]) == {"x1": ("Should voting be compulsory?", "Yes.")}
    assert {row["prompt_id"] for row in run.score_rows} == {run.score_rows[0]["prompt_text_id"]}
    assert [one.respondent_id for one in run.respondents] == ["x", "y"]


def test_without_texts_the_run_says_what_cannot_be_shown(tmp_path: Path) -> None:
    file = table(tmp_path / "j.csv", "prompt_id,response_id,judge,score", "p,a,m,4", "p,b,m,2")
    run = Run.from_judgments(file, tmp_path / "run")
    assert any("has no texts" in notice for notice in run.record["notices"])
    assert any("scale from 1 to 5" in notice for notice in run.record["notices"])


def test_stated_lengths_stand_in_for_those_of_missing_texts(tmp_path: Path) -> None:
    # 12 prompts, two responses each: y is twice as long as x on even prompts, half on odd ones.
    # A doubling adds 1 point, so the slope on doublings is 1; who wrote the response adds nothing.
    rows = [
        f"p{p},p{p}-{who},{who},m,{3 + (p % 3 == 0) + is_long},{100 * 2**is_long}"
        for p in range(12)
        for who in "xy"
        for is_long in [int((who == "y") == (p % 2 == 0))]
    ]
    header = "prompt_id,response_id,system,judge,score"
    file = table(tmp_path / "with.csv", f"{header},n_words", *rows)
    run = Run.from_judgments(file, tmp_path / "with")
    notices = " ".join(run.record["notices"])
    assert "Column n_words holds the lengths of 24 of 24 responses." in notices
    assert "flags and formatting are not computed" in notices
    assert {row["response_length"] for row in run.score_rows} == {"100.0", "200.0"}
    biases = examine_judges(run, out=tmp_path / "judges").estimates.query("table == 'biases'")
    by_name = biases.query("measure == 'effect'").set_index("group")
    assert by_name.loc["length", "value"] == pytest.approx(1)
    assert by_name.loc["formatting", "reason"] == "the run keeps no texts"

    bare = table(tmp_path / "bare.csv", header, *(row.rpartition(",")[0] for row in rows))
    run = Run.from_judgments(bare, tmp_path / "bare")
    assert "flags, length and formatting are not computed" in " ".join(run.record["notices"])
    biases = examine_judges(run, out=tmp_path / "bare-judges").estimates.query("table == 'biases'")
    assert biases.set_index("group").loc["length", "reason"] == "the run keeps no texts"


@pytest.mark.parametrize(
    ("lengths", "got"),
    [
        (("-3", "-4", "9"), "got '-3', in rows 2, 3"),
        (("long", "9", "9"), "got 'long'"),
        (("8", "8", "9"), "got 9 after 8"),
    ],
)
def test_wrong_lengths_are_one_fault(tmp_path: Path, lengths: tuple[str, ...], got: str) -> None:
    rows = [f"p,{name},m{k},4,{n}" for k, (name, n) in enumerate(zip("abb", lengths, strict=True))]
    header = "prompt_id,response_id,judge,score,response_words"
    file = table(tmp_path / "j.csv", header, *rows)
    allowed = "must be a length of at least 0, the same in all rows of a response"
    with pytest.raises(InputError) as error:
        Run.from_judgments(file, tmp_path / "run")
    assert [f"{one.field}: {one.message}" for one in error.value.faults] == [
        f"response_words: {allowed}, {got}"
    ]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        (["p,a,m,clarity,4", "p,a,n,clarity,4", "p,a,n,depth,2"], "judges score different"),
        (["p,a,m,clarity,4", "p,a,n,clarity,-1"], "fit none of the usual scales"),
    ],
)
def test_what_cannot_be_a_run_is_refused(tmp_path: Path, rows: list[str], fault: str) -> None:
    file = table(tmp_path / "j.csv", "prompt_id,response_id,judge,criterion,value", *rows)
    with pytest.raises(InputError, match=fault):
        Run.from_judgments(file, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_ranks_are_no_scores(tmp_path: Path) -> None:
    file = table(tmp_path / "j.csv", "prompt_id,response_id,judge,rank", "p,a,m,1", "p,b,m,2")
    with pytest.raises(InputError, match="holds ranks"):
        Run.from_judgments(file, tmp_path / "run")


def test_texts_of_another_file_must_hold_every_response(tmp_path: Path) -> None:
    file = table(tmp_path / "j.csv", "prompt_id,response_id,judge,score", "p,elsewhere,m,4")
    with pytest.raises(InputError, match="has no response 'elsewhere'"):
        Run.from_judgments(file, tmp_path / "run", responses="examples/responses.csv")


def test_nobody_can_be_asked_again(tmp_path: Path) -> None:
    file = table(tmp_path / "j.csv", "prompt_id,response_id,judge,score", "p,a,m,4", "p,b,m,2")
    run = Run.from_judgments(file, tmp_path / "run")
    with pytest.raises(InputError, match="cannot be asked"):
        examine_judges(run, probe=1)
    with (
        Panel(ledger=tmp_path / "ledger.sqlite") as panel,
        pytest.raises(InputError, match="imported judgments"),
    ):
        panel.score_many("examples/responses.csv", out=run.path)


def test_people_can_be_compared_as_judges_are(tmp_path: Path) -> None:
    judges = Run.from_judgments("examples/real/judges.parquet", tmp_path / "judges")
    assert (judges.n_scored, judges.n_planned) == (20_484, 21_120)
    comparison = compare(judges, by="model")
    assert len(comparison.estimates) > 0


def test_scorers_of_one_criterion_each_count_as_one_judge(tmp_path: Path) -> None:
    rows = ["p,a,one,clarity,4", "p,a,two,depth,2", "p,b,one,clarity,3", "p,b,two,depth,5"]
    file = table(tmp_path / "j.csv", "prompt_id,response_id,judge,criterion,value", *rows)
    run = Run.from_judgments(file, tmp_path / "run")
    assert set(judgment_frame(run.path)["model"]) == {"one + two"}
    assert run.n_scored == 2
    assert any("count as one judge" in notice for notice in run.record["notices"])


def test_the_prompt_of_the_papers_layout_stands_in_the_id_of_the_response(tmp_path: Path) -> None:
    header = "response_id,respondent_id,judge_model,perspective_id,conceptual_clarity,abstained"
    rows = ["q_01_x-1,x-1,m,historian,8,False", "q_01_y-1,y-1,m,historian,0,True"]
    run = Run.from_judgments(table(tmp_path / "j.csv", header, *rows), tmp_path / "run")
    assert {row["prompt_id"] for row in run.score_rows} == {"q_01"}
    assert run.counts["abstained"] == 1
