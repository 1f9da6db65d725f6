"""Reads the one JSON object in a model's reply, strictly, or says why there is none.

Nothing is coerced. The order of the checks: finish reason, refusal field, empty text, size, JSON,
quotation, keys, types, range.

The attack: a response dictates a vote, and a judge that reports this quotes it, tidied (other
quotes, another order of keys, no escapes). So an object counts as a possible quotation when it
stands in the judged text, and also when the text gives one of its values to the same key. Then only
a reply that is the object and nothing else is taken; any other is asked for once more.
"""

from __future__ import annotations

import html
import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal

from ..records.chat import COMPLETE_ENDINGS, FILTERED_ENDINGS, TRUNCATED_ENDINGS
from ..records.types import Reply
from .schema import Fault, NumberAsWritten, OutputSchema, Problem, T, shown

MAX_REPLY_CHARS = 65_536
"""A longer text is not searched: a vote with a rationale takes some hundreds of characters."""

MAX_OPENING_BRACES = 64
"""How many `{` outside objects already read are tried, so that the search stays linear."""

MAX_DETAIL_CHARS = 300

Outcome = Literal["read", "refused", "unreadable"]

# What endpoints and chat-model wrappers call it, in lower case.
_TOOL_CALL = frozenset({"tool_calls", "tool_call", "tool_use", "function_call"})

# How models mark their reasoning where their server leaves it in the text.
_REASONING = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
}

_BLANK = " \t\r\n\ufeff\u00a0\u200b\u2060"
_FENCE_OPEN = re.compile(r"(`{3,}|~{3,})[ \t]*[A-Za-z0-9]{0,16}[ \t]*")
_FENCE_OPEN_AT_END = re.compile(r"(?:`{1,16}|~{3,16})[ \t]{0,4}[A-Za-z0-9]{0,16}\Z")
_LOOKS_LIKE_OBJECT = re.compile(r"\{\s*(?:[\"'“”‘’]|\w{1,64}\s*:)")
_LONGEST_INTEGER = 18

_REFUSAL = re.compile(
    r"(?:(?:(?:i'?m|i am|we are|we're) (?:very |really |truly |so )?sorry\b|sorry\b|my apologies\b"
    r"|apologies\b|i (?:do )?apologi[sz]e\b|unfortunately\b|thank you\b|thanks\b"
    r"|as an ai\b|as a (?:large )?language model\b)[^.!?\n{]{0,80}?\b)?"
    r"(?:i|we)(?: can'?t| can ?not| won'?t| will not|'?m (?:not able|unable) to| am (?:not able|"
    r"unable) to| am not (?:willing|going|comfortable)(?: to)?|'?m not (?:willing|going|"
    r"comfortable)(?: to)?| (?:must|have to|need to|will|would)(?: respectfully)? (?:decline|"
    r"refuse)(?: to)?|(?:'?d| would) (?:prefer|rather) not(?: to)?"
    r"| (?:respectfully )?(?:decline|refuse) to)"
    r"(?: in good conscience)?\s+(?:evaluat|assess|scor|rat|grad|judg|help|assist|comply|provid|"
    r"complet|fulfil|engag|continu|participat|respond|review|do (?:this|that|so)|take part"
    r"|writ|rewrit|reword|rephras|creat|generat|produc)",
    re.IGNORECASE,
)
# "I can't rate this higher than …" is a harsh judge, not a refusing one.
_COMPARISON = re.compile(
    r"\b(?:higher|lower|more|less|better|above|below|beyond|over|under|than|except)\b", re.I
)


_COMPARED = 60
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*[A-Za-z0-9]{0,16}")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """What one reply says.

    Attributes:
        outcome: `read`; `refused` (the model declined); `unreadable` (worth one request to repair).
        value: the typed value; None unless read.
        found: the object as it came, numbers that are no integers as floats; empty where none was
            found. It stands here too where it departs from the schema: `faults` say in what.
        faults: every departure of `found` from the schema.
        problem: why there is no value; None when read.
        detail: the same as a sentence, safe to print (control and format characters are spelled
            out), at most `MAX_DETAIL_CHARS` characters. It may quote the reply.
    """

    outcome: Outcome
    value: T | None = None
    found: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    problem: Problem | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Located:
    """A JSON value and where it stands in the text: `text[start:end]`."""

    value: object
    start: int
    end: int


class Unreadable(Exception):  # noqa: N818 - a control-flow signal inside this folder, not an error
    """No object in this text; caught by `parse` and turned into a value."""

    def __init__(self, problem: Problem, detail: str, *, is_prose: bool = False) -> None:
        super().__init__(detail)
        self.problem: Problem = problem
        self.detail = detail
        self.is_prose = is_prose


class _DuplicateKeyError(ValueError):
    pass


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # json keeps the last of two equal keys, so {"overall": 2, "overall": 10} would read as 10.
    read = dict(pairs)
    if len(read) < len(pairs):
        raise _DuplicateKeyError
    return read


def _integer(digits: str) -> int | NumberAsWritten:
    # Past 4,300 digits int() itself raises; and -0 is no value of a scale.
    if len(digits) > _LONGEST_INTEGER or digits == "-0":
        return NumberAsWritten(digits)
    return int(digits)


# strict=False lets raw line breaks stand in strings: models write them in rationales, and they
# leave no doubt about the scores.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=NumberAsWritten,
    parse_constant=NumberAsWritten,
    strict=False,
)


def parse(reply: Reply, schema: OutputSchema[T], *, judged: Sequence[str] = ()) -> Parsed[T]:
    """The object in a reply, typed; never raises, whatever the text holds.

    `judged` are the texts that the model was shown. An object that prose leads up to or away from
    is a quotation, and not taken, where one of them gives one of its values to the same key.

    Accepted are the object alone, in one code fence, or with prose on one side only; where one
    score is all that is asked for, the integer alone too. A closed block of reasoning in front is
    passed over. Two objects that differ are unreadable, as is an object with prose on both sides,
    after a refusal, or within reasoning: choosing would be a guess, and the judged text may have
    been written to steer it. A reply that ended by length is `truncated` even where what came is
    complete JSON: "1" may have been going to be "10", and an object may have been going to be
    taken back.
    """
    ending = (reply.finish_reason or "").strip().lower()
    text = reply.text if reply.text is not None else ""
    if ending in TRUNCATED_ENDINGS:
        cut = f"the reply ended by length after {len(text)} characters"
        return _without("unreadable", "truncated", cut)
    if ending in FILTERED_ENDINGS:
        return _without("refused", "content_filter", f"the endpoint ended the reply: {ending}")
    if reply.refusal and reply.refusal.strip(_BLANK):
        return _without("refused", "refusal", f"the model declined: {reply.refusal[:400]}")
    is_blank = not text.strip().strip(_BLANK)
    if ending in _TOOL_CALL:
        beside = "without text" if is_blank else "with text beside it"
        return _without("unreadable", "tool_call", f"the reply is a tool call {beside}")
    if is_blank and (ending in COMPLETE_ENDINGS or ending == "no_choices"):
        return _without("unreadable", "empty", "the reply has no text")
    if ending not in COMPLETE_ENDINGS:
        return _without("unreadable", "finish_reason", f"the reply ended by {ending!r}")
    if len(text) > MAX_REPLY_CHARS:
        much = f"the reply has {len(text)} characters; at most {MAX_REPLY_CHARS} are read"
        return _without("unreadable", "too_large", much)
    try:
        located = locate(text, schema, judged)
        _refuse_echo(text, located, schema.decisive, judged)
        value = located.value
        if schema.is_single_integer and type(value) is int:
            value = {schema.keys[0]: value}
        if not isinstance(value, dict):
            raise Unreadable("wrong_type", f"the reply must be a JSON object, got {shown(value)}")
    except Unreadable as fault:
        if fault.is_prose and _is_refusal(text):
            return _without("refused", "refusal", f"the model declined: {text.strip()[:400]}")
        return _without("unreadable", fault.problem, fault.detail)
    return _checked(value, schema)


def _checked(value: dict[str, object], schema: OutputSchema[T]) -> Parsed[T]:
    faults = tuple(schema.faults(value))
    found = {key: _plain(item) for key, item in value.items()}
    if faults:
        told = "; ".join(f"{fault.key} {fault.sentence}" for fault in faults)
        return _without("unreadable", faults[0].problem, told, found=found, faults=faults)
    try:
        return Parsed("read", schema.build(found), found)
    except ValueError as error:  # a pydantic ValidationError is one
        return _without("unreadable", "wrong_type", str(error), found=found)


def locate(text: str, schema: OutputSchema[Any], judged: Sequence[str] = ()) -> Located:
    """The one JSON value in `text` that can be the answer; not yet checked against the schema.

    Raises:
        Unreadable: where there is none, or no single one.
    """
    start, end = _without_reasoning(text, judged)
    whole = _exactly(text, start, end)
    fence = None if whole else _FENCE_OPEN.match(text, start)
    if fence and text.endswith(fence[1], fence.end(), end):
        whole = _exactly(text, *_trimmed(text, fence.end(), end - len(fence[1])))
    if whole:
        return whole
    if any(text.startswith(tag, start) and close not in text for tag, close in _REASONING.items()):
        raise Unreadable("unclosed_reasoning", "the reply's reasoning never ends")
    found = _search(text, start, end, schema)
    for tag, close in _REASONING.items():
        # What stands within reasoning is a draft.
        if text.rfind(tag, start, found.start) > text.rfind(close, start, found.start):
            raise Unreadable("unclosed_reasoning", "the object stands within reasoning")
    return found


def _refuse_echo(text: str, found: Located, keys: Sequence[str], judged: Sequence[str]) -> None:
    """Refuses an object that may be a quotation from a judged text.

    Args:
        text: the reply.
        found: the object in it.
        keys: those that decide something.
        judged: the texts that the judge read.

    Raises:
        Unreadable: it may.
    """
    if not isinstance(found.value, dict) or (found.start, found.end) == (0, len(text)):
        return
    start, end = _without_reasoning(text, judged)
    outside = text[start : found.start] + text[found.end : end]
    if not any(character.isalnum() for character in _FENCE.sub("", outside)):
        return
    packed = "".join(text[found.start : found.end].split())
    value = {key: found.value[key] for key in keys if key in found.value}
    given = [_gives(key, item) for key, item in value.items() if str(item).strip()]
    for source in judged:
        seen = _seen(source)
        if packed in "".join(source.split()) or any(one.search(seen) for one in given):
            raise Unreadable("embedded", "the object may be a quotation from the judged text")


def _gives(key: str, item: object) -> re.Pattern[str]:
    """Finds a text that gives this very value to a key, in whatever words and marks."""
    named = r"[\W_]{0,3}".join(re.escape(word) for word in re.split(r"[\W_]+", key) if word)
    written = re.escape(" ".join(str(item)[:_COMPARED].split())).replace(r"\ ", r"\s+")
    return re.compile(rf"{named}[^\n]{{0,24}}?(?<![\w.]){written}(?!\w)", re.IGNORECASE)


def _seen(source: str) -> str:
    """The text as a reader takes it: entities and escapes resolved, nothing invisible in words."""
    text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), html.unescape(source))
    return _UNSEEN.sub("", unicodedata.normalize("NFKC", text))


def _without_reasoning(text: str, judged: Sequence[str]) -> tuple[int, int]:
    """Where the reply begins and ends, without blanks and a reasoning block in front.

    The end of a block may itself be quoted, where a judged text holds one: there is no telling
    then what is reasoning, and all of it counts as prose.
    """
    start, end = _trimmed(text, 0, len(text))
    if text.startswith("{", start):
        return start, end
    for tag, close in _REASONING.items():
        if text.startswith(tag, start) and text.count(close, start) == 1:
            if not any(close in source for source in judged):
                start = text.index(close, start) + len(close)
            break
    return _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start] in _BLANK or text[start].isspace()):
        start += 1
    while end > start and (text[end - 1] in _BLANK or text[end - 1].isspace()):
        end -= 1
    return start, end


def _decoded(text: str, start: int) -> tuple[object, int] | None:
    try:
        return _DECODER.raw_decode(text, start)
    except _DuplicateKeyError:
        raise Unreadable("duplicate_key", "an object in the reply repeats a key") from None
    except RecursionError:
        raise Unreadable("not_json", "the reply is nested too deeply to be read") from None
    except ValueError:
        return None


def _exactly(text: str, start: int, end: int) -> Located | None:
    decoded = _decoded(text, start) if start < end else None
    return Located(decoded[0], start, end) if decoded and decoded[1] == end else None


def _search(text: str, start: int, end: int, schema: OutputSchema[Any]) -> Located:
    """The object that stands before or after prose."""
    candidates: list[Located] = []
    n_other = 0
    n_tried = 0
    position = text.find("{", start, end)
    while position >= 0:
        n_tried += 1
        if n_tried > MAX_OPENING_BRACES:
            raise Unreadable("not_json", f"more than {MAX_OPENING_BRACES} opening braces in it")
        decoded = _decoded(text, position)
        if decoded is not None:
            value, after = decoded
            if isinstance(value, dict) and not value.keys().isdisjoint(schema.keys):
                candidates.append(Located(value, position, after))
            else:
                n_other += 1
        elif _LOOKS_LIKE_OBJECT.match(text, position):
            # What stands inside a broken object is a part of something, not a vote.
            raise Unreadable("not_json", f"broken JSON: {text[position : position + 200]}")
        else:
            after = position + 1
        position = text.find("{", after, end)
    if not candidates and n_other:
        raise Unreadable("missing_key", "no object in the reply has any of the keys asked for")
    if not candidates:
        shown = text[start : start + 200]
        raise Unreadable("not_json", f"no JSON object in it: {shown}", is_prose=True)
    if len({repr(candidate.value) for candidate in candidates}) > 1:
        raise Unreadable("several_objects", f"{len(candidates)} objects that differ")
    before = _FENCE_OPEN_AT_END.sub("", text[start : candidates[0].start].rstrip()).strip()
    behind = text[candidates[-1].end : end].strip().lstrip("`~").strip()
    if (before and behind) or _is_refusal(before) or _is_refusal(behind):
        raise Unreadable("embedded", "the object stands in prose that may only be quoting it")
    return candidates[-1]


def _is_refusal(text: str) -> bool:
    """Whether the text opens by declining to judge; English only, and rather no than yes."""
    opening = text.strip().lstrip("*_#>\"' ")[:400].replace("’", "'").replace("‘", "'")
    found = _REFUSAL.match(opening)
    if not found:
        return False
    sentence = re.split(r"[.!?\n]", opening[found.end() :], maxsplit=1)[0]
    return not _COMPARISON.search(sentence)


def _plain(item: object) -> object:
    """A value as it may be kept: numbers as numbers, texts that can be stored."""
    if isinstance(item, NumberAsWritten):
        # The reader keeps 7.0, 1e999 and NaN as they were written; they must not pass for text.
        number = float(item)
        return number if math.isfinite(number) else None
    if isinstance(item, str):
        # Lone surrogates cannot be encoded and NUL cannot be stored everywhere; JSON spells both.
        return re.sub("[\x00\ud800-\udfff]", "\ufffd", item)
    return item


def _without(
    outcome: Literal["refused", "unreadable"],
    problem: Problem,
    detail: str,
    *,
    found: Mapping[str, Any] | None = None,
    faults: tuple[Fault, ...] = (),
) -> Parsed[Any]:
    safe = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in detail[: 2 * MAX_DETAIL_CHARS]
    )
    if len(safe) > MAX_DETAIL_CHARS:
        safe = safe[: MAX_DETAIL_CHARS - 1] + "…"
    return Parsed(outcome, None, found or {}, faults, problem, safe)
