"""Which ratings count: those off the scale do not, and the report says which those were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import InputError, InputFault
from ..records.humans import HumanReading, HumanTable, MatchReport, match, off_scale
from ..records.humans.match import SHOWN, Scale

_HINT = (
    "Ranks count from 1, the best. Where people's scores are not on the panel's\n"
    "scale, say theirs: --scale LOW:HIGH. Scores off a stated scale are left out,\n"
    "counted, and listed with their rows."
)


@dataclass(slots=True)
class Screened:
    """Takes off the tables of one file what is off the scale, and remembers it.

    A scale that was stated for the people's ratings holds: what is off it is left out, counted,
    and listed with its rows. Where none was stated, the panel's is only an assumption: a value off
    it may be a slip, or the people rated on another scale, so the file is refused. So is a rank
    below 1, without which an order has lost its best.

    Attributes:
        path: the file, for messages.
        stated: the scale of the people's ratings, where anybody said it.
        assumed: the panel's scale, where nobody did.
        roster: the raters there may be, or None.
        reports: what `match` found off the scale, by table.
        tables: what is left of each table.
        faults: row and fault of what has to be mended first, the first thousand of each table;
            `n_faults` counts all.
    """

    path: str
    stated: Scale | None
    assumed: tuple[float, float] | None
    roster: frozenset[str] | None
    reports: list[MatchReport] = field(default_factory=list)
    tables: list[HumanTable] = field(default_factory=list)
    faults: list[tuple[int, InputFault]] = field(default_factory=list)
    n_faults: int = 0

    @classmethod
    def of(
        cls,
        reading: HumanReading | None,
        *,
        stated: tuple[float, float] | None,
        assumed: tuple[float, float] | None = None,
    ) -> Screened:
        """Returns what checks the tables of a reading, or a bare table."""
        if reading is None:
            return cls("ratings", stated, assumed, None)
        return cls(reading.path, stated or reading.scale, assumed, reading.roster)

    def kept(self, table: HumanTable) -> HumanTable:
        """Returns the ratings on the scale; of the rest, ranks and guesses are faults."""
        scale = self.stated if self.stated is not None else self.assumed
        wrong = off_scale(table, scale)
        is_fault = wrong if self.stated is None else wrong & table.is_rank
        if is_fault.any():
            self._refuse(table.select(is_fault))
        left = table.select(~wrong) if wrong.any() else table
        self.reports.append(match(table.select(wrong), (), scale=scale))
        self.tables.append(left)
        return left

    def require(self) -> None:
        """Goes on only without faults.

        Raises:
            InputError: with every fault of all tables.
        """
        if self.faults:
            left = self.n_faults - len(self.faults)
            raise InputError(
                [fault for _, fault in sorted(self.faults, key=lambda one: one[0])],
                hint=f"and {left:,} more\n{_HINT}" if left else _HINT,
            )

    def notices(self) -> tuple[str, ...]:
        """Returns what the reader has to know of the checks: that there was nothing to check by."""
        scored = any(not table.is_rank.all() for table in self.tables)
        if self.stated is None and self.assumed is None and scored:
            return ("no scale is known: scores were not checked against one (--scale LOW:HIGH)",)
        return ()

    def report(self, responses: Mapping[str, str] | Iterable[str]) -> MatchReport:
        """Returns how the study's ratings fit a run's responses, with what all tables lack.

        Repeats, raters and values off the scale are those of calibration items too; which
        responses there are concerns the study's ratings, the first table, alone.
        """
        first, *rest = self.tables
        found = match(first, responses, raters=self.roster)
        others = [match(t, t.response_id.used(), raters=self.roster) for t in rest]
        off = [one for report in self.reports for one in report.out_of_range]
        return replace(
            found,
            out_of_range=tuple(off),
            n_out_of_range=sum(report.n_out_of_range for report in self.reports),
            repeated=(*found.repeated, *(one for other in others for one in other.repeated)),
            n_repeated=found.n_repeated + sum(other.n_repeated for other in others),
            unknown_raters=(
                *found.unknown_raters,
                *(one for other in others for one in other.unknown_raters),
            ),
        )

    def _refuse(self, table: HumanTable) -> None:
        criteria: Any = table.criterion.texts()
        self.n_faults += len(table)
        columns = (table.line, criteria, table.value, table.is_rank)
        for line, criterion, value, is_rank in zip(
            *(column[:SHOWN].tolist() for column in columns), strict=True
        ):
            allowed = "a rank of 1 or more"
            if not is_rank and self.assumed is not None:
                allowed = f"from {self.assumed[0]:g} to {self.assumed[1]:g} as the panel's scores"
            message = f"must be {allowed}, got {value:g}"
            self.faults.append((line, InputFault(f"{self.path}:{line}", message, criterion)))
