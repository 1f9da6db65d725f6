"""The estimates of an audit, from its definition and its answers.

    counts        what became of the askings, by respondent
    outcomes      every outcome and change of the definition, by respondent
    shares        shares of the values of a column, by respondent
    parts         the outcomes by part of the prompts
    models        whether two respondents differ in an outcome
    paper         the same by the tests of papers, which take answers for independent
    NAME…         every contrast of the definition, see `contrasts`
    judges        how far two judges agree before anybody settles anything

The unit is the definition's: what its prompts have in common is what answers have in common. Units
that share a prompt, letter for letter, are one. Judges' agreement counts distinct questions: a
thousand answers that look alike to judges are one.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..aggregation.agreement import cohen_kappa, gwet_ac2
from ..aggregation.clustered import clustered_proportion
from ..aggregation.crossed import crossed_mean, crossed_share
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import t_interval
from ..aggregation.jackknife import cut_to_range
from ..aggregation.proportions import chi_square_test, wilson
from ..records.estimates import Estimates
from .audit import ANSWER_STATUSES
from .contrasts import (
    CROSS,
    LEAN,
    UNREAD,
    WORTH,
    compared,
    contrasts_of,
    long_table,
    prepare,
    tells_apart,
    values_of,
)
from .decisions import decided_by_intervals
from .definition import Agreement, Change, Contrast, Definition, Outcome

Floats = npt.NDArray[np.float64]

OWN_COLUMNS: Final = ("item_id", "target", "repeat", "status", "by", "judging")
ANSWERED: Final = ("classified", "unclassified", "refused", "unreadable", "empty")


def columns_of(definition: Definition) -> tuple[str, ...]:
    """The columns of the answers that the definition's estimates are made of."""
    found = dict.fromkeys((*OWN_COLUMNS, definition.unit, *definition.crossed))
    for outcome in definition.read_outcomes.values():
        found |= dict.fromkeys((str(outcome.of), *outcome.among))
    for shares in definition.shares.values():
        found |= dict.fromkeys((shares.of,))
    for change in definition.changes.values():
        found |= dict.fromkeys((change.of, change.across, *change.within))
    for contrast in definition.contrasts.values():
        of = () if contrast.of in definition.outcomes else (contrast.of,)
        found |= dict.fromkeys((*of, *contrast.factor, *contrast.reference))
        found |= dict.fromkeys((*contrast.match, *contrast.average, *contrast.by))
    found |= dict.fromkeys(column for crossed in definition.by for column in crossed)
    return tuple(found)


def estimate(
    definition: Definition,
    answers: pd.DataFrame,
    respondents: Sequence[str],
    *,
    votes: Iterable[Mapping[str, Any]] = (),
) -> Estimates:
    """The estimates that the definition names.

    Args:
        definition: of the audit, as its options have it.
        answers: one row a planned asking, with `columns_of(definition)`, and optionally `prompt`,
            equal where the prompts are equal.
        respondents: the models under test, in the order of the report.
        votes: the judges' votes, see `answers_table.VOTE_COLUMNS`.
    """
    found = Estimates()
    frame = answers.assign(_unit=merged_units(answers, definition.unit))
    by_target = dict(iter(frame.groupby("target", sort=False)))
    rows_of = {name: by_target.get(name, frame.iloc[:0]) for name in respondents}
    counts = {name: Counter(rows["status"].tolist()) for name, rows in rows_of.items()}
    found.extend(status_counts(counts))
    if "by" in frame:
        for name, rows in rows_of.items():
            n_judged = int((rows["by"] == "judges").sum())
            found.add("counts", "by_judges", n_judged, respondent=name)
    sides = _sides(definition, rows_of)
    for respondent, rows in rows_of.items():
        for name, outcome in definition.read_outcomes.items():
            _add_outcome(
                found, "outcomes", definition, name, outcome, rows,
                side=sides.get((respondent, name)), respondent=respondent,
            )  # fmt: skip
        for name, change in definition.changes.items():
            found.add("outcomes", name, changes(change, rows), respondent=respondent)
        for name, shares in definition.shares.items():
            column = rows[shares.of]
            for level in shares.levels:
                values = np.where(column.isna(), np.nan, column == level).astype(np.float64)
                found.add(
                    "shares", "share", over_answers(values), respondent=respondent, factor=name,
                    group=level,
                )  # fmt: skip
    add_comparisons(found, definition, frame, respondents)
    _add_parts(found, definition, frame, rows_of)
    for name, outcome in definition.read_outcomes.items():
        if outcome.compare and len(respondents) > 1:
            _add_paper(found, name, outcome, rows_of)
    _add_agreement(found, definition, frame, votes)
    return found


def add_comparisons(
    found: Estimates, definition: Definition, frame: pd.DataFrame, respondents: Sequence[str]
) -> None:
    """Adds everything that is compared: contrasts, models, and which way answers lean.

    Args:
        found: to what they are added.
        definition: of the audit.
        frame: answers with `columns_of(definition)` and `_unit`.
        respondents: in the order of the report.
    """
    mine = pd.concat([frame[frame["target"] == name] for name in respondents] or [frame.iloc[:0]])
    table = long_table(definition, mine, levels=False)
    wanted = [
        one
        for one in contrasts_of(definition, table)
        if one.is_difference or one.keys["measure"] == "mean"
    ]
    for effect in compared(definition, table, wanted):
        keys = {"respondent": "", **effect.contrast.keys}
        found.add(keys.pop("table"), keys.pop("measure"), _defined(effect.this_panel), **keys)
    for name, change in definition.changes.items():
        if change.lean:
            _add_missing_leans(found, name, change, mine, table, respondents)
    for name, contrast in definition.contrasts.items():
        _add_answered(found, definition, name, contrast, mine, respondents)
    if not definition.contrasts:
        return
    for end in ("least", "most"):
        bounds = long_table(definition, mine, levels=False, unread=end)
        # Each by itself: nothing is decided of bounds.
        alone = [
            replace(one, family=str(place))
            for place, one in enumerate(contrasts_of(definition, bounds))
            if one.keys["measure"] == "difference" and one.keys["table"] in definition.contrasts
        ]
        for effect in compared(definition, bounds, alone):
            row, keys = effect.this_panel, effect.contrast.keys
            if row.is_defined:
                method = "bound over answers without a value"
                bound = Estimate(row.value, n=row.n, unit=row.unit, method=method)
                keys = {name: value for name, value in keys.items() if name != "measure"}
                found.add(keys.pop("table"), f"difference_{end}", bound, **keys)


def _defined(row: Estimate) -> Estimate:
    """Without a word on judges, of whom there is none."""
    return replace(row, universe=None)


def _add_missing_leans(
    found: Estimates, name: str, change: Change, frame: pd.DataFrame, table: pd.DataFrame,
    respondents: Sequence[str],
) -> None:  # fmt: skip
    """Why there is no lean, where questions were asked in one way, or are not told apart."""
    there = table[table["figure"] == f"outcomes.{name}{LEAN}"]
    both = there.groupby("respondent")["detail"].nunique()
    is_apart = tells_apart(change, frame[frame["repeat"] == 0])
    for respondent in respondents:
        if both.get(respondent, 0) < 2:
            reason = _one_way(change) if is_apart else _alike(change)
            none = undefined(reason, unit=change.unit, method="difference of shares")
            found.add("outcomes", f"{name}{LEAN}", none, respondent=respondent)


def _add_answered(
    found: Estimates, definition: Definition, name: str, contrast: Contrast, frame: pd.DataFrame,
    respondents: Sequence[str],
) -> None:  # fmt: skip
    """Share of answers with a value, of every group, the unit being the cluster."""
    rows = prepare(contrast, frame, definition.outcomes)
    has = np.where(rows["status"].isin(ANSWERED), rows["value"].notna(), np.nan)
    rows = rows.assign(_has=has.astype(np.float64))
    cells = rows.groupby(["factor", "group"], sort=False)
    for who in (*respondents, *([""] if len(respondents) > 1 else [])):
        for (factor, group), cell in cells:
            mine = cell[cell["target"] == who] if who else cell
            share = clustered_proportion(
                mine["_has"].to_numpy(), mine["_unit"].tolist(), unit=definition.unit_word
            ).of("share with a value")
            found.add(name, "answered", share, respondent=who, factor=factor, group=group)


def merged_units(answers: pd.DataFrame, unit: str) -> pd.Series:
    """The unit of every row; units that have a prompt in common are one, called by the first."""
    units = answers[unit].astype(str)
    if "prompt" not in answers:
        return units
    pairs = pd.DataFrame({"unit": units, "prompt": answers["prompt"]}).drop_duplicates()
    shared = pairs[pairs.duplicated("prompt", keep=False)]
    if shared.empty:
        return units
    first = {name: name for name in shared["unit"]}

    def root(name: str) -> str:
        while first[name] != name:
            first[name] = first[first[name]]
            name = first[name]
        return name

    for _, names in shared.groupby("prompt", sort=False)["unit"]:
        one = root(names.iloc[0])
        for other in names.iloc[1:]:
            first[root(other)] = one
    return units.map(lambda name: root(name) if name in first else name)


def over_answers(values: Floats) -> Estimate:
    """The share of ones with Wilson's interval over answers, as papers have it."""
    known = values[~np.isnan(values)]
    return wilson(int(known.sum()), int(known.size), unit="answer").of("share")


def over_units(
    outcome: Outcome,
    values: Floats,
    units: Sequence[str],
    unit: str,
    crossed: Sequence[Sequence[str | None]] = (),
    level: float = 0.95,
) -> Estimate:
    """The outcome with its interval over units, and p of no preference if it has such a value.

    Args:
        outcome: which.
        values: one an answer; nan is missing.
        units: of the answers.
        unit: what one is called.
        crossed: columns of what stands in answers of several units, see `Definition.crossed`.
        level: of the interval.
    """
    null = outcome.neutral
    if outcome.is_share and crossed:
        ways = [[units], crossed]
        found = crossed_share(values, ways, level=level, unit=unit, null=null).of("share")
    elif outcome.is_share:
        share = clustered_proportion(values, units, level=level, unit=unit, null=null)
        found = share.of("share")
    elif crossed:
        middle = 0.0 if null is None else null
        mean = crossed_mean(values - middle, [[units], crossed], level=level, unit=unit)
        found = replace(
            mean, value=mean.value + middle, low=mean.low + middle, high=mean.high + middle,
            p=math.nan if null is None else mean.p,
        ).of("mean")  # fmt: skip
    else:
        means = pd.Series(values).groupby(np.asarray(units, dtype=object), sort=False).mean()
        found = t_interval(means.to_numpy(), level=level, unit=unit)
        found = found.of(f"mean of each {unit}, then over them")
    return cut_to_range(found, outcome.scale)


def _crossed_of(definition: Definition, rows: pd.DataFrame) -> list[list[str | None]]:
    """What stands in the answers of several units, a column each; None where nothing does."""
    return [
        [one if isinstance(one, str) else None for one in rows[column].tolist()]
        for column in definition.crossed
    ]


def _over_units_of(
    definition: Definition, outcome: Outcome, rows: pd.DataFrame, level: float = 0.95
) -> Estimate:
    return over_units(
        outcome, values_of(outcome, rows), rows["_unit"].tolist(), definition.unit_word,
        _crossed_of(definition, rows), level,
    )  # fmt: skip


def _sides(
    definition: Definition, rows_of: Mapping[str, pd.DataFrame]
) -> dict[tuple[str, str], Estimate]:
    """(respondent, outcome) to the outcomes with a value of no preference, and which are off it.

    They are one family: whoever reads them looks for any respondent that takes any side.
    """
    neutral = {n: one for n, one in definition.read_outcomes.items() if one.neutral is not None}
    places = [(who, name) for name in neutral for who in rows_of]
    decided = decided_by_intervals(
        [partial(_over_units_of, definition, neutral[name], rows_of[who]) for who, name in places],
        family="preferences", nulls=[neutral[name].neutral or 0.0 for _, name in places],
        worth=WORTH,
    )  # fmt: skip
    return dict(zip(places, decided, strict=True))


def bounds(outcome: Outcome, values: Floats, statuses: pd.Series) -> tuple[Estimate, Estimate]:
    """The outcome if all unread answers were at the lower, and at the upper, end of its scale."""
    known = values[~np.isnan(values)]
    n_unread = int((statuses.isin(UNREAD).to_numpy() & np.isnan(values)).sum())
    n = known.size + n_unread
    if not n:
        none = undefined("no answers", unit="answer", method="bound")
        return none, none
    method = "bound over answers without a value"
    low, high = (
        Estimate((float(known.sum()) + end * n_unread) / n, n=n, unit="answer", method=method)
        for end in outcome.scale
    )
    return low, high


def changes(change: Change, rows: pd.DataFrame) -> Estimate:
    """The share of questions whose answer changes with `across`, in the first asking."""
    answers = rows[rows["repeat"] == 0]
    if not tells_apart(change, answers):
        return undefined(_alike(change), unit=change.unit, method="share")
    by_question = answers.groupby(list(change.within), sort=False, dropna=False)[change.of]
    whole = by_question.agg(["size", "count", "nunique"])
    whole = whole[whole["size"] == 2]
    if whole.empty:
        return undefined(_one_way(change), unit=change.unit, method="share")
    known = whole[whole["count"] == 2]
    return wilson(int((known["nunique"] == 2).sum()), len(known), unit=change.unit).of("share")


def _one_way(change: Change) -> str:
    return f"every {change.unit} was asked in one {change.across.replace('_', ' ')}"


def _alike(change: Change) -> str:
    columns = ", ".join((*change.within, change.across))
    return f"several prompts are alike in {columns}: name in `within` what else tells them apart"


def status_counts(counts: Mapping[str, Mapping[str, int]]) -> Estimates:
    """What became of the askings.

    Args:
        counts: respondent to status to number.
    """
    found = Estimates()
    for respondent, mine in counts.items():
        found.add("counts", "planned", sum(mine.values()), respondent=respondent)
        for status in ANSWER_STATUSES:
            found.add("counts", status, int(mine.get(status, 0)), respondent=respondent)
    return found


def _add_outcome(
    found: Estimates,
    table: str,
    definition: Definition,
    name: str,
    outcome: Outcome,
    rows: pd.DataFrame,
    *,
    pooled: bool = False,
    side: Estimate | None = None,
    **keys: str,
) -> None:
    values = values_of(outcome, rows)
    found.add(table, name, side or _over_units_of(definition, outcome, rows), **keys)
    if outcome.over_answers and outcome.is_share:
        share = over_answers(values)
        found.add(table, f"{name}_answers", _without_limits(share) if pooled else share, **keys)
    if outcome.bounds and table == "outcomes":
        least, most = bounds(outcome, values, rows["status"])
        found.add(table, f"{name}_least", least, **keys)
        found.add(table, f"{name}_most", most, **keys)


def _without_limits(share: Estimate) -> Estimate:
    """The share of several models without Wilson's limits."""
    if not share.is_defined:
        return share
    reason = "the models answer the same prompts: no interval over answers"
    return Estimate(
        share.value, n=share.n, unit=share.unit, method="share of several models", reason=reason
    )


def _add_parts(
    found: Estimates,
    definition: Definition,
    frame: pd.DataFrame,
    rows_of: Mapping[str, pd.DataFrame],
) -> None:
    outcomes = {name: one for name, one in definition.read_outcomes.items() if one.parts}
    if not outcomes:
        return
    for crossed in definition.by:
        factor, names = CROSS.join(crossed), list(crossed)
        groups: list[tuple[str, pd.DataFrame]] = [("", frame)]
        if len(rows_of) > 1:
            groups += rows_of.items()
        parts: dict[str, None] = {}
        split: dict[str, dict[str, pd.DataFrame]] = {}
        for respondent, rows in groups:
            mine = split.setdefault(respondent, {})
            for key, part in rows.groupby(names, sort=False, dropna=True):
                value = CROSS.join(map(str, key if isinstance(key, tuple) else (key,)))
                mine[value] = part
                parts[value] = None
        for value in parts:
            for respondent, _ in groups:
                part = split[respondent].get(value, frame.iloc[:0])
                for name, outcome in outcomes.items():
                    _add_outcome(
                        found, "parts", definition, name, outcome, part,
                        pooled=len(rows_of) > 1 and not respondent, respondent=respondent,
                        factor=factor, group=value,
                    )  # fmt: skip


def _add_paper(
    found: Estimates, name: str, outcome: Outcome, rows_of: Mapping[str, pd.DataFrame]
) -> None:
    """Chi-square of all models, and of every pair with Bonferroni's correction.

    As papers have it: it takes answers for independent, and is too ready to find a difference.
    """
    counts = []
    for rows in rows_of.values():
        values = values_of(outcome, rows)
        counts.append([np.nansum(values), np.nansum(1 - values)])
    for who in ((), *combinations(range(len(rows_of)), 2)):
        test = chi_square_test(np.asarray(counts)[list(who) or slice(None)])
        respondents = list(rows_of)
        keys = dict(zip(("respondent", "baseline"), (respondents[k] for k in who), strict=False))
        k = math.comb(len(rows_of), 2) if who else 1
        row = Estimate(
            test.statistic, n=test.n, unit="answer", reason=test.reason,
            method="chi-square, answers taken for independent",
            p=float(np.minimum(1.0, k * test.p)),
            p_method=f"chi-square, {test.df} df{', Bonferroni' if k > 1 else ''}",
        )  # fmt: skip
        found.add("paper", "chi_square", row, factor=name, **keys)


def _add_agreement(
    found: Estimates,
    definition: Definition,
    answers: pd.DataFrame,
    votes: Iterable[Mapping[str, Any]],
) -> None:
    judged = answers["judging"][answers["judging"] != ""]
    for outcome, n in judged.value_counts().sort_index().items():
        found.add("judges", "answers", int(n), factor="rulings", group=str(outcome))
    pairs = _vote_pairs(votes)
    for name, agreement in definition.agreement.items():
        given = [
            (str(one[agreement.of]), str(other[agreement.of]))
            for one, other in pairs
            if agreement.of in one and agreement.of in other
        ]
        if given:
            for measure, figure in agreement_of(agreement, given).items():
                found.add("judges", measure, figure, factor=name)


def _vote_pairs(votes: Iterable[Mapping[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What the first two judges said, once a distinct question that both gave a vote on."""
    said: dict[str, dict[str, str]] = {}
    for vote in votes:
        if vote["value"] and vote["slot"] in ("first", "second"):
            said.setdefault(vote["question"], {}).setdefault(vote["slot"], vote["value"])
    return [
        (json.loads(values["first"]), json.loads(values["second"]))
        for values in said.values()
        if len(values) == 2
    ]


def agreement_of(agreement: Agreement, pairs: Sequence[tuple[str, str]]) -> dict[str, Estimate]:
    """How far two judges agree: share, Cohen's kappa, Gwet's AC1.

    Args:
        agreement: on what.
        pairs: what the two said to each distinct question.
    """
    levels = {level: k for k, level in enumerate(agreement.levels)}
    codes = np.asarray(
        [[levels[one], levels[other]] for one, other in pairs if {one, other} <= levels.keys()],
        dtype=np.int64,
    ).reshape(-1, 2)
    names = list(range(len(levels)))
    if agreement.values:
        inside = [levels[value] for value in agreement.values]
        codes, names = np.isin(codes, inside).astype(np.int64), [0, 1]
    n = len(codes)
    same = wilson(int((codes[:, 0] == codes[:, 1]).sum()), n, unit="question").of("share")
    kappa = cohen_kappa(codes[:, 0], codes[:, 1])
    ac1 = gwet_ac2(codes.T.astype(np.float64), labels=[float(name) for name in names])
    return {
        "same": same,
        "kappa": _coefficient(kappa, n, "Cohen's kappa"),
        "ac1": _coefficient(ac1, n, "Gwet's AC1 (AC2 with identity weights)"),
    }


def _coefficient(value: float, n: int, method: str) -> Estimate:
    if math.isnan(value):
        reason = "both judges gave one category only"
        return undefined(reason, unit="question", method=method, n=n)
    return Estimate(value, n=n, unit="question", method=method)
