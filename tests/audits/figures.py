"""One figure out of a table of estimates, by what it is a figure of."""

from __future__ import annotations

import pandas as pd

from areopagus.aggregation.estimate import Estimate
from areopagus.records.estimates import KEYS, Estimates, estimate_of


class Figures:
    """The figures of a result; keys that are not named are null."""

    def __init__(self, found: Estimates | pd.DataFrame) -> None:
        """Looks at the rows once."""
        frame = found.frame() if isinstance(found, Estimates) else found
        self.frame = frame
        self.rows = {
            (row["table"], row["measure"], *(row[key] or "" for key in KEYS)): row
            for row in frame.to_dict("records")
        }

    def __call__(self, table: str, measure: str, **keys: str) -> Estimate:
        """The one figure; KeyError where there is none."""
        place = (table, measure, *(keys.get(key, "") for key in KEYS))
        return estimate_of(self.rows[place])

    def value(self, table: str, measure: str, **keys: str) -> float:
        """Its value."""
        return self(table, measure, **keys).value

    def keys(self, table: str, measure: str, key: str) -> list[str]:
        """The values of a key that this figure is there for, in order."""
        rows = self.frame[(self.frame["table"] == table) & (self.frame["measure"] == measure)]
        return list(dict.fromkeys(rows[key].dropna()))
