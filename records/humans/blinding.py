"""Unblinding: which response a label stood for, for this rater and this prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError, InputFault
from ..readers.cells import read_id
from ..readers.dispatch import read_rows
from ..readers.rows import Row
from .columns import known_columns

_RESOLVED = ("response_id", "source", "model", "item_type", "domain")


class SourceMap:
    """(rater, prompt, label) to the response and what is known of it.

    Labels are drawn anew for every rater: the same label of a prompt stands for another response
    with another rater. A map without raters holds for all of them.
    """

    def __init__(
        self, entries: Mapping[tuple[str | None, str | None, str], dict[str, str]]
    ) -> None:
        self._entries = dict(entries)

    def __len__(self) -> int:
        return len(self._entries)

    def resolve(self, rater: str | None, prompt: str | None, label: str) -> dict[str, str] | None:
        """Returns the texts that belong to the label, or None where the map does not know it."""
        for key in ((rater, prompt, label), (None, prompt, label), (rater, None, label)):
            found = self._entries.get(key)
            if found is not None:
                return found
        return None


def read_source_map(given: str | Path | Iterable[Mapping[str, Any]]) -> SourceMap:
    """Returns a source map from a table file, or from mappings.

    Columns: blinded_label and response_id, with rater_id and prompt_id where they matter; also
    source, model, item_type, domain (and their names elsewhere: judge_id, true_id, true_source).

    Raises:
        InputError: with every fault: missing columns or cells, one label for two responses.
    """
    faults: list[InputFault] = []
    if isinstance(given, str | Path):
        name = str(given)
        rows: Iterable[Row] = read_rows(given, faults=faults)
    else:
        name = "source map"
        rows = (Row(number, dict(values)) for number, values in enumerate(given, start=1))
    entries: dict[tuple[str | None, str | None, str], dict[str, str]] = {}
    lines: dict[tuple[str | None, str | None, str], int] = {}
    for line, values in rows:
        columns = known_columns(values)
        texts: dict[str, str] = {}
        for ours in ("rater_id", "prompt_id", "blinded_label", *_RESOLVED):
            try:
                text = read_id(values.get(columns.get(ours, "")))
            except ValueError as error:
                faults.append(InputFault(f"{name}:{line}", str(error), field=columns[ours]))
                continue
            if text is not None:
                texts[ours] = text
        lacking = [ours for ours in ("blinded_label", "response_id") if ours not in texts]
        if lacking:
            faults += [InputFault(f"{name}:{line}", "must not be empty", field=c) for c in lacking]
            continue
        key = (texts.get("rater_id"), texts.get("prompt_id"), texts["blinded_label"])
        found = {ours: texts[ours] for ours in _RESOLVED if ours in texts}
        if key in entries and entries[key]["response_id"] != found["response_id"]:
            message = f"the label stands for another response at {name}:{lines[key]}"
            faults.append(InputFault(f"{name}:{line}", message, field="blinded_label"))
            continue
        entries[key] = found
        lines.setdefault(key, line)
    if faults:
        raise InputError(faults)
    if not entries:
        raise InputError([InputFault(name, "holds no labels")])
    return SourceMap(entries)
