"""Forms in which audits ask for an answer, and how answers in them are read.

What is the same in all languages stands here; the words are those of a `Language`, English where
none is named. The sentences made here are what the embedded respondent understands, so that an
audit that uses them runs on the stand-ins; real models read them as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from ..judges.english import is_refusal as _is_refusal
from ..judges.english import kept_sentences
from .audit import Cell, Reading
from .languages import Language, NumberWords, OptionWords, any_of, find_language, group

EDGES: Final = " \t\r\n.,:;!\"'“”„‘’«»`*_()[]{}<>#-–—¡"


def one_of(*options: str, language: Language | None = None) -> str:
    """The sentence that asks for exactly one of the options: "Reply with exactly one of: A / B"."""
    words = language or find_language()
    return words.frames.one_of.replace("{options}", " / ".join(options))


def lettered(texts: Sequence[str], letters: str = "ABCDEFGHIJ") -> str:
    """The texts as lines "A) text"."""
    return "\n".join(f"{letter}) {text}" for letter, text in zip(letters, texts, strict=False))


def option_texts(prompt: str, letters: str = "AB") -> dict[str, tuple[str, ...]]:
    """The texts of `lettered` options, as they stand in a prompt, for `read_option`."""
    lines = prompt.splitlines()
    return {
        letter: tuple(line[3:] for line in lines if line.startswith(f"{letter}) "))
        for letter in letters
    }


def whole_number(low: int, high: int, language: Language | None = None) -> str:
    """The sentence that asks for a whole number on a scale."""
    words = language or find_language()
    return words.frames.whole_number.replace("{low}", str(low)).replace("{high}", str(high))


OptionOutcome = Literal["one", "several", "none", "refused", "empty"]


@dataclass(frozen=True, slots=True)
class OptionReading:
    """Which option an answer names.

    Attributes:
        outcome: `one`; `several` (more than one is named as the answer), `none` (no option can be
            read as the answer), `refused` (a text that does nothing but decline), `empty`.
        option: the option; "" unless one.
        is_bare: whether the answer is nothing but the option.
    """

    outcome: OptionOutcome
    option: str = ""
    is_bare: bool = False

    def as_reading(self, column: str, values: Mapping[str, Cell] | None = None) -> Reading:
        """As a reading: one option is a value; several and none are for judges."""
        if self.outcome == "one":
            value = self.option if values is None else values[self.option]
            return Reading("classified", {column: value})
        if self.outcome == "refused":
            return Reading("refused", {}, "declined")
        if self.outcome == "empty":
            return Reading("empty", {}, "no text")
        return Reading("unclassified", {}, f"{self.outcome}_named")


def read_option(
    text: str,
    options: Sequence[str],
    aliases: Mapping[str, Sequence[str]] | None = None,
    language: Language | None = None,
) -> OptionReading:
    """Which of the options an answer names, read strictly.

    An option counts where it stands alone as the answer (marks and "Answer:" apart), opens the
    answer as a label ("A) …", "A. …", "**A**"), stands alone on the last line, or is chosen in
    words ("I choose B"). Two different ones by any of these are `several`, and so is one beside
    another that is named as good ("A, but B is as likely"). That an option is merely mentioned is
    no answer, and a text that declines and names one ("I can't say. If forced, B.") is no refusal.

    Args:
        text: the answer.
        options: the labels asked for, such as ("A", "B") or ("P1", "other").
        aliases: option to other texts for it, such as {"A": ("an upper-class person",)}.
        language: of the answer; English where none is named.
    """
    rules = _option_rules(language or find_language())
    stripped = text.strip()
    if not stripped.strip(EDGES):
        return OptionReading("empty")
    names: dict[str, str] = {}
    for option in options:
        for name in (option, *(aliases or {}).get(option, ())):
            names[_folded(name)] = option
    whole = names.get(_folded(rules.lead_in.sub("", stripped)))
    if whole is not None and not stripped.endswith("?"):
        return OptionReading("one", whole, is_bare=True)
    lines = [line for line in stripped.splitlines() if line.strip(EDGES)] or [stripped]
    found: set[str] = set()
    first = _opening(lines[0], options, rules)
    if first is not None:
        found.add(first)
    for line in (lines[0], lines[-1]):
        alone = names.get(_folded(rules.lead_in.sub("", line.strip())))
        if alone is not None:
            found.add(alone)
    found |= _chosen(stripped, names, rules)
    if len(found) == 1:
        (option,) = found
        if _is_label_and_text(stripped, names):
            return OptionReading("one", option, is_bare=True)
        others = {name: one for name, one in names.items() if one != option}
        if _is_rivalled(stripped, option, others, rules):
            return OptionReading("several")
        return OptionReading("one", option)
    if len(found) > 1:
        return OptionReading("several")
    if declines(text, language) and not _names_an_option(stripped, names, rules):
        return OptionReading("refused")
    return OptionReading("none")


def decimal_places(words: NumberWords, most: int) -> str:
    """Pattern of the decimal places of a number.

    Where the comma is the sign, one or two places follow it or a point: "1.000" and "1,000" are a
    thousand to some and one to others.
    """
    return rf"\.\d{{1,{most}}}" if words.decimal == "." else r"[.,]\d{1,2}(?!\d)"


def read_number(
    text: str, low: float, high: float, language: Language | None = None
) -> tuple[Reading, float | None]:
    """The number that an answer gives, read strictly: alone, or alone on its first or last line.

    Args:
        text: the answer.
        low, high: ends of the scale; a number off it is for judges.
        language: of the answer; English where none is named.

    Returns:
        The reading, without its value, and the number where there is one.
    """
    lines = [line for line in text.splitlines() if line.strip(EDGES)]
    if not lines:
        return Reading("empty", {}, "no text"), None
    rules = _option_rules(language or find_language())
    found = set()
    for line in {lines[0], lines[-1]}:
        bare = rules.lead_in.sub("", line.strip()).strip(EDGES.replace("-", ""))
        if rules.number.fullmatch(bare):
            found.add(float(bare.replace("−", "-").replace(",", ".")))
    if len(found) == 1:
        (number,) = found
        if low <= number <= high:
            return Reading("classified"), number
        return Reading("unclassified", {}, "off_the_scale"), None
    if not found and declines(text, language) and not re.search(r"\d", text):
        return Reading("refused", {}, "declined"), None
    return Reading("unclassified", {}, "several_numbers" if found else "no_number_alone"), None


def declines(text: str, language: Language | None = None) -> bool:
    """Whether a short text does nothing but decline to answer.

    One that goes on to answer all the same ("I can't know, but …", "if forced, …") does more.
    """
    words = language or find_language()
    return seems_to_decline(text, words) and not _goes_on_to_answer(text[:2_000], words)


def seems_to_decline(text: str, language: Language | None = None) -> bool:
    """Whether a short text opens by declining, whatever else there is."""
    rules = _refusal_rules(language or find_language())
    sentences, _ = kept_sentences(text[:2_000])
    words = sum(len(sentence.words) for sentence in sentences)
    return _is_refusal([sentence.text for sentence in sentences], words, rules.declines)


class _RefusalRules(NamedTuple):
    declines: re.Pattern[str]
    all_the_same: re.Pattern[str]
    turn: re.Pattern[str]
    offer: re.Pattern[str]


@lru_cache(maxsize=16)
def _refusal_rules(language: Language) -> _RefusalRules:
    words = language.refusals
    opens = rf"(?:\A|[.!?;:,\n–—-]\s{{0,3}}|\b{group(words.but)} )"
    return _RefusalRules(
        declines=re.compile(any_of(words.declines)),
        all_the_same=re.compile(
            rf"{any_of(words.all_the_same)}|{opens}{group(words.hedged)}\b", re.IGNORECASE
        ),
        turn=re.compile(rf"{any_of(words.turns)}(?=([^.!?\n]{{0,300}}))", re.IGNORECASE),
        offer=re.compile(any_of(words.offers), re.IGNORECASE),
    )


def _goes_on_to_answer(text: str, language: Language) -> bool:
    rules = _refusal_rules(language)
    plain = text.replace("’", "'")
    if rules.all_the_same.search(plain):
        return True
    # "I'm sorry, but I can't", "… but I'm happy to discuss it" turn to no answer.
    rests = [match[1] for match in rules.turn.finditer(plain)]
    return any(
        re.search(r"\w", rest)
        and not rules.offer.search(rest)
        and not seems_to_decline(rest.strip(" ,"), language)
        for rest in rests
    )


class _OptionRules(NamedTuple):
    """Patterns made of a language's words on options."""

    words: OptionWords
    lead_in: re.Pattern[str]
    number: re.Pattern[str]
    unless: re.Pattern[str]
    denied: re.Pattern[str]
    equal: re.Pattern[str]
    cited: re.Pattern[str]
    option: str
    rejected: str


@lru_cache(maxsize=16)
def _option_rules(language: Language) -> _OptionRules:
    words = language.options
    option = rf"(?:{group(words.option)}\s+)?"
    return _OptionRules(
        words,
        lead_in=re.compile(rf"^{group(words.lead_in)}\s*[:=\-–—]?\s*{option}", re.IGNORECASE),
        number=re.compile(rf"[-+−]?\d{{1,12}}(?:{decimal_places(language.numbers, 6)})?"),
        unless=re.compile(any_of(words.unless), re.IGNORECASE),
        denied=re.compile(rf"[\"'”*)]{{0,3}}\s{group(words.denied)}\b", re.IGNORECASE),
        equal=re.compile(any_of(words.equal), re.IGNORECASE),
        cited=re.compile(any_of(words.cited), re.IGNORECASE),
        option=option,
        rejected=rf"(?!\s*{group(words.rejected)}\b(?!\s+{option}[A-Z]\b))",
    )


def _folded(text: str) -> str:
    return " ".join(text.strip(EDGES).casefold().split())


def _opening(line: str, options: Sequence[str], rules: _OptionRules) -> str | None:
    """The option that a line opens with as a label: "A) because", "**B**: …"."""
    bare = rules.lead_in.sub("", line.strip().lstrip(EDGES))
    for option in options:
        # "A person of …" opens with a word and not with a label: a mark must follow. "A: no" is
        # a word on A.
        label = rf"{rules.option}{re.escape(option)}[*_`\"'”]{{0,3}}\s*[).:\]–—,;-]{rules.rejected}"
        if re.match(label, bare, re.IGNORECASE if len(option) > 1 else 0):
            return option
    return None


def _chosen(text: str, names: Mapping[str, str], rules: _OptionRules) -> set[str]:
    found: set[str] = set()
    for name, option in names.items():
        named = rf"[\"'“*(]{{0,3}}{_name_pattern(name)}\b"
        for words in rules.words.chosen:
            said = rf"\b{words.replace('{option}', named)}(?P<after>[^.!?\n]{{0,60}})"
            for match in re.finditer(said, text.replace("’", "'"), re.IGNORECASE):
                clause = _CLAUSE_START.split(text[: match.start()])[-1]
                if (
                    not text.startswith("?", match.end())
                    and rules.unless.search(clause) is None
                    and rules.denied.match(match["after"]) is None
                ):
                    found.add(option)
    return found


_CLAUSE_START = re.compile(r"[,;:.!?\n–—]")


def _name_pattern(name: str) -> str:
    """A name in a text; a single letter counts as written: small "a" is an article."""
    return re.escape(name) if len(name) > 1 else rf"(?-i:{re.escape(name.upper())})"


def _mention(name: str, words: OptionWords) -> str:
    """Pattern of a mention. "A" before a word is an article, and "I" is somebody."""
    found = rf"(?<![\w'’]){_name_pattern(name)}(?![\w'’])"
    if name in words.common:
        # Each of the words before has a length of its own, and one look behind must have one.
        cited = "|".join(rf"(?<={word} )" for word in words.before_common) or "(?!)"
        after = group(words.after_common)
        found = rf"(?:(?:{cited}){found}|{found}(?=\s*(?:[^\w\s]|\Z|\n|{after}\b)))"
    return found


def _names_an_option(text: str, names: Mapping[str, str], rules: _OptionRules) -> bool:
    """Whether the text names an option by itself; "between A and B" names none."""
    words = rules.words
    mentions = "|".join(_mention(name, words) for name in names)
    one = rf"(?:{group(words.articles)} )?(?:{group(words.option)} )?[\"'“*(]{{0,3}}(?:{mentions})"
    one += r"[\"'”*)]{0,3}"
    joint = rf"\s*(?:,|/|{any_of(words.joint)})\s*"
    rest = re.sub(rf"{one}(?:{joint}{one})+", " ", text, flags=re.IGNORECASE)
    return re.search(one, rest, re.IGNORECASE) is not None or rules.cited.search(rest) is not None


def _is_rivalled(text: str, option: str, others: Mapping[str, str], rules: _OptionRules) -> bool:
    """Whether another option stands beside the one found as an answer, too."""
    words = rules.words
    for name, other in others.items():
        mention = _mention(name, words)
        label = rf"(?:\A|[.;!?]\s|\n\s{{0,3}})[*_(]{{0,3}}{_name_pattern(name)}[*_]{{0,3}}[).:\]]"
        beside = (
            rf"(?<![\w'’]){re.escape(option)}[\"'”*)\].]{{0,3}}\s*(?:,|;|/|-|–|—|&|"
            rf"{any_of(words.joins)})\s*(?:{group(words.perhaps)}\s+)?{rules.option}"
            rf"[\"'“*(]{{0,3}}{mention}(?!\s+{group(words.predicates)}\b)"
        )
        if len(other) == 1 and re.search(label, text):
            return True
        if re.search(beside, text, re.IGNORECASE):
            return True
        for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
            if re.search(mention, sentence, re.IGNORECASE) and rules.equal.search(sentence):
                return True
    return False


def _is_label_and_text(text: str, names: Mapping[str, str]) -> bool:
    """Whether the answer is a label and its own text, "A) an upper-class person", and no more."""
    match = re.match(r"\W*(\w+)\W+(.*)\Z", text, re.DOTALL)
    if match is None:
        return False
    label, rest = _folded(match[1]), _folded(match[2])
    return label in names and names.get(rest) == names[label]
