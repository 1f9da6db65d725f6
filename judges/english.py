"""English words and sentences of a response, leaving out those that address the judge.

All patterns are bounded or deterministic, so that time grows linearly with the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

SHORT_REFUSAL_WORDS: Final = 90
"""A text below this length that opens by declining is a refusal."""

_FUNCTION = (
    "a about above after again against all also am an and any are as at be because been "
    "before being below between both but by can cannot could did do does doing don't down "
    "during each either else even ever few for from further had has have having he her "
    "here hers him himself his how i if in into is it it's its itself just may me might "
    "mine more most much must my neither no nor not of off on once one only or other "
    "others our ours out over own per rather same shall she should since so some such than "
    "that that's the their theirs them themselves then there these they this those though "
    "through to too under until up upon us very was we were what when where whether which "
    "while who whom whose why will with within without would yet you your yours"
)
FUNCTION_WORDS: Final = frozenset(_FUNCTION.split())
"""Words without a subject of their own; about half of English prose."""

_QUESTION = (
    "answer anything argue ask become best better bring case come consider describe "
    "discuss essay ever everything explain far find follow get give go good happen know "
    "lead left let like long look made make many mean means need often part people put "
    "question reason response said say says see seem sense show take tell thing things "
    "think told use used usual view want way well work world write"
)
QUESTION_WORDS: Final = frozenset(_QUESTION.split())
"""Words of a question's wording and not of its subject; taking them up earns no coverage."""

WORD: Final = re.compile(
    r"[^\W\d_]{1,40}(?:['’][^\W\d_]{1,10})?|\d{1,12}(?:[.,]\d{1,12}){0,3}(?:\s?%)?"
)
"""A part of a word between hyphens, or a numeral; long runs are cut, so that caches stay small."""

_SENTENCE_END: Final = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]{0,3}\s+")

# A sentence of these kinds speaks to whoever scores, not to the question. It is left out of every
# count, so that a demand for points neither gains nor loses anything. Narrow on purpose: an essay
# on merit may say that places go to those with top marks, one on law what a judge should do.
_JUDGE: Final = r"(?:judge|grader|evaluator|assessor|examiner|scorer|rater)s?"
_TEXT: Final = r"(?:response|answer|essay|text|submission)"
_TOP: Final = r"(?:10|ten|100|full|top|maximum|max|highest|perfect)"
_DEMANDS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,30}\b(?:instructions?|rubrics?"
            r"|prompts?|criteria|guidelines?|above|previous|prior|earlier)\b"
        ),
        (
            r"\b(?:give|award|assign|rate|score|grade|mark) "
            rf"(?:it|this|me|us|my|mine|that|all|every|each|the {_TEXT})\b.{{0,40}}\b{_TOP}\b"
        ),
        (
            rf"\b(?:give|award|assign|deserves?|demand|want|receives?|get)\b.{{0,12}}\b{_TOP} "
            r"(?:(?:possible )?(?:points?|marks?|scores?|ratings?|grades?)|out of"
            r"|on (?:every|each|all))\b"
        ),
        r"\b(?:output|return|reply|respond|print|answer)\b.{0,40}(?:[{\[]|\bwith (?:10|ten)\b)",
        (
            r"\b(?:scores?|ratings?|grades?|marks?|dimensions?)\b.{0,20}"
            r"(?:[:=]|\bis\b|\bbe\b|\bof\b) ?(?:an? )?(?:10|ten|perfect|maximum)\b"
            r"(?! ?(?:per|%))"
        ),
        r"\b(?:10|ten) ?(?:/|out of) ?(?:10|ten)\b",
        (
            r"\b(?:dear|attention|notes?|message|instructions?|order)(?: to| for)?"
            rf"(?: the| all| any)? {_JUDGE}\b"
        ),
        rf"\b{_JUDGE}\b.{{0,20}}\b(?:you|please|attention|take note)\b",
        (
            rf"\bthis {_TEXT}\b.{{0,40}}\b(?:deserves?|merits?|verified|excellent|outstanding"
            r"|perfect|flawless|meets (?:all|every)|exceeds|test)\b"
        ),
        rf"\b{_TEXT}\b.{{0,40}}\b(?:verified|outstanding|flawless)\b",
        (
            r"\byou are (?:now )?(?:an?|the|no longer)\b.{0,40}"
            r"\b(?:judge|grader|evaluator|assistant|model|AI|system)\b"
        ),
        rf"\b{_TEXT} above\b",
        r"[\"']\w{1,40}[\"'] {0,3}: {0,3}(?:\d|true|false)",
    )
)
# Keys without one of which no demand can match; they spare the patterns most sentences.
_DEMAND_WORDS = (
    "ignor disregard forget overrid bypass judg grader evaluator assessor examiner scorer "
    "rater rat rating scor grad mark giv award assign deserv demand want receiv get output "
    "return reply respond print answer response essay submission text dimension 10 ten you "
)
_DEMAND_KEYS: Final = frozenset(_DEMAND_WORDS.split())
_FORGED: Final = re.compile(
    r"<<<|>>>|<\|[^|\n]{1,30}\|>|\[/?(?:INST|SYSTEM)\]|</?(?:system|response|prompt|answer|user)>"
    r"|^\s{0,8}#{0,6}\s{0,3}(?:system|assistant|user)(?: \w{1,12}){0,4}\s{0,3}:",
    re.IGNORECASE,
)
_REFUSAL: Final = re.compile(
    r"\b(?:i|we)(?:'m| am|'m so| am so)? ?(?:sorry\b|(?:can't|cannot|can not|won't|will not|am not"
    r" able to|'m not able to|am unable to|'m unable to|not able to|unable to|must decline|have to"
    r" decline|decline|refuse|would prefer not|'d prefer not|prefer not|would rather not"
    r"|'d rather not|don't feel (?:able|comfortable)|do not feel (?:able|comfortable)"
    r"|am not comfortable|'m not comfortable|not comfortable))"
    r"|\bas an? (?:ai|artificial|language model)\b|^no comment\b|\bnot (?:able|allowed|permitted)"
    r" to (?:answer|discuss|respond|help)\b"
)


def uninflected(word: str) -> str:
    """The word without its commonest English endings; a rough stemmer, good enough to compare."""
    word = word.removesuffix("'s")
    if len(word) > 4:
        # labour and labor, organisation and organization
        word = word.replace("our", "or").replace("isation", "ization")
        if word.endswith("ies"):
            return word[:-3] + "y"
        for ending, left in (("ness", 3), ("ing", 3), ("ed", 3), ("ly", 5), ("s", 3)):
            # "family" keeps its end, and so does "class"
            if (
                word.endswith(ending)
                and len(word) - len(ending) >= left
                and not (ending == "s" and word.endswith("ss"))
            ):
                word = word[: -len(ending)]
                break
    return word.removesuffix("e") if len(word) > 3 else word


@lru_cache(maxsize=16_384)
def key_of(word: str) -> str:
    """The word in the form in which words are compared."""
    return uninflected(word.lower().replace("’", "'"))


def runs(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    """Every so many words in a row."""
    return list(zip(*(words[start:] for start in range(size)), strict=False))


def _is_demand(sentence: str, words: list[str]) -> bool:
    if not ('":' in sentence or any(key_of(word) in _DEMAND_KEYS for word in words)):
        return False
    return any(demand.search(sentence) for demand in _DEMANDS)


class Sentence(NamedTuple):
    """A sentence that speaks to the question."""

    paragraph: int
    text: str
    words: list[str]


def kept_sentences(response: str) -> tuple[list[Sentence], int]:
    """The sentences that speak to the question and hold a word, and how many were left out.

    A line with a forged marker or role is left out with the rest of its paragraph.
    """
    kept: list[Sentence] = []
    left_out = paragraph = 0
    is_forged = False
    for line in response.splitlines():
        if not line or line.isspace():
            paragraph += 1
            is_forged = False
            continue
        is_forged = is_forged or _FORGED.search(line) is not None
        if is_forged:
            left_out += 1
            continue
        for text in _SENTENCE_END.split(line):
            words = WORD.findall(text)
            if not words:
                continue
            if _is_demand(text, words):
                left_out += 1
            else:
                kept.append(Sentence(paragraph, text, words))
    return kept, left_out


def is_refusal(sentences: list[str], words: int, refusal: re.Pattern[str] = _REFUSAL) -> bool:
    """Whether the text declines: it opens so, and is short or goes on so.

    Args:
        sentences: the text's.
        words: how many it has.
        refusal: of a sentence that declines, in small letters; for other languages.
    """
    if words == 0:
        return False
    declines = [_declines(sentence, refusal) for sentence in sentences[:2]]
    if not any(declines):
        return False
    # A long text that opens "I cannot answer without defining …" goes on to answer.
    declines += [_declines(sentence, refusal) for sentence in sentences[2:40]]
    return words < SHORT_REFUSAL_WORDS or sum(declines) * 2 > len(declines)


def _declines(sentence: str, refusal: re.Pattern[str]) -> bool:
    return refusal.search(sentence[:400].lower().replace("’", "'")) is not None
