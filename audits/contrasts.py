"""Contrasts: groups of people, or of anything, less what they are compared with, unit by unit.

    NAME               mean, difference, tests, equivalence and bounds of every group, by respondent
    NAME_by_COLUMN     the difference within each value of a column
    NAME_models        two respondents' differences less each other

A difference is made of prompts that are alike but for the group: answers are averaged over repeats
and over `average`, then taken less the reference where `match` is the same, then averaged within
the unit. A prompt that either side has no value for is left out of both: otherwise a group that is
refused the hard prompts would look better than it is.

Where a unit belongs to one group alone (`paired: false`), its answers are averaged, and the means
of two groups over their own units are compared by Welch's t.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..aggregation.clustered import clustered_proportion
from ..aggregation.effects import (
    Effect,
    MeanTest,
    consistent,
    mean_effects,
    separate_effects,
)
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import t_interval
from ..aggregation.jackknife import Bounds, cut_to_range
from ..aggregation.welch_james import contrast_of_means
from ..formats import units
from ..records.estimates import Estimates
from .definition import Contrast, Definition, Outcome

Floats = npt.NDArray[np.float64]

UNREAD: Final = ("unclassified", "unreadable")
"""Statuses of answers that came and have no value."""
ANSWERED: Final = ("classified", "unclassified", "refused", "unreadable", "empty")
Cell = tuple[str, str, str]
"""Respondent, factor, group."""
Columns = tuple[Floats, ...]
"""One value a unit: of a group less its reference; or of the group, and of the reference apart."""
DECIDES: Final[MeanTest] = "skewness-adjusted flips"
ALL: Final = ""
"""All respondents together: the mean over them, of the units that each has a value for."""


def add_contrast(
    found: Estimates,
    definition: Definition,
    name: str,
    contrast: Contrast,
    frame: pd.DataFrame,
    respondents: Sequence[str],
) -> None:
    """Adds the tables of one contrast.

    Args:
        found: to what they are added.
        definition: of the audit.
        name, contrast: which.
        frame: answers with `columns_of(definition)` and `_unit`.
        respondents: in the order of the report.
    """
    unit, prepared = definition.unit_word, prepare(contrast, frame, definition.outcomes)
    outcome = definition.outcomes.get(contrast.of)
    scale = _ends(prepared, outcome.scale if outcome else contrast.scale)
    apart = scale[0] - scale[1], scale[1] - scale[0]
    means = with_all(cells_of(over_wordings(contrast, prepared), "value", respondents), respondents)
    for cell, values in means.items():
        keys = _keys(cell)
        found.add(name, "mean", _mean(values, unit, _MEAN, scale), **keys)
        found.add(name, "answered", _answered(prepared, cell, unit), **keys)
    columns = differences(contrast, prepared, respondents)
    ends = [differences(contrast, filled, respondents) for filled in _at_ends(contrast, prepared)]
    effects = _effects(definition, contrast, columns)
    for cell, effect in zip(columns, effects, strict=True):
        keys = _keys(cell)
        difference = cut_to_range(consistent(effect.mean), apart)
        found.add(name, "difference", difference, **keys)
        for test in effect.tests:
            if test != DECIDES:
                found.add(name, test.replace(" ", "_"), effect.tests[test], **keys)
        found.add(name, "equivalence", effect.equivalence, **keys)
        for end, bounds in zip(("least", "most"), ends, strict=True):
            value, n = _value(bounds[cell])
            if n:
                method = "bound over answers without a value"
                bound = Estimate(value, n=n, unit=unit, method=method)
                found.add(name, f"difference_{end}", bound, **keys)
    _add_parts(found, definition, name, contrast, prepared, respondents, apart)
    _add_models(found, definition, name, contrast, columns, respondents, apart)


def _ends(prepared: pd.DataFrame, scale: Bounds) -> Bounds:
    """The scale, where all values lie on it: a definition need not state it."""
    is_known = prepared["value"].dropna().between(*scale).all()
    return scale if is_known else (-math.inf, math.inf)


def differences(
    contrast: Contrast, prepared: pd.DataFrame, respondents: Sequence[str]
) -> dict[Cell, Columns]:
    """The values that the difference of every group is made of, the mean of respondents last."""
    wordings = over_wordings(contrast, prepared)
    if contrast.paired:
        gaps = cells_of(less_reference(contrast, wordings), "gap", respondents)
        return {cell: (values,) for cell, values in with_all(gaps, respondents).items()}
    whole = with_all(cells_of(wordings, "value", respondents), respondents)
    groups = wordings[~wordings["is_reference"]].drop_duplicates(["factor", "group"])
    reference = groups.set_index(["factor", "group"])["reference"]
    found: dict[Cell, Columns] = {}
    for (who, factor, group), values in whole.items():
        if (factor, group) in reference.index:
            none = np.full_like(values, np.nan)
            other = whole.get((who, "", reference[factor, group]), none)
            found[who, factor, group] = (values, other)
    return found


def _value(columns: Columns) -> tuple[float, int]:
    """The difference, and on how many units it rests."""
    known = [column[~np.isnan(column)] for column in columns]
    if not all(one.size for one in known):
        return np.nan, 0
    value = known[0].mean() - (known[1].mean() if len(known) > 1 else 0.0)
    return float(value), sum(one.size for one in known)


_MEAN: Final = "mean over matched prompts, then over units"


def values_of(outcome: Outcome, rows: pd.DataFrame) -> Floats:
    """The outcome of every row; nan where it has none."""
    column = rows[outcome.of]
    if outcome.any_value:
        values = column.notna().to_numpy(dtype=np.float64)
    elif outcome.values:
        is_one = column.astype("string").isin(outcome.values).to_numpy(dtype=np.float64)
        values = np.where(column.isna().to_numpy(), np.nan, is_one).astype(np.float64)
    else:
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    if outcome.among:
        is_known = rows[list(outcome.among)].notna().any(axis=1).to_numpy()
        values = np.where(is_known, values, np.nan)
    return np.asarray(values, dtype=np.float64)


def prepare(
    contrast: Contrast, frame: pd.DataFrame, outcomes: Mapping[str, Outcome] | None = None
) -> pd.DataFrame:
    """The answers with `value`, and `factor`, `group`, `reference` of their cell."""
    outcome = (outcomes or {}).get(contrast.of) or Outcome(title=contrast.of, of=contrast.of)
    names = list(contrast.factor)
    parts = frame[names].astype("string").fillna("")
    is_reference = np.ones(len(frame), dtype=bool)
    for column, values in contrast.reference.items():
        is_reference &= frame[column].astype("string").fillna("").isin(values).to_numpy()
    group = parts[names[-1]]
    factor = parts[names[0]] if len(names) > 1 else pd.Series(names[0], index=frame.index)
    factor = factor.where(~is_reference, "")
    alone = next(iter(group[is_reference]), "")
    reference = factor.map(lambda value: contrast.references.get(value, alone))
    return frame.assign(
        value=values_of(outcome, frame),
        factor=factor.astype(object),
        group=group.astype(object),
        reference=reference.where(~is_reference, group).astype(object),
        is_reference=is_reference,
    )


def over_wordings(contrast: Contrast, rows: pd.DataFrame, *, keep: str = "") -> pd.DataFrame:
    """Means over repeats, and over the columns of `average` after that, but for the one to keep."""
    cell = ["target", "factor", "group", "reference", "is_reference", "_unit", *contrast.match]
    columns = [*cell, *contrast.average]
    found = rows.groupby(columns, sort=False)["value"].mean().reset_index()
    for place in range(len(contrast.average)):
        kept = [column for column in contrast.average[: place + 1] if column == keep]
        left = [*kept, *contrast.average[place + 1 :]]
        found = found.groupby([*cell, *left], sort=False)["value"].mean().reset_index()
    return found


def less_reference(
    contrast: Contrast, wordings: pd.DataFrame, references: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The groups' rows with `gap`: their value less the reference's where `match` is alike."""
    source = wordings if references is None else references
    place = ["target", "_unit", *contrast.match]
    known = source[source["is_reference"]][[*place, "group", "value"]]
    known = known.rename(columns={"group": "reference", "value": "_reference"})
    groups = wordings[~wordings["is_reference"]]
    found = groups.merge(known, on=[*place, "reference"], how="left", sort=False)
    return found.assign(gap=found["value"] - found["_reference"])


def cells_of(rows: pd.DataFrame, value: str, respondents: Sequence[str]) -> dict[Cell, Floats]:
    """The mean of every unit in every cell, respondents in their order; nan where there is none.

    Units that have no value in any cell are there as well: signs are drawn for every unit.
    """
    units = list(dict.fromkeys(rows["_unit"]))
    order = dict.fromkeys(zip(rows["factor"], rows["group"], strict=True))
    found = {(who, *cell): np.full(len(units), np.nan) for who in respondents for cell in order}
    at_unit = {name: k for k, name in enumerate(units)}
    by = rows.groupby(["target", "factor", "group", "_unit"], sort=False)[value].mean()
    for (who, factor, group, unit), mean in zip(by.index.tolist(), by.tolist(), strict=True):
        if (who, factor, group) in found:
            found[who, factor, group][at_unit[unit]] = mean
    return found


def with_all(given: Mapping[Cell, Floats], respondents: Sequence[str]) -> dict[Cell, Floats]:
    """The cells with those of the mean over all respondents after them, where there are several."""
    if len(respondents) < 2:
        return dict(given)
    order = [cell[1:] for cell in given if cell[0] == respondents[0]]
    return {
        **given,
        **{
            (ALL, *cell): np.mean([given[who, *cell] for who in respondents], axis=0)
            for cell in order
        },
    }


def _effects(
    definition: Definition, contrast: Contrast, columns: Mapping[Cell, Columns]
) -> tuple[Effect, ...]:
    # What is corrected for is what a reader looks through: the models' own cells. The means over
    # all models are a family of their own.
    n_all = sum(not who for who, _, _ in columns)
    n_own = len(columns) - n_all
    families = [
        f"Holm over {units(n_own, 'group')} of all models" if who else
        f"Holm over {units(n_all, 'group')}"
        for who, _, _ in columns
    ]  # fmt: skip
    inside = [
        f"Holm over the groups of {factor}{f', {who}' if who else ''}" for who, factor, _ in columns
    ]
    return _tested(
        definition, contrast, list(columns.values()), _less(contrast),
        families, tests=("t", "sign flips", DECIDES), margin=contrast.margin,
        margin_families=inside,
    )  # fmt: skip


def _less(contrast: Contrast) -> str:
    """What a difference is, for its method."""
    return f"group less {contrast.reference_name.removeprefix('the ')}"


def _tested(
    definition: Definition,
    contrast: Contrast,
    columns: Sequence[Columns],
    of: str,
    families: Sequence[str],
    *,
    tests: Sequence[MeanTest],
    margin: float | None = None,
    margin_families: Sequence[str] | None = None,
) -> tuple[Effect, ...]:
    """Tests of every difference: on pairs, or Welch's where units are separate."""
    unit = definition.unit_word
    if contrast.paired:
        values = np.stack([gap for (gap,) in columns], axis=1) if columns else np.zeros((0, 0))
        return mean_effects(
            values, unit=unit, of=of, tests=tests, families=families, margin=margin,
            margin_families=margin_families, flips=max(definition.resamples, 99),
        )  # fmt: skip
    effects = separate_effects(
        [(group, reference) for group, reference in columns], unit=unit, of=of, families=families,
        margin=margin, margin_families=margin_families,
    )  # fmt: skip
    return tuple(
        _of_both(effect, shared, unit) if (shared := _shared(one)) else effect
        for effect, one in zip(effects, columns, strict=True)
    )


def _shared(columns: Columns) -> int:
    """Units that have a value on both sides."""
    return int((~np.isnan(np.stack(columns))).all(axis=0).sum())


def _of_both(effect: Effect, shared: int, unit: str) -> Effect:
    reason = f"{units(shared, unit)} with both groups: they are not separate (paired: true)"
    none = undefined(reason, unit=unit, method=effect.mean.method)
    return Effect(replace(none, verdict="undefined"), {}, effect.equivalence and none)


def _mean(values: Floats, unit: str, what: str, bounds: Bounds) -> Estimate:
    return cut_to_range(t_interval(values, unit=unit).of(what), bounds)


def _keys(cell: Cell) -> dict[str, str]:
    who, factor, group = cell
    return {"respondent": who, "factor": factor, "group": group}


def _answered(prepared: pd.DataFrame, cell: Cell, unit: str) -> Estimate:
    """Share of answers with a value, the unit being the cluster."""
    who, factor, group = cell
    rows = prepared[(prepared["factor"] == factor) & (prepared["group"] == group)]
    rows = rows[rows["target"] == who] if who else rows
    has = np.where(rows["status"].isin(ANSWERED), rows["value"].notna(), np.nan)
    found = clustered_proportion(has.astype(np.float64), rows["_unit"].tolist(), unit=unit)
    return found.of("share with a value")


def _at_ends(contrast: Contrast, prepared: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The answers with the unread ones at the ends of the scale: differences least, and most."""
    low, high = contrast.scale
    is_unread = prepared["status"].isin(UNREAD) & prepared["value"].isna()
    group_end = [np.where(prepared["is_reference"], high, low),
                 np.where(prepared["is_reference"], low, high)]  # fmt: skip
    least, most = (
        prepared.assign(value=prepared["value"].where(~is_unread, end)) for end in group_end
    )
    return least, most


def _add_parts(
    found: Estimates,
    definition: Definition,
    name: str,
    contrast: Contrast,
    prepared: pd.DataFrame,
    respondents: Sequence[str],
    apart: Bounds,
) -> None:
    """The difference within each value of the columns of `by`."""
    unit, what = definition.unit_word, _less(contrast)
    if not contrast.paired:
        for column in contrast.by:
            for level, rows in prepared.groupby(column, sort=False):
                for cell, pair in differences(contrast, rows, respondents).items():
                    gap = contrast_of_means(pair, (1.0, -1.0), unit=unit, outcome=what)
                    gap = cut_to_range(gap, apart)
                    keys = _keys(cell) | {"detail": str(level)}
                    found.add(f"{name}_by_{column}", "difference", gap, **keys)
        return
    whole = over_wordings(contrast, prepared)
    for column in contrast.by:
        table = f"{name}_by_{column}"
        if column in contrast.average:
            kept = over_wordings(contrast, prepared, keep=column)
            gaps = less_reference(contrast, kept, whole)
            for _, mine in gaps.groupby(["factor", "group"], sort=False):
                levels = list(dict.fromkeys(mine[column]))
                if len(levels) < 2:
                    continue
                for level in levels:
                    part = cells_of(mine[mine[column] == level], "gap", respondents)
                    for cell, values in with_all(part, respondents).items():
                        keys = _keys(cell) | {"detail": str(level)}
                        mean = _mean(values, unit, what, apart)
                        found.add(table, "difference", mean, **keys)
            continue
        # A column of units: within each value, all respondents together.
        level_of = prepared.drop_duplicates("_unit").set_index("_unit")[column]
        rows = less_reference(contrast, whole)
        cells = with_all(cells_of(rows, "gap", respondents), respondents)
        of_all = ALL if len(respondents) > 1 else respondents[0]
        of_unit = level_of.reindex(list(dict.fromkeys(rows["_unit"]))).to_numpy(dtype=object)
        for level in dict.fromkeys(of_unit):
            for (who, factor, group), values in cells.items():
                if who == of_all:
                    keys = {"factor": factor, "group": group, "detail": str(level)}
                    mean = _mean(values[of_unit == level], unit, what, apart)
                    found.add(table, "difference", mean, **keys)


def _add_models(
    found: Estimates,
    definition: Definition,
    name: str,
    contrast: Contrast,
    columns: Mapping[Cell, Columns],
    respondents: Sequence[str],
    apart: Bounds,
) -> None:
    """Every pair of respondents in every group; nothing with one."""
    pairs = list(combinations(respondents, 2))
    if not pairs:
        return
    order = [cell[1:] for cell in columns if cell[0] == respondents[0]]
    cells = [(a, b, *cell) for a, b in pairs for cell in order]
    between = [
        tuple(
            one - other
            for one, other in zip(columns[a, factor, group], columns[b, factor, group], strict=True)
        )
        for a, b, factor, group in cells
    ]
    effects = _tested(
        definition, contrast, between, "difference of differences",
        [f"Holm over {len(cells)} pairs x groups"] * len(cells), tests=("sign flips", DECIDES),
    )  # fmt: skip
    for (a, b, factor, group), effect in zip(cells, effects, strict=True):
        keys = {"respondent": a, "baseline": b, "factor": factor, "group": group}
        mean = cut_to_range(consistent(effect.mean), (2 * apart[0], 2 * apart[1]))
        if mean.verdict == "undecided":
            mean = replace(mean, verdict="not shown to differ")
        found.add(f"{name}_models", "difference", mean, **keys)
        if "sign flips" in effect.tests:
            found.add(f"{name}_models", "sign_flips", effect.tests["sign flips"], **keys)
