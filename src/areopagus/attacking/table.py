"""The figures of an attack as rows of a table: one a number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..aggregation.estimate import Estimate
from ..records.run_folder import csv_table
from .figures import AttackFigures, Cell
from .outcomes import FamilyTest

COLUMNS = (
    "measure",
    "family",
    "placement",
    "persona",
    "model",
    "flag",
    "value",
    "low",
    "high",
    "n",
    "unit",
    "n_scored",
    "n_planned",
    "p_value",
    "p_holm",
    "p_both_holm",
    "outcome",
    "method",
    "reason",
)


def write_table(path: Path, figures: AttackFigures) -> None:
    """Writes attack.csv.

    Raises:
        StoreError: the folder cannot be written.
    """
    with csv_table(path, COLUMNS) as lines:
        for row in _rows(figures):
            lines.write([_shown(row.get(name)) for name in COLUMNS])


def _rows(figures: AttackFigures) -> Iterator[dict[str, Any]]:
    yield _row("clean score", figures.clean)
    for family in figures.families:
        yield from _cell_rows(family.all, family.test)
        yield _row("flagged", family.flagged, family=family.id)
        yield _row("neutralised shift", family.neutralised_shift, family=family.id)
    for cell in figures.cells:
        yield from _cell_rows(cell, None)
    for benign in figures.benign:
        yield _row(
            "benign shift", benign.shift, placement=benign.placement, persona=benign.persona,
            model=benign.model, n_scored=benign.n_scored, n_planned=benign.n_planned,
        )  # fmt: skip
    for detector in figures.detectors:
        yield _row("false alarms, clean", detector.false_alarms_clean, flag=detector.flag)
        yield _row("false alarms, controls", detector.false_alarms_controls, flag=detector.flag)
        yield _row("false alarms, telling words", detector.false_alarms_telling, flag=detector.flag)


def _cell_rows(cell: Cell, test: FamilyTest | None) -> Iterator[dict[str, Any]]:
    """The numbers of a cell; the test stands in the row of what was tested."""
    raw: dict[str, Any] = {}
    beyond: dict[str, Any] = {}
    if test is not None:
        tested = raw if test.tested == "attacked − clean" else beyond
        tested |= {
            "p_value": test.p_value, "p_holm": test.p_holm, "p_both_holm": test.p_both_holm,
            "outcome": test.outcome,
        }  # fmt: skip
    names = {
        "family": cell.family, "placement": cell.placement, "persona": cell.persona,
        "model": cell.model, "n_scored": cell.n_scored, "n_planned": cell.n_planned,
    }  # fmt: skip
    yield _row("shift", cell.shift, **names, **raw)
    yield _row("shift beyond control", cell.beyond_control, **names, **beyond)
    yield _row("success", cell.success, **names)
    yield _row("verdicts moved", cell.verdicts_moved, **names)


def _row(measure: str, number: Estimate, **names: Any) -> dict[str, Any]:
    return {
        "measure": measure, "value": number.value, "low": number.low, "high": number.high,
        "n": number.n, "unit": number.unit, "method": number.method, "reason": number.reason,
        **names,
    }  # fmt: skip


def _shown(value: Any) -> Any:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else value
