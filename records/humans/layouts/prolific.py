"""Prolific's own tasks (AI Task Builder): a record an answer of a participant to a task.

What a task showed stands in the data set that was uploaded; a column map joins it (`join`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...readers.rows import Excluded, Row
from .layout import HumanFile, Layout, Opened

_HOUSEKEEPING = frozenset(
    {"id", "batch_id", "correlation_id", "submission_id", "workspace_id", "dataset_id", "type",
     "instruction_id"}
)  # fmt: skip
_PARTS = ("response", "metadata", "task", "data")
_NAMES = ("description", "instruction", "instruction_id")


def _fits(file: HumanFile) -> bool:
    return file.has("participant_id", "task_id") and isinstance(file.first.get("response"), dict)


def _answers(file: HumanFile) -> Iterator[Row | Excluded]:
    for line, record in file.rows():
        response = record.get("response")
        if not isinstance(response, dict):
            yield Excluded(line, "the task has no answer")
            continue
        found = {name: value for name, value in record.items() if name not in _PARTS}
        for part in _PARTS[1:]:
            inner = record.get(part)
            if isinstance(inner, dict):
                found.update(inner)
        name = next((str(response[key]) for key in _NAMES if response.get(key)), "answer")
        yield Row(line, {**found, name: _answer(response)})


def _answer(response: Mapping[str, Any]) -> Any:
    """Returns the one option that was chosen, several as one label, or the text."""
    said = response.get("answer", response.get("text", response.get("value")))
    if isinstance(said, list):
        chosen = [one.get("value") if isinstance(one, dict) else one for one in said]
        return chosen[0] if len(chosen) == 1 else " + ".join(map(str, chosen)) or None
    return said.get("value") if isinstance(said, dict) else said


PROLIFIC = Layout(
    "prolific",
    _fits,
    lambda file: Opened(_answers(file), _HOUSEKEEPING, "participant_id"),
    "answers of participants to tasks",
)
