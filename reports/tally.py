"""Means by model, persona and axis, from judgments that pass by once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..records.judgment import STATUSES


@dataclass(slots=True)
class Mean:
    """A running mean: a sum and how many went into it."""

    total: float = 0.0
    n: int = 0

    def add(self, value: float) -> None:
        """One more value."""
        self.total += value
        self.n += 1

    @property
    def value(self) -> float | None:
        """The mean, None of nothing."""
        return self.total / self.n if self.n else None


@dataclass(slots=True)
class GroupMeans:
    """One model, persona or axis.

    Attributes:
        means: one running mean over responses for the composite, then one a criterion; `n` is the
            number of responses of which the group scored at least one judgment.
        counts: status to number of judgments.
        repaired: judgments that needed a second ask.
    """

    means: list[Mean]
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    repaired: int = 0

    @property
    def n_planned(self) -> int:
        """Judgments planned: the sum of all statuses."""
        return sum(self.counts.values())


class Tally:
    """Sums over judgments; its size depends on the panel and not on the number of responses.

    A response's judgments follow one another in the table, so that a group's mean on one response
    (over its scored judgments, repeats included) is known once the next response begins. The mean
    over responses weighs every response the same, however many of its judgments were scored.

    Attributes:
        by_model, by_persona, by_axis: name to `GroupMeans`, in order of appearance.
        cells: (persona, model) to the mean composite over responses.
        counts: status to number of judgments.
        faults: (status, reason) to number of judgments neither scored nor abstained.
        n_responses, n_judgments: what has passed by.
    """

    def __init__(self, criteria: Sequence[str]) -> None:
        self.criteria = tuple(criteria)
        self.by_model: dict[str, GroupMeans] = {}
        self.by_persona: dict[str, GroupMeans] = {}
        self.by_axis: dict[str, GroupMeans] = {}
        self.cells: dict[tuple[str, str], Mean] = {}
        self.counts: dict[str, int] = dict.fromkeys(STATUSES, 0)
        self.faults: dict[tuple[str, str], int] = {}
        self.n_responses = 0
        self.n_judgments = 0
        self._response: object = None
        self._open: dict[int, tuple[GroupMeans, list[float]]] = {}
        self._open_cells: dict[tuple[str, str], Mean] = {}

    def add_all(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Takes in rows of judgments.parquet, in their order, and ends the last response."""
        for row in rows:
            self.add(row)
        self._end_response()

    def add(self, row: Mapping[str, Any]) -> None:
        """One more judgment."""
        response = row["response_id"]
        if response != self._response or not self.n_judgments:
            self._end_response()
            self._response = response
            self.n_responses += 1
        self.n_judgments += 1
        status, persona, model = row["status"], str(row["persona"]), str(row["model"])
        groups = (
            self._group(self.by_model, model),
            self._group(self.by_persona, persona),
            self._group(self.by_axis, str(row["axis"])),
        )
        self.counts[status] = self.counts.get(status, 0) + 1
        for group in groups:
            group.counts[status] = group.counts.get(status, 0) + 1
            group.repaired += bool(row["repaired"])
        if status not in ("scored", "abstained"):
            fault = (str(status), str(row["reason"] or "no reason given"))
            self.faults[fault] = self.faults.get(fault, 0) + 1
        cell = self.cells.get((persona, model))
        if cell is None:
            self.cells[persona, model] = Mean()
        if status != "scored":
            return
        scores = [row[name] for name in self.criteria]
        if not scores or any(score is None for score in scores):
            return
        values = [sum(scores) / len(scores), *scores]
        for group in groups:
            found = self._open.get(id(group))
            if found is None:
                self._open[id(group)] = (group, [1.0, *values])
            else:
                sums = found[1]
                sums[0] += 1
                for position, value in enumerate(values, start=1):
                    sums[position] += value
        self._open_cells.setdefault((persona, model), Mean()).add(values[0])

    def _group(self, groups: dict[str, GroupMeans], name: str) -> GroupMeans:
        group = groups.get(name)
        if group is None:
            group = groups[name] = GroupMeans([Mean() for _ in range(1 + len(self.criteria))])
        return group

    def _end_response(self) -> None:
        for group, sums in self._open.values():
            for mean, total in zip(group.means, sums[1:], strict=True):
                mean.add(total / sums[0])
        for key, mean in self._open_cells.items():
            if mean.value is not None:
                self.cells[key].add(mean.value)
        self._open.clear()
        self._open_cells.clear()
