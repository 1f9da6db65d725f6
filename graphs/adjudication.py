"""The adjudication graph: two judges apart from each other, and a third where they differ.

    start ┬→ first  ┐
          └→ second ┴→ compare ┬→ third → end
                               └→ end

One run is one question about one answer. With one judge there is only `first`, with two nobody
settles a disagreement, and it stays one. Under a cost cap the first two are asked only where both
can be paid for: half a ruling is worth nothing. Every call goes through the desk, so
the ledger makes it resumable. What can be expected to go wrong is a vote without a value, not an
exception.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal, TypedDict, get_args

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from ..errors import ProviderError
from ..judges.models.backend import LADDER, Backend
from ..judges.models.budget import BudgetSpentError, Purse
from ..judges.models.client import Answer, Desk, reserve_usd
from ..judges.models.rate_limit import StoppedError
from ..judges.structured import ask, known_format
from .adjudication_question import (
    JudgeQuestion,
    judge_request,
    read_judgment,
    repair_request,
)

Slot = Literal["first", "second", "third"]
SLOTS: tuple[Slot, ...] = get_args(Slot)

VoteStatus = Literal["read", "refused", "unreadable", "failed", "not_asked"]

RulingOutcome = Literal["single", "agreed", "adjudicated", "split", "unresolved", "not_asked"]
RULING_OUTCOMES: tuple[RulingOutcome, ...] = get_args(RulingOutcome)


@dataclass(frozen=True, slots=True)
class JudgeVote:
    """What one judge said.

    Attributes:
        slot: as whom it was asked.
        model: the backend's name.
        status: `read`; `refused` (the judge declined), `unreadable`, `failed`, `not_asked`.
        value: the object; empty unless read.
        detail: why there is none.
        calls: calls behind it, the repair included.
        cost_usd: what they cost; None = unknown.
    """

    slot: Slot
    model: str
    status: VoteStatus
    value: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""
    calls: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the judges came to.

    Attributes:
        outcome: `single` (one judge was asked), `agreed` (two said the same), `adjudicated` (the
            third decided), `split` (two differ and there is no third), `unresolved` (a vote that
            was needed could not be had), `not_asked` (budget, or interrupted).
        value: the object of the vote that decides; empty for the last three.
        votes: every vote, in the order of the slots.
        reason: why there is no value, or that one of two votes was missing.
    """

    outcome: RulingOutcome
    value: Mapping[str, Any]
    votes: tuple[JudgeVote, ...]
    reason: str = ""

    @property
    def is_decided(self) -> bool:
        """Whether there is a value."""
        return self.outcome in ("single", "agreed", "adjudicated")


@dataclass(frozen=True, slots=True)
class Hearing:
    """The runtime context of one run: texts and judges, which are never part of the state.

    Attributes:
        question: what is asked.
        judges: one to three.
        desk: where they are asked.
        purses: money that is set aside already, by slot.
    """

    question: JudgeQuestion
    judges: tuple[Backend, ...]
    desk: Desk
    purses: Mapping[Slot, Purse] = field(default_factory=dict)


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {**old, **new}


class AdjudicationState(TypedDict, total=False):
    """Votes by slot, as JSON-like values; a repeated write changes nothing."""

    votes: Annotated[dict[str, dict[str, Any]], _merged]


async def first_node(state: AdjudicationState, runtime: Runtime[Hearing]) -> AdjudicationState:
    """The first judge's vote."""
    return await _vote(runtime.context, "first")


async def second_node(state: AdjudicationState, runtime: Runtime[Hearing]) -> AdjudicationState:
    """The second judge's vote, without the first one's."""
    return await _vote(runtime.context, "second")


async def compare_node(state: AdjudicationState, runtime: Runtime[Hearing]) -> AdjudicationState:
    """Waits for both; where to go is the route's to say."""
    return {}


async def third_node(state: AdjudicationState, runtime: Runtime[Hearing]) -> AdjudicationState:
    """The third judge's vote, with the readable ones before it."""
    votes = state.get("votes", {})
    earlier = tuple(votes[slot]["value"] for slot in SLOTS[:2] if votes[slot]["status"] == "read")
    return await _vote(runtime.context, "third", earlier)


def after_start(state: AdjudicationState, runtime: Runtime[Hearing]) -> list[str]:
    """Whom to ask."""
    return list(SLOTS[: min(2, len(runtime.context.judges))])


def after_compare(state: AdjudicationState, runtime: Runtime[Hearing]) -> str:
    """To the third judge where two differ, or one of them said nothing that can be read."""
    hearing = runtime.context
    votes = [state.get("votes", {})[slot] for slot in SLOTS[: min(2, len(hearing.judges))]]
    if len(hearing.judges) < 3 or any(vote["status"] == "not_asked" for vote in votes):
        return END
    readable = [vote["value"] for vote in votes if vote["status"] == "read"]
    decided = {hearing.question.decided(value) for value in readable}
    return END if len(readable) == 2 and len(decided) == 1 else "third"


def build_adjudication_graph(checkpointer: Any = None) -> Any:
    """The compiled graph; `Hearing` is its runtime context."""
    graph: Any = StateGraph(AdjudicationState, context_schema=Hearing)
    graph.add_node("first", first_node)
    graph.add_node("second", second_node)
    graph.add_node("compare", compare_node, defer=True)
    graph.add_node("third", third_node)
    graph.add_conditional_edges(START, after_start, ["first", "second"])
    graph.add_edge("first", "compare")
    graph.add_edge("second", "compare")
    graph.add_conditional_edges("compare", after_compare, ["third", END])
    graph.add_edge("third", END)
    return graph.compile(checkpointer=checkpointer, name="adjudication")


@cache
def adjudication_graph() -> Any:
    """The graph without a checkpointer, compiled once a process."""
    return build_adjudication_graph()


async def adjudicate(desk: Desk, question: JudgeQuestion, judges: Sequence[Backend]) -> Ruling:
    """What one, two or three judges come to; expected faults are in it, and do not raise.

    Raises:
        ValueError: no judge, or more than three.
        StoreError: the ledger cannot be written: nothing more may be paid for.
    """
    if not 1 <= len(judges) <= 3:
        raise ValueError(f"one to three judges, got {len(judges)}")
    from langsmith import tracing_context

    judges = tuple(judges)
    try:
        purses = await _set_aside(desk, question, judges)
    except BudgetSpentError:
        names = zip(SLOTS, (judge.spec.name for judge in judges[:2]), strict=False)
        return ruling_of(question, [_without(*one, "not_asked", "budget", ()) for one in names])
    try:
        # Whatever the environment says, texts go to the endpoints named and nowhere else.
        with tracing_context(enabled=False):
            state = await adjudication_graph().ainvoke(
                {"votes": {}}, context=Hearing(question, judges, desk, purses)
            )
    finally:
        for purse in purses.values():
            purse.close()
    votes = tuple(JudgeVote(**state["votes"][slot]) for slot in SLOTS if slot in state["votes"])
    return ruling_of(question, votes)


async def _set_aside(
    desk: Desk, question: JudgeQuestion, judges: tuple[Backend, ...]
) -> dict[Slot, Purse]:
    """Money for the votes of the first two, where the ledger has neither and there is a cap.

    Where it is not known yet how a judge takes structured output, it is only seen to that there is
    enough: who asks then waits for the one that tries it out, and must hold nothing.

    Raises:
        BudgetSpentError: both cannot be paid for.
    """
    if desk.budget.cap is None or len(judges) < 2:
        return {}
    worst: list[float | None] = []
    is_known = True
    for slot, backend in zip(SLOTS[:2], judges, strict=False):
        rung = await known_format(desk, backend)
        is_known = is_known and rung is not None
        requests = [
            judge_request(
                question,
                backend,
                secret=desk.ledger.secret,
                rung=one,
                repeat=earlier_askings(judges, slot),
            )
            for one in ((rung,) if rung else LADDER)
        ]
        for request in requests:
            if await desk.ledger.find(request.key()) is not None:
                return {}
        worst.append(reserve_usd(backend, requests[0]))
    purses = await Purse.together(desk.budget, worst)
    if not is_known:
        for purse in purses:
            purse.close()
        return {}
    return dict(zip(SLOTS, purses, strict=False))


def ruling_of(question: JudgeQuestion, votes: Sequence[JudgeVote]) -> Ruling:
    """What these votes come to."""
    votes = tuple(votes)
    by_slot = {vote.slot: vote for vote in votes}
    unasked = next((vote for vote in votes if vote.status == "not_asked"), None)
    if unasked is not None:
        return Ruling("not_asked", {}, votes, unasked.detail)
    missing = [vote for vote in votes if vote.status != "read"]
    why = "; ".join(f"{vote.slot} judge: {vote.status} {vote.detail}".strip() for vote in missing)
    third = by_slot.get("third")
    if third is not None:
        if third.status == "read":
            return Ruling("adjudicated", third.value, votes, why)
        return Ruling("unresolved", {}, votes, why)
    if missing:
        return Ruling("unresolved", {}, votes, why)
    if len(votes) == 1:
        return Ruling("single", votes[0].value, votes)
    if question.decided(votes[0].value) == question.decided(votes[1].value):
        return Ruling("agreed", votes[0].value, votes)
    return Ruling("split", {}, votes, "the two judges differ, and no third was named")


async def _vote(
    hearing: Hearing, slot: Slot, earlier: tuple[Mapping[str, object], ...] = ()
) -> AdjudicationState:
    answers: list[Answer] = []
    vote = await _ask(hearing, slot, earlier, answers)
    hearing.desk.account.closed(vote.status, [answer.reply for answer in answers])
    return {
        "votes": {
            slot: {
                "slot": slot,
                "model": vote.model,
                "status": vote.status,
                "value": dict(vote.value),
                "detail": vote.detail,
                "calls": vote.calls,
                "cost_usd": vote.cost_usd,
            }
        }
    }


async def _ask(
    hearing: Hearing,
    slot: Slot,
    earlier: tuple[Mapping[str, object], ...],
    answers: list[Answer],
) -> JudgeVote:
    """The judge's vote; `answers` takes what came for it."""
    question, desk = hearing.question, hearing.desk
    backend = hearing.judges[SLOTS.index(slot)]
    name = backend.spec.name
    purse = hearing.purses.get(slot) or desk.purse()
    try:
        answer, request = await ask(
            desk,
            backend,
            lambda rung: judge_request(
                question,
                backend,
                secret=desk.ledger.secret,
                rung=rung,
                repeat=earlier_askings(hearing.judges, slot),
                earlier=earlier,
            ),
            purse,
        )
        answers.append(answer)
        reading = read_judgment(question, answer.reply)
        if reading.outcome == "unreadable":
            again = repair_request(question, request, answer.reply, reading.problem or "not_json")
            answer = await desk.ask(backend, again, purse)
            answers.append(answer)
            reading = read_judgment(question, answer.reply)
    except ProviderError as error:
        return _without(slot, name, "failed", error.fault, answers)
    except BudgetSpentError:
        return _without(slot, name, "not_asked", "budget", answers)
    except StoppedError:
        return _without(slot, name, "not_asked", "interrupted", answers)
    finally:
        purse.close()
    if reading.outcome != "read":
        return _without(slot, name, reading.outcome, reading.detail or "", answers)
    return JudgeVote(slot, name, "read", reading.value, "", len(answers), _cost(answers))


def earlier_askings(judges: Sequence[Backend], slot: Slot) -> int:
    """How many judges before this one are the same model behind the same endpoint.

    One model under two names would else give one stored reply to both, and agree with itself.
    """
    place = SLOTS.index(slot)
    mine = _same(judges[place])
    return sum(_same(judge) == mine for judge in judges[:place])


def _same(backend: Backend) -> tuple[str, str, str]:
    spec = backend.spec
    return spec.model, spec.api_base or "", repr(sorted(spec.parameters().items()))


def _without(
    slot: Slot, name: str, status: VoteStatus, detail: str, answers: Sequence[Answer]
) -> JudgeVote:
    return JudgeVote(slot, name, status, {}, detail, len(answers), _cost(answers))


def _cost(answers: Sequence[Answer]) -> float | None:
    total = 0.0
    for answer in answers:
        if answer.reply.cost_usd is None:
            return None
        total += answer.reply.cost_usd
    return total
