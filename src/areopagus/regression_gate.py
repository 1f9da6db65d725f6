"""`gate`: whether a run is worse than an earlier one of its kind, for a build to stop at."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from .aggregation.estimate import Estimate
from .aggregation.intervals import MIN_UNITS
from .aggregation.rules import units_needed
from .any_report import run_of
from .changes import Changes, compare
from .changes.document import STORED, Shown, shown_figures
from .changes.figures import ANSWER
from .comparison import COMPOSITE, Comparison
from .errors import InputError, InputFault
from .formats import count, estimate, number, percent, units, words
from .records.estimates import Estimates, estimate_at
from .records.prompt_units import prompt_units
from .reports.comparison import unscored_sentence
from .reports.document import IN_DEMONSTRATION, Column, Document, Section, Table
from .run import JobRun, Run

if TYPE_CHECKING:
    from collections.abc import Mapping

Outcome = Literal["not worse", "worse", "undecided"]

GATE_MARGIN: Final = 0.2
"""Points that a gate lets a run lose where no margin is given."""
ALPHA: Final = 0.05
POWER: Final = 0.8
_MARGINS: Final = (0.1, 0.2, 0.3, 0.5, 1.0)
_SCOPES: Final = {"audit": "by this audit", "attack": "by this attack"}


@dataclass(frozen=True, slots=True)
class Resolution:
    """Which margins a number of units can decide.

    A margin can be decided where a version that is truly unchanged passes in 8 of 10 cases; one
    that is truly worse by the margin then fails as often.

    Attributes:
        n: units, at least 6.
        unit: what they are.
        deviation: SD of the differences between units, above 0.
        is_at_most: whether it may be smaller.
        in_points: whether it and margins are in points.
    """

    n: int
    unit: str
    deviation: float
    is_at_most: bool = False
    in_points: bool = True

    @classmethod
    def of(cls, difference: Estimate, *, in_points: bool = True) -> Resolution | None:
        """As the interval of a difference tells it; None where there is none."""
        width, n = difference.high - difference.low, difference.n
        if not width > 0 or n < MIN_UNITS:
            return None
        from scipy.special import stdtrit

        error = width / 2 / float(stdtrit(n - 1, (1 + difference.level) / 2))
        return cls(n, difference.unit, error * math.sqrt(n), in_points=in_points)

    @property
    def smallest_margin(self) -> float:
        """The smallest that can be decided."""
        from scipy.special import nctdtrinc, stdtrit

        limit = float(stdtrit(self.n - 1, 1 - ALPHA / 2))
        effect = float(nctdtrinc(self.n - 1, 1 - POWER, limit))
        return effect * self.deviation / math.sqrt(self.n)

    def needed(self, margin: float) -> int:
        """Units that decide a margin."""
        needed = units_needed(self.deviation, margin, ALPHA / 2)
        assert needed is not None  # noqa: S101 - the differences vary
        return needed

    def passes(self, margin: float) -> float:
        """How often an unchanged version passes."""
        from scipy.special import nctdtr, stdtrit

        noncentrality = margin * math.sqrt(self.n) / self.deviation
        limit = float(stdtrit(self.n - 1, 1 - ALPHA / 2))
        # Far out scipy's noncentral t underflows; the power is 1 to every digit long before.
        if noncentrality > limit + 12:
            return 1.0
        return 1.0 - float(nctdtr(self.n - 1, noncentrality, limit))

    def sentence(self, margin: float) -> str:
        """The smallest margin that can be decided, and what it takes to decide another."""
        # Rounded up: a margin that is printed can be decided.
        smallest = f"{math.ceil(self.smallest_margin * 100) / 100:.2f}"
        told = f"{units(self.n, self.unit)} can decide a margin of {smallest}"
        told += " points" if self.in_points else ""
        told += ", and perhaps a smaller one" if self.is_at_most else " or more"
        if (n := self.needed(margin)) > self.n:
            about = "at most" if self.is_at_most else "about"
            told += f"; a margin of {margin:g} needs {about} {units(n, self.unit)}"
        return f"{told} (80% power)."


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
        is_demonstration: whether embedded stand-ins took part.
        kind: of the runs: "panel", "stress", "attack" or "audit".
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
    is_demonstration: bool = False
    kind: str = "panel"
    pairs: Estimate | None = None
    unscored: str = ""

    @property
    def exit_code(self) -> int:
        """0 not worse, 5 worse, 6 undecided."""
        return {"not worse": 0, "worse": 5, "undecided": 6}[self.outcome]

    @property
    def resolution(self) -> Resolution | None:
        """Which margins so many units can decide; None where nothing is known of it."""
        return None if self.is_stored else Resolution.of(self.difference, in_points=self.in_points)

    def estimates(self) -> Estimates:
        """The difference, with the outcome as its verdict, the margin, and what it would need."""
        found = Estimates()
        keys = {"respondent": self.side, "baseline": self.baseline, "criterion": self.criterion}
        decided = replace(self.difference, verdict=self.outcome)
        found.add_all("gate", {"difference": decided, "margin": self.margin}, **keys)
        if resolution := self.resolution:
            needed = {
                "smallest margin": resolution.smallest_margin,
                f"{resolution.unit}s needed": float(resolution.needed(self.margin)),
            }
            found.add_all("gate", needed, **keys)
        return found

    def sentence(self) -> str:
        """The decision and what it rests on, as one text."""
        if self.is_stored:
            return self._headline()[0]
        first, *others = self._headline()
        one, points = self.difference, " points" if self.in_points else ""
        figure = f"{words(self.criterion)} {estimate(one, is_signed=True)}{points}"
        among = f"; of {self.n_figures} figures this one decides" if self.n_figures > 1 else ""
        return " ".join([first, f"{figure} over {self._coverage()}{among}.", *others])

    def document(self) -> Document:
        """What is shown: the decision, what it rests on, and the figure that decided."""
        one, points = self.difference, " (points)" if self.in_points else ""
        caption = f"Change{points}, {self.side} minus {self.baseline}"
        if self.n_figures > 1:
            caption += f"; of {self.n_figures} figures the one that decides"
        table = Table(
            caption,
            "Decision",
            [
                Column("figure", "id"),
                Column("change", "estimate", is_signed=True),
                Column("loss allowed"),
                Column("result"),
            ],
            [[words(self.criterion), one, f"{self.margin:g}", self.outcome]],
            is_short=True,
        )
        return Document(
            title=f"Gate: {self.side} against {self.baseline}",
            kind="gate",
            headline=self._headline(),
            trust=[] if self.is_stored else [("coverage", self._coverage())],
            sections=[
                Section("decision", "Decision", [] if self.is_stored else [table], "summary")
            ],
            is_demonstration=self.is_demonstration,
        )

    def _headline(self) -> list[str]:
        scope = _SCOPES.get(self.kind, "by this panel")
        if self.is_demonstration:
            scope = IN_DEMONSTRATION.lower()
        if self.is_stored:
            where = f"{scope}, " if self.is_demonstration else ""
            told = f"UNDECIDED: {where}{self.side} cannot be compared with {self.baseline}."
            return [f"{told} {STORED}"]
        margin = f"{self.margin:g}{' points' if self.in_points else ''}"
        match self.outcome:
            case "not worse":
                told = f"PASSED: {scope}, {self.side} is not worse than {self.baseline} by {margin}"
                told += " or more"
            case "worse":
                by = "by at least" if self.is_by_margin else "perhaps by more than"
                told = f"FAILED: {scope}, {self.side} is worse than {self.baseline}, "
                told += f"{by} the {margin} allowed"
            case _:
                told = f"UNDECIDED: {scope}, {self.side} is neither shown to be worse than "
                told += f"{self.baseline} nor shown to be within {margin} of it"
        more = [f"{self.unscored}."] if self.unscored else []
        if self.outcome == "undecided" and not more and (resolution := self.resolution):
            more.append(resolution.sentence(self.margin))
        return [f"{told}.", *more]

    def _coverage(self) -> str:
        told = units(self.difference.n, self.difference.unit)
        if self.pairs is not None and self.pairs.n < (self.pairs.n_planned or 0):
            of = units(self.pairs.n_planned or 0, self.pairs.unit)
            told += f"; {count(self.pairs.n)} of {of} compared"
        if self.difference.reason:
            told += f"; {self.difference.reason}"
        return told


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
        raise InputError(
            "these runs were scored by different panels; score both with one panel, or look at "
            "the difference with areopagus compare"
        )
    sides = found.result.sides
    if len(sides) != 2:
        raise InputError(
            f"a gate needs two sides, got {len(sides)}: {', '.join(sides)}; give runs that share "
            "their respondents, or that have one each"
        )
    first, second = _sides_of_gate(found)
    signed, pair = 1.0, (first, second)
    if pair not in found.result.pairs:
        signed, pair = -1.0, (second, first)
    one = estimate_at(
        found.estimates, "comparison", "difference", respondent=pair[0], baseline=pair[1],
        criterion=criterion, universe="this panel",
    )  # fmt: skip
    if one is None:
        raise InputError(f"criterion must be one of {', '.join(found.result.criteria)}")
    if signed < 0:
        one = _turned(one)
    lost = _limits(_turned(one))
    outcome = decision(lost, margin)
    is_by_margin = outcome == "worse" and lost[0] >= margin
    figures = {
        name: figure
        for name in ("pairs scored", "scored here alone", "scored in the baseline alone",
                     "scored share")
        if (figure := estimate_at(
            found.estimates, "comparison", name, respondent=pair[0], baseline=pair[1],
            criterion=COMPOSITE,
        )) is not None
    }  # fmt: skip
    unscored = unscored_sentence(figures, *pair)
    has_lost = bool(unscored) and signed * figures["scored share"].value < 0
    if has_lost and outcome == "not worse":
        outcome = "undecided"  # what it no longer has a score of may be worse
    return Gate(
        outcome, first, second, one, margin, criterion, is_by_margin=is_by_margin,
        is_demonstration=any(run.record["demonstration"] for run in found.runs),
        pairs=figures["pairs scored"], unscored=unscored,
    )  # fmt: skip


def plan_gate(
    baseline: JobRun | str | Path,
    run: JobRun | str | Path | None = None,
    *,
    margin: float | None = None,
    criterion: str = COMPOSITE,
) -> Document:
    """Describes which margins a gate can decide with the prompts of the baseline, before a run.

    How much differences vary from prompt to prompt is taken from another version's run, where
    there is one. A panel run alone bounds it: answers to one prompt are at least as alike as
    answers to two, so that the SD of the differences is at most √2 times that of the scores.

    Args:
        baseline: what a run will be held against.
        run: of another version, an earlier one; needed where the baseline is no panel run.
        margin: as in `gate`.
        criterion: as in `gate`.

    Raises:
        InputError: as `gate`; too few prompts, or scores that do not vary.
    """
    if run is None:
        resolution, is_demonstration = _resolution_alone(baseline, criterion)
        grounds = (
            f"at most {number(resolution.deviation)} points between {resolution.unit}s, as scores "
            "vary in the baseline; give RUN, of another version, to know it better"
        )
    else:
        earlier = gate(run, baseline, margin=margin, criterion=criterion)
        found, is_demonstration = earlier.resolution, earlier.is_demonstration
        if found is None:
            why = earlier.difference.reason or STORED
            raise InputError([InputFault(earlier.side, f"tells nothing of later runs: {why}")])
        resolution = found
        grounds = (
            f"SD {number(found.deviation)}{' points' if found.in_points else ''} between "
            f"{found.unit}s, of {earlier.criterion}, {earlier.side} minus {earlier.baseline}"
        )
    wanted = GATE_MARGIN if margin is None else margin
    margins = sorted({*_MARGINS, wanted} if resolution.in_points else {wanted})
    table = Table(
        f"{'At worst, how' if resolution.is_at_most else 'How'} often an unchanged version passes "
        f"with {units(resolution.n, resolution.unit)}, and how many {resolution.unit}s let it pass "
        "in 8 of 10 cases",
        "Margins",
        [Column("margin", "id"), Column("passes"), Column(f"{resolution.unit}s needed", "count")],
        [
            [f"{one:g}", percent(resolution.passes(one)), resolution.needed(one)]
            for one in margins
        ],
        is_short=True,
    )  # fmt: skip
    return Document(
        title="Plan of a gate",
        kind="gate_plan",
        headline=[resolution.sentence(wanted)],
        trust=[("differences", grounds)],
        sections=[Section("margins", "Margins", [table], "summary")],
        is_demonstration=is_demonstration,
    )


def _resolution_alone(baseline: JobRun | str | Path, criterion: str) -> tuple[Resolution, bool]:
    """The bound that a panel run gives, and whether stand-ins took part in it."""
    run = baseline if isinstance(baseline, JobRun) else run_of(baseline)
    if not isinstance(run, Run):
        fault = InputFault(str(run.path), f"is of kind {run.kind}: give RUN, of another version")
        raise InputError([fault])
    rows: list[Mapping[str, str]] = list(run.score_rows)
    if rows and criterion not in rows[0]:
        raise InputError(f"criterion must be one of those of the rubric, got {criterion!r}")
    unit_of, by_prompt = prompt_units(rows), dict[str, list[float]]()
    for row in rows:
        if row[criterion]:
            by_prompt.setdefault(unit_of[row["prompt_id"]], []).append(float(row[criterion]))
    means = [float(np.mean(values)) for values in by_prompt.values()]
    n, deviation = len(means), float(np.std(means, ddof=1)) if len(means) > 1 else 0.0
    if n < MIN_UNITS or not deviation > 1e-9:
        why = f"{units(n, 'scored prompt')}, a gate needs {MIN_UNITS}"
        why = why if n < MIN_UNITS else "the scores do not vary over prompts"
        raise InputError([InputFault(str(run.path), why)])
    found = Resolution(n, "prompt", math.sqrt(2) * deviation, is_at_most=True)
    return found, bool(run.record["demonstration"])


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
        (
            order.index(decision(_lost(one), margin, is_shown=one.is_changed)),
            -_lost(one)[1] / _width(one),
            k,
        )
        for k, one in enumerate(known)
    ]
    place, _, k = min(decided)
    one, names = known[k], [str(run["name"]) for run in found.record["runs"]]
    is_stored = bool(found.record["is_stored"])  # of a model that was not asked nothing is known
    outcome = "undecided" if is_stored else order[place]
    return Gate(
        outcome, names[1], names[0], one.change, margin, one.label, len(known),
        in_points=bool(one.of["in_points"]), is_stored=is_stored, kind=kind,
        is_demonstration=bool(found.record["demonstration"]),
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
    sign = one.of["worse"]
    if null is not None:
        ends = one.before.value - null, one.after.value - null
        sign = 1 if max(ends, key=abs) >= 0 else -1
    return _limits(change if sign > 0 else _turned(change))


def _limits(one: Estimate) -> tuple[float, float]:
    """Of the interval; the value where it is the same in every unit; nan of too few units."""
    is_same = not one.has_interval and one.n >= MIN_UNITS
    return (one.value, one.value) if is_same else (one.low, one.high)


def decision(lost: tuple[float, float], margin: float, *, is_shown: bool = True) -> Outcome:
    """Returns what the limits of a loss decide; limits of nan decide nothing.

    Args:
        lost: the limits; above 0 is worse.
        margin: what may be lost, above 0.
        is_shown: whether the loss passes its test, corrected for all of its family.
    """
    low, high = lost
    if high < margin:
        return "not worse"
    return "worse" if low > 0 and is_shown else "undecided"


def _width(one: Shown) -> float:
    """Of the figure's scale: points and shares are not held against each other as they stand."""
    low, high = one.of["scale"]
    return float(high - low) or 1.0


def _sides_of_gate(found: Comparison) -> tuple[str, str]:
    """(what is tested, what it is held against)."""
    baseline, tested = found.names
    if found.result.by == "run":
        return tested, baseline
    earlier = {row["respondent_id"] for row in found.runs[0].score_rows}
    (held,) = earlier & set(found.result.sides)
    (side,) = set(found.result.sides) - {held}
    return side, held


def _turned(one: Estimate) -> Estimate:
    return replace(one, value=-one.value, low=-one.high, high=-one.low)
