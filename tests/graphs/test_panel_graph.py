"""The panel graph: what travels in its state, how votes merge, what becomes of a defect."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest

from areopagus import Panel, ProviderError, StoreError
from areopagus.experiment.engine import judge_sample, verdict_of
from areopagus.graphs.generate import merged
from areopagus.graphs.panel import PanelContext, build_panel_graph, panel_graph
from areopagus.judges.models.client import Client
from areopagus.judges.models.request import Request
from areopagus.records.types import Sample
from areopagus.testing import ScriptedBackend

GOOD = {
    "conceptual_clarity": 7, "evidential_grounding": 6, "contextual_relevance": 8,
    "pluralistic_engagement": 5, "argumentative_soundness": 6, "abstained": False,
}  # fmt: skip
PROMPT_CANARY = "quokka-prompt-canary"
RESPONSE_CANARY = "wombat-response-canary"
SAMPLE = Sample(
    "r1", "p1", "writer", f"What is owed to whom? {PROMPT_CANARY}",
    f"Much is owed to those who waited. {RESPONSE_CANARY}",
)  # fmt: skip
START = {"response_id": "r1"}


async def updates(context: PanelContext, graph: Any = None) -> tuple[list[Any], list[Any]]:
    """Updates and custom events of one run, in order."""
    changed: list[Any] = []
    events: list[Any] = []
    stream = (graph or panel_graph()).astream(
        START, context=context, stream_mode=["updates", "custom"]
    )
    async for mode, part in stream:
        (changed if mode == "updates" else events).append(part)
    return changed, events


def context_of(panel: Panel, sample: Sample = SAMPLE) -> PanelContext:
    return PanelContext(sample, panel.spec, Client(panel.ledger))


async def test_what_travels_is_json_and_holds_neither_text_nor_secret() -> None:
    with Panel(ScriptedBackend(GOOD)) as panel:
        secret = panel.ledger.secret
        changed, _ = await updates(context_of(panel))
    wire = json.dumps(changed, allow_nan=False)
    assert json.loads(wire) == changed
    for canary in (PROMPT_CANARY, RESPONSE_CANARY, secret.hex(), str(secret), "Marker of"):
        assert canary not in wire
    # One update a backend, and one each of screen and aggregate.
    nodes = [name for part in changed for name in part]
    assert nodes == ["screen", "judge", "aggregate"]


async def test_a_judge_that_repeats_the_texts_puts_them_into_no_state() -> None:
    def parrot(request: Request) -> Any:
        said = request.messages[-1]["content"]
        first = request.labels["persona"] == "historian"
        return ProviderError("bad_request", said) if first else f"I read: {said}"

    with Panel(ScriptedBackend(parrot)) as panel:
        changed, _ = await updates(context_of(panel))
    wire = json.dumps(changed, allow_nan=False)
    assert "bad_request" in wire
    assert "not_json" in wire
    assert PROMPT_CANARY not in wire
    assert RESPONSE_CANARY not in wire


async def test_nothing_of_the_texts_is_left_in_a_checkpoint() -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    saver = InMemorySaver()
    with Panel(ScriptedBackend(GOOD)) as panel:
        secret = panel.ledger.secret
        graph = build_panel_graph(saver)
        config = {"configurable": {"thread_id": "one"}}
        await judge_sample(context_of(panel), graph=graph, config=config)
    kept = repr(saver.storage).encode() + repr(saver.writes).encode() + repr(saver.blobs).encode()
    assert b"conceptual_clarity" in kept  # the votes are there …
    for canary in (PROMPT_CANARY.encode(), RESPONSE_CANARY.encode(), secret.hex().encode()):
        assert canary not in kept  # … and nothing that they were given on
    assert repr(secret)[2:-1].encode() not in kept


async def test_every_backend_is_sent_its_judgments_and_each_reports_progress() -> None:
    two = [ScriptedBackend(GOOD, name=f"scripted/{name}") for name in "ab"]
    with Panel(two, repeats=2) as panel:
        planned = panel.spec.planned()
        changed, events = await updates(context_of(panel))
    assert len(planned) == len(set(planned)) == 40
    tasks = [part["judge"] for part in changed if "judge" in part]
    assert sorted(key for task in tasks for key in task["judgments"]) == sorted(planned)
    models = [{key.split("|")[1] for key in task["judgments"]} for task in tasks]
    assert sorted(models, key=min) == [{"scripted/a"}, {"scripted/b"}]
    assert sorted(event["judgment"] for event in events) == sorted(planned)
    assert {event["status"] for event in events} == {"scored"}


async def test_with_a_checkpointer_every_judgment_is_sent_for_itself() -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    graph = build_panel_graph(InMemorySaver())
    config = {"configurable": {"thread_id": "one"}}
    with Panel(ScriptedBackend(GOOD)) as panel:
        stream = graph.astream(START, config, context=context_of(panel), stream_mode="updates")
        changed = [part async for part in stream]
    tasks = [part["judge"] for part in changed if "judge" in part]
    assert [len(task["judgments"]) for task in tasks] == [1] * 10


def test_a_repeated_write_changes_nothing() -> None:
    one, two = {"a|m|0": {"status": "scored"}}, {"b|m|0": {"status": "failed"}}
    both = merged(one, two)
    assert merged(both, two) == merged(both, one) == merged({}, both) == merged(both, {}) == both
    assert one == {"a|m|0": {"status": "scored"}}


async def test_verdicts_do_not_depend_on_the_order_in_which_votes_come() -> None:
    class Slow(ScriptedBackend):
        async def send(self, request: Request) -> Any:
            # The later in the plan, the sooner it answers.
            place = order.index(request.labels["persona"])
            await asyncio.sleep(0.002 * (10 - place))
            return await super().send(request)

    def answer(request: Request) -> dict[str, Any]:
        return {**GOOD, "conceptual_clarity": 1 + int(request.key()[:4], 16) % 10}

    backend = Slow(answer, concurrency=10)
    with Panel(backend) as panel:
        order = [persona.id for persona in panel.personas]
        verdict = await judge_sample(context_of(panel))
    assert [judgment.persona for judgment in verdict.judgments] == order


async def test_a_defect_in_a_judge_is_one_failed_vote_and_no_exception() -> None:
    def answer(request: Request) -> dict[str, Any]:
        if request.labels["persona"] == "historian":
            raise KeyError("a defect of ours")
        return GOOD

    with Panel(ScriptedBackend(answer)) as panel:
        verdict = await judge_sample(context_of(panel))
    assert (verdict.n_scored, verdict.counts["failed"]) == (9, 1)
    (broken,) = [judgment for judgment in verdict.judgments if judgment.status == "failed"]
    assert (broken.persona, broken.reason) == ("historian", "internal")
    assert broken.detail is not None
    assert "a defect of ours" in broken.detail
    assert broken.scores == {}


async def test_a_ledger_that_cannot_be_written_stops_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = ScriptedBackend(GOOD)
    with Panel(backend) as panel:

        async def full(*_: object, **__: object) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(panel.ledger, "finish", full, raising=False)
        monkeypatch.setattr(type(panel.ledger), "finish", full)
        with pytest.raises(StoreError, match="the disk is full"):
            await judge_sample(context_of(panel))
        monkeypatch.undo()


async def test_behind_a_gate_every_judgment_is_closed_and_nobody_is_asked() -> None:
    backend = ScriptedBackend(GOOD)
    with Panel(backend) as panel:
        empty = Sample("r1", "p1", "writer", "What is owed?", " \u200b\n")
        changed, events = await updates(context_of(panel, empty))
        verdict = await judge_sample(context_of(panel, empty))
    assert backend.requests == events == []
    assert [name for part in changed for name in part] == ["screen", "aggregate"]
    assert verdict.status == "screened"
    assert verdict.counts["not_asked"] == verdict.n_planned == 10
    assert {(j.reason, j.detail) for j in verdict.judgments} == {("screened", "empty")}
    assert verdict.composite is None


def test_a_checkpointer_holds_the_votes_and_only_open_ones_are_asked_again() -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    saver = InMemorySaver()

    def shaky(request: Request) -> Any:
        ill = request.labels["persona"] in ("historian", "ethicist")
        return ProviderError("context_length", "too long") if ill else GOOD

    with Panel(ScriptedBackend(shaky), checkpointer=saver) as panel:
        first = panel.score(SAMPLE.prompt_text, SAMPLE.response_text)
    assert (first.n_scored, first.counts["failed"]) == (8, 2)
    well = ScriptedBackend(GOOD)
    with Panel(well, checkpointer=saver) as panel:
        second = panel.score(SAMPLE.prompt_text, SAMPLE.response_text)
        third = panel.score(SAMPLE.prompt_text, SAMPLE.response_text)
        other = panel.score(SAMPLE.prompt_text, SAMPLE.response_text + " More.")
    assert second.n_scored == third.n_scored == other.n_scored == 10
    assert second.summary() == third.summary()
    asked = [request.labels["persona"] for request in well.requests]
    assert sorted(asked[:2]) == ["ethicist", "historian"]
    assert len(asked) == 2 + 10  # the third asking is answered by the checkpoint


def test_a_run_broken_off_goes_on_from_its_checkpointer(monkeypatch: pytest.MonkeyPatch) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    saver = InMemorySaver()
    backend = ScriptedBackend(GOOD)
    with Panel(backend, checkpointer=saver) as panel:

        def broken(*_: object, **__: object) -> None:
            raise StoreError("the disk is full")

        import areopagus.graphs.panel as module

        monkeypatch.setattr(module, "aggregate", broken)
        with pytest.raises(StoreError):
            panel.score(SAMPLE.prompt_text, SAMPLE.response_text)
        monkeypatch.undo()
        verdict = panel.score(SAMPLE.prompt_text, SAMPLE.response_text)
    assert verdict.n_scored == 10
    assert len(backend.requests) == 10


def test_votes_of_a_thread_belong_to_one_response_and_its_ids() -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    with Panel(ScriptedBackend(GOOD), checkpointer=InMemorySaver()) as panel:
        panel.score("What is owed?", "Much is owed.", respondent_id="anna")
        verdict = panel.score("What is owed?", "Much is owed.", respondent_id="ben")
    assert {judgment.respondent_id for judgment in verdict.judgments} == {"ben"}


async def test_calls_made_at_once_share_one_desk_and_its_limits() -> None:
    running = most = 0

    class Watched(ScriptedBackend):
        async def send(self, request: Request) -> Any:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.002)
            running -= 1
            return await super().send(request)

    with Panel(Watched(GOOD, concurrency=2)) as panel:
        verdicts = await asyncio.gather(
            *(panel.ascore("What is owed?", f"Much is owed, says {i}.") for i in range(5))
        )
    assert [verdict.n_scored for verdict in verdicts] == [10] * 5
    assert most == 2


def test_the_graph_draws_itself_without_a_network() -> None:
    drawn = panel_graph().get_graph().draw_mermaid()
    for node in ("screen", "plan", "judge", "aggregate"):
        assert node in drawn


async def test_the_verdict_in_a_final_state_has_its_judgments_in_the_order_of_the_plan() -> None:
    with Panel(ScriptedBackend(GOOD)) as panel:
        context = context_of(panel)
        state = await panel_graph().ainvoke(START, context=context)
        verdict = verdict_of(state, context)
        # As it comes back from a checkpointer, whose rows are others with the same in them.
        stored = verdict_of(copy.deepcopy(state), context)
        planned = panel.spec.planned()
    assert [f"{j.persona}|{j.model}|{j.repeat}" for j in verdict.judgments] == planned
    assert stored == verdict
