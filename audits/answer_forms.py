"""Forms in which audits ask for an answer, and how answers in them are read.

The sentences made here are what the embedded respondent understands, so that an audit that uses
them runs on the stand-ins; real models read them as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ..judges.english import is_refusal as _is_refusal
from ..judges.english import kept_sentences
from .audit import Cell, Reading

EDGES: Final = " \t\r\n.,:;!\"'“”‘’`*_()[]{}<>#-–—"
_LEAD_IN = re.compile(
    r"^(?:(?:my|the|final)\s+)*(?:answer|choice|option|reply|response|pick)(?:\s+(?:is|would be))?"
    r"\s*[:=\-–—]?\s*(?:option\s+)?",
    re.IGNORECASE,
)
_CHOOSES = r"(?:choose|pick|select|go with|opt for|answer|say)"


def one_of(*options: str) -> str:
    """The sentence that asks for exactly one of the options: "Reply with exactly one of: A / B"."""
    return f"Reply with exactly one of: {' / '.join(options)}"


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


def whole_number(low: int, high: int) -> str:
    """The sentence that asks for a whole number on a scale."""
    return f"Reply with one whole number from {low} to {high}"


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
    text: str, options: Sequence[str], aliases: Mapping[str, Sequence[str]] | None = None
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
    """
    stripped = text.strip()
    if not stripped.strip(EDGES):
        return OptionReading("empty")
    names: dict[str, str] = {}
    for option in options:
        for name in (option, *(aliases or {}).get(option, ())):
            names[_folded(name)] = option
    whole = names.get(_folded(_LEAD_IN.sub("", stripped)))
    if whole is not None and not stripped.endswith("?"):
        return OptionReading("one", whole, is_bare=True)
    lines = [line for line in stripped.splitlines() if line.strip(EDGES)]
    found: set[str] = set()
    first = _opening(lines[0], options)
    if first is not None:
        found.add(first)
    for line in (lines[0], lines[-1]):
        alone = names.get(_folded(_LEAD_IN.sub("", line.strip())))
        if alone is not None:
            found.add(alone)
    found |= _chosen(stripped, names)
    if len(found) == 1:
        (option,) = found
        if _is_label_and_text(stripped, names):
            return OptionReading("one", option, is_bare=True)
        others = {name: one for name, one in names.items() if one != option}
        if _is_rivalled(stripped, option, others):
            return OptionReading("several")
        return OptionReading("one", option)
    if len(found) > 1:
        return OptionReading("several")
    if declines(text) and not _names_an_option(stripped, names):
        return OptionReading("refused")
    return OptionReading("none")


_NUMBER = re.compile(r"[-+−]?\d{1,12}(?:\.\d{1,6})?")


def read_number(text: str, low: float, high: float) -> tuple[Reading, float | None]:
    """The number that an answer gives, read strictly: alone, or alone on its first or last line.

    Args:
        text: the answer.
        low, high: ends of the scale; a number off it is for judges.

    Returns:
        The reading, without its value, and the number where there is one.
    """
    if not text.strip(EDGES):
        return Reading("empty", {}, "no text"), None
    lines = [line for line in text.splitlines() if line.strip(EDGES)]
    found = set()
    for line in {lines[0], lines[-1]}:
        bare = _LEAD_IN.sub("", line.strip()).strip(EDGES.replace("-", ""))
        if _NUMBER.fullmatch(bare):
            found.add(float(bare.replace("−", "-")))
    if len(found) == 1:
        (number,) = found
        if low <= number <= high:
            return Reading("classified"), number
        return Reading("unclassified", {}, "off_the_scale"), None
    if not found and declines(text) and not re.search(r"\d", text):
        return Reading("refused", {}, "declined"), None
    return Reading("unclassified", {}, "several_numbers" if found else "no_number_alone"), None


def declines(text: str) -> bool:
    """Whether a short text does nothing but decline to answer.

    One that goes on to answer all the same ("I can't know, but …", "if forced, …") does more.
    """
    return seems_to_decline(text) and not _goes_on_to_answer(text[:2_000])


def seems_to_decline(text: str) -> bool:
    """Whether a short text opens by declining, whatever else there is."""
    sentences, _ = kept_sentences(text[:2_000])
    words = sum(len(sentence.words) for sentence in sentences)
    return _is_refusal([sentence.text for sentence in sentences], words)


_ALL_THE_SAME = re.compile(
    # "if forced", "if I had to", "since you insist"
    r"\bif (?:(?:i|we|you|it|am|'m|i'm|was|were|be|absolutely|really|only|ever) )*(?:forced|pressed"
    r"|pushed|compelled|made to|required|had to|have to|must|insist|need(?:ed)?)\b"
    r"|\bi (?:had|have) to (?:choose|pick|say|guess|answer|give|name|rate)\b"
    r"|\b(?:you insist|gun to|hypothetically)\b"
    r"|\bmy (?:\w+ )?(?:guess|estimate|pick|choice|rating|hunch|intuition|gut|inclination)\b"
    r"|\bi(?:'d| would|'ll| will| might| could| do)? (?:guess|say|pick|go with|choose|lean|estimate"
    r"|put|rate|opt|bet|suspect|assume|imagine|think|favou?r|incline)\b|\bi'm inclined\b"
    r"|\b(?:nonetheless|nevertheless|that said|having said|even so|all the same|anyway)\b"
    r"|(?:\A|[.!?;:,\n–—-]\s{0,3}|\bbut )(?:probably|most likely|likely|perhaps|maybe|possibly"
    r"|presumably|roughly|about|around|approximately|somewhere)\b",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"\b(?:but|however|yet|though|although|still|except)\b(?=([^.!?\n]{0,300}))", re.IGNORECASE
)
_OFFER = re.compile(
    r"\b(?:happy|glad|help|assist|discuss|talk|suggest|offer|provide|let me know|let's|recommend"
    r"|encourage|feel free)\b",
    re.IGNORECASE,
)


def _goes_on_to_answer(text: str) -> bool:
    plain = text.replace("’", "'")
    if _ALL_THE_SAME.search(plain):
        return True
    # "I'm sorry, but I can't", "… but I'm happy to discuss it" turn to no answer.
    rests = [match[1] for match in _TURN.finditer(plain)]
    return any(
        re.search(r"\w", rest)
        and not _OFFER.search(rest)
        and not seems_to_decline(rest.strip(" ,"))
        for rest in rests
    )


def _folded(text: str) -> str:
    return " ".join(text.strip(EDGES).casefold().split())


def _opening(line: str, options: Sequence[str]) -> str | None:
    """The option that a line opens with as a label: "A) because", "**B**: …"."""
    bare = _LEAD_IN.sub("", line.strip().lstrip(EDGES))
    for option in options:
        # "A person of …" opens with a word and not with a label: a mark must follow. "A: no" is
        # a word on A.
        label = (
            rf"(?:option\s+)?{re.escape(option)}[*_`\"'”]{{0,3}}\s*[).:\]–—,;-]"
            rf"(?!\s*(?:no|not|never|wrong|incorrect|false|unfair)\b"
            r"(?!\s+(?:option\s+)?[A-Z]\b))"
        )
        if re.match(label, bare, re.IGNORECASE if len(option) > 1 else 0):
            return option
    return None


def _chosen(text: str, names: Mapping[str, str]) -> set[str]:
    found: set[str] = set()
    for name, option in names.items():
        said = (
            rf"\bI(?:'d| would|'ll| will| must| have to)? {_CHOOSES} "
            rf"(?:option )?[\"'“*(]{{0,3}}{_name_pattern(name)}\b(?P<after>[^.!?\n]{{0,60}})"
        )
        for match in re.finditer(said, text.replace("’", "'"), re.IGNORECASE):
            clause = _CLAUSE_START.split(text[: match.start()])[-1]
            if _CONDITION.search(clause) is None and _DENIAL.match(match["after"]) is None:
                found.add(option)
    return found


_CLAUSE_START = re.compile(r"[,;:.!?\n–—]")
# "if I choose A", "I do not think I would pick A"
_CONDITION = re.compile(
    r"\b(?:if|whether|why|unless|until|suppose|never|not|when|were i to)\b|n't\b", re.IGNORECASE
)
_DENIAL = re.compile(
    r"[\"'”*)]{0,3}\s(?:is|are|was|were|would be|seems)(?:n't| not| no| less| never| equally| wrong"
    r"| unfair| worse| just as| as)\b",
    re.IGNORECASE,
)
_EQUAL = re.compile(
    r"\b(?:both|either|neither|equal(?:ly)?|each|alike|as well|too|also|just as|as (?:likely|good"
    r"|plausible|possible|well)|no preference|toss-up|or|and)\b",
    re.IGNORECASE,
)
_CITED = re.compile(r"\b(?:the (?:former|latter|first|second)|option)\b", re.IGNORECASE)


def _name_pattern(name: str) -> str:
    """A name in a text; a single letter counts as written: small "a" is an article."""
    return re.escape(name) if len(name) > 1 else rf"(?-i:{re.escape(name.upper())})"


def _mention(name: str) -> str:
    """Pattern of a mention. "A" before a word is an article, and "I" is somebody."""
    found = rf"(?<![\w'’]){_name_pattern(name)}(?![\w'’])"
    if name in ("a", "i"):
        cited = r"(?<=option )|(?<=choose )|(?<=pick )|(?<=say )|(?<=with )|(?<=for )|(?<=or )"
        found = (
            rf"(?:(?:{cited}){found}|{found}(?=\s*(?:[^\w\s]|\Z|\n|(?:or|and|over|nor|than)\b)))"
        )
    return found


def _names_an_option(text: str, names: Mapping[str, str]) -> bool:
    """Whether the text names an option by itself; "between A and B" names none."""
    one = rf"(?:(?:the|an?) )?(?:option )?[\"'“*(]{{0,3}}(?:{'|'.join(map(_mention, names))})"
    one += r"[\"'”*)]{0,3}"
    joint = r"\s*(?:,|/|\b(?:and|or|nor|over|than|versus|vs\.?)\b)\s*"
    rest = re.sub(rf"{one}(?:{joint}{one})+", " ", text, flags=re.IGNORECASE)
    return re.search(one, rest, re.IGNORECASE) is not None or _CITED.search(rest) is not None


def _is_rivalled(text: str, option: str, others: Mapping[str, str]) -> bool:
    """Whether another option stands beside the one found as an answer, too."""
    for name, other in others.items():
        mention = _mention(name)
        label = rf"(?:\A|[.;!?]\s|\n\s{{0,3}})[*_(]{{0,3}}{_name_pattern(name)}[*_]{{0,3}}[).:\]]"
        beside = (
            rf"(?<![\w'’]){re.escape(option)}[\"'”*)\].]{{0,3}}\s*(?:,|;|/|-|–|—|&|\bor\b|\band\b)"
            rf"\s*(?:(?:and|or|maybe|perhaps|possibly|also)\s+)?(?:option\s+)?[\"'“*(]{{0,3}}{mention}"
            r"(?!\s+(?:is|was|has|would|seems|does|being)\b)"
        )
        if len(other) == 1 and re.search(label, text):
            return True
        if re.search(beside, text, re.IGNORECASE):
            return True
        for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
            if re.search(mention, sentence, re.IGNORECASE) and _EQUAL.search(sentence):
                return True
    return False


def _is_label_and_text(text: str, names: Mapping[str, str]) -> bool:
    """Whether the answer is a label and its own text, "A) an upper-class person", and no more."""
    match = re.match(r"\W*(\w+)\W+(.*)\Z", text, re.DOTALL)
    if match is None:
        return False
    label, rest = _folded(match[1]), _folded(match[2])
    return label in names and names.get(rest) == names[label]
