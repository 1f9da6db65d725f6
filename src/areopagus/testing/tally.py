"""What a server counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Counts:
    """Requests that ask a model, since the start or the last `reset`.

    Attributes:
        total: requests that arrived whole.
        answered: answers written whole, of whatever status.
        broken: connections reset or closed on purpose by a fault.
        abandoned: requests whose client (or the server's stop) ended the connection first.
        in_flight: neither answered, broken nor abandoned yet.
        peak_in_flight: the largest number in flight at once.
        connections: connections accepted.
        by_path, by_model: requests that arrived; paths include those that ask no model.
        by_status: answers written, by HTTP status.
    """

    total: int
    answered: int
    broken: int
    abandoned: int
    in_flight: int
    peak_in_flight: int
    connections: int
    by_path: dict[str, int]
    by_model: dict[str, int]
    by_status: dict[int, int]

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON-like values; statuses become text, as keys of JSON are."""
        values = asdict(self)
        values["by_status"] = {str(status): n for status, n in self.by_status.items()}
        return values


class Tally:
    """The running counts behind `Counts`; its owner holds a lock around every use."""

    def __init__(self) -> None:
        self.total = self.broken = self.abandoned = 0
        self.in_flight = self.peak_in_flight = self.connections = 0
        self.by_path: Counter[str] = Counter()
        self.by_model: Counter[str] = Counter()
        self.by_status: Counter[int] = Counter()

    def began(self, model: str) -> None:
        """A request for a model arrived whole."""
        self.total += 1
        self.by_model[model] += 1
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)

    def counts(self) -> Counts:
        """A copy of the counts."""
        return Counts(
            total=self.total,
            answered=sum(self.by_status.values()),
            broken=self.broken,
            abandoned=self.abandoned,
            in_flight=self.in_flight,
            peak_in_flight=self.peak_in_flight,
            connections=self.connections,
            by_path=dict(self.by_path),
            by_model=dict(self.by_model),
            by_status=dict(self.by_status),
        )
