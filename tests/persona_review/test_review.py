"""Who is named: a persona turned around on one criterion, and nobody where nobody departs."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from in_process import areopagus

from areopagus import InputError, ReviewRun, review_persona
from areopagus.aggregation.departures import departs
from areopagus.records.estimates import estimates_by, select

EXAMPLES = Path(__file__).parents[2] / "examples"
PERSONAS = [f"p{k}" for k in range(6)]
CRITERIA = ("clarity", "evidence", "depth")


def write_world(
    folder: Path, *, turned: bool, seed: int = 0, n_prompts: int = 20, as_ranks: bool = False
) -> tuple[Path, Path]:
    """Six personas on two models; p1 may be turned around on evidence, p2 is harsh by two."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    judged, rated = folder / "judgments.csv", folder / "humans.csv"
    with judged.open("w", newline="") as a, rated.open("w", newline="") as b:
        of_judges, of_people = csv.writer(a), csv.writer(b)
        of_judges.writerow(["prompt_id", "response_id", "persona", "model", *CRITERIA])
        named = ["overall_rank"] if as_ranks else CRITERIA
        of_people.writerow(["rater_id", "prompt_id", "response_id", "source", "model",
                            *(["rank"] if as_ranks else named), "comment"])  # fmt: skip
        for g in range(n_prompts):
            quality = rng.normal(size=(5, 1)) + 0.7 * rng.normal(size=(5, 3))
            for persona in PERSONAS:
                own = 0.3 * rng.normal(size=(5, 3))
                seen = quality * ([1, -1, 1] if turned and persona == "p1" else [1, 1, 1])
                for model in ("m/a", "m/b"):
                    score = 6 + 1.5 * seen + own + 0.5 * rng.normal(size=(5, 3))
                    score = np.clip(np.round(score - 2 * (persona == "p2")), 1, 10).astype(int)
                    for k in range(5):
                        of_judges.writerow([f"g{g}", f"g{g}r{k}", persona, model, *score[k]])
            for who in range(3):
                score = np.clip(np.round(6 + 1.5 * quality + rng.normal(size=(5, 3))), 1, 10)
                rank = 1 + (score.sum(axis=1)[None] > score.sum(axis=1)[:, None]).sum(axis=1)
                for k in range(5):
                    values = [rank[k]] if as_ranks else score[k].astype(int).tolist()
                    of_people.writerow([f"h{who}", f"g{g}", f"g{g}r{k}", "model", f"w{k}",
                                        *values, f"said by h{who}"])  # fmt: skip
    return judged, rated


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> ReviewRun:
    folder = tmp_path_factory.mktemp("planted")
    judged, rated = write_world(folder, turned=True)
    return review_persona(judged, rated, out=folder / "review", scale=(1, 10), on_progress=False)


def named(run: ReviewRun, measure: str) -> list[tuple[str, str, str]]:
    """Who is below the others in order, or harsh or lenient: persona, criterion, verdict."""
    rows = estimates_by(select(run.estimates, "departures"), ["persona", "criterion"])
    found = []
    for at, row in rows:
        if measure == "order":
            is_named = row["order"].verdict == "lower"
        else:
            is_named = "level" in row and bool(
                departs(row["level"], row["level_others"], row["severity"])
            )
        if is_named:
            found.append((str(at["persona"]), str(at["criterion"]), str(row[measure].verdict)))
    return sorted(found)


def test_the_persona_is_named_on_the_criterion_on_which_it_is_turned_around(
    planted: ReviewRun,
) -> None:
    found = named(planted, "order")
    assert ("p1", "evidence", "lower") in found
    # Its mean over the criteria is touched by that one too; nothing else is.
    assert {one[:2] for one in found} <= {("p1", "evidence"), ("p1", "composite")}
    first = planted.document().headline[0]
    assert first.startswith("p1 agrees with people less than the other personas on ")
    assert "evidence" in first
    assert first.endswith("; no difference shown elsewhere.")


def test_harshness_is_said_apart_from_order(planted: ReviewRun) -> None:
    found = named(planted, "severity")
    assert {("p2", "composite", "lower"), ("p2", "clarity", "lower")} <= set(found)
    assert {one[0] for one in found} <= {"p1", "p2"}
    assert any(
        "Harsher than people and the others: p2" in one and "not order" in one
        for one in planted.document().headline
    )


def test_nobody_is_named_where_nobody_departs(tmp_path: Path) -> None:
    judged, rated = write_world(tmp_path, turned=False, seed=1)
    run = review_persona(judged, rated, out=tmp_path / "r", scale=(1, 10), on_progress=False)
    assert named(run, "order") == []
    assert {one[0] for one in named(run, "severity")} == {"p2"}
    first = run.document().headline[0]
    told, _, shared = first.partition("; ")
    assert told == (
        "None of 6 personas is shown to agree with people less than the other personas do on any "
        "of 4 criteria"
    )
    assert shared.startswith("each orders 0.")


def test_the_largest_departures_are_of_the_criterion_and_stand_with_the_comments(
    planted: ReviewRun,
) -> None:
    with (planted.path / "departures.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    mine = [row for row in rows if row["persona"] == "p1"]
    assert len(mine) == 10
    assert {row["criterion"] for row in mine} == {"evidence"}
    assert json.loads(mine[0]["comments"])[0] == ["h0", "said by h0"]
    gaps = [abs(float(row["score"]) - float(row["people"])) for row in mine]
    assert min(gaps) > 2


def test_ranks_have_an_order_and_no_level(tmp_path: Path) -> None:
    judged, rated = write_world(tmp_path, turned=True, as_ranks=True)
    run = review_persona(judged, rated, out=tmp_path / "r", on_progress=False)
    assert run.record["criteria"] == [{"criterion": "overall", "detail": "rank"}]
    table = select(run.estimates, "departures")
    levels = table[table["measure"] == "severity"]
    assert levels["value"].isna().all()
    assert levels["reason"].str.contains("no level").all()
    assert ("p1", "overall", "lower") in named(run, "order")


def test_five_prompts_are_too_few_and_that_is_the_first_line(tmp_path: Path) -> None:
    judged, rated = write_world(tmp_path, turned=True, n_prompts=5)
    run = review_persona(judged, rated, out=tmp_path / "r", on_progress=False)
    assert run.document().headline[0].startswith("5 prompts both rated and scored: too few")
    assert named(run, "order") == []


def test_judges_without_personas_are_refused(tmp_path: Path) -> None:
    _, rated = write_world(tmp_path, turned=True, n_prompts=2)
    other = tmp_path / "other.csv"
    other.write_text("prompt_id,response_id,judge,score\ng0,g0r0,one,3\ng0,g0r1,one,4\n")
    with pytest.raises(InputError, match="name no persona"):
        review_persona(other, rated, out=tmp_path / "r", on_progress=False)


def test_the_command_says_it_and_writes_json(tmp_path: Path) -> None:
    write_world(tmp_path, turned=True)
    words = ("personas", "review", "judgments.csv", "humans.csv", "--scale", "1:10")
    done = areopagus(*words, "--persona", "p1", "--out", "r", "--json", "o.json", folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("p1 agrees with people less than the other personas on")
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    told = json.loads((tmp_path / "o.json").read_text())
    assert told["kind"] == "persona_review"
    assert any(
        (row["measure"], row.get("verdict")) == ("order", "lower") for row in told["estimates"]
    )
    again = areopagus("report", "r", "--full", folder=tmp_path)
    assert "Largest departures" in again.stdout


def test_an_unknown_persona_is_bad_input(tmp_path: Path) -> None:
    write_world(tmp_path, turned=True, n_prompts=3)
    words = ("personas", "review", "judgments.csv", "humans.csv", "--out", "r")
    done = areopagus(*words, "--persona", "nobody", folder=tmp_path)
    assert done.returncode == 2
    assert "has no persona nobody" in done.stderr
    assert not (tmp_path / "r").exists()


def test_a_folder_of_another_run_is_not_written_over(tmp_path: Path) -> None:
    write_world(tmp_path, turned=True, n_prompts=3)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "run.json").write_text('{"format": 1, "kind": "stress"}')
    words = ("personas", "review", "judgments.csv", "humans.csv", "--out", "other")
    done = areopagus(*words, folder=tmp_path)
    assert done.returncode == 2
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["run.json"]


def test_texts_and_reasons_of_a_run_stand_beside_the_departures(tmp_path: Path) -> None:
    done = areopagus("score", str(EXAMPLES / "responses.csv"), "--persona", "historian",
                     "--persona", "ethicist", "--out", "run", folder=tmp_path)  # fmt: skip
    assert done.returncode == 0
    people = EXAMPLES / "humans" / "ratings.csv"
    run = review_persona(tmp_path / "run", people, personas=["ethicist"], on_progress=False)
    assert run.path == tmp_path / "run" / "persona_review"
    with (run.path / "departures.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["persona"] for row in rows} == {"ethicist"}
    assert all(row["prompt"] and row["response"] for row in rows)
