"""The estimates of an audit, from its definition and its answers.

    counts        what became of the askings, by respondent
    outcomes      every outcome and change of the definition, by respondent
    shares        shares of the values of a column, by respondent
    parts         the outcomes by part of the prompts
    models        whether respondents differ in an outcome: all of them, and every pair
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
from itertools import combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..aggregation.agreement import cohen_kappa, gwet_ac2
from ..aggregation.clustered import clustered_proportion
from ..aggregation.crossed import crossed_mean, crossed_share
from ..aggregation.effects import consistent, effect_verdict, t_test
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import t_interval
from ..aggregation.jackknife import cut_to_range
from ..aggregation.multiplicity import bonferroni, holm
from ..aggregation.proportions import (
    chi_square_test,
    cochran_q,
    mcnemar_test,
    paired_difference,
    wilson,
)
from ..aggregation.sign_flips import sign_flip_tests
from ..formats import units
from ..records.estimates import Estimates
from .audit import ANSWER_STATUSES
from .contrasts import UNREAD, add_contrast, values_of
from .decisions import ALPHA, decided, is_shown
from .definition import Agreement, Change, Definition, Outcome

Floats = npt.NDArray[np.float64]

OWN_COLUMNS: Final = ("item_id", "target", "repeat", "status", "by", "judging")
CROSS: Final = " x "
"""Between the columns, and the values, of crossed parts."""


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
            if change.lean:
                way = lean(change, rows, definition.unit_word, definition.resamples)
                found.add("outcomes", f"{name}_lean", way, respondent=respondent)
        for name, shares in definition.shares.items():
            column = rows[shares.of]
            for level in shares.levels:
                values = np.where(column.isna(), np.nan, column == level).astype(np.float64)
                found.add(
                    "shares", "share", over_answers(values), respondent=respondent, factor=name,
                    group=level,
                )  # fmt: skip
    for name, contrast in definition.contrasts.items():
        add_contrast(found, definition, name, contrast, frame, respondents)
    _add_parts(found, definition, frame, rows_of)
    if len(respondents) > 1:
        for name, outcome in definition.read_outcomes.items():
            if outcome.compare and outcome.is_share:
                _compare_shares(found, definition, name, outcome, frame, respondents)
    _add_agreement(found, definition, frame, votes)
    return found


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
) -> Estimate:
    """The outcome with its interval over units, and the test of no preference if it has one.

    Args:
        outcome: which.
        values: one an answer; nan is missing.
        units: of the answers.
        unit: what one is called.
        crossed: columns of what stands in answers of several units, see `Definition.crossed`.
    """
    found = _over_units(outcome, values, units, unit, crossed)
    return cut_to_range(found, outcome.scale)


def _over_units(
    outcome: Outcome,
    values: Floats,
    units: Sequence[str],
    unit: str,
    crossed: Sequence[Sequence[str | None]],
) -> Estimate:
    null = outcome.neutral
    if crossed and outcome.is_share:
        return crossed_share(values, [[units], crossed], unit=unit, null=null).of("share")
    if crossed:
        middle = 0.0 if null is None else null
        found = crossed_mean(values - middle, [[units], crossed], unit=unit)
        found = replace(
            found, value=found.value + middle, low=found.low + middle, high=found.high + middle
        )
        return found.of("mean") if null is not None else replace(found, p=math.nan).of("mean")
    if outcome.is_share:
        return clustered_proportion(values, units, unit=unit, null=null).of("share")
    means = pd.Series(values).groupby(np.asarray(units, dtype=object), sort=False).mean()
    found = t_interval(means.to_numpy(), unit=unit).of(f"mean of each {unit}, then over them")
    if null is None:
        return found
    known = np.asarray(means.dropna().to_numpy(), dtype=np.float64)
    _, p = t_test(known - np.float64(null))
    return replace(found, p=p, p_method=f"t over {unit}s")


def crossed_of(definition: Definition, rows: pd.DataFrame) -> list[list[str | None]]:
    """What stands in the answers of several units, a column each; None where nothing does."""
    return [
        [one if isinstance(one, str) else None for one in rows[column].tolist()]
        for column in definition.crossed
    ]


def _sides(
    definition: Definition, rows_of: Mapping[str, pd.DataFrame]
) -> dict[tuple[str, str], Estimate]:
    """(respondent, outcome) to the outcomes with a value of no preference, and which are off it.

    They are one family: whoever reads them looks for any respondent that takes any side.
    """
    neutral = {n: one for n, one in definition.read_outcomes.items() if one.neutral is not None}
    places = [(who, name) for name in neutral for who in rows_of]
    raw = [
        over_units(
            neutral[name], values_of(neutral[name], rows_of[who]), rows_of[who]["_unit"].tolist(),
            definition.unit_word, crossed_of(definition, rows_of[who]),
        )
        for who, name in places
    ]  # fmt: skip
    nulls = [neutral[name].neutral or 0.0 for _, name in places]
    family = f"Holm over {units(len(raw), 'preference')}"
    return dict(zip(places, decided(raw, [family] * len(raw), nulls=nulls), strict=True))


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
        reason = f"every {change.unit} was asked in one {change.across.replace('_', ' ')}"
        return undefined(reason, unit=change.unit, method="share")
    known = whole[whole["count"] == 2]
    return wilson(int((known["nunique"] == 2).sum()), len(known), unit=change.unit).of("share")


def lean(change: Change, rows: pd.DataFrame, unit: str, resamples: int) -> Estimate:
    """Which way answers change: share of `lean` where `across` is `first`, less that of the other.

    In the first asking, over questions with an answer in both, the definition's unit being what is
    independent.
    """
    answers = rows[rows["repeat"] == 0]
    if not tells_apart(change, answers):
        return undefined(_alike(change), unit=unit, method="difference of shares")
    found = lean_gaps(change, answers)
    if found is None:
        reason = f"every {change.unit} was asked in one {change.across.replace('_', ' ')}"
        return undefined(reason, unit=unit, method="difference of shares")
    return unit_difference(found.to_numpy(dtype=np.float64), list(found.index), unit, resamples)


def lean_gaps(change: Change, answers: pd.DataFrame) -> pd.Series | None:
    """Question by question, 1 where only the asking at `first` leans, -1 where only the other does.

    Args:
        change: with `lean`.
        answers: of one asking, `_unit` among the columns.

    Returns:
        By unit; nan for a question without an answer in both. None where all were asked one way.
    """
    known = answers[answers[change.of].notna()]
    wide = known.assign(_is=known[change.of].astype("string").isin(change.lean).astype(float))
    wide = wide.pivot_table(
        index=[*change.within, "_unit"], columns=change.across, values="_is", aggfunc="last"
    )
    others = [column for column in wide if column != change.first]
    if change.first not in wide or len(others) != 1:
        return None
    gaps: pd.Series = (wide[change.first] - wide[others[0]]).droplevel([*change.within])
    return gaps


def tells_apart(change: Change, answers: pd.DataFrame) -> bool:
    """Whether the columns of a change tell every two prompts apart: else no pair is known."""
    return not answers.duplicated([*change.within, change.across]).any()


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
    units = rows["_unit"].tolist()
    crossed = crossed_of(definition, rows)
    whole = side or over_units(outcome, values, units, definition.unit_word, crossed)
    found.add(table, name, whole, **keys)
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


def by_model(
    outcome: Outcome, frame: pd.DataFrame, respondents: Sequence[str]
) -> tuple[Floats, list[str]]:
    """The outcome, (respondents, prompts, repeats) with nan where it is missing; units of prompts.

    Prompts stand in the order of the answers.
    """
    items, names = pd.factorize(frame["item_id"])
    places = frame["target"].map({name: k for k, name in enumerate(respondents)})
    is_asked = places.notna().to_numpy()
    repeats = frame["repeat"].to_numpy(dtype=np.int64)
    values = np.full((len(respondents), len(names), int(repeats.max(initial=0)) + 1), np.nan)
    at = (places[is_asked].to_numpy(dtype=np.int64), items[is_asked], repeats[is_asked])
    values[at] = values_of(outcome, frame)[is_asked]
    return values, frame.drop_duplicates("item_id")["_unit"].tolist()


def _compare_shares(
    found: Estimates,
    definition: Definition,
    name: str,
    outcome: Outcome,
    frame: pd.DataFrame,
    respondents: Sequence[str],
) -> None:
    """The paper's chi-square, and tests that know that all models answer the same prompts.

    With repeats, chi-square counts all answers, Cochran's Q and McNemar take the first asking, and
    the permutations take the shares over repeats.
    """
    unit, resamples = definition.unit_word, definition.resamples
    values, units = by_model(outcome, frame, respondents)
    counts = np.stack([np.nansum(values, axis=(1, 2)), np.nansum(1 - values, axis=(1, 2))], axis=1)
    known = (~np.isnan(values)).sum(axis=2)
    means = np.full(known.shape, np.nan)
    np.divide(np.nansum(values, axis=2), known, out=means, where=known > 0)
    first = values[:, :, 0]
    whole = chi_square_test(counts, resamples=resamples)
    chi = _tested(
        whole.statistic, whole.p, n=whole.n, unit="answer", reason=whole.reason,
        method="chi-square, answers taken for independent", p_method=whole.method,
    )  # fmt: skip
    found.add("models", "chi_square", chi, factor=name)
    found.add("models", "chi_square_df", whole.df, factor=name)
    paired = cochran_q(first, resamples=0)
    q = _tested(
        paired.q, paired.p_chi2, n=paired.n, unit="prompt", reason=paired.reason,
        method="Cochran's Q", p_method=f"chi-square, {paired.df} df",
    )  # fmt: skip
    found.add("models", "cochran_q", q, factor=name)
    clustered = cochran_q(means, clusters=units, resamples=resamples)
    permuted = _tested(
        clustered.q, clustered.p_permutation, n=clustered.n_clusters, unit=unit,
        reason=clustered.reason or (None if resamples else "no permutations asked for"),
        method="Cochran's Q", p_method=f"{clustered.resamples:,} permutations of whole {unit}s",
    )  # fmt: skip
    found.add("models", "cochran_q_units", permuted, factor=name)
    _compare_pairs(found, definition, name, first, means, units, counts, respondents)


def _compare_pairs(
    found: Estimates,
    definition: Definition,
    name: str,
    first: Floats,
    means: Floats,
    units: Sequence[str],
    counts: Floats,
    respondents: Sequence[str],
) -> None:
    unit = definition.unit_word
    pairs = list(combinations(range(len(respondents)), 2))
    found.add("models", "alpha_bonferroni", ALPHA / len(pairs), factor=name)
    tests = [mcnemar_test(first[a], first[b]) for a, b in pairs]
    mid = np.asarray([test.p_mid for test in tests])
    gaps = [
        unit_difference(means[a] - means[b], units, unit, definition.resamples) for a, b in pairs
    ]
    independent = np.asarray([chi_square_test(counts[[a, b]], resamples=0).p for a, b in pairs])
    family = f"{len(pairs)} pair{'s' * (len(pairs) > 1)}"
    mid_holm, mid_bonferroni = holm(mid), bonferroni(mid)
    gaps_holm = holm([gap.p for gap in gaps])
    independent_bonferroni = bonferroni(independent)
    none = "no prompt on which the two differ"
    for at, (a, b) in enumerate(pairs):
        keys = {"respondent": respondents[a], "baseline": respondents[b], "factor": name}
        test, n = tests[at], tests[at].n
        gap = replace(gaps[at], p_adjusted=float(gaps_holm[at]), family=f"Holm over {family}")
        shown = is_shown(consistent(replace(gap, verdict=effect_verdict(gap))))
        verdict = "differs" if shown else "not shown to differ"
        found.add("models", "difference", replace(gap, verdict=verdict), **keys)
        over_prompts = paired_difference(test.only_a, test.only_b, n).of("difference of rates")
        found.add("models", "difference_prompts", over_prompts, **keys)
        found.add("models", "only_first", test.only_a, **keys)
        found.add("models", "only_second", test.only_b, **keys)
        for measure, p_adjusted, correction in (
            ("mcnemar", mid_holm[at], "Holm"),
            ("mcnemar_bonferroni", mid_bonferroni[at], "Bonferroni"),
        ):
            found.add(
                "models", measure,
                _tested(
                    test.statistic, test.p_mid, float(p_adjusted), n=n, unit="prompt", reason=none,
                    method="McNemar", p_method="mid-p", family=f"{correction} over {family}",
                ),
                **keys,
            )  # fmt: skip
        found.add(
            "models", "independent",
            _tested(
                float(independent[at]), float(independent[at]), float(independent_bonferroni[at]),
                n=n, unit="answer", reason=none, p_method="chi-square",
                method="p of a chi-square that takes answers for independent",
                family=f"Bonferroni over {family}",
            ),
            **keys,
        )  # fmt: skip


def unit_difference(gaps: Floats, units: Sequence[str], unit: str, resamples: int) -> Estimate:
    """The mean of differences of prompts with the unit as what is independent.

    The interval is of a ratio Σ d_u / Σ n_u over units, t with G − 1 degrees of freedom, cut at −1
    and 1, as differences of shares are; the test flips the signs of whole units' sums.

    Args:
        gaps: one a prompt; nan is missing.
        units: of the prompts.
        unit: what one is called.
        resamples: sign vectors beyond 30 units.
    """
    known = ~np.isnan(gaps)
    method = f"mean difference; 95% t over {unit}s"
    if not known.any():
        return undefined("no prompt in common", unit=unit, method=method)
    codes, names = pd.factorize(np.asarray(units, dtype=object)[known])
    sums, sizes = np.bincount(codes, weights=gaps[known]), np.bincount(codes)
    value, g = float(gaps[known].mean()), len(names)
    # The interval of Σ (d − mean) / n, which is 0, moved to where the mean is.
    rests = t_interval((sums - value * sizes) * g / sizes.sum(), unit=unit)
    found = Estimate(
        value, value + rests.low, value + rests.high, g, unit, method, reason=rests.reason
    )
    found = cut_to_range(found, (-1.0, 1.0))
    differing = sums[np.abs(sums) > 1e-12]
    if not differing.size:
        reason = f"no {unit} on which the two differ"
        return replace(found, low=math.nan, high=math.nan, reason=reason)
    # Units without a difference say nothing about its sign.
    test = sign_flip_tests(differing[:, None], flips=max(resamples, 999))
    return replace(found, p=float(test.p_value[0]), p_method=f"sign flips of {unit}s")


def _tested(
    value: float,
    p: float,
    p_adjusted: float = math.nan,
    *,
    n: int,
    unit: str,
    method: str,
    p_method: str,
    reason: str | None = None,
    family: str | None = None,
) -> Estimate:
    """A statistic with the p of its test; without it, with the reason."""
    if math.isnan(p):
        p_method, family = "", None
    return Estimate(
        float(value), n=n, unit=unit, method=method, p=float(p), p_adjusted=p_adjusted,
        p_method=p_method or None, family=family, reason=reason if math.isnan(p) else None,
    )  # fmt: skip


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
