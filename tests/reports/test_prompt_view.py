"""Which prompts stand first, over which judges a difference is taken, and what is quoted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from report_runs import (
    MODELS,
    make_run,
    panel_votes,
    record,
    respondent,
    unscored,
    verdict,
    write_texts,
)

from areopagus import Run
from areopagus.records.tables import read_scores
from areopagus.records.types import Verdict
from areopagus.reports import Document, Excerpts, Records, SideBySide
from areopagus.reports.document_json import to_json
from areopagus.reports.prompt_view import ComparedPrompts, compared_prompts, where_they_differ
from areopagus.reports.text import render_text


def prompts_of(folder: Path) -> ComparedPrompts:
    run = Run(folder)
    return compared_prompts(read_scores(folder), folder, run.record)


def shown(folder: Path) -> Document:
    run = Run(folder)
    run.require_estimates()
    return run.document()


def table_of(document: Document) -> Records:
    (section,) = [one for one in document.sections if one.name == "by-prompt"]
    (found,) = [part for part in section.parts if isinstance(part, Records)]
    return found


def without_second_model(given: Verdict) -> Verdict:
    """The same, but that the second model, one point milder on one criterion, fell out."""
    votes = [
        vote if vote.model == MODELS[0] else unscored(vote, "failed", "quota")
        for vote in given.judgments
    ]
    # Three of six are left; the run's quorum is said to be met.
    return verdict(votes, status="scored", composite=5.0, reason=None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Respondents a and b on three prompts: b is 0, 2 and 1 points below."""
    levels = {"p0": (5, 5), "p1": (7, 5), "p2": (6, 5)}
    verdicts = []
    for prompt, both in levels.items():
        for who, level in zip("ab", both, strict=True):
            votes = panel_votes(f"{prompt}{who}", prompt, who, level)
            if prompt != "p2":
                votes = [replace(one, rationale=f"{one.persona} on {who}") for one in votes]
            votes[0] = replace(
                votes[0], scores=dict.fromkeys(votes[0].scores, float(level - (who == "b")))
            )
            verdicts.append(verdict(votes, sd=0.5 if who == "a" else float(prompt[1])))
    identity = record({})["identity"] | {"rationale": "before"}
    run = make_run(tmp_path / "run", verdicts, identity=identity)
    write_texts(
        run,
        {
            f"{p}{who}": (f"Ask {p}?", f"# Head\n\n**{who}** answers")
            for p in levels
            for who in "ab"
        },
    )
    return run


def test_the_largest_differences_stand_first(folder: Path) -> None:
    table = table_of(shown(folder))
    # By hand: six judges, of whom one lowers b by one more point: (5 × 2 + 3) / 6 = 2.1667.
    rows = [
        (row[0], round(float(row[1] or 0), 4), row[2], row[3], row[4], row[5]) for row in table.rows
    ]
    assert rows == [
        ("Ask p1?", 2.1667, "a", "b", 1.0, 2),
        ("Ask p2?", 1.1667, "a", "b", 2.0, 2),
        ("Ask p0?", 0.1667, "a", "b", 0.5, 2),
    ]
    assert isinstance(table.view, SideBySide)
    assert [list(one) for one in table.view.rows] == [[2, 3], [4, 5], [0, 1]]
    assert table.columns[table.title].title == "prompt id"


def test_a_model_that_fell_out_is_no_difference(tmp_path: Path) -> None:
    """Equal answers; one lost the milder model, which would look like half a point."""
    whole = verdict(panel_votes("x", "p", "a", 5))
    short = without_second_model(verdict(panel_votes("y", "p", "b", 5)))
    run = make_run(tmp_path / "run", [whole, short])
    assert whole.composite == pytest.approx(5.25)
    prompts = prompts_of(run)
    assert prompts.differences("a", "b") == [("p", pytest.approx(0.0))]
    assert prompts.widest["p"][0] == pytest.approx(0.0)


def test_without_a_judge_in_common_there_is_no_difference(tmp_path: Path) -> None:
    first = panel_votes("x", "p", "a", 5)
    second = panel_votes("y", "p", "b", 9)
    votes = [
        [
            one if (one.model == MODELS[0]) == is_first else unscored(one, "failed", "quota")
            for one in given
        ]
        for given, is_first in ((first, True), (second, False))
    ]
    run = make_run(
        tmp_path / "run",
        [verdict(one, status="scored", composite=7.0, reason=None) for one in votes],
    )
    prompts = prompts_of(run)
    assert prompts.differences("a", "b") == []
    assert dict(prompts.widest) == {}
    assert where_they_differ(prompts) == []
    assert table_of(shown(run)).rows[0][1:4] == [None, "", ""]


def test_an_inconclusive_answer_is_not_compared(tmp_path: Path) -> None:
    few = [unscored(one, "failed", "x") for one in panel_votes("y", "p", "b", 9)[:5]]
    run = make_run(
        tmp_path / "run",
        [verdict(panel_votes("x", "p", "a", 5)), verdict([*few, panel_votes("y", "p", "b", 9)[5]])],
    )
    assert dict(prompts_of(run).widest) == {}


def test_the_most_different_prompts_quote_both_answers_and_one_judge(folder: Path) -> None:
    document = shown(folder)
    (section,) = [one for one in document.sections if one.name == "differ-most"]
    assert section.title == "Where a and b differ most"
    first, second, third = section.parts
    assert isinstance(first, Excerpts)
    assert (first.title, first.note, first.record) == ("Ask p1?", "+2.17 points", ("prompts", 0))
    assert [(one.who, one.text) for one in first.sides] == [
        ("a", "Head a answers"),
        ("b", "Head b answers"),
    ]
    # The judge whose scores lie farthest apart, on both sides.
    assert [(one.reason, one.by) for one in first.sides] == [
        ("historian on a", "Historian, openai/one: 7.0"),
        ("historian on b", "Historian, openai/one: 4.0"),
    ]
    assert isinstance(second, Excerpts)
    assert second.record == ("prompts", 1)
    assert {one.reason for one in second.sides} == {""}  # its judges gave none
    assert isinstance(third, Excerpts)
    lines = "\n".join(render_text(document, full=True))
    assert "Ask p1? (+2.17 points)" in lines
    assert "“historian on b” (Historian, openai/one: 4.0)" in lines
    told = json.dumps(to_json(document))
    assert '"kind": "excerpts", "title": "Ask p1?"' in told


def test_of_several_the_first_is_held_against_the_baseline(tmp_path: Path) -> None:
    verdicts = [
        verdict(panel_votes(f"p{k}{who}", f"p{k}", who, level + k % 2 * (who == "best")))
        for k in range(6)
        for who, level in (("best", 7), ("next", 6), ("last", 3))
    ]
    named = [respondent(name) for name in ("best", "next", "last")]
    document = shown(make_run(tmp_path / "run", verdicts, respondents=named))
    (section,) = [one for one in document.sections if one.name == "differ-most"]
    assert section.title == "Where best and next differ most"
    first = section.parts[0]
    assert isinstance(first, Excerpts)
    assert (first.note, [one.who for one in first.sides]) == ("+2.00 points", ["best", "next"])


def test_one_respondent_is_read_by_the_disagreement_of_judges(tmp_path: Path) -> None:
    verdicts = [
        verdict(panel_votes(f"r{k}", f"p{k}", "a", 5), sd=sd)
        for k, sd in enumerate((0.2, 1.5, 0.9))
    ]
    document = shown(make_run(tmp_path / "run", verdicts))
    assert not [one for one in document.sections if one.name == "differ-most"]
    table = table_of(document)
    # Without texts a prompt is called by its id.
    assert [row[0] for row in table.rows] == ["p1", "p2", "p0"]
    assert [column.title for column in table.columns] == [
        "prompt",
        "SD between judges",
        "answers",
        "prompt id",
    ]
    assert isinstance(table.view, SideBySide)
    assert not table.view.has_texts
