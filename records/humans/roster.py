"""Rosters: who may rate, such as Prolific's list of submissions."""

from __future__ import annotations

import itertools
from pathlib import Path

from ...errors import InputError, InputFault
from ..readers.dispatch import read_rows
from .columns import known_columns, read_ids

APPROVED = "APPROVED"


def read_roster(path: str | Path) -> dict[str, str]:
    """Returns rater to status, in capitals; "APPROVED" where the roster has no status column.

    A rater with several submissions is approved if one of them is.

    Raises:
        InputError: for a file that cannot be read or names no rater.
    """
    statuses: dict[str, str] = {}
    faults: list[InputFault] = []
    rows = read_rows(path, faults=faults)
    first = next(rows, None)
    names = {} if first is None else known_columns(first.values)
    if first is not None and "rater_id" not in names:
        shown = ", ".join(first.values)
        raise InputError(
            [InputFault(str(path), f"names no rater; columns found: {shown}")],
            hint='call the column "rater_id" or "Participant id"',
        )
    rows = itertools.chain([first] if first is not None else [], rows)
    for line, ids in read_ids(rows, ("rater_id", "status"), str(path), faults):
        if "rater_id" not in ids:
            message = "must not be empty"
            faults.append(InputFault(f"{path}:{line}", message, field=names["rater_id"]))
        elif statuses.get(ids["rater_id"]) != APPROVED:
            statuses[ids["rater_id"]] = ids.get("status", APPROVED).strip().upper()
    if faults:
        raise InputError(faults)
    return statuses
