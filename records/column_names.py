"""Our names for the columns of a table that somebody else named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InputFault


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
