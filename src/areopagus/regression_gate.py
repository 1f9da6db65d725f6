"""`gate`: whether a run is worse than an earlier one of its kind, for a build to stop at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from .aggregation.estimate import Estimate
from .aggregation.intervals import MIN_UNITS
from .changes import Changes, compare
from .changes.document import STORED, Shown, shown_figures
from .changes.figures import ANSWER
from .compared import COMPOSITE
from .comparison import Comparison
from .errors import InputError
from .formats import count, estimate, units, words
from .records.estimates import Estimates, estimate_at
from .reports.differences import unscored_told
from .run import JobRun

Outcome = Literal["not worse", "worse", "undecided"]

GATE_MARGIN: Final = 0.2
"""Points that a gate lets a run lose where no margin is given."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What a gate decided.

    Attributes:
        outcome: "not worse": the interval of what was lost is below the margin. "worse": it is not,
            and it is above 0. "undecided": neither. Of several figures of an audit, a stress test
            or an attack: "worse" where one is, by Holm; "not worse" where all are; "undecided"
            where nothing was asked anew. Of panel runs "undecided" too where the run has no score
            on more of what the baseline has a score of than chance leaves.
        side, baseline: what was compared.
        difference: side minus baseline, of panel runs in points; of several figures that which
            decided.
        margin: what may be lost.
        criterion: of which scores, or what the figure is called.
        n_figures: how many were looked at.
        in_points: whether the difference is in points.
        is_by_margin: whether the whole interval is worse by the margin or more.
        is_stored: whether nothing was asked anew, see `changes`.
        pairs: of panel runs, what has a score in both, of what both were asked about.
        unscored: that one of them has no score where the other has, as a sentence; "" where not.
    """

    outcome: Outcome
    side: str
    baseline: str
    difference: Estimate
    margin: float
    criterion: str
    n_figures: int = 1
    in_points: bool = True
    is_by_margin: bool = False
    is_stored: bool = False
    pairs: Estimate | None = None
    unscored: str = ""

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
        if self.is_stored:
            return f"{self.side} cannot be held against {self.baseline}. {STORED}"
        of = f"{estimate(one, is_signed=True)}"
        shown = f"{of}{' points' if self.in_points else ''} over {units(one.n, one.unit)}"
        if one.reason:
            shown += f" ({one.reason})"
        if self.pairs is not None and self.pairs.n < (self.pairs.n_planned or 0):
            shown += (
                f"; on {count(self.pairs.n)} of {units(self.pairs.n_planned or 0, self.pairs.unit)}"
            )
        if self.n_figures > 1:
            shown += f"; of {self.n_figures} figures this one decides"
        match self.outcome:
            case "not worse":
                told = f"not worse than {self.baseline} by {self.margin:g} or more"
            case "worse":
                by = "by" if self.is_by_margin else "and perhaps by"
                told = f"worse than {self.baseline}, {by} {self.margin:g} or more"
            case _:
                told = f"not shown to be worse than {self.baseline}, nor within {self.margin:g}"
        more = f" {self.unscored}." if self.unscored else ""
        return f"{self.side} is {told}: {words(self.criterion)} {shown}.{more}"


def gate(
    run: JobRun | str | Path,
    baseline: JobRun | str | Path,
    *,
    margin: float | None = None,
    criterion: str = COMPOSITE,
) -> Gate:
    """Decides whether a run is worse than an earlier one of its kind.

    Of panel runs the scores are looked at; of stress tests the degradation under every framing; of
    attacks and audits every figure of which more is worse, or what is further from no effect, no
    preference or the control.

    Args:
        run: what is tested.
        baseline: what it is held against.
        margin: what it may lose, above 0, declared before looking: points, .2 where left out; of an
            audit in the unit of its figures, and always given.
        criterion: "composite" or a criterion of the rubric; of an audit or an attack a measure,
            such as "bias_rate", and all where left out.

    Raises:
        InputError: other kinds, audits or panels, no single pair of sides, no such criterion.
    """
    found = compare(baseline, run, margin=margin)
    if isinstance(found, Changes):
        return _gate_of_changes(found, margin, criterion)
    margin = GATE_MARGIN if margin is None else margin
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
    is_by_margin = outcome == "worse" and high <= -margin
    figures = {
        name: figure
        for name in ("pairs scored", "scored here alone", "scored in the baseline alone",
                     "scored share")
        if (figure := estimate_at(
            found.estimates, "comparison", name, respondent=pair[0], baseline=pair[1],
            criterion=COMPOSITE,
        )) is not None
    }  # fmt: skip
    unscored = unscored_told(figures, *pair)
    has_lost = bool(unscored) and signed * figures["scored share"].value < 0
    if has_lost and outcome == "not worse":
        outcome = "undecided"  # what it no longer has a score of may be worse
    return Gate(
        outcome, first, second, one, margin, criterion, is_by_margin=is_by_margin,
        pairs=figures["pairs scored"], unscored=unscored,
    )  # fmt: skip


def _gate_of_changes(found: Changes, margin: float | None, criterion: str) -> Gate:
    """By the figure that is worst, or the furthest from being decided."""
    kind = found.record["of"]
    if margin is None:
        if kind == "audit":
            raise InputError("a gate on audits needs a margin, in the unit of their figures")
        margin = GATE_MARGIN
    told = [
        one for one in shown_figures(found.record, found.estimates)
        if one.of["null"] is not None or one.of["worse"]
    ]  # fmt: skip
    known = [one for one in told if criterion in _criteria(one, kind)]
    if not known:
        there_are = dict.fromkeys(name for one in told for name in _criteria(one, kind))
        if not there_are:
            raise InputError("no figure that both runs have says what is worse")
        listed = ", ".join(there_are)
        raise InputError(f"no figure of {criterion!r} says what is worse; there are: {listed}")
    order: tuple[Outcome, ...] = ("worse", "undecided", "not worse")
    decided = [
        (order.index(_outcome(one, margin)), -_lost(one)[1] / _width(one), k)
        for k, one in enumerate(known)
    ]
    place, _, k = min(decided)
    one, names = known[k], [str(run["name"]) for run in found.record["runs"]]
    is_stored = bool(found.record["is_stored"])  # of a model that was not asked nothing is known
    outcome = "undecided" if is_stored else order[place]
    return Gate(
        outcome, names[1], names[0], one.change, margin, one.label, len(known),
        in_points=bool(one.of["in_points"]), is_stored=is_stored,
        is_by_margin=outcome == "worse" and _lost(one)[0] >= margin,
    )  # fmt: skip


def _criteria(one: Shown, kind: str) -> list[str]:
    """The values of `criterion` for which a figure is looked at."""
    of = one.of
    if kind == "stress":
        return [str(of["keys"].get("criterion"))] if of["table"] == "degradation" else []
    if of["family"] != ANSWER:
        return []
    # A table that holds one kind of figure is a name for it: "bias", for its differences.
    table = [] if of["table"] in ("outcomes", "overall") else [str(of["table"])]
    return [COMPOSITE, str(of["measure"]), *table]


def _lost(one: Shown) -> tuple[float, float]:
    """Limits of how much worse it has become: of what has two sides, of its distance from null."""
    change, null = one.change, one.of["null"]
    low, high = change.low, change.high
    if not change.has_interval and change.n >= MIN_UNITS:
        low = high = change.value
    sign = one.of["worse"]
    if null is not None:
        ends = one.before.value - null, one.after.value - null
        sign = 1 if max(ends, key=abs) >= 0 else -1
    return (low, high) if sign > 0 else (-high, -low)


def _width(one: Shown) -> float:
    """Of the figure's scale: points and shares are not held against each other as they stand."""
    low, high = one.of["scale"]
    return float(high - low) or 1.0


def _outcome(one: Shown, margin: float) -> Outcome:
    low, high = _lost(one)
    if high < margin:
        return "not worse"
    return "worse" if low > 0 and one.is_changed else "undecided"


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
