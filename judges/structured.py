"""Structured output: `complete` asks a model, parses its answer strictly, and repairs it once.

A question is put in the strongest response format that the backend takes:

    question = Question(messages=…, schema=object_schema({"fits": FLAG}), template="fit-1", …)
    done = await complete(client, backend, question)
    done.value["fits"] if done.status == "read" else f"{done.status}: {done.reason}"
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Literal

from ..errors import ProviderError
from ..records.types import Reply
from .models.backend import Backend
from .models.budget import REPAIR_OUTPUT_FACTOR, BudgetReservation, BudgetSpentError
from .models.client import Answer, Client
from .models.provider_errors import is_about_format
from .models.rate_limit import StoppedError
from .models.request import RESPONSE_FORMATS, Message, Purpose, Request, ResponseFormat
from .parse import parse
from .schema import Fault, OutputSchema, T, form_repair

CompletionStatus = Literal["read", "refused", "unreadable", "failed", "not_asked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Generic[T]):
    """What a model is asked, and in what form it has to answer.

    Attributes:
        messages: what is said.
        schema: the form of the answer: `object_schema({key: TEXT | FLAG | Value(…)})` for a dict,
            `model_schema(Model)` for a pydantic model, `judgment_schema(…)` for scores.
        template: name and version of the wording, such as "rewrite-1".
        purpose: what the call is for, for the record.
        nonce: the marker's nonce in the messages.
        mark: the mark before every word of a text in them, "" where there is none.
        shown: the texts that the messages show; an object that may be a quotation from one of them
            is not taken for the answer. Leave it out where nobody gains by being quoted.
        repeat: another number asks the same question again.
        order: where the persona stands (judges only).
        labels: what the ledger's record says beside the request.
        shared: characters of the first user message that other calls begin with too.
        params: request parameters beside the backend's own.
        stand_in: what an embedded model needs and cannot read out of the messages.
        repairs: whether an unreadable answer is asked for once more.
        repair_wording: code of the problem to the text that asks for it; the common one if left
            out.
        echo_characters: most characters of the unreadable reply that are shown again.
        is_longer: whether twice the tokens may be used: for a reply that was cut off.
        is_repair: whether this question is itself the second ask of an earlier one, so that its
            reply counts among the repairs. It is not repaired again.
    """

    messages: tuple[Message, ...]
    schema: OutputSchema[T]
    template: str
    purpose: Purpose
    nonce: str = ""
    mark: str = ""
    shown: tuple[str, ...] = ()
    repeat: int = 0
    order: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    shared: int = 0
    params: Mapping[str, Any] = field(default_factory=dict)
    stand_in: Mapping[str, Any] | None = None
    repairs: bool = True
    repair_wording: Callable[[str], str] | None = None
    echo_characters: int = 4_000
    is_longer: bool = False
    is_repair: bool = False

    def request(self, backend: Backend, response_format: ResponseFormat) -> Request:
        """The call that puts the question to a backend."""
        spec = backend.spec
        parameters: dict[str, Any] = spec.parameters()
        if self.is_longer:
            parameters["max_tokens"] = REPAIR_OUTPUT_FACTOR * spec.max_tokens
        parameters |= self.params
        if spec.is_offline and self.stand_in is not None:
            parameters["offline"] = self.stand_in
        return Request(
            backend=spec.model,
            endpoint=spec.api_base or "",
            messages=self.messages,
            params=parameters,
            schema=(
                self.schema.grammar_schema
                if response_format == "json_object_schema"
                else self.schema.json_schema
            ),
            structured=response_format,
            nonce=self.nonce,
            mark=self.mark,
            repeat=self.repeat,
            template=self.template,
            order=self.order,
            purpose=self.purpose,
            labels=self.labels,
            shared=self.shared,
        )

    def repaired(self, reply_text: str | None, problem: str) -> Question[T]:
        """The same question after a reply that could not be read."""
        text = (
            self.repair_wording(problem)
            if self.repair_wording is not None
            else form_repair(problem, self.schema)
        )
        return replace(
            self,
            messages=continued(self.messages, reply_text, text, self.echo_characters),
            purpose="repair" if self.purpose == "judge" else self.purpose,
            is_longer=problem == "truncated",
            is_repair=True,
        )


@dataclass(frozen=True, slots=True)
class Completion(Generic[T]):
    """What came of a question.

    Attributes:
        status: `read`; `refused` (the model declined), `unreadable` (after the repair, where one
            was allowed), `failed` (no reply came, or none to the repair), `not_asked` (budget or a
            stop).
        value: the typed answer; None unless read.
        reason: a code: of the parser's `Problem`s, of the classes of fault (`content_policy` is
            the endpoint's filter), `budget` or `interrupted`; None when read.
        detail: the same as a sentence.
        answers: the replies, that to the repair last; each with its ledger key.
        response_format: in which form the answer was asked for; None where nothing was sent.
        found: the object of the last reply as it came, though it departs from the schema as
            `faults` says; empty where none was found.
        attempts_in_vain: HTTP attempts of the call that brought no reply.
    """

    status: CompletionStatus
    value: T | None = None
    reason: str | None = None
    detail: str | None = None
    answers: tuple[Answer, ...] = ()
    response_format: ResponseFormat | None = None
    found: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    attempts_in_vain: int = 0

    @property
    def replies(self) -> list[Reply]:
        """The replies."""
        return [answer.reply for answer in self.answers]

    @property
    def text(self) -> str:
        """Text of the last reply; "" where there is none."""
        return (self.answers[-1].reply.text or "") if self.answers else ""

    @property
    def answered_by(self) -> str | None:
        """The model that the last reply names."""
        return self.answers[-1].reply.answered_by if self.answers else None

    @property
    def calls(self) -> int:
        """How many replies there are."""
        return len(self.answers)

    @property
    def cost_usd(self) -> float | None:
        """What they cost, 0 for none; None where a price is unknown."""
        costs = [reply.cost_usd for reply in self.replies]
        return None if None in costs else sum(cost or 0.0 for cost in costs)


async def complete(
    client: Client,
    backend: Backend,
    question: Question[T],
    *,
    reservation: BudgetReservation | None = None,
    response_format: ResponseFormat | None = None,
) -> Completion[T]:
    """The typed answer of one backend to one question, or why there is none.

    The question is put in the strongest response format that the backend takes, which is learnt
    by the first call and kept in the ledger. An answer that cannot be read is asked for once more.
    What is already in the ledger is not sent. How it ended is counted in `client.usage`, except
    for an unreadable answer to a question without `repairs`: there the caller asks a second
    question of its own (`is_repair`), and that one is counted.

    Args:
        client: of the run: ledger, limits, budget.
        backend: whom to ask.
        question: what.
        reservation: money set aside for this question; a new one if left out. It is closed.
        response_format: another form than the backend's strongest, for the second question of a
            conversation: that of the first.

    Raises:
        StoreError: the ledger cannot be written: nothing more may be paid for.
    """
    reservation = reservation or client.reservation()
    answers: list[Answer] = []
    try:
        done = await _asked(client, backend, question, reservation, response_format, answers)
    finally:
        reservation.close()
    replies = done.replies
    if question.is_repair:
        for reply in replies:
            client.usage.repairs.add(reply, None)
    if question.repairs or question.is_repair or done.status != "unreadable":
        client.usage.closed(done.status, replies)
    return done


async def _asked(
    client: Client,
    backend: Backend,
    question: Question[T],
    reservation: BudgetReservation,
    response_format: ResponseFormat | None,
    answers: list[Answer],
) -> Completion[T]:
    form = response_format
    try:
        if form is None:
            build = partial(question.request, backend)
            answer, request = await ask(client, backend, build, reservation)
            form = request.structured
        else:
            answer = await client.ask(backend, question.request(backend, form), reservation)
        answers.append(answer)
        parsed = parse(answer.reply, question.schema, judged=question.shown)
        if parsed.outcome == "unreadable" and question.repairs and not question.is_repair:
            again = question.repaired(answer.reply.text, parsed.problem or "not_json")
            answer = await client.ask(backend, again.request(backend, form), reservation)
            answers.append(answer)
            parsed = parse(answer.reply, question.schema, judged=question.shown)
    except ProviderError as error:
        return _without("failed", error.fault, error.detail, answers, form, error.attempts)
    except BudgetSpentError as error:
        return _without("not_asked", "budget", str(error), answers, form, error.attempts)
    except StoppedError as error:
        return _without("not_asked", "interrupted", None, answers, form, error.attempts)
    return Completion(
        status=parsed.outcome,
        value=parsed.value,
        reason=parsed.problem,
        detail=parsed.detail,
        answers=tuple(answers),
        response_format=form,
        found=parsed.found,
        faults=parsed.faults,
    )


def _without(
    status: CompletionStatus,
    reason: str,
    detail: str | None,
    answers: list[Answer],
    response_format: ResponseFormat | None,
    attempts: int,
) -> Completion[Any]:
    return Completion(
        status=status,
        reason=reason,
        detail=detail,
        answers=tuple(answers),
        response_format=response_format,
        attempts_in_vain=attempts,
    )


async def known_format(client: Client, backend: Backend) -> ResponseFormat | None:
    """The response format that a backend takes, as set or as learned; None = not known yet."""
    spec = backend.spec
    if spec.structured != "auto":
        return spec.structured
    known = client.response_formats
    if spec.identity not in known:
        learned = await client.ledger.find_capability(spec.identity)
        if learned is not None and learned in RESPONSE_FORMATS:
            known[spec.identity] = learned
    return known.get(spec.identity)


async def ask(
    client: Client,
    backend: Backend,
    build: Callable[[ResponseFormat], Request],
    reservation: BudgetReservation,
) -> tuple[Answer, Request]:
    """The reply to a request in the strongest response format the backend takes, and that request.

    The first call to a backend of which that is not known is the probe: the others wait for it,
    so that an endpoint without structured output sees one refused call a format, not hundreds.

    Raises:
        ProviderError, BudgetSpentError, StoppedError: as the client's `ask`.
    """
    known = await known_format(client, backend)
    if known is not None:
        request = build(known)
        return await client.ask(backend, request, reservation), request
    probing = client.format_probes.setdefault(backend.spec.identity, asyncio.Lock())
    if probing is None:  # the probe failed for other reasons: each call tries for itself
        return await _probe(client, backend, build, reservation)
    async with probing:
        if await known_format(client, backend) is None and _is_first(client, backend, probing):
            try:
                return await _probe(client, backend, build, reservation)
            except ProviderError:
                # An endpoint that fails for other reasons must not keep everybody in line.
                client.format_probes[backend.spec.identity] = None
                raise
    return await ask(client, backend, build, reservation)


def _is_first(client: Client, backend: Backend, probing: asyncio.Lock) -> bool:
    return client.format_probes[backend.spec.identity] is probing


async def _probe(
    client: Client,
    backend: Backend,
    build: Callable[[ResponseFormat], Request],
    reservation: BudgetReservation,
) -> tuple[Answer, Request]:
    identity = backend.spec.identity
    formats = list(RESPONSE_FORMATS)
    while formats:
        response_format = formats.pop(0)
        request = build(response_format)
        try:
            answer = await client.ask(backend, request, reservation)
        except ProviderError as error:
            if formats and is_about_format(error):
                continue
            # Some servers fall over every format, and do not say that it was one. That is tried
            # out once; a server that is down is not asked twice as often for it.
            is_first = client.format_probes.get(identity) is not None
            if formats and is_first and error.fault == "server" and error.status == 500:
                del formats[:-1]
                continue
            raise
        client.response_formats[identity] = response_format
        await client.ledger.set_capability(identity, response_format)
        return answer, request
    raise AssertionError("the last response format returns or raises")


def continued(
    messages: tuple[Message, ...], reply_text: str | None, text: str, echo_characters: int
) -> tuple[Message, ...]:
    """The conversation with a reply, of which only the beginning is shown, and what follows it."""
    echo = (reply_text or "").strip()[:echo_characters] or "(no text)"
    return (
        *messages,
        {"role": "assistant", "content": echo},
        {"role": "user", "content": text},
    )
