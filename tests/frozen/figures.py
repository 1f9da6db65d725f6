"""The frozen figures: how they are kept, how a run is held against them, and what may differ."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field

from areopagus.records.estimates import KEYS as KEY_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

FIGURES_FILE: Final = Path(__file__).parent / "figures.parquet"
DIFFERENCES_FILE: Final = Path(__file__).parent / "differences.yaml"

NUMBERS: Final = ("value", "se", "low", "high", "n", "p")
COMPARED: Final = (*NUMBERS, "verdict")
# `universe` tells the interval for these judges from that for judges like them. `copy` counts rows
# that are alike in everything else, so that every row has a key of its own.
KEYS: Final = ("table", *KEY_COLUMNS, "universe", "measure", "copy")
TOLERANCE: Final = 1e-9
"""Relative, and absolute: below it two numbers are equal."""
MOST_ROWS: Final = 60
"""Rows that are kept of one measure of one table."""

Key = tuple[str, ...]
Column = Literal["value", "se", "low", "high", "n", "p", "verdict", "row"]


def keyed(frame: pd.DataFrame) -> pd.DataFrame:
    """The table of a run with the columns of `KEYS` as texts and those of `COMPARED`."""
    import pandas as pd

    texts = {name: frame[name].fillna("").astype(str) for name in KEYS if name != "copy"}
    table = pd.DataFrame(texts)
    table["copy"] = table.groupby(list(texts), sort=False).cumcount().astype(str)
    for name in NUMBERS:
        table[name] = frame[name].to_numpy("float64", na_value=math.nan)
    table["verdict"] = frame["verdict"].fillna("").astype(str)
    return table[[*KEYS, *COMPARED]]


def chosen(table: pd.DataFrame) -> pd.DataFrame:
    """At most `MOST_ROWS` rows of each measure of each table, by a hash of their keys."""
    hashes = [
        hashlib.sha256("\x1f".join(row).encode()).hexdigest()
        for row in table[list(KEYS)].itertuples(index=False, name=None)
    ]
    ordered = table.assign(_hash=hashes).sort_values("_hash", kind="stable")
    kept = ordered.groupby(["table", "measure"], sort=False).head(MOST_ROWS)
    return kept.drop(columns="_hash").sort_values(list(KEYS), kind="stable", ignore_index=True)


def read_frozen() -> pd.DataFrame:
    """All frozen figures: the column `run`, then those of `keyed`."""
    import pandas as pd

    frame = pd.read_parquet(FIGURES_FILE)
    for name in ("run", *KEYS, "verdict"):
        # A key that came later plays no part in what was frozen before.
        frame[name] = frame[name].astype(str).astype(object) if name in frame else ""
    return frame


def write_frozen(frame: pd.DataFrame) -> None:
    """Writes all frozen figures, by run."""
    texts = dict.fromkeys(("run", *KEYS, "verdict"), "category")
    frame.astype(texts).to_parquet(FIGURES_FILE, index=False, compression="zstd")


# What may differ


class Difference(BaseModel):
    """Figures that may differ from the frozen ones; see differences.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str | tuple[str, ...]
    table: str
    measure: str | tuple[str, ...]
    columns: tuple[Column, ...] = Field(min_length=1)
    why: str = Field(min_length=20)

    def fits(self, run: str, table: str, measure: str) -> bool:
        """Whether it speaks of these figures."""
        return (
            _is_any(run, self.run)
            and fnmatchcase(table, self.table)
            and _is_any(measure, self.measure)
        )

    def __str__(self) -> str:
        return f"{self.run} | {self.table} | {self.measure} | {', '.join(self.columns)}"


class Renaming(BaseModel):
    """Frozen rows that have another table, measure or key today; see differences.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: str = "*"
    old: dict[str, str | None] = Field(alias="from", min_length=1)
    new: dict[str, str | None] = Field(alias="to", min_length=1)

    def model_post_init(self, _: Any) -> None:
        """Checks the columns."""
        if unknown := sorted(({*self.old} | {*self.new}) - {*KEYS}):
            raise ValueError(f"no column is called {', '.join(unknown)}; there are {KEYS}")

    def renamed(self, run: str, row: Mapping[str, str]) -> dict[str, str] | None:
        """The key under the new names; None where it speaks of other rows."""
        if not fnmatchcase(run, self.run):
            return None
        stars: dict[str, str] = {}
        for name, pattern in self.old.items():
            expression = re.escape(pattern or "").replace(r"\*", "(.*)", 1)
            match = re.fullmatch(expression, row[name], re.DOTALL)
            if match is None:
                return None
            stars[name] = match[1] if match.groups() else ""
        new = {
            name: (value or "").replace("*", stars.get(name, ""))
            for name, value in self.new.items()
        }
        return {**row, **new}


class Declared(BaseModel):
    """The content of differences.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    differences: tuple[Difference, ...] = ()
    renamed: tuple[Renaming, ...] = ()


def read_declared(path: Path = DIFFERENCES_FILE) -> Declared:
    """What is declared to differ."""
    return Declared.model_validate(yaml.safe_load(path.read_text("utf-8")) or {})


def _is_any(name: str, patterns: str | tuple[str, ...]) -> bool:
    globs = (patterns,) if isinstance(patterns, str) else patterns
    return any(fnmatchcase(name, glob) for glob in globs)


# One run held against what is frozen of it


class Deviation(NamedTuple):
    """One frozen figure that is not what it was; `column` is "row" where it is gone."""

    key: Key
    column: str
    was: Any
    is_now: Any

    def __str__(self) -> str:
        named = [
            f"{name}={value}" if name not in ("table", "measure") else value
            for name, value in zip(KEYS, self.key, strict=True)
            if value and (name, value) != ("copy", "0")
        ]
        if self.column == "row":
            return f"{' | '.join(named)}: gone (value {self.was!r})"
        return f"{' | '.join(named)}: {self.column} {self.was!r} -> {self.is_now!r}"


@dataclass
class Outcome:
    """What became of a run's frozen figures.

    Attributes:
        run: its name.
        n_equal: rows in which every column is equal.
        deviations: everything that differs.
        declared: what differences.yaml declares of any run.
        frozen: the run's frozen rows.
        renamings: how many rows each renaming has met.
        n_new: rows of measures that were never frozen.
    """

    run: str
    n_equal: int
    deviations: Sequence[Deviation]
    declared: Declared
    frozen: pd.DataFrame = field(repr=False)
    renamings: Mapping[int, int]
    n_new: int

    def _declares(self, deviation: Deviation) -> Difference | None:
        table, measure = deviation.key[0], deviation.key[KEYS.index("measure")]
        return next(
            (
                one
                for one in self.declared.differences
                if deviation.column in one.columns and one.fits(self.run, table, measure)
            ),
            None,
        )

    @cached_property
    def undeclared(self) -> list[Deviation]:
        """What differs and is not declared."""
        return [one for one in self.deviations if self._declares(one) is None]

    @cached_property
    def unused(self) -> list[str]:
        """Declarations that speak of figures of this run, none of which differs."""
        columns: dict[Difference, set[str]] = {}
        for deviation in self.deviations:
            table, measure = deviation.key[0], deviation.key[KEYS.index("measure")]
            for one in self.declared.differences:
                if one.fits(self.run, table, measure):
                    columns.setdefault(one, set()).add(deviation.column)
        names = self.frozen[["table", "measure"]].drop_duplicates()
        pairs = list(names.itertuples(index=False, name=None))
        return [
            f"{one}: nothing differs in {column}"
            for one in self.declared.differences
            if any(one.fits(self.run, *pair) for pair in pairs)
            for column in one.columns
            if column not in columns.get(one, set()) and self._has(one, column)
        ]

    def _has(self, one: Difference, column: str) -> bool:
        """Whether the declared column holds anything in the frozen rows that it speaks of."""
        rows = self.frozen[
            [
                one.fits(self.run, *pair)
                for pair in zip(self.frozen["table"], self.frozen["measure"], strict=True)
            ]
        ]
        if column == "row":
            return True
        return bool(
            (rows[column] != "").any() if column == "verdict" else rows[column].notna().any()
        )

    @property
    def n_gone(self) -> int:
        """Rows that are gone."""
        return sum(one.column == "row" for one in self.deviations)

    @property
    def n_changed(self) -> int:
        """Rows of which a column has changed."""
        return len({one.key for one in self.deviations if one.column != "row"})

    def line(self) -> str:
        """The counts, in one line."""
        return (
            f"{self.run:38s} {self.n_equal:5d} equal {self.n_gone:5d} gone {self.n_changed:5d} "
            f"changed {self.n_new:5d} new; undeclared: {len(self.undeclared)}"
        )


def compare(run: str, frame: pd.DataFrame, frozen: pd.DataFrame, declared: Declared) -> Outcome:
    """Holds the figures of a run against the frozen ones.

    Args:
        run: its name.
        frame: its figures today, in the form of estimates.parquet.
        frozen: what `read_frozen` returns.
        declared: what may differ.
    """
    mine = frozen[frozen["run"] == run]
    table = keyed(frame)
    keys = table[list(KEYS)].itertuples(index=False, name=None)
    today = dict(zip(keys, table[list(COMPARED)].itertuples(index=False, name=None), strict=True))
    deviations: list[Deviation] = []
    renamings = dict.fromkeys(range(len(declared.renamed)), 0)
    n_equal = 0
    measures: set[tuple[str, str]] = set()
    for row in mine.itertuples(index=False, name=None):
        old, was = row[1 : 1 + len(KEYS)], row[1 + len(KEYS) :]
        key = old
        for number, renaming in enumerate(declared.renamed):
            new = renaming.renamed(run, dict(zip(KEYS, old, strict=True)))
            if new is not None:
                renamings[number] += 1
                key = tuple(new[name] for name in KEYS)
                break
        measures.add((key[0], key[KEYS.index("measure")]))
        if key not in today:
            deviations.append(Deviation(old, "row", was[0], None))
            continue
        different = [
            Deviation(old, name, before, now)
            for name, before, now in zip(COMPARED, was, today[key], strict=True)
            if not _is_equal(before, now)
        ]
        deviations += different
        n_equal += not different
    n_new = sum((key[0], key[KEYS.index("measure")]) not in measures for key in today)
    return Outcome(run, n_equal, deviations, declared, mine, renamings, n_new)


def _is_equal(was: Any, now: Any) -> bool:
    if isinstance(was, str):
        return was == now
    if math.isnan(was) or math.isnan(now):
        return math.isnan(was) and math.isnan(now)
    return math.isclose(was, now, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
