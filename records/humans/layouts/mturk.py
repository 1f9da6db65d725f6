"""Mechanical Turk: one row an assignment, `Input.…` what was shown, `Answer.…` what was said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...readers.cells import is_missing
from ...readers.rows import Excluded, Row
from ...readers.text import parse_json
from .layout import HumanFile, Layout, Opened

_TASK_ANSWERS = "Answer.taskAnswers"
_SERVES_US = frozenset({"WorkerId", "WorkTimeInSeconds", "SubmitTime"})


def _open(file: HumanFile) -> Opened:
    own = {name for name in file.first if not name.startswith(("Input.", "Answer."))}
    return Opened(_assignments(file), frozenset(own - _SERVES_US))


def _assignments(file: HumanFile) -> Iterator[Row | Excluded]:
    for line, values in file.rows():
        if values.get("AssignmentStatus") == "Rejected" or not is_missing(values.get("Reject")):
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


MTURK = Layout(
    "mturk",
    lambda file: file.has("hitid", "assignmentid", "workerid"),
    _open,
    "columns HITId, AssignmentId and WorkerId",
)
