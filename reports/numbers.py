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
    """The number with so many decimals, or the dash."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    text = f"{value:.{digits}f}"
    return text.replace("-", "−", 1) if text.startswith("-") else text


def span(low: float | None, high: float | None) -> str:
    """An interval as "low to high", or the dash."""
    if low is None or high is None:
        return UNDEFINED
    return f"{shown(low)} to {shown(high)}"


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
