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
import hashlib
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, TypeVar

from ..errors import AreopagusError
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..judges.models.credentials import redact
from ..judges.models.request import ResponseFormat
from ..judges.structured import Completion, CompletionStatus, Question, complete

if TYPE_CHECKING:
    # LangGraph is loaded when the graph is built: tables and estimates are made without it.
    from langgraph.runtime import Runtime

Result = TypeVar("Result")

DETAIL_CHARACTERS = 300

WHOLE = ""
"""The part of a fault that concerns the whole reply: `refused`, `unreadable`, `no_reply`,
`repair_failed`, `budget`, `interrupted`, or a key that was not asked for."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What came of one question to a model, in short.

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
    ledger_keys: tuple[str, ...] = ()
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
            tuple(answer.key for answer in done.answers), done.answered_by,
        )  # fmt: skip


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


class Checked(NamedTuple):
    """What the rules found: faults in the order of the parts, and the checks left out, with why."""

    faults: tuple[Fault, ...]
    skipped: tuple[str, ...] = ()


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
    def repair(
        self, parts: Sequence[str], faults: Sequence[Fault], before: Generated, secret: bytes
    ) -> Question[dict[str, Any]]:
        """The request to write some parts anew.

        Args:
            parts: which; the others stand.
            faults: what is wrong, in the order found.
            before: how it stands.
            secret: the ledger's, for the markers.
        """

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


ReviewOutcome = Literal["passed", "failed", "not_checked"]


@dataclass(frozen=True, slots=True)
class Review:
    """What a reviewer said of the parts that it was shown.

    Attributes:
        outcome: `not_checked` where nothing that can be read came.
        why: it was not checked; else "".
        faults: what it named.
    """

    outcome: ReviewOutcome
    why: str = ""
    faults: tuple[Fault, ...] = ()


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Reducer of a state's mappings: a repeated write changes nothing."""
    return {**old, **new}


@dataclass(frozen=True, slots=True)
class Generated:
    """What has come of a run: the graph's state on the way, and what it ends in.

    Attributes:
        written: the parts as they stand; None where nothing could be read.
        faults: what the rules found in them.
        skipped: checks left out.
        whole: faults of the reply as a whole.
        ended: why there is nothing more to do, before the end of the graph.
        reply: the first one, shortened; `response_format` is how it was asked for, `problem` what
            was wrong with its form.
        repaired: the faults that the second ask was made for; None where there was none.
        review: of these very parts; None where there was none, or a repair came after it.
        passed: parts that passed a review.
        calls: `write`, `repair`, `review` and `second review` to what came of them.
    """

    written: Mapping[str, Any] | None = None
    faults: tuple[Fault, ...] = ()
    skipped: tuple[str, ...] = ()
    whole: tuple[Fault, ...] = ()
    ended: CompletionStatus | None = None
    reply: str = ""
    response_format: ResponseFormat | None = None
    problem: str | None = None
    repaired: tuple[Fault, ...] | None = None
    review: Review | None = None
    passed: frozenset[str] = frozenset()
    calls: Annotated[dict[str, CallOutcome], merged] = field(default_factory=dict)

    @property
    def status(self) -> CompletionStatus:
        """`read`: something was written, with or without faults; else why there is nothing."""
        return self.ended or ("unreadable" if self.problem else "read")

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

    def to_review(self, task: WritingTask) -> list[str]:
        """The parts without fault that have not passed a review yet."""
        return [part for part in self.sound(task) if part not in self.passed]

    def sound(self, task: WritingTask) -> list[str]:
        """The parts in which the rules found no fault."""
        faulty = {fault.part for fault in self.faults}
        return [part for part in task.parts if part in (self.written or {}) and part not in faulty]


Change = dict[str, Any]
"""What a node changes in the state, by field."""


async def write_node(state: Generated, runtime: Runtime[Generation]) -> Change:
    """The first reply in its parts, or why there is none."""
    work = runtime.context
    question = work.task.write(work.client.ledger.secret)
    done = await complete(work.client, work.writer, question)
    change: Change = {"calls": {"write": CallOutcome.of(done)}}
    is_usable = done.status == "read" or (done.faults and not question.repairs)
    # What is unreadable after a repair of its form has been asked for twice already.
    if done.status in ("failed", "not_asked", "refused") or (question.repairs and not is_usable):
        return {**change, **_end(done)}
    if is_usable:
        change["written"] = work.task.split(done.found)
    else:
        change |= {"problem": done.reason, "whole": (_why(done),)}
    reply = done.text[: question.echo_characters]
    return {**change, "reply": reply, "response_format": done.response_format}


async def check_node(state: Generated, runtime: Runtime[Generation]) -> Change:
    """What the rules find in the parts as they stand now."""
    if state.ended or state.written is None:
        return {"faults": (), "skipped": ()}
    return runtime.context.task.check(state.written)._asdict()


async def repair_node(state: Generated, runtime: Runtime[Generation]) -> Change:
    """The faulty parts written anew; the others stand as they were."""
    work, before = runtime.context, state.written or {}
    # Not `+`: out of a checkpoint a tuple comes back as a list.
    faults = (*state.faults, *(state.review.faults if state.review else ()))
    wanted = work.task.to_repair({fault.part for fault in faults})
    question = work.task.repair(wanted, faults, state, work.client.ledger.secret)
    form = state.response_format
    done = await complete(work.client, work.writer, question, response_format=form)
    change: Change = {
        "repaired": faults or state.whole,
        "calls": {"repair": CallOutcome.of(done)},
    }
    if done.status == "not_asked" or (done.status == "refused" and state.problem):
        return {**change, **_end(done)}
    if done.status != "read" and (not done.faults or question.repairs):
        return {**change, "whole": (*state.whole, Fault(WHOLE, "repair_failed", _sentence(done)))}
    written = _mended(work.task, before, faults, wanted, done.found)
    kept = {part for part in state.passed if written.get(part) == before.get(part)}
    anew: Change = {"problem": None, "whole": (), "review": None}
    return {**change, **anew, "written": written, "passed": frozenset(kept)}


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


async def review_node(state: Generated, runtime: Runtime[Generation]) -> Change:
    """The reviewer's word on what passed the checks and has not passed a review yet.

    A provider's failure is a review that was not made.
    """
    work, written = runtime.context, state.written
    assert work.reviewer is not None and written is not None  # noqa: S101, PT018 - see the route
    fresh = state.to_review(work.task)
    shown = work.task.shown_together(fresh, state.sound(work.task))
    question = work.task.review({part: written[part] for part in shown}, work.client.ledger.secret)
    done = await complete(work.client, work.reviewer, question)
    name = "second review" if "review" in state.calls else "review"
    change: Change = {"calls": {name: CallOutcome.of(done)}}
    if done.status == "not_asked":
        return {**change, **_end(done)}
    if done.value is None:
        why = done.reason if done.status == "failed" else done.status
        return {**change, "review": Review("not_checked", why or "")}
    faults = tuple(work.task.read_review(done.value, shown, fresh))
    passed = state.passed.difference(shown) | set(shown).difference(f.part for f in faults)
    review = Review("failed" if faults else "passed", faults=faults)
    return {**change, "review": review, "passed": passed}


END: Final = "__end__"  # as LangGraph calls it, which is not imported here
DONE: Final = "done"


# LangGraph resolves the type hints of a route, and `Runtime` is not imported here.
def after_check(state: Generated, runtime: Any) -> str:
    """Where to go once the checks are done."""
    work = runtime.context
    if state.ended:
        return DONE
    if (state.problem or state.faults) and state.repaired is None:
        return "repair"
    if state.problem or work.reviewer is None or state.review:
        return DONE  # a review that is still there is of these very texts: no repair came
    return "review" if state.to_review(work.task) else DONE


def after_review(state: Generated, runtime: Any) -> str:
    """Where to go once the review is there."""
    if state.ended or state.repaired is not None:
        return DONE
    return "repair" if state.review and state.review.outcome == "failed" else DONE


def add_generate_nodes(
    graph: Any,
    *,
    bound: Callable[[Any], Any] = lambda node: node,
    end: str = END,
) -> None:
    """Adds the nodes and edges to a graph whose state is a `Generated`, or more than that.

    Args:
        graph: a StateGraph.
        bound: gives a node and a route their `Generation` where the graph's own context is another.
        end: the node after.
    """
    graph.add_node("write", bound(write_node))
    graph.add_node("check", bound(check_node))
    graph.add_node("repair", bound(repair_node))
    graph.add_node("review", bound(review_node))
    graph.add_edge("__start__", "write")
    graph.add_edge("write", "check")
    to = {"repair": "repair", "review": "review", DONE: end}
    graph.add_conditional_edges("check", bound(after_check), to)
    graph.add_edge("repair", "check")
    to = {"repair": "repair", DONE: end}
    graph.add_conditional_edges("review", bound(after_review), to)


@cache
def generate_graph() -> Any:
    """The graph, compiled once a process; `Generation` is its runtime context."""
    from langgraph.graph import StateGraph

    graph: Any = StateGraph(Generated, context_schema=Generation)
    add_generate_nodes(graph)
    return graph.compile(name="generate")


async def generate(
    client: Client, task: WritingTask, writer: Backend, reviewer: Backend | None = None
) -> Generated:
    """What comes of a writing task. Expected faults are in it, and so is a defect of this program:
    what is written beside it stands.

    Args:
        client: where calls are handed in: ledger, limits and budget are its own.
        task: what is written.
        writer: who writes.
        reviewer: another model that reads the result; None: nothing is reviewed.

    Raises:
        AreopagusError: the ledger cannot be written: nothing more may be paid for.
    """
    from langsmith import tracing_context

    work = Generation(task, client, writer, reviewer)
    try:
        # Whatever the environment says of tracing, texts go to the endpoints named alone.
        with tracing_context(enabled=False):
            return Generated(**await generate_graph().ainvoke({}, context=work))
    except AreopagusError:
        raise
    except Exception as error:
        told = f"internal: {defect_text(error)}"
        call = CallOutcome("failed", detail=told[:DETAIL_CHARACTERS], cost_usd=None)
        return Generated(
            ended="failed", whole=(Fault(WHOLE, "no_reply", told),), calls={"write": call}
        )


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


def draw(seed: int, *names: str) -> str:
    """Digits by which names are put into a random order, the same on every machine."""
    said = "\x1f".join((str(seed), *names))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


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


def _end(done: Completion[Any]) -> Change:
    """The end of a run, where a call brought nothing."""
    return {"ended": CallOutcome.of(done).status, "whole": (_why(done),)}


def _why(done: Completion[Any]) -> Fault:
    """Why a call brought nothing, as a fault of the whole reply."""
    if done.status == "failed":
        return Fault(WHOLE, "no_reply", _sentence(done))
    if done.status == "not_asked":
        return Fault(WHOLE, done.reason or "budget", done.detail or "")
    if done.status == "refused":
        return Fault(WHOLE, "refused", done.detail or "")
    return Fault(WHOLE, "unreadable", _sentence(done))


def _sentence(done: Completion[Any]) -> str:
    return f"{done.reason}: {done.detail or ''}"
