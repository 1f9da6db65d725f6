"""The figures that a definition names as sums and sizes by unit: what a change is tested on.

`estimate` says what a figure is; here stands of which units it is made. The table, measure and keys
of a figure are those of its row there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..aggregation.paired_change import Term
from .contrasts import cells_of, less_reference, over_wordings, prepare, values_of
from .definition import Change, Contrast, Definition, Outcome
from .estimate import CROSS, lean_gaps, tells_apart

Floats = npt.NDArray[np.float64]
Place = tuple[str, str, frozenset[tuple[str, str]]]
"""Table, measure, and (key, value) of a figure, its respondent apart."""


def place_of(table: str, measure: str, **keys: str) -> Place:
    """Where a figure stands in the table of estimates."""
    return table, measure, frozenset((name, value) for name, value in keys.items() if value)


def by_unit(
    definition: Definition, answers: pd.DataFrame, units: Sequence[str]
) -> dict[Place, tuple[Term, ...]]:
    """Every figure of one respondent that the definition names, tests and bounds apart.

    Args:
        definition: of the audit.
        answers: of the respondent, with `estimate.columns_of(definition)` and `_unit`.
        units: the values of `_unit`, in the order of the arrays.
    """
    at = {name: k for k, name in enumerate(units)}
    code = _codes(answers["_unit"], at)
    found: dict[Place, tuple[Term, ...]] = {}
    for name, outcome in definition.read_outcomes.items():
        values = values_of(outcome, answers)
        found[place_of("outcomes", name)] = _mean(outcome, values, code, len(units))
        for keys, mask in _parts(definition, outcome, answers):
            mine = np.where(mask, values, np.nan)
            found[place_of("parts", name, **keys)] = _mean(outcome, mine, code, len(units))
    for name, change in definition.changes.items():
        found[place_of("outcomes", name)] = _changed(change, answers, at)
        if change.lean:
            found[place_of("outcomes", f"{name}_lean")] = _leaning(change, answers, at)
    for name, shares in definition.shares.items():
        column = answers[shares.of]
        for level in shares.levels:
            is_one = (column == level).fillna(False).to_numpy(dtype=np.float64)
            values = np.where(column.isna(), np.nan, is_one)
            keys = {"factor": name, "group": level}
            found[place_of("shares", "share", **keys)] = _ratio(values, code, len(units))
    for name, contrast in definition.contrasts.items():
        for measure, table, keys, terms in _contrast(definition, name, contrast, answers, at):
            found[place_of(table, measure, **keys)] = terms
    return found


def _codes(units: pd.Series, at: Mapping[str, int]) -> npt.NDArray[np.int64]:
    return np.asarray(units.map(at).to_numpy(), dtype=np.int64)


def _ratio(values: Floats, code: npt.NDArray[np.int64], n: int) -> tuple[Term, ...]:
    known = ~np.isnan(values)
    sums = np.bincount(code[known], weights=values[known], minlength=n).astype(np.float64)
    sizes = np.bincount(code[known], minlength=n).astype(np.float64)
    return ((sums, sizes, 1.0),)


def _mean(
    outcome: Outcome, values: Floats, code: npt.NDArray[np.int64], n: int
) -> tuple[Term, ...]:
    """A share weighs every answer alike, another mean every unit."""
    ((sums, sizes, sign),) = _ratio(values, code, n)
    if outcome.is_share:
        return ((sums, sizes, sign),)
    return (_of_units(np.divide(sums, sizes, out=np.full(n, np.nan), where=sizes > 0)),)


def _of_units(means: Floats, sign: float = 1.0) -> Term:
    known = ~np.isnan(means)
    return np.where(known, means, 0.0), known.astype(np.float64), sign


def _parts(
    definition: Definition, outcome: Outcome, answers: pd.DataFrame
) -> Iterator[tuple[dict[str, str], npt.NDArray[np.bool_]]]:
    if not outcome.parts:
        return
    for crossed in definition.by:
        places = answers.groupby(list(crossed), sort=False, dropna=True).indices
        for key, rows in places.items():
            value = CROSS.join(map(str, key if isinstance(key, tuple) else (key,)))
            mask = np.zeros(len(answers), dtype=bool)
            mask[rows] = True
            yield {"factor": CROSS.join(crossed), "group": value}, mask


def _changed(change: Change, answers: pd.DataFrame, at: Mapping[str, int]) -> tuple[Term, ...]:
    """Questions whose answer changes, and questions that were answered both ways."""
    first = answers[answers["repeat"] == 0]
    if not tells_apart(change, first):
        first = first.iloc[:0]
    groups = first.groupby(list(change.within), sort=False, dropna=False)
    whole = groups[change.of].agg(["size", "count", "nunique"]).assign(unit=groups["_unit"].first())
    whole = whole[(whole["size"] == 2) & (whole["count"] == 2)]
    is_other = np.asarray((whole["nunique"] == 2).to_numpy(), dtype=np.float64)
    return _ratio(is_other, _codes(whole["unit"], at), len(at))


def _leaning(change: Change, answers: pd.DataFrame, at: Mapping[str, int]) -> tuple[Term, ...]:
    """The gaps of which `estimate.lean` is the mean."""
    first = answers[answers["repeat"] == 0]
    gaps = lean_gaps(change, first) if tells_apart(change, first) else None
    if gaps is None:
        gaps = pd.Series([], index=pd.Index([], dtype=object), dtype=np.float64)
    return _ratio(gaps.to_numpy(dtype=np.float64), _codes(gaps.index.to_series(), at), len(at))


def _contrast(
    definition: Definition,
    name: str,
    contrast: Contrast,
    answers: pd.DataFrame,
    at: Mapping[str, int],
) -> Iterator[tuple[str, str, dict[str, str], tuple[Term, ...]]]:
    prepared = prepare(contrast, answers, definition.outcomes)
    whole = over_wordings(contrast, prepared)
    for cell, means in _cells(whole, "value", at).items():
        yield "mean", name, _keys(cell), (_of_units(means),)
    for keys, terms in _differences(contrast, whole, at):
        yield "difference", name, keys, terms
    for column in contrast.by:
        table = f"{name}_by_{column}"
        if contrast.paired and column in contrast.average:
            kept = over_wordings(contrast, prepared, keep=column)
            gaps = less_reference(contrast, kept, whole)
            for _, mine in gaps.groupby(["factor", "group"], sort=False):
                levels = list(dict.fromkeys(mine[column]))
                for level in levels if len(levels) > 1 else ():
                    for cell, gap in _cells(mine[mine[column] == level], "gap", at).items():
                        detail = {"detail": str(level)}
                        yield "difference", table, _keys(cell) | detail, (_of_units(gap),)
            continue
        for level, rows in prepared.groupby(column, sort=False):
            for keys, terms in _differences(contrast, over_wordings(contrast, rows), at):
                yield "difference", table, keys | {"detail": str(level)}, terms


def _differences(
    contrast: Contrast, wordings: pd.DataFrame, at: Mapping[str, int]
) -> Iterator[tuple[dict[str, str], tuple[Term, ...]]]:
    """Each group less its reference: unit by unit, or of means over units of their own."""
    if contrast.paired:
        for cell, gap in _cells(less_reference(contrast, wordings), "gap", at).items():
            yield _keys(cell), (_of_units(gap),)
        return
    means = _cells(wordings, "value", at)
    groups = wordings[~wordings["is_reference"]].drop_duplicates(["factor", "group"])
    for factor, group, reference in groups[["factor", "group", "reference"]].to_numpy().tolist():
        if ("", reference) in means:
            terms = _of_units(means[factor, group]), _of_units(means["", reference], -1.0)
            yield _keys((factor, group)), terms


def _cells(rows: pd.DataFrame, value: str, at: Mapping[str, int]) -> dict[tuple[str, str], Floats]:
    """(factor, group) to the mean of every unit."""
    (who,) = set(rows["target"]) or {""}
    found = {}
    here = list(dict.fromkeys(rows["_unit"]))
    places = [at[name] for name in here]
    for (_, factor, group), means in cells_of(rows, value, [who]).items():
        whole = np.full(len(at), np.nan)
        whole[places] = means
        found[factor, group] = whole
    return found


def _keys(cell: Any) -> dict[str, str]:
    factor, group = cell
    return {"factor": factor, "group": group}
