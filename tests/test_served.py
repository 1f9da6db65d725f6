"""The graphs of `langgraph.json`, as a LangGraph server loads and calls them."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from after_a_kill import settled, stored, stored_twice
from processes import until

from areopagus import Panel, served
from areopagus.errors import InputError
from areopagus.graphs.framings import BUILTIN
from areopagus.served.run_context import close_all, opened_panel
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

ROOT = Path(__file__).parents[1]
TEXTS = {
    "prompt_text": "What does a city owe to its poorest?",
    "response_text": "Duty means what we owe. For example, 40% of rents rose in 2019.",
}
TWO = {"personas": ["historian", "ethicist"]}


@pytest.fixture(autouse=True)
def _fresh_panels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AREOPAGUS_HOME", str(tmp_path))
    monkeypatch.delenv("AREOPAGUS_PANEL", raising=False)
    close_all()
    yield
    close_all()


def vote(request: ServedRequest) -> ServedReply:
    """Seven for everything that is asked for."""
    asked = (request.schema or {})["properties"]
    return ServedReply(
        json.dumps({k: False if part.get("type") == "boolean" else 7 for k, part in asked.items()})
    )


def panel_file(folder: Path, server: ProviderServer, *names: str, **more: Any) -> Path:
    """A panel.yaml with models of the server."""
    models = [
        {"model": f"openai/{name}", "api_base": server.openai_base, "max_attempts": 1, **more}
        for name in names
    ]
    path = folder / "panel.yaml"
    path.write_text(json.dumps({"models": models}))  # JSON is YAML
    return path


async def ran(name: str, given: Mapping[str, Any], context: Mapping[str, Any] | None = None) -> Any:
    """What comes of one run."""
    return await served.graph(name, context).ainvoke(given, context=context)


def nodes(graph: Any) -> list[str]:
    return [name for name in graph.get_graph().nodes if not name.startswith("__")]


async def test_langgraph_json_names_functions_that_make_the_graphs() -> None:
    graphs = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    found = {}
    for name, place in graphs.items():
        module, _, attribute = place.partition(":")
        make = getattr(importlib.import_module(module), attribute)
        found[name] = nodes(await make({"configurable": TWO | {"thread_id": "of the server"}}))
    judges = ["judge_historian", "judge_ethicist"]
    assert found == {
        "panel": ["screen", "plan", *judges, "aggregate"],
        "reframing": ["write", "check", "repair", "review", "result"],
        "stress": ["plan", "reframing", "respond", "panel", "ctd", "agreement"],
        "prompts": ["plan", "write", "vote", "compare"],
    }


def test_a_drawing_shows_every_persona_and_the_models_on_which_it_judges(tmp_path: Path) -> None:
    drawn = served.graph("panel").get_graph().nodes
    judges = [drawn[name] for name in drawn if name.startswith("judge_")]
    assert len(judges) == 10
    assert {node.metadata["on"] for node in judges if node.metadata} == {"offline/lexical"}


def test_a_drawing_shows_what_is_inside_of_the_stress_test() -> None:
    inside = list(served.graph("stress").get_graph(xray=True).nodes)
    assert {"reframing:write", "reframing:review", "panel:screen", "panel:aggregate"} < {*inside}
    assert sum(name.startswith("panel:judge_") for name in inside) == 10


async def test_the_verdict_is_the_panels_own() -> None:
    state = await ran("panel", TEXTS | {"respondent_id": "anna"})
    verdict = state["verdict"]
    assert list(state) == ["verdict"]
    assert json.loads(json.dumps(verdict, allow_nan=False)) == verdict
    with Panel() as panel:
        own = await panel.ascore(*TEXTS.values(), respondent_id="anna")
    assert {**verdict, "judgments": None} == {**own.to_json(), "judgments": None}
    mine = [(j["persona"], j["status"], j["scores"]) for j in verdict["judgments"]]
    assert mine == [(j.persona, j.status, dict(j.scores)) for j in own.judgments]


async def test_a_stream_names_the_personas_as_they_judge() -> None:
    updates, told = [], []
    stream = served.graph("panel", TWO).astream(
        TEXTS, context=TWO, stream_mode=["updates", "custom"]
    )
    async for mode, part in stream:
        (updates if mode == "updates" else told).append(part)
    names = [name for part in updates for name in part]
    assert names[:2] == ["screen", "plan"]
    assert sorted(names[2:4]) == ["judge_ethicist", "judge_historian"]
    assert names[4:] == ["aggregate"]
    assert sorted(event["judgment"] for event in told) == [
        "ethicist|offline/lexical|0",
        "historian|offline/lexical|0",
    ]


async def test_an_empty_response_is_screened_and_nobody_is_asked() -> None:
    verdict = (await ran("panel", TEXTS | {"response_text": " "}))["verdict"]
    assert verdict["status"] == "screened"
    assert verdict["counts"]["not_asked"] == verdict["n_planned"] == 10


async def test_a_rule_has_fewer_judges_asked() -> None:
    verdict = (await ran("panel", TEXTS, {"judges_per_response": 3}))["verdict"]
    assert (verdict["n_scored"], verdict["counts"]["not_asked"]) == (3, 7)
    assert {j["reason"] for j in verdict["judgments"] if j["status"] == "not_asked"} == {
        "precision"
    }


async def test_a_run_chooses_among_the_models_of_the_servers_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ProviderServer(vote) as server:
        monkeypatch.setenv("AREOPAGUS_PANEL", str(panel_file(tmp_path, server, "a", "b")))
        both = (await ran("panel", TEXTS, TWO))["verdict"]
        one = await ran("panel", TEXTS, TWO | {"models": ["openai/b"], "mode": "holistic"})
        asked = dict(server.counts.by_model)
    assert set(both["by_model"]) == {"openai/a", "openai/b"}
    assert set(one["verdict"]["by_model"]) == {"openai/b"}
    assert list(one["verdict"]["dimensions"]) == ["overall"]
    assert asked == {"a": 2, "b": 4}  # b was asked for another form
    close_all()


def test_the_same_choice_is_the_same_panel_and_another_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = opened_panel('{"personas":["historian"]}')
    assert opened_panel('{"personas":["historian"]}') is one
    assert opened_panel('{"personas":["ethicist"]}') is not one
    (tmp_path / "panel.yaml").write_text("personas: [sociologist]\n")
    monkeypatch.setenv("AREOPAGUS_PANEL", str(tmp_path / "panel.yaml"))
    assert [p.id for p in opened_panel("{}").spec.personas] == ["sociologist"]
    (tmp_path / "panel.yaml").write_text("personas: [sociologist, historian]\n")
    assert [p.id for p in opened_panel("{}").spec.personas] == ["sociologist", "historian"]


async def test_the_cap_is_that_of_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = {"input": 1.0, "output": 1.0}
    with ProviderServer(vote) as server:
        file = panel_file(tmp_path, server, "a", prices=prices, max_tokens=1000)
        monkeypatch.setenv("AREOPAGUS_PANEL", str(file))
        free = (await ran("panel", TEXTS, TWO))["verdict"]
        capped = TWO | {"max_cost": 0.000001}
        texts = TEXTS | {"response_text": "Another answer, which is not paid yet."}
        nothing = (await ran("panel", texts, capped))["verdict"]
        close_all()
    assert free["n_scored"] == 2
    assert (nothing["n_scored"], nothing["counts"]["not_asked"]) == (0, 2)
    assert {j["reason"] for j in nothing["judgments"]} == {"budget"}


@pytest.mark.parametrize(
    ("name", "given", "context", "told"),
    [
        ("panel", {"response_text": "Because."}, None, "prompt_text: must be given"),
        ("panel", TEXTS, {"personas": ["nobody"]}, "there is no persona 'nobody'"),
        ("panel", TEXTS, {"models": ["http://x.test/v1"]}, "an address stands in the server's"),
        ("panel", TEXTS, {"personas": ["../../secret"]}, "context: personas.0"),
        ("panel", TEXTS, {"rubric": "mine.yaml"}, "context: rubric"),
        ("panel", TEXTS, {"models": ["openai/gpt-4o-mini"]}, "OPENAI_API_KEY is not set"),
        ("reframing", {"prompt_id": "p"}, None, "prompt_text: must be given"),
        ("reframing", {"prompt_text": "Why?"}, {"max_cost": -1}, "max_cost"),
        ("prompts", {}, None, "scenario_text: must be given"),
        ("stress", {"prompts": []}, None, "prompts: must be given"),
        ("stress", {"prompts": [{"prompt_text": " "}]}, None, "prompt_text"),
        ("stress", {"prompts": [{"prompt_text": "Why?"}]}, {"framings": ["rap"]}, "rap"),
    ],
)
async def test_a_fault_is_said_in_a_class_whose_text_a_server_shows(
    name: str, given: dict[str, Any], context: dict[str, Any] | None, told: str
) -> None:
    with pytest.raises(InputError, match=told) as caught:
        await ran(name, given, context)
    assert isinstance(caught.value, ValueError)


async def test_a_graph_made_for_other_personas_says_so() -> None:
    graph = served.graph("panel", TWO)
    with pytest.raises(InputError, match="judge_sociologist: it was made for other personas"):
        await graph.ainvoke(TEXTS, context={"personas": ["sociologist"]})


async def test_a_server_that_forbids_to_read_files_is_told_how_to_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LANGGRAPH_ALLOW_BLOCKING", "false")
    with pytest.raises(ValueError, match="--allow-blocking"):
        await ran("panel", TEXTS)


async def test_a_prompt_comes_back_in_every_built_in_framing() -> None:
    found = (await ran("reframing", {"prompt_text": "What do neighbours owe each other?"}))[
        "reframed"
    ]
    assert found["status"] == "accepted"
    assert tuple(found["variants"]) == BUILTIN
    assert found["rewriter"] == "offline/rewriter"
    assert found["checks"]["review"] == "not_checked"


async def test_a_run_may_choose_its_framings() -> None:
    context = {"framings": ["emotion_agree"], "rewriters": ["offline/rewriter"]}
    found = await ran("reframing", {"prompt_text": "What do neighbours owe each other?"}, context)
    assert tuple(found["reframed"]["variants"]) == ("emotion_agree",)


async def test_a_scenario_comes_back_as_prompts() -> None:
    found = await ran("prompts", {"scenario_text": "A city cuts the hours of its library."})
    (bundle,) = found["constructed"]["bundles"]
    assert bundle["generator"] == "offline/generator"
    assert bundle["prompts"]
    assert {prompt["quality"] for prompt in bundle["prompts"]} == {"not_checked"}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("panel", TEXTS),
        ("reframing", {"prompt_text": "What do neighbours owe each other?"}),
        ("prompts", {"scenario_text": "A city cuts the hours of its library."}),
    ],
)
async def test_a_run_stopped_before_every_step_ends_as_one_in_one_piece(
    name: str, given: dict[str, Any]
) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    whole = await ran(name, given)
    graph = served.graph(name, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "one"}}
    state = await graph.ainvoke(given, config, interrupt_before="*")
    steps = 0
    while (await graph.aget_state(config)).next:
        state, steps = await graph.ainvoke(None, config, interrupt_before="*"), steps + 1
    assert steps >= 3
    assert _unpaid(state) == _unpaid(whole)


def _unpaid(value: Any) -> Any:
    """The result without whether a reply was there already."""
    if isinstance(value, Mapping):
        kept = {k: v for k, v in value.items() if k not in ("attempts", "from_ledger", "latency_s")}
        return {k: _unpaid(v) for k, v in kept.items()}
    return [_unpaid(one) for one in value] if isinstance(value, list | tuple) else value


async def test_a_run_cancelled_among_its_calls_asks_again_for_none_that_was_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    with ProviderServer(vote, delay_s=0.05) as server:
        file = panel_file(tmp_path, server, "a", "b", concurrency=1)
        monkeypatch.setenv("AREOPAGUS_PANEL", str(file))
        graph = served.graph("panel", checkpointer=InMemorySaver())
        config: Any = {"configurable": {"thread_id": "one"}}
        run = asyncio.create_task(graph.ainvoke(TEXTS, config))
        await asyncio.to_thread(until, lambda: server.counts.total >= 6)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        before = await asyncio.to_thread(settled, server)
        close_all()
        held = stored(tmp_path / "ledger.sqlite")
        state = await graph.ainvoke(None, config)
        after = await asyncio.to_thread(settled, server)
        close_all()
    assert state["verdict"]["n_scored"] == 20
    assert 0 < held.total() < 20
    assert (after - before).total() == 20 - held.total()
    assert stored_twice(tmp_path / "ledger.sqlite") == 0


def test_the_pictures_in_the_docs_are_what_the_code_draws() -> None:
    path = ROOT / "docs" / "tools" / "graphs.py"
    spec = importlib.util.spec_from_file_location("docs_graphs", path)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    found = 0
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert tool.with_drawings(text) == text, f"{page}: run python docs/tools/graphs.py"
        found += text.count("<!-- drawn: ")
    assert found >= 3
