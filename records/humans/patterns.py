"""Columns whose names follow a pattern, "{label}_{criterion}": what each of them rates."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from ...errors import InputError, InputFault
from ..readers.cells import read_id
from ..readers.dispatch import read_rows

PLACES = {
    "label": "blinded_label",
    "respondent": "source",
    "response": "response_id",
    "prompt": "prompt_id",
    "rater": "rater_id",
    "criterion": "criterion",
}
"""The names that a pattern may hold, and the column of ours that each fills; any other is looked
up in the table of items."""

_NAME = re.compile(r"\{(\w+)\}")


def names_of(pattern: str) -> list[str]:
    """Returns the names in braces, in order."""
    return _NAME.findall(pattern)


def compiled(pattern: str, known: Mapping[str, Collection[str]] | None = None) -> re.Pattern[str]:
    """Returns a regular expression with a group a name; capitals do not matter.

    Args:
        pattern: with names in braces.
        known: name to all its values, where they are known. Elsewhere a criterion may hold
            anything, any other name letters, digits and what joins them.
    """
    known = known or {}
    parts = []
    for number, part in enumerate(_NAME.split(pattern)):
        if number % 2 == 0:
            parts.append(re.escape(part))
        elif known.get(part):
            values = sorted(known[part], key=len, reverse=True)
            parts.append(f"(?P<{part}>{'|'.join(map(re.escape, values))})")
        elif part == "label":
            parts.append(rf"(?P<{part}>[^\W_]+)")
        else:
            parts.append(rf"(?P<{part}>.+?)")
    return re.compile("".join(parts), re.IGNORECASE)


def pattern_faults(pattern: str) -> list[str]:
    """Returns what is wrong with a pattern: no name, one twice, two with nothing between."""
    names = names_of(pattern)
    faults = []
    if not names:
        faults.append('must hold a name in braces, as in "{label}_{criterion}"')
    if len(set(names)) < len(names):
        faults.append("holds one name twice")
    if "}{" in pattern:
        faults.append("holds two names with nothing between them")
    return faults


def read_item_table(path: Path) -> list[dict[str, str]]:
    """Returns the rows of a table of items: column to text, empty cells left out.

    Raises:
        InputError: for a file that cannot be read, or holds no rows.
    """
    faults: list[InputFault] = []
    rows: list[dict[str, str]] = []
    for line, values in read_rows(path, faults=faults):
        found: dict[str, str] = {}
        for name, cell in values.items():
            try:
                text = read_id(cell)
            except ValueError as error:
                faults.append(InputFault(f"{path}:{line}", str(error), field=name))
                continue
            if text is not None:
                found[name.strip().lower()] = text
        rows.append(found)
    if not rows and not faults:
        faults.append(InputFault(str(path), "holds no items"))
    if faults:
        raise InputError(faults)
    return rows


def items_by_key(
    rows: Iterable[Mapping[str, str]], keys: Collection[str], path: Path
) -> dict[tuple[str, ...], Mapping[str, str]]:
    """Returns the key cells of each item, in lower case, to its row.

    Raises:
        InputError: where a row lacks a key, or two have the same.
    """
    found: dict[tuple[str, ...], Mapping[str, str]] = {}
    faults = []
    for number, row in enumerate(rows, start=2):
        lacking = [name for name in keys if name not in row]
        if lacking:
            message = "must not be empty: the pattern names it"
            faults += [InputFault(f"{path}:{number}", message, field=name) for name in lacking]
            continue
        key = tuple(row[name].lower() for name in keys)
        if key in found:
            said = ", ".join(f"{name} {row[name]}" for name in keys)
            faults.append(InputFault(f"{path}:{number}", f"repeats an earlier item: {said}"))
        found.setdefault(key, row)
    if faults:
        raise InputError(faults)
    return found
