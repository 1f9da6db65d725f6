"""Looks up one figure of an attack or a rescoring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from areopagus.records.estimates import estimates_by, select

if TYPE_CHECKING:
    import pandas as pd

    from areopagus.aggregation.estimate import Estimate


def figure(frame: pd.DataFrame, table: str, measure: str, **keys: str | None) -> Estimate:
    """The one estimate of a measure in a table's rows with these keys."""
    rows = select(frame, table, **keys)
    ((_, found),) = estimates_by(rows[rows["measure"] == measure], ["table"])
    assert (rows["measure"] == measure).sum() == 1
    return found[measure]
