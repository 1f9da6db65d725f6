"""Amazon Mechanical Turk results, and rosters of raters (Prolific's, or a plain one)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...errors import InputError, InputFault
from ..cells import is_missing, read_id
from ..json_lines import parse_json
from ..tables import Row, read_rows
from .excluded import Excluded
from .names import known_columns

_TASK_ANSWERS = "Answer.taskAnswers"


def mturk_columns(header: Iterable[str]) -> frozenset[str]:
    """Returns the columns that Mechanical Turk adds on its own side."""
    return frozenset(
        name
        for name in header
        if not name.startswith(("Input.", "Answer.")) and name not in ("WorkerId",)
    ) - {"WorkTimeInSeconds", "SubmitTime"}


def mturk_rows(rows: Iterable[Row]) -> Iterator[Row | Excluded]:
    """Returns the assignments, names without `Input.` and `Answer.`; rejected ones left out."""
    for line, values in rows:
        if str(values.get("AssignmentStatus", "")) == "Rejected" or not is_missing(
            values.get("Reject")
        ):
            yield Excluded(line, "the assignment was rejected")
            continue
        found: dict[str, Any] = {}
        for name, value in values.items():
            if name == _TASK_ANSWERS:
                found.update(_task_answers(value))
            else:
                found[name.removeprefix("Input.").removeprefix("Answer.")] = value
        yield Row(line, found)


def _task_answers(cell: Any) -> dict[str, Any]:
    """Returns the answers of the one JSON cell; a radio group is the option that is true."""
    try:
        parts = parse_json(cell) if isinstance(cell, str) else []
    except ValueError:
        return {_TASK_ANSWERS: cell}
    found: dict[str, Any] = {}
    for part in parts if isinstance(parts, list) else [parts]:
        for name, value in part.items() if isinstance(part, dict) else ():
            if isinstance(value, dict):
                chosen = [option for option, is_on in value.items() if is_on is True]
                found[name] = chosen[0] if len(chosen) == 1 else None
            else:
                found[name] = value
    return found


def is_prolific_roster(header: Iterable[str]) -> bool:
    """Returns whether the columns are those of Prolific's list of submissions."""
    names = {name.strip().lower() for name in header}
    return {"submission id", "participant id"} <= names


def read_roster(path: str | Path) -> dict[str, str]:
    """Returns rater to status, in capitals; "APPROVED" where the roster has no status column.

    A rater with several submissions is approved if one of them is.

    Raises:
        InputError: for a file that cannot be read or names no rater.
    """
    found: dict[str, str] = {}
    faults: list[InputFault] = []
    names: dict[str, str] | None = None
    for line, values in read_rows(path, faults=faults):
        if names is None:
            guessed = known_columns(values)
            by_lower = {name.strip().lower(): name for name in values}
            names = {"rater": guessed.get("rater_id", ""), "status": by_lower.get("status", "")}
            if not names["rater"]:
                shown = ", ".join(values)
                raise InputError(
                    [InputFault(str(path), f"names no rater; columns found: {shown}")],
                    hint='call the column "rater_id" or "Participant id"',
                )
        try:
            rater = read_id(values.get(names["rater"]))
        except ValueError as error:
            faults.append(InputFault(f"{path}:{line}", str(error), field=names["rater"]))
            continue
        if rater is None:
            faults.append(InputFault(f"{path}:{line}", "must not be empty", field=names["rater"]))
            continue
        status = str(values.get(names["status"], "") or "APPROVED").strip().upper()
        if found.get(rater) != "APPROVED":
            found[rater] = status
    if faults:
        raise InputError(faults)
    return found
