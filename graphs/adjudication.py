"""Adjudication: two judges answer a question independently, a third where they differ.

With one judge there is only the first; with two, nobody settles a disagreement and it is recorded
as one. Under a cost cap the first two are asked only where both can be paid for: half a ruling is
worth nothing. Every call goes through the ledger, so that nothing is paid for twice. An expected
failure is a vote without a value, not an exception.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from ..judges.models.backend import Backend
from ..judges.models.budget import BudgetReservation, BudgetSpentError, reserve_usd
from ..judges.models.client import Client
from ..judges.models.request import RESPONSE_FORMATS
from ..judges.prompt import nonce_for
from ..judges.schema import OutputSchema, Value, form_repair
from ..judges.structured import CompletionStatus, Question, complete, known_format
from .generate import together
from .prompt_template import load_prompt_template

_VOTE_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """One question to one or several judges; each of them gets the same one.

    Attributes:
        template: name and version of the wording, such as "socioeval-classify-1". It is part of
            the ledger's key: another wording is another question.
        task: the system message: what to look at, the categories and what they mean, without the
            form of the reply, which is added.
        texts: block name to text, such as {"PROMPT": …, "RESPONSE": …}. They are shown between
            markers and declared to be data.
        fields: key of the reply to the kind of its value, in the order asked for; a key for the
            reasoning first makes the judge reason before it decides.
        decides: the keys in which two judges must say the same to agree.
        choices: key to the only values it may have.
        consistent: given the object, what in it contradicts itself, or None.
        output_tokens: about how long a reply is, for estimates.
    """

    template: str
    task: str
    texts: Mapping[str, str]
    fields: Mapping[str, Literal["string", "boolean"]]
    decides: tuple[str, ...]
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    consistent: Callable[[Mapping[str, object]], str | None] | None = None
    output_tokens: int = 120

    @property
    def schema(self) -> OutputSchema[dict[str, Any]]:
        """The form of the reply; one that contradicts itself is unreadable."""

        def build(value: dict[str, Any]) -> dict[str, Any]:
            wrong = None if self.consistent is None else self.consistent(value)
            if wrong:
                raise ValueError(wrong)
            return value

        return OutputSchema(
            {
                key: Value(kind, choices=tuple(self.choices.get(key, ())))
                for key, kind in self.fields.items()
            },
            build,
        )

    def decided(self, value: Mapping[str, object]) -> tuple[object, ...]:
        """What two judges must have in common."""
        return tuple(value.get(key) for key in self.decides)


def judge_question(
    question: JudgeQuestion,
    *,
    secret: bytes,
    repeat: int = 0,
    earlier: Sequence[Mapping[str, object]] = (),
) -> Question[dict[str, Any]]:
    """What one judge is asked.

    Args:
        question: the same for every judge.
        secret: the ledger's, for the markers.
        repeat: another number asks the same model once more.
        earlier: replies of readers that did not agree, for the one who decides.
    """
    said = [_said(value) for value in earlier]
    nonce = nonce_for(secret, *question.texts.values(), *said)
    if nonce[-1] in "13579bdf":
        # By the marker, which nobody chooses: always the same reader first would be a thumb on
        # the scale.
        said.reverse()
    schema = question.schema
    template = load_prompt_template("adjudicate")
    choices = [
        template.text("choices", key=json.dumps(key), values=", ".join(map(json.dumps, values)))
        for key, values in question.choices.items()
    ]

    def again(problem: str) -> str:
        return form_repair(_KEYS_ARE_TYPES.get(problem, problem), schema)

    readers = {f"READER {number}": text for number, text in enumerate(said, 1)}
    asked = template.question(
        {**question.texts, **readers},
        schema,
        secret=secret,
        purpose="classify",
        values={
            "task": question.task,
            "earlier": template.texts["earlier"] if said else "",
            "choices": choices,
        },
        nonce=nonce,
        shown=tuple(question.texts.values()),
        repeat=repeat,
        labels={"job": "audit"},
        repair_wording=again,
    )
    return replace(asked, template=question.template)


# Stored repairs were asked for in these words, and are found by them.
_KEYS_ARE_TYPES = {"missing_key": "wrong_type", "extra_key": "wrong_type"}


def _said(value: Mapping[str, object]) -> str:
    text = json.dumps(dict(value), ensure_ascii=False)
    return text if len(text) <= _VOTE_CHARACTERS else text[: _VOTE_CHARACTERS - 1] + "…"


Slot = Literal["first", "second", "third"]
SLOTS: tuple[Slot, ...] = get_args(Slot)

RulingOutcome = Literal["single", "agreed", "adjudicated", "split", "unresolved", "not_asked"]


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
    status: CompletionStatus
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


async def adjudicate(client: Client, question: JudgeQuestion, judges: Sequence[Backend]) -> Ruling:
    """What one, two or three judges come to; expected faults are in it, and do not raise.

    Raises:
        ValueError: no judge, or more than three.
        StoreError: the ledger cannot be written: nothing more may be paid for.
    """
    if not 1 <= len(judges) <= 3:
        raise ValueError(f"one to three judges, got {len(judges)}")
    first = SLOTS[: min(2, len(judges))]
    try:
        reservations = await _set_aside(client, question, judges)
    except BudgetSpentError:
        asked = zip(first, judges, strict=False)
        return ruling_of(
            question,
            [JudgeVote(slot, one.spec.name, "not_asked", {}, "budget") for slot, one in asked],
        )

    async def vote(slot: Slot, earlier: Sequence[Mapping[str, object]] = ()) -> JudgeVote:
        backend = judges[SLOTS.index(slot)]
        asked = judge_question(
            question,
            secret=client.ledger.secret,
            repeat=earlier_askings(judges, slot),
            earlier=earlier,
        )
        done = await complete(client, backend, asked, reservation=reservations.get(slot))
        why = done.reason if done.status in ("failed", "not_asked") else done.detail
        return JudgeVote(
            slot, backend.spec.name, done.status, done.value or {}, why or "", done.calls,
            done.cost_usd,
        )  # fmt: skip

    try:
        votes = await together([vote(slot) for slot in first])
        ruling = ruling_of(question, votes)
        if len(judges) == 3 and ruling.outcome in ("split", "unresolved"):
            readable = [one.value for one in votes if one.status == "read"]
            ruling = ruling_of(question, [*votes, await vote("third", readable)])
        return ruling
    finally:
        for reservation in reservations.values():
            reservation.close()


async def _set_aside(
    client: Client, question: JudgeQuestion, judges: Sequence[Backend]
) -> dict[Slot, BudgetReservation]:
    """Money for the votes of the first two, where the ledger has neither and there is a cap.

    Where it is not known yet how a judge takes structured output, it is only seen to that there is
    enough: who asks then waits for the one that tries it out, and must hold nothing.

    Raises:
        BudgetSpentError: both cannot be paid for.
    """
    if client.budget.cap is None or len(judges) < 2:
        return {}
    worst: list[float | None] = []
    is_known = True
    for slot, backend in zip(SLOTS[:2], judges, strict=False):
        response_format = await known_format(client, backend)
        is_known = is_known and response_format is not None
        asked = judge_question(
            question, secret=client.ledger.secret, repeat=earlier_askings(judges, slot)
        )
        requests = [
            asked.request(backend, one)
            for one in ((response_format,) if response_format else RESPONSE_FORMATS)
        ]
        for request in requests:
            if await client.ledger.find(request.key()) is not None:
                return {}
        worst.append(reserve_usd(backend, requests[0]))
    reservations = await BudgetReservation.together(client.budget, worst)
    if not is_known:
        for reservation in reservations:
            reservation.close()
        return {}
    return dict(zip(SLOTS, reservations, strict=False))


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
