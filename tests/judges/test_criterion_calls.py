"""Criteria in another order, and one call for each: results keep the rubric's order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from areopagus import InputError, Panel
from areopagus.judges.judge import Judge
from areopagus.judges.models.client import Client
from areopagus.judges.prompt import JudgePrompt
from areopagus.personas import load_persona
from areopagus.records.ledger import Ledger
from areopagus.records.types import Judgment, Sample
from areopagus.rubrics import load_rubric
from areopagus.testing import ScriptedBackend

RUBRIC = load_rubric("critical_thinking")
IDS = RUBRIC.dimension_ids
SAMPLE = Sample("r1", "p1", "someone", "Is privacy a right?", "It is, for many reasons.")
HISTORIAN = load_persona("historian")


def alone(**scores: int) -> list[str]:
    """Replies to calls for single criteria, in the rubric's order; an abstention where below 0."""
    return [
        json.dumps({name: abs(scores.get(name, 5)), "abstained": scores.get(name, 5) < 0})
        for name in IDS
    ]


async def vote(folder: Path, backend: ScriptedBackend, wording: JudgePrompt) -> Judgment:
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        return await Judge(HISTORIAN, backend, wording).vote(Client(ledger), SAMPLE, repeat=0)


def test_rotated_criteria_are_read_and_written_in_that_order() -> None:
    wording = JudgePrompt(RUBRIC, criterion_order=2)
    turned = (*IDS[2:], *IDS[:2])
    system = wording.messages(HISTORIAN, "Why?", "Because.", "0" * 16)[0]["content"]
    places = [system.index(f"[{name}]") for name in turned]
    assert places == sorted(places)
    assert wording.schema.criteria == turned
    assert wording.criteria == IDS  # of the results


def test_what_is_not_the_default_is_another_call_and_another_panel() -> None:
    plain = Panel(personas=["historian"]).spec
    assert not {"criterion_order", "criterion_calls"} & set(plain.identity())
    secret = b"s" * 32

    def keys(spec: object) -> set[str]:
        (judge,) = spec.judges.values()  # type: ignore[attr-defined]
        asked = judge.questions(SAMPLE, secret=secret, repeat=0)
        return {one.request(judge.backend, "prompt").key() for one in asked}

    turned = Panel(personas=["historian"], criterion_order=1).spec
    apart = Panel(personas=["historian"], criterion_calls="apart").spec
    assert turned.identity() == plain.identity() | {"criterion_order": 1}
    assert apart.identity() == plain.identity() | {"criterion_calls": "apart"}
    assert [len(keys(one)) for one in (plain, turned, apart)] == [1, 1, 5]
    assert len(keys(plain) | keys(turned) | keys(apart)) == 7
    assert apart.criteria == plain.criteria == IDS


async def test_one_call_a_criterion_makes_one_judgment(tmp_path: Path) -> None:
    backend = ScriptedBackend(alone(conceptual_clarity=3, argumentative_soundness=9))
    found = await vote(tmp_path, backend, JudgePrompt(RUBRIC, criterion_calls="apart"))
    assert found.status == "scored"
    assert found.scores == dict(zip(IDS, (3, 5, 5, 5, 9), strict=True))
    assert found.calls == 5
    for name, request in zip(IDS, backend.requests, strict=True):
        system = request.messages[0]["content"]
        assert [one for one in IDS if f"[{one}]" in system] == [name]


async def test_of_calls_apart_the_first_that_is_not_read_ends_the_judgment(tmp_path: Path) -> None:
    backend = ScriptedBackend([alone()[0], "no", "no", *alone()[2:]])
    found = await vote(tmp_path, backend, JudgePrompt(RUBRIC, criterion_calls="apart"))
    assert (found.status, found.scores) == ("unreadable", {})
    assert len(backend.requests) == 3  # the rest is not paid for


async def test_of_calls_apart_most_must_say_that_the_response_declined(tmp_path: Path) -> None:
    wording = JudgePrompt(RUBRIC, criterion_calls="apart")
    two = ScriptedBackend(alone(**dict.fromkeys(IDS[:2], -4)))
    three = ScriptedBackend(alone(**dict.fromkeys(IDS[:3], -4)))
    (tmp_path / "other").mkdir()
    assert (await vote(tmp_path, two, wording)).status == "scored"
    assert (await vote(tmp_path / "other", three, wording)).status == "abstained"
    silent = ScriptedBackend(['{"abstained": true}', *alone()[1:]])
    (tmp_path / "third").mkdir()
    assert (await vote(tmp_path / "third", silent, wording)).status == "abstained"


def test_every_judge_of_a_run_asked_apart_is_planned_once_and_stored_whole(tmp_path: Path) -> None:
    rows = [{"response_id": "r", "prompt_text": "Why?", "response_text": "For three reasons."}]
    one = ["historian"]
    with Panel(personas=one, criterion_calls="apart", ledger=tmp_path / "l") as panel:
        before = panel.estimate(rows)
        run = panel.score_many(rows, out=tmp_path / "run", on_progress=False)
        after = panel.estimate(rows)
    (first,), (again,) = before.stages, after.stages
    assert (first.planned, first.stored, first.calls) == (1, 0, 5)
    assert (again.planned, again.stored, again.calls) == (1, 1, 0)
    with Panel(personas=one, ledger=tmp_path / "l") as panel:
        other = panel.score_many(rows, out=tmp_path / "other", on_progress=False)
    # The embedded judge counts features, and knows no other criterion than the one in hand.
    assert run.respondents[0].dimensions == other.respondents[0].dimensions


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"criterion_order": 5}, "from 0 to 4: the rubric has 5 criteria, got 5"),
        ({"criterion_calls": "apart", "mode": "holistic"}, "apart needs the mode dimensions"),
    ],
)
def test_what_cannot_be_asked_is_refused(settings: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Panel(**settings)  # type: ignore[arg-type]
