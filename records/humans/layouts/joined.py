"""Rows that know their item by an id only, joined to a table of the items."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ....errors import InputError, InputFault
from ...readers.cells import read_id
from ...readers.dispatch import read_rows
from ...readers.rows import Excluded, Row


def joined(
    rows: Iterator[Row | Excluded], path: Path, table: Path, on: str, faults: list[InputFault]
) -> Iterator[Row | Excluded]:
    """Returns rows with the columns of the table's row that has the same id; their own go before.

    Args:
        rows: of the file at `path`.
        path: the file, for messages.
        table: a file with a row an item.
        on: the column that both have.
        faults: takes a fault for each row whose id the table does not have; it is left out.

    Raises:
        InputError: a table that cannot be read, lacks the column, or has an id twice.
    """
    items: dict[str, dict[str, Any]] = {}
    wrong: list[InputFault] = []
    for line, values in read_rows(table, faults=wrong):
        if on not in values:
            shown = ", ".join(values)
            wrong.append(InputFault(str(table), f"there is no such column; found: {shown}", on))
            break
        name = read_id(values[on])
        if name is None or name in items:
            message = "must not be empty" if name is None else f"{name!r} stands there twice"
            wrong.append(InputFault(f"{table}:{line}", message, on))
        else:
            items[name] = values
    if wrong:
        raise InputError(wrong)
    return _joined(rows, path, table, on, items, faults)


def _joined(
    rows: Iterator[Row | Excluded],
    path: Path,
    table: Path,
    on: str,
    items: dict[str, dict[str, Any]],
    faults: list[InputFault],
) -> Iterator[Row | Excluded]:
    for row in rows:
        if isinstance(row, Excluded):
            yield row
            continue
        name = read_id(row.values.get(on))
        if name is None or name not in items:
            said = "must not be empty" if name is None else f"{name!r} is not in {table.name}"
            faults.append(InputFault(f"{path}:{row.line}", said, on))
            continue
        yield Row(row.line, {**items[name], **row.values})
