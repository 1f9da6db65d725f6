"""Humanity's Last Exam: the questions that ask for reasoning about people and societies.

Three steps as in the paper (appendix 12.2): one academic category; at least one keyword of six
groups; none of the exclusion patterns. The paper publishes neither list; those that come with this
package are our own, are data, and need not leave as many questions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..errors import InputError, InputFault
from ..records.readers.cells import ColumnMap, is_missing
from ..records.readers.dispatch import open_table
from ..yaml_files import read_document, reject
from .scenarios import HLE, MAX_SCENARIO_CHARS, Funnel, FunnelStep, Scenario, any_of

PUBLISHED = (2_500, 219, 81, 33)
"""The paper's funnel, with lists that it does not publish."""

HLE_COLUMNS = ("id", "question", "category", "raw_subject", "image")
Term = Annotated[str, Field(min_length=2, max_length=80)]
Pattern = Annotated[str, Field(min_length=2, max_length=300)]


class KeywordGroup(BaseModel):
    """Words of one kind, any one of which lets a question pass."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    label: str = Field(min_length=1)
    terms: tuple[Term, ...] = Field(
        min_length=1, description="whole words, case ignored; a final * takes any ending"
    )


class ExclusionGroup(BaseModel):
    """Regular expressions of one kind, any one of which removes a question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    label: str = Field(min_length=1)
    patterns: tuple[Pattern, ...] = Field(
        min_length=1,
        description="Python regular expressions, searched in the question, case ignored",
    )


class HleFilters(BaseModel):
    """The three filters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    categories: tuple[str, ...] = Field(min_length=1)
    keywords: tuple[KeywordGroup, ...] = Field(min_length=1)
    exclusions: tuple[ExclusionGroup, ...] = ()

    @model_validator(mode="after")
    def _patterns_compile(self) -> HleFilters:
        faults: list[tuple[tuple[str | int, ...], str, object]] = []
        for place, group in enumerate(self.exclusions):
            for number, pattern in enumerate(group.patterns):
                try:
                    re.compile(pattern)
                except re.error as error:
                    where = ("exclusions", place, "patterns", number)
                    faults.append((where, f"must be a regular expression ({error})", pattern))
        reject("HleFilters", faults)
        return self

    @cached_property
    def keyword_patterns(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """Group id to one pattern for all of its terms."""
        return tuple((group.id, any_of(group.terms)) for group in self.keywords)

    @cached_property
    def exclusion_patterns(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """Group id and pattern, one a pattern."""
        return tuple(
            (group.id, re.compile(pattern, re.IGNORECASE))
            for group in self.exclusions
            for pattern in group.patterns
        )


def load_hle_filters(path: str | Path | None = None) -> HleFilters:
    """The filters of a file; those of this package when left out.

    Raises:
        InputError: with every fault of the file.
    """
    own = files("areopagus.prompts").joinpath("lists", "hle_filters.yaml")
    return read_document(own if path is None else path, HleFilters, kind="filter list")


def read_hle(
    source: Any,
    *,
    filters: HleFilters | None = None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002
) -> tuple[list[Scenario], Funnel]:
    """The scenarios of an HLE table, and what became of every row. Answers are never read.

    Args:
        source: a CSV, JSONL or Parquet file, a data frame or an iterable of mappings with id,
            question, category and raw_subject.
        filters: what to keep; our own when left out.
        columns: our column name to theirs.
        format: the file's format where its suffix does not say it.

    Raises:
        InputError: a source that cannot be read, or without the columns.
    """
    rules = filters or load_hle_filters()
    names = ColumnMap(HLE_COLUMNS, columns)
    odd: list[InputFault] = []
    malformed: list[InputFault] = []
    counts: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    seen: dict[str, str] = {}
    kept: list[Scenario] = []
    with open_table(source, format=format) as table:
        for line, raw in table.rows(malformed):
            if counts["read"] == 0:
                needed = ("id", "question", "category")
                if absent := names.absent(raw, needed, table.description):
                    raise InputError(absent)
            counts["read"] += 1
            ours, _ = names.split(raw)
            row, faults = _checked(ours)
            if not faults and row["id"] in seen:
                faults = [f"id: {row['id']} stands at {seen[row['id']]} too"]
            if faults:
                odd.append(InputFault(table.where(line), "; ".join(faults)))
                continue
            seen[row["id"]] = table.where(line)
            counts["usable"] += 1
            if row["category"] not in rules.categories:
                continue
            counts["category"] += 1
            groups = [
                name for name, found in rules.keyword_patterns if found.search(row["question"])
            ]
            if not groups:
                continue
            counts["keywords"] += 1
            hits.update(groups)
            excluded = next(
                (name for name, found in rules.exclusion_patterns if found.search(row["question"])),
                None,
            )
            if excluded is not None:
                removed[excluded] += 1
                continue
            counts["image"] += bool(row["image"])
            kept.append(_scenario(row, groups, table.path.name, line))
        n_read = counts["read"] + len(malformed)
    steps = (
        FunnelStep("questions", counts["usable"]),
        FunnelStep(f"category {' or '.join(rules.categories)}", counts["category"]),
        FunnelStep("a keyword of any group", counts["keywords"]),
        FunnelStep("no exclusion pattern", len(kept)),
    )
    notes = []
    if hits:
        notes.append(f"questions with a keyword of: {_listed(hits)}")
    if removed:
        notes.append(f"removed by a pattern of: {_listed(removed)}")
    if counts["image"]:
        notes.append(f"{counts['image']} of those kept show an image, which no generator sees")
    strata = Counter(row.stratum for row in kept)
    groups_kept = dict(sorted(strata.items()))
    odd = [*malformed, *odd]
    funnel = Funnel("question", n_read, tuple(odd), steps, PUBLISHED, groups_kept, tuple(notes))
    return kept, funnel


def _checked(ours: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    row: dict[str, str] = {}
    faults: list[str] = []
    for name in ("id", "question", "category"):
        value = ours.get(name)
        if not isinstance(value, str | int) or isinstance(value, bool) or is_missing(value):
            faults.append(f"{name}: must be text")
            continue
        row[name] = str(value) if name == "question" else str(value).strip()
    if len(row.get("question", "")) > MAX_SCENARIO_CHARS - 500:
        faults.append(f"question: must have at most {MAX_SCENARIO_CHARS - 500:,} characters")
    subject = ours.get("raw_subject")
    row["raw_subject"] = "" if is_missing(subject) else str(subject).strip()
    image = ours.get("image")
    row["image"] = "" if is_missing(image) or image == {} else "yes"
    return row, faults


def _scenario(row: Mapping[str, str], groups: Sequence[str], file: str, line: int) -> Scenario:
    subject = row["raw_subject"] or row["category"]
    return Scenario(
        scenario_id=f"hle-{row['id']}",
        source=HLE,
        stratum=subject,
        text=f"Subject: {subject}\nQuestion: {row['question']}",
        provenance={
            "source_file": file,
            "source_line": str(line),
            "source_id": row["id"],
            "source_group": " ".join(groups),
        },
    )


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))
