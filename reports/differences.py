"""What is shown of paired differences: the sentence, the trust, the picture, the tables.

Made of the tables `comparison`, `comparison by model` and `ranking` of the estimates; the page of a
panel run and that of a comparison show the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.panel_interval import NO_INTERVAL, ONE_MODEL, ONE_PERSONA, TWO_MODELS
from ..formats import (
    UNDEFINED,
    count,
    estimate,
    interval,
    listed_all,
    number,
    p_value,
    said,
    short,
    units,
    words,
)
from ..records.estimates import estimates_by, select
from .document import BY_THIS_PANEL, Cell, Chart, Column, Paragraph, Part, Scalar, Table

if TYPE_CHECKING:
    import pandas as pd

Figures = dict[str, Estimate]

HIGHER: Final = "higher"
LOWER: Final = "lower"
MOST_NAMED: Final = 3
"""Sides that a sentence names."""
_WITHOUT_SCOPE: Final = ("Nothing can be compared", "Not told against")
MOST_LINES: Final = 40
ALPHA: Final = 0.05
FEW_MODELS: Final = 5


class Differences:
    """The differences of a result, as its page looks at them.

    Attributes:
        by: what the sides are: "respondent", "run", "model", "persona" or a column.
        baseline: whom the others are held against; "" where no pair was compared.
        others: the other sides, in the order of the run: the highest first.
        criteria: of the differences, "composite" first.
        has_all_pairs: whether pairs without the baseline are there too.
        is_lead: whether what is shown is the lead of the baseline over each other side, as where
            it is the highest; else each other side minus the baseline. Of runs always the latter,
            a change. Sentences, tables and pictures have one sign.
    """

    def __init__(self, estimates: pd.DataFrame) -> None:
        """Reads the tables."""
        table = select(estimates, "comparison")
        self.by = next((one for one in table["factor"] if isinstance(one, str)), "respondent")
        keys = ("respondent", "baseline", "criterion")
        is_wide = (table["universe"] == "judges like these") & (table["measure"] == "difference")
        self._pairs = _by_keys(table[~is_wide], keys)
        self._such = _by_keys(table[is_wide], keys)
        baselines = [at[1] for at in self._pairs]
        counts = {name: baselines.count(name) for name in dict.fromkeys(baselines)}
        self.baseline = max(counts, key=lambda name: counts[name]) if counts else ""
        self.has_all_pairs = len(counts) > 1
        self.others = list(dict.fromkeys(at[0] for at in self._pairs if at[1] == self.baseline))
        self.criteria = list(dict.fromkeys(at[2] for at in self._pairs))
        each = [self._pairs[side, self.baseline, "composite"] for side in self.others]
        values = [figures["difference"].value for figures in each]
        self.is_lead = self.by != "run" and not any(value > 0 for value in values)
        self._by_model = _by_keys(
            select(estimates, "comparison by model"), ("respondent", "baseline", "model")
        )
        self.ranking = {
            at[0]: figures["log worth"]
            for at, figures in _by_keys(select(estimates, "ranking"), ("respondent",)).items()
        }

    def of(self, side: str, baseline: str = "", criterion: str = "composite") -> Figures:
        """The figures of a pair by measure; "judges like these" holds the difference for those."""
        at = (side, baseline or self.baseline, criterion)
        figures = dict(self._pairs[at])
        if at in self._such:
            figures["judges like these"] = self._such[at]["difference"]
        return figures

    def _signed(self, one: Estimate) -> Estimate:
        """A difference from the baseline with the sign that is shown."""
        if not self.is_lead:
            return one
        return replace(one, value=-one.value, low=-one.high, high=-one.low)

    @property
    def _what(self) -> str:
        return f"{'Leads of' if self.is_lead else 'Differences from'} {self.baseline}"

    def pairs(self) -> list[tuple[str, str]]:
        """(side, baseline) of every pair."""
        return list(dict.fromkeys(at[:2] for at in self._pairs))  # type: ignore[misc]

    @property
    def leading(self) -> tuple[str, str] | None:
        """The highest of the others and the baseline, the higher first; None without a pair."""
        each = {side: self.of(side)["difference"].value for side in self.others}
        known = [side for side, value in each.items() if not math.isnan(value)]
        if not known:
            return None
        side = max(known, key=lambda one: each[one])
        return (side, self.baseline) if each[side] > 0 else (self.baseline, side)

    @property
    def other_judges(self) -> str:
        """What the wider of two intervals speaks of, as a sentence has it."""
        return other_judges([one["difference"] for one in self._such.values()], by=self.by)

    def headline(self, scope: str = BY_THIS_PANEL) -> list[str]:
        """Who scores higher than whom and by how much; what cannot be told.

        Args:
            scope: what the first sentence begins with: who says so.
        """
        if not self.others:
            return []
        found = {side: self.of(side) for side in self.others}
        below = [side for side in self.others if _verdict(found[side]) == LOWER]
        above = [side for side in self.others if _verdict(found[side]) == HIGHER]
        rest = [side for side in self.others if side not in (*below, *above)]
        sentences = []
        for sides, is_above in ((above, True), (below, False)):
            if sides:
                sentences.append(self._told_apart(sides, found, is_above=is_above))
        equal = [side for side in rest if not math.isnan(found[side]["difference"].p)]
        if equal:
            sentences.append(self._not_told_apart(equal, found))
        open_ = [side for side in rest if side not in equal]
        by_reason: dict[tuple[bool, str], list[str]] = {}
        for side in open_:
            one = found[side]["difference"]
            by_reason.setdefault((one.is_defined, said(one.reason)), []).append(side)
        sentences += [self._open(sides, found, why) for (_, why), sides in by_reason.items()]
        if not sentences[0].startswith(_WITHOUT_SCOPE):
            sentences[0] = f"{scope}{sentences[0]}"
        if len(self.others) == 1 and (above or below):
            sentences += self._most_in(self.others[0])
        return [*sentences, *self._beyond_this_panel([*above, *below]), *self._unscored()]

    def _beyond_this_panel(self, told_apart: Sequence[str]) -> Iterator[str]:
        """Whether the differences that this panel tells would be there with other judges."""
        such = [one for side in told_apart if (one := self.of(side).get("judges like these"))]
        known = [one for one in such if one.verdict is not None]
        who, n = self.other_judges, len(told_apart)
        if such and not known:
            if (why := said(such[0].reason)) == TWO_MODELS:
                yield f"Two models cannot tell whether {who} would agree."
            elif why:
                yield f"Whether {who} would agree is unknown: {why}."
        if not known:
            return
        holds = sum(_is_told(one) for one in known)
        if n == 1:
            should = "should" if holds else "may not"
            one = self._signed(known[0])
            limits = interval(one.low, one.high, is_signed=True)
            yield f"The difference {should} hold with {who}, whose interval is {limits}."
            return
        every = "Both" if n == 2 else f"All {n}"
        what = f"{every} differences" if holds == n else f"{holds or 'None'} of {n} differences"
        told = f"{what} should hold with {who}"
        apart = sum(one.has_interval and not one.covers(0.0) for one in known)
        if apart > holds:
            has = "has" if apart - holds == 1 else "have"
            others = f"{apart - holds} more" if holds else f"{apart}"
            told += f"; {others} {has} an interval there that leaves out 0, but not by Holm"
        yield f"{told}."

    def _unscored(self) -> Iterator[str]:
        """Of runs: which has no score where another has one, on more pairs than chance leaves."""
        for side in self.others if self.by == "run" else ():
            if told := unscored_told(self.of(side), short(side), short(self.baseline)):
                yield f"{told}."

    def _told_apart(self, sides: Sequence[str], found: Any, *, is_above: bool) -> str:
        named = _largest(sides, found)
        each = [self._signed(found[side]["difference"]) for side in named]
        way = "lower" if each[0].value < 0 else "higher"
        if len(self.others) == 1:
            (side,) = named
            first, last = (self.baseline, side) if self.is_lead else (side, self.baseline)
            shown = estimate(each[0], is_signed=True)
            won = _won(found[side], is_above=is_above)
            return f"{short(first)} {self._does(way)} than {short(last)}: {shown} points, {won}."
        told = [
            f"{short(side)} ({estimate(one, is_signed=True)})"
            for side, one in zip(named, each, strict=True)
        ]
        more = len(sides) - len(named)
        told += [f"{more} more"] if more else []
        if self.is_lead:
            return f"{short(self.baseline)} {self._does('higher')} than {listed_all(told)}."
        return f"{listed_all(told)} {self._does(way, len(sides))} than {short(self.baseline)}."

    def _does(self, way: str, n: int = 1) -> str:
        """What sides do: respondents score higher or lower, judges give higher or lower scores."""
        ending = "s" if n == 1 else ""
        if self.by in ("model", "persona"):
            return f"give{ending} {way} scores"
        return f"score{ending} {way}"

    def _not_told_apart(self, sides: Sequence[str], found: Any) -> str:
        named = _largest(sides, found)
        figures = found[named[0]]
        first = short(self.baseline)
        if len(self.others) > 1:
            told = [
                f"{short(side)} ({with_holm(self._signed(found[side]['difference']))})"
                for side in named
            ]
            more = len(sides) - len(named)
            told += [f"{more} more"] if more else []
            verb = "is" if len(sides) == 1 else "are"
            return f"{listed_all(told)} {verb} not told apart from {first}."
        one, pair = self._signed(figures["difference"]), f"{short(named[0])} and {first}"
        if one.value == 0 and not one.has_interval:
            return f"{pair} score the same on every one of {units(one.n, 'prompt')}."
        is_inside = _is_inside(figures)
        verb = "differ by less than the margin" if is_inside else "are not told apart"
        told_one = f"{pair} {verb}: {with_holm(one)} points over {units(one.n, 'prompt')}"
        needed = figures.get("prompts needed")
        if needed is not None and needed.value > one.n and not is_inside:
            told_one += f"; to tell {_smallest(figures)} apart takes {count(needed.value)}"
        return f"{told_one}."

    def _open(self, sides: Sequence[str], found: Any, why: str) -> str:
        """What is known of sides without a test, which all are without it for this reason."""
        defined = [side for side in sides if found[side]["difference"].is_defined]
        named = _largest(defined, found)
        if not named:
            what = f"be compared with {short(self.baseline)}: {why}."
            if len(sides) == len(self.others):
                return f"Nothing can {what}"
            each = [*map(short, sides[:MOST_NAMED])]
            each += [f"{len(sides) - MOST_NAMED} more"] if len(sides) > MOST_NAMED else []
            return f"{listed_all(each)} cannot {what}"
        apart = {side: number(abs(found[side]["difference"].value)) for side in named}
        if all(float(one) == 0 for one in apart.values()) and len(sides) == len(self.others):
            names = listed_all([short(side) for side in (self.baseline, *named)])
            return f"{names} have the same mean; more than that cannot be told ({why})."
        told = []
        for side, size in apart.items():
            way = "above" if found[side]["difference"].value > 0 else "below"
            told.append(f"{short(side)} {'the same' if float(size) == 0 else f'{size} {way}'}")
        more = len(sides) - len(named)
        told += [f"{more} more"] if more else []
        first = short(self.baseline)
        if len(sides) == len(self.others) and all("above" not in one for one in told):
            return (
                f"{first} scores highest; whether that is more than chance cannot be told "
                f"({why}): {listed_all(told)}."
            )
        return f"Not told against {first} ({why}): {listed_all(told)}."

    def _most_in(self, side: str) -> list[str]:
        if len(self.criteria) < 3:
            return []
        each = {
            name: self.of(side, criterion=name)["difference"].value for name in self.criteria[1:]
        }
        known = {name: value for name, value in each.items() if math.isfinite(value)}
        if not known:
            return []
        most = max(known, key=lambda name: abs(known[name]))
        shown = number(-known[most] if self.is_lead else known[most], is_signed=True)
        return [f"The difference is largest in {words(most)} ({shown})."]

    def left_out(self) -> list[tuple[str, str]]:
        """On how many pairs each side is compared, where not on all, and why not on the others."""
        each = {side: self.of(side).get("pairs scored") for side in self.others}
        less = {
            side: pairs
            for side, pairs in each.items()
            if pairs is not None and pairs.n < (pairs.n_planned or 0)
        }
        told = []
        for side, pairs in list(less.items())[:MOST_NAMED]:
            who = f"{short(side)} " if len(self.others) > 1 else ""
            n = f"on {count(pairs.n)} of {units(pairs.n_planned or 0, pairs.unit)}"
            told.append(f"{who}{n} (left out: {pairs.reason})")
        if not told:
            return []
        if len(less) > MOST_NAMED:
            told.append(f"{len(less) - MOST_NAMED} more on fewer than all")
        return [("compared", "; ".join(told))]

    def trust(self) -> list[tuple[str, str]]:
        """On how many pairs each side is compared, and whether the models agree on directions."""
        told_apart = [side for side in self.others if _is_told(self.of(side)["difference"])]
        sides = told_apart or self.others[:1]
        return [*self.left_out(), *(("direction", one) for one in self._direction(sides))]

    def _direction(self, sides: Sequence[str]) -> list[str]:
        """How many judge models alone put all these sides where the panel puts them."""
        values = {side: self.of(side)["difference"].value for side in sides}
        models = list(dict.fromkeys(at[2] for at in self._by_model))
        if len(models) == 1:
            return ["one model judged; other models may disagree"]
        if not models or not any(values.values()):
            return []
        alone = [
            [
                self._by_model[side, self.baseline, model]["difference"].value * value
                for side, value in values.items()
            ]
            for model in models
        ]
        compared = [each for each in alone if not any(map(math.isnan, each))]
        if not compared:
            return [f"none of {len(models)} models scored enough of both to be compared alone"]
        agree = sum(all(one > 0 for one in each) for each in compared)
        if len(sides) == 1:
            (side,) = sides
            pair = (side, self.baseline) if values[side] > 0 else (self.baseline, side)
            what = f"put {short(pair[0])} above {short(pair[1])}"
        else:
            what = f"agree on all {len(sides)} directions"
        left = len(models) - len(compared)
        more = f"; {left} scored too little to be compared alone" if left else ""
        return [f"{agree} of {units(len(compared), 'model')} {what}{more}"]

    def summary(
        self,
        heads: dict[str, str],
        means: Mapping[str, Estimate] | None = None,
        scale: tuple[float, float] = (1.0, 10.0),
    ) -> list[Part]:
        """The picture and the table of composites held against the baseline.

        Args:
            heads: criteria to what they are called.
            means: of every side, where they are to stand beside its difference.
            scale: of the means.
        """
        if not self.others:
            return []
        return [self._chart(), self._table("composite", heads, means or {}, scale)]

    def _chart(self) -> Chart:
        shown = self.others[:MOST_LINES]
        each = [self.of(side) for side in shown]

        def of(universe: str, limit: str) -> list[list[float]]:
            nothing = Estimate(math.nan)
            return [[getattr(self._signed(one.get(universe, nothing)), limit)] for one in each]

        who = short(self.baseline)
        return Chart(
            "forest",
            "differences",
            f"Lead of {who}" if self.is_lead else f"Difference from {who}",
            f"Composite, in points; right of the line {who if self.is_lead else 'a row'} scores "
            f"higher. Bar: other prompts, this panel. Pale bar: {self.other_judges} as well.",
            rows=[short(side, 28) for side in shown],
            values=of("difference", "value"),
            low=of("difference", "low"),
            high=of("difference", "high"),
            low_wide=of("judges like these", "low"),
            high_wide=of("judges like these", "high"),
            reference=0.0,
            is_diverging=True,
            axis="lead in points" if self.is_lead else "difference in points",
        )

    def _table(
        self,
        criterion: str,
        heads: dict[str, str],
        means: Mapping[str, Estimate],
        scale: tuple[float, float],
    ) -> Table:
        def beside(side: str) -> list[Scalar | Cell]:
            return [means[side].value if side in means else None] if means else []

        rows: list[list[Scalar | Cell]] = []
        if means:
            rows.append([self.baseline, *beside(self.baseline), "", "", ""])
        has_verdict = False
        for side in self.others:
            figures = self.of(side, criterion=criterion)
            one = self._signed(figures["difference"])
            such = self._signed(figures.get("judges like these", Estimate(math.nan)))
            shown = interval(such.low, such.high, is_signed=True)
            won = figures["prompts won"]
            n_won = f"{_n_won(figures, is_above=not self.is_lead)} of {won.n}"
            n_won = n_won if won.is_defined else UNDEFINED
            rows.append([_mark(side, figures), *beside(side), one, shown, n_won])
            has_verdict |= one.verdict is not None
        pairs = len(self.pairs())
        is_wide = any(row[-2] not in ("", UNDEFINED) for row in rows)
        held = heads.get(criterion, words(criterion))
        baseline = short(self.baseline, 28)
        what = f"lead of {baseline}" if self.is_lead else f"difference from {baseline}"
        low, high = scale
        return Table(
            caption=(
                f"Mean {held} ({low:g} to {high:g}), and {what}"
                if means
                else f"{what[0].upper()}{what[1:]} in {held}, points"
            )
            + (f"; Holm over {units(pairs, 'pair')}" if has_verdict and pairs > 1 else ""),
            label=f"Differences from {self.baseline}",
            columns=[
                Column(self.by, "id"),
                *([Column("mean", "number")] if means else []),
                Column("lead" if self.is_lead else "difference", "estimate", is_signed=True),
                *([Column(self.other_judges.removesuffix(" on this model"))] if is_wide else []),
                Column(f"{short(self.baseline, 12)} won" if self.is_lead else "prompts won"),
            ],
            rows=rows if is_wide else [[*row[:-2], row[-1]] for row in rows],
            notes=self._reasons(self.others, criterion),
            is_short=True,
        )

    def _reasons(self, sides: Sequence[str], criterion: str) -> list[str]:
        """Why limits are missing and what is unbalanced, each once."""
        notes: dict[str, None] = {}
        for side in sides:
            figures = self.of(side, criterion=criterion)
            one, such = figures["difference"], figures.get("judges like these")
            if one.reason and not one.has_interval:
                notes[f"no interval: {said(one.reason)}"] = None
            elif such is not None and such.reason and not such.has_interval:
                notes[f"no interval for {self.other_judges}: {said(such.reason)}"] = None
        marked = [side for side in sides if "unbalanced prompts" in self.of(side)]
        if marked:
            shifts = {side: self._signed(self.of(side)["moved"]).value for side in marked}
            moved = [
                f"{short(side)} {number(shifts[side], is_signed=True)}"
                for side in marked[:MOST_NAMED]
            ]
            notes[
                "* unbalanced: a judge scored one side only on some prompts, and counts on neither "
                f"there; that moved the difference by {listed_all(moved)}"
            ] = None
        return list(notes)

    def detail(self, heads: dict[str, str], *, n_models: int) -> list[Part]:
        """By criterion, every pair, by judge model, and the ranking."""
        if not self.others:
            return []
        parts: list[Part] = []
        if len(self.criteria) > 1:
            each = {
                side: [
                    self._signed(self.of(side, criterion=name)["difference"])
                    for name in self.criteria
                ]
                for side in self.others
            }
            tested = [one for row in each.values() for one in row[1:]]
            is_tested = any(math.isfinite(one.p_adjusted) for one in tested)
            family = tested[0].family
            parts.append(
                Table(
                    caption=f"{self._what} by criterion, points, with 95% intervals for this "
                    "panel.",
                    bold_says=(
                        f"where Holm's p over {family} is at most .05. The composite is a family "
                        "of its own: of equal respondents one of the two calls some different in "
                        "about .07 of cases."
                    )
                    if is_tested
                    else "",
                    label="Differences by criterion",
                    columns=[
                        Column(self.by, "id"),
                        *(
                            Column(heads.get(name, words(name)), "estimate", is_signed=True)
                            for name in self.criteria
                        ),
                    ],
                    rows=[
                        [side, *(Cell(one, is_bold=_is_told(one)) for one in row)]
                        for side, row in each.items()
                    ],
                )
            )
        if self.has_all_pairs:
            parts.append(self._all_pairs())
        if by_model := self._models_table():
            parts.append(by_model)
        if self.ranking:
            parts.append(self._ranking_table())
        parts.append(self._power_table(n_models))
        return parts

    def _all_pairs(self) -> Table:
        rows: list[list[Scalar | Cell]] = []
        for side, baseline in self.pairs():
            figures = self.of(side, baseline)
            one = figures["difference"]
            rows.append([side, baseline, one, one.p_adjusted, one.verdict or UNDEFINED])
        return Table(
            caption="Every pair: the first minus the second, composite, points. p is Holm's over "
            "all of them.",
            label="Every pair",
            columns=[
                Column(self.by, "id"),
                Column("minus", "id"),
                Column("difference", "estimate", is_signed=True),
                Column("p", "p"),
                Column("verdict"),
            ],
            rows=rows,
        )

    def _models_table(self) -> Table | None:
        models = list(dict.fromkeys(at[2] for at in self._by_model))
        if len(models) < 2:
            return None
        nothing = Estimate(math.nan)
        rows: list[list[Scalar | Cell]] = [
            [
                side,
                *(
                    self._signed(
                        self._by_model.get((side, self.baseline, model), {}).get(
                            "difference", nothing
                        )
                    )
                    for model in models
                ),
            ]
            for side in self.others
        ]
        return Table(
            caption=f"{self._what} by each judge model alone, composite, points, with 95% "
            "intervals over prompts.",
            label="Differences by judge model",
            columns=[
                Column(self.by, "id"),
                *(Column(model, "estimate", is_signed=True) for model in models),
            ],
            rows=rows,
        )

    def _ranking_table(self) -> Table | Paragraph:
        rows: list[list[Scalar | Cell]] = [[name, one] for name, one in self.ranking.items()]
        reasons = dict.fromkeys(one.reason for one in self.ranking.values() if one.reason)
        if not any(one.is_defined for one in self.ranking.values()):
            why = "; ".join(reasons)
            return Paragraph(
                f"A ranking from paired wins (Bradley-Terry with ties) is not estimable: {why}."
            )
        return Table(
            caption="A ranking from paired wins (Bradley-Terry with ties): prompts rank the sides. "
            "Log worth; of two sides, the odds that the first wins a prompt are the exponential of "
            "their difference.",
            label="Ranking from wins",
            columns=[Column(self.by, "id"), Column("log worth", "estimate", is_signed=True)],
            rows=rows,
            notes=[f"not estimable: {one}" for one in reasons],
            is_short=True,
        )

    def _power_table(self, n_models: int) -> Table:
        rows: list[list[Scalar | Cell]] = []
        for side in self.others:
            figures = self.of(side)
            one, needed = figures["difference"], figures.get("prompts needed")
            equivalence = figures.get("equivalence")
            rows.append(
                [
                    side,
                    one.n,
                    one.n_planned,
                    None if needed is None else needed.value,
                    UNDEFINED if equivalence is None else equivalence.verdict or UNDEFINED,
                ]
            )
        has_margin = any("equivalence" in self.of(side) for side in self.others)
        notes = []
        if 2 < n_models < FEW_MODELS:
            notes.append(
                f"{n_models} models are a small sample of models: in simulations with 3 the "
                "intervals for judges like these covered .95 to .98 in the place of .95"
            )
        return Table(
            caption="What the differences rest on: prompts with judges who scored both, of those "
            f"that both answered; and how many would tell {_smallest(self.of(self.others[0]))} "
            "points apart (80%, Holm's first step).",
            label="Prompts behind the differences",
            columns=[
                Column(self.by, "id"),
                Column("prompts", "count"),
                Column("of", "count"),
                Column("needed", "count"),
                *([Column("inside the margin")] if has_margin else []),
            ],
            rows=rows if has_margin else [row[:-1] for row in rows],
            notes=notes,
        )


def _by_keys(frame: pd.DataFrame, keys: Sequence[str]) -> dict[tuple[str, ...], Figures]:
    return {
        tuple(at[key] or "" for key in keys): figures for at, figures in estimates_by(frame, keys)
    }


def _largest(sides: Sequence[str], found: Mapping[str, Figures]) -> list[str]:
    """The sides that a sentence names, in their order: those with the largest differences."""
    by_size = sorted(sides, key=lambda side: -abs(found[side]["difference"].value))
    return [side for side in sides if side in by_size[:MOST_NAMED]]


def other_judges(means: Sequence[Estimate], *, by: str = "") -> str:
    """Which other judges the wider intervals of some means speak of."""
    methods = {one.method.partition("; ")[2].partition("; cut at")[0] for one in means}
    methods -= {"", NO_INTERVAL}
    if methods <= {ONE_MODEL}:
        return "other personas" if by == "model" else "other personas on this model"
    return "other models" if methods <= {ONE_PERSONA} else "judges like these"


def _verdict(figures: Figures) -> str | None:
    return figures["difference"].verdict


def _is_told(one: Estimate) -> bool:
    return one.verdict in (HIGHER, LOWER)


def unscored_told(figures: Figures, side: str, baseline: str) -> str:
    """That one side has no score where the other has one, on more pairs than chance leaves."""
    share = figures.get("scored share")
    if share is None or share.n < MIN_UNITS or not share.p <= ALPHA:
        return ""
    names, measure = (side, baseline), "scored in the baseline alone"
    if share.value > 0:
        names, measure = (baseline, side), "scored here alone"
    n = units(round(figures[measure].value), figures["pairs scored"].unit)
    return f"{names[0]} has no score on {n} that {names[1]} has one of (p {p_value(share.p)})"


def _is_inside(figures: Figures) -> bool:
    found = figures.get("equivalence")
    return found is not None and found.verdict == "inside"


def _smallest(figures: Figures) -> str:
    """The difference that the prompts needed would tell: the margin, or .2."""
    needed = figures.get("prompts needed")
    return needed.method.removeprefix("prompts that tell ") if needed is not None else "0.2"


def with_holm(one: Estimate) -> str:
    """The difference; where its own interval leaves 0 out, why that is not enough."""
    shown = estimate(one, is_signed=True)
    if not one.has_interval or one.covers(0.0):
        return shown
    return f"{shown}; over {one.family} Holm's p is {p_value(one.p_adjusted)}"


def _won(figures: Figures, *, is_above: bool) -> str:
    """ "on 79 of 100 prompts": those that the higher side won."""
    n = figures["prompts won"].n
    return f"on {count(_n_won(figures, is_above=is_above))} of {units(n, 'prompt')}"


def _n_won(figures: Figures, *, is_above: bool) -> int:
    """Prompts that the side won, or its baseline."""
    won, tied = figures["prompts won"], figures["prompts tied"]
    if not won.is_defined:
        return 0
    n_won = round(won.value * won.n)
    return n_won if is_above else won.n - n_won - round(tied.value * tied.n)


def _mark(side: str, figures: Figures) -> str:
    return f"{side} *" if "unbalanced prompts" in figures else side
