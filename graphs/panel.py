"""The panel graph: screen, Sends to judge, aggregate. One run is one response.

With a stopping rule, `plan` asks for a first block of judgments, and `aggregate` goes back to it as
long as the rule wants more; judgments that were never wanted are recorded as not asked.

The state holds ids, numbers and strings; texts, judges, limits and the ledger live in the runtime
context, which is never persisted. No checkpointer is needed: the ledger makes every call resumable,
and the judge node writes it before it returns. One can be passed in; state is JSON-like, so any
serializer holds it.

A step of a graph and a Send are slow beside the rest of a judgment. So there are few steps, and one
Send carries all judgments of one backend, which the node asks for at the same time. With a
checkpointer every judgment has its own Send, so that each is saved as it comes. Where people look
at the graph (`areopagus.served`), every persona has a node of its own, with its judgments on all
backends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from typing_extensions import TypedDict

from ..errors import AreopagusError
from ..judges.models.client import Client
from ..records.types import (
    NOT_WANTED,
    Judgment,
    Sample,
    Verdict,
    VerdictStatus,
    count_statuses,
)
from .generate import END, defect_text, merged, together
from .panel_spec import PanelRecord, PanelSpec
from .screening import without_echo
from .stopping import why_enough

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

JudgmentRow = dict[str, Any]


class PanelState(TypedDict, total=False):
    """State of one response before the panel.

    Keys of `judgments` and entries of the lists are `persona|model|repeat`. Where a rule says when
    enough have been asked, `order` holds all in the order of asking, `called` those asked so far,
    `block` the last of these, which are asked side by side.
    """

    response_id: str
    flags: list[str]
    gate: str | None
    planned: list[str]
    order: list[str]
    called: list[str]
    block: list[str]
    judgments: Annotated[dict[str, JudgmentRow], merged]
    verdict: dict[str, Any]


class JudgeTask(TypedDict):
    """What a judge node is sent: which judgments, by their keys, all of one backend."""

    judgments: list[str]


@dataclass(frozen=True, slots=True)
class PanelContext:
    """Runtime context of one run of the graph: one response before the panel."""

    sample: Sample
    panel: PanelSpec
    client: Client
    repeated_text: bool = False
    _judged: dict[str, tuple[JudgmentRow, Judgment]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def row(self, key: str, judgment: Judgment) -> JudgmentRow:
        """The judgment as the state carries it."""
        row = judgment.to_json()
        self._judged[key] = row, judgment
        return row

    def judgment(self, key: str, row: JudgmentRow) -> Judgment:
        """The judgment that a row of the state stands for.

        Rows that nobody has stored and read again need not be read here either.
        """
        heard = self._judged.get(key)
        return heard[1] if heard is not None and heard[0] is row else Judgment.from_json(row)


async def screen_node(state: PanelState, runtime: Runtime[PanelContext]) -> PanelState:
    """Flags of the response, its gate, and who is to judge it; closed at once behind a gate.

    Planned is every persona on every backend, each repeat.
    """
    context = runtime.context
    panel = context.panel
    seen = panel.screen(context.sample, repeated=context.repeated_text)
    planned = panel.planned()
    # A checkpointer may hand down what an earlier time asked in which order: it starts anew.
    plan: PanelState = {"planned": planned, "order": [], "called": [], "block": []}
    if seen.gate is not None:
        plan["judgments"] = _not_asked(context, planned, reason="screened", detail=seen.gate)
    elif panel.rule is not None:
        plan["order"] = panel.order(context.sample.response_id)
    return {"flags": list(seen.flags), "gate": seen.gate, **plan}


async def plan_node(state: PanelState, runtime: Runtime[PanelContext]) -> PanelState:
    """What the stopping rule has asked now: a first block, or one more; all where there is none."""
    called = state["called"]
    if not state["order"]:
        return {}
    block = _wanted(runtime.context, state, state["order"], called)
    return {"called": called + block, "block": block}


# The edges between nodes await nothing, and are coroutines all the same: LangGraph sends plain
# functions to a thread, which costs more than the whole node.
async def ask_all(state: PanelState) -> list[Any] | str:
    """A Send for every backend with its judgments that are open; keys travel."""
    from langgraph.types import Send

    if _is_to_be_planned(state):
        return "plan"
    by_model = _by_model(_open_keys(state))
    return [Send("judge", JudgeTask(judgments=keys)) for keys in by_model.values()] or "aggregate"


async def ask_each(state: PanelState) -> list[Any] | str:
    """The same with a Send for every judgment, for a checkpointer to save one by one."""
    from langgraph.types import Send

    if _is_to_be_planned(state):
        return "plan"
    return [Send("judge", JudgeTask(judgments=[key])) for key in _open_keys(state)] or "aggregate"


def _is_to_be_planned(state: PanelState) -> bool:
    return bool(state["order"] and not state["called"])


def _open_keys(state: PanelState) -> list[str]:
    # A checkpointer may hand down the judgments of an earlier time: what failed or was not asked
    # then is asked now, as the ledger does it.
    done = state.get("judgments", {})
    wanted = state["block"] or state["planned"]
    return [key for key in wanted if key not in done or _is_open(done[key])]


def _by_model(keys: Iterable[str]) -> dict[str, list[str]]:
    by_model: dict[str, list[str]] = {}
    for key in keys:
        by_model.setdefault(key.split("|", 2)[1], []).append(key)
    return by_model


def _is_open(judgment: JudgmentRow) -> bool:
    status, reason = judgment["status"], judgment["reason"]
    return bool(status == "failed" or (status == "not_asked" and reason != "screened"))


async def judge_node(task: JudgeTask, runtime: Runtime[PanelContext]) -> dict[str, Any]:
    """Judgments of one backend: an expected failure is a status, a defect is recorded as failed."""
    context, write = runtime.context, runtime.stream_writer
    keys = list(task["judgments"])
    rows: dict[str, JudgmentRow] = {}
    panel = context.panel
    judge, _ = panel.assignment(keys[0])
    shares = judge.goes_first(context.sample, calls=panel.calls_that_share(keys))
    while keys and (shares or len(keys) == 1):
        key = keys.pop(0)
        rows[key] = await _vote(context, key, write, shares=shares)
        if not rows[key]["from_ledger"]:
            break  # the provider has read what the others begin with
    # Side by side; where one cannot be recorded, the others are given up.
    votes = await together([_vote(context, key, write, shares=shares) for key in keys])
    return {"judgments": rows | dict(zip(keys, votes, strict=True))}


def persona_node(persona: str) -> str:
    """The name of a persona's own node."""
    return f"judge_{persona}"


async def plan_first(state: PanelState) -> str:
    """To `plan`, where anything is to be asked."""
    return "plan" if _open_keys(state) else "aggregate"


async def ask_personas(state: PanelState) -> list[str] | str:
    """The nodes of the personas that have open judgments."""
    personas = dict.fromkeys(key.partition("|")[0] for key in _open_keys(state))
    return [persona_node(persona) for persona in personas] or "aggregate"


def judge_as(persona: str) -> Callable[[PanelState, Runtime[PanelContext]], Any]:
    """The node of one persona: its open judgments on every backend, asked side by side."""

    async def judge(state: PanelState, runtime: Runtime[PanelContext]) -> dict[str, Any]:
        keys = [key for key in _open_keys(state) if key.partition("|")[0] == persona]
        tasks = [JudgeTask(judgments=found) for found in _by_model(keys).values()]
        found = await together([judge_node(task, runtime) for task in tasks])
        return {"judgments": {k: row for part in found for k, row in part["judgments"].items()}}

    return judge


async def _vote(
    context: PanelContext, key: str, write: Callable[[Any], None], *, shares: bool
) -> JudgmentRow:
    judge, repeat = context.panel.assignment(key)
    try:
        judgment = await judge.vote(context.client, context.sample, repeat=repeat, shares=shares)
    except AreopagusError:
        raise  # the ledger cannot be written: nothing more may be paid for
    except Exception as error:
        judgment = judge.judgment(
            context.sample, repeat, "failed", reason="internal", detail=defect_text(error)
        )
    if judgment.detail is not None:
        sample = context.sample
        detail = without_echo(judgment.detail, sample.prompt_text, sample.response_text)
        judgment = replace(judgment, detail=detail)
    write({"judgment": key, "status": judgment.status})
    return context.row(key, judgment)


async def aggregate_node(state: PanelState, runtime: Runtime[PanelContext]) -> PanelState:
    """The verdict on all planned judgments; none yet where the stopping rule wants more of them."""
    context = runtime.context
    panel = context.panel
    rows, closed = state["judgments"], dict[str, JudgmentRow]()
    if state["called"]:
        if _wanted(context, state, state["order"], state["called"]):
            return {"verdict": {}}
        assert panel.rule is not None  # noqa: S101 - without one nobody is called in an order
        values = _composites(context, state, state["called"])
        told = why_enough(panel.rule, len(state["planned"]), values, grain=panel.grain)
        called = frozenset(state["called"])
        rest = [key for key in state["planned"] if key not in called]
        closed = _not_asked(context, rest, reason="precision", detail=told)
        rows = rows | closed
    judgments = tuple(context.judgment(key, rows[key]) for key in state["planned"])
    verdict = aggregate(judgments, panel=panel, sample=context.sample, flags=tuple(state["flags"]))
    # The judgments are in the state already; a second copy would double it.
    return {"verdict": replace(verdict, judgments=()).to_json(), "judgments": closed}


async def more_or_end(state: PanelState) -> str:
    """Back to `plan` where there is no verdict yet."""
    return END if state["verdict"] else "plan"


def _wanted(
    context: PanelContext, state: PanelState, order: Sequence[str], called: Sequence[str]
) -> list[str]:
    """What the rule has asked next; nothing when it has enough."""
    rows = state.get("judgments", {})
    is_over = context.client.stopped or context.client.budget.closed
    if is_over and any(rows[key]["status"] == "not_asked" for key in called):
        # The cap or a stop came before the rule: what it would have wanted is not known, and
        # nothing is sent any more. Each of the rest says so itself, or is in the ledger. Where
        # others may be asked (no repair at an unknown price is), it is made up for like a failure.
        most = None if context.panel.rule is None else context.panel.rule.most
        return list(order[len(called) : most])
    return context.panel.next_calls(order, _composites(context, state, called))


def _composites(
    context: PanelContext, state: PanelState, keys: Sequence[str]
) -> list[float | None]:
    rows = state.get("judgments", {})
    return [context.judgment(key, rows[key]).composite for key in keys]


def _not_asked(
    context: PanelContext, keys: Iterable[str], *, reason: str, detail: str | None
) -> dict[str, JudgmentRow]:
    unasked = context.panel.unasked
    return {key: context.row(key, unasked(key, context.sample, reason, detail)) for key in keys}


def add_panel_nodes(
    graph: Any,
    ask: Callable[[PanelState], Any],
    judges: Mapping[str, Callable[..., Any]],
    *,
    bound: Callable[[Any], Any] = lambda node: node,
    first: Callable[[PanelState], Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Adds the nodes and edges of the panel to a graph whose state holds a `PanelState`.

    Args:
        graph: a StateGraph.
        ask: the edge that says which judges are asked, or that it is to be planned first.
        judges: node to what it does.
        bound: gives a node its `PanelContext` where the graph's own context is another.
        first: the edge after `screen`, where it never leads to a judge; else `ask`.
        metadata: what a drawing says of every judge.
    """
    names = list(judges)
    at_once = [] if first else names
    graph.add_node("screen", bound(screen_node))
    graph.add_node("plan", bound(plan_node))
    for name, judge in judges.items():
        task = {"input_schema": JudgeTask} if judge is judge_node else {}
        graph.add_node(name, bound(judge), metadata=metadata, **task)
    graph.add_node("aggregate", bound(aggregate_node))
    graph.add_edge("__start__", "screen")
    graph.add_conditional_edges("screen", first or ask, [*at_once, "plan", "aggregate"])
    graph.add_conditional_edges("plan", ask, [*names, "aggregate"])
    for name in names:
        graph.add_edge(name, "aggregate")
    graph.add_conditional_edges("aggregate", more_or_end, ["plan", END])


def build_panel_graph(checkpointer: Any = None) -> Any:
    """The compiled graph; `PanelContext` is its runtime context."""
    from langgraph.graph import StateGraph

    # Any: the overloads of add_node do not know a node whose input is a part of the state.
    graph: Any = StateGraph(PanelState, context_schema=PanelContext)
    ask = ask_all if checkpointer is None else ask_each
    add_panel_nodes(graph, ask, {"judge": judge_node})
    return graph.compile(checkpointer=checkpointer, name="panel")


@cache
def panel_graph() -> Any:
    """The graph without a checkpointer, compiled once a process."""
    return build_panel_graph()


def aggregate(
    judgments: tuple[Judgment, ...],
    *,
    panel: PanelRecord,
    sample: Sample,
    flags: Sequence[str] = (),
) -> Verdict:
    """The verdict on one response.

    Args:
        judgments: every planned judgment, in the order of the plan.
        panel: who judges.
        sample: the response.
        flags: what the screen noticed.
    """
    import numpy as np

    from ..aggregation.ensemble import aggregate_panel

    criteria = panel.criteria
    personas = list(dict.fromkeys(judgment.persona for judgment in judgments))
    models = list(dict.fromkeys(judgment.model for judgment in judgments))
    scores = np.full((1, len(judgments), len(criteria)), np.nan)
    for column, judgment in enumerate(judgments):
        if judgment.status == "scored":
            scores[0, column] = [judgment.scores[name] for name in criteria]
    counts = count_statuses(judgments)
    n_absent = sum(judgment.reason == "absent" for judgment in judgments)
    counts["not_asked"] -= n_absent  # nobody planned these
    # Judgments that the rule did not want count neither for nor against the quorum.
    n_spared = sum(judgment.reason in NOT_WANTED for judgment in judgments)
    means = aggregate_panel(
        scores,
        persona=[personas.index(judgment.persona) for judgment in judgments],
        model=[models.index(judgment.model) for judgment in judgments],
        axis=[judgment.axis for judgment in judgments],
        scale=panel.scale,
        planned=len(judgments) - n_spared,
        abstained=[counts["abstained"]],
        quorum=panel.quorum,
    )
    screened = all(judgment.reason == "screened" for judgment in judgments)
    status: VerdictStatus = "scored"
    reason: str | None = None
    if screened:
        status, reason = "screened", judgments[0].detail
    elif bool(means.inconclusive[0]):
        # Of those that were to be asked, which are not all that the panel has.
        told = str(means.reason[0])
        told = told.replace(" planned", " asked", 1) if n_spared else told
        status, reason = "inconclusive", _why(counts, told)
    costs = [judgment.cost_usd for judgment in judgments if judgment.calls]
    known = [cost for cost in costs if cost is not None]
    return Verdict(
        response_id=sample.response_id,
        prompt_id=sample.prompt_id,
        respondent_id=sample.respondent_id,
        status=status,
        reason=reason,
        composite=_number(means.composite[0]),
        dimensions=_named(criteria, means.mean[0]),
        interval=_span(means.composite_low[0], means.composite_high[0]),
        interval_method=means.interval_method[0],
        interval_reason=means.composite_interval_reason[0],
        dimension_intervals={
            name: _span(means.low[0, k], means.high[0, k]) for k, name in enumerate(criteria)
        },
        median=_number(means.composite_median[0]),
        trimmed_mean=_number(means.composite_trimmed_mean[0]),
        sd=_number(means.composite_sd[0]),
        by_persona=_named(personas, means.by_persona[0]),
        by_model=_named(models, means.by_model[0]),
        by_axis=_named(means.axes, means.by_axis[0]),
        disagreement=str(means.disagreement[0]),
        share_abstained=_number(means.share_abstained[0]),
        n_scored=counts["scored"],
        n_planned=len(judgments) - n_absent,
        counts=counts,
        flags=tuple(flags),
        unbalanced=_unbalanced(judgments, panel.quorum) if status == "scored" else (),
        cost_usd=sum(known) if len(known) == len(costs) else None,
        judgments=judgments,
    )


def _unbalanced(judgments: Sequence[Judgment], quorum: float) -> tuple[str, ...]:
    """The models that scored fewer of their judgments than the quorum demands of each."""
    wanted: dict[str, int] = {}
    scored: dict[str, int] = {}
    for judgment in judgments:
        if judgment.reason in NOT_WANTED:
            continue
        wanted[judgment.model] = wanted.get(judgment.model, 0) + 1
        scored[judgment.model] = scored.get(judgment.model, 0) + (judgment.status == "scored")
    return tuple(name for name, n in wanted.items() if scored[name] < quorum * n - 1e-9)


def _why(counts: dict[str, int], reason: str | None) -> str:
    parts = ", ".join(
        f"{number} {status.replace('_', ' ')}"
        for status, number in counts.items()
        if number and status != "scored"
    )
    return f"{reason} ({parts})" if parts else str(reason)


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _named(names: Sequence[str], values: Sequence[float]) -> dict[str, float | None]:
    return {name: _number(value) for name, value in zip(names, values, strict=True)}


def _span(low: float, high: float) -> tuple[float, float] | None:
    return (float(low), float(high)) if math.isfinite(low) and math.isfinite(high) else None
