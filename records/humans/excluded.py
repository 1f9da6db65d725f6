"""A row of a file that does not count, and why."""

from __future__ import annotations

from typing import NamedTuple


class Excluded(NamedTuple):
    """Stands in the place of a row that the tool itself marks as not to be used."""

    line: int
    reason: str
