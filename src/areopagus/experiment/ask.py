"""Asks target models prompts: the protocol (effort, length), the questions, the answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar, get_args

from ..async_runner import ordered_map
from ..errors import FaultClass, InputError, ProviderError
from ..judges.models.backend import Backend, BackendSpec, Effort
from ..judges.models.budget import BudgetSpentError
from ..judges.models.client import Client
from ..judges.models.rate_limit import StoppedError
from ..judges.models.request import Purpose, Request
from ..judges.offline.models import Role, require_role
from ..records.types import Reply, Usage
from .backends import backends_from, repeated_names
from .config import Track

EFFORTS: tuple[str, ...] = get_args(Effort)


@dataclass(frozen=True, slots=True)
class Protocol:
    """How targets are asked.

    Attributes:
        effort: reasoning effort, or None to leave it to the model.
        words, most_words: length instruction added to the prompt, or None for none.
        max_tokens: room for the visible answer and the reasoning before it.
    """

    effort: str | None = None
    words: int | None = None
    most_words: int | None = None
    max_tokens: int = 16_000

    def __post_init__(self) -> None:
        """Refuses an effort that no model takes.

        Raises:
            InputError: with the words that there are.
        """
        if self.effort is not None and self.effort not in EFFORTS:
            known = ", ".join(EFFORTS)
            raise InputError(f"effort: must be one of {known}, got {self.effort!r}")


PRESETS: dict[Track, Protocol] = {
    "matched": Protocol(effort="medium", words=400, most_words=440),
    "maximum": Protocol(effort="high"),
}
"""The paper's two tracks: effort and length bounded as people were, and unbounded capability."""


def protocol_from(
    track: Track | None, *, effort: str | None = None, words: int | None = None
) -> Protocol:
    """A track's protocol, or the bare one, with what is set otherwise.

    Args:
        track: one of `PRESETS`; None asks the bare prompt with no effort set.
        effort: reasoning effort instead of the track's; "none" sends none.
        words: words to aim at, instead of the track's.
    """
    protocol = PRESETS[track] if track is not None else Protocol()
    if effort is not None:
        protocol = replace(protocol, effort=None if effort == "none" else effort)
    if words is not None:
        protocol = replace(protocol, words=words, most_words=round(words * 1.1))
    return protocol


AnswerStatus = Literal["answered", "empty", "refused", "failed", "not_asked"]

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Question(Generic[Item]):
    """One thing to ask of one model.

    Attributes:
        item: whatever the caller wants back with the answer.
        prompt: the user turn, without the protocol's length instruction.
        backend: whom to ask.
        repeat: which asking of the same prompt this is, from 0.
    """

    item: Item
    prompt: str
    backend: Backend
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What became of a question.

    Attributes:
        status: `answered` (what was cut off included), `empty` (a reply without text), `refused`
            (the provider marked it so), `failed` (no reply came), `not_asked`.
        text: the reply, or the refusal; empty where there is none.
        reason: class of fault, `budget` or `interrupted`, or what was odd about the reply.
    """

    status: AnswerStatus
    text: str = ""
    reason: str = ""
    finish_reason: str = ""
    answered_by: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    is_cut_off: bool = False
    fault: FaultClass | None = None


@dataclass(frozen=True, slots=True)
class Wording:
    """How prompts are asked, and under which name the calls stand in the ledger."""

    protocol: Protocol = field(default_factory=Protocol)
    purpose: Purpose = "respond"
    template: str = "respond-1"
    labels: Mapping[str, str] = field(default_factory=lambda: {"track": "none"})

    def request(self, backend: Backend, prompt: str, repeat: int = 0) -> Request:
        """The call for one question: the prompt, with the length instruction where there is one."""
        words, most_words = self.protocol.words, self.protocol.most_words
        if words is not None:
            most = most_words or round(words * 1.1)
            prompt += f"\n\nWrite about {words} words, and no more than {most}."
        return Request(
            backend=backend.spec.model,
            endpoint=backend.spec.api_base or "",
            messages=({"role": "user", "content": prompt},),
            params=backend.spec.parameters(),
            repeat=repeat,
            template=self.template,
            purpose=self.purpose,
            labels=dict(self.labels),
        )


async def ask_each(
    questions: Iterable[Question[Item]],
    client: Client,
    wording: Wording,
    backends: Sequence[Backend],
) -> AsyncGenerator[tuple[Question[Item], ModelAnswer], None]:
    """Answers to the questions, in their order, as many at once as the backends take.

    Raises:
        StoreError: the ledger cannot be written; calls in flight are abandoned.
    """
    at_once = sum(backend.spec.concurrency for backend in backends) + 8
    answers = ordered_map(
        questions, lambda question: ask_one(question, client, wording), at_once=at_once
    )
    async with aclosing(answers):
        async for pair in answers:
            yield pair


async def ask_one(question: Question[Any], client: Client, wording: Wording) -> ModelAnswer:
    """The answer to one question; only a ledger that cannot be written raises."""
    reservation = client.reservation()
    request = wording.request(question.backend, question.prompt, question.repeat)
    try:
        answer = await client.ask(question.backend, request, reservation)
    except ProviderError as error:
        return ModelAnswer("failed", reason=error.fault, fault=error.fault)
    except BudgetSpentError:
        return ModelAnswer("not_asked", reason="budget")
    except StoppedError:
        return ModelAnswer("not_asked", reason="interrupted")
    finally:
        reservation.close()
    found = read_answer(answer.reply)
    client.usage.closed("unreadable" if found.status == "empty" else found.status, [answer.reply])
    return found


def read_answer(reply: Reply) -> ModelAnswer:
    """A stored reply as an answer."""
    text = reply.text or ""
    status: AnswerStatus = "answered"
    reason = ""
    is_cut_off = False
    if reply.refusal and not text.strip():
        status, reason, text = "refused", "refusal", reply.refusal
    elif not text.strip():
        status, reason = "empty", reply.finish_reason or "no text"
    elif reply.finish_reason == "length":
        reason, is_cut_off = "cut off at the token limit", True
    return ModelAnswer(
        status,
        text,
        reason,
        finish_reason=reply.finish_reason or "",
        answered_by=reply.answered_by,
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        is_cut_off=is_cut_off,
    )


def target_backend(spec: BackendSpec, protocol: Protocol) -> Backend:
    """A model set up to answer prompts: room for an essay, the protocol's reasoning effort."""
    from ..judges.factory import backend_of

    changes: dict[str, Any] = {}
    if "max_tokens" not in spec.model_fields_set:
        # A judge's short limit would cut an essay off, or leave no room after the reasoning.
        changes["max_tokens"] = protocol.max_tokens
    if spec.reasoning_effort is None and protocol.effort is not None and not spec.is_offline:
        changes["reasoning_effort"] = protocol.effort
    return backend_of(spec.model_copy(update=changes))


def targets_from(models: Any, protocol: Protocol, role: Role = "respondent") -> tuple[Backend, ...]:
    """The models that a user named, set up to answer prompts.

    Args:
        models: see `checked_models`.
        protocol: how they are asked.
        role: what an embedded stand-in among them must be able to do.

    Raises:
        InputError: settings that are none, two backends of one name, a stand-in of another role.
    """
    backends = backends_from(models, lambda spec: target_backend(spec, protocol))
    require_role(backends, role)
    if faults := repeated_names(backends):
        raise InputError(faults)
    return backends
