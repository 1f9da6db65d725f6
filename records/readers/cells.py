"""Reads cells (ids, texts, numbers, or nothing); `ColumnMap` maps other column names to ours."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InputFault

ID_LIMIT_CHARS = 1000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def is_missing(value: Any) -> bool:
    """Returns whether a cell holds nothing: None, nan, or text that is empty or blank."""
    if value is None:
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return isinstance(value, str) and not value.strip()


def read_id(value: Any) -> str | None:
    """Returns an id as text, unchanged; None where the cell is missing.

    A whole number becomes its decimal form, also where a data frame with gaps made it a float
    (17.0 is "17").

    Raises:
        ValueError: with a sentence, for any other value, control characters, or more than
            `ID_LIMIT_CHARS` characters.
    """
    if is_missing(value):
        return None
    if isinstance(value, str):
        if len(value) > ID_LIMIT_CHARS:
            raise ValueError(f"must have at most {ID_LIMIT_CHARS} characters, got {len(value):,}")
        if _CONTROL.search(value):
            raise ValueError(f"must not hold control characters, got {value[:60]!r}")
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) >= 10**ID_LIMIT_CHARS:
            raise ValueError(f"must have at most {ID_LIMIT_CHARS} characters")
        return str(value)
    # Beyond 2**53 a float no longer tells neighbouring whole numbers apart: two ids would be one.
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return str(int(value))
    raise ValueError(f"must be text or a whole number, got {json_kind(value)}")


def read_text(value: Any, *, limit: int) -> str:
    """Returns a text unchanged; it may be empty.

    Raises:
        ValueError: with a sentence, for anything but text of at most `limit` characters.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise ValueError(
            "must be text, got nothing (an empty response is the empty text; "
            "pandas reads it as missing unless told keep_default_na=False)"
        )
    if not isinstance(value, str):
        raise ValueError(f"must be text, got {json_kind(value)}")
    if len(value) > limit:
        raise ValueError(f"must have at most {limit:,} characters, got {len(value):,}")
    return value


def read_number(value: Any) -> float | None:
    """Returns a finite number, also from its text; None where the cell is missing.

    Raises:
        ValueError: with a sentence, for anything else.
    """
    if is_missing(value):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"must be a number, got {json_kind(value)}")
    try:
        # float() also takes "1_0": nobody's score.
        number = float(value) if not (isinstance(value, str) and "_" in value) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"must be a number, got {json_kind(value)}")
    return number


def plain_value(value: Any) -> Any:
    """Returns the value with dates and times as ISO 8601 text, everything else unchanged."""
    isoformat = getattr(value, "isoformat", None)
    return isoformat() if callable(isoformat) else value


def json_kind(value: Any) -> str:
    """Returns the name of a JSON value's kind, with the value where it is short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        shown = repr(value)
        return f"the number {shown if len(shown) <= 24 else shown[:20] + '…'}"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list | tuple) else type(value).__name__


class ColumnMap:
    """Sorts the values of a row into our columns and those carried through.

    Args:
        own: our column names.
        columns: our name to theirs, for the columns they call otherwise.
    """

    def __init__(self, own: Sequence[str], columns: Mapping[str, str] | None = None) -> None:
        self.own = tuple(own)
        self.columns = dict(columns or {})
        self.theirs = {name: self.columns.get(name, name) for name in self.own}
        self._taken = frozenset(self.theirs.values())

    def faults(self) -> list[InputFault]:
        """Returns a fault for every name on our side that does not exist."""
        allowed = ", ".join(self.own)
        return [
            InputFault("column map", f"must name one of {allowed}, got {name!r}", field=name)
            for name in self.columns
            if name not in self.own
        ]

    def split(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns (our columns that the row has, every other column of the row).

        A carried column whose name is one of ours, because another column was mapped to that
        name, is carried as `original_<name>`, so that it cannot be taken for ours.
        """
        ours = {name: values[theirs] for name, theirs in self.theirs.items() if theirs in values}
        carried = {
            (f"original_{name}" if name in self.own else name): value
            for name, value in values.items()
            if name not in self._taken
        }
        return ours, carried
