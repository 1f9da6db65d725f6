"""The graphs under `langgraph dev`, through LangGraph's own client, and a kill with its SQLite."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from after_a_kill import settled, stored, stored_twice
from processes import until
from tools import needs

from areopagus.testing import ProviderServer, ServedReply, ServedRequest
from areopagus.testing.provider import reserved_port

needs("langgraph", "langgraph_cli")
needs("langgraph", "langgraph_api")
needs("langgraph", "langgraph.checkpoint.sqlite")

from langgraph_sdk import get_client  # noqa: E402

TEXTS = {
    "prompt_text": "What does a city owe to its poorest?",
    "response_text": "Duty means what we owe. For example, 40% of rents rose in 2019.",
}
PROMPTS = [
    {"prompt_id": "poor", "prompt_text": "What does a city owe to its poorest?"},
    {"prompt_id": "cars", "prompt_text": "Should a city close its centre to cars?"},
]


def environment(home: Path) -> dict[str, str]:
    """Nothing is sent anywhere, and no key is there."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LANG", "AREOPAGUS_PANEL"))}
    return kept | {"AREOPAGUS_HOME": str(home), "LANGGRAPH_CLI_NO_ANALYTICS": "1"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a development server with the project's own langgraph.json."""
    folder = tmp_path_factory.mktemp("served")
    graphs = json.loads((Path(__file__).parents[2] / "langgraph.json").read_text())["graphs"]
    # Without the project as a dependency: the package is installed here.
    (folder / "nothing").mkdir()
    config = {"dependencies": ["./nothing"], "graphs": graphs}
    (folder / "langgraph.json").write_text(json.dumps(config))
    with reserved_port() as port:
        command = [
            sys.executable, "-m", "langgraph_cli", "dev", "--allow-blocking", "--no-browser",
            "--no-reload", "--host", "127.0.0.1", "--port", str(port),
        ]  # fmt: skip
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=folder, env=environment(folder / "home"), stdout=log, stderr=log
            )
        try:
            until(lambda: process.poll() is not None or _answers(port), limit_s=120)
            assert process.poll() is None, (folder / "log").read_text()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def _answers(port: int) -> bool:
    import httpx

    try:
        return httpx.get(f"http://127.0.0.1:{port}/ok").is_success
    except httpx.HTTPError:
        return False


@pytest.fixture
def client(server: str) -> Any:
    return get_client(url=server)


async def test_the_server_draws_every_persona_and_says_what_a_run_may_choose(client: Any) -> None:
    found = {one["graph_id"]: one["assistant_id"] for one in await client.assistants.search()}
    assert set(found) == {"panel", "reframing", "stress", "prompts"}
    drawn = await client.assistants.get_graph(found["panel"])
    judges = [node for node in drawn["nodes"] if node["id"].startswith("judge_")]
    assert len(judges) == 10
    assert {node["metadata"]["on"] for node in judges} == {"offline/lexical"}
    inside = await client.assistants.get_graph(found["stress"], xray=True)
    names = {node["id"] for node in inside["nodes"]}
    assert {"reframing:review", "respond", "panel:judge_historian", "ctd", "agreement"} < names
    for name, given in (("panel", "response_text"), ("stress", "prompts")):
        schemas = await client.assistants.get_schemas(found[name])
        assert given in schemas["input_schema"]["properties"]
        chosen = schemas["context_schema"]["properties"]
        assert {"models", "personas", "rubric", "max_cost"} <= set(chosen)
        assert all("description" in one for one in chosen.values())


async def test_an_assistant_has_the_panel_of_its_context(client: Any) -> None:
    context = {"personas": ["historian", "ethicist"], "mode": "holistic"}
    assistant = await client.assistants.create("panel", context=context)
    drawn = await client.assistants.get_graph(assistant["assistant_id"])
    judges = [node["id"] for node in drawn["nodes"] if node["id"].startswith("judge_")]
    assert judges == ["judge_historian", "judge_ethicist"]
    state = await client.runs.wait(None, assistant["assistant_id"], input=TEXTS)
    assert set(state["verdict"]["by_persona"]) == {"historian", "ethicist"}
    assert list(state["verdict"]["dimensions"]) == ["overall"]


async def test_a_run_streams_its_judges_and_its_thread_holds_the_verdict(client: Any) -> None:
    thread = await client.threads.create()
    seen: Counter[str] = Counter()
    stream = client.runs.stream(
        thread["thread_id"], "panel", input=TEXTS, stream_mode=["updates", "custom"],
        context={"personas": ["historian", "ethicist"]},
    )  # fmt: skip
    async for part in stream:
        if part.event == "updates":
            seen.update(list(part.data))
        elif part.event == "custom":
            seen[part.data["judgment"]] += 1
    assert seen == dict.fromkeys(
        (
            "screen", "plan", "judge_historian", "judge_ethicist", "aggregate",
            "historian|offline/lexical|0", "ethicist|offline/lexical|0",
        ),
        1,
    )  # fmt: skip
    state = await client.threads.get_state(thread["thread_id"])
    assert state["next"] == []
    assert state["values"]["verdict"]["n_scored"] == 2
    history = await client.threads.get_history(thread["thread_id"])
    assert len(history) == 6  # input, its channels, and the four steps


async def test_a_stress_test_runs_through_its_subgraphs(client: Any) -> None:
    thread = await client.threads.create()
    seen: Counter[str] = Counter()
    stream = client.runs.stream(
        thread["thread_id"], "stress", input={"prompts": PROMPTS}, stream_mode="updates",
        stream_subgraphs=True, context={"personas": ["historian", "ethicist"]},
    )  # fmt: skip
    async for part in stream:
        assert part.event != "error", part.data
        if part.event.startswith("updates"):
            within = part.event.partition("|")[2].partition(":")[0]
            seen.update(f"{within}/{name}" for name in part.data)
    assert seen["/plan"] == seen["/respond"] == seen["/ctd"] == 1
    assert seen["reframing/write"] == seen["reframing/check"] == 2
    assert seen["panel/judge_historian"] == seen["panel/judge_ethicist"] == 10
    state = await client.threads.get_state(thread["thread_id"])
    ctd = state["values"]["ctd"]
    assert ctd["headline"]
    assert ctd["demonstration"] is True
    assert any(row["table"] == "degradation" for row in ctd["estimates"])


@pytest.mark.parametrize(
    ("graph", "given", "key"),
    [
        ("reframing", {"prompt_text": "What is owed?"}, "reframed"),
        ("prompts", {"scenario_text": "A city cuts the hours of its library."}, "constructed"),
    ],
)
async def test_the_other_graphs_answer_too(
    client: Any, graph: str, given: dict[str, str], key: str
) -> None:
    thread = await client.threads.create()
    state = await client.runs.wait(thread["thread_id"], graph, input=given)
    assert state[key]


@pytest.mark.parametrize(
    ("context", "told"),
    [
        ({"personas": ["nobody"]}, "there is no persona 'nobody'"),
        ({"models": ["http://x.test/v1"]}, "an address stands in the server's panel.yaml"),
        ({"models": ["openai/gpt-4o-mini"]}, "OPENAI_API_KEY is not set"),
        ({"max_cost": -1}, "max_cost"),
    ],
)
async def test_a_client_reads_what_is_wrong_with_its_context(
    client: Any, context: dict[str, Any], told: str
) -> None:
    found = await client.runs.wait(None, "panel", input=TEXTS, context=context, raise_error=False)
    assert told in found["__error__"]["message"]


PROGRAM = """
import asyncio, json, sys
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from areopagus import served

async def main(given):
    context = {"personas": ["historian", "ethicist", "sociologist"],
               "targets": ["offline/respondent"], "rewriters": ["offline/rewriter"]}
    async with AsyncSqliteSaver.from_conn_string("threads.sqlite") as saver:
        graph = served.graph("stress", context, checkpointer=saver)
        config = {"configurable": {"thread_id": "one"}}
        state = await graph.ainvoke(given, config, context=context)
        print(json.dumps([row for row in state["ctd"]["estimates"] if row["table"] == "level"]))

asyncio.run(main(json.loads(sys.argv[1])))
"""


def scored(request: ServedRequest) -> ServedReply:
    """A score that the texts decide."""
    asked = (request.schema or {})["properties"]
    score = 1 + len(request.text_of("user")) % 10
    return ServedReply(
        json.dumps(
            {k: False if one.get("type") == "boolean" else score for k, one in asked.items()}
        )
    )


def test_killed_among_its_judges_it_goes_on_and_asks_for_nothing_that_was_stored(
    tmp_path: Path,
) -> None:
    def started(given: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", PROGRAM, json.dumps(given)]
        return subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE,
            env=environment(tmp_path) | {"AREOPAGUS_PANEL": "panel.yaml"},
        )  # fmt: skip

    with ProviderServer(scored, delay_s=0.05) as provider:
        model = {"model": "openai/judge", "api_base": provider.openai_base, "concurrency": 2}
        (tmp_path / "panel.yaml").write_text(json.dumps({"models": [model]}))
        process = started({"prompts": PROMPTS})
        until(lambda: provider.counts.total >= 12 or process.poll() is not None)
        assert process.poll() is None
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        before, held = settled(provider), stored(tmp_path / "ledger.sqlite")
        told, _ = started(None).communicate(timeout=180)
        after = settled(provider)
    planned = stored(tmp_path / "ledger.sqlite")["judge"]
    assert 0 < held["judge"] < 3 * 5 * len(PROMPTS) <= planned  # and it reviews variants
    assert (after - before)["judge"] == planned - held["judge"]
    assert stored_twice(tmp_path / "ledger.sqlite") == 0
    assert len(json.loads(told)) > 0
