"""The calls of prompt construction: what is sent, and what came of one that a judge answers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import ProviderError
from ..judges.models.backend import Backend
from ..judges.models.budget import BudgetSpentError
from ..judges.models.client import REPAIR_OUTPUT_FACTOR, Answer, Desk
from ..judges.models.rate_limit import StoppedError
from ..judges.models.request import Message, Purpose, Request, Rung
from ..judges.parse import ObjectReading, object_faults, read_object
from ..judges.prompt import nonce_for
from ..judges.schema import ObjectContract
from ..judges.structured import ask
from ..records.types import Reply
from .prompt_construction_brief import (
    EQUIVALENCE_TEMPLATE,
    GENERATE_TEMPLATE,
    QUALITY_TEMPLATE,
    equivalence_contract,
    equivalence_messages,
    form_repair,
    generation_contract,
    generation_messages,
    generation_repair_messages,
    quality_contract,
    quality_messages,
)

AskedStatus = Literal["read", "refused", "unreadable", "failed", "not_asked"]
_DETAIL_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Material:
    """One scenario as the graph needs it.

    Attributes:
        scenario_id: unique in the set.
        source: decides the wording.
        text: what a generator is shown.
        topic: a word or two for it, for the embedded generator.
        count: questions wanted of each generator.
        technology: whether at most one may be about technology.
    """

    scenario_id: str
    source: str
    text: str
    topic: str
    count: int
    technology: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of asking a judge.

    Attributes:
        status: `read`; `refused`, `unreadable` (after one repair), `failed` (no reply came),
            `not_asked` (budget or a stop).
        value: the object; empty unless read.
        detail: why there is none.
        calls, cost_usd: of the replies behind it; None = unknown price.
    """

    status: AskedStatus
    value: Mapping[str, object] = field(default_factory=dict)
    detail: str = ""
    calls: int = 0
    cost_usd: float | None = 0.0


def generation_request(
    backend: Backend, material: Material, *, secret: bytes, rung: Rung
) -> Request:
    """The call that asks a generator for all questions of a scenario."""
    nonce = nonce_for(secret, material.text)
    messages = generation_messages(
        material.source, material.text, material.count, nonce, technology=material.technology
    )
    numbers = range(1, material.count + 1)
    contract = generation_contract(numbers, scratchpad=True, technology=material.technology)
    return _request(
        backend, messages, contract, nonce=nonce, rung=rung, purpose="generate",
        template=GENERATE_TEMPLATE, offline=_offline_facts(material, numbers),
    )  # fmt: skip


def generation_repair_request(
    backend: Backend,
    material: Material,
    reply: str,
    faults: Sequence[tuple[int, str]],
    numbers: Sequence[int],
    *,
    secret: bytes,
    rung: Rung,
    problem: str | None,
) -> Request:
    """The call that asks to write some questions anew."""
    nonce = nonce_for(secret, material.text)
    first = generation_messages(
        material.source, material.text, material.count, nonce, technology=material.technology
    )
    messages = generation_repair_messages(
        first, reply, faults, numbers, technology=material.technology, problem=problem
    )
    contract = generation_contract(
        numbers, scratchpad=problem is not None, technology=material.technology
    )
    return _request(
        backend, messages, contract, nonce=nonce, rung=rung, purpose="generate",
        template=GENERATE_TEMPLATE, is_longer=problem == "truncated",
        offline=_offline_facts(material, numbers),
    )  # fmt: skip


def quality_request(backend: Backend, prompt: str, *, secret: bytes, rung: Rung) -> Request:
    """The call that asks a judge whether one question is fit for use."""
    nonce = nonce_for(secret, prompt)
    return _request(
        backend, quality_messages(prompt, nonce), quality_contract(), nonce=nonce, rung=rung,
        purpose="classify", template=QUALITY_TEMPLATE,
    )  # fmt: skip


def equivalence_request(
    backend: Backend, one: str, other: str, *, secret: bytes, rung: Rung
) -> Request:
    """The call that asks a judge whether two questions demand the same work.

    Which of the two stands first is drawn by a hash of both and the judge: it does not depend on
    who wrote which, and the two judges of a pair may see it either way round.
    """
    first, second = sorted((one, other))
    drawn = hashlib.sha256(
        f"{first}\x1f{second}\x1f{backend.spec.name}".encode("utf-8", "surrogatepass")
    )
    if drawn.digest()[0] % 2:
        first, second = second, first
    nonce = nonce_for(secret, first, second)
    return _request(
        backend, equivalence_messages(first, second, nonce), equivalence_contract(), nonce=nonce,
        rung=rung, purpose="classify", template=EQUIVALENCE_TEMPLATE,
    )  # fmt: skip


async def ask_quality(desk: Desk, backend: Backend, prompt: str) -> Asked:
    """One judge's vote on one question."""
    secret = desk.ledger.secret
    return await ask_object(
        desk,
        backend,
        lambda rung: quality_request(backend, prompt, secret=secret, rung=rung),
        quality_contract(),
    )


async def ask_equivalence(desk: Desk, backend: Backend, one: str, other: str) -> Asked:
    """One judge's word on two questions."""
    secret = desk.ledger.secret
    return await ask_object(
        desk,
        backend,
        lambda rung: equivalence_request(backend, one, other, secret=secret, rung=rung),
        equivalence_contract(),
    )


async def ask_object(
    desk: Desk, backend: Backend, build: Callable[[Rung], Request], contract: ObjectContract
) -> Asked:
    """What a judge answers, asked once more where the form of its reply was unreadable.

    Raises:
        StoreError: the ledger cannot be written.
    """
    purse = desk.purse()
    answers: list[Answer] = []
    try:
        first, request = await ask(desk, backend, build, purse)
        answers.append(first)
        reading = _strict(first.reply, contract)
        if reading.outcome == "unreadable":
            problem = reading.problem or "not_json"
            again = _form_repair_request(request, first.reply, problem, contract)
            second = await desk.ask(backend, again, purse)
            answers.append(second)
            reading = _strict(second.reply, contract)
    except ProviderError as error:
        status: AskedStatus = "refused" if error.fault == "content_policy" else "failed"
        desk.account.closed(status, [answer.reply for answer in answers])
        return Asked(status, {}, error.fault, len(answers), cost_of(answers))
    except BudgetSpentError:
        return Asked("not_asked", {}, "budget", len(answers), cost_of(answers))
    except StoppedError:
        return Asked("not_asked", {}, "interrupted", len(answers), cost_of(answers))
    finally:
        purse.close()
    desk.account.closed(reading.outcome, [answer.reply for answer in answers])
    detail = "" if reading.outcome == "read" else (reading.detail or "")[:_DETAIL_CHARACTERS]
    return Asked(reading.outcome, reading.value, detail, len(answers), cost_of(answers))


def cost_of(answers: Sequence[Answer]) -> float | None:
    """What these replies cost; None where a price is unknown."""
    total = 0.0
    for answer in answers:
        if answer.reply.cost_usd is None:
            return None
        total += answer.reply.cost_usd
    return total


def _strict(reply: Reply, contract: ObjectContract) -> ObjectReading:
    """The object in a reply: every key, no other, or it is unreadable as a whole."""
    reading = read_object(reply, contract)
    faults = object_faults(reading.value, contract) if reading.outcome == "read" else []
    if not faults:
        return reading
    detail = "; ".join(f"{key} {sentence}" for key, _, sentence in faults)
    return ObjectReading("unreadable", {}, faults[0][1], detail[:_DETAIL_CHARACTERS])


def _form_repair_request(
    first: Request, reply: Reply, problem: str, contract: ObjectContract
) -> Request:
    params = dict(first.params)
    if problem == "truncated" and params.get("max_tokens"):
        params["max_tokens"] = REPAIR_OUTPUT_FACTOR * int(params["max_tokens"])
    return Request(
        backend=first.backend,
        endpoint=first.endpoint,
        messages=form_repair(first.messages, reply.text or "", problem, contract),
        params=params,
        schema=first.schema,
        structured=first.structured,
        nonce=first.nonce,
        template=first.template,
        purpose=first.purpose,
        labels=first.labels,
    )


def _offline_facts(material: Material, numbers: Sequence[int]) -> dict[str, Any]:
    """What the embedded generator needs and cannot read out of the messages."""
    from ..judges.offline.writers import GENERATOR_VERSION

    return {
        "version": GENERATOR_VERSION,
        "numbers": list(numbers),
        "topic": material.topic,
        "technology": material.technology,
    }


def _request(
    backend: Backend,
    messages: tuple[Message, ...],
    contract: ObjectContract,
    *,
    nonce: str,
    rung: Rung,
    purpose: Purpose,
    template: str,
    is_longer: bool = False,
    offline: Mapping[str, Any] | None = None,
) -> Request:
    spec = backend.spec
    parameters: dict[str, Any] = spec.parameters()
    if is_longer:
        parameters["max_tokens"] = REPAIR_OUTPUT_FACTOR * spec.max_tokens
    if spec.is_offline and offline is not None:
        parameters["offline"] = dict(offline)
    return Request(
        backend=spec.model,
        endpoint=spec.api_base or "",
        messages=messages,
        params=parameters,
        schema=contract.schema(),
        structured=rung,
        nonce=nonce,
        template=template,
        purpose=purpose,
        labels={"job": "prompts"},
    )
