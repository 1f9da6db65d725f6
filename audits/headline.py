"""What is said of an audit first: the answer in a sentence or two, and how far to trust it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from ..formats import estimate, listed, listed_all, number, percent, said, units
from ..records.estimates import estimates_by, select
from .audit import ANSWER_STATUSES
from .contrasts import UNREAD, WORTH
from .decisions import is_shown, is_untested
from .definition import Contrast, Definition, Differences, Outcome

if TYPE_CHECKING:
    import pandas as pd

Names = dict[str | None, str]

MOST_UNREAD: Final = 0.05
"""Share of unread answers from which on a sentence says whose figure it is."""
LEAST_ANSWERED: Final = 0.95
"""Share of answers with a value below which a group is named."""
MOST_NAMED: Final = 4
"""Models, or groups, that a sentence names."""


@dataclass(frozen=True)
class AuditView:
    """The figures of an audit, and what their keys are called.

    Attributes:
        definition: of the audit, as its options had it.
        record: the content of run.json.
        estimates: every figure; what is decided has the limits that decide it.
    """

    definition: Definition
    record: Mapping[str, Any]
    estimates: pd.DataFrame

    def __post_init__(self) -> None:
        """Puts the limits of the family where a verdict goes by them."""
        frame = self.estimates
        is_decided = frame["verdict"].notna() & frame["low_family"].notna()
        limits = {
            end: frame[end].where(~is_decided, frame[f"{end}_family"]) for end in ("low", "high")
        }
        object.__setattr__(self, "estimates", frame.assign(**limits))

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

    def own(self, name: str) -> dict[tuple[str, str, str], Estimate]:
        """(model, factor, group) to the differences of a table; the only model is called ""."""
        rows = self.rows(name, "difference")
        rows = rows[rows["respondent"].notna()]
        several = len(self.respondents) > 1
        return {
            (str(key["respondent"]) if several else "", str(key["factor"]), str(key["group"])):
            found["difference"]
            for key, found in estimates_by(rows, ["respondent", "factor", "group"])
        }  # fmt: skip

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
            "factor": {None: "compared with", kind: self.word(kind), **kinds},
            "detail": self.names(*contrast.by),
            "respondent": {None: "all models"},
        }


# The answer


def headline(view: AuditView) -> Iterator[str]:
    """Who is treated how and by how much, then how often the model does what is counted."""
    outcomes, differences = view.definition.outcomes, view.definition.differences
    told = [
        *(_levels_told(view, name, one, known, is_tested=False) for name, one in outcomes.items()
          if one.headline and (known := _known(view, name))),
        *(told for name, one in view.definition.contrasts.items()
          for told in _contrast_told(view, name, one)),
        *(told for name, one in differences.items()
          if one.summary for told in _differences_told(view, name, one)),
        *(told for name, one in outcomes.items()
          if one.neutral is not None for told in _preference_told(view, name, one)),
        *(told for name, one in differences.items()
          if not one.summary for told in _differences_told(view, name, one)),
    ]  # fmt: skip
    yield from told
    name, first = next(iter(view.definition.outcomes.items()), ("", None))
    if first is None:
        return
    if first.neutral is None and (known := _known(view, name)):
        yield _levels_told(view, name, first, known)
    elif not told:
        yield sentence(f"Nothing can be told: {_no_figure(view)}")


def _no_figure(view: AuditView) -> str:
    """Why no outcome has a value."""
    if not view.counts.get("classified"):
        return "no answer has a value"
    figures = (one for name in view.definition.outcomes
               for one in view.by_respondent("outcomes", name).values())  # fmt: skip
    return next(
        (said(one.reason) for one in figures if one.reason),
        "the answers that were read make no figure",
    )


def _known(view: AuditView, name: str) -> dict[str, Estimate]:
    """Respondent to a defined outcome."""
    found = view.by_respondent("outcomes", name)
    return {who: one for who, one in found.items() if one.is_defined}


@dataclass(frozen=True)
class _Claim:
    """A difference, what it is called, and whose it is."""

    label: str
    found: Estimate
    respondent: str = ""

    def told(self, digits: int, *, is_signed: bool) -> str:
        whose = f" ({self.respondent})" if self.respondent else ""
        return f"{self.label}{whose} {estimate(self.found, digits, is_signed=is_signed)}"


def _contrast_told(view: AuditView, name: str, contrast: Contrast) -> Iterator[str]:
    """Who is above or below the reference, who is like it, and what is open."""
    names = view.contrast_names(contrast)["group"]
    reference = contrast.reference_name
    claims = [
        _Claim(names.get(group, group), one, who) for (who, _, group), one in view.own(name).items()
    ]
    points = f" ({contrast.points})" if contrast.points else ""
    for verdict, word in (("higher", contrast.more), ("lower", contrast.less)):
        if mine := [claim for claim in claims if claim.found.verdict == verdict]:
            side = "above" if verdict == "higher" else "below"
            head = word or f"{contrast.mean_title} {side} that of {reference}"
            yield sentence(f"{head}: {_ranked(mine, contrast.digits, is_signed=True)}{points}")
    low, high = contrast.scale
    amount = contrast.margin or WORTH * (high - low)
    within = f", to within ±{contrast.margin:g}" if contrast.margin else ""
    yield from _rest_told(
        view, claims, "group", f"a difference from {reference}", f"Like {reference}{within}",
        f"a difference of {amount:g} from {reference}",
    )  # fmt: skip


def _differences_told(view: AuditView, name: str, one: Differences) -> Iterator[str]:
    """Who has more of it than whom, and between whom no difference is shown."""
    claims = []
    for (who, factor, _), found in view.own(name).items():
        first, second = one.sides(factor)
        join = "and"
        if is_shown(found):
            join = "than"
            if found.value < 0:
                first, second = second, first
        size = turned(found) if join == "than" and found.value < 0 else found
        claims.append(_Claim(f"{first} {join} {second}", size, who))
    shown = [claim for claim in claims if is_shown(claim.found)]
    if shown:
        yield sentence(f"{one.more}: {_ranked(shown, one.digits, is_signed=True)} ({one.title})")
    if not one.summary and not all(is_untested(claim.found) for claim in claims):
        if not shown:
            yield sentence(f"{one.more}: nobody is shown to be")
        return
    where = f"a difference in the {one.title}"
    yield from _rest_told(view, claims, "comparison", where, f"Alike in the {one.title}", where)


def _ranked(claims: Sequence[_Claim], digits: int, *, is_signed: bool) -> str:
    """The claims, the largest first."""
    order = sorted(claims, key=lambda claim: -abs(claim.found.value))
    return listed([claim.told(digits, is_signed=is_signed) for claim in order], MOST_NAMED)


def _rest_told(
    view: AuditView, claims: Sequence[_Claim], what: str, where: str, alike: str, effect: str
) -> Iterator[str]:
    """What is alike, what is open and what it takes, and what cannot be told and why."""
    if same := [claim for claim in claims if claim.found.verdict == "alike"]:
        yield sentence(f"{alike}: {_named(view, same, what)}")
    untested = [c for c in claims if is_untested(c.found) and c not in same]
    open_ = [c for c in claims if c.found.verdict == "open" and c not in untested]
    if open_:
        yield sentence(f"Open for {_named(view, open_, what)}: {_needed(view, open_, effect)}")
    of_reason: dict[str, list[_Claim]] = {}
    for claim in untested:
        is_few = claim.found.is_defined and claim.found.n < MIN_UNITS
        of_reason.setdefault("" if is_few else _reason(claim.found), []).append(claim)
    for reason, mine in of_reason.items():
        why = reason or _too_few(view, [claim.found for claim in mine])
        of = _named(view, mine, what)
        yield sentence(f"It cannot be told whether there is {where}, for {of} ({why})")


def _needed(view: AuditView, claims: Sequence[_Claim], effect: str) -> str:
    """How many units would show such an effect, of those that need most."""
    most = max((claim.found.needed or 0 for claim in claims), default=0)
    if most <= max(claim.found.n for claim in claims):
        return f"{effect} would probably have shown"
    step = 10 ** max(len(str(most)) - 2, 0)
    return f"about {units(-(-most // step) * step, view.unit)} would show {effect}"


def _reason(found: Estimate) -> str:
    return said(found.reason) or "nothing was measured"


def _too_few(view: AuditView, small: Sequence[Estimate]) -> str:
    """That units are too few; of what kind they are where the figures say so themselves."""
    fewest, most = min(one.n for one in small), max(one.n for one in small)
    if fewest == most and small[0].reason:
        return _reason(small[0])
    there = f"{fewest} to {most}" if fewest < most else f"{most}"
    return said(f"an interval needs {MIN_UNITS} {view.unit}s, there are {there}")


def _named(view: AuditView, claims: Sequence[_Claim], what: str) -> str:
    """What these claims are of: those of every model once, the others with their model."""
    n_models = len(view.respondents)
    of = Counter(claim.label for claim in claims)
    whole = [label for label, n in of.items() if n == n_models]
    parts = [f"{c.label} ({c.respondent})" for c in claims if of[c.label] < n_models]
    if len(whole) > MOST_NAMED:
        whole = [units(len(whole), what)]
    if len(parts) > MOST_NAMED:
        parts = [f"{len(parts)} more of single models"]
    # "a and b; a and c": of several pairs, no "and" may stand between two of them.
    listed_as = "; ".join if any(" and " in label for label in of) else listed_all
    in_all = [f"{listed_as(whole)} in every model"] if whole and n_models > 1 else whole
    return listed_as([*in_all, *parts])


def _levels_told(
    view: AuditView,
    name: str,
    outcome: Outcome,
    known: Mapping[str, Estimate],
    *,
    is_tested: bool = True,
) -> str:
    """The first outcome of every model, or of those at the two ends.

    Args:
        view: the figures.
        name, outcome: which.
        known: respondent to it.
        is_tested: whether the test that models are alike is one of this outcome.
    """
    ranked = sorted(known, key=lambda who: -known[who].value)
    shown = ranked if len(ranked) <= MOST_NAMED else [*ranked[:2], *ranked[-2:]]
    said = ", ".join(f"{who} {estimate(known[who], outcome.digits)}" for who in shown)
    told = f"{outcome.said}: {said}"
    if len(ranked) > len(shown):
        told += f" (the two highest and the two lowest of {len(ranked)} models)"
    if outcome.bounds and (unread := _n_unread(view)):
        n = view.counts.get("classified", 0)
        if unread > MOST_UNREAD * (n + unread):
            told += f", of the {n:,} answers that could be read and not of the {unread:,} others"
    if unknown := [who for who in shown if _covers_scale(known[who], outcome)]:
        whose = f"the interval of {listed_all(unknown)}" if len(known) > 1 else "the interval"
        told += f"; {whose} covers every value that it can have: the data tell nothing of it yet"
    if is_tested and (models := _models_told(view, name, outcome)):
        told += f"; {models}"
    return sentence(told)


def _covers_scale(found: Estimate, outcome: Outcome) -> bool:
    """Whether the interval, as it is written, is the whole scale."""
    limits = (round(found.low, outcome.digits), round(found.high, outcome.digits))
    return found.has_interval and limits == outcome.scale


def _models_told(view: AuditView, name: str, outcome: Outcome) -> str:
    """Between which models a difference is shown; "" where none is compared."""
    rows = select(view.rows("models", "difference"), "models", factor=name)
    pairs = [
        (str(key["respondent"]), str(key["baseline"]), found["difference"])
        for key, found in estimates_by(rows, ["respondent", "baseline"])
        if not is_untested(found["difference"])
    ]
    if len(pairs) == 1:
        (one, other, gap), (low, high) = pairs[0], outcome.scale
        if is_shown(gap):
            word = "higher" if gap.value > 0 else "lower"
            size = estimate(gap, outcome.digits, is_signed=True)
            return f"that of {one} is {word} than that of {other}, by {size}"
        effect = f"a difference of {WORTH * (high - low):g} between the models"
        return f"open: {_needed(view, [_Claim('', gap)], effect)}"
    n_shown = sum(is_shown(gap) for _, _, gap in pairs)
    return f"{n_shown} of {units(len(pairs), 'pair')} of models differ" if pairs else ""


def _n_unread(view: AuditView) -> int:
    return sum(view.counts.get(status, 0) for status in UNREAD)


def side(outcome: Outcome, found: Estimate) -> str:
    """On which side of no preference an outcome is shown to lie: above, below, open, or none."""
    if outcome.neutral is None or is_untested(found):
        return "none"
    return {"higher": "above", "lower": "below"}.get(found.verdict or "", "open")


def _preference_told(view: AuditView, name: str, outcome: Outcome) -> Iterator[str]:
    """Whom which models favour, for whom that is not shown, and for whom it cannot be told."""
    found, neutral = view.by_respondent("outcomes", name), outcome.neutral
    assert neutral is not None  # noqa: S101 - asked for by the caller
    words = {
        "above": outcome.above, "below": outcome.below, "open": outcome.undecided,
        "none": "cannot be told",
    }  # fmt: skip
    scale = f"{neutral:g} would be no preference" if neutral else "0 would be none"
    if len(found) == 1:
        (who, one), which = next(iter(found.items())), side(outcome, next(iter(found.values())))
        figure = f"{outcome.said} {estimate(one, outcome.digits)}"
        if which == "none":
            reason = f" ({said(one.reason)})" if one.reason else ""
            figure = f": {figure}" if one.is_defined else ""
            yield sentence(f"Whether {who} {outcome.above} cannot be told{figure}{reason}")
            return
        whole = f"{who} {words[which]}: {figure}; {scale}"
        if which == "open" and one.needed:
            low, high = outcome.scale
            effect = f"a preference of {WORTH * (high - low):g}"
            whole += f"; {_needed(view, [_Claim('', one)], effect)}"
        yield sentence(whole, is_name=True)
        return
    parts = []
    for which, word in words.items():
        mine = [who for who, one in found.items() if side(outcome, one) == which]
        told = [f"{who} {estimate(found[who], outcome.digits)}" for who in mine]
        if len(mine) > MOST_NAMED:
            told = [f"{len(mine)} of {len(found)} models"]
        if mine:
            parts.append(f"{word.removeprefix('is ')}: {', '.join(told)}")
    if parts:
        yield sentence(f"{'; '.join(parts)} ({outcome.said}; {scale})")


def turned(found: Estimate) -> Estimate:
    """The same difference, taken the other way round."""
    return replace(found, value=-found.value, low=-found.high, high=-found.low)


# Whether it can be trusted


def trust(view: AuditView) -> Iterator[tuple[str, str]]:
    """Coverage, readings, direction and units."""
    planned = view.counts.get("planned", 0)
    if planned:
        others = [
            f"{view.counts[name]:,} {name.replace('_', ' ')}"
            for name in ANSWER_STATUSES
            if name != "classified" and view.counts.get(name)
        ]
        done = view.counts.get("classified", 0)
        told = ", ".join([f"{done:,} of {planned:,} answers read", *others])
        yield "coverage", "; ".join([told, *_least_answered(view)])
        yield "readings", "; ".join([_readers(view), *_bounds(view)])
    if direction := list(_directions(view)):
        yield "direction", "; ".join(direction)
    if n := _n_units(view):
        over = [units(n, view.unit), *map(view.word, view.definition.crossed)]
        told = f"intervals are over {listed_all(over)}{_rule(view)}"
        if n < MIN_UNITS and not view.definition.crossed:
            told = f"{over[0]}; an interval needs {MIN_UNITS}"
        yield "units", told


def _least_answered(view: AuditView) -> Iterator[str]:
    """The group with the fewest answers that have a value, where that is well below all."""
    for name, contrast in view.definition.contrasts.items():
        names = view.contrast_names(contrast)["group"]
        rows = view.rows(name, "answered")
        known = rows[rows["respondent"].notna() & rows["value"].notna()].to_dict("records")
        least = min(known, key=lambda row: float(row["value"]), default=None)
        if least is not None and least["value"] < LEAST_ANSWERED:
            whose = f" ({least['respondent']})" if len(view.respondents) > 1 else ""
            label = names.get(least["group"], least["group"])
            yield f"fewest of {label}{whose}: {percent(least['value'])}"


def _readers(view: AuditView) -> str:
    """Who read the answers, and how far two judges agree on distinct questions."""
    done, judged = view.counts.get("classified", 0), view.counts.get("by_judges", 0)
    names = view.record.get("judges", ())
    if not judged:
        return "all by rules, none by judges" if view.definition.takes_judges else "all by rules"
    ruled = f", {done - judged:,} by rules" if done > judged else ""
    who = f"{judged:,} by {'judges' if len(names) != 1 else 'one judge'}{ruled}"
    if len(names) == 1:
        return f"{who}; no second judge read them, so agreement is not known"
    for name, agreement in view.definition.agreement.items():
        same = view.figure("judges", "same", factor=name)
        if same is not None and same.is_defined:
            share = number(100 * same.value, 0)
            asked = units(same.n, "distinct question")
            return f"{who}; two judges say the same on {share}% of {asked} ({agreement.title})"
    return f"{who}; how far they agree is not known"


def _rule(view: AuditView) -> str:
    """What the intervals of comparisons are, where something is compared."""
    n = view.estimates.loc[view.estimates["verdict"].notna(), "low_family"].notna().sum()
    return "; those of comparisons hold for all of a family at once" if n > 1 else ""


def _bounds(view: AuditView) -> Iterator[str]:
    """Between what the outcomes lie, whatever the unread answers are."""
    n = _n_unread(view)
    if not n:
        return
    unread = f"the {n:,} unread" if n > 1 else "the one unread"
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
                f"whatever {unread} say, the {outcome.title}{whose} lies between {low} and {high}"
            )
    differences = view.definition.differences.items()
    titles = {name: (f"difference in the {one.title}", one.digits) for name, one in differences}
    contrasts = view.definition.contrasts.items()
    titles |= {name: (one.title, one.digits) for name, one in contrasts}
    for name, (title, digits) in titles.items():
        values = [
            view.rows(name, f"difference{end}")["value"].to_numpy(dtype=np.float64)
            for end in ("", "_least", "_most")
        ]
        if len(values[0]) and len(values[0]) == len(values[1]) == len(values[2]):
            moved = np.nanmax(np.abs(np.stack(values[1:]) - values[0]), initial=0.0)
            yield f"{unread} could move no {title} by more than {number(float(moved), digits)}"


def _directions(view: AuditView) -> Iterator[str]:
    """How many models stand on which side."""
    if len(view.respondents) < 2:
        return
    for name, outcome in view.definition.outcomes.items():
        found = view.by_respondent("outcomes", name)
        sides = [side(outcome, one) for one in found.values()]
        for which, word in (("above", outcome.above), ("below", outcome.below)):
            if which in sides:
                yield f"{word}: {sides.count(which)} of {units(len(sides), 'model')}"
    for name, contrast in view.definition.contrasts.items():
        names = view.contrast_names(contrast)["group"]
        cells: dict[tuple[str, str], list[Estimate]] = {}
        for (_, factor, group), one in view.own(name).items():
            cells.setdefault((factor, group), []).append(one)
        for (_, group), mine in cells.items():
            if shown := [one for one in mine if is_shown(one)]:
                sign = np.sign(shown[0].value)
                same = sum(np.sign(one.value) == sign for one in mine)
                where = "above" if sign > 0 else "below"
                told = f"{same} of {units(len(mine), 'model')}"
                yield f"{names.get(group, group)} {where} in {told}, shown in {len(shown)}"


def _n_units(view: AuditView) -> int:
    for name in view.definition.outcomes:
        if n := max((one.n for one in view.by_respondent("outcomes", name).values()), default=0):
            return n
    for name in view.definition.contrasts:
        gaps = list(view.own(name).values())
        if any("separate" in one.method for one in gaps):  # every group has units of its own
            rows = view.rows(name, "mean")
            return int(rows[rows["respondent"] == view.respondents[0]]["n"].sum())
        if n := max((one.n for one in gaps), default=0):
            return n
    return 0


# Sentences


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
