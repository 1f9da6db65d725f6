"""Scenarios: what prompts are made from, as one table whatever the source; and the way to them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, InputFault
from ..formats import count, units
from ..records.estimates import Estimates
from ..records.readers.cells import ColumnMap, RowFields, is_missing
from ..records.readers.dispatch import Table as SourceTable
from ..records.readers.dispatch import open_table
from ..records.run_folder import csv_table
from ..records.spreadsheets import writable
from ..reports.document import Document, Part, Points, Section, Table
from ..reports.views import Measure, estimates_table

if TYPE_CHECKING:
    import pandas as pd

SCENARIOS_FILE = "scenarios.csv"
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


def _read(table: SourceTable, names: ColumnMap, limit: int | None) -> ScenarioSet:
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


_SHOWN_ODD = 20


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """One step: what it keeps, and how many rows are left after it."""

    label: str
    left: int


@dataclass(frozen=True, slots=True)
class Funnel:
    """What became of every row of a source: how many each step left, with nothing lost unsaid.

    Attributes:
        unit: what a row is.
        n_read: lines that hold something, odd ones included.
        odd: one fault a row that could not be used, with its line; such rows are in no step.
        steps: the first says how many rows could be used; each further one what it left.
        published: the counts of the paper for the whole of the source, in the order of the steps.
        groups: kept rows by name, such as the category.
        notes: what else should be known.
    """

    unit: str
    n_read: int
    odd: tuple[InputFault, ...]
    steps: tuple[FunnelStep, ...]
    published: tuple[int, ...] = ()
    groups: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[int, ...]:
        """Rows left after each step, the first count being the usable rows."""
        return tuple(step.left for step in self.steps)

    def estimates(self) -> Estimates:
        """Its counts: of each step what it left and removed, and what the paper has."""
        found = Estimates()
        found.add(FUNNEL, "read", self.n_read)
        found.add(FUNNEL, "not_usable", len(self.odd))
        for place, step in enumerate(self.steps):
            found.add(FUNNEL, "left", step.left, item=step.label)
            if place:
                removed = self.steps[place - 1].left - step.left
                found.add(FUNNEL, "removed", removed, item=step.label)
            if place < len(self.published):
                found.add(FUNNEL, "paper", self.published[place], item=step.label)
        for name, n in self.groups.items():
            found.add(FUNNEL, "kept", n, factor="stratum", group=name)
        return found

    def document(self) -> Document:
        """What is shown of it."""
        first, last = self.steps[0], self.steps[-1]
        parts: list[Part] = [*funnel_tables(self.estimates().frame())]
        told = [("note", note) for note in self.notes]
        told += [("not usable", str(fault)) for fault in self.odd[:_SHOWN_ODD]]
        if len(self.odd) > _SHOWN_ODD:
            told.append(("", f"and {len(self.odd) - _SHOWN_ODD:,} more that are not usable"))
        if told:
            parts.append(Points([(f"{head}:" if head else "", text) for head, text in told]))
        return Document(
            title="Scenarios",
            kind="funnel",
            headline=[f"{units(last.left, 'scenario')} of {units(first.left, self.unit)}."],
            trust=[
                (
                    "read",
                    f"{units(self.n_read, self.unit)} read, {count(len(self.odd))} not usable",
                )
            ],
            sections=[Section("funnel", "What each step left", parts, audience="summary")],
        )


FUNNEL = "funnel"
"""The table of its estimates."""


def funnel_tables(estimates: pd.DataFrame) -> Iterator[Table]:
    """The steps, and what is kept by group; nothing where the estimates hold no funnel."""
    steps = estimates_table(
        estimates,
        FUNNEL,
        keys={"item": "step"},
        measures=[
            Measure("left", is_count=True),
            Measure("removed", is_count=True),
            Measure("paper", "paper, whole", is_count=True),
        ],
        caption="What each step left and removed.",
        label="Steps",
    )
    kept = estimates_table(
        estimates,
        FUNNEL,
        keys={"group": "kept"},
        measures=[Measure("kept", "scenarios", is_count=True)],
        caption="Scenarios kept, by group.",
        label="Kept by group",
        is_short=True,
    )
    yield from (found for found in (steps, kept) if found is not None)


def any_of(terms: Iterable[str], *, gap: str = r"\s+") -> re.Pattern[str]:
    """One pattern for words of a list: whole words, case ignored, a final * taking any ending.

    Args:
        terms: words, or several with spaces between.
        gap: what may stand for such a space.
    """
    alternatives = "|".join(
        re.escape(term.removesuffix("*")).replace(r"\ ", gap)
        + (r"\w*" if term.endswith("*") else "")
        for term in terms
    )
    return re.compile(rf"\b(?:{alternatives})\b", re.IGNORECASE)
