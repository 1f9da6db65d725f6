"""What a reply must be: one flat JSON object, as a JSON schema, in words, and as checks.

    OutputSchema[dict]        object_schema({"reason": TEXT, "is_fit": FLAG})
    OutputSchema[MyModel]     model_schema(MyModel), of a flat pydantic model
    OutputSchema[ParsedScore]  judgment_schema(("clarity", "depth"), 1, 10, abstained=True, ...)

The checks coerce nothing: "7", 7.0 and true are no integers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast, get_args

from pydantic import BaseModel

from ..errors import InputError, InputFault
from ..records.types import OVERALL
from .models.request import JsonSchema

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

RATIONALE = "rationale"
ABSTAINED = "abstained"

MAX_HIGH = 1_000_000
"""No scale of judgments is longer, and arithmetic on its digits stays small."""

Problem = Literal[
    "empty",
    "truncated",
    "content_filter",
    "finish_reason",
    "refusal",
    "tool_call",
    "too_large",
    "unclosed_reasoning",
    "not_json",
    "several_objects",
    "embedded",
    "duplicate_key",
    "missing_key",
    "extra_key",
    "wrong_type",
    "out_of_range",
]
"""Why no object was read. `content_filter` and `refusal` are the model declining; `finish_reason`
is a reply that ended in a way we do not know, or by an error; `embedded` is an object with prose
on both sides, or behind a refusal, which may as well be a quotation."""

PROBLEMS: tuple[Problem, ...] = get_args(Problem)


class Fault(NamedTuple):
    """One departure from a schema: `sentence` follows the key, as in "clarity is missing"."""

    key: str
    problem: Problem
    sentence: str


class NumberAsWritten(str):
    """A number of a reply that is no plain integer, as it was written: 7.0, 1e1, NaN, -0, 10^30."""

    __slots__ = ()


_PYTHON_TYPE = {"string": str, "boolean": bool, "integer": int}
_WANTED = {"string": "a string", "boolean": "true or false", "integer": "an integer"}


@dataclass(frozen=True, slots=True)
class Value:
    """What one key of the object holds.

    Attributes:
        type: JSON type.
        low, high: ends of an integer's range, both included.
        choices: the only texts allowed, where there are such.
    """

    type: Literal["string", "boolean", "integer"]
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()

    def json_schema(self, *, lists_range: bool = False) -> dict[str, Any]:
        """The property in the JSON schema.

        Args:
            lists_range: name every integer of the range in the place of its ends.
        """
        if lists_range and self.low is not None and self.high is not None:
            return {"type": self.type, "enum": list(range(self.low, self.high + 1))}
        rules = {"minimum": self.low, "maximum": self.high, "enum": list(self.choices) or None}
        return {"type": self.type} | {k: rule for k, rule in rules.items() if rule is not None}

    def placeholder(self) -> str:
        """What stands for it in the shape of the object."""
        if self.type == "integer":
            return f"<integer {self.low}-{self.high}>"
        return '"<text>"' if self.type == "string" else "<true or false>"

    def fault(self, given: object) -> tuple[Problem, str] | None:
        """What is wrong with a value given for it."""
        if type(given) is not _PYTHON_TYPE[self.type]:
            return "wrong_type", f"must be {_WANTED[self.type]}, got {shown(given)}"
        if self.choices and given not in self.choices:
            return "wrong_type", f"must be one of {', '.join(self.choices)}"
        low, high = self.low, self.high
        if low is not None and high is not None and not low <= cast("int", given) <= high:
            return "out_of_range", f"must be from {low} to {high}, got {given}"
        return None


TEXT = Value("string")
FLAG = Value("boolean")


@dataclass(frozen=True, eq=False)
class OutputSchema(Generic[T]):
    """One flat JSON object with these keys in this order.

    Attributes:
        fields: key to what it holds.
        build: makes the typed value of an object that has passed the checks; a ValueError that it
            raises says what else is wrong with it.
        excused_by: a flag of the object that, where true, lets integers be null or left out.
    """

    fields: Mapping[str, Value]
    build: Callable[[dict[str, Any]], T]
    excused_by: str = ""

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Every key, in the order asked for."""
        return tuple(self.fields)

    @cached_property
    def criteria(self) -> tuple[str, ...]:
        """The keys that hold a score."""
        return tuple(key for key, value in self.fields.items() if value.type == "integer")

    @cached_property
    def decisive(self) -> tuple[str, ...]:
        """The keys for which a quotation is searched: the scores, or every key where none is."""
        return self.criteria or self.keys

    @property
    def low(self) -> int:
        """Lower end of the scale of scores; 0 where there are none."""
        return (self.fields[self.criteria[0]].low if self.criteria else None) or 0

    @property
    def high(self) -> int:
        """Upper end of the scale of scores; 0 where there are none."""
        return (self.fields[self.criteria[0]].high if self.criteria else None) or 0

    @property
    def is_single_integer(self) -> bool:
        """Whether a bare integer says everything: one overall score, no flag, no rationale."""
        return self.keys == (OVERALL,) and self.criteria == self.keys

    @cached_property
    def json_schema(self) -> JsonSchema:
        """The JSON Schema, in the shape that strict structured output accepts; always one object.

        No defaults, no nesting, no references, every key required: strict modes reject the first
        and some providers' tool paths mangle the rest. The order of the properties is the order
        of the reply, so a rationale is written before the scores that it argues for. Its text is
        part of the ledger's key.
        """
        return self._schema(lists_range=False)

    @cached_property
    def grammar_schema(self) -> JsonSchema:
        """The same for servers that make a grammar of it, which holds no minimum and maximum.

        llama.cpp's would let a score of 467803275 pass; the list of the scale's integers holds.
        """
        return self._schema(lists_range=True)

    def _schema(self, *, lists_range: bool) -> JsonSchema:
        return JsonSchema(
            type="object",
            properties={
                key: value.json_schema(lists_range=lists_range)
                for key, value in self.fields.items()
            },
            required=list(self.keys),
            additionalProperties=False,
        )

    def shape(self, **placeholders: str) -> str:
        """The object with placeholders to fill in; others than the usual ones by key."""
        pairs = (
            f'"{key}": {placeholders.get(key) or value.placeholder()}'
            for key, value in self.fields.items()
        )
        return "{" + ", ".join(pairs) + "}"

    def described(self) -> str:
        """The form in words, for a system message."""
        return (
            "Reply with a single JSON object: nothing before it, nothing after it, no code block. "
            f"It has exactly these keys: {', '.join(json.dumps(key) for key in self.keys)}.\n"
            f"The shape, with placeholders to fill in: {self.shape()}"
        )

    def faults(self, value: Mapping[str, object]) -> list[Fault]:
        """Every departure of an object from this form, missing and foreign keys first."""
        excused = self.excused_by and value.get(self.excused_by) is True
        may_miss = self.criteria if excused else ()
        found = [
            Fault(key, "missing_key", "is missing")
            for key in self.fields
            if key not in value and key not in may_miss
        ]
        foreign = [key for key in value if key not in self.fields]
        found += [Fault(key[:40], "extra_key", "was not asked for") for key in foreign[:5]]
        for key, rule in self.fields.items():
            if key in value and not (value[key] is None and key in may_miss):
                wrong = rule.fault(value[key])
                if wrong:
                    found.append(Fault(key, *wrong))
        return found


def object_schema(fields: Mapping[str, Value]) -> OutputSchema[dict[str, Any]]:
    """The schema of an object that is taken as a dict."""
    return OutputSchema(fields, dict)


@lru_cache(maxsize=64)
def model_schema(model: type[M]) -> OutputSchema[M]:
    """The schema of a flat pydantic model: str, bool, int with `ge` and `le`, Literal of texts.

    Validators of the model see an object that has passed the checks; what they raise makes the
    reply unreadable.

    Raises:
        TypeError: for a field of another kind.
    """
    fields: dict[str, Value] = {}
    for key, given in model.model_json_schema()["properties"].items():
        choices = given.get("enum") or ([given["const"]] if "const" in given else [])
        if given.get("type") not in ("string", "boolean", "integer"):
            raise TypeError(f"{model.__name__}.{key}: must be a str, bool, int or Literal of texts")
        fields[key] = Value(
            given["type"], given.get("minimum"), given.get("maximum"), tuple(choices)
        )
    return OutputSchema(fields, model.model_validate)


@dataclass(frozen=True, slots=True)
class ParsedScore:
    """What a judge says of a response.

    Attributes:
        scores: criterion to integer on the scale; where abstained, what was given.
        rationale: the judge's words, where they were asked for.
        abstained: whether the judge reports that the response declined.
    """

    scores: dict[str, int] = field(default_factory=dict)
    rationale: str | None = None
    abstained: bool = False


def judgment_schema(
    criteria: tuple[str, ...], low: int, high: int, *, abstained: bool, rationale: bool
) -> OutputSchema[ParsedScore]:
    """The schema of a judge's reply.

    Args:
        criteria: dimension ids in rubric order, or ("overall",) in the single-integer modes.
        low, high: the scale's ends, both included; 0 <= low < high <= `MAX_HIGH`.
        abstained: whether the flag is asked for (mode `dimensions`).
        rationale: whether a rationale string comes first.

    Raises:
        InputError: for an empty, repeated or reserved criterion, or an unusable scale.
    """
    faults = [
        InputFault("output schema", f"must be {rule}, got {found}", name)
        for name, rule, found in _judgment_faults(criteria, low, high)
    ]
    if faults:
        raise InputError(faults)
    score = Value("integer", low, high)
    fields = {RATIONALE: TEXT} if rationale else {}
    fields |= dict.fromkeys(criteria, score)
    fields |= {ABSTAINED: FLAG} if abstained else {}

    def build(value: dict[str, Any]) -> ParsedScore:
        scores = {key: value[key] for key in criteria if value.get(key) is not None}
        return ParsedScore(scores, value.get(RATIONALE), value.get(ABSTAINED) is True)

    return OutputSchema(fields, build, excused_by=ABSTAINED if abstained else "")


def _judgment_faults(criteria: tuple[str, ...], low: int, high: int) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
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
    for name, end in (("low", low), ("high", high)):
        if type(end) is not int:
            found.append((name, "an integer", repr(end)))
        elif end < 0:
            # A minus sign is often a token of its own, and the papers' scales have none.
            found.append((name, "0 or more", "a negative number"))
        elif end > MAX_HIGH:
            found.append((name, f"at most {MAX_HIGH}", "more"))
    if not any(name in ("low", "high") for name, _, _ in found) and low >= high:
        found.append(("high", f"greater than low ({low})", str(high)))
    return found


def shown(value: object) -> str:
    """A value of a reply in a sentence about it."""
    if isinstance(value, NumberAsWritten):
        return value[:24]
    if isinstance(value, str):
        return f'the string "{value[:24]}"'
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return json.dumps(value)  # true, false, null or a number


_WHAT_WAS_WRONG: dict[str, str] = {
    "empty": "was empty",
    "truncated": "was cut off by the length limit before it ended",
    "finish_reason": "broke off",
    "tool_call": "was a tool call instead of text",
    "too_large": "was far too long",
    "unclosed_reasoning": "never came to the end of its reasoning",
    "several_objects": "held several JSON objects that differ",
    "embedded": "held its JSON object in the middle of other text",
    "duplicate_key": "used a key more than once",
    "missing_key": "left out a required key",
    "extra_key": "had a key that was not asked for",
    "wrong_type": "had a value of the wrong type",
    "out_of_range": "had a number outside the scale",
}


def what_was_wrong(problem: str) -> str:
    """What was wrong with a reply, as the end of a sentence that quotes nothing of it."""
    return _WHAT_WAS_WRONG.get(problem, "could not be read as a JSON object")


def form_repair(problem: str, schema: OutputSchema[Any]) -> str:
    """The request to send the same content in the right form, as the text of a user message.

    Only the code of the problem is told: its detail may quote the texts shown, which must not
    return outside their marks.
    """
    return (
        f"Your last reply {what_was_wrong(problem)}. Send the JSON object alone, with no other "
        f"text and no code block, in this shape: {schema.shape()}\nThis is about the form only."
    )
