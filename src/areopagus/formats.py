"""How figures are written, in every output alike: numbers, p-values, intervals, counts, sums."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    # The help of a command loads no estimators.
    from .aggregation.estimate import Estimate

UNDEFINED: Final = "–"
"""What stands for a figure that there is none of; never a zero."""

_COUNTED = "prompt|pair|rater|response|scenario|template|concept pair|answer|name|question|source"


def number(value: float | None, digits: int = 2, *, is_signed: bool = False) -> str:
    """The number with so many decimals: "−0.42", "+0.42" where signed, "–" where undefined.

    What rounds to nought has no sign.
    """
    if value is None or math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:+.{digits}f}" if abs(value) < 1e6 else f"{value:+.{max(digits, 3)}g}"
    if not text.strip("+-0."):
        return text[1:]
    sign, rest = text[0], text[1:]
    return f"−{rest}" if sign == "-" else f"+{rest}" if is_signed else rest


def percent(value: float | None, digits: int = 0) -> str:
    """A share as "42%", "–" where undefined."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    return f"{number(100 * value, digits)}%"


def share(found: Estimate) -> str:
    """A share with its interval: "40% [28%, 53%]"; without one of no width, and where is none."""
    low, high = percent(found.low), percent(found.high)
    limits = f" [{low}, {high}]" if found.has_interval and low != high else ""
    return f"{percent(found.value)}{limits}"


def p_value(value: float | None) -> str:
    """A p-value with four decimals; "<0.0001" below, "–" where undefined."""
    return "<0.0001" if value is not None and value < 0.0001 else number(value, 4)


def interval(
    low: float | None, high: float | None, digits: int = 2, *, is_signed: bool = False
) -> str:
    """The limits as "[0.28, 0.45]"; "–" where there is no interval."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return UNDEFINED
    return (
        f"[{number(low, digits, is_signed=is_signed)}, {number(high, digits, is_signed=is_signed)}]"
    )


def estimate(found: Estimate, digits: int = 2, *, is_signed: bool = False) -> str:
    """Value and interval as "0.37 [0.28, 0.45]"; the value alone where there is no interval."""
    shown = number(found.value, digits, is_signed=is_signed)
    if not found.has_interval:
        return shown
    return f"{shown} {interval(found.low, found.high, digits, is_signed=is_signed)}"


def count(value: Any) -> str:
    """A whole number with commas between its thousands; "–" for None and nan."""
    if value is None or value != value:
        return UNDEFINED
    return f"{int(value):,}"


def dollars(value: float | None) -> str:
    """US dollars: cents from one dollar on, four decimals below; "unknown" for None."""
    if value is None:
        return "unknown"
    if value == 0:
        return "$0"
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}" if value >= 0.0001 else "<$0.0001"


def known_dollars(value: float | None, n_unknown: int) -> str:
    """What is known of a sum: "unknown", never "$0", where some prices are and nothing else is."""
    return dollars(value or None if n_unknown else value)


def duration(seconds: float) -> str:
    """Seconds as h:mm:ss or m:ss."""
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


def units(n: int, unit: str, many: str | None = None) -> str:
    """ "1 prompt", "26 prompts"; `many` where the plural is not the word with an s."""
    return f"{n:,} {unit if n == 1 else many or f'{unit}s'}"


def words(name: str) -> str:
    """An identifier as words."""
    return name.replace("_", " ")


def plain(value: Any) -> str:
    """A setting as a sentence has it: no brackets, no quotes."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {plain(one)}" for name, one in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(plain, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def said(reason: str | None) -> str:
    """A reason for print: "1 prompt", not "1 prompts"; "there is 1", not "there are 1"."""
    text = re.sub(rf"\b1 ({_COUNTED})s\b", r"1 \1", reason or "")
    text = re.sub(r"^1 ([\w ]+)s(?=: an interval needs)", r"1 \1", text)  # an audit's own unit
    return re.sub(r"\bthere are 1$", "there is 1", text)


def listed(names: Sequence[str], most: int = 8) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(names[:most])
    left = len(names) - most
    return f"{shown} and {left:,} more" if left > 0 else shown


def listed_all(names: Sequence[str]) -> str:
    """All names: "a", "a and b", "a, b and c"."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def short(name: str, most: int = 40) -> str:
    """A name for a sentence: names of models differ at their ends."""
    return name if len(name) <= most else f"{name[: most - 13]}…{name[-12:]}"
