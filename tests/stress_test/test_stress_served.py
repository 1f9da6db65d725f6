"""The stress test as one served graph: the numbers are those of the staged job."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from after_a_kill import settled, stored, stored_twice
from processes import until
from stress_world import StressWorld

from areopagus import Panel, calibrate, served
from areopagus.served.run_context import close_all
from areopagus.stress_test import StressRun, stress
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

WORLD = StressWorld(
    {"emotion_agree": {"pluralistic_engagement": 2.0}}, n_prompts=6, delta_sd=0.2, judge_sd=0.0
)
CONTEXT = {
    "models": ["openai/judge"],
    "personas": ["historian", "ethicist"],
    "targets": ["openai/target"],
    "rewriters": ["openai/rewriter", "openai/reviewer"],
}
MODELS = ("judge", "target", "rewriter", "reviewer")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AREOPAGUS_HOME", str(tmp_path))
    close_all()
    yield
    close_all()


def served_by(
    server: ProviderServer, folder: Path, monkeypatch: pytest.MonkeyPatch, **more: Any
) -> list[dict[str, Any]]:
    """The panel.yaml of a server, and its models."""
    base = {"api_base": server.openai_base, "max_attempts": 1, **more}
    models = [{"model": f"openai/{name}", **base} for name in MODELS]
    (folder / "panel.yaml").write_text(json.dumps({"models": models}))  # JSON is YAML
    monkeypatch.setenv("AREOPAGUS_PANEL", str(folder / "panel.yaml"))
    return models


def staged(models: list[dict[str, Any]], folder: Path) -> StressRun:
    """The same test as a job, over the same ledger."""
    judge, target, *rewriters = models
    with Panel([judge], personas=["historian", "ethicist"]) as panel:
        return stress(
            WORLD.prompts(), panel=panel, target=target, rewriters=rewriters, retest_share=0,
            out=folder / "run",
        )  # fmt: skip


def ranks(n_prompts: int) -> list[dict[str, Any]]:
    """What three people say of the answers: the variant that agrees is the worst."""
    return [
        {
            "rater_id": rater, "prompt_id": f"case-{case}", "overall": score + (rater == "ann"),
            "response_id": f"case-{case}|{condition}|openai/target",
        }
        for rater in ("ann", "ben", "cleo")
        for case in range(n_prompts)
        for condition, score in (("baseline", 7), ("empirical_i", 6), ("emotion_agree", 3))
    ]  # fmt: skip


def rows(frame: Any) -> list[dict[str, Any]]:
    """Figures as the served graph has them."""
    plain = json.loads(frame.to_json(orient="records"))
    return [{k: v for k, v in row.items() if v is not None} for row in plain]


async def test_its_figures_are_those_of_the_staged_job_and_of_calibrate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = ranks(3)
    with ProviderServer(WORLD.provider()) as server:
        models = served_by(server, tmp_path, monkeypatch)
        given = {"prompts": WORLD.prompts(), "human": people}
        state = await served.graph("stress", CONTEXT).ainvoke(given, context=CONTEXT)
        asked = server.counts.total
        run = await asyncio.to_thread(staged, models, tmp_path)
        again = server.counts.total - asked
        close_all()
    assert again == 0, "the job asks what the graph has asked, and it is in the ledger"
    ctd, agreement = state["ctd"], state["agreement"]
    assert ctd["estimates"] == rows(run.estimates)
    assert ctd["headline"] == list(run.document().headline)
    assert ctd["limitations"] == run.record["result"]["limitations"]
    assert "agreement" in ctd["headline"][0]
    assert ctd["demonstration"] is False
    (tmp_path / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in people))
    found = await asyncio.to_thread(calibrate, run.panel_run, tmp_path / "people.jsonl")
    assert agreement["estimates"] == rows(found.estimates)
    assert agreement["headline"] == list(found.document().headline)


async def test_a_prompt_without_a_variant_and_a_refused_answer_are_counted_as_in_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play = WORLD.provider()

    def troubled(request: ServedRequest) -> ServedReply:
        asked = request.text_of("user")
        if request.model in ("rewriter", "reviewer") and "case 1" in asked:
            return ServedReply("No.")
        if request.model == "target" and asked.endswith("in case 2?"):
            return ServedReply(None, refusal="I do not answer this.")
        return play(request)

    with ProviderServer(troubled) as server:
        models = served_by(server, tmp_path, monkeypatch)
        given = {"prompts": WORLD.prompts()}
        state = await served.graph("stress", CONTEXT).ainvoke(given, context=CONTEXT)
        run = await asyncio.to_thread(staged, models, tmp_path)
        close_all()
    assert list(state) == ["ctd"]
    assert state["ctd"]["estimates"] == rows(run.estimates)
    at = {"table": "responses", "framing": "baseline"}
    counts = {
        row["measure"]: row["value"]
        for row in state["ctd"]["estimates"]
        if at.items() <= row.items()
    }
    assert counts["no_variant"] == counts["refused"] == 1


async def test_people_who_rated_other_answers_cost_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = [row | {"response_id": f"other-{k}"} for k, row in enumerate(ranks(1))]
    prompts = WORLD.prompts()[:1]
    with ProviderServer(WORLD.provider()) as server:
        served_by(server, tmp_path, monkeypatch)
        given = {"prompts": prompts, "human": other}
        state = await served.graph("stress", CONTEXT).ainvoke(given, context=CONTEXT)
        n_asked = server.counts.total
        unreadable = {"prompts": prompts, "human": [{"what": "is this"}]}
        with pytest.raises(ValueError, match="rater"):
            await served.graph("stress", CONTEXT).ainvoke(unreadable, context=CONTEXT)
        assert server.counts.total == n_asked
        close_all()
    assert state["ctd"]["estimates"]
    assert set(state["agreement"]) == {"reason"}


async def test_a_cap_ends_it_without_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = CONTEXT | {"max_cost": 0.000001}
    with ProviderServer(WORLD.provider()) as server:
        served_by(server, tmp_path, monkeypatch, prices={"input": 1, "output": 1})
        given = {"prompts": WORLD.prompts()}
        state = await served.graph("stress", context).ainvoke(given, context=context)
        assert server.counts.total == 0
        close_all()
    assert state["ctd"]["headline"] == ["No response was scored: there is no figure."]


async def test_cancelled_and_gone_on_with_it_asks_for_nothing_that_was_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    with ProviderServer(WORLD.provider(), delay_s=0.02) as server:
        served_by(server, tmp_path, monkeypatch, concurrency=4)
        graph = served.graph("stress", CONTEXT, checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "one"}}
        given: Any = {"prompts": WORLD.prompts()}
        held = 0
        for model, number in (("rewriter", 2), ("target", 8), ("judge", 20)):
            work = graph.ainvoke(given, config, context=CONTEXT)
            run, given = asyncio.create_task(work), None
            reached = functools.partial(lambda m, n: server.counts.by_model[m] >= n, model, number)
            await asyncio.to_thread(until, reached)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
            before = await asyncio.to_thread(settled, server)
            close_all()
            held, kept = stored(tmp_path / "ledger.sqlite").total(), held
            assert held > kept
        state = await graph.ainvoke(None, config, context=CONTEXT)
        after = await asyncio.to_thread(settled, server)
        given = {"prompts": WORLD.prompts()}
        whole = await served.graph("stress", CONTEXT).ainvoke(given, context=CONTEXT)
        close_all()
    planned = stored(tmp_path / "ledger.sqlite").total()
    assert (after - before).total() == planned - held
    assert stored_twice(tmp_path / "ledger.sqlite") == 0
    assert state["ctd"]["estimates"] == whole["ctd"]["estimates"]
