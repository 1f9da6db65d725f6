"""A section with every number of a result: what it rests on, and why it is missing where it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from .document import Column, Records, Scalar, Section
from .panel_responses import MOST_ROWS

_NUMBER_KEYS: Final = frozenset({"value", "n", "unit", "method", "reason"})


def numbers_section(tree: Any, *, file: str) -> Section:
    """Every number of a tree of JSON-like values, as a table to sort and search.

    Args:
        tree: numbers are objects with value, n, unit, method and reason, and may have low and
            high.
        file: where all of them stand.
    """
    rows: list[list[Scalar]] = [
        [
            " · ".join(path),
            number["value"],
            number.get("low"),
            number.get("high"),
            number["n"],
            number["unit"],
            number["method"],
            number["reason"] or "",
        ]
        for path, number in _numbers(tree, ())
    ]
    records = Records(
        name="all-numbers",
        caption=f"Every number of {file}, with the limits of its interval, what it rests on, and "
        "why it or its interval is missing where it is.",
        label="All numbers",
        columns=[
            Column("what the number is of", "wide"),
            Column("value", "number", digits=3),
            Column("low", "number", digits=3),
            Column("high", "number", digits=3),
            Column("n", "count"),
            Column("unit"),
            Column("method", "wide"),
            Column("why it is missing", "wide"),
        ],
        rows=rows[:MOST_ROWS],
        filters=[5] if 1 < len({row[5] for row in rows}) <= 500 else [],
        left_out=max(0, len(rows) - MOST_ROWS),
        file=file,
    )
    return Section("numbers", "All numbers", [records])


def _numbers(tree: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not isinstance(tree, dict):
        return
    if tree.keys() >= _NUMBER_KEYS:
        yield path, tree
        return
    for key, value in tree.items():
        name = key.replace("_", " ")
        if not isinstance(value, list):
            yield from _numbers(value, (*path, name))
            continue
        for place, one in enumerate(value):
            # What names an entry of a list stands for the list's own name.
            yield from _numbers(one, (*path, _label(one) or f"{name} {place + 1}"))


def _label(entry: Any) -> str:
    """What names an entry of a list: its texts, most of the time one or two."""
    if not isinstance(entry, dict):
        return ""
    return ", ".join(value for value in entry.values() if isinstance(value, str) and value)
