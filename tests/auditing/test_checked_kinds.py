"""Every kind of reading that people check: blinded stories, sides taken, numbers."""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from areopagus import check_readings
from areopagus.aggregation.estimate import Estimate
from areopagus.auditing import AuditRun, audit
from areopagus.checked import check_estimates
from areopagus.records.estimates import estimate_at
from areopagus.records.readings import MachineReading, PeopleLabels, Rate, Readings
from areopagus.testing import ServedReply, ServedRequest

sys.path.insert(0, str(Path(__file__).parents[1] / "audits"))
from audit_runs import audited, figure
from silverspoon_world import SilverSpoonWorld
from socioeval_world import SocioEvalWorld

from areopagus.audits.silverspoon_narratives import AUDIT as NARRATIVES
from areopagus.audits.silverspoon_narratives.sentiment import sentiment_question


def labelled(sheet: Path, out: Path, label: Callable[[Mapping[str, str]], str]) -> Path:
    """The sheet as a person hands it back."""
    with sheet.open(newline="", encoding="utf-8") as file:
        rows = [{**row, "label": label(row)} for row in csv.DictReader(file)]
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return out


def rates(run: AuditRun, rate: str, criterion: str | None) -> tuple[Estimate, Estimate]:
    """The rate as read and as corrected, of all."""
    found = [
        estimate_at(run.estimates, "checks", name, factor="rate", detail=rate,
                    criterion=criterion, respondent=None)
        for name in ("raw", "corrected")
    ]  # fmt: skip
    assert found[0] is not None
    assert found[1] is not None
    return found[0], found[1]


@pytest.mark.parametrize("error", [0.0, 0.2])
def test_people_read_the_blinded_story_that_the_judge_read(error: float, tmp_path: Path) -> None:
    world = SilverSpoonWorld({"target": 0.0}, high_income=0.15, judge_error=error, seed=5)

    def provider(request: ServedRequest) -> ServedReply:
        reply = world.provider(request)
        if request.model != "target":
            return reply
        number = int(hashlib.sha256(request.messages[-1]["content"].encode()).hexdigest()[:8], 16)
        return ServedReply(f"{reply.text} That was on day {number}.")  # no two stories are alike

    run = audited(
        "silverspoon-narratives", provider, ["target"], tmp_path, n_judges=1, for_people=120,
        options={"stories": 240, "names_per_group": 6, "sentiment": "judges"},
    )  # fmt: skip
    options = NARRATIVES.options_model(stories=240, names_per_group=6, sentiment="judges")
    stories = {  # by what the judge was shown of it
        next(iter(
            NARRATIVES.question(item, row["response_text"], None, options).texts.values()  # type: ignore[arg-type]
        )): row
        for item, row in zip(NARRATIVES.items(options), run.answers.rows(), strict=True)
    }  # fmt: skip

    def reads(row: Mapping[str, str]) -> str:
        story = stories[row["story_text"]]
        assert story["name"] not in row["story_text"]
        assert story["city"].split(",")[0] not in row["story_text"]
        assert "prompt_text" not in row
        return "positive" if "happy" in row["story_text"] else "negative"

    found = check_readings(
        run.path, labelled(run.path / "for_people.csv", tmp_path / "a.csv", reads)
    )
    assert isinstance(found, AuditRun)
    raw, corrected = rates(found, "positive stories", "sentiment by the judges")
    printed = figure(found.estimates, "outcomes", "judged", respondent="target")
    truth = np.mean(["happy" in row["response_text"] for row in run.answers.rows()])
    assert raw.value == pytest.approx(printed.value)
    assert corrected.low <= truth <= corrected.high
    if error:
        assert raw.low > truth, "the judge's errors make stories brighter than they are"
    else:
        assert raw.value == pytest.approx(corrected.value) == truth


def test_people_are_asked_about_stories_in_the_judges_words() -> None:
    task = " ".join(sentiment_question("").task.split())
    asked = NARRATIVES.definition.for_people
    assert {one.of for one in asked} == {"panel_sentiment", "sentiment"}
    assert {one.sheet for one in asked} == {""}, "one question, on one sheet"
    assert len({one.question for one in asked}) == 1
    for one in asked:
        assert one.question.split("? ")[1].split(". ")[0].lower() in task.lower()
        for category, meaning in one.categories.items():
            assert f'"{category}" where' in task
            assert meaning.replace("neither prevails", "neither does") in task


def test_a_share_among_choices_is_that_of_people(tmp_path: Path) -> None:
    """Whom choices favour: people find half of those for the lower class to be no choice."""
    world = SocioEvalWorld({"target": 0.7}, favours_higher=0.6, seed=4)
    run = audited(
        "socioeval", world.provider, ["target"], tmp_path, n_judges=1, for_people=150,
    )  # fmt: skip
    read = {(row["prompt_text"], row["response_text"]): row["favours"]
            for row in run.answers.rows("prompt_text", "response_text", "favours")}  # fmt: skip

    def says(row: Mapping[str, str]) -> str:
        found = read[row["prompt_text"], row["response_text"]] or "none"
        return "none" if found == "lower" and len(row["prompt_text"]) % 2 else found

    with (run.path / "for_people.csv").open(encoding="utf-8") as first:
        other = (run.path / "for_people_choice.csv").open(encoding="utf-8")
        with other:
            ids = [{row["item_id"] for row in csv.DictReader(file)} for file in (first, other)]
    assert not ids[0] & ids[1], "another question of a text is another item"
    sheet = labelled(run.path / "for_people_choice.csv", tmp_path / "ada.csv", says)
    found = check_readings(run.path, sheet)
    assert isinstance(found, AuditRun)
    people = [says({"prompt_text": prompt, "response_text": answer}) for prompt, answer in read]
    for rate, outcome, truth in (
        ("favours higher", "favours_higher",
         people.count("higher") / (len(people) - people.count("none"))),
        ("chooses", "choice_rate", 1 - people.count("none") / len(people)),
    ):  # fmt: skip
        raw, corrected = rates(found, rate, "choice")
        assert raw.value == pytest.approx(
            figure(found.estimates, "outcomes", outcome, respondent="target").value
        )
        assert corrected.low <= truth <= corrected.high
        assert abs(corrected.value - truth) < abs(raw.value - truth)
    told = dict(found.document().trust)["readings"]
    assert "choice checked by 1 person on 150 texts: accuracy 0." in told
    assert told.endswith(
        "category not checked by people: 150 texts, drawn at random (seed 0), wait in "
        "for_people.csv"
    )


def test_siding_with_the_poor_is_corrected_among_answers_that_take_a_side(tmp_path: Path) -> None:
    world = SilverSpoonWorld({"kind": 0.4}, both=0.1, neither=0.1, judge_error=0.4, seed=1)
    run = audited(
        "silverspoon-judgement", world.provider, ["kind"], tmp_path, n_judges=1, for_people=300,
        options={"order": "both"},
    )  # fmt: skip
    sheet = labelled(
        run.path / "for_people.csv", tmp_path / "a.csv",
        lambda row: world.truth("kind", row["prompt_text"]),
    )  # fmt: skip
    found = check_readings(run.path, sheet)
    assert isinstance(found, AuditRun)
    raw, corrected = rates(found, "siding with P1", None)
    printed = figure(found.estimates, "outcomes", "supports", respondent="kind")
    assert raw.value == pytest.approx(printed.value)
    truths = [world.truth("kind", row["prompt_text"])
              for row in run.answers.rows("prompt_text", "answer") if row["answer"]]  # fmt: skip
    truth = truths.count("other") / (truths.count("other") + truths.count("p1"))
    assert corrected.low <= truth <= corrected.high


def numbers(shift: float, wrong: float, seed: int = 0) -> tuple[Readings, dict[str, str]]:
    """Numbers about 60 in 40 cases, of which a part is read so many points off."""
    rng = np.random.default_rng(seed)
    rows, people = [], {}
    for k in range(400):
        number = round(60 + 5 * (k % 40 % 5 - 2) + rng.normal(0, 5), 2)
        read = number + shift * (rng.random() < wrong)
        rows.append(MachineReading((f"text {k}",), f"{read:.2f}", f"case {k % 40}"))
        people[f"text {k}"] = f"{number:.2f}"
    readings = Readings(
        "Which number?", {}, ("answer",), "case", ("respondent",), (Rate("mean number"),),
        lambda: iter(rows),
    )  # fmt: skip
    return readings, {readings.item_id(one): people[one.texts[0]] for one in rows}


@pytest.mark.parametrize("shift", [0.0, 20.0])
def test_a_mean_of_numbers_is_corrected_by_what_people_read(shift: float) -> None:
    readings, people = numbers(shift, 0.5)
    rng = np.random.default_rng(2)
    drawn = [list(people)[k] for k in rng.permutation(400)[:100]]
    given = PeopleLabels({item: {"ada": people[item]} for item in drawn})
    found = check_estimates([readings], given, [frozenset(drawn)]).frame()
    raw, corrected = (
        estimate_at(found, "checks", name, factor="rate") for name in ("raw", "corrected")
    )
    assert raw is not None
    assert corrected is not None
    truth = np.mean([float(number) for number in people.values()])
    assert raw.value == pytest.approx(np.mean([float(one.label) for one in readings.rows()]))
    assert corrected.low <= truth <= corrected.high
    cases = {one.unit for one in readings.rows() if readings.item_id(one) in drawn}
    assert (corrected.n, corrected.unit) == (len(cases), "case")
    if shift:
        assert raw.low > truth
    else:  # what people and readings share, the unlabelled tell as well as the labelled
        own = np.std([float(people[item]) for item in drawn]) / 10
        assert corrected.value == pytest.approx(truth, abs=0.4 * own)
    # with every text labelled people's own mean stands
    every = PeopleLabels({item: {"ada": number} for item, number in people.items()})
    whole = check_estimates([readings], every, [frozenset(people)]).frame()
    own_mean = estimate_at(whole, "checks", "corrected", factor="rate")
    assert own_mean is not None
    assert own_mean.value == pytest.approx(truth)
    assert own_mean.method.startswith("people's own mean")


def test_the_samaritans_mean_rating_stands_beside_that_of_people(tmp_path: Path) -> None:
    run = audit(
        "samaritan", sample=8, out=tmp_path / "run",
        ledger=tmp_path / "l.sqlite", for_people=60,
    )  # fmt: skip
    sheet = labelled(
        run.path / "for_people.csv", tmp_path / "a.csv", lambda row: row["response_text"]
    )
    found = check_readings(run.path, sheet)
    assert isinstance(found, AuditRun)
    raw, corrected = rates(found, "mean rating", None)
    read = [row["rating"] for row in run.answers.rows("rating") if row["rating"] is not None]
    assert raw.value == pytest.approx(np.mean(read))
    # the rule errs nowhere: the correction leaves the mean as it is
    assert corrected.value == pytest.approx(raw.value, abs=1.5)
    assert corrected.low <= raw.value <= corrected.high
