"""What is shown of sides of panel runs that are compared: the sentence, the picture, the tables.

`Differences` reads the tables `comparison` and `comparison by model` of the estimates,
for the page of a panel run and for that of a comparison. It decides nothing: it reads `verdict`.
Limits that are shown are those that decide, which hold for the whole family at once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..aggregation.panel_interval import NO_INTERVAL, ONE_MODEL, ONE_PERSONA, TWO_MODELS
from ..aggregation.rules import WORTH
from ..formats import (
    UNDEFINED,
    count,
    estimate,
    interval,
    listed,
    listed_all,
    number,
    said,
    short,
    units,
    words,
)
from ..records.estimates import estimates_by, select
from .document import (
    BY_THIS_PANEL,
    Cell,
    Chart,
    Column,
    Document,
    Paragraph,
    Part,
    Points,
    Records,
    Scalar,
    Section,
    Table,
)
from .panel_responses import MOST_ROWS
from .run_sections import panel_settings
from .weak_models import weak_models_line, with_weak_models

if TYPE_CHECKING:
    import pandas as pd

Figures = dict[str, Estimate]

HIGHER: Final = "higher"
LOWER: Final = "lower"
OTHER_JUDGES: Final = "judges like these"
NOT_CALIBRATED = "Not checked against people yet (run `areopagus calibrate`)."
MOST_NAMED: Final = 3
"""Sides that a sentence names."""
MOST_LINES: Final = 40
FEW_MODELS: Final = 5
_NOTHING: Final = Estimate(math.nan)


def of_family(row: Estimate) -> Estimate:
    """The estimate with the limits that decide, which hold for its whole family at once."""
    if not math.isfinite(row.low_family):
        return row
    return replace(row, low=row.low_family, high=row.high_family)


def is_decided(row: Estimate | None) -> bool:
    """Whether it is shown to be above 0, or below."""
    return row is not None and row.verdict in (HIGHER, LOWER)


class Differences:
    """The differences of a result, as its page looks at them.

    Attributes:
        by: what the sides are: "respondent", "run", "model", "persona" or a column.
        baseline: whom the others are compared with; "" where no pair was compared.
        others: the other sides, in the order of the run: the highest first.
        criteria: of the differences, "composite" first.
        margin: within which sides are alike; None where none was declared.
        is_lead: whether what is shown is the lead of the baseline over each other side, as where
            it is the highest; else each other side minus the baseline. Of runs always the latter,
            a change. Sentences, tables and pictures have one sign.
    """

    def __init__(self, estimates: pd.DataFrame, margin: float | None = None) -> None:
        """Reads the tables."""
        table = select(estimates, "comparison")
        self.margin = margin
        self.by = next((one for one in table["factor"] if isinstance(one, str)), "respondent")
        keys = ("respondent", "baseline", "criterion")
        is_wide = (table["universe"] == OTHER_JUDGES) & (table["measure"] == "difference")
        self._pairs = _by_keys(table[~is_wide], keys)
        for at, figures in _by_keys(table[is_wide], keys).items():
            self._pairs[at][OTHER_JUDGES] = figures["difference"]
        baselines = [at[1] for at in self._pairs]
        self.baseline = max(dict.fromkeys(baselines), key=baselines.count, default="")
        self.others = list(dict.fromkeys(at[0] for at in self._pairs if at[1] == self.baseline))
        self.criteria = list(dict.fromkeys(at[2] for at in self._pairs))
        values = [self.of(side)["difference"].value for side in self.others]
        self.is_lead = self.by != "run" and not any(value > 0 for value in values)
        self._by_model = _by_keys(
            select(estimates, "comparison by model"), ("respondent", "baseline", "model")
        )

    def of(self, side: str, baseline: str = "", criterion: str = "composite") -> Figures:
        """The figures of a pair by measure; "judges like these" holds the difference for those."""
        return self._pairs[side, baseline or self.baseline, criterion]

    def _shown(self, row: Estimate) -> Estimate:
        """A difference from the baseline with the sign and the limits that are shown."""
        row = of_family(row)
        return replace(row, value=-row.value, low=-row.high, high=-row.low) if self.is_lead else row

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(side, baseline) of every pair."""
        return list(dict.fromkeys((at[0], at[1]) for at in self._pairs))

    @property
    def leading(self) -> tuple[str, str] | None:
        """The highest of the others and the baseline, the higher first; None without a pair."""
        values = {side: self.of(side)["difference"].value for side in self.others}
        values = {side: value for side, value in values.items() if not math.isnan(value)}
        if not values:
            return None
        side = max(values, key=lambda name: values[name])
        return (side, self.baseline) if values[side] > 0 else (self.baseline, side)

    @property
    def other_judges(self) -> str:
        """What the wider of two intervals speaks of, as a sentence has it."""
        each = self._pairs.values()
        return other_judges([one[OTHER_JUDGES] for one in each if OTHER_JUDGES in one], by=self.by)

    # Sentences

    def headline(self, scope: str = BY_THIS_PANEL) -> list[str]:
        """Who scores higher than whom, by how much, and whether other judges would agree.

        Args:
            scope: what the first sentence begins with: who says so.
        """
        verdicts: dict[str, list[str]] = {}
        for side in self.others:
            verdicts.setdefault(self.of(side)["difference"].verdict or "undefined", []).append(side)
        above, below = verdicts.get(HIGHER, []), verdicts.get(LOWER, [])
        sentences = []
        if above or below:
            clauses = [self._higher(above)] if above else []
            clauses += [self._lower(below, is_second=bool(above))] if below else []
            agreement = self._agreement([*above, *below])
            sentences.append(f"{', and '.join(clauses)}{agreement}.")
        for sides, sentence in (
            (verdicts.get("alike", []), self._alike),
            (verdicts.get("open", []), self._open),
        ):
            if sides:
                sentences.append(sentence(sides))
        by_reason: dict[str, list[str]] = {}
        for side in verdicts.get("undefined", []):
            by_reason.setdefault(said(self.of(side)["difference"].reason), []).append(side)
        sentences += [self._undefined(sides, why) for why, sides in by_reason.items()]
        sentences = [
            f"{scope}{sentence}" if scope and not k and not sentence.startswith("nothing") else
            re.sub("^(whether|nothing|the) ", lambda word: word[0].capitalize(), sentence)
            for k, sentence in enumerate(sentences)
        ]  # fmt: skip
        return [*sentences, *self._most_in([*above, *below]), *self._unscored()]

    def _higher(self, sides: Sequence[str]) -> str:
        """That sides score higher than the baseline."""
        names = listed_all(self._with_sizes(sides))
        if len(self.others) == 1:
            size = self._size(sides[0])
            return f"{short(sides[0])} {self._does(HIGHER)} than {short(self.baseline)} by {size}"
        return f"{names} {self._does(HIGHER, len(sides))} than {short(self.baseline)}"

    def _lower(self, sides: Sequence[str], *, is_second: bool) -> str:
        """That sides score lower than the baseline, which leads where it is the highest."""
        names = listed_all(self._with_sizes(sides))
        if len(self.others) == 1:
            first, last, way = short(sides[0]), short(self.baseline), LOWER
            if self.is_lead:
                first, last, way = last, first, HIGHER
            return f"{first} {self._does(way)} than {last} by {self._size(sides[0])}"
        if self.is_lead:
            return f"{short(self.baseline)} {self._does(HIGHER)} than {names}"
        than = "" if is_second else f" than {short(self.baseline)}"
        return f"{names} {self._does(LOWER, len(sides))}{than}"

    def _size(self, side: str) -> str:
        """A difference as a size, with the limits that decide."""
        row = of_family(self.of(side)["difference"])
        if row.value < 0:
            row = replace(row, value=-row.value, low=-row.high, high=-row.low)
        return estimate(row)

    def _with_sizes(self, sides: Sequence[str], *, is_signed: bool = False) -> list[str]:
        """The sides with the largest differences and these, and how many more there are."""
        by_size = sorted(sides, key=lambda side: -abs(self.of(side)["difference"].value))
        names: list[str] = []
        for side in (side for side in sides if side in by_size[:MOST_NAMED]):
            size = estimate(self._shown(self.of(side)["difference"]), is_signed=True)
            size = size if is_signed else f"{'' if names else 'by '}{self._size(side)}"
            names.append(f"{short(side)} ({size})")
        return [*names, *_more(sides)]

    def _agreement(self, sides: Sequence[str]) -> str:
        """Whether other judges would agree, and which models point the other way."""
        rows = {side: self.of(side).get(OTHER_JUDGES, _NOTHING) for side in sides}
        if all(OTHER_JUDGES not in self.of(side) for side in sides):
            return ""
        who = self.other_judges
        if not any(row.has_interval for row in rows.values()):
            why = next((said(row.reason) for row in rows.values() if row.reason), "")
            if why == TWO_MODELS:
                return f"; two models cannot tell whether {who} would agree"
            return f"; whether {who} would agree is unknown" + (f": {why}" if why else "")
        agree = [
            side for side, row in rows.items() if row.verdict == self.of(side)["difference"].verdict
        ]
        unsure = [side for side in sides if side not in agree]
        if not unsure:
            against = self._models_against(sides)
            return f"; {who} would agree" + (f", although {against}" if against else "")
        against = self._models_against(unsure)
        same = "" if len(self._models) < 2 else f", although all {len(self._models)} models do"
        models = f": {against}" if against else same
        if agree:
            names = listed_all(_names(agree)), listed_all(_names(unsure))
            if len(sides) > MOST_NAMED:
                names = f"{len(agree)} of these {len(sides)}", f"the other {len(unsure)}"
            return f"; {who} would agree on {names[0]}; on {names[1]} they may not{models}"
        return f"; {who} may not agree{models}"

    @property
    def _models(self) -> list[str]:
        return list(dict.fromkeys(at[2] for at in self._by_model))

    def _models_against(self, sides: Sequence[str]) -> str:
        """Which judge models alone put one of these sides on the other side of the baseline."""
        against: dict[str, None] = {}
        n_known = set()
        for model in self._models:
            for side in sides:
                figures = self._by_model.get((side, self.baseline, model), {})
                value = figures.get("difference", _NOTHING).value
                if not math.isnan(value):
                    n_known.add(model)
                if value * self.of(side)["difference"].value < 0:
                    against[model] = None
        if not against:
            return ""
        point = "points" if len(against) == 1 else "point"
        on = " on one of them" if len(sides) > 1 else ""
        return (
            f"{len(against)} of {units(len(n_known), 'model')} {point} the other way{on} "
            f"({listed_all(_names(list(against)))})"
        )

    def _alike(self, sides: Sequence[str]) -> str:
        rows = [self.of(side)["difference"] for side in sides]
        if len(self.others) == 1:
            pair = f"{short(sides[0])} and {short(self.baseline)}"
            if rows[0].value == 0 and not rows[0].has_interval:
                return f"{pair} score the same on every one of {units(rows[0].n, 'prompt')}."
            shown = estimate(self._shown(rows[0]), is_signed=True)
            of = units(rows[0].n, "prompt")
            return f"{pair} score alike, within ±{self.margin or 0:g}: {shown} over {of}."
        names = listed_all(self._with_sizes(sides, is_signed=True))
        within = f"within ±{self.margin:g} of" if self.margin else "the same as"
        return f"{short(self.baseline)} scores {within} {names}."

    def _open(self, sides: Sequence[str]) -> str:
        needed = max((self.of(side)["difference"].needed or 0 for side in sides), default=0)
        first, more = short(self.baseline), ""
        n = max(self.of(side)["difference"].n for side in sides)
        if needed > n:
            size = f"{self.margin or WORTH:g}"
            more = f"; about {units(needed, 'prompt')} would tell a difference of {size}"
        if len(self.others) == 1:
            row = self.of(sides[0])["difference"]
            shown = estimate(self._shown(row), is_signed=True)
            what = f"the difference between {short(sides[0])} and {first} is open"
            return f"{what}: {shown} over {units(row.n, 'prompt')}{more}."
        names = self._with_sizes(sides, is_signed=True)
        listed_names = f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]
        verb = "differs" if len(sides) == 1 else "differ"
        return f"whether {listed_names} {verb} from {first} is open{more}."

    def _undefined(self, sides: Sequence[str], why: str) -> str:
        """What is known of sides whose differences have no limits, for this reason."""
        first = short(self.baseline)
        defined = [side for side in sides if self.of(side)["difference"].is_defined]
        is_all = len(sides) == len(self.others)
        if not defined:
            if is_all:
                return f"nothing can be compared with {first}: {why}."
            return f"{listed_all(_names(sides))} cannot be compared with {first}: {why}."
        values = {side: self.of(side)["difference"].value for side in defined}
        if is_all and all(abs(value) < 0.005 for value in values.values()):
            names = listed_all(_names([self.baseline, *defined]))
            return f"{names} have the same mean; more than that cannot be told ({why})."
        each = [
            f"{short(side)} {number(abs(value))} {'higher' if value > 0 else 'lower'}"
            for side, value in list(values.items())[:MOST_NAMED]
        ]
        means = listed_all([*each, *_more(defined)])
        what = "whether the means differ by more than chance cannot be told"
        return f"{what} ({why}): compared with {first}, {means}."

    def _does(self, way: str, n: int = 1) -> str:
        """What sides do: respondents score higher or lower, judges give higher or lower scores."""
        ending = "s" if n == 1 else ""
        if self.by in ("model", "persona"):
            return f"give{ending} {way} scores"
        return f"score{ending} {way}"

    def _most_in(self, decided: Sequence[str]) -> list[str]:
        if len(self.criteria) < 3 or len(self.others) > 1 or not decided:
            return []
        side = self.others[0]
        values = {
            name: self._shown(self.of(side, criterion=name)["difference"]).value
            for name in self.criteria[1:]
        }
        values = {name: value for name, value in values.items() if math.isfinite(value)}
        if not values:
            return []
        most = max(values, key=lambda name: abs(values[name]))
        return [
            f"The difference is largest in {words(most)} ({number(values[most], is_signed=True)})."
        ]

    def _unscored(self) -> Iterator[str]:
        """Of runs: which has no score where another has one, more than chance leaves."""
        for side in self.others if self.by == "run" else ():
            if sentence := unscored_sentence(self.of(side), short(side), short(self.baseline)):
                yield f"{sentence}."

    def trust(self) -> list[tuple[str, str]]:
        """Which sides share no prompt, how many pairs are compared, what missing votes could do."""
        apart = [side for side in self.others if "separate" in self.of(side)["difference"].method]
        lines = []
        if apart:
            names = listed_all([*_names(apart), *_more(apart)])
            sentence = (
                f"{names} and {short(self.baseline)} answered different prompts: compared over "
                "separate prompts, so the prompts' difficulty is part of the difference"
            )
            lines.append(("prompts", sentence))
        several = len(self.others) > 1
        fewer, bounds = [], []
        for side in self.others:
            pairs, limits = self.of(side).get("pairs scored", _NOTHING), self.of(side).get("bounds")
            who = f"{short(side)} " if several else ""
            if pairs.n < (pairs.n_planned or 0) and pairs.reason:
                of = units(pairs.n_planned or 0, pairs.unit)
                fewer.append(f"{who}on {count(pairs.n)} of {of} ({pairs.reason})")
            if limits is not None:
                limits = self._shown(limits)
                ends = [number(end, is_signed=True) for end in (limits.low, limits.high)]
                bounds.append(" to ".join(ends) + (f" ({who.strip()})" if who else ""))
        if fewer:
            more = [f"{len(fewer) - MOST_NAMED} more on fewer than all"]
            left = more if len(fewer) > MOST_NAMED else []
            lines.append(("compared", "; ".join([*fewer[:MOST_NAMED], *left])))
        if bounds:
            what = "if every missing vote stood at an end of the scale, the difference would be"
            lines.append(("bounds", f"{what} {listed_all([*bounds[:MOST_NAMED], *_more(bounds)])}"))
        return lines

    # Tables and the picture

    def summary(
        self,
        heads: Mapping[str, str],
        means: Mapping[str, Estimate] | None = None,
        scale: tuple[float, float] = (1.0, 10.0),
    ) -> list[Part]:
        """The picture and the table of composites compared with the baseline.

        Args:
            heads: criteria to what they are called.
            means: of every side, where they are to stand beside its difference.
            scale: of the means.
        """
        if not self.others:
            return []
        return [self._chart(), self._table(heads, means or {}, scale)]

    def _chart(self) -> Chart:
        shown = self.others[:MOST_LINES]
        rows = [self._shown(self.of(side)["difference"]) for side in shown]
        wide = [self._shown(self.of(side).get(OTHER_JUDGES, _NOTHING)) for side in shown]
        who = short(self.baseline)
        return Chart(
            "forest",
            "differences",
            f"Lead of {who}" if self.is_lead else f"Difference from {who}",
            f"Composite, in points; right of the line {who if self.is_lead else 'a row'} scores "
            f"higher. Bar: other prompts, this panel. Pale bar: {self.other_judges} as well.",
            rows=[short(side, 28) for side in shown],
            values=[[row.value] for row in rows],
            low=[[row.low] for row in rows],
            high=[[row.high] for row in rows],
            low_wide=[[row.low] for row in wide],
            high_wide=[[row.high] for row in wide],
            reference=0.0,
            is_diverging=True,
            axis="lead in points" if self.is_lead else "difference in points",
        )

    def _table(
        self, heads: Mapping[str, str], means: Mapping[str, Estimate], scale: tuple[float, float]
    ) -> Table:
        def mean_of(side: str) -> list[Scalar | Cell]:
            return [means[side].value if side in means else None] if means else []

        rows: list[list[Scalar | Cell]] = []
        if means:
            rows.append([self.baseline, *mean_of(self.baseline), "", "", ""])
        for side in self.others:
            figures = self.of(side)
            wide = self._shown(figures.get(OTHER_JUDGES, _NOTHING))
            mark = " *" if self._is_moved(side) else ""
            rows.append(
                [f"{side}{mark}", *mean_of(side), self._shown(figures["difference"]),
                 interval(wide.low, wide.high, is_signed=True), self._n_won(figures)]
            )  # fmt: skip
        is_wide = any(row[-2] not in ("", UNDEFINED) for row in rows)
        baseline = short(self.baseline, 28)
        what = f"lead of {baseline}" if self.is_lead else f"difference from {baseline}"
        low, high = scale
        held = heads.get("composite", "composite")
        caption = f"{what[0].upper()}{what[1:]} in {held}, points"
        if means:
            caption = f"Mean {held} ({low:g} to {high:g}), and {what}"
        return Table(
            caption=caption + self._jointly(),
            label=f"Differences from {self.baseline}",
            columns=[
                Column(self.by, "id"),
                *([Column("mean", "number")] if means else []),
                Column("lead" if self.is_lead else "difference", "estimate", is_signed=True),
                *([Column(self.other_judges.removesuffix(" on this model"))] if is_wide else []),
                Column(f"{short(self.baseline, 12)} won" if self.is_lead else "prompts won"),
            ],
            rows=rows if is_wide else [[*row[:-2], row[-1]] for row in rows],
            notes=self._reasons(),
            is_short=True,
        )

    def _is_moved(self, side: str) -> bool:
        """Whether freeing the difference from missing judges shows in two decimals."""
        return abs(self.of(side).get("moved", _NOTHING).value) >= 0.005

    def _jointly(self) -> str:
        """That intervals hold for all pairs at once."""
        rows = [self.of(*pair)["difference"] for pair in self.pairs]
        family = next((row.family for row in rows if row.has_interval), None)
        is_alone = family in (None, "one comparison")
        return "" if is_alone else f"; intervals hold jointly for {family}"

    def _n_won(self, figures: Figures) -> str:
        """On how many prompts the higher side is higher: the baseline, where its lead is shown."""
        won, tied = figures.get("prompts won", _NOTHING), figures.get("prompts tied", _NOTHING)
        if not won.is_defined:
            return UNDEFINED
        n = round(won.value * won.n)
        n = won.n - n - round(tied.value * tied.n) if self.is_lead else n
        return f"{n} of {won.n}"

    def _reasons(self) -> list[str]:
        """Why limits are missing and what is unbalanced, each once."""
        notes: dict[str, None] = {}
        for side in self.others:
            row, wide = self.of(side)["difference"], self.of(side).get(OTHER_JUDGES)
            if row.reason and not row.has_interval:
                notes[f"no interval: {said(row.reason)}"] = None
            elif wide is not None and wide.reason and not wide.has_interval:
                notes[f"no interval for {self.other_judges}: {said(wide.reason)}"] = None
        if marked := [side for side in self.others if self._is_moved(side)]:
            shifts = [
                f"{short(side)} {number(self._shown(self.of(side)['moved']).value, is_signed=True)}"
                for side in marked[:MOST_NAMED]
            ]
            notes[
                "* some judges scored one side only: freed from how harsh they are, which moved "
                f"{listed_all([*shifts, *_more(marked)])}"
            ] = None
        return list(notes)

    def detail(self, heads: Mapping[str, str], *, n_models: int) -> list[Part]:
        """By criterion, every pair, and by judge model."""
        if not self.others:
            return []
        what = f"{'Leads of' if self.is_lead else 'Differences from'} {self.baseline}"
        parts: list[Part] = []
        if len(self.criteria) > 1:
            rows = [
                [self.of(side, criterion=name)["difference"] for name in self.criteria]
                for side in self.others
            ]
            family = rows[0][1].family
            parts.append(
                Table(
                    caption=f"{what} by criterion, points, with 95% intervals for this panel that "
                    f"hold jointly for {family}; the composite is a family of its own.",
                    bold_says="where the interval leaves out 0.",
                    label="Differences by criterion",
                    columns=[
                        Column(self.by, "id"),
                        *(
                            Column(heads.get(name, words(name)), "estimate", is_signed=True)
                            for name in self.criteria
                        ),
                    ],
                    rows=[
                        [side, *(Cell(self._shown(one), is_bold=is_decided(one)) for one in row)]
                        for side, row in zip(self.others, rows, strict=True)
                    ],
                )
            )
        parts.append(self._every_pair(n_models))
        if len(self._models) > 1:
            parts.append(
                Table(
                    caption=f"{what} by each judge model alone, composite, points, with 95% "
                    "intervals over prompts.",
                    label="Differences by judge model",
                    columns=[
                        Column(self.by, "id"),
                        *(Column(model, "estimate", is_signed=True) for model in self._models),
                    ],
                    rows=[
                        [
                            side,
                            *(
                                self._shown(
                                    self._by_model.get((side, self.baseline, model), {}).get(
                                        "difference", _NOTHING
                                    )
                                )
                                for model in self._models
                            ),
                        ]
                        for side in self.others
                    ],
                )
            )
        return parts

    def _every_pair(self, n_models: int) -> Table:
        rows: list[list[Scalar | Cell]] = []
        for side, baseline in self.pairs:
            row = self.of(side, baseline)["difference"]
            rows.append(
                [side, baseline, of_family(row), row.verdict or UNDEFINED, row.n, row.n_planned,
                 row.needed]
            )  # fmt: skip
        size = f"{self.margin or WORTH:g}"
        notes = []
        if 2 < n_models < FEW_MODELS:
            notes.append(
                f"{n_models} models are a small sample of models: in simulations with 3 the "
                "intervals for judges like these covered .95 to .98 in the place of .95"
            )
        return Table(
            caption=f"Every pair: the first minus the second, composite, points{self._jointly()}. "
            "Prompts with judges who scored both, of those that both answered; needed: how many "
            f"would tell a difference of {size} with a chance of 80%, where it is open.",
            label="Every pair",
            columns=[
                Column(self.by, "id"),
                Column("minus", "id"),
                Column("difference", "estimate", is_signed=True),
                Column("verdict"),
                Column("prompts", "count"),
                Column("of", "count"),
                Column("needed", "count"),
            ],
            rows=rows,
            notes=notes,
        )


def _by_keys(frame: pd.DataFrame, keys: Sequence[str]) -> dict[tuple[str, ...], Figures]:
    return {
        tuple(at[key] or "" for key in keys): figures for at, figures in estimates_by(frame, keys)
    }


def _names(sides: Sequence[str]) -> list[str]:
    return [*map(short, sides[:MOST_NAMED]), *_more(sides)]


def _more(sides: Sequence[str]) -> list[str]:
    return [f"{len(sides) - MOST_NAMED} more"] if len(sides) > MOST_NAMED else []


def other_judges(means: Sequence[Estimate], *, by: str = "") -> str:
    """Which other judges the wider intervals of some means speak of."""
    methods = {one.method.partition("; ")[2].partition("; cut at")[0] for one in means}
    methods -= {"", NO_INTERVAL}
    if any(one.reason == TWO_MODELS for one in means):
        return OTHER_JUDGES
    if methods <= {ONE_MODEL}:
        return "other personas" if by == "model" else "other personas on this model"
    return "other models" if methods <= {ONE_PERSONA} else OTHER_JUDGES


def unscored_sentence(figures: Figures, side: str, baseline: str) -> str:
    """That one side has no score where the other has one, on more pairs than chance leaves."""
    share = figures.get("scored share")
    if not is_decided(share) or share is None:
        return ""
    names, measure = (side, baseline), "scored in the baseline alone"
    if share.value > 0:
        names, measure = (baseline, side), "scored here alone"
    n = units(round(figures[measure].value), figures["pairs scored"].unit)
    return f"{names[0]} has no score on {n} that {names[1]} has one of, more than chance leaves"


# The page of a comparison -------------------------------------------------------------------------

_STORED: Final = (
    "state", "demonstration", "counts", "n_planned", "responses", "panel", "total", "cost",
    "respondents",
)  # fmt: skip


def stored_comparison(
    runs: Mapping[str, Any],
    *,
    people: Mapping[str, str | None],
    by_prompt: Mapping[tuple[str, str], Mapping[str, float]],
    criteria: Sequence[str],
    margin: float | None,
    is_one_panel: bool,
    weak: Mapping[str, str],
    notices: Sequence[str],
) -> dict[str, Any]:
    """What run.json keeps of a comparison of panel runs, so that its page can be made of it.

    Args:
        runs: name to run, the first of several is what the others are compared with.
        people: name of a run to what a calibration of it says.
        by_prompt: (side, baseline) to prompt to the difference of composites.
        criteria: that were compared.
        margin: within which sides are alike.
        is_one_panel: whether all runs were judged by the same panel.
        weak: judge model to why it is not shown to tell responses apart.
        notices: what a reader must know first.
    """
    prompts = dict.fromkeys(name for values in by_prompt.values() for name in values)
    return {
        "demonstration": any(run.record["demonstration"] for run in runs.values()),
        "runs": [
            {name: run.record[name] for name in _STORED}
            | {"name": name, "people": people.get(name)}
            | {"settings": _settings(run.record)}
            for name, run in runs.items()
        ],
        "criteria": list(criteria),
        "margin": margin,
        "is_one_panel": is_one_panel,
        "weak": dict(weak),
        "notices": list(notices),
        "n_prompts": len(prompts),
        "by_prompt": {
            "columns": [f"{side} minus {baseline}" for side, baseline in by_prompt],
            "rows": [
                [name, *(values.get(name) for values in by_prompt.values())]
                for name in list(prompts)[:MOST_ROWS]
            ],
        },
    }


def _settings(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    if "imported" in record["identity"]:  # another tool judged: nothing else is known
        return [("source", Path(str(record["source"])).name)]
    return panel_settings(record)


def comparison_document(record: Mapping[str, Any], estimates: pd.DataFrame) -> Document:
    """Describes how the sides of panel runs differ.

    Args:
        record: with what `stored_comparison` keeps.
        estimates: the tables `comparison` and `comparison by model`.
    """
    runs, is_one_panel, weak = record["runs"], record["is_one_panel"], record["weak"]
    differences = Differences(estimates, record["margin"])
    heads = {name: words(name) for name in record["criteria"]}
    headline = differences.headline(BY_THIS_PANEL if is_one_panel else "") or [
        "There are too many sides to compare each pair: name one of them as the baseline."
    ]
    notices = list(record["notices"])
    if not is_one_panel:
        headline = [
            "These runs used different panels, so that a difference may come from the judges. "
            + headline[0],
            *headline[1:],
        ]
    if any(run["state"] != "complete" for run in runs):
        notices.append("Not every run is complete: what was not asked is missing here.")
    models = {str(one["name"]) for run in runs for one in run["panel"]["models"]}
    several = len(runs) > 1
    if differences.others:
        headline = with_weak_models(headline, weak, len(models))
    title = f"Comparison by {differences.by} in {runs[0]['name']}"
    rows = record["by_prompt"]["rows"]
    return Document(
        title=f"Comparison of {len(runs)} runs" if several else title,
        kind="comparison",
        is_demonstration=bool(record["demonstration"]),
        headline=headline,
        trust=[
            *weak_models_line(weak),
            *_trust(runs, differences, estimates, len(models), is_one_panel=is_one_panel),
        ],
        notices=notices,
        sections=[
            Section("comparison", "Who scores higher", differences.summary(heads), "summary"),
            Section("differences", "Differences", differences.detail(heads, n_models=len(models))),
            *(
                [
                    Section("respondents", "By respondent", [_respondents_table(runs)]),
                    Section("runs", "The runs", _what_differs(runs)),
                ]
                if several
                else []
            ),
            *(
                [Section("prompts", "Prompt by prompt", [_records(record, rows)])]
                if len(rows)
                else []
            ),
            Section(
                "meaning",
                "What these numbers mean and do not mean",
                [_meaning(is_one_panel=is_one_panel)],
            ),
        ],
    )


def _trust(
    runs: Sequence[Mapping[str, Any]],
    differences: Differences,
    estimates: pd.DataFrame,
    n_models: int,
    *,
    is_one_panel: bool,
) -> Iterator[tuple[str, str]]:
    """Coverage, whether one panel judged, what was compared, and what is not known."""
    scored = [
        f"{count(run['counts'].get('scored', 0))} of {count(run['n_planned'])}"
        + (f" in {run['name']}" if len(runs) > 1 else "")
        for run in runs
    ]
    yield "coverage", f"judgments scored: {listed(scored, len(runs))}"
    if len(runs) > 1:
        differ = [name for name, _ in _settings_that_differ(runs)]
        how = f"; the runs differ in {listed(differ)}" if differ else ""
        yield "panel", f"{'one panel' if is_one_panel else 'different panels'}{how}"
    yield from differences.trust()
    if n_models == 1 and is_one_panel:
        yield "judges", "One model judged; other models may disagree."
    taus = estimates[estimates["measure"] == "tau"]
    if len(taus) == 1:
        value, n = float(taus["value"].iloc[0]), int(taus["n"].iloc[0])
        yield "order", f"tau-b {number(value)} between the composites of {units(n, 'pair')}"
    yield "people", _people(runs, is_one_panel=is_one_panel)


def _people(runs: Sequence[Mapping[str, Any]], *, is_one_panel: bool) -> str:
    """What a calibration of one of the runs says of their panel, or of each of several panels."""
    checked = [run for run in runs if run["people"]]
    if len(runs) == 1 or not checked:
        return runs[0]["people"] or NOT_CALIBRATED
    if is_one_panel:
        return f"{checked[0]['name']}: {checked[0]['people']}"
    return "; ".join(
        f"{run['name']}: {run['people'] or 'not checked against people'}" for run in runs
    )


def _settings_that_differ(runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Name of a setting, and its value in each run."""
    settings = [
        {
            "personas": ", ".join(one["id"] for one in run["panel"]["personas"]),
            "models": ", ".join(str(one["name"]) for one in run["panel"]["models"]),
            **dict(run["settings"]),
        }
        for run in runs
    ]
    names = dict.fromkeys(name for one in settings for name in one)
    values = [(name, [one.get(name, "") for one in settings]) for name in names]
    return [(name, each) for name, each in values if len(set(each)) > 1]


def _what_differs(runs: Sequence[Mapping[str, Any]]) -> list[Part]:
    differ = _settings_that_differ(runs)
    if not differ:
        return [Paragraph("Settings of the panels: no difference.")]
    return [
        Table(
            caption="Settings in which the runs differ; all others are the same.",
            label="Settings that differ",
            columns=[Column("setting"), *(Column(run["name"], "wide") for run in runs)],
            rows=[[name, *values] for name, values in differ],
        )
    ]


def _respondents_table(runs: Sequence[Mapping[str, Any]]) -> Table:
    lines: dict[str, list[Estimate | None]] = {}
    for place, run in enumerate(runs):
        for item in run["respondents"]:
            line = lines.setdefault(str(item["respondent_id"]), [None for _ in runs])
            line[place] = _mean_of(item)
    return Table(
        caption="Mean composite over prompts by respondent, with its 95% interval. Whether means "
        "differ is told by the paired differences alone.",
        label="By respondent",
        columns=[Column("respondent", "id"), *(Column(run["name"], "estimate") for run in runs)],
        rows=[[name, *line] for name, line in lines.items()],
    )


def _records(record: Mapping[str, Any], rows: Sequence[Sequence[Any]]) -> Records:
    """The difference on every prompt; sorted by size in the page."""
    return Records(
        name="compared",
        caption="Differences of composites on every prompt; sort by one to see where sides part.",
        label="Prompt by prompt",
        columns=[
            Column("prompt", "id"),
            *(Column(title, "number", is_signed=True) for title in record["by_prompt"]["columns"]),
        ],
        rows=[[name, *(math.nan if x is None else x for x in values)] for name, *values in rows],
        left_out=record["n_prompts"] - len(rows),
        file="scores.csv of the runs",
    )


def _meaning(*, is_one_panel: bool) -> Points:
    panels = (
        "Only common judges count.",
        (
            "A judge that is missing on one side of a prompt counts on neither: what it would have "
            "scored is not known."
        ),
    )
    if not is_one_panel:
        panels = (
            "Each panel counts as it is.",
            "Its judges are others, so that a difference may be theirs as well as the texts'.",
        )
    return Points(
        [
            panels,
            (
                "Intervals decide, for all comparisons at once.",
                (
                    "Higher or lower: the interval leaves out 0. Alike: it lies within the margin. "
                    "Open: neither, which is not the same as alike. The prompt is the unit."
                ),
            ),
            (
                "A higher score is what this panel says.",
                "How near it comes to what people would say takes a calibration.",
            ),
        ]
    )


def _mean_of(item: Mapping[str, Any]) -> Estimate:
    low, high = item["interval"] or (math.nan, math.nan)
    value = math.nan if item["composite"] is None else item["composite"]
    return Estimate(value, low, high, item["n_prompts"], reason=item["reason"])
