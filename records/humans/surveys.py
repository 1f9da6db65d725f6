"""Exports of surveys (Qualtrics, LimeSurvey), Mechanical Turk, and rosters of raters."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...errors import InputError, InputFault
from ..readers.cells import is_missing, read_id
from ..readers.dispatch import read_rows
from ..readers.rows import Cells, Excluded, FaultSink, Row, checked_header, named_rows
from ..readers.text import parse_json
from .columns import known_columns
from .human_file import HumanFile, Opened

_QUALTRICS_COLUMNS = frozenset(
    {
        "StartDate", "EndDate", "Status", "IPAddress", "Progress", "Finished", "RecipientLastName",
        "RecipientFirstName", "RecipientEmail", "ExternalReference", "LocationLatitude",
        "LocationLongitude", "DistributionChannel", "UserLanguage",
    }
)  # fmt: skip
_LIMESURVEY_COLUMNS = frozenset(
    {"lastpage", "startlanguage", "seed", "startdate", "datestamp", "ipaddr", "refurl"}
)

_LIMESURVEY_RATER = "token, else id"
"""The column that says who answered: of each row the one of the two that is filled in."""


def qualtrics(file: HumanFile) -> Opened:
    """Returns the answers; previews and unfinished ones are left out, counted.

    The rater is `PROLIFIC_PID` where it is kept, else `ResponseId`.
    """
    rater = next((name for name in file.first if name.lower() == "prolific_pid"), "ResponseId")
    rows = _qualtrics_rows(file.cells(), file.sink())
    return Opened("qualtrics", rows, _QUALTRICS_COLUMNS, rater, tuple(file.first), is_survey=True)


def _qualtrics_rows(rows: Iterator[Cells], sink: FaultSink) -> Iterator[Row | Excluded]:
    """Returns what stands below the three header rows: names, question texts, and
    {"ImportId": …} in every cell. One or both of the latter may be missing.
    """
    header = next(rows, None)
    names = None if header is None else checked_header(header, sink)
    if names is None:
        return
    waiting = list(itertools.islice(rows, 2))
    for place in range(len(waiting), 0, -1):
        if any("ImportId" in str(cell) for cell in waiting[place - 1].values):
            waiting = waiting[place:]
            break
    for line, values in named_rows(itertools.chain(waiting, rows), names, sink):
        # With numeric codes a preview is 1 and an unfinished answer 0.
        if str(values.get("Status", "")) in ("Survey Preview", "1"):
            yield Excluded(line, "survey preview")
        elif str(values.get("Finished", "True")).lower() in ("false", "0"):
            yield Excluded(line, "not finished")
        else:
            yield Row(line, values)


def is_limesurvey(file: HumanFile) -> bool:
    """Returns whether the columns are those of LimeSurvey."""
    return {"submitdate", "lastpage"} <= {_code(name) for name in file.lower_names()}


def limesurvey(file: HumanFile) -> Opened:
    """Returns the submitted answers, the columns named by their codes.

    "G2Q1[SQ001]. How clear?" is `G2Q1[SQ001]`. An empty submitdate marks an unfinished answer.
    The rater is `token` where there is one, else `id`.
    """
    codes = tuple(map(_code, file.first))
    rows = _limesurvey_rows(file.cells(), file.sink())
    return Opened("limesurvey", rows, _LIMESURVEY_COLUMNS, _LIMESURVEY_RATER, codes, True)


def _limesurvey_rows(rows: Iterator[Cells], sink: FaultSink) -> Iterator[Row | Excluded]:
    header = next(rows, None)
    if header is None:
        return
    names = checked_header(Cells(header.line, [_code(str(cell)) for cell in header.values]), sink)
    if names is None:
        return
    for line, values in named_rows(rows, names, sink):
        if not str(values.get("submitdate", "")).strip():
            yield Excluded(line, "not submitted")
            continue
        values.setdefault(_LIMESURVEY_RATER, values.get("token") or values.get("id"))
        yield Row(line, values)


def _code(name: str) -> str:
    return name.partition(". ")[0]


_TASK_ANSWERS = "Answer.taskAnswers"


def mturk(file: HumanFile) -> Opened:
    """Returns the assignments, names without `Input.` and `Answer.`; rejected ones left out."""
    asked = {"WorkerId", "WorkTimeInSeconds", "SubmitTime"}
    own = {name for name in file.first if not name.startswith(("Input.", "Answer."))} - asked
    return Opened("mturk", _mturk_rows(file.rows()), frozenset(own))


def _mturk_rows(rows: Iterable[Row]) -> Iterator[Row | Excluded]:
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
