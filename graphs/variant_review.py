"""What a second model says of variants that it did not write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import ProviderError
from ..judges.models.backend import Backend
from ..judges.models.client import REPAIR_OUTPUT_FACTOR, Answer, Desk
from ..judges.models.request import Message, Request, Rung
from ..judges.parse import ObjectReading, object_faults, read_object
from ..judges.prompt import nonce_for
from ..judges.structured import ask
from ..records.types import Reply
from .framings import Framing, opposite_pairs
from .reframing_state import ReviewOutcome
from .rewriting_brief import (
    REVIEW_TEMPLATE,
    form_repair_messages,
    review_contract,
    review_messages,
)
from .variant_fault import VariantFault

_CODES: Mapping[str, str] = {
    "self_contained": "not_self_contained",
    "same_question": "other_question",
    "natural": "not_natural",
    "faithful": "not_faithful",
}
_REASON_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Review:
    """What became of one review.

    Attributes:
        outcome: `passed`, `failed` (the faults say where), `not_checked`.
        why: for `not_checked`: a class of fault, `refused` or `unreadable`; else "".
        faults: what was found wrong; both halves of a pair that is not in tension.
        answers: the calls behind it.
    """

    outcome: ReviewOutcome
    why: str = ""
    faults: tuple[VariantFault, ...] = ()
    answers: tuple[Answer, ...] = ()


def review_request(
    backend: Backend,
    baseline: str,
    variants: Mapping[str, str],
    framings: Sequence[Framing],
    *,
    secret: bytes,
    rung: Rung,
    repeat: int = 0,
) -> Request:
    """The call that asks for a review of the variants of these framings."""
    nonce = nonce_for(secret, baseline, *(variants[framing.id] for framing in framings))
    messages = review_messages(baseline, variants, framings, nonce)
    return _request(backend, messages, framings, nonce=nonce, rung=rung, repeat=repeat)


async def review_variants(
    desk: Desk,
    backend: Backend,
    baseline: str,
    variants: Mapping[str, str],
    framings: Sequence[Framing],
    *,
    repeat: int = 0,
) -> Review:
    """The second model's word on these variants, asked once more where its form was unreadable.

    A provider's failure is a review that was not made.

    Raises:
        BudgetSpentError, StoppedError: the review was not asked for.
    """
    contract = review_contract(framings)
    purse = desk.purse()
    answers: list[Answer] = []
    try:
        first, request = await ask(
            desk,
            backend,
            lambda rung: review_request(
                backend,
                baseline,
                variants,
                framings,
                secret=desk.ledger.secret,
                rung=rung,
                repeat=repeat,
            ),
            purse,
        )
        answers.append(first)
        reading = _checked(first.reply, framings)
        if reading.outcome == "unreadable":
            problem = reading.problem or "not_json"
            messages = form_repair_messages(
                request.messages, first.reply.text or "", problem, contract
            )
            again = _request(
                backend,
                messages,
                framings,
                nonce=request.nonce,
                rung=request.structured,
                repeat=repeat,
                is_longer=problem == "truncated",
            )
            second = await desk.ask(backend, again, purse)
            answers.append(second)
            reading = _checked(second.reply, framings)
    except ProviderError as error:
        return Review("not_checked", error.fault, answers=tuple(answers))
    finally:
        purse.close()
    if reading.outcome != "read":
        return Review("not_checked", reading.outcome, answers=tuple(answers))
    faults = read_review(reading.value, framings)
    return Review("failed" if faults else "passed", "", faults, tuple(answers))


def read_review(
    value: Mapping[str, object], framings: Sequence[Framing]
) -> tuple[VariantFault, ...]:
    """The faults that a complete review names, in the order of the framings."""
    faults = [
        VariantFault(framing.id, code, _reason(value, f"{framing.id}__reason"))
        for framing in framings
        for key, code in _CODES.items()
        if value[f"{framing.id}__{key}"] is False
    ]
    for number, pair in enumerate(opposite_pairs(framings), start=1):
        if value[f"pair_{number}__in_tension"] is False:
            reason = _reason(value, f"pair_{number}__reason")
            faults += [VariantFault(framing.id, "not_in_tension", reason) for framing in pair]
    return tuple(faults)


def _checked(reply: Reply, framings: Sequence[Framing]) -> ObjectReading:
    """The review in a reply: every key, no other, or it is unreadable as a whole."""
    contract = review_contract(framings)
    reading = read_object(reply, contract)
    faults = object_faults(reading.value, contract) if reading.outcome == "read" else []
    if not faults:
        return reading
    _, problem, _ = faults[0]
    detail = "; ".join(f"{key} {sentence}" for key, _, sentence in faults)
    return ObjectReading("unreadable", {}, problem, detail[:_REASON_CHARACTERS])


def _reason(value: Mapping[str, object], key: str) -> str:
    text = " ".join(str(value[key]).split())
    shown = "".join(character if character.isprintable() else " " for character in text)
    return shown if len(shown) <= _REASON_CHARACTERS else shown[: _REASON_CHARACTERS - 1] + "…"


def _request(
    backend: Backend,
    messages: tuple[Message, ...],
    framings: Sequence[Framing],
    *,
    nonce: str,
    rung: Rung,
    repeat: int,
    is_longer: bool = False,
) -> Request:
    parameters = backend.spec.parameters()
    if is_longer:
        parameters["max_tokens"] = REPAIR_OUTPUT_FACTOR * backend.spec.max_tokens
    return Request(
        backend=backend.spec.model,
        endpoint=backend.spec.api_base or "",
        messages=messages,
        params=parameters,
        schema=review_contract(framings).schema(),
        structured=rung,
        nonce=nonce,
        repeat=repeat,
        template=REVIEW_TEMPLATE,
        purpose="review",
        labels={"framings": ",".join(framing.id for framing in framings)},
    )
