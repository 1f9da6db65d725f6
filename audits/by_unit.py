"""The figures that a definition names as sums and sizes by unit: what a change is tested on.

`contrasts` says what a figure is; here stands of which units it is made. The table, measure and
keys of a figure are those of its row in the estimates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..aggregation.effects import Contrast
from ..aggregation.paired_change import Term
from .contrasts import contrasts_of, long_table
from .definition import Definition

Floats = npt.NDArray[np.float64]
Place = tuple[str, str, frozenset[tuple[str, str]]]
"""Table, measure, and (key, value) of a figure, its respondent apart."""


def place_of(table: str, measure: str, **keys: str) -> Place:
    """Where a figure stands in the table of estimates."""
    return table, measure, frozenset((name, value) for name, value in keys.items() if value)


def by_unit(
    definition: Definition, answers: pd.DataFrame, units: Sequence[str]
) -> dict[Place, tuple[Term, ...]]:
    """Every figure of one respondent that the definition names.

    Args:
        definition: of the audit.
        answers: of the respondent, with `estimate.columns_of(definition)` and `_unit`.
        units: the values of `_unit`, in the order of the arrays.
    """
    table = long_table(definition, answers)
    at = {name: k for k, name in enumerate(units)}
    table = table.assign(unit=table["unit"].map(at).astype(np.int64))
    rows_of = {str(arm): rows for arm, rows in table.groupby("arm", sort=False)}
    found = {}
    for one in contrasts_of(definition, table):
        keys = {name: value for name, value in one.keys.items() if name != "respondent"}
        found[place_of(**keys)] = _terms(one, rows_of, len(units))
    return found


def _terms(contrast: Contrast, rows_of: dict[str, pd.DataFrame], n_units: int) -> tuple[Term, ...]:
    """A share as its sums and sizes; a mean, or a paired difference, as its value of each unit."""
    sides = [rows_of[arm][rows_of[arm]["value"].notna()] for arm in contrast.arms]
    if contrast.is_pooled:
        (rows,) = sides
        code = rows["unit"].to_numpy()
        return ((np.bincount(code, rows["value"], n_units).astype(np.float64),
                 np.bincount(code, minlength=n_units).astype(np.float64), 1.0),)  # fmt: skip
    means = [side.groupby(["unit", "item"], sort=False)["value"].mean() for side in sides]
    wholes = [rows_of[arm][["unit", "item"]].drop_duplicates() for arm in contrast.arms]
    if len(wholes) == 2 and wholes[0].merge(wholes[1]).empty:
        return tuple(
            _of_units(mean, n_units, weight)
            for mean, weight in zip(means, contrast.arms.values(), strict=True)
        )
    gaps = pd.concat(means, axis=1, join="inner").to_numpy() @ list(contrast.arms.values())
    index = means[0].index
    for mean in means[1:]:
        index = index.intersection(mean.index, sort=False)
    return (_of_units(pd.Series(gaps, index=index), n_units),)


def _of_units(items: pd.Series, n_units: int, sign: float = 1.0) -> Term:
    means = items.groupby(level="unit").mean()
    values, sizes = np.zeros(n_units), np.zeros(n_units)
    values[means.index.to_numpy(dtype=np.int64)] = means.to_numpy()
    sizes[means.index.to_numpy(dtype=np.int64)] = 1.0
    return values, sizes, sign
