"""Reads cells: ids, texts, numbers, or nothing; and rows whose columns have other names."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...errors import InputError, InputFault

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
    value = getattr(value, "label", value)  # of a code with a label (`statistical`)
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


def nested_value(value: Any) -> Any:
    """Returns the list or object that a cell's text holds, as JSON or as Python writes it; any
    other cell unchanged.
    """
    if isinstance(value, str) and value[:1] in ("[", "{"):
        for parse in (json.loads, ast.literal_eval):
            try:
                return parse(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return value


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
    """Our column names and theirs."""

    def __init__(self, own: Sequence[str], columns: Mapping[str, str] | None = None) -> None:
        """Takes both.

        Args:
            own: our column names.
            columns: our name to theirs, for the columns they call otherwise.

        Raises:
            InputError: with every name on our side that does not exist.
        """
        self.own = tuple(own)
        self.columns = dict(columns or {})
        wrong = [name for name in self.columns if name not in self.own]
        if wrong:
            allowed = ", ".join(self.own)
            raise InputError(
                InputFault("column map", f"must name one of {allowed}, got {name!r}", field=name)
                for name in wrong
            )
        self.theirs = {name: self.columns.get(name, name) for name in self.own}
        self._taken = frozenset(self.theirs.values())

    def absent(
        self, found: Collection[str], needed: Collection[str], where: str
    ) -> list[InputFault]:
        """Returns a fault for each column that a table needs, or the map names, and lacks."""
        shown = ", ".join(list(found)[:30]) + (", …" if len(found) > 30 else "")
        return [
            InputFault(where, f"there is no such column; found: {shown}", field=theirs)
            for name, theirs in self.theirs.items()
            if theirs not in found and (name in needed or name in self.columns)
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


class RowFields:
    """One row by our names; what is wrong with a field is kept as a fault.

    Attributes:
        carried: the columns that are none of ours.
    """

    def __init__(
        self, columns: ColumnMap, values: Mapping[str, Any], where: str, faults: list[InputFault]
    ) -> None:
        """Takes the row, its place in words, and the list that takes its faults."""
        self._ours, self.carried = columns.split(values)
        self._theirs = columns.theirs
        self._where = where
        self._faults = faults
        self._n_before = len(faults)

    @property
    def is_sound(self) -> bool:
        """Whether no fault was kept since the row was taken."""
        return len(self._faults) == self._n_before

    def fault(self, name: str, message: str) -> None:
        """Keeps a fault of one of our fields, under the name that the table has for it."""
        self._faults.append(InputFault(self._where, message, field=self._theirs[name]))

    def is_given(self, name: str) -> bool:
        """Whether the table has the column, be the cell empty or not."""
        return name in self._ours

    def id(self, name: str, *, required: bool = False) -> str | None:
        """Returns an id as `read_id` does; None, with a fault, where it is none."""
        try:
            found = read_id(self._ours.get(name))
        except ValueError as error:
            self.fault(name, str(error))
            return None
        if found is None and required:
            self.fault(name, "must not be empty")
        return found

    def text(self, name: str, *, limit: int, required: bool = False) -> str | None:
        """Returns a text as `read_text` does; None, with a fault, where it is none, or blank
        though one is required.
        """
        try:
            found = read_text(self._ours.get(name), limit=limit)
        except ValueError as error:
            self.fault(name, str(error))
            return None
        if required and not found.strip():
            self.fault(name, "must not be empty")
            return None
        return found

    def plain(self, name: str) -> str:
        """Returns what stands in a cell as text, without outer blanks; "" where it is missing."""
        value = self._ours.get(name)
        return "" if is_missing(value) else str(value).strip()
