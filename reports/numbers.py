"""Numbers as the report writes them; what is undefined is a dash, never a zero."""

from __future__ import annotations

import math
from typing import Any, Final

UNDEFINED: Final = "–"


def parsed(cell: str | None) -> float | None:
    """The number in a cell of scores.csv; None where it is empty or none."""
    try:
        value = float(cell or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def shown(value: float | None, digits: int = 2) -> str:
    """The number with so many decimals, or the dash; what rounds to nought has no sign."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    text = f"{value:.{digits}f}"
    if not text.strip("-0."):
        return text.removeprefix("-")
    return text.replace("-", "−", 1) if text.startswith("-") else text


def p_shown(value: float | None) -> str:
    """A p-value with four decimals, below that "<0.0001", or the dash."""
    return "<0.0001" if value is not None and value < 0.0001 else shown(value, 4)


def span(low: float | None, high: float | None, digits: int = 2) -> str:
    """An interval as "low to high", or the dash."""
    if low is None or high is None:
        return UNDEFINED
    return f"{shown(low, digits)} to {shown(high, digits)}"


def limits(low: float | None, high: float | None, digits: int = 2) -> str:
    """What stands below a value in a table: its interval, or nothing."""
    return "" if low is None or high is None else span(low, high, digits)


def count(value: Any) -> str:
    """A whole number with commas between its thousands; the dash for None."""
    return UNDEFINED if value is None else f"{int(value):,}"


def dollars(value: float | None) -> str:
    """US dollars: cents from one dollar on, four significant places below."""
    if value is None:
        return UNDEFINED
    if value == 0 or value >= 1:
        return f"US$ {value:,.2f}"
    return f"US$ {value:.4g}" if value >= 0.0001 else "below US$ 0.0001"


def words(name: str) -> str:
    """An identifier as words."""
    return name.replace("_", " ")
