"""Whole audits over HTTP, and one figure out of a table of estimates, by what it is a figure of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from areopagus.aggregation.estimate import Estimate
from areopagus.auditing import AuditRun, audit
from areopagus.records.estimates import KEYS, Estimates, estimate_of, select
from areopagus.testing import ProviderServer, ServedReply, ServedRequest


def model(server: ProviderServer, name: str = "target", **more: Any) -> dict[str, Any]:
    """A model that the server plays."""
    return {"model": f"openai/{name}", "name": name, "api_base": server.openai_base, **more}


def audited(
    name: str,
    provider: Callable[[ServedRequest], ServedReply],
    targets: Sequence[str],
    folder: Path,
    n_judges: int = 3,
    **more: Any,
) -> AuditRun:
    """The run of an audit of these models, with so many judges."""
    with ProviderServer(provider, record=False) as server:
        return audit(
            name, target=[model(server, target) for target in targets],
            judges=[model(server, one) for one in ("first", "second", "third")[:n_judges]],
            out=folder / "run", ledger=folder / "l.sqlite", **more,
        )  # fmt: skip


def figure(estimates: pd.DataFrame, table: str, measure: str, **keys: str | None) -> Estimate:
    """The one figure with these keys, whatever the others are; None is null."""
    rows = select(estimates, table, **keys)
    (row,) = rows[rows["measure"] == measure].to_dict("records")
    return estimate_of(row)


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
        return estimate_of(self.rows[table, measure, *(keys.get(key, "") for key in KEYS)])

    def value(self, table: str, measure: str, **keys: str) -> float:
        """Its value."""
        return self(table, measure, **keys).value

    def keys(self, table: str, measure: str, key: str) -> list[str]:
        """The values of a key that this figure is there for, in order."""
        rows = self.frame[(self.frame["table"] == table) & (self.frame["measure"] == measure)]
        return list(dict.fromkeys(rows[key].dropna()))
