"""One number of a report: its value, what it rests on, its interval, or why there is none."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from .aggregation.estimate import Estimate
from .formats import said, units


def as_json(thing: Any) -> Any:
    """Returns a tree of dataclasses, tuples, mappings and numbers as JSON-like values."""
    if isinstance(thing, Estimate):
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


def show(number: Estimate, *, digits: int = 3, with_n: bool = True) -> str:
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


def cell(number: Estimate, *, digits: int = 2) -> str:
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


def probability(number: Estimate) -> str:
    """Returns "p = .013" with its method, or why there is none."""
    if not number.is_defined:
        return f"p undefined: {number.reason}"
    value = number.value
    words = "p < .0001" if value < 0.0001 else f"p = {value:.4f}"
    return f"{words} ({number.method})"


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
