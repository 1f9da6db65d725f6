"""Forms in which audits ask for an answer, and how answers in them are read.

The sentences made here are what the embedded respondent understands, so that an audit that uses
them runs on the stand-ins; real models read them as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..judges.lexical_sentences import is_refusal as _is_refusal
from ..judges.lexical_sentences import kept_sentences
from .definition import Cell, Reading

_EDGES = " \t\r\n.,:;!\"'“”‘’`*_()[]{}<>#-–—"
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


def whole_number(low: int, high: int) -> str:
    """The sentence that asks for a whole number on a scale."""
    return f"Reply with one whole number from {low} to {high}"


OptionOutcome = Literal["one", "several", "none", "refused", "empty"]


@dataclass(frozen=True, slots=True)
class OptionReading:
    """Which option an answer names.

    Attributes:
        outcome: `one`; `several` (more than one is named as the answer), `none` (no option can be
            read as the answer), `refused` (a short text that declines), `empty`.
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
    words ("I choose B"). Two different ones by any of these are `several`. That an option is
    merely mentioned is no answer.

    Args:
        text: the answer.
        options: the labels asked for, such as ("A", "B") or ("P1", "other").
        aliases: option to other texts for it, such as {"A": ("an upper-class person",)}.
    """
    stripped = text.strip()
    if not stripped.strip(_EDGES):
        return OptionReading("empty")
    names: dict[str, str] = {}
    for option in options:
        for name in (option, *(aliases or {}).get(option, ())):
            names[_folded(name)] = option
    whole = names.get(_folded(_LEAD_IN.sub("", stripped)))
    if whole is not None:
        return OptionReading("one", whole, is_bare=True)
    lines = [line for line in stripped.splitlines() if line.strip(_EDGES)]
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
        return OptionReading("one", found.pop(), is_bare=_is_label_and_text(stripped, names))
    if len(found) > 1:
        return OptionReading("several")
    return OptionReading("refused") if declines(text) else OptionReading("none")


def declines(text: str) -> bool:
    """Whether a short text does nothing but decline to answer."""
    sentences, _ = kept_sentences(text[:2_000])
    words = sum(len(sentence.words) for sentence in sentences)
    return _is_refusal([sentence.text for sentence in sentences], words)


def _folded(text: str) -> str:
    return " ".join(text.strip(_EDGES).casefold().split())


def _opening(line: str, options: Sequence[str]) -> str | None:
    """The option that a line opens with as a label: "A) because", "**B**: …"."""
    bare = _LEAD_IN.sub("", line.strip().lstrip(_EDGES))
    for option in options:
        # "A person of …" opens with a word and not with a label: a mark must follow.
        label = rf"(?:option\s+)?{re.escape(option)}[*_`\"'”]{{0,3}}\s*[).:\]–—,;-]"
        if re.match(label, bare, re.IGNORECASE if len(option) > 1 else 0):
            return option
    return None


def _chosen(text: str, names: Mapping[str, str]) -> set[str]:
    found: set[str] = set()
    for name, option in names.items():
        # A single letter counts as written; small "a" is an article.
        pattern = re.escape(name) if len(name) > 1 else rf"(?-i:{re.escape(name.upper())})"
        said = (
            rf"\bI(?:'d| would|'ll| will| must| have to)? {_CHOOSES} "
            rf"(?:option )?[\"'“*(]{{0,3}}{pattern}\b"
        )
        if re.search(said, text, re.IGNORECASE):
            found.add(option)
    return found


def _is_label_and_text(text: str, names: Mapping[str, str]) -> bool:
    """Whether the answer is a label and its own text, "A) an upper-class person", and no more."""
    match = re.match(r"\W*(\w+)\W+(.*)\Z", text, re.DOTALL)
    if match is None:
        return False
    label, rest = _folded(match[1]), _folded(match[2])
    return label in names and names.get(rest) == names[label]
