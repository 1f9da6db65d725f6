"""Rows of CSV files as this project writes them: UTF-8, one line feed a row, all text kept."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, TextIO


class CsvLines:
    """Writes rows to an open text file (`newline=""`)."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._line = io.StringIO(newline="")
        # The csv module quotes only what its own line ends hold: with "\n" alone, a bare carriage
        # return in a cell would stand unquoted, and every reader would take it for the row's end.
        self._writer = csv.writer(self._line, lineterminator="\r\n")

    def write(self, cells: Iterable[Any]) -> None:
        """One row."""
        self._line.seek(0)
        self._line.truncate()
        self._writer.writerow(cells)
        self._file.write(self._line.getvalue()[:-2] + "\n")


def carried_names(carried: Sequence[str], taken: Iterable[str]) -> list[str]:
    """Names for columns carried through beside columns of our own: `input_` before one of ours.

    A name that is taken even so gets the prefix again, so that no two columns share one.
    """
    used = {*taken, *carried}
    ours = set(taken)
    names: list[str] = []
    for name in carried:
        chosen = name
        while chosen in ours or (chosen != name and chosen in used):
            chosen = f"input_{chosen}"
        used.add(chosen)
        names.append(chosen)
    return names


def writable(value: Any) -> Any:
    """Text as UTF-8 can hold it: a lone surrogate becomes a question mark; other values as is."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "replace").decode("utf-8")
