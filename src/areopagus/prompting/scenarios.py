"""Scenarios: what prompts are made from, as one table whatever the source."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from ..records.readers.cells import ColumnMap, is_missing, read_id, read_text
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
    names = ColumnMap(SCENARIO_COLUMNS, columns)
    wrong = names.faults()
    if limit is not None and limit < 1:
        wrong = [*wrong, InputFault("limit", f"must be at least 1, got {limit}")]
    if wrong:
        raise InputError(wrong)
    with open_table(source, format=format) as table:
        return _read(table, names, limit)


def _read(table: Table, names: ColumnMap, limit: int | None) -> ScenarioSet:
    faults: list[InputFault] = []
    rows: dict[str, Scenario] = {}
    lines: dict[str, int] = {}
    for line, raw in table.rows(faults):
        if not rows and not faults:
            faults += _missing_columns(table, names, raw)
            if faults:
                break
        row = _scenario(table, names, line, raw, faults)
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


def _missing_columns(table: Table, names: ColumnMap, raw: Mapping[str, Any]) -> list[InputFault]:
    shown = ", ".join(list(raw)[:30])
    return [
        InputFault(table.description, f"there is no such column; found: {shown}", theirs)
        for name in dict.fromkeys((*_REQUIRED, *names.columns))
        if (theirs := names.theirs[name]) not in raw
    ]


def _scenario(
    table: Table,
    names: ColumnMap,
    line: int,
    raw: Mapping[str, Any],
    faults: list[InputFault],
) -> Scenario | None:
    ours, extra = names.split(raw)
    before = len(faults)

    def fault(name: str, message: str) -> None:
        faults.append(InputFault(table.where(line), message, names.theirs[name]))

    texts: dict[str, str] = {"source": OTHER, "stratum": ""}
    for name in ("scenario_id", "source", "stratum"):
        try:
            found = read_id(ours.get(name))
        except ValueError as error:
            fault(name, str(error))
            continue
        if found is not None:
            texts[name] = found
        elif name == "scenario_id":
            fault(name, "must not be empty")
    try:
        text = read_text(ours.get("scenario_text"), limit=MAX_SCENARIO_CHARS)
        if not text.strip():
            fault("scenario_text", "must not be empty")
    except ValueError as error:
        fault("scenario_text", str(error))
        text = ""
    if len(faults) > before:
        return None
    provenance = {name: "" if is_missing(value) else str(value) for name, value in extra.items()}
    return Scenario(texts["scenario_id"], texts["source"], texts["stratum"], text, provenance)
