"""The generate graph: a model writes, rules check, faults are repaired once, another model reviews.

    write → check ┬→ repair (once) → check
                  └→ review ┬→ repair (once) → check → review
                            └→ end

What is written and how it is checked is a `WritingTask`: variants of a prompt, the prompts of a
scenario, the scenarios of a topic, a scene with two endings. A reply consists of parts (a variant,
a prompt); each is checked for itself, and a repair asks for the faulty ones alone. Every call goes
through the ledger, which makes a run resumable. An expected failure is a recorded outcome, not an
exception.
"""

from __future__ import annotations

import asyncio
import traceback
from abc import ABC, abstractmethod
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict, TypeVar

from ..errors import AreopagusError
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..judges.models.credentials import redact
from ..judges.structured import Completion, CompletionStatus, Question, complete

if TYPE_CHECKING:
    # LangGraph is loaded when a graph is built: tables and estimates are made without it.
    from langgraph.runtime import Runtime

Result = TypeVar("Result")

DETAIL_CHARACTERS = 300

WHOLE = ""
"""The part of a fault that concerns the whole reply: `refused`, `unreadable`, `no_reply`,
`repair_failed`, `budget`, `interrupted`, or a key that was not asked for."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What came of one question to a model, as plain values.

    Attributes:
        status: `read`; `refused` by the model or its provider, `unreadable` after one repair,
            `failed` (no reply came), `not_asked` (budget or a stop).
        value: the object; empty unless read.
        detail: why there is none.
        calls, cost_usd: of the replies behind it; None = unknown price.
        ledger_keys: of these replies.
        answered_by: the model that the last one names.
    """

    status: CompletionStatus
    value: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""
    calls: int = 0
    cost_usd: float | None = 0.0
    ledger_keys: Sequence[str] = ()
    answered_by: str | None = None

    @classmethod
    def of(cls, done: Completion[dict[str, Any]]) -> CallOutcome:
        """The outcome of a completion."""
        status, detail = done.status, ""
        if status in ("failed", "not_asked"):
            detail = done.reason or ""
            status = "refused" if detail == "content_policy" else status
        elif status != "read":
            detail = (done.detail or "")[:DETAIL_CHARACTERS]
        return cls(
            status, done.value or {}, detail, done.calls, done.cost_usd,
            [answer.key for answer in done.answers], done.answered_by,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "value": dict(self.value), "ledger_keys": list(self.ledger_keys)}


async def ask(client: Client, backend: Backend, question: Question[dict[str, Any]]) -> CallOutcome:
    """What a model answers, asked once more where its reply could not be read.

    Raises:
        StoreError: the ledger cannot be written: nothing more may be paid for.
    """
    return CallOutcome.of(await complete(client, backend, question))


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with what was written.

    Attributes:
        part: of which part, `WHOLE` for the reply as a whole.
        code: names the fault in tables and chooses what a repair says of it.
        detail: the same as a sentence; may quote what was written or a reviewer's words.
    """

    part: str
    code: str
    detail: str = ""

    def __str__(self) -> str:
        place = f"{self.part}: " if self.part else ""
        return f"{place}{self.code}" + (f" ({self.detail})" if self.detail else "")


class Checked(NamedTuple):
    """What the rules found: faults in the order of the parts, and the checks left out, with why."""

    faults: tuple[Fault, ...]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RepairRequest:
    """What a repair is asked for.

    Attributes:
        parts: to be written anew; the others stand.
        faults: what is wrong, in the order found.
        written: all parts as they stand.
        reply: the first reply, shortened.
        problem: what was wrong with its form, where nothing could be read at all.
    """

    parts: Sequence[str]
    faults: Sequence[Fault]
    written: Mapping[str, Any]
    reply: str
    problem: str | None


class WritingTask(ABC):
    """What is written, and how it is checked.

    A task that is given to a reviewer has `review` and `read_review` too.
    """

    soft: frozenset[str] = frozenset()
    """Faults worth a repair, with which a part stands where its repair brings nothing better."""

    @property
    @abstractmethod
    def parts(self) -> tuple[str, ...]:
        """Every part that is asked for, in order."""

    @abstractmethod
    def write(self, secret: bytes) -> Question[dict[str, Any]]:
        """What the writer is asked first; where it has no `repairs`, faulty parts are taken too."""

    def split(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """A reply's object as parts; the keys as they are, where each is a part."""
        return dict(reply)

    @abstractmethod
    def check(self, written: Mapping[str, Any]) -> Checked:
        """What is wrong with the parts, of which nothing is taken for granted."""

    def to_repair(self, faulty: Collection[str]) -> list[str]:
        """The parts that a repair writes anew: the faulty ones, or all where none is named."""
        return [part for part in self.parts if part in faulty] or list(self.parts)

    @abstractmethod
    def repair(self, asked: RepairRequest, secret: bytes) -> Question[dict[str, Any]]:
        """The request to write some parts anew."""

    def shown_together(self, fresh: Sequence[str], sound: Sequence[str]) -> list[str]:
        """The parts that a review of the fresh ones shows."""
        return list(fresh)

    def review(self, written: Mapping[str, Any], secret: bytes) -> Question[dict[str, Any]]:
        """What the reviewer is asked about these parts."""
        raise NotImplementedError

    def read_review(
        self, value: Mapping[str, Any], shown: Sequence[str], fresh: Sequence[str]
    ) -> list[Fault]:
        """The faults that a review names: of the fresh parts, or between parts."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Generation:
    """Runtime context of one run of the graph: what is written, who writes and who reviews.

    Without a reviewer nothing is reviewed.
    """

    task: WritingTask
    client: Client
    writer: Backend
    reviewer: Backend | None = None


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Reducer of a state's mappings: a repeated write changes nothing."""
    return {**old, **new}


class GenerateState(TypedDict, total=False):
    """State of one run, as JSON-like values; what the writer was shown is not in it.

    `written` holds the parts as they stand, unchecked; it is absent where nothing could be read.
    `faults` are those that the rules found in them, `whole` those of the reply. `reply` is the
    first one, shortened, `response_format` how it was asked for, `problem` what was wrong with its
    form. `repaired` holds the faults that the repair was asked for, `passed` the parts that passed
    a review. `ended` is set where there is nothing more to do.
    """

    written: dict[str, Any]
    faults: list[dict[str, str]]
    skipped: list[str]
    whole: list[dict[str, str]]
    reply: str
    response_format: Any
    problem: str | None
    repaired: list[dict[str, str]]
    review: dict[str, Any]
    passed: list[str]
    ended: CompletionStatus | None
    calls: Annotated[dict[str, dict[str, Any]], merged]


@dataclass(frozen=True, slots=True)
class Generated:
    """What came of a run.

    Attributes:
        status: `read`: something was written, with or without faults; else why there is nothing.
        written: the parts as they stand; None where nothing could be read.
        faults: what the rules found in them.
        whole: faults of the reply as a whole.
        skipped: checks left out.
        is_repaired: whether a second ask was made; `repaired` names the faults it was made for.
        review: `outcome` (`passed`, `failed`, `not_checked`), `why` not, and its `faults`; None
            where there was none.
        calls: `write`, `repair`, `review` and `second review` to what came of them.
    """

    status: CompletionStatus
    written: Mapping[str, Any] | None
    faults: tuple[Fault, ...]
    whole: tuple[Fault, ...]
    skipped: tuple[str, ...]
    is_repaired: bool
    repaired: tuple[Fault, ...]
    review: Mapping[str, Any] | None
    calls: Mapping[str, CallOutcome]

    @classmethod
    def of(cls, state: GenerateState) -> Generated:
        """What a state stands for."""
        review = state.get("review")
        return cls(
            status=state.get("ended") or ("unreadable" if state.get("problem") else "read"),
            written=state.get("written"),
            faults=_faults(state.get("faults")),
            whole=_faults(state.get("whole")),
            skipped=tuple(state.get("skipped", ())),
            is_repaired="repaired" in state,
            repaired=_faults(state.get("repaired")),
            review={**review, "faults": _faults(review["faults"])} if review else None,
            calls={name: CallOutcome(**call) for name, call in state.get("calls", {}).items()},
        )

    @property
    def n_calls(self) -> int:
        """Replies this rests on."""
        return sum(call.calls for call in self.calls.values())

    @property
    def cost_usd(self) -> float | None:
        """What they cost when they were paid; None where a price is unknown."""
        return sum_of(*(call.cost_usd for call in self.calls.values()))

    @property
    def ledger_keys(self) -> tuple[str, ...]:
        """Their keys, in the order asked."""
        return tuple(key for call in self.calls.values() for key in call.ledger_keys)

    @property
    def answered_by(self) -> str | None:
        """The model that says it wrote."""
        return self.calls["write"].answered_by if "write" in self.calls else None


async def write_node(state: GenerateState, runtime: Runtime[Generation]) -> GenerateState:
    """The first reply in its parts, or why there is none."""
    work = runtime.context
    runtime.stream_writer({"stage": "write"})
    question = work.task.write(work.client.ledger.secret)
    done = await complete(work.client, work.writer, question)
    call = CallOutcome.of(done)
    found: GenerateState = {"calls": {"write": call.to_json()}}
    if done.status in ("failed", "not_asked", "refused"):
        return {**found, "ended": call.status, "whole": [_why(done)]}
    if done.status == "read" or (done.faults and not question.repairs):
        found["written"] = work.task.split(done.found)
    elif question.repairs:  # it has been asked for once more already
        return {**found, "ended": call.status, "whole": [_why(done)]}
    else:
        found |= {"problem": done.reason, "whole": [_why(done)]}
    found["reply"] = done.text[: question.echo_characters]
    found["response_format"] = done.response_format
    return found


async def check_node(state: GenerateState, runtime: Runtime[Generation]) -> GenerateState:
    """What the rules find in the parts as they stand now."""
    if state.get("ended") or "written" not in state:
        return {"faults": [], "skipped": []}
    checked = runtime.context.task.check(state["written"])
    return {"faults": _plain(checked.faults), "skipped": list(checked.skipped)}


async def repair_node(state: GenerateState, runtime: Runtime[Generation]) -> GenerateState:
    """The faulty parts written anew; the others stand as they were."""
    work, problem = runtime.context, state.get("problem")
    faults = _faults(state.get("faults")) + _faults(state.get("review", {}).get("faults"))
    wanted = work.task.to_repair({fault.part for fault in faults})
    runtime.stream_writer({"stage": "repair"})
    before = state.get("written", {})
    request = RepairRequest(wanted, faults, before, state.get("reply", ""), problem)
    question = work.task.repair(request, work.client.ledger.secret)
    form = state.get("response_format")
    done = await complete(work.client, work.writer, question, response_format=form)
    call = CallOutcome.of(done)
    found: GenerateState = {
        "repaired": _plain(faults) or state.get("whole", []),
        "calls": {"repair": call.to_json()},
    }
    if done.status == "not_asked" or (done.status == "refused" and problem):
        return {**found, "ended": call.status, "whole": [_why(done)]}
    if done.status != "read" and (not done.faults or question.repairs):
        failed = Fault(WHOLE, "repair_failed", _sentence(done))
        return {**found, "whole": [*state.get("whole", []), *_plain([failed])]}
    written = _mended(work.task, before, faults, wanted, done.found)
    return {
        **found,
        "written": written,
        "problem": None,
        "whole": [],
        "passed": [
            part for part in state.get("passed", []) if written.get(part) == before.get(part)
        ],
        "review": {},
    }


def _mended(
    task: WritingTask,
    before: Mapping[str, Any],
    faults: Sequence[Fault],
    wanted: Sequence[str],
    reply: Mapping[str, Any],
) -> dict[str, Any]:
    """The parts after a repair that could be read.

    Of those that were not to be written anew the first text stands: it has been found good. One
    that was, and that the repair left out, is missing, unless its faults are soft ones.
    """
    hard = {fault.part for fault in faults if fault.code not in task.soft}
    soft = {fault.part for fault in faults} - hard
    kept = {
        part: text
        for part, text in before.items()
        if part in task.parts and not (part in wanted and part in hard)
    }
    new = {
        part: text
        for part, text in task.split(reply).items()
        if part in wanted or part not in task.parts
    }
    after = {**kept, **new}
    spoilt = {fault.part for fault in task.check(after).faults if fault.code not in task.soft}
    return after | {part: kept[part] for part in kept if part in soft and part in spoilt}


async def review_node(state: GenerateState, runtime: Runtime[Generation]) -> GenerateState:
    """The reviewer's word on what passed the checks and has not passed a review yet.

    A provider's failure is a review that was not made.
    """
    work, written = runtime.context, state.get("written", {})
    assert work.reviewer is not None  # noqa: S101 - the route leads here with one alone
    fresh = _to_review(state, work.task)
    shown = work.task.shown_together(fresh, _sound(state, work.task))
    runtime.stream_writer({"stage": "review"})
    question = work.task.review({part: written[part] for part in shown}, work.client.ledger.secret)
    done = await complete(work.client, work.reviewer, question)
    name = "second review" if "review" in state.get("calls", {}) else "review"
    found: GenerateState = {"calls": {name: CallOutcome.of(done).to_json()}}
    if done.status == "not_asked":
        return {**found, "ended": "not_asked", "whole": [_why(done)]}
    if done.value is None:
        why = done.reason if done.status == "failed" else done.status
        return {**found, "review": {"outcome": "not_checked", "why": why or "", "faults": []}}
    faults = work.task.read_review(done.value, shown, fresh)
    at_fault = {fault.part for fault in faults}
    known = [part for part in state.get("passed", []) if part not in shown]
    outcome = "failed" if faults else "passed"
    return {
        **found,
        "review": {"outcome": outcome, "why": "", "faults": _plain(faults)},
        "passed": known + [part for part in shown if part not in at_fault],
    }


_END = "__end__"  # as LangGraph calls it


# LangGraph resolves the type hints of a route, and `Runtime` is not imported here.
def after_check(state: GenerateState, runtime: Any) -> str:
    """Where to go once the checks are done."""
    work = runtime.context
    if state.get("ended"):
        return _END
    if (state.get("problem") or state.get("faults")) and "repaired" not in state:
        return "repair"
    if state.get("problem") or work.reviewer is None or state.get("review"):
        return _END  # a review that is still there is of these very texts: no repair came
    return "review" if _to_review(state, work.task) else _END


def after_review(state: GenerateState) -> str:
    """Where to go once the review is there."""
    if state.get("ended") or "repaired" in state:
        return _END
    return "repair" if state["review"]["outcome"] == "failed" else _END


def build_generate_graph(checkpointer: Any = None, *, name: str = "generate") -> Any:
    """The compiled graph; `Generation` is its runtime context."""
    from langgraph.graph import END, START, StateGraph

    graph: Any = StateGraph(GenerateState, context_schema=Generation)
    graph.add_node("write", write_node)
    graph.add_node("check", check_node)
    graph.add_node("repair", repair_node)
    graph.add_node("review", review_node)
    graph.add_edge(START, "write")
    graph.add_edge("write", "check")
    graph.add_conditional_edges("check", after_check, ["repair", "review", END])
    graph.add_edge("repair", "check")
    graph.add_conditional_edges("review", after_review, ["repair", END])
    return graph.compile(checkpointer=checkpointer, name=name)


@cache
def generate_graph() -> Any:
    """The graph without a checkpointer, compiled once a process."""
    return build_generate_graph()


async def generate(work: Generation, graph: Any = None) -> GenerateState:
    """The state in which a run ends; `Generated.of` reads it. Expected faults are in it, and so is
    a defect of this program: what is written beside it stands.

    Args:
        work: what is written, by whom.
        graph: the compiled graph, where it is a part of another one.

    Raises:
        AreopagusError: the ledger cannot be written: nothing more may be paid for.
    """
    try:
        state: GenerateState = await run_graph(graph or generate_graph(), {}, work)
    except AreopagusError:
        raise
    except Exception as error:
        told = f"internal: {defect_text(error)}"
        call = CallOutcome("failed", detail=told[:DETAIL_CHARACTERS], cost_usd=None)
        return {
            "ended": "failed",
            "whole": _plain([Fault(WHOLE, "no_reply", told)]),
            "calls": {"write": call.to_json()},
        }
    return state


def independent(judges: Iterable[Backend], writers: Iterable[Backend]) -> list[Backend]:
    """The judges that are another model than all writers, one a model; stand-ins left out.

    Two backends of one model are not independent: it would judge what it wrote under another name.
    """
    taken = {writer.spec.model for writer in writers}
    found: dict[str, Backend] = {}
    for judge in judges:
        if judge.spec.model not in taken and not judge.spec.is_offline:
            found.setdefault(judge.spec.model, judge)
    return list(found.values())


def defect_text(error: Exception) -> str:
    """A defect of this program in a sentence, without keys: what was raised, and where."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" ({last[0].name}, line {last[0].lineno})" if last else ""
    return redact(f"{type(error).__name__}: {error}{place}")


def sum_of(*costs: float | None) -> float | None:
    """The sum in US dollars; None where one is unknown."""
    return None if None in costs else sum(cost or 0.0 for cost in costs)


async def together(work: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """All results in order; where one raises, the others are cancelled and it is raised."""
    tasks = [asyncio.ensure_future(item) for item in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def run_graph(graph: Any, start: Mapping[str, Any], context: object) -> Any:
    """The state in which a run of a compiled graph ends.

    Whatever the environment says of tracing, texts go to the endpoints named and nowhere else.
    """
    from langsmith import tracing_context

    with tracing_context(enabled=False):
        return await graph.ainvoke(start, context=context)


def _sound(state: GenerateState, task: WritingTask) -> list[str]:
    faulty = {fault["part"] for fault in state.get("faults", [])}
    return [part for part in task.parts if part in state["written"] and part not in faulty]


def _to_review(state: GenerateState, task: WritingTask) -> list[str]:
    passed = set(state.get("passed", []))
    return [part for part in _sound(state, task) if part not in passed]


def _why(done: Completion[Any]) -> dict[str, str]:
    """Why a call brought nothing, as a fault of the whole reply."""
    if done.status == "failed":
        fault = Fault(WHOLE, "no_reply", _sentence(done))
    elif done.status == "not_asked":
        fault = Fault(WHOLE, done.reason or "budget", done.detail or "")
    elif done.status == "refused":
        fault = Fault(WHOLE, "refused", done.detail or "")
    else:
        fault = Fault(WHOLE, "unreadable", _sentence(done))
    return asdict(fault)


def _sentence(done: Completion[Any]) -> str:
    return f"{done.reason}: {done.detail or ''}"


def _plain(faults: Iterable[Fault]) -> list[dict[str, str]]:
    return [asdict(fault) for fault in faults]


def _faults(plain: Iterable[Mapping[str, str]] | None) -> tuple[Fault, ...]:
    return tuple(Fault(**fault) for fault in plain or ())
