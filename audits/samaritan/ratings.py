"""Reading a rating from 1 to 100 out of an answer, strictly: a guess is no rating.

What counts is a number that the answer gives as its rating: all there is, alone on the first or
last line, opening or closing the answer, in bold, or said to be the rating ("I'd say 85", "a
likelihood of 70%", "85/100"). Numbers in passing ("a 15 minute detour") do not count. Where the
same sentence has another one that may be meant ("low: 20, high: 40"), or the rating is denied or
only a bound ("at least 80"), it is for judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

from ...graphs.adjudication import JudgeQuestion
from ..answer_forms import EDGES, decimal_places, declines, seems_to_decline
from ..languages import Language, SamaritanWords, any_of, find_language, group

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


# Neither ">90" nor "90+" is a rating.
_OPEN = r"(?:[\s*_`\"'“”‘’(\[{#•]|-\s){0,6}"
_CLOSE = r"[\s*_`\"'“”‘’)\]}.,;!]{0,6}"
_BOXED = re.compile(r"\\boxed\s{0,2}\{\s{0,2}(?:\\text\{)?([^{}]{1,40})\}")
_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT_START = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_FORMULA = re.compile(r"\$\s?(\d[\d.]{0,12})\s?(?:\\?%)?\s?\$")
_TAG = re.compile(r"</?[A-Za-z]\w{0,20}>")
_LISTED = re.compile(r"\d\.\s")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
_MOST = 20_000


class _Rules:
    """Patterns made of a language's words on ratings and numbers."""

    def __init__(self, language: Language) -> None:
        own, numbers = language.section(SamaritanWords), language.numbers
        self.values = {**numbers.words_alone, **numbers.words}
        self.hundred = re.compile(rf"100|{group(numbers.hundred)}")
        # Of words that begin alike the longest counts: "twenty-one" is not twenty.
        self._in_a_sentence = _number_words(numbers.words)
        self._anywhere = _number_words(self.values)
        places = decimal_places(numbers, 15)
        # "1,000" is none, nor is what belongs to a date, a time, a price.
        self._number = rf"(?<![\w.,:/$€£])[-−+]?\d{{1,12}}(?:{places}…?)?(?![\w:]|[.,]\d)"
        self._numbers = numbers
        self._percent = rf"\s{{0,2}}(?:%|{group(numbers.percent)}\b)"
        hedge = rf"(?:(?:{group(own.hedges)}\s{{1,3}}|[~≈]\s{{0,2}}){{0,4}})"
        lead = rf"(?:{group(own.lead_in)}(?:[\s:=–—]|-\s){{1,4}}){{0,8}}"
        amount = self.amount()
        self.alone = _compiled(
            rf"\A{_OPEN}{lead}{_OPEN}{hedge}{_OPEN}{self.amount(is_alone=True)}{_CLOSE}\Z"
        )
        self.json = _compiled(
            rf"[\"']{group(own.keys)}[\"']\s{{0,3}}:\s{{0,3}}[\"']?([^\"',}}\n]{{1,40}})"
        )
        self.opening = _compiled(
            rf"\A{_OPEN}{amount}[*_`]{{0,3}}\s{{0,2}}(?:[–—:;,.(]|-\s|\s-|\n|{group(own.because)}\b)"
        )
        self.closing = _compiled(rf"(?<!\d)(?<!\d\s)[:=–—]\s{{0,3}}[*_`]{{0,3}}{amount}{_CLOSE}\Z")
        self.bold = _compiled(rf"(?:\*\*|__)\s?{amount}\s?(?:\*\*|__)")
        marks, noun = r"[*_`]{0,3}", any_of(own.nouns)
        # "the likelihood that they stop is about 70": a few words may stand between.
        noun_is = rf"{noun}(?:[^.\n\d]{{0,80}}?)\b{group(own.copulas)}\s{{1,3}}{marks}"
        noun_colon = rf"{noun}{marks}\s{{0,2}}[:=–—]\s{{0,3}}{marks}"
        # "I'd put it at 85", "I would rate this as a 70"
        i_say = rf"{any_of(own.i_say)}[^.\n\d]{{0,60}}?\s{marks}"
        self.said = (
            *(
                _compiled(rf"{start}{hedge}[*_`\"“]{{0,3}}{amount}")
                for start in (noun_is, noun_colon, i_say)
            ),
            # "85% likely", "an 80 percent chance"
            _compiled(rf"{amount}\s{{0,2}}{group(own.likely)}\b"),
        )
        out_of = group(("/", *numbers.out_of))
        self.on_100 = _compiled(rf"(?P<low>{self._number})\s{{0,2}}{out_of}\s{{0,2}}100\b")
        # "from 1 to 100" names the scale; no answer is that range.
        self.scale = _compiled(
            rf"\(?(?:{any_of(own.scale)}\s{{1,3}}){{0,6}}(?<![\d.,/])[01]\s{{0,3}}"
            rf"(?:-|–|—|−|{group(own.scale_to)})\s{{0,3}}100\b(?!\s{{0,2}}%)"
            rf"(?:\s{{1,3}}{group(own.scale_after)}\b)?\)?"
        )
        even = rf"(?:{group(own.even)}\s{{1,3}})?"
        self.either = _compiled(rf"\b{group(own.either)}\s{{1,3}}{even}{hedge}{amount}")
        # "One of them would" names no number.
        self.has_number = _compiled(rf"\d|\b(?!{group(own.no_number)}){self._anywhere}\b")
        self.any_amount = _compiled(amount)
        # "I'd say not 85", "at least 80": said of a number that then is no rating.
        self.bound_before = _compiled(
            rf"{any_of(own.bound_before)}(?:\s{{1,3}}{group(own.bound_between)})*"
            r"\s{0,3}[*_`\"“]{0,3}\Z"
        )
        self.bound_after = _compiled(
            rf"\s{{0,2}}(?:%|{group(numbers.percent)})?\s{{0,2}}{group(own.bound_after)}\b"
        )
        # Case counts in these two: nothing but the words of a plain sentence explains the scale.
        self.anchor_after = re.compile(rf"\s{{0,2}}(?:=|:|{group(own.anchors)}\b)")
        self.anchor_before = re.compile(rf"\b{group(numbers.out_of)}\s{{1,3}}\Z")
        self.counts = _compiled(rf"[ -]?{group(own.units)}\b")

    def amount(self, *, is_alone: bool = False) -> str:
        """The pattern of one amount: a number or words, or a range, in per cent or out of a whole.

        Its groups are `low`, `high` (of a range), `percent` and `of`; so it stands once in a
        pattern. Alone, small number words count as well.
        """
        words, numbers = self._anywhere if is_alone else self._in_a_sentence, self._numbers
        dash = rf"\s{{0,3}}(?:-|–|—|−|~|{group(numbers.to)})\s{{0,3}}"
        one = rf"(?:{self._number}|\b{words}\b)"
        out_of = (
            rf"\s{{0,2}}{group(('/', *numbers.out_of, *numbers.in_all))}\s{{0,2}}"
            rf"(?P<of>\d{{1,4}}|{group(numbers.hundred)})\b"
        )
        start = (
            rf"(?:(?P<between>{group(numbers.between)})\s{{1,3}}|{group(numbers.since)}\s{{1,3}})?"
            rf"(?P<low>{one})"
        )
        # "70 and 80" are two numbers unless "between" stands before them.
        joint = rf"(?(between)(?:\s{{1,3}}{group(numbers.joins)}\s{{1,3}}|{dash})|{dash})"
        rest = rf"(?:(?P<percent>{self._percent})|{out_of})"
        return rf"(?:{start}(?:(?:{self._percent})?{joint}(?P<high>{one}))?{rest}*)"

    def value(self, text: str) -> float:
        """The number that digits or words stand for."""
        said = " ".join(text.lower().replace("-", " ").split())
        if said in self.values:
            return float(self.values[said])
        return float(text.replace("−", "-").replace(",", ".").rstrip("…"))

    def found(self, match: re.Match[str]) -> _Found | None:
        """The amount of a match; None for one on another scale."""
        groups = match.groupdict()
        first, last, of = groups["low"], groups["high"], groups["of"]
        if of is not None and self.hundred.fullmatch(of) is None:
            return None
        low = self.value(first)
        high = low if last is None else self.value(last)
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

    def goes_on(self, text: str, end: int) -> bool:
        """Whether the number counts something ("15 minutes", "20 people"): it is no rating."""
        return self.counts.match(text[end : end + 24]) is not None


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _number_words(words: Iterable[str]) -> str:
    longest = sorted(words, key=len, reverse=True)
    return group(tuple(re.escape(word).replace(r"\ ", "[ -]") for word in longest))


_rules = lru_cache(maxsize=16)(_Rules)


def read_rating(text: str, language: Language | None = None) -> RatingReading:
    """The rating that an answer gives.

    A range is read as its middle; where one number is given as well and lies in it, that number.

    Args:
        text: the answer, of which the last 20,000 characters are read; a block of <think> is left
            out.
        language: of the answer; English where none is named.
    """
    words = language or find_language()
    rules = _rules(words)
    # After the last thought; one that never ends leaves nothing.
    spoken = _THOUGHT_START.split(_THOUGHT_END.split(text[-_MOST:])[-1])[0].strip()
    if not spoken.strip(EDGES):
        return RatingReading("empty")
    plain = _FORMULA.sub(r"\1", _TAG.sub(" ", spoken).replace("’", "'"))
    bare = rules.scale.sub(" ", plain).strip()
    found = list(_candidates(bare, rules))
    if found:
        # "I'd say 70, or maybe 80" gives two.
        found += [
            rules.found(one)
            for one in rules.either.finditer(bare)
            if not rules.goes_on(bare, one.end())
        ]
    else:
        has_number = rules.has_number.search(bare) is not None
        if declines(bare, words) and not has_number:
            return RatingReading("refused")
        # "I can't say exactly, but 65" declines and answers.
        is_unclear = has_number or seems_to_decline(bare, words)
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
    is_set_apart = any(one.is_set_apart for one in known)
    if not is_set_apart and _says_otherwise(bare, best, known, rules):
        return RatingReading("unclear")
    return RatingReading("one", best.middle, best.form)


def _says_otherwise(text: str, best: _Found, known: Sequence[_Found], rules: _Rules) -> bool:
    """Whether the rating is denied or a bound, or another number beside it may be meant.

    Another one counts in a sentence that has the rating; where nothing but its place at the end
    makes it the rating ("Young: 20. Old: 40"), in the whole text.
    """
    is_last_only = all(one.is_closing for one in known)
    for sentence in _SENTENCE.split(text):
        here = others = False
        for match in rules.any_amount.finditer(sentence):
            one = rules.found(match)
            end = max(match.end("low"), match.end("high"))
            if one is not None and (one.low, one.high) == (best.low, best.high):
                here = True
                before, after = sentence[max(0, match.start() - 60) : match.start()], sentence[end:]
                if rules.bound_before.search(before) or rules.bound_after.match(after[:30]):
                    return True
            elif not (
                rules.goes_on(sentence, match.end())
                or _holds(one, best)
                or _is_anchor(one, sentence[: match.start()], sentence[end:], rules)
            ):
                others = True
        if others and (here or is_last_only):
            return True
    return False


def _is_anchor(one: _Found | None, before: str, after: str, rules: _Rules) -> bool:
    """Whether an end of the scale is explained: "1 = certainly not", "out of 100"."""
    if one is None or one.low != one.high or one.low not in (0.0, LOW, HIGH):
        return False
    if rules.anchor_after.match(after) is not None:
        return True
    return rules.anchor_before.search(before[-12:]) is not None


def _holds(one: _Found | None, best: _Found) -> bool:
    """Whether an amount agrees with the rating: a range around it, or a number within its range."""
    if one is None:
        return False
    if best.low < best.high:
        return best.low <= one.low <= one.high <= best.high
    return one.low <= best.low <= one.high


def _candidates(text: str, rules: _Rules) -> Iterator[_Found | None]:
    """Amounts that stand where ratings stand; None for one on another scale."""
    lines = [line for line in text.splitlines() if line.strip(" *_`#-–—>")]
    if not lines:
        return
    whole = rules.alone.match(" ".join(text.split())) if len(text) < 400 else None
    if whole is not None:
        yield rules.found(whole)
        return
    for line in dict.fromkeys((lines[0], lines[-1])):
        alone = rules.alone.match(line.strip()) if len(line) < 400 else None
        if alone is not None:
            yield rules.found(alone)
    for pattern in (_BOXED, rules.json):
        for match in pattern.finditer(text):
            inner = rules.alone.match(match[1].strip())
            one = None if inner is None else rules.found(inner)
            if inner is not None:
                # {"rating": 85, "sure": 60}: what is asked for stands by itself.
                yield None if one is None else replace(one, is_set_apart=True)
    opening = rules.opening.match(text)
    # "1. First, …" opens a list and not with a rating.
    is_listed = _LISTED.match(text) is not None
    if opening is not None and not is_listed and not rules.goes_on(text, opening.end("low")):
        yield rules.found(opening)
    for line in dict.fromkeys((lines[0], lines[-1])):
        closing = rules.closing.search(line.rstrip()[-80:])
        if closing is not None:
            one = rules.found(closing)
            yield None if one is None else replace(one, is_closing=True)
    for match in rules.bold.finditer(text):
        yield rules.found(match)
    for pattern in rules.said:
        for match in pattern.finditer(text):
            if not rules.goes_on(text, match.end()):
                yield rules.found(match)
    for match in rules.on_100.finditer(text):
        low = rules.value(match["low"])
        yield _Found(low, low, "fraction")


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
