"""What a reply must be: as a schema, in words, and as the one request to repair it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..errors import InputError, InputFault
from ..records.types import OVERALL

RATIONALE = "rationale"
ABSTAINED = "abstained"

MAX_HIGH = 1_000_000
"""No scale of judgments is longer, and arithmetic on its digits stays small."""

Problem = Literal[
    "empty",
    "truncated",
    "content_filter",
    "refusal",
    "tool_call",
    "too_large",
    "not_json",
    "several_objects",
    "embedded",
    "duplicate_key",
    "missing_key",
    "extra_key",
    "wrong_type",
    "out_of_range",
]
"""Why no vote was read. `content_filter` and `refusal` are the judge declining; `embedded` is an
object with prose on both sides, or behind a refusal, which may as well be a quotation."""

PROBLEMS: tuple[Problem, ...] = get_args(Problem)


@dataclass(frozen=True, slots=True)
class Contract:
    """What a reply must be: one flat JSON object with these keys in this order.

    Attributes:
        criteria: dimension ids in rubric order, or ("overall",) in the single-integer modes.
        low, high: the scale's ends, both included; 0 <= low < high <= `MAX_HIGH`.
        abstained: whether the flag is asked for (mode `dimensions`).
        rationale: whether a rationale string comes first.

    Raises:
        InputError: for an empty, repeated or reserved criterion, or an unusable scale.
    """

    criteria: tuple[str, ...]
    low: int
    high: int
    abstained: bool
    rationale: bool

    def __post_init__(self) -> None:
        faults = [
            InputFault("contract", f"must be {rule}, got {found}", name)
            for name, rule, found in _faults(self)
        ]
        if faults:
            raise InputError(faults)

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key of the object, in the order asked for."""
        first = (RATIONALE,) if self.rationale else ()
        last = (ABSTAINED,) if self.abstained else ()
        return (*first, *self.criteria, *last)

    @property
    def is_single_integer(self) -> bool:
        """Whether a bare integer says everything: one overall score, no flag, no rationale."""
        return self.keys == (OVERALL,)


def _faults(contract: Contract) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    criteria = contract.criteria
    if not isinstance(criteria, tuple) or not criteria:
        found.append(("criteria", "a tuple of at least one id", repr(criteria)))
    else:
        repeated = [name for name, count in Counter(criteria).items() if count > 1]
        if repeated:
            found.append(("criteria", "different ids", f"{repeated[0]!r} more than once"))
        found.extend(
            ("criteria", f"an id other than {RATIONALE!r}, {ABSTAINED!r} and ''", repr(name))
            for name in criteria
            if name in (RATIONALE, ABSTAINED, "")
        )
    for name, end in (("low", contract.low), ("high", contract.high)):
        if type(end) is not int:
            found.append((name, "an integer", repr(end)))
        elif end < 0:
            # A minus sign is often a token of its own, and the papers' scales have none.
            found.append((name, "0 or more", "a negative number"))
        elif end > MAX_HIGH:
            found.append((name, f"at most {MAX_HIGH}", "more"))
    if not any(name in ("low", "high") for name, _, _ in found) and contract.low >= contract.high:
        found.append(("high", f"greater than low ({contract.low})", str(contract.high)))
    return found


def json_schema(contract: Contract) -> dict[str, Any]:
    """The contract as a flat JSON Schema, in the shape that strict structured output accepts.

    No defaults, no nesting, no references, every key required: strict modes reject the first and
    some providers' tool paths mangle the rest. The order of the properties is the order of the
    reply, so a rationale is written before the scores that it argues for.
    """
    properties: dict[str, Any] = {}
    for key in contract.keys:
        if key == RATIONALE:
            properties[key] = {"type": "string"}
        elif key == ABSTAINED:
            properties[key] = {"type": "boolean"}
        else:
            properties[key] = {
                "type": "integer",
                "minimum": contract.low,
                "maximum": contract.high,
            }
    return {
        "type": "object",
        "properties": properties,
        "required": list(contract.keys),
        "additionalProperties": False,
    }


def describe(contract: Contract) -> str:
    """The contract in words, for the system message; its example holds no number to anchor on."""
    several = len(contract.criteria) > 1
    lines = [
        "Reply with a single JSON object: nothing before it, nothing after it, no code block.",
        f"It has {'these keys' if len(contract.keys) > 1 else 'this key'} and no other:",
    ]
    if contract.rationale:
        lines.append(f'- "{RATIONALE}": a string of two to four sentences, written before scoring.')
    names = ", ".join(f'"{name}"' for name in contract.criteria)
    each = "each an integer" if several else "an integer"
    lines.append(
        f"- {names}: {each} from {contract.low} (lowest) to {contract.high} (highest), in plain "
        "digits, without quotation marks, decimals or a denominator."
    )
    if contract.abstained:
        lines.append(
            f'- "{ABSTAINED}": true if the response turns the prompt down instead of taking it up '
            "(it declines on whatever ground, or only talks about the question); false if it "
            "makes any real attempt at an answer, however weak. Give the "
            f"{'integers' if several else 'integer'} in both cases."
        )
    lines.append(f"The shape, with placeholders to fill in: {_shape(contract)}")
    return "\n".join(lines)


def _shape(contract: Contract) -> str:
    number = f"<integer {contract.low}-{contract.high}>"
    placeholders = {RATIONALE: '"<your reasons>"', ABSTAINED: "<true or false>"}
    fields = ", ".join(f'"{key}": {placeholders.get(key, number)}' for key in contract.keys)
    return "{" + fields + "}"


_WHAT_WAS_WRONG: dict[str, str] = {
    "empty": "was empty",
    "truncated": "was cut off by the length limit before it ended",
    "tool_call": "was a tool call instead of text",
    "too_large": "was far too long",
    "not_json": "could not be read as a JSON object",
    "several_objects": "held several JSON objects that differ",
    "embedded": "held its JSON object in the middle of other text",
    "duplicate_key": "used a key more than once",
    "missing_key": "left out a required key",
    "extra_key": "had a key that was not asked for",
    "wrong_type": "had a value of the wrong type",
    "out_of_range": "had a number outside the scale",
}


def repair_request(problem: str, contract: Contract) -> str:
    """The one request to repair an unreadable reply, as the text of a user message.

    Args:
        problem: the code of `Vote.problem`. Only the code is used: the vote's `detail` may quote
            the judged text, which must not return outside its marks.
        contract: what the reply should have been.
    """
    wrong = _WHAT_WAS_WRONG.get(problem, "could not be used")
    return (
        f"Your last reply {wrong}. Send the JSON object alone, with no other text and no code "
        f"block, in this shape: {_shape(contract)}\n"
        "This is about the form only: keep any score that you had already settled on, and change "
        "nothing else about your assessment."
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


def described_object(contract: ObjectContract) -> str:
    """The contract in words, for the system message."""
    return (
        "Reply with a single JSON object: nothing before it, nothing after it, no code block. It "
        f"has exactly these keys: {', '.join(json.dumps(key) for key in contract.keys)}.\n"
        f"The shape, with placeholders to fill in: {contract.shape()}"
    )
