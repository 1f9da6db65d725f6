"""Patterns for amounts in answers: digits, English words, ranges, per cent, out of a hundred."""

from __future__ import annotations

from typing import Final

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
