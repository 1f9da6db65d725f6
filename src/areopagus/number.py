"""One number of a report: its value, what it rests on, its interval, or why there is none."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from .aggregation.interval import Interval


@dataclass(frozen=True, slots=True)
class Number:
    """A figure with what a reader needs to judge it.

    Attributes:
        value: nan when undefined.
        n: how many units it rests on.
        unit: what the units are: "prompt", "response pair", "rating", …
        method: the estimator, and how the interval was made.
        low, high: limits of the 95% interval (or the level named in `method`); nan when none.
        reason: why the value or its interval is missing; None when nothing is missing.
    """

    value: float
    n: int
    unit: str
    method: str
    low: float = math.nan
    high: float = math.nan
    reason: str | None = None

    @property
    def is_defined(self) -> bool:
        """Whether there is a value."""
        return math.isfinite(self.value)

    @property
    def has_interval(self) -> bool:
        """Whether both limits are there."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def covers(self, point: float) -> bool:
        """Whether there is an interval and it holds the point."""
        return self.has_interval and self.low <= point <= self.high

    def to_json(self) -> dict[str, Any]:
        """Returns the fields, with None where a figure is nan or infinite."""
        return {
            "value": _finite(self.value),
            "n": self.n,
            "unit": self.unit,
            "low": _finite(self.low),
            "high": _finite(self.high),
            "method": self.method,
            "reason": self.reason,
        }


def from_interval(interval: Interval, estimator: str) -> Number:
    """Returns an `Interval` as a number; the method names estimator and interval."""
    return Number(
        value=interval.value,
        n=interval.n,
        unit=interval.unit,
        method=f"{estimator}; {interval.level:.0%} {interval.method} over {interval.unit}s",
        low=interval.low,
        high=interval.high,
        reason=interval.reason,
    )


def undefined(reason: str, *, unit: str = "prompt", method: str = "", n: int = 0) -> Number:
    """Returns a number that could not be computed."""
    return Number(math.nan, n, unit, method, reason=reason)


def as_json(thing: Any) -> Any:
    """Returns a tree of dataclasses, tuples, mappings and numbers as JSON-like values."""
    if isinstance(thing, Number):
        return thing.to_json()
    if is_dataclass(thing) and not isinstance(thing, type):
        return {field.name: as_json(getattr(thing, field.name)) for field in fields(thing)}
    if isinstance(thing, dict):
        return {str(key): as_json(value) for key, value in thing.items()}
    if isinstance(thing, tuple | list):
        return [as_json(item) for item in thing]
    if isinstance(thing, bool) or thing is None or isinstance(thing, str):
        return thing
    if isinstance(thing, int):
        return int(thing)
    if isinstance(thing, float):
        return _finite(thing)
    if isinstance(thing, np.generic | np.ndarray):
        return as_json(thing.tolist())
    raise TypeError(f"no JSON for {type(thing).__name__}")


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


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


def units(n: int, unit: str, many: str | None = None) -> str:
    """Returns "1 prompt", "26 prompts"; `many` where the plural is not the word with an s."""
    return f"{n:,} {unit if n == 1 else many or f'{unit}s'}"


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
