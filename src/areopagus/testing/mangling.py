"""Votes gone wrong: a proper reply turned into one with a given fault in its text."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .exchange import ServedReply
from .faults import TEXT_FAULTS, Fault

HUGE_BYTES = 10 * 1024 * 1024
NESTING = 100_000
"""Deeper than Python's recursion limit, which a careless reader meets."""

_REFUSAL = "I would rather not rate this text."
_GREEK = (
    "Η απάντηση είναι προσεγμένη αλλά όχι πλήρης, και θα της έδινα επτά στα δέκα, "
    "χωρίς να μπορώ να το γράψω με άλλον τρόπο."
)


def mangled(reply: ServedReply, fault: Fault) -> ServedReply:
    """The reply with a fault of `TEXT_FAULTS` worked into it, `reply.fault` cleared.

    Faults in a score take the first integer of the reply's JSON object; a reply that is no
    JSON object is first replaced by `{"overall": 7}`.

    Raises:
        ValueError: for a fault that is not in the text.
    """
    if fault not in TEXT_FAULTS:
        raise ValueError(f"{fault} is not a fault of the text")
    clean = replace(reply, fault=None)
    whole = _WHOLE.get(fault)
    return whole(clean) if whole else replace(clean, text=_in_score(clean, fault))


def _in_score(reply: ServedReply, fault: Fault) -> str:
    vote = _vote(reply)
    name = _first_score(vote)
    score = vote[name]
    if fault is Fault.DUPLICATE_KEYS:
        # The first value is the honest one; most readers keep the last.
        return json.dumps(vote)[:-1] + f', "{name}": {score + 1}}}'
    if fault is Fault.DEEPLY_NESTED:
        deep = "[" * NESTING + "]" * NESTING
        return json.dumps({**vote, name: "@"}).replace('"@"', deep, 1)
    if fault is Fault.MISSING_KEY:
        del vote[name]
    elif fault is Fault.EXTRA_KEY:
        vote["unasked_remark"] = "this key is not in the schema"
    else:
        vote[name] = _WRONG_SCORE[fault](score)
    return json.dumps(vote)


def _vote(reply: ServedReply) -> dict[str, Any]:
    try:
        vote = json.loads(reply.text or "")
    except ValueError:
        vote = None
    if isinstance(vote, dict) and any(type(value) is int for value in vote.values()):
        return vote
    return {"overall": 7}


def _first_score(vote: dict[str, Any]) -> str:
    return next(name for name, value in vote.items() if type(value) is int)


def _halved(text: str) -> str:
    return text[: max(1, len(text) // 2)]


_WRONG_SCORE: dict[Fault, Callable[[int], Any]] = {
    Fault.SCORE_AS_STRING: str,
    Fault.SCORE_AS_FLOAT: float,
    Fault.SCORE_AS_FRACTION: lambda score: score + 0.5,
    Fault.SCORE_AS_BOOLEAN: lambda score: True,
    Fault.SCORE_NULL: lambda score: None,
    Fault.OUT_OF_RANGE: lambda score: score + 1000,
    Fault.NOT_A_NUMBER: lambda score: float("nan"),
}

_WHOLE: dict[Fault, Callable[[ServedReply], ServedReply]] = {
    Fault.CONTENT_NULL: lambda reply: replace(reply, text=None),
    Fault.REFUSAL: lambda reply: replace(reply, text=None, refusal=reply.refusal or _REFUSAL),
    Fault.CUT_BY_LENGTH: lambda reply: replace(
        reply, text=_halved(json.dumps(_vote(reply))), finish_reason="length"
    ),
    Fault.CONTENT_FILTER: lambda reply: replace(reply, text="", finish_reason="content_filter"),
    Fault.HUGE: lambda reply: replace(reply, text="x" * HUGE_BYTES + (reply.text or "")),
    Fault.FENCED: lambda reply: replace(reply, text=f"```json\n{reply.text or ''}\n```"),
    Fault.PROSE_BEFORE: lambda reply: replace(
        reply, text=f"Having read it twice, this is my vote:\n\n{reply.text or ''}"
    ),
    Fault.OTHER_LANGUAGE: lambda reply: replace(reply, text=_GREEK),
}
