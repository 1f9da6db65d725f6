"""The panel graph: screen, convene, one Send a judgment, judge, aggregate.

No checkpointer is needed: the ledger makes every call resumable, and the judge node writes it
before it returns. One can be passed in; state is JSON-like, so any serializer holds it.
"""

from __future__ import annotations

import traceback
from dataclasses import replace
from functools import cache
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from ..errors import AreopagusError
from ..judges.faults import redact
from ..records.judgment import Judgment
from .deliberation import deliberate
from .echo import without_echo
from .screen import screen
from .state import JudgeTask, JudgmentRow, PanelState, Sitting


async def screen_node(state: PanelState, runtime: Runtime[Sitting]) -> PanelState:
    """Flags of the response, and the gate that keeps it from the panel, if one does."""
    sitting = runtime.context
    seen = screen(
        sitting.matter.response,
        repeated=sitting.repeated_text,
        most_characters=sitting.bench.most_characters,
    )
    return {"flags": list(seen.flags), "gate": seen.gate}


async def convene_node(state: PanelState, runtime: Runtime[Sitting]) -> PanelState:
    """The plan: every persona on every backend, each repeat; closed at once behind a gate."""
    sitting = runtime.context
    planned = sitting.bench.planned()
    gate = state.get("gate")
    if gate is None:
        return {"planned": planned}
    closed = {}
    for key in planned:
        judge, repeat = sitting.bench.seat(key)
        judgment = judge.not_asked(
            sitting.bench.brief, sitting.matter, repeat=repeat, reason="screened", detail=gate
        )
        closed[key] = judgment.to_json()
    return {"planned": planned, "judgments": closed}


def ask_all(state: PanelState) -> list[Send] | str:
    """One Send for every planned judgment that is still open; only its key travels."""
    # A checkpointer may hand down the judgments of an earlier time: what failed or was not asked
    # then is asked now, as the ledger does it.
    done = state.get("judgments", {})
    open_keys = [key for key in state["planned"] if key not in done or _is_open(done[key])]
    return [Send("judge", JudgeTask(judgment=key)) for key in open_keys] or "aggregate"


async def judge_node(task: JudgeTask, runtime: Runtime[Sitting]) -> dict[str, Any]:
    """One vote. What can be expected comes back as a status; a defect is recorded as failed."""
    sitting = runtime.context
    key = task["judgment"]
    judge, repeat = sitting.bench.seat(key)
    try:
        judgment = await judge.vote(
            sitting.desk, sitting.bench.brief, sitting.matter, repeat=repeat
        )
    except AreopagusError:
        raise  # the ledger cannot be written: nothing more may be paid for
    except Exception as error:
        judgment = _defect(sitting, key, error)
    if judgment.detail is not None:
        matter = sitting.matter
        detail = without_echo(judgment.detail, matter.prompt, matter.response)
        judgment = replace(judgment, detail=detail)
    runtime.stream_writer({"judgment": key, "status": judgment.status})
    return {"judgments": {key: judgment.to_json()}}


async def aggregate_node(state: PanelState, runtime: Runtime[Sitting]) -> PanelState:
    """The verdict on all planned judgments."""
    sitting = runtime.context
    rows = state["judgments"]
    judgments = tuple(Judgment.from_json(rows[key]) for key in state["planned"])
    verdict = deliberate(
        judgments, bench=sitting.bench, matter=sitting.matter, flags=tuple(state["flags"])
    )
    plain = verdict.to_json()
    # They are in the state already; a second copy would double it.
    plain["judgments"] = []
    return {"verdict": plain}


def build_panel_graph(checkpointer: Any = None) -> Any:
    """The compiled graph; `Sitting` is its runtime context."""
    # Any: the overloads of add_node do not know a node whose input is a part of the state.
    graph: Any = StateGraph(PanelState, context_schema=Sitting)
    graph.add_node("screen", screen_node)
    graph.add_node("convene", convene_node)
    graph.add_node("judge", judge_node, input_schema=JudgeTask)
    graph.add_node("aggregate", aggregate_node, defer=True)
    graph.add_edge(START, "screen")
    graph.add_edge("screen", "convene")
    graph.add_conditional_edges("convene", ask_all, ["judge", "aggregate"])
    graph.add_edge("judge", "aggregate")
    graph.add_edge("aggregate", END)
    return graph.compile(checkpointer=checkpointer, name="panel")


@cache
def panel_graph() -> Any:
    """The graph without a checkpointer, compiled once a process."""
    return build_panel_graph()


def _is_open(judgment: JudgmentRow) -> bool:
    status, reason = judgment["status"], judgment["reason"]
    return bool(status == "failed" or (status == "not_asked" and reason != "screened"))


def _defect(sitting: Sitting, key: str, error: Exception) -> Judgment:
    judge, repeat = sitting.bench.seat(key)
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" ({last[0].name}, line {last[0].lineno})" if last else ""
    blank = judge.not_asked(sitting.bench.brief, sitting.matter, repeat=repeat, reason="")
    return replace(
        blank,
        status="failed",
        reason="internal",
        detail=redact(f"{type(error).__name__}: {error}{place}"),
    )
