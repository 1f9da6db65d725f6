"""Collects ratings one by one into a `HumanTable`."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Mapping
from typing import Any

from .table import TEXT_COLUMNS, Coded, HumanTable, Kind


class TableBuilder:
    """Grows the columns of a table; texts are kept once."""

    def __init__(self) -> None:
        self._codes: dict[str, dict[str, int]] = {name: {} for name in TEXT_COLUMNS}
        self._columns: dict[str, array[int]] = {name: array("i") for name in TEXT_COLUMNS}
        self._value = array("d")
        self._is_rank = array("b")
        self._line = array("q")
        self._duration_s = array("d")

    def __len__(self) -> int:
        return len(self._value)

    def add(
        self,
        line: int,
        value: float,
        kind: Kind,
        texts: Mapping[str, str | None],
        duration_s: float,
    ) -> None:
        """Adds a rating; `texts` by the names of `TEXT_COLUMNS`, absent or None where missing."""
        n = len(self._value)
        for name, text in texts.items():
            if text is None:
                continue
            column, known = self._columns[name], self._codes[name]
            # Most columns of most files say nothing: they are filled up when they first do.
            if len(column) < n:
                column.extend(itertools.repeat(-1, n - len(column)))
            column.append(known.setdefault(text, len(known)))
        self._value.append(value)
        self._is_rank.append(kind == "rank")
        self._line.append(line)
        self._duration_s.append(duration_s)

    def build(self) -> HumanTable:
        """Returns the table."""
        import numpy as np

        def numbers(column: array[Any], dtype: Any) -> Any:
            return np.array(column, dtype=dtype)

        def codes(column: array[int]) -> Any:
            filled = np.full(len(self), -1, dtype=np.int32)
            filled[: len(column)] = numbers(column, np.int32)
            return filled

        coded = {
            name: Coded(codes(self._columns[name]), tuple(self._codes[name]))
            for name in TEXT_COLUMNS
        }
        return HumanTable(
            **coded,
            value=numbers(self._value, np.float64),
            is_rank=numbers(self._is_rank, np.bool_),
            line=numbers(self._line, np.int64),
            duration_s=numbers(self._duration_s, np.float64),
        )
