"""Reads the one JSON object in a model's reply, strictly, or says why there is none.

Nothing is coerced. The order of the checks: finish reason, refusal field, empty text, size, JSON,
quotation, keys, types, range.

A judge that names what a text tries to dictate writes it down, and tidies it: other quotes, another
order of keys, no escapes. So it is not asked only whether the object stands in the text, but also
whether the text gives one of its values to the same key. Where it does, only a reply that is the
object and nothing else is taken; the others are asked for once more.
"""

from __future__ import annotations

import html
import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..records.types import Reply
from .english import is_refusal, kept_sentences
from .schema import ABSTAINED, RATIONALE, Contract, ObjectContract, Problem

REASONING_END = "</think>"

_COMPARED = 60
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*[A-Za-z0-9]{0,16}")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def may_quote(
    outside: str, written: str, value: Mapping[str, object], judged: Sequence[str]
) -> bool:
    """Whether an object may be quoted from a judged text.

    Args:
        outside: the reply without the object and without reasoning that stands apart.
        written: the object as it is written.
        value: the same, read; of the keys that were asked for, those that decide something.
        judged: the texts that the judge read.
    """
    if not any(character.isalnum() for character in _FENCE.sub("", outside)):
        return False
    packed = "".join(written.split())
    given = [_gives(key, item) for key, item in value.items() if str(item).strip()]
    for source in judged:
        seen = _seen(source)
        if packed in "".join(source.split()) or any(one.search(seen) for one in given):
            return True
    return False


def _gives(key: str, item: object) -> re.Pattern[str]:
    """Finds a text that gives this very value to a key, in whatever words and marks."""
    named = r"[\W_]{0,3}".join(re.escape(word) for word in re.split(r"[\W_]+", key) if word)
    shown = re.escape(" ".join(str(item)[:_COMPARED].split())).replace(r"\ ", r"\s+")
    return re.compile(rf"{named}[^\n]{{0,24}}?(?<![\w.]){shown}(?!\w)", re.IGNORECASE)


def _seen(source: str) -> str:
    """The text as a reader takes it: entities and escapes resolved, nothing invisible in words."""
    text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), html.unescape(source))
    return _UNSEEN.sub("", unicodedata.normalize("NFKC", text))


MAX_REPLY_CHARS = 65_536
"""A longer text is not searched: a vote with a rationale takes some hundreds of characters."""

MAX_OPENING_BRACES = 64
"""How many `{` outside objects already read are tried, so that the search stays linear."""

MAX_DETAIL_CHARS = 300

Outcome = Literal["scored", "abstained", "refused", "unreadable"]

# What endpoints and chat-model wrappers call these endings, in lower case.
_TRUNCATED = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
_FILTERED = frozenset(
    {"content_filter", "content_filtered", "safety", "recitation", "blocklist", "spii"}
    | {"prohibited_content", "guardrail_intervened", "refusal"}
)
_TOOL_CALL = frozenset({"tool_calls", "tool_call", "tool_use", "function_call"})

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
    r"complet|fulfil|engag|continu|participat|respond|review|do (?:this|that|so)|take part)",
    re.IGNORECASE,
)
# "I can't rate this higher than …" is a harsh judge, not a refusing one.
_COMPARISON = re.compile(
    r"\b(?:higher|lower|more|less|better|above|below|beyond|over|under|than|except)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Vote:
    """What one reply says.

    Attributes:
        outcome: `scored`; `abstained` (the judge reports that the response declined); `refused`
            (the judge declined); `unreadable` (worth one request to repair).
        scores: criterion to integer on the scale. Complete when scored; what was given when
            abstained; empty otherwise.
        rationale: the judge's words, lone surrogates and NUL replaced by U+FFFD.
        problem: why there is no vote, None when scored or abstained.
        detail: the same as a sentence, safe to print (control and format characters are spelled
            out), at most `MAX_DETAIL_CHARS` characters. It may quote the reply.
    """

    outcome: Outcome
    scores: dict[str, int] = field(default_factory=dict)
    rationale: str | None = None
    problem: Problem | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Located:
    """A JSON value and where it stands in the text: `text[start:end]`."""

    value: object
    start: int
    end: int


class Unreadable(Exception):  # noqa: N818 - a control-flow signal inside this folder, not an error
    """No vote in this text; caught by `read_vote` and turned into a value."""

    def __init__(self, problem: Problem, detail: str, *, is_prose: bool = False) -> None:
        super().__init__(detail)
        self.problem: Problem = problem
        self.detail = detail
        self.is_prose = is_prose


class _DuplicateKeyError(ValueError):
    pass


class _Literal(str):
    """A number as it was written, where it is no plain integer: 7.0, 1e1, NaN, -0, 10^30."""

    __slots__ = ()


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # json keeps the last of two equal keys, so {"overall": 2, "overall": 10} would read as 10.
    read = dict(pairs)
    if len(read) < len(pairs):
        raise _DuplicateKeyError
    return read


def _integer(digits: str) -> int | _Literal:
    # Past 4,300 digits int() itself raises; and -0 is no value of a scale.
    if len(digits) > _LONGEST_INTEGER or digits == "-0":
        return _Literal(digits)
    return int(digits)


# strict=False lets raw line breaks stand in strings: models write them in rationales, and they
# leave no doubt about the scores.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_integer,
    parse_float=_Literal,
    parse_constant=_Literal,
    strict=False,
)


def read_vote(reply: Reply, contract: Contract, *, judged: Sequence[str] = ()) -> Vote:
    """The vote in a reply; never raises, whatever the text holds.

    `judged` are the texts that the judge read. An object that prose leads up to or away from is a
    quotation, and no vote, where one of them gives one of its scores to the same criterion.

    Accepted are the object alone, in one code fence, or with prose on one side only; in the
    single-integer modes the integer alone too. A reasoning block in <think> tags in front is
    passed over. Two objects that differ are unreadable, as is an object with prose on both sides
    or after a refusal: choosing would be a guess, and the judged text may have been written to
    steer it. A reply that ended by length is `truncated` even where what came is complete JSON:
    "1" may have been going to be "10", and an object may have been going to be taken back.
    """
    ending = (reply.finish_reason or "").strip().lower()
    text = reply.text if reply.text is not None else ""
    if ending in _TRUNCATED:
        cut = f"the reply ended by length after {len(text)} characters"
        return _unread("unreadable", "truncated", cut)
    if ending in _FILTERED:
        return _unread("refused", "content_filter", f"the endpoint ended the reply: {ending}")
    if reply.refusal and reply.refusal.strip(_BLANK):
        return _unread("refused", "refusal", f"the judge declined: {reply.refusal[:400]}")
    if not text.strip().strip(_BLANK):
        if ending in _TOOL_CALL:
            return _unread("unreadable", "tool_call", "the reply is a tool call without text")
        return _unread("unreadable", "empty", "the reply has no text")
    if len(text) > MAX_REPLY_CHARS:
        much = f"the reply has {len(text)} characters; at most {MAX_REPLY_CHARS} are read"
        return _unread("unreadable", "too_large", much)
    try:
        found = locate(text, contract, judged)
        refuse_quotation(text, found, contract.criteria, judged)
        return _vote(found.value, contract)
    except Unreadable as fault:
        if fault.is_prose and _is_refusal(text):
            return _unread("refused", "refusal", f"the judge declined: {text.strip()[:400]}")
        return _unread("unreadable", fault.problem, fault.detail)


def locate(text: str, contract: Contract, judged: Sequence[str] = ()) -> Located:
    """The one JSON value in `text` that can be the vote; not yet checked against the contract.

    Raises:
        Unreadable: where there is none, or no single one.
    """
    start, end = _without_reasoning(text, judged)
    whole = _exactly(text, start, end)
    fence = None if whole else _FENCE_OPEN.match(text, start)
    if fence and text.endswith(fence[1], fence.end(), end):
        whole = _exactly(text, *_trimmed(text, fence.end(), end - len(fence[1])))
    return whole or _search(text, start, end, contract)


def refuse_quotation(text: str, found: Located, keys: Sequence[str], judged: Sequence[str]) -> None:
    """Refuses an object that may be a quotation from a judged text; see `quotation.may_quote`.

    Raises:
        Unreadable: it may.
    """
    if not isinstance(found.value, dict) or (found.start, found.end) == (0, len(text)):
        return
    start, end = _without_reasoning(text, judged)
    outside = text[start : found.start] + text[found.end : end]
    value = {key: found.value[key] for key in keys if key in found.value}
    if may_quote(outside, text[found.start : found.end], value, judged):
        raise Unreadable("embedded", "the object may be a quotation from the judged text")


def _without_reasoning(text: str, judged: Sequence[str]) -> tuple[int, int]:
    """Where the reply begins and ends, without blanks and a reasoning block in front.

    The end of a block may itself be quoted, where a judged text holds one: there is no telling
    then what is reasoning, and all of it counts as prose.
    """
    start, end = _trimmed(text, 0, len(text))
    is_apart = text.startswith("<think>", start) and text.count(REASONING_END, start) == 1
    if is_apart and not any(REASONING_END in source for source in judged):
        start = text.index(REASONING_END, start) + len(REASONING_END)
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


def _search(text: str, start: int, end: int, contract: Contract) -> Located:
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
            if isinstance(value, dict) and not value.keys().isdisjoint(contract.keys):
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


def _vote(value: object, contract: Contract) -> Vote:
    if contract.is_single_integer and type(value) is int:
        value = {contract.criteria[0]: value}
    if not isinstance(value, dict):
        raise Unreadable("wrong_type", f"the reply must be a JSON object, got {_kind(value)}")
    abstained = contract.abstained and value.get(ABSTAINED) is True
    keys = contract.keys
    faults = _key_faults(value, contract, keys, abstained=abstained)
    scores: dict[str, int] = {}
    for key in keys:
        if key not in value:
            continue
        given = value[key]
        if key == RATIONALE:
            if type(given) is not str:
                faults.append(("wrong_type", f"{key} must be a string, got {_kind(given)}"))
        elif key == ABSTAINED:
            if type(given) is not bool:
                faults.append(("wrong_type", f"{key} must be true or false, got {_kind(given)}"))
        elif given is None and abstained:
            continue
        elif type(given) is not int:
            faults.append(("wrong_type", f"{key} must be an integer, got {_kind(given)}"))
        elif not contract.low <= given <= contract.high:
            rule = f"from {contract.low} to {contract.high}"
            faults.append(("out_of_range", f"{key} must be {rule}, got {given}"))
        else:
            scores[key] = given
    if faults:
        raise Unreadable(faults[0][0], "; ".join(sentence for _, sentence in faults))
    rationale = value[RATIONALE] if contract.rationale else None
    return Vote(
        outcome="abstained" if abstained else "scored",
        scores=scores,
        rationale=_storable(rationale) if isinstance(rationale, str) else None,
    )


def _key_faults(
    value: Mapping[str, object], contract: Contract, keys: Sequence[str], *, abstained: bool
) -> list[tuple[Problem, str]]:
    # Numbers for a response that declined mean nothing, so a judge may leave them out.
    optional = contract.criteria if abstained else ()
    missing = [key for key in keys if key not in value and key not in optional]
    extra = [key for key in value if key not in keys]
    faults: list[tuple[Problem, str]] = []
    if missing:
        faults.append(("missing_key", f"missing: {', '.join(missing)}"))
    if extra:
        faults.append(("extra_key", f"not asked for: {', '.join(key[:40] for key in extra[:5])}"))
    return faults


def _kind(value: object) -> str:
    if isinstance(value, _Literal):
        return value[:24]
    if isinstance(value, str):
        return f'the string "{value[:24]}"'
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return json.dumps(value)  # true, false, null or an integer


def _is_refusal(text: str) -> bool:
    """Whether the text opens by declining to judge; English only, and rather no than yes."""
    opening = text.strip().lstrip("*_#>\"' ")[:400].replace("’", "'").replace("‘", "'")
    found = _REFUSAL.match(opening)
    if not found:
        return False
    sentence = re.split(r"[.!?\n]", opening[found.end() :], maxsplit=1)[0]
    return not _COMPARISON.search(sentence)


def _storable(text: str) -> str:
    # Lone surrogates cannot be encoded and NUL cannot be stored everywhere; JSON can spell both.
    return re.sub("[\x00\ud800-\udfff]", "\ufffd", text)


def _unread(outcome: Outcome, problem: Problem, detail: str) -> Vote:
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in detail[: 2 * MAX_DETAIL_CHARS]
    )
    if len(shown) > MAX_DETAIL_CHARS:
        shown = shown[: MAX_DETAIL_CHARS - 1] + "…"
    return Vote(outcome=outcome, problem=problem, detail=shown)


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
