"""Words for numbers, and lines of at most 80 columns."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence

from .number import Number

WIDTH = 80

_COUNTED = "prompt|pair|rater|response|scenario|template|concept pair|answer|name|question|source"


def show(number: Number, *, digits: int = 3, with_n: bool = True) -> str:
    """Returns ".324 [.112, .541] (26 prompts)", or why there is no value or no interval."""
    if not number.is_defined:
        return f"undefined: {said(number.reason)}"
    words = plain(number.value, digits)
    if number.has_interval:
        words += f" [{plain(number.low, digits)}, {plain(number.high, digits)}]"
    notes = [units(number.n, number.unit)] if with_n else []
    if number.reason:
        notes.append(said(number.reason))
    return f"{words} ({'; '.join(notes)})" if notes else words


def said(reason: str | None) -> str:
    """Returns a reason for print: "1 prompt", not "1 prompts"."""
    return re.sub(rf"\b1 ({_COUNTED})s\b", r"1 \1", reason or "")


def cell(number: Number, *, digits: int = 2) -> str:
    """Returns a number for a table: value and interval, or "undef.", without words."""
    if not number.is_defined:
        return "undef."
    words = plain(number.value, digits)
    if number.has_interval:
        words += f" [{plain(number.low, digits)},{plain(number.high, digits)}]"
    return words


def plain(value: float, digits: int = 3) -> str:
    """Returns a number with fixed digits; "undef." for nan, without a minus before zero."""
    if math.isnan(value):
        return "undef."
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if abs(value) >= 1e6:
        return f"{value:.{digits}g}"
    text = f"{value:.{digits}f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.") else text


def probability(number: Number) -> str:
    """Returns "p = .013" with its method, or why there is none."""
    if not number.is_defined:
        return f"p undefined: {number.reason}"
    value = number.value
    words = "p < .0001" if value < 0.0001 else f"p = {value:.4f}"
    return f"{words} ({number.method})"


def units(n: int, unit: str) -> str:
    """Returns "1 prompt", "26 prompts"."""
    return f"{n:,} {unit}" if n == 1 else f"{n:,} {unit}s"


def heading(text: str) -> list[str]:
    """Returns a heading with a blank line before it and a rule below."""
    return ["", text, "-" * min(len(text), WIDTH)]


def item(label: str, text: str, *, indent: int = 2) -> list[str]:
    """Returns "label: text", wrapped, what follows indented."""
    return textwrap.wrap(
        f"{label}: {text}" if label else text, WIDTH,
        initial_indent=" " * indent, subsequent_indent=" " * (indent + 4),
        break_long_words=True, break_on_hyphens=False,
    )  # fmt: skip


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns a table; first cells that would pass 80 columns stand on lines of their own."""
    body = [list(row) for row in rows]
    widths = [max(len(r[k]) for r in [list(header), *body]) for k in range(len(header))]
    room = WIDTH - 2 - sum(widths[1:]) - 2 * (len(widths) - 1)
    is_split = widths[0] > room
    if is_split:
        widths[0] = max(min(room, len(header[0])), 4)
    lines = []
    for row in [list(header), *body]:
        first = row[0]
        if is_split and len(first) > widths[0]:
            lines += item("", first)
            first = ""
        cells = [first.ljust(widths[0])]
        cells += [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


def listed(names: Sequence[str], most: int = 8) -> str:
    """Returns the first names, and how many more there are."""
    shown = ", ".join(names[:most])
    left = len(names) - most
    return f"{shown} and {left:,} more" if left > 0 else shown
