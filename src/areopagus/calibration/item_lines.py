"""Calibration items in print: each one where there are few, by criterion where there are many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..aggregation.estimate import Estimate
from ..formats import units
from ..number import item, plain, show, table
from .calibration_items import CalibrationItem

MOST_ITEMS = 6
"""Items (prompt x criterion) that are spelled out in the terminal; all stand in the JSON."""

MOST_ROWS = 20


def item_lines(items: Sequence[CalibrationItem]) -> list[str]:
    """Returns the lines of a report on calibration items, none where there are none."""
    if len(items) <= MOST_ITEMS:
        return [line for entry in items for line in _one(entry)]
    groups: dict[tuple[str, str], list[CalibrationItem]] = {}
    for entry in items:
        groups.setdefault((entry.role, entry.criterion), []).append(entry)
    rows = [
        (f"{criterion}; {role}", str(len(mine)), _mean([one.floor_last for one in mine]),
         _mean([one.w for one in mine]), _mean([one.gap_to_standard for one in mine], digits=2))
        for (role, criterion), mine in groups.items()
    ]  # fmt: skip
    n_prompts = len({entry.prompt for entry in items})
    lines = [
        "",
        *item(
            "calibration items",
            f"{units(n_prompts, 'prompt')}, by criterion: means over items of the share of raters "
            "who put the weak response last, of W, and of models here less models elsewhere "
            "(undef.: in no item; every item stands in the JSON and on the page)",
        ),
        *table(("criterion; kind of item", "items", "weak last", "W", "gap"), rows[:MOST_ROWS]),
    ]
    if len(rows) > MOST_ROWS:
        lines += item("", f"and {len(rows) - MOST_ROWS:,} more criteria")
    tied = sum(entry.n_tied for entry in items)
    if tied:
        lines += item(
            "", f"{tied:,} times a rater gave all responses one value: nothing is last there"
        )
    return lines


def _one(entry: CalibrationItem) -> list[str]:
    lines = [
        "",
        *item(
            f"calibration item {entry.prompt} ({entry.item_type}; {entry.role})",
            f"{entry.criterion}, {units(entry.n_raters, 'rater')}, "
            f"{units(entry.n_responses, 'response')}",
        ),
    ]
    lines += item("lowest", entry.lowest, indent=4)
    if entry.role == "quality floor":
        tied = f"; {units(entry.n_tied, 'rater')} tied all responses" if entry.n_tied else ""
        lines += item("put the weak one last", show(entry.floor_last) + tied, indent=4)
    lines += item("W", show(entry.w), indent=4)
    if entry.role == "all models":
        lines += item("models here less models elsewhere", show(entry.gap_to_standard), indent=4)
    return lines


def _mean(numbers: Sequence[Estimate], *, digits: int = 3) -> str:
    values = [one.value for one in numbers if one.is_defined]
    return plain(float(np.mean(values)), digits) if values else "undef."
