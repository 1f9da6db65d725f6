"""Tables as views of estimates: declared by keys and measures, never computed again."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..aggregation.estimate import Estimate
from ..formats import UNDEFINED, count, listed_all, said, words
from ..records.estimates import estimates_by, select
from .document import Cell, Chart, ChartKind, Column, ColumnKind, Scalar, Table

if TYPE_CHECKING:
    import pandas as pd

Field = Literal[
    "estimate", "value", "low", "high", "p", "p_adjusted", "n", "n_of", "needed", "se", "verdict",
    "method", "reason",
]  # fmt: skip

_KINDS: dict[Field, ColumnKind] = {
    "estimate": "estimate", "value": "number", "low": "number", "high": "number", "p": "p",
    "p_adjusted": "p", "n": "count", "n_of": "text", "needed": "count", "se": "number",
    "verdict": "text", "method": "wide", "reason": "wide",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of figures.

    Attributes:
        name: the measure in the table of estimates.
        title: of the column; the name in words if left out.
        field: what of the estimate is shown: "estimate" its value with its interval, "n_of" as
            "23 of 26", else the field of that name.
        digits, is_signed: see `Column`.
        is_percent: whether the value is a share.
        is_count: whether the value is a whole number.
        called: a text of the field to what it is called, where that is not its own words.
    """

    name: str
    title: str = ""
    field: Field = "estimate"
    digits: int = 2
    is_signed: bool = False
    is_percent: bool = False
    is_count: bool = False
    called: Mapping[str, str] | None = None

    @property
    def column(self) -> Column:
        """The column that it makes."""
        kind = _KINDS[self.field]
        if self.is_percent and self.field == "value":
            kind = "percent"
        elif self.is_count:
            kind = "count"
        return Column(self.title or words(self.name), kind, self.digits, self.is_signed)

    def cell(self, found: Estimate | None) -> Scalar | Cell:
        """What stands in a row's cell."""
        if found is None:
            return None
        if self.field == "estimate":
            return Cell(found, is_bold=found.verdict in _BOLD)
        if self.field == "n_of":
            planned = found.n if found.n_planned is None else found.n_planned
            return f"{count(found.n)} of {count(planned)}"
        value: Any = getattr(found, self.field)
        if isinstance(value, str) or value is None:
            return (self.called or {}).get(value, words(value)) if value else ""
        return None if value != value else value


_FIGURES: frozenset[Field] = frozenset(
    ("estimate", "value", "low", "high", "p", "p_adjusted", "se")
)
_BOLD = ("higher", "lower", "changed", "differs", "biased")
"""Verdicts whose figure stands out."""


def jointly(found: Estimate) -> Estimate:
    """The estimate with the limits that decide, where it has them: those of its family."""
    if not math.isfinite(found.low_family):
        return found
    return replace(found, low=found.low_family, high=found.high_family)


def joint_limits(frame: pd.DataFrame) -> pd.DataFrame:
    """`jointly` for rows of a table of estimates."""
    limits = {end: frame[f"{end}_family"].where(frame["low_family"].notna(), frame[end])
              for end in ("low", "high")}  # fmt: skip
    return frame.assign(**limits)


def estimates_table(
    estimates: pd.DataFrame,
    table: str,
    *,
    keys: Mapping[str, str],
    measures: Sequence[Measure],
    caption: str,
    label: str = "",
    where: Mapping[str, str | None] | None = None,
    named: Mapping[str, Mapping[Any, str]] | None = None,
    is_short: bool = False,
) -> Table | None:
    """The rows of one table of estimates; None where it has none.

    A column without any figure is left out. Why figures or intervals are missing is said once a
    reason, below the table; of which columns, where others have what is missing. Where no figure
    is left, only names, verdicts and counts of units, there are no rows: a sentence says why.

    Args:
        estimates: every figure of the result.
        table: which table.
        keys: key column to the head that it gets, in order; "" takes the key's own name.
        measures: the columns of figures, in order.
        caption, label, is_short: see `Table`.
        where: further keys that rows must have; None = null.
        named: key to what its values are called; those that it does not hold stand as they are, but
            for criteria, which are said in words.
    """
    rows: list[list[Scalar | Cell]] = []
    missing: dict[tuple[bool, str], dict[int, None]] = {}
    limited: set[int] = set()
    wanted = [one.name for one in measures]
    found = select(estimates, table, **dict(where or {}))
    for at, figures in estimates_by(found[found["measure"].isin(wanted)], keys):
        names = [_called(key, value, named) for key, value in at.items()]
        rows.append([*names, *(one.cell(figures.get(one.name)) for one in measures)])
        for k, one in enumerate(measures):
            estimate = figures.get(one.name)
            if estimate is None or one.field not in ("estimate", "value"):
                continue
            if estimate.has_interval:
                limited.add(k)
            if estimate.reason:
                why = estimate.is_defined, said(estimate.reason)
                missing.setdefault(why, {})[k] = None
    if not rows:
        return None
    n = len(keys)
    shown = [k for k in range(len(measures)) if any(_is_told(row[n + k]) for row in rows)]
    names = _titles(measures)
    is_bare = not any(measures[k].field in _FIGURES for k in shown)
    if is_bare and any(one.field in _FIGURES for one in measures):
        told = "; ".join(
            f"of {listed_all([names[k] for k in of])}: {why}" for (_, why), of in missing.items()
        )
        notes = [f"no figure {told}"] if told else []
        return Table(caption=caption, label=label or caption, columns=[], rows=[], notes=notes)
    notes = []
    for (is_defined, reason), of in missing.items():
        mine = [k for k in of if measures[k].field == "estimate"]
        if is_defined:
            whose = f" of {listed_all([names[k] for k in mine])}" if limited - set(mine) else ""
            notes += [f"no interval{whose}: {reason}"] if mine else []
            continue
        here = [names[k] for k in mine if k in shown]
        gone = [f"“{names[k]}”" for k in mine if k not in shown]
        notes += [f"{listed_all(here)} undefined: {reason}"] if here else []
        notes += [f"no column {listed_all(gone)}: {reason}"] if gone else []
    kept = shown or [k for k in range(len(measures)) if any(row[n + k] is not None for row in rows)]
    heads = [measures[k].column.title for k in kept]
    gone = [name for one in measures if (name := one.column.title) not in heads]
    return Table(
        caption=_for_columns(caption, gone),
        label=label or caption.split(".", maxsplit=1)[0][:60],
        columns=[
            *(Column(title or words(key), "id") for key, title in keys.items()),
            *(measures[k].column for k in kept),
        ],
        rows=[[*row[:n], *(row[n + k] for k in kept)] for row in rows],
        notes=notes,
        is_short=is_short,
    )


def estimates_chart(
    estimates: pd.DataFrame,
    table: str,
    kind: ChartKind,
    *,
    measure: str,
    rows: str,
    columns: str = "",
    facets: str = "",
    where: Mapping[str, str | None] | None = None,
    named: Mapping[str, Mapping[Any, str]] | None = None,
    **chart: Any,
) -> Chart | None:
    """One measure of a table of estimates as a drawing; None where it has no figure.

    Args:
        estimates: every figure of the result.
        table, measure: which.
        kind: of the drawing, with a marker, a cell or a bar a figure.
        rows: the key whose values are its rows.
        columns, facets: the keys whose values are its columns, and drawings side by side.
        where, named: see `estimates_table`.
        chart: further fields of the `Chart`.
    """
    found = select(estimates, table, **dict(where or {}))
    found = found[found["measure"] == measure]
    if found["value"].notna().sum() == 0:
        return None
    keys = [facets, rows, columns]
    places: list[dict[str | None, int]] = [
        {
            name: k
            for k, name in enumerate(dict.fromkeys(found[key].where(found[key].notna(), None)))
        }
        if key
        else {None: 0}
        for key in keys
    ]
    given = np.full((3, *map(len, places)), np.nan)
    for row in found.to_dict("records"):
        at: tuple[int, ...] = tuple(
            place[row[key] if key and isinstance(row[key], str) else None]
            for key, place in zip(keys, places, strict=True)
        )
        for end, name in enumerate(("value", "low", "high")):
            given[end][at] = row[name]
    if not facets:
        given = given[:, 0]
    side, down, across = (
        [_called(key, name, named) for name in place]
        for key, place in zip(keys, places, strict=True)
    )
    return Chart(
        kind, rows=down, columns=across, facets=side if facets else (), values=given[0],
        low=given[1], high=given[2], **chart,
    )  # fmt: skip


def _called(key: str, value: Any, named: Mapping[str, Mapping[Any, str]] | None) -> str:
    plain = words(value) if key == "criterion" and value else value or ""
    return str((named or {}).get(key, {}).get(value, plain))


def _for_columns(caption: str, gone: Sequence[str]) -> str:
    """The caption without the sentences, "Title: …", that explain columns which are not there."""
    sentences = re.split(r"(?<=\.)\s+", caption)
    heads = tuple(f"{title}:".casefold() for title in gone)
    return " ".join(one for one in sentences if not one.casefold().startswith(heads)) or caption


def _titles(measures: Sequence[Measure]) -> list[str]:
    """What columns are called below a table: of two alike, with the head before it as well."""
    heads = [one.column.title for one in measures]
    return [
        f"{heads[k - 1]}, {head}" if k and heads.count(head) > 1 else head
        for k, head in enumerate(heads)
    ]


def _is_told(cell: Scalar | Cell) -> bool:
    value = cell.value if isinstance(cell, Cell) else cell
    if isinstance(value, Estimate):
        return value.is_defined
    return value is not None and value not in ("", UNDEFINED)
