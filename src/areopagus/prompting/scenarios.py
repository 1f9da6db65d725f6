"""Scenarios: what prompts are made from, as one table whatever the source."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from ..records.readers.cells import ColumnMap, RowFields, is_missing
from ..records.readers.dispatch import Table, open_table
from ..records.run_folder import csv_table
from ..records.spreadsheets import writable

BBQ, HLE, CONCEPTS, OTHER = "bbq", "hle", "concepts", "other"
"""The sources whose scenarios have a wording of their own; any other name is worded as `other`."""

SCENARIO_COLUMNS = ("scenario_id", "source", "stratum", "scenario_text")
_REQUIRED = ("scenario_id", "scenario_text")
MAX_SCENARIO_CHARS = 20_000
FAULT_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario.

    Attributes:
        scenario_id: unique in its set.
        source: `bbq`, `hle`, `concepts`, or a name of the user's own.
        stratum: what a sample is balanced over: category, subject, concept.
        text: all that a generator is shown of it.
        provenance: where it comes from, carried through to the prompts.
    """

    scenario_id: str
    source: str
    stratum: str
    text: str
    provenance: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScenarioSet:
    """The scenarios of a job, in their order.

    Attributes:
        rows: the scenarios.
        name: the file.
        columns: names of the provenance columns, in the order first seen.
    """

    rows: tuple[Scenario, ...]
    name: str
    columns: tuple[str, ...]

    def fingerprint(self) -> str:
        """SHA-256, hex, over what decides what is asked: ids, sources, strata, texts, in order."""
        digest = hashlib.sha256()
        for row in self.rows:
            for part in (row.scenario_id, row.source, row.stratum, row.text):
                encoded = part.encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "big") + encoded)
        return digest.hexdigest()

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources, in the order first seen."""
        return tuple(dict.fromkeys(row.source for row in self.rows))


def write_scenarios(path: str | Path, rows: Sequence[Scenario]) -> None:
    """Writes the table (CSV, UTF-8); a file that stands there is replaced once all is written.

    Raises:
        StoreError: where it cannot be written.
    """
    carried = provenance_columns(rows)
    with csv_table(path, (*SCENARIO_COLUMNS, *carried)) as writer:
        for row in rows:
            ours = (row.scenario_id, row.source, row.stratum, row.text)
            theirs = (row.provenance.get(name, "") for name in carried)
            writer.write(writable(value) for value in (*ours, *theirs))


def provenance_columns(rows: Iterable[Scenario]) -> tuple[str, ...]:
    """Names of the provenance columns, in the order first seen."""
    return tuple(dict.fromkeys(name for row in rows for name in row.provenance))


def read_scenarios(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    format: str | None = None,  # noqa: A002
) -> ScenarioSet:
    """The scenarios of a file, a data frame or an iterable of mappings.

    Args:
        source: scenario_id and scenario_text are needed; source and stratum may be left out, every
            other column is carried through.
        columns: our column name to theirs.
        limit: only the first so many.
        format: the file's format where its suffix does not say it.

    Raises:
        InputError: with every fault of every row.
    """
    if limit is not None and limit < 1:
        raise InputError([InputFault("limit", f"must be at least 1, got {limit}")])
    names = ColumnMap(SCENARIO_COLUMNS, columns)
    with open_table(source, format=format) as table:
        return _read(table, names, limit)


def _read(table: Table, names: ColumnMap, limit: int | None) -> ScenarioSet:
    faults: list[InputFault] = []
    rows: dict[str, Scenario] = {}
    lines: dict[str, int] = {}
    for line, raw in table.rows(faults):
        if not rows and not faults:
            faults += names.absent(raw, _REQUIRED, table.description)
            if faults:
                break
        row = _scenario(RowFields(names, raw, table.where(line), faults))
        if row is not None and row.scenario_id in rows:
            first = table.where(lines[row.scenario_id])
            faults.append(InputFault(table.where(line), f"stands at {first} too", "scenario_id"))
        elif row is not None:
            rows[row.scenario_id] = row
            lines[row.scenario_id] = line
        if (limit is not None and len(rows) >= limit) or len(faults) >= FAULT_LIMIT:
            break
    if not rows and not faults:
        faults.append(InputFault(table.description, "holds no scenarios"))
    if faults:
        raise InputError(faults)
    found = tuple(rows.values())
    return ScenarioSet(found, table.description, provenance_columns(found))


def _scenario(row: RowFields) -> Scenario | None:
    name = row.id("scenario_id", required=True)
    source, stratum = row.id("source"), row.id("stratum")
    text = row.text("scenario_text", limit=MAX_SCENARIO_CHARS, required=True)
    if name is None or text is None or not row.is_sound:
        return None
    provenance = {one: "" if is_missing(cell) else str(cell) for one, cell in row.carried.items()}
    return Scenario(name, source or OTHER, stratum or "", text, provenance)
