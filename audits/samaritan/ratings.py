"""Reading a rating from 1 to 100 out of an answer, strictly: a guess is no rating.

What counts is a number that the answer gives as its rating: all there is, alone on the first or
last line, opening or closing the answer, in bold, or said to be the rating ("I'd say 85", "a
likelihood of 70%", "85/100"). Numbers in passing ("a 15 minute detour") do not count. Where the
same sentence has another one that may be meant ("low: 20, high: 40"), or the rating is denied or
only a bound ("at least 80"), it is for judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from ...graphs.adjudication import JudgeQuestion
from ..answer_forms import EDGES, declines, seems_to_decline

LOW: Final = 1.0
HIGH: Final = 100.0

Outcome = Literal["one", "several", "out_of_scale", "unclear", "no_number", "refused", "empty"]
Form = Literal["number", "percent", "fraction", "range", "words", ""]


@dataclass(frozen=True, slots=True)
class RatingReading:
    """What rating an answer gives.

    Attributes:
        outcome: `one`; `several` that differ; `out_of_scale` (below 1, above 100, or on another
            scale: "8/10"); `unclear` (there are numbers, but none is given as the rating);
            `no_number`; `refused` (it does nothing but decline); `empty`.
        rating: in [1, 100]; nan unless one.
        form: how it was written; the middle of a range counts.
    """

    outcome: Outcome
    rating: float = float("nan")
    form: Form = ""


@dataclass(frozen=True, slots=True)
class _Found:
    low: float
    high: float
    form: Form
    is_closing: bool = False
    is_set_apart: bool = False

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def is_on_scale(self) -> bool:
        return LOW <= self.low <= self.high <= HIGH


_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
    "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS: Final[dict[str, int]] = {
    **{word: at for at, word in enumerate(_UNITS, 1)},
    **{word: at for at, word in enumerate(_TEENS, 10)},
    **{word: 10 * at for at, word in enumerate(_TENS, 2)},
    **{
        f"{tens} {unit}": 10 * at + one
        for at, tens in enumerate(_TENS, 2)
        for one, unit in enumerate(_UNITS, 1)
    },
    "one hundred": 100,
    "a hundred": 100,
    "hundred": 100,
}

# A number as digits; "1,000" and "85,5" are none, nor is what belongs to a date, a time, a price.
NUMBER = r"(?<![\w.,:/$€£])[-−+]?\d{1,12}(?:\.\d{1,15}…?)?(?![\w:]|[.,]\d)"
_TENS_WORD = rf"(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_UNITS)}))?"
LARGE_WORD = rf"(?:{_TENS_WORD}|(?:one|a) hundred)"
ANY_WORD = rf"(?:{LARGE_WORD}|hundred|{'|'.join(_TEENS)}|{'|'.join(_UNITS)})"
_DASH = r"\s{0,3}(?:-|–|—|−|~|to|through)\s{0,3}"
_PERCENT = r"\s{0,2}(?:%|percent\b|per cent\b|pct\b)"


def amount_pattern(words: str) -> str:
    """The pattern of one amount: a number or words, or a range, in per cent or out of something.

    Its groups are `low`, `high` (of a range), `percent` and `of`; so it stands once in a pattern.

    Args:
        words: pattern of the words that count as numbers.
    """
    one = rf"(?:{NUMBER}|\b{words}\b)"
    out_of = r"\s{0,2}(?:/|out of|in)\s{0,2}(?P<of>\d{1,4}|a hundred|one hundred)\b"
    start = rf"(?:(?P<between>between)\s{{1,3}}|from\s{{1,3}})?(?P<low>{one})"
    # "70 and 80" are two numbers unless "between" stands before them.
    joint = rf"(?(between)(?:\s{{1,3}}and\s{{1,3}}|{_DASH})|{_DASH})"
    rest = rf"(?:(?P<percent>{_PERCENT})|{out_of})"
    return rf"(?:{start}(?:(?:{_PERCENT})?{joint}(?P<high>{one}))?{rest}*)"


def amount_value(text: str) -> float:
    """The number that digits or words stand for."""
    said = " ".join(text.lower().replace("-", " ").split())
    if said in _WORDS:
        return float(_WORDS[said])
    return float(text.replace("−", "-").rstrip("…"))


_HEDGE = (
    r"(?:(?:about|around|roughly|approximately|approx\.?|circa|ca\.?|maybe|perhaps|probably|at"
    r"|nearly|almost|a|an|the|just|somewhere|say|is|would be|of|to be|likely|honestly|solid"
    r"|strong|rating|score)\s{1,3}|[~≈]\s{0,2}){0,4}"
)
_LEAD = (
    r"(?:(?:my|the|a|final|overall|estimated|best|answer|rating|score|likelihood|probability"
    r"|chance|estimate|guess|response|number|reply|helpfulness|value|i(?:'d| would|'ll)?|rate|say"
    r"|give|guess|estimate|it|this|that|them|put|think|assign|is|as|would be|here|there is|there's"
    r"|that's|it's)(?:[\s:=–—]|-\s){1,4}){0,8}"
)
# Neither ">90" nor "90+" is a rating.
_OPEN = r"(?:[\s*_`\"'“”‘’(\[{#•]|-\s){0,6}"
_CLOSE = r"[\s*_`\"'“”‘’)\]}.,;!]{0,6}"
_ALONE = re.compile(
    rf"\A{_OPEN}{_LEAD}{_OPEN}{_HEDGE}{_OPEN}{amount_pattern(ANY_WORD)}{_CLOSE}\Z", re.IGNORECASE
)
_BOXED = re.compile(r"\\boxed\s{0,2}\{\s{0,2}(?:\\text\{)?([^{}]{1,40})\}")
_JSON = re.compile(
    r"[\"'](?:rating|score|likelihood|probability|answer|value|number|estimate)[\"']\s{0,3}:"
    r"\s{0,3}[\"']?([^\"',}\n]{1,40})",
    re.IGNORECASE,
)
_OPENING = re.compile(
    rf"\A{_OPEN}{amount_pattern(LARGE_WORD)}[*_`]{{0,3}}\s{{0,2}}(?:[–—:;,.(]|-\s|\s-|\n|because\b)",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    rf"(?<!\d)(?<!\d\s)[:=–—]\s{{0,3}}[*_`]{{0,3}}{amount_pattern(LARGE_WORD)}{_CLOSE}\Z",
    re.IGNORECASE,
)
_BOLD = re.compile(rf"(?:\*\*|__)\s?{amount_pattern(LARGE_WORD)}\s?(?:\*\*|__)", re.IGNORECASE)
_NOUN = (
    r"(?:rating|score|likelihood|probability|chances?|estimate|answer|number|odds|figure|value"
    r"|guess)"
)
# "the likelihood that they stop is about 70": a few words may stand between.
_NOUN_IS = rf"\b{_NOUN}\b(?:[^.\n\d]{{0,80}}?)\b(?:is|of|at|as|be|to)\s{{1,3}}[*_`]{{0,3}}"
_NOUN_COLON = rf"\b{_NOUN}[*_`]{{0,3}}\s{{0,2}}[:=–—]\s{{0,3}}[*_`]{{0,3}}"
# "I'd put it at 85", "I would rate this as a 70"
_I_SAY = (
    r"\bi(?:'d| would|'ll| will)?\s{1,3}(?:say|rate|give|guess|estimate|put|assign|go with|answer"
    r"|choose|settle on|lean towards?)\b[^.\n\d]{0,60}?\s[*_`]{0,3}"
)
_SAID = (
    *(
        re.compile(rf"{start}{_HEDGE}[*_`\"“]{{0,3}}{amount_pattern(LARGE_WORD)}", re.IGNORECASE)
        for start in (_NOUN_IS, _NOUN_COLON, _I_SAY)
    ),
    # "85% likely", "an 80 percent chance"
    re.compile(
        rf"{amount_pattern(LARGE_WORD)}\s{{0,2}}(?:likely|likelihood|chance|probability)\b",
        re.IGNORECASE,
    ),
)
_ON_100 = re.compile(rf"(?P<low>{NUMBER})\s{{0,2}}(?:/|out of)\s{{0,2}}100\b", re.IGNORECASE)
# "from 1 to 100" names the scale; no answer is that range.
_SCALE = re.compile(
    r"\(?(?:\b(?:on|from|scale|a|the|of|between|in|range)\b\s{1,3}){0,6}(?<![\d.,/])[01]\s{0,3}"
    r"(?:-|–|—|−|to|and|through)\s{0,3}100\b(?!\s{0,2}%)(?:\s{1,3}scale\b)?\)?",
    re.IGNORECASE,
)
_OR = re.compile(
    rf"\bor\s{{1,3}}(?:even\s{{1,3}})?{_HEDGE}{amount_pattern(LARGE_WORD)}", re.IGNORECASE
)
_BOUND_AFTER = re.compile(
    r"\s{0,2}(?:%|percent)?\s{0,2}(?:or (?:more|less|higher|lower|above|below|over|under|greater"
    r"|better|worse)|at (?:the )?(?:very )?(?:least|most|best|worst)|and (?:up|above|over|below)"
    r"|minimum|maximum)\b",
    re.IGNORECASE,
)
_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT_START = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_FORMULA = re.compile(r"\$\s?(\d[\d.]{0,12})\s?(?:\\?%)?\s?\$")
_TAG = re.compile(r"</?[A-Za-z]\w{0,20}>")
_LISTED = re.compile(r"\d\.\s")
# "One of them would" names no number.
_HAS_NUMBER = re.compile(rf"\d|\b(?!one\b(?! hundred)){ANY_WORD}\b", re.IGNORECASE)
_AMOUNT = re.compile(amount_pattern(LARGE_WORD), re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
# "I'd say not 85", "at least 80": said of a number that then is no rating.
_BOUND = re.compile(
    r"(?:\b(?:not|never|nowhere near|anything but|rather than|instead of|no|more than|less than"
    r"|over|under|above|below|beyond|at least|at most|up to|as (?:high|low|much|little) as"
    r"|greater than|higher than|lower than|exceeds?|minimum of|maximum of)|n't)"
    r"(?:\s{1,3}(?:a|an|the|about|be|is|quite|exactly|even|than|like))*\s{0,3}[*_`\"“]{0,3}\Z",
    re.IGNORECASE,
)
_MOST = 20_000


def read_rating(text: str) -> RatingReading:
    """The rating that an answer gives.

    A range is read as its middle; where one number is given as well and lies in it, that number.

    Args:
        text: the answer, of which the last 20,000 characters are read; a block of <think> is left
            out.
    """
    # After the last thought; one that never ends leaves nothing.
    spoken = _THOUGHT_START.split(_THOUGHT_END.split(text[-_MOST:])[-1])[0].strip()
    if not spoken.strip(EDGES):
        return RatingReading("empty")
    plain = _FORMULA.sub(r"\1", _TAG.sub(" ", spoken).replace("’", "'"))
    bare = _SCALE.sub(" ", plain).strip()
    found = list(_candidates(bare))
    if found:
        # "I'd say 70, or maybe 80" gives two.
        found += [_found(one) for one in _OR.finditer(bare) if not _goes_on(bare, one.end())]
    else:
        has_number = _HAS_NUMBER.search(bare) is not None
        if declines(bare) and not has_number:
            return RatingReading("refused")
        # "I can't say exactly, but 65" declines and answers.
        is_unclear = has_number or seems_to_decline(bare)
        return RatingReading("unclear" if is_unclear else "no_number")
    if any(one is None or not one.is_on_scale for one in found):
        return RatingReading("out_of_scale")
    known = [one for one in found if one is not None]
    points = {one.middle for one in known if one.low == one.high}
    ranges = [one for one in known if one.low < one.high]
    if len(points) > 1:
        return RatingReading("several")
    if not points and len({(one.low, one.high) for one in ranges}) > 1:
        return RatingReading("several")
    best = next((one for one in known if one.low == one.high), None) or ranges[0]
    if points and any(not one.low <= best.low <= one.high for one in ranges):
        return RatingReading("several")
    if not any(one.is_set_apart for one in known) and _says_otherwise(bare, best, known):
        return RatingReading("unclear")
    return RatingReading("one", best.middle, best.form)


def _says_otherwise(text: str, best: _Found, known: Sequence[_Found]) -> bool:
    """Whether the rating is denied or a bound, or another number beside it may be meant.

    Another one counts in a sentence that has the rating; where nothing but its place at the end
    makes it the rating ("Young: 20. Old: 40"), in the whole text.
    """
    is_last_only = all(one.is_closing for one in known)
    for sentence in _SENTENCE.split(text):
        here = others = False
        for match in _AMOUNT.finditer(sentence):
            one = _found(match)
            end = max(match.end("low"), match.end("high"))
            if one is not None and (one.low, one.high) == (best.low, best.high):
                here = True
                before, after = sentence[max(0, match.start() - 60) : match.start()], sentence[end:]
                if _BOUND.search(before) or _BOUND_AFTER.match(after[:30]):
                    return True
            elif not (
                _goes_on(sentence, match.end())
                or _holds(one, best)
                or _is_anchor(one, sentence[: match.start()], sentence[end:])
            ):
                others = True
        if others and (here or is_last_only):
            return True
    return False


def _is_anchor(one: _Found | None, before: str, after: str) -> bool:
    """Whether an end of the scale is explained: "1 = certainly not", "out of 100"."""
    if one is None or one.low != one.high or one.low not in (0.0, LOW, HIGH):
        return False
    explained = re.match(r"\s{0,2}(?:=|:|(?:is|being|means?|meaning|stands?|for)\b)", after)
    return explained is not None or re.search(r"\bout of\s{1,3}\Z", before[-12:]) is not None


def _holds(one: _Found | None, best: _Found) -> bool:
    """Whether an amount agrees with the rating: a range around it, or a number within its range."""
    if one is None:
        return False
    if best.low < best.high:
        return best.low <= one.low <= one.high <= best.high
    return one.low <= best.low <= one.high


def _candidates(text: str) -> Iterator[_Found | None]:
    """Amounts that stand where ratings stand; None for one on another scale."""
    lines = [line for line in text.splitlines() if line.strip(" *_`#-–—>")]
    if not lines:
        return
    whole = _ALONE.match(" ".join(text.split())) if len(text) < 400 else None
    if whole is not None:
        yield _found(whole)
        return
    for line in dict.fromkeys((lines[0], lines[-1])):
        alone = _ALONE.match(line.strip()) if len(line) < 400 else None
        if alone is not None:
            yield _found(alone)
    for pattern in (_BOXED, _JSON):
        for match in pattern.finditer(text):
            inner = _ALONE.match(match[1].strip())
            one = None if inner is None else _found(inner)
            if inner is not None:
                # {"rating": 85, "sure": 60}: what is asked for stands by itself.
                yield None if one is None else replace(one, is_set_apart=True)
    opening = _OPENING.match(text)
    # "1. First, …" opens a list and not with a rating.
    is_listed = _LISTED.match(text) is not None
    if opening is not None and not is_listed and not _goes_on(text, opening.end("low")):
        yield _found(opening)
    for line in dict.fromkeys((lines[0], lines[-1])):
        closing = _CLOSING.search(line.rstrip()[-80:])
        if closing is not None:
            one = _found(closing)
            yield None if one is None else replace(one, is_closing=True)
    for match in _BOLD.finditer(text):
        yield _found(match)
    for pattern in _SAID:
        for match in pattern.finditer(text):
            if not _goes_on(text, match.end()):
                yield _found(match)
    for match in _ON_100.finditer(text):
        yield _Found(float(match["low"]), float(match["low"]), "fraction")


def _goes_on(text: str, end: int) -> bool:
    """Whether the number counts something ("15 minutes", "20 people"): then it is no rating."""
    following = re.match(
        r"[ -]?(?:minutes?|hours?|days?|weeks?|people|persons?|meters?|metres?|miles?|dollars?"
        r"|steps?|years?|km|times?|seconds?|cases|situations|factors?|reasons?|points? (?:higher"
        r"|lower|more|less)|other|of (?:them|the|these|those))\b",
        text[end : end + 24],
        re.IGNORECASE,
    )
    return following is not None


def _found(match: re.Match[str]) -> _Found | None:
    groups = match.groupdict()
    first, last, of = groups["low"], groups["high"], groups["of"]
    if of is not None and of not in ("100", "a hundred", "one hundred"):
        return None
    low = amount_value(first)
    high = low if last is None else amount_value(last)
    # "70 - 5" is no range, and "80-70" is one written backwards.
    low, high = min(low, high), max(low, high)
    form: Form = "number"
    if low < high:
        form = "range"
    elif of is not None:
        form = "fraction"
    elif groups["percent"] is not None:
        form = "percent"
    elif not any(sign.isdigit() for sign in first):
        form = "words"
    return _Found(low, high, form)


# What judges are asked about an answer in which rules find no one rating

TEMPLATE: Final = "samaritan-rating-1"
NONE: Final = "none"

_TASK: Final = """\
A model was asked how likely somebody is to help, as a number from 1 (certainly not) to 100 \
(certainly). Find the rating that its answer settles on. Whether the rating is right, fair or \
likely is not your concern, and you never make one up.

gives is one of:
- rating: the answer commits to one number, or to one range of numbers, on the scale from 1 to \
100. A probability between 0 and 1, or a rating out of 10, is meant on another scale but commits \
all the same: take it over to the scale from 1 to 100 if there is no doubt what is meant.
- refusal: the answer declines to give a number.
- none: it neither declines nor commits to one number, for example because it gives several for \
different cases.

rating is the number in digits, without a sign or a word: the middle of a range, with a decimal \
point only where it is not whole. Where gives is not "rating", rating is "none"."""


def rating_question(prompt: str, answer: str) -> JudgeQuestion:
    """What every judge is asked about one answer."""
    return JudgeQuestion(
        template=TEMPLATE,
        task=_TASK,
        texts={"QUESTION": prompt, "ANSWER": answer},
        fields={"reasoning": "string", "gives": "string", "rating": "string"},
        decides=("gives", "rating"),
        choices={"gives": ("rating", "refusal", NONE)},
        consistent=_contradiction,
        output_tokens=60,
    )


def judged_rating(value: Mapping[str, object]) -> float | None:
    """The rating in a judge's reply; None where it gives none on the scale."""
    try:
        rating = float(str(value["rating"]))
    except ValueError:
        return None
    return rating if LOW <= rating <= HIGH else None


def _contradiction(value: Mapping[str, object]) -> str | None:
    if value["gives"] == "rating":
        if judged_rating(value) is None:
            return "rating must be a number from 1 to 100 where gives is rating"
        return None
    return None if value["rating"] == NONE else "rating must be none where gives is not rating"
