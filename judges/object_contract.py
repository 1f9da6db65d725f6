"""Replies that are one flat JSON object of texts and yes-or-no answers: the form, and its reading.

The same rules as for a vote: nothing is coerced, and where two readings are possible there is none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..records.reply import Reply
from .contract import Contract, Problem
from .lexical_sentences import is_refusal, kept_sentences
from .reading import (
    _BLANK,
    _FILTERED,
    _TOOL_CALL,
    _TRUNCATED,
    MAX_REPLY_CHARS,
    Unreadable,
    _kind,
    _storable,
    _unread,
    locate,
    refuse_quotation,
)

ValueKind = Literal["string", "boolean"]

_PLACEHOLDERS: Mapping[ValueKind, str] = {"string": '"<text>"', "boolean": "<true or false>"}


@dataclass(frozen=True, slots=True)
class ObjectContract:
    """What a reply must be: one flat JSON object with these keys, in this order.

    Attributes:
        fields: key to the kind of its value. No key may be `rationale` or `abstained`.
    """

    fields: Mapping[str, ValueKind]

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key, in the order asked for."""
        return tuple(self.fields)

    def schema(self) -> dict[str, Any]:
        """The contract as a flat JSON Schema, in the shape that strict structured output takes."""
        return {
            "type": "object",
            "properties": {key: {"type": kind} for key, kind in self.fields.items()},
            "required": list(self.keys),
            "additionalProperties": False,
        }

    def shape(self) -> str:
        """The object with placeholders to fill in."""
        pairs = (f'"{key}": {_PLACEHOLDERS[kind]}' for key, kind in self.fields.items())
        return "{" + ", ".join(pairs) + "}"


@dataclass(frozen=True, slots=True)
class ObjectReading:
    """What one reply says.

    Attributes:
        outcome: `read`, `refused` (the model declined) or `unreadable` (worth one repair).
        value: the object as it came, its keys not yet checked; empty unless read.
        problem, detail: why there is no object; see `reading.Vote`.
    """

    outcome: Literal["read", "refused", "unreadable"]
    value: Mapping[str, object] = field(default_factory=dict)
    problem: Problem | None = None
    detail: str | None = None


def read_object(
    reply: Reply, contract: ObjectContract, *, judged: Sequence[str] = ()
) -> ObjectReading:
    """The object in a reply; never raises, whatever the text holds.

    Accepted as in `read_vote`: the object alone, in one code fence, or with prose on one side,
    unless it may be quoted from one of the texts that were `judged`.
    """
    ending = (reply.finish_reason or "").strip().lower()
    text = reply.text if reply.text is not None else ""
    if ending in _TRUNCATED:
        cut = f"the reply ended by length after {len(text)} characters"
        return _without("unreadable", "truncated", cut)
    if ending in _FILTERED:
        return _without("refused", "content_filter", f"the endpoint ended the reply: {ending}")
    if reply.refusal and reply.refusal.strip(_BLANK):
        return _without("refused", "refusal", f"the model declined: {reply.refusal[:400]}")
    if not text.strip().strip(_BLANK):
        if ending in _TOOL_CALL:
            return _without("unreadable", "tool_call", "the reply is a tool call without text")
        return _without("unreadable", "empty", "the reply has no text")
    if len(text) > MAX_REPLY_CHARS:
        much = f"the reply has {len(text)} characters; at most {MAX_REPLY_CHARS} are read"
        return _without("unreadable", "too_large", much)
    form = Contract(criteria=contract.keys, low=0, high=1, abstained=False, rationale=False)
    try:
        found = locate(text, form, judged)
        refuse_quotation(text, found, contract.keys, judged)
    except Unreadable as fault:
        if fault.is_prose and _declines(text):
            return _without("refused", "refusal", f"the model declined: {text.strip()[:400]}")
        return _without("unreadable", fault.problem, fault.detail)
    if not isinstance(found.value, dict):
        rule = f"the reply must be a JSON object, got {_kind(found.value)}"
        return _without("unreadable", "wrong_type", rule)
    return ObjectReading("read", {str(key): _plain(item) for key, item in found.value.items()})


def object_faults(
    value: Mapping[str, object], contract: ObjectContract
) -> list[tuple[str, Problem, str]]:
    """Every departure from the contract, as (key, problem, sentence)."""
    faults: list[tuple[str, Problem, str]] = []
    for key, kind in contract.fields.items():
        if key not in value:
            faults.append((key, "missing_key", "is missing"))
        elif type(value[key]) is not (str if kind == "string" else bool):
            wanted = "a string" if kind == "string" else "true or false"
            faults.append((key, "wrong_type", f"must be {wanted}, got {_kind(value[key])}"))
    extra = [key for key in value if key not in contract.fields]
    faults.extend((key[:60], "extra_key", "was not asked for") for key in extra)
    return faults


def described_object(contract: ObjectContract) -> str:
    """The contract in words, for the system message."""
    return (
        "Reply with a single JSON object: nothing before it, nothing after it, no code block. It "
        f"has exactly these keys: {', '.join(json.dumps(key) for key in contract.keys)}.\n"
        f"The shape, with placeholders to fill in: {contract.shape()}"
    )


def _plain(item: object) -> object:
    if type(item) is str:
        return _storable(item)
    if isinstance(item, str):
        # The reader keeps 7.0, 1e999 and NaN as they were written; they must not pass for text.
        number = float(item)
        return number if math.isfinite(number) else None
    return item


def _declines(text: str) -> bool:
    sentences, _ = kept_sentences(text[:2_000])
    words = sum(len(sentence.words) for sentence in sentences)
    return is_refusal([sentence.text for sentence in sentences], words)


def _without(
    outcome: Literal["refused", "unreadable"], problem: Problem, detail: str
) -> ObjectReading:
    vote = _unread(outcome, problem, detail)  # makes the sentence safe to print
    return ObjectReading(outcome, {}, vote.problem, vote.detail)
