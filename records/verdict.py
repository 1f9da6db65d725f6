"""The panel's aggregate on one response."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from .judgment import STATUSES, Judgment

VerdictStatus = Literal["scored", "inconclusive", "screened"]
"""`inconclusive`: fewer judgments were scored than the quorum demands, so there is no headline
number. `screened`: there was nothing to judge, and nobody was asked."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the panel says about one response, and how much of the panel says it.

    Means are over the scored judgments; the unit behind the interval is the panel's two facets
    (personas and models), not thirty independent raters. None = undefined; `reason` or
    `interval_reason` says why.

    Attributes:
        response_id, prompt_id, respondent_id: what was judged.
        status, reason: see `VerdictStatus`.
        composite: unweighted mean over criteria of the panel means.
        dimensions: criterion to panel mean.
        interval: (low, high) of the composite, or None.
        interval_method, interval_reason: how it was made, or why there is none.
        dimension_intervals: criterion to (low, high) or None.
        median, trimmed_mean, sd: of the judges' composites.
        by_persona, by_model, by_axis: mean composite of the scored judgments of each.
        disagreement: "low", "moderate", "high", "split" or "undefined".
        share_abstained: abstained judgments over planned ones, without those that a stopping rule
            did not want.
        n_scored, n_planned: judgments.
        counts: status to number of judgments; sums to n_planned.
        flags: what the screen noticed; a flag never changes a score.
        cost_usd: cost of the replies when they were paid; None where a price is unknown.
        judgments: every planned judgment.
    """

    response_id: str
    prompt_id: str
    respondent_id: str
    status: VerdictStatus
    reason: str | None
    composite: float | None
    dimensions: Mapping[str, float | None]
    interval: tuple[float, float] | None
    interval_method: str | None
    interval_reason: str | None
    dimension_intervals: Mapping[str, tuple[float, float] | None]
    median: float | None
    trimmed_mean: float | None
    sd: float | None
    by_persona: Mapping[str, float | None]
    by_model: Mapping[str, float | None]
    by_axis: Mapping[str, float | None]
    disagreement: str
    share_abstained: float | None
    n_scored: int
    n_planned: int
    counts: Mapping[str, int]
    flags: tuple[str, ...] = ()
    cost_usd: float | None = None
    judgments: tuple[Judgment, ...] = field(default=(), repr=False)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON-like values, judgments included."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        plain["judgments"] = [judgment.to_json() for judgment in self.judgments]
        plain["flags"] = list(self.flags)
        plain["interval"] = _listed(self.interval)
        plain["dimension_intervals"] = {
            name: _listed(pair) for name, pair in self.dimension_intervals.items()
        }
        return plain

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Verdict:
        """The reverse of `to_json`."""
        known = {item.name for item in fields(cls)}
        values = {name: value for name, value in stored.items() if name in known}
        values["judgments"] = tuple(Judgment.from_json(j) for j in values.get("judgments", ()))
        values["flags"] = tuple(values.get("flags", ()))
        values["interval"] = _pair(values.get("interval"))
        values["dimension_intervals"] = {
            name: _pair(pair) for name, pair in values.get("dimension_intervals", {}).items()
        }
        return cls(**values)

    def summary(self) -> str:
        """One line for people."""
        count = f"{self.n_scored} scored of {self.n_planned} planned"
        spared = sum(judgment.reason == "precision" for judgment in self.judgments)
        if spared:
            count += f", {spared} not needed"
        if self.composite is None:
            return f"{self.status}: {self.reason} ({count})"
        span = (
            f" [{self.interval[0]:.2f}, {self.interval[1]:.2f}]"
            if self.interval is not None
            else ""
        )
        return f"{self.composite:.2f}{span}, disagreement {self.disagreement} ({count})"

    def _repr_html_(self) -> str:
        """A small table for notebooks; every text escaped."""
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{_shown(value)}</td></tr>"
            for name, value in self.dimensions.items()
        )
        flags = html.escape(", ".join(self.flags)) or "none"
        return (
            f"<p><b>{html.escape(self.response_id)}</b>: {html.escape(self.summary())}</p>"
            f"<table><tr><th>criterion</th><th>panel mean</th></tr>{rows}</table>"
            f"<p>flags: {flags}</p>"
        )


def count_statuses(judgments: tuple[Judgment, ...]) -> dict[str, int]:
    """Status to number of judgments, every status named."""
    counts: dict[str, int] = dict.fromkeys(STATUSES, 0)
    for judgment in judgments:
        counts[judgment.status] += 1
    return counts


def _listed(pair: tuple[float, float] | None) -> list[float] | None:
    return None if pair is None else list(pair)


def _pair(value: Any) -> tuple[float, float] | None:
    return None if value is None else (value[0], value[1])


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"
