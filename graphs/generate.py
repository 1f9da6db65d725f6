"""Shared by the graphs in which models write texts: messages, calls, outcomes, running a graph.

Every such graph writes, checks by rule, has faulty texts rewritten once, and may have other models
review the result. A text that a model is shown is data: it stands in the user message between
markers that carry a nonce.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..judges.models.request import Message
from ..judges.prompt import NONCE_LINE, marked
from ..judges.schema import OutputSchema, what_was_wrong
from ..judges.structured import Completion, CompletionStatus, Question, complete, continued

Result = TypeVar("Result")

DETAIL_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What came of one question to a model, as plain values.

    Attributes:
        status: `read`; `refused` by the model or its provider, `unreadable` after one repair,
            `failed` (no reply came), `not_asked` (budget or a stop).
        value: the object; empty unless read.
        detail: why there is none.
        calls, cost_usd: of the replies behind it; None = unknown price.
    """

    status: CompletionStatus
    value: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""
    calls: int = 0
    cost_usd: float | None = 0.0

    @classmethod
    def of(cls, done: Completion[dict[str, Any]]) -> CallOutcome:
        """The outcome of a completion."""
        status, detail = done.status, ""
        if status in ("failed", "not_asked"):
            detail = done.reason or ""
            status = "refused" if detail == "content_policy" else status
        elif status != "read":
            detail = (done.detail or "")[:DETAIL_CHARACTERS]
        return cls(status, done.value or {}, detail, done.calls, done.cost_usd)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "value": dict(self.value)}


async def ask(client: Client, backend: Backend, question: Question[dict[str, Any]]) -> CallOutcome:
    """What a model answers, asked once more where its reply could not be read.

    Raises:
        StoreError: the ledger cannot be written: nothing more may be paid for.
    """
    return CallOutcome.of(await complete(client, backend, question))


def has_object(done: Completion[Any]) -> bool:
    """Whether the last reply held an object, though it may depart from the form asked for."""
    return done.status == "read" or bool(done.faults)


def why_failed(done: Completion[Any]) -> str:
    """Class and sentence of what went wrong."""
    return f"{done.reason}: {done.detail or ''}"


def conversation(
    system: Sequence[str], texts: Mapping[str, str], closing: str, nonce: str
) -> tuple[Message, ...]:
    """A system message of these paragraphs, and a user message that shows these texts.

    Args:
        system: its paragraphs.
        texts: name of the block to text; each stands between markers with the nonce.
        closing: what follows them; "" for nothing.
        nonce: of the markers.
    """
    shown = [marked(name, text, nonce) for name, text in texts.items()]
    user = "\n\n".join([f"{NONCE_LINE}{nonce}", *shown, *([closing] if closing else [])])
    return (
        {"role": "system", "content": "\n\n".join(system)},
        {"role": "user", "content": user},
    )


def anew(
    first: Question[dict[str, Any]],
    reply: str,
    faults: Sequence[str],
    wanted: str,
    schema: OutputSchema[dict[str, Any]],
    *,
    problem: str | None,
    stand_in: Mapping[str, Any] | None = None,
) -> Question[dict[str, Any]]:
    """The one request to write some of it anew, after the first reply.

    Args:
        first: what was asked.
        reply: what was answered.
        faults: lines that say what cannot be used, in our own words.
        wanted: what to write anew.
        schema: its form.
        problem: what was wrong with the reply's form, where nothing could be read at all; it is
            told instead of the faults.
        stand_in: what an embedded model needs.
    """
    told = faults if problem is None else [f"Your last reply {what_was_wrong(problem)}."]
    text = "\n".join([*told, f"{wanted} Reply with the JSON object alone, in this shape: "])
    return replace(
        first,
        messages=continued(first.messages, reply, text + schema.shape(), first.echo_characters),
        schema=schema,
        stand_in=stand_in,
        is_longer=problem == "truncated",
        is_repair=True,
    )


def merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Reducer of a state's mappings: a repeated write changes nothing."""
    return {**old, **new}


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
