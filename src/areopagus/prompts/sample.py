"""A study set drawn from a prompt set: balanced over strata, then over generators, by a seed.

As in the paper (appendix 14.2): the same number of prompts from each source; within a source the
strata share them as evenly as they can; within a stratum the prompt comes from the generator that
has the fewest so far.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from ..formats import units
from ..records.readers.cells import is_missing
from ..records.readers.responses import PromptRow, PromptSource
from ..records.run_folder import RUN_FILE, csv_table
from ..records.spreadsheets import writable
from ..reports.document import Column, Document, Section, Table

STUDY_ID = "study_id"


@dataclass(frozen=True, slots=True)
class Sampled:
    """A drawn prompt.

    Attributes:
        study_id: source and running number, such as BBQ_01.
        row: the prompt with all its columns.
        source, stratum, generator: what it was drawn by.
    """

    study_id: str
    row: PromptRow
    source: str
    stratum: str
    generator: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A study set.

    Attributes:
        rows: in the order of the sources, then of the draw.
        wanted: prompts wanted of each source.
        available: source to prompts to draw from; `strata` source to different strata.
    """

    rows: tuple[Sampled, ...]
    wanted: int
    available: Mapping[str, int]
    strata: Mapping[str, int]

    def count(self, name: str) -> dict[tuple[str, str], int]:
        """(source, value of `stratum` or `generator`) to drawn prompts."""
        return dict(Counter((one.source, getattr(one, name)) for one in self.rows))

    def document(self, seed: int) -> Document:
        """What is shown of it: what was drawn of each stratum, by whom it was written."""
        strata = self.count("stratum")
        rows: list[list[str | int]] = []
        for (source, stratum), n in sorted(strata.items()):
            by = Counter(
                one.generator
                for one in self.rows
                if (one.source, one.stratum) == (source, stratum) and one.generator
            )
            written = ", ".join(f"{name} {by[name]}" for name in sorted(by))
            rows.append([source, stratum or "–", n, written or "–"])
        said = []
        for source, n in self.available.items():
            drawn = sum(one.source == source for one in self.rows)
            reached = sum(1 for name, _ in strata if name == source)
            short = f"; {self.wanted} wanted" if drawn < self.wanted else ""
            text = (
                f"{drawn} of {units(n, 'prompt')}, from {reached} of {self.strata[source]} "
                f"strata{short}"
            )
            said.append((source, text))
        columns = [Column("source"), Column("stratum"), Column("drawn", "count"), Column("by")]
        table = Table(f"Drawn by seed {seed}.", "Study set", columns, rows)
        return Document(
            title="Study set",
            kind="sample",
            headline=[f"{units(len(self.rows), 'prompt')} in the study set."],
            trust=said,
            sections=[Section("strata", "By stratum", [table], audience="summary")],
        )


def sample_prompts(
    source: Any,
    per_source: int,
    *,
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
) -> Sample:
    """Draws a study set; the order of the rows changes nothing, another seed may change all.

    Strata are filled in rounds, in an order drawn by the seed, one prompt a stratum and round, so
    that with more strata than prompts each drawn stratum gives one. In a stratum the generator with
    the fewest prompts drawn so far comes first (of this source, then of all; then by the seed),
    and of its prompts one whose scenario is not in the sample yet.

    Args:
        source: a prompt set, or a run folder that holds one; columns source, stratum, generator and
            scenario_id are used where they are there.
        per_source: prompts wanted of each source; a source with fewer gives all of them.
        seed: of every draw.
        columns: our column name to theirs.

    Raises:
        InputError: no prompts, or faults of the file.
    """
    if per_source < 1:
        raise InputError([InputFault("per_source", f"must be at least 1, got {per_source}")])
    rows = _rows(source, columns)
    groups: dict[str, list[PromptRow]] = {}
    for row in rows:
        groups.setdefault(_value(row, "source") or "prompts", []).append(row)
    everywhere: Counter[str] = Counter()
    found: list[Sampled] = []
    strata: dict[str, int] = {}
    for name in sorted(groups):
        strata[name] = len({_value(row, "stratum") for row in groups[name]})
        drawn = _draw(groups[name], per_source, f"{seed}\x1f{name}", everywhere)
        digits = max(2, len(str(len(drawn))))
        label = "".join(c if c.isalnum() else "_" for c in name).upper()
        found += [
            Sampled(
                f"{label}_{number:0{digits}}",
                row,
                name,
                _value(row, "stratum"),
                _value(row, "generator"),
            )
            for number, row in enumerate(drawn, start=1)
        ]
    available = {name: len(group) for name, group in sorted(groups.items())}
    return Sample(tuple(found), per_source, available, strata)


def write_sample(path: str | Path, sample: Sample) -> None:
    """Writes the study set (CSV): prompt_id, prompt_text, study_id, and the columns it came with.

    Raises:
        StoreError: where it cannot be written.
    """
    names = [name for name in _columns(sample) if name != STUDY_ID]
    with csv_table(path, ("prompt_id", "prompt_text", STUDY_ID, *names)) as writer:
        for one in sample.rows:
            others = (_text(one.row.extra.get(name)) for name in names)
            cells = (one.row.prompt_id, one.row.prompt_text, one.study_id, *others)
            writer.write(writable(value) for value in cells)


def _rows(source: Any, columns: Mapping[str, str] | None) -> list[PromptRow]:
    given = source
    if isinstance(source, str | Path) and (Path(source) / RUN_FILE).is_file():
        from .result import PromptRun

        given = PromptRun(source).prompts_path
    with PromptSource(given, columns=columns) as opened:
        opened.check()
        return list(opened.rows())


def _draw(
    rows: Sequence[PromptRow], wanted: int, seed: str, everywhere: Counter[str]
) -> list[PromptRow]:
    strata: dict[str, list[PromptRow]] = {}
    for row in rows:
        strata.setdefault(_value(row, "stratum"), []).append(row)
    order = sorted(strata, key=lambda name: (_hash(seed, "stratum", name), name))
    here: Counter[str] = Counter()
    scenarios: set[str] = set()
    drawn: list[PromptRow] = []
    while len(drawn) < wanted and any(strata.values()):
        for name in order:
            if len(drawn) >= wanted or not strata[name]:
                continue
            row = min(
                strata[name],
                key=lambda row: (
                    # A second prompt of one scenario comes last, whoever wrote it.
                    _value(row, "scenario_id") in scenarios,
                    here[_value(row, "generator")],
                    everywhere[_value(row, "generator")],
                    _hash(seed, "generator", _value(row, "generator")),
                    _hash(seed, "prompt", row.prompt_id),
                    row.prompt_id,
                ),
            )
            strata[name].remove(row)
            drawn.append(row)
            here[_value(row, "generator")] += 1
            everywhere[_value(row, "generator")] += 1
            scenario = _value(row, "scenario_id")
            scenarios |= {scenario} if scenario else set()
    return drawn


def _columns(sample: Sample) -> list[str]:
    return list(dict.fromkeys(name for one in sample.rows for name in one.row.extra))


def _value(row: PromptRow, name: str) -> str:
    return _text(row.extra.get(name))


def _text(value: Any) -> str:
    return "" if is_missing(value) else str(value)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
