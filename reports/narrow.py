"""How a table stands on a narrow screen: what names a row in one cell, the first number beside it.

On a phone two or three columns are in sight. Where names of models, framings and criteria fill the
first of them, no result is seen without scrolling sideways. There the names that stand before the
first number are put below one another into the row's head; a name that is the same in every row is
said once, below the caption. The page holds both forms, and its style shows one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .document import Cell, Scalar, Table

_NAMES = ("text", "id", "wide")


@dataclass(frozen=True, slots=True)
class Fold:
    """What a narrow screen does with the names at the start of a table's rows.

    Attributes:
        places: columns that go into the row's head: those between the first and the first number.
        varying: those of them that differ between rows.
        same: (column's title, value) of names that are the same in every row.
        hides_first: the first column is among the latter: the others take its place.
    """

    places: frozenset[int] = frozenset()
    varying: tuple[int, ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    hides_first: bool = False

    def names(self, row: Sequence[Scalar | Cell], *, is_foot: bool = False) -> list[str]:
        """What is put into a row's head; in a foot every name that there is."""
        places = sorted(self.places) if is_foot else self.varying
        return [text for place in places if (text := _text(row[place]))]


def fold_of(table: Table) -> Fold:
    """The fold of a table; nothing is folded where no number follows the names."""
    first_number = next(
        (place for place, column in enumerate(table.columns) if column.kind not in _NAMES), None
    )
    if first_number is None or first_number < 2:
        return Fold()
    places = range(1, first_number)
    same = [place for place in range(first_number) if _is_same(table.rows, place)]
    varying = tuple(place for place in places if place not in same)
    # The head needs something of its own, and what it opens must stay within reach.
    hides_first = 0 in same and bool(varying) and not any(_opens(row[0]) for row in table.rows)
    return Fold(
        places=frozenset(places),
        varying=varying,
        same=tuple(
            (table.columns[place].title, _text(table.rows[0][place]))
            for place in same
            if (place or hides_first) and _text(table.rows[0][place])
        ),
        hides_first=hides_first,
    )


def _is_same(rows: Sequence[Sequence[Scalar | Cell]], place: int) -> bool:
    return len(rows) > 1 and len(set(_seen(rows, place))) == 1


def _seen(rows: Sequence[Sequence[Scalar | Cell]], place: int) -> Iterator[tuple[str, str]]:
    for row in rows:
        cell = row[place]
        yield _text(cell), cell.note if isinstance(cell, Cell) else ""


def _text(given: Scalar | Cell) -> str:
    value = given.value if isinstance(given, Cell) else given
    return "" if value is None else str(value)


def _opens(given: Scalar | Cell) -> bool:
    return isinstance(given, Cell) and given.record is not None
