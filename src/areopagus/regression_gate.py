"""`gate`: whether a run is worse than an earlier one of the same panel, for a build to stop at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from .aggregation.estimate import Estimate
from .aggregation.intervals import MIN_UNITS
from .compared import COMPOSITE
from .comparison import Comparison
from .errors import InputError
from .formats import estimate, words
from .records.estimates import Estimates, estimate_at
from .run import Run, compare

Outcome = Literal["not worse", "worse", "undecided"]

GATE_MARGIN: Final = 0.2
"""Points that a gate lets a run lose where no margin is given."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What a gate decided.

    Attributes:
        outcome: "not worse": the lower limit of the difference is above minus the margin. "worse":
            it is not, and the upper limit is below 0. "undecided": neither.
        side, baseline: what was compared.
        difference: side minus baseline, in points.
        margin: points that may be lost.
        criterion: of which scores.
    """

    outcome: Outcome
    side: str
    baseline: str
    difference: Estimate
    margin: float
    criterion: str

    @property
    def exit_code(self) -> int:
        """0 not worse, 5 worse, 6 undecided."""
        return {"not worse": 0, "worse": 5, "undecided": 6}[self.outcome]

    def estimates(self) -> Estimates:
        """The difference, with the outcome as its verdict, and the margin."""
        found = Estimates()
        keys = {"respondent": self.side, "baseline": self.baseline, "criterion": self.criterion}
        decided = replace(self.difference, verdict=self.outcome)
        found.add_all("gate", {"difference": decided, "margin": self.margin}, **keys)
        return found

    def sentence(self) -> str:
        """The decision and what it rests on."""
        one = self.difference
        shown = f"{estimate(one, is_signed=True)} points over {one.n:,} prompts"
        why = f" ({one.reason})" if one.reason else ""
        match self.outcome:
            case "not worse":
                told = f"not worse than {self.baseline} by {self.margin:g} points or more"
            case "worse":
                told = f"worse than {self.baseline}, and perhaps by {self.margin:g} points or more"
            case _:
                told = (
                    f"not shown to be worse than {self.baseline}, nor within {self.margin:g} points"
                )
        return f"{self.side} is {told}: {words(self.criterion)} {shown}{why}."


def gate(
    run: Run | str | Path,
    baseline: Run | str | Path,
    *,
    margin: float = GATE_MARGIN,
    criterion: str = COMPOSITE,
) -> Gate:
    """Decides whether a run is worse than an earlier one of the same panel.

    Args:
        run: what is tested.
        baseline: what it is held against.
        margin: points that it may lose, above 0; declared before looking.
        criterion: "composite" or a criterion of the rubric.

    Raises:
        InputError: other panels, no single pair of sides, no such criterion.
    """
    found = compare(baseline, run, margin=margin)
    if not found.is_one_panel:
        raise InputError("a gate needs runs of the same panel: another is another instrument")
    sides = found.found.sides
    if len(sides) != 2:
        raise InputError(
            f"a gate needs two sides, got {len(sides)}: {', '.join(sides)}; give runs that share "
            "their respondents, or that have one each"
        )
    first, second = _sides_of_gate(found)
    signed, pair = 1.0, (first, second)
    if pair not in found.found.pairs:
        signed, pair = -1.0, (second, first)
    one = estimate_at(
        found.estimates, "comparison", "difference", respondent=pair[0], baseline=pair[1],
        criterion=criterion, universe="this panel",
    )  # fmt: skip
    if one is None:
        raise InputError(f"criterion must be one of {', '.join(found.found.criteria)}")
    if signed < 0:
        one = _turned(one)
    low, high = one.low, one.high
    if not one.has_interval and one.n >= MIN_UNITS:  # it does not vary: the same on every prompt
        low = high = one.value
    outcome: Outcome = "undecided"
    if low > -margin:
        outcome = "not worse"
    elif high < 0:
        outcome = "worse"
    return Gate(outcome, first, second, one, margin, criterion)


def _sides_of_gate(found: Comparison) -> tuple[str, str]:
    """(what is tested, what it is held against)."""
    baseline, tested = found.names
    if found.found.by == "run":
        return tested, baseline
    earlier = {row["respondent_id"] for row in found.runs[0].score_rows}
    (held,) = earlier & set(found.found.sides)
    (side,) = set(found.found.sides) - {held}
    return side, held


def _turned(one: Estimate) -> Estimate:
    return replace(one, value=-one.value, low=-one.high, high=-one.low)
