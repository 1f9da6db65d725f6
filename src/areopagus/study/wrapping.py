"""Lines that a program broke at a width, put together again; lines that somebody ended stay."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from .list_markers import begins_like_item

NARROWEST, WIDEST = 50, 120
"""Widths at which editors and mail break lines; verse is narrower, and nobody breaks wider."""

_FEWEST_LINES: Final = 3
"""Lines of a paragraph from which their lengths say something."""

_QUOTED: Final = re.compile(r"(?: {0,3}> ?)*")
_FENCE: Final = re.compile(r" *(?:```|~~~)")
_ALONE: Final = re.compile(r" *(?:#{1,6} |<|\||([-*_=])(?: *\1){2,} *$)|.*(?:  |\\|<br ?/?>)$")
"""Headings, tags, rows, rules, and lines that break on purpose: nothing goes on after these."""


def unwrapped(text: str) -> str:
    """Returns the text with the lines of each paragraph joined that was broken at a width.

    To be asked before markup goes, since that counted when the lines were broken. A paragraph of
    three lines or more tells a width, and so do several of two lines that all fit one; one of two
    lines is joined where it fits a width that was told.
    """
    parts = list(_parts(text.split("\n")))
    widths = [own_width(part) for part in parts]
    width = max((found for found in widths if found is not None), default=None) or _shared(parts)
    out: list[str] = []
    for part, told in zip(parts, widths, strict=True):
        if told is not None or (width is not None and len(part) > 1 and _is_full(part, width)):
            rest = (line[_prefix(line) :].strip() for line in part[1:])
            out.append(" ".join([part[0].rstrip(), *rest]))
        else:
            out += part
    return "\n".join(out)


def own_width(lines: list[str]) -> int | None:
    """Returns the width at which a program broke these lines, or None where nothing shows one.

    It breaks where the next word has no room: every line and the first word of the next are then
    longer than the longest line. Lines of verse, of an address or of a list end where their writer
    wanted; and since verse may come close, half the lines that go on must not begin with a capital.
    """
    width = max(len(line.rstrip()) for line in lines)
    if len(lines) < _FEWEST_LINES or not NARROWEST <= width <= WIDEST:
        return None
    return width if _is_full(lines, width) else None


def _shared(parts: list[list[str]]) -> int | None:
    """The width that all parts of two lines show together."""
    several = [part for part in parts if len(part) > 1]
    width = max((len(line.rstrip()) for part in several for line in part), default=0)
    if len(several) < _FEWEST_LINES - 1 or not NARROWEST <= width <= WIDEST:
        return None
    return width if all(_is_full(part, width) for part in several) else None


def _is_full(lines: list[str], width: int) -> bool:
    if max(len(line.rstrip()) for line in lines) > width:
        return False
    follows = [line[_prefix(line) :].lstrip() for line in lines[1:]]
    for line, other in zip(lines, follows, strict=False):
        if len(line.rstrip()) + 1 + len(other.split(" ")[0]) <= width:
            return False
    return 2 * sum(not other[0].isupper() for other in follows) >= len(follows)


def _parts(lines: list[str]) -> list[list[str]]:
    """The lines in groups that may be one paragraph or item each, in order."""
    parts: list[list[str]] = [[line] for line in lines[:1]]
    is_code = bool(lines) and _FENCE.match(lines[0]) is not None
    for before, line in pairwise(lines):
        is_fence = _FENCE.match(line) is not None
        if is_code or is_fence or not _goes_on(before, line):
            parts.append([line])
        else:
            parts[-1].append(line)
        is_code ^= is_fence
    return parts


def _goes_on(before: str, line: str) -> bool:
    """Whether the line may go on with the one before."""
    at, was_at = _prefix(line), _prefix(before)
    own, old = line[at:], before[was_at:]
    if not own.strip() or not old.strip() or line[:at].split() != before[:was_at].split():
        return False
    return not (begins_like_item(own) or _ALONE.match(own) or _ALONE.match(old))


def _prefix(line: str) -> int:
    """Where a quoted line's own text begins."""
    found = _QUOTED.match(line)
    return found.end() if found else 0
