"""What is said of an audit first: the answer in a sentence or two, and how far to trust it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..aggregation.estimate import Estimate
from ..formats import estimate, listed, listed_all, number, p_value, units
from ..records.estimates import estimate_of, estimates_by, select
from .audit import ANSWER_STATUSES
from .contrasts import UNREAD
from .definition import Contrast, Definition, Outcome
from .estimate import ALPHA

if TYPE_CHECKING:
    import pandas as pd

Names = dict[str | None, str]

MOST_NAMED: Final = 4
"""Models, or groups, that a sentence names."""
DIFFERS: Final = ("differs", "differs within margin")


@dataclass(frozen=True)
class AuditView:
    """The figures of an audit, and what their keys are called.

    Attributes:
        definition: of the audit, as its options had it.
        record: the content of run.json.
        estimates: every figure.
    """

    definition: Definition
    record: Mapping[str, Any]
    estimates: pd.DataFrame

    @property
    def respondents(self) -> tuple[str, ...]:
        """In the order of the report."""
        return tuple(self.record.get("targets", ()))

    @property
    def unit(self) -> str:
        """What one of the independent units is called."""
        return self.definition.unit_word

    def rows(self, table: str, measure: str) -> pd.DataFrame:
        """One measure of a table."""
        found = select(self.estimates, table)
        return found[found["measure"] == measure]

    def by_respondent(self, table: str, measure: str) -> dict[str, Estimate]:
        """Respondent to one figure of no part, in the order of the report."""
        rows = select(self.rows(table, measure), table, factor=None, group=None)
        return {
            str(key["respondent"]): found[measure]
            for key, found in estimates_by(rows, ["respondent"])
            if key["respondent"] is not None
        }

    def overall(self, name: str) -> dict[tuple[str, str], Estimate]:
        """(factor, group) to a contrast's difference over all models, or of the only one."""
        rows = self.rows(name, "difference")
        if len(self.respondents) > 1:
            rows = rows[rows["respondent"].isna()]
        return {
            (str(key["factor"]), str(key["group"])): found["difference"]
            for key, found in estimates_by(rows, ["factor", "group"])
        }

    def figure(self, table: str, measure: str, **keys: str) -> Estimate | None:
        """One figure of no pair of respondents."""
        rows = select(self.rows(table, measure), table, baseline=None, **keys)
        return next((found[measure] for _, found in estimates_by(rows, [])), None)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Status to askings of all respondents."""
        rows = select(self.estimates, "counts")
        totals = rows.groupby("measure", sort=False)["value"].sum()
        return {str(name): int(value) for name, value in totals.items()}

    # What keys are called

    @property
    def labels(self) -> Mapping[str, Mapping[str, str]]:
        """Column to what its values are called."""
        found: Mapping[str, Mapping[str, str]] = self.record.get("result", {}).get("labels", {})
        return found

    def word(self, column: str) -> str:
        """What a column is called."""
        return self.definition.named.get(column, column.replace("_", " "))

    def names(self, *columns: str) -> Names:
        """What the values of these columns are called."""
        return {value: said for one in columns for value, said in self.labels.get(one, {}).items()}

    def contrast_names(self, contrast: Contrast) -> dict[str, Names]:
        """What the values of the keys of a contrast's tables are called."""
        kind = contrast.factor[0]
        kinds = self.names(kind) if len(contrast.factor) > 1 else {}
        return {
            "group": self.names(contrast.factor[-1]),
            "factor": {kind: self.word(kind), **kinds},
            "detail": self.names(*contrast.by),
            "respondent": {None: "all models"},
        }


# The answer


def headline(view: AuditView) -> Iterator[str]:
    """Which groups differ, the first outcome, and whom models favour."""
    for name, contrast in view.definition.contrasts.items():
        yield from _contrast_told(view, name, contrast)
    for place, (name, outcome) in enumerate(view.definition.outcomes.items()):
        found = view.by_respondent("outcomes", name)
        known = {who: one for who, one in found.items() if one.is_defined}
        if known and outcome.neutral is not None:
            yield from _preference_told(outcome, outcome.neutral, known)
        elif known and not place:
            yield _levels_told(view, name, outcome, known)


def _contrast_told(view: AuditView, name: str, contrast: Contrast) -> Iterator[str]:
    """Who differs from the reference, and who is not shown to."""
    found = view.overall(name)
    names = view.contrast_names(contrast)["group"]
    points = f" ({contrast.points})" if contrast.points else ""
    for sign, word in ((1, contrast.more), (-1, contrast.less)):
        mine = {
            group: one
            for (_, group), one in found.items()
            if one.verdict in DIFFERS and sign * one.value > 0
        }
        if mine:
            ranked = sorted(mine, key=lambda group: -abs(mine[group].value))
            said = [
                f"{names.get(group, group)} "
                f"{estimate(mine[group], contrast.digits, is_signed=True)}"
                for group in ranked
            ]
            side = "above" if sign > 0 else "below"
            head = word or f"{contrast.mean_title} {side} that of {contrast.reference_name}"
            yield sentence(f"{head}: {listed(said, MOST_NAMED)}{points}")
    others = {cell: one for cell, one in found.items() if one.verdict not in DIFFERS}
    reference = contrast.reference_name
    open_ = [c for c, one in others.items() if one.is_defined and one.verdict != "equivalent"]
    if open_:
        told = _groups_told(open_, names)
        yield sentence(f"Not shown to differ from {reference}: {told}")
    if alike := [cell for cell, one in others.items() if one.verdict == "equivalent"]:
        told = _groups_told(alike, names)
        yield sentence(f"Shown to be like {reference}, to within ±{contrast.margin:g}: {told}")
    if missing := [cell for cell, one in others.items() if not one.is_defined]:
        yield sentence(f"Not measured: {_groups_told(missing, names)}")


def _groups_told(cells: Sequence[tuple[str, str]], names: Names) -> str:
    groups = [names.get(group, group) for _, group in cells]
    return listed_all(groups) if len(groups) <= MOST_NAMED else units(len(groups), "group")


def _levels_told(
    view: AuditView, name: str, outcome: Outcome, known: Mapping[str, Estimate]
) -> str:
    """The first outcome of every model, or of those at the two ends."""
    ranked = sorted(known, key=lambda who: -known[who].value)
    shown = ranked if len(ranked) <= MOST_NAMED else [*ranked[:2], *ranked[-2:]]
    said = ", ".join(f"{who} {_with_test(known[who], outcome.digits)}" for who in shown)
    told = f"{outcome.said}: {said}"
    if len(ranked) > len(shown):
        told += f" (the two highest and the two lowest of {len(ranked)} models)"
    test = view.figure("models", "cochran_q_units", factor=name)
    if test is not None and test.p == test.p:
        differ = "the models differ" if test.p <= ALPHA else "the models are not shown to differ"
        told += f"; {differ} (p {p_told(test.p)})"
    return sentence(told)


def _with_test(found: Estimate, digits: int) -> str:
    """The figure, with the p of its own test where it has one."""
    said = estimate(found, digits)
    return said if found.p != found.p else f"{said} (test that there is none: p {p_told(found.p)})"


def side(outcome: Outcome, found: Estimate) -> str:
    """On which side of no preference the interval lies: above, below, open, or none."""
    if outcome.neutral is None or not found.has_interval:
        return "none"
    if found.low > outcome.neutral:
        return "above"
    return "below" if found.high < outcome.neutral else "open"


def _preference_told(
    outcome: Outcome, neutral: float, known: Mapping[str, Estimate]
) -> Iterator[str]:
    """Whom which models favour, for whom that is not shown, and for whom it cannot be told."""
    scale = f"{neutral:g} would be no preference"
    if len(known) == 1:
        (who, one), which = next(iter(known.items())), side(outcome, next(iter(known.values())))
        figure = f"{outcome.said} is {estimate(one, outcome.digits)}"
        if which in ("above", "below"):
            word = outcome.above if which == "above" else outcome.below
            yield sentence(f"{who} {word}: {figure}; {scale}", is_name=True)
        elif which == "open":
            told = f"{who} is not shown to take a side: {figure}; {scale}"
            yield sentence(told, is_name=True)
        else:
            reason = f" ({one.reason})" if one.reason else ""
            yield sentence(
                f"Whether {who} takes a side cannot be told: {figure}, without an interval{reason}"
            )
        return
    parts = []
    for which, word in (
        ("above", outcome.above), ("below", outcome.below),
        ("open", "not shown to take a side"), ("none", "cannot be told, for want of an interval"),
    ):  # fmt: skip
        mine = [who for who, one in known.items() if side(outcome, one) == which]
        said = [f"{who} {estimate(known[who], outcome.digits)}" for who in mine]
        if len(mine) > MOST_NAMED:
            said = [f"{len(mine)} of {len(known)} models"]
        if mine:
            parts.append(f"{word}: {', '.join(said)}")
    yield sentence(f"{'; '.join(parts)} ({outcome.said}; {scale})")


# What has changed from before to after


def changes_told(view: AuditView) -> Iterator[str]:
    """What has changed, of everything that is tested, the largest first."""
    definition, said = view.definition, []
    for row in view.rows("models", "difference").to_dict("records"):
        outcome = definition.outcomes[row["factor"]]
        said.append((f"{outcome.title}{_whose(row)}", estimate_of(row), outcome.digits))
    for name, contrast in definition.contrasts.items():
        names = view.contrast_names(contrast)["group"]
        for row in view.rows(f"{name}_models", "difference").to_dict("records"):
            what = f"{contrast.title} of {names.get(row['group'], row['group'])}{_whose(row)}"
            said.append((what, estimate_of(row), contrast.digits))
    for table in definition.table_views:
        if "baseline" not in table.keys:
            continue
        for one in table.measures:
            if one.field != "estimate":
                continue
            rows = select(view.rows(table.table, one.name), table.table, **table.where)
            rows = rows[rows["baseline"].isin(view.respondents)]
            for row in rows.to_dict("records"):
                part = f", {row['factor']}" if isinstance(row["factor"], str) else ""
                title = one.title or one.name.replace("_", " ")
                said.append((f"{title}{part}{_whose(row)}", estimate_of(row), one.digits))
    changed = [one for one in said if _is_change(one[1])]
    for what, figure, digits in sorted(changed, key=lambda one: -abs(one[1].value))[:6]:
        rose = figure.value > 0
        size = figure if rose else replace(
            figure, value=-figure.value, low=-figure.high, high=-figure.low
        )  # fmt: skip
        yield sentence(f"{what} {'rose' if rose else 'fell'} by {estimate(size, digits)}")
    if len(said) > len(changed):
        rest = [one[0] for one in said if not _is_change(one[1])]
        told = listed(rest, MOST_NAMED) if len(rest) <= MOST_NAMED else units(len(rest), "figure")
        yield sentence(f"Not shown to have changed: {told}")


def _is_change(found: Estimate) -> bool:
    return found.verdict in DIFFERS or (found.verdict is None and found.p_adjusted <= ALPHA)


def _whose(row: Mapping[Any, Any]) -> str:
    name, _, when = str(row["respondent"]).rpartition(", ")
    return f", {name}" if when and name else ""


# Whether it can be trusted


def trust(view: AuditView) -> Iterator[tuple[str, str]]:
    """Coverage, bounds, direction, judges, units and people."""
    planned, done = view.counts.get("planned", 0), view.counts.get("classified", 0)
    if planned:
        others = [
            f"{view.counts[name]:,} {name.replace('_', ' ')}"
            for name in ANSWER_STATUSES
            if name != "classified" and view.counts.get(name)
        ]
        yield "coverage", ", ".join([f"{done:,} of {planned:,} answers classified", *others])
    if bounds := list(_bounds(view)):
        yield "unread", "; ".join(bounds)
    if direction := list(_directions(view)):
        yield "direction", "; ".join(direction)
    if view.definition.takes_judges:
        yield "judges", _judges(view)
    if n := _n_units(view):
        yield "unit", f"intervals and tests are over {units(n, view.unit)}"
    if planned:
        yield "people", _people(view)


def _bounds(view: AuditView) -> Iterator[str]:
    """Between what the outcomes lie, whatever the unread answers are."""
    if not sum(view.counts.get(name, 0) for name in UNREAD):
        return
    for name, outcome in view.definition.outcomes.items():
        least = view.by_respondent("outcomes", f"{name}_least")
        most = view.by_respondent("outcomes", f"{name}_most")
        wide = {
            who: most[who].value - one.value
            for who, one in least.items()
            if who in most and one.is_defined
        }
        if wide:
            who = max(wide, key=lambda one: wide[one])
            whose = f" of {who}" if len(view.respondents) > 1 else ""
            low, high = (number(end[who].value, outcome.digits) for end in (least, most))
            yield (
                f"whatever the others are, the {outcome.title}{whose} lies between {low} and {high}"
            )
    for name, contrast in view.definition.contrasts.items():
        values = [
            view.rows(name, f"difference{end}")["value"].to_numpy(dtype=np.float64)
            for end in ("", "_least", "_most")
        ]
        if len(values[0]) and len(values[0]) == len(values[1]) == len(values[2]):
            moved = np.nanmax(np.abs(np.stack(values[1:]) - values[0]), initial=0.0)
            moved_said = number(float(moved), contrast.digits)
            yield f"the others could move no {contrast.title} by more than {moved_said}"


def _directions(view: AuditView) -> Iterator[str]:
    """How many models stand on which side."""
    if len(view.respondents) < 2:
        return
    for name, outcome in view.definition.outcomes.items():
        if outcome.neutral is None:
            continue
        sides = [side(outcome, one) for one in view.by_respondent("outcomes", name).values()]
        parts = [
            f"{word}: {sides.count(which)} of {units(len(sides), 'model')}"
            for which, word in (("above", outcome.above), ("below", outcome.below))
            if which in sides
        ]
        yield ", ".join(parts) or f"no model is shown to be off {outcome.neutral:g}"
    for name, contrast in view.definition.contrasts.items():
        names = view.contrast_names(contrast)["group"]
        rows = view.rows(name, "difference")
        rows = rows[rows["respondent"].notna()]
        for (factor, group), one in view.overall(name).items():
            if one.verdict in DIFFERS:
                mine = rows[(rows["factor"] == factor) & (rows["group"] == group)]["value"]
                same = int((np.sign(mine) == np.sign(one.value)).sum())
                where = "above" if one.value > 0 else "below"
                said = units(len(mine), "model")
                yield f"{names.get(group, group)} {where} in {same} of {said}"


def _judges(view: AuditView) -> str:
    if not view.record.get("judges"):
        return "none: rules alone read the answers"
    for name, agreement in view.definition.agreement.items():
        same = view.figure("judges", "same", factor=name)
        if same is not None and same.is_defined:
            return (
                f"two judges say the same on {number(100 * same.value, 0)}% of "
                f"{units(same.n, 'distinct question')} ({agreement.title})"
            )
    return "agreement not measured: no two judges read the same answer"


def _people(view: AuditView) -> str:
    same = view.figure("people", "same", factor="audit")
    if same is None:
        how = ": --for-people 200" if view.definition.people else ""
        return f"no reading was checked by people{how}"
    said = f"people read the same in {number(100 * same.value, 0)}% of {units(same.n, 'answer')}"
    among = view.figure("people", "same", factor="people")
    if among is not None:
        said += f"; two people in {number(100 * among.value, 0)}% of {among.n:,}"
    return said


def _n_units(view: AuditView) -> int:
    for name in view.definition.outcomes:
        if found := view.by_respondent("outcomes", name):
            return max(one.n for one in found.values())
    for name, contrast in view.definition.contrasts.items():
        rows = view.rows(name, "difference" if contrast.paired else "mean")
        if len(rows) and contrast.paired:
            return int(rows["n"].max())
        if len(rows):  # every group has units of its own
            return int(rows[rows["respondent"] == view.respondents[0]]["n"].sum())
    return 0


# Sentences


def p_told(value: float) -> str:
    """A p-value with its sign of relation: "= 0.0310", "<0.0001"."""
    said = p_value(value)
    return said if said.startswith("<") else f"= {said}"


def sentence(text: str, *, is_name: bool = False) -> str:
    """The text with a capital, unless it begins with a name, and a full stop."""
    end = "" if text.endswith((".", "!", "?")) else "."
    return f"{text if is_name else capital(text)}{end}"


def sentences(texts: Sequence[str]) -> str:
    """Several, one after the other."""
    return " ".join(map(sentence, texts))


def capital(text: str) -> str:
    """The text with a capital."""
    return f"{text[:1].upper()}{text[1:]}"
