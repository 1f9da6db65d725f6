"""Markers of list items: which lines have one, and figures for letters and roman numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

BULLET: Final = "• "

_BULLETS: Final = "-*+•‣◦●▪·–—⁃∙○◉⦿■□◆◇▶►▸▹➔➜➤➢★☆☐☑👉🔹🔸"
_ITEM: Final = re.compile(
    rf"[ ]*(?:(?P<bullet>[{_BULLETS}])|\(?(?P<number>\d{{1,3}})[.)])[ ]+(?=\S)"
)
_BOX: Final = re.compile(r"[ ]*(?:[-*+•][ ]+)?\[[ xX]\][ ]+(?=\S)")
_LETTERED: Final = re.compile(r"[ ]*(\(?)([A-Za-z]|[ivxIVX]{1,5})([.)])[ ]+(?=\S)")

_REFERRED: Final = re.compile(r"\S \(([A-Za-z]|[ivxIVX]{1,5})\)")

_TENS, _ONES = ("", "x"), ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_ROMAN: Final = {
    ten + one: 10 * tens + ones
    for tens, ten in enumerate(_TENS)
    for ones, one in enumerate(_ONES)
    if ten or one
}
_FEWEST_INITIALS: Final = 3
"""Lines that begin with A., B., … from which these are markers, and not people's initials."""


@dataclass(slots=True)
class _Run:
    """Lines whose markers count on: a), b), c) or i., ii., iii."""

    style: tuple[str, str, bool, bool]
    last: int
    lines: list[int] = field(default_factory=list)


def is_item(line: str) -> bool:
    """Whether the line begins with a plain marker, or one that `plain_item` makes plain."""
    return _ITEM.match(line) is not None


def begins_like_item(line: str) -> bool:
    """Whether the line begins as items do, also with a letter that is alone of its kind."""
    if is_item(line) or _BOX.match(line):
        return True
    found = _LETTERED.match(line)
    return found is not None and found[3] == ")"


def plain_item(line: str) -> str:
    """Returns the line with `• ` or `1. ` for its marker, boxes to tick left out."""
    if box := _BOX.match(line):
        return BULLET + line[box.end() :]
    found = _ITEM.match(line)
    if found is None:
        return line
    marker = BULLET if found["bullet"] else f"{int(found['number'])}. "
    return marker + line[found.end() :].lstrip(" ")


def with_figures(lines: list[str]) -> list[str]:
    """Returns the lines with figures for markers that are letters or roman numbers.

    Only where they count on from the first, a then b, i then ii, in one style: `A. Smith` at the
    head of a line is a person. A list that the text speaks of, "as (b) says", keeps its letters.
    """
    referred = {found[1] for line in lines for found in _REFERRED.finditer(line)}
    runs: list[_Run] = []
    current: dict[tuple[str, str, bool, bool], _Run] = {}
    for number, line in enumerate(lines):
        found = _LETTERED.match(line)
        if found is None:
            continue
        for is_roman, value in _values(found[2]):
            style = (found[1], found[3], found[2].isupper(), is_roman)
            run = current.get(style)
            if run is not None and value == run.last + 1:
                run.last = value
                run.lines.append(number)
            elif value == 1:
                current[style] = _Run(style, 1, [number])
                runs.append(current[style])
    out = list(lines)
    # the longer run has the line: the i of i, ii, iii and not of a, b, …, i
    for run in sorted(runs, key=lambda one: len(one.lines)):
        markers = [found for number in run.lines if (found := _LETTERED.match(lines[number]))]
        _, closing, is_upper, is_roman = run.style
        fewest = _FEWEST_INITIALS if closing == "." and is_upper and not is_roman else 2
        if len(markers) < fewest or any(found[2] in referred for found in markers):
            continue
        for value, (number, found) in enumerate(zip(run.lines, markers, strict=True), start=1):
            out[number] = f"{value}. {lines[number][found.end() :]}"
    return out


def _values(marker: str) -> list[tuple[bool, int]]:
    """What the marker may count as: (whether roman, value)."""
    plain = marker.lower()
    found: list[tuple[bool, int]] = []
    if len(plain) == 1:
        found.append((False, ord(plain) - ord("a") + 1))
    if plain in _ROMAN and (marker.isupper() or marker.islower()):
        found.append((True, _ROMAN[plain]))
    return found
