"""How far people agree with each other: the tables "people", "raters" and "calibration items"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from ..aggregation.agreement import Level, gwet_ac2, icc_one_way, krippendorff_alpha
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.jackknife import recomputed, verdict_limits
from ..aggregation.kendall import PairwiseTau, pairwise_tau
from ..aggregation.multiplicity import holm
from ..aggregation.pair_counting import round_ties
from ..aggregation.rater_effects import rater_severities
from ..aggregation.ratings import Ratings, by_place, constant_raters, n_too_large, rotation_of
from ..errors import InputError
from ..formats import interval, number, words
from ..records.estimates import Estimates, select
from .dataset import COMPOSITE, CalibrationRatings, Dataset, Target, keys_of, on_one_scale
from .responses import HUMAN, MODEL

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

MOST_FOR_INTERVALS = 100_000
"""Ratings up to which alpha and AC2 are computed anew without each block of prompts."""

MOST_CATEGORIES = 101
"""Different values up to which AC2 is given: it is a coefficient for categories."""

EVERY = "all"
"""The criterion of figures over all scored criteria together."""

ALIKE: Final = "alike"
"""The verdict on raters who do not differ in strictness: their ids may be places, not persons."""

ALIKE_SHIFT: Final = 0.1
"""Standard deviations within responses below which a rater's strictness is none."""

ALIKE_RESPONSES: Final = 400
"""Responses from which on such a small difference in strictness would be seen."""

MOST_ALIKE: Final = 10
"""Raters beyond whom ids are not taken for places."""

UNNAMED: Final = "the raters are unnamed: another person may have rated each response"

ITEMS = "calibration items"
"""The table of packets that were mixed in unmarked."""


def add_people(
    out: Estimates,
    dataset: Dataset,
    *,
    target: Target | None = None,
    level: float = 0.95,
) -> None:
    """Adds how far people agree on every criterion they rated, and on the target first.

    The target may be one that was made of their ratings, such as the mean over the criteria.

    One million ratings take well under a minute: nothing of the size raters x responses is made.
    """
    if target is not None and target.ratings.criterion == COMPOSITE:
        add_criterion(out, target.ratings, dataset, level=level)
    pairs = [pairwise_tau(one, level=level) for one in dataset.ratings]
    is_unnamed = dataset.has_unnamed_raters
    one_way = [icc_one_way(one, level=level) for one in dataset.ratings if is_unnamed]
    tested = tested_below_chance([one for one, _ in one_way] or [one.tau for one in pairs])
    for k, ratings in enumerate(dataset.ratings):
        if is_unnamed:
            add_criterion(
                out, ratings, dataset, pairs=pairs[k], one_way=(tested[k], one_way[k][1]),
                level=level,
            )  # fmt: skip
            out.add("raters", "deviation", undefined(UNNAMED), **keys_of(ratings))
            continue
        tau = replace(pairs[k], tau=tested[k])
        add_criterion(out, ratings, dataset, pairs=tau, level=level)
        add_rater_effects(out, ratings, dataset.rater_ids, level=level)
    scored = [one for one in dataset.ratings if one.kind == "score"]
    keys = {"criterion": EVERY, "detail": "score"}
    if not is_unnamed and (shift := _largest_shift(scored)) is not None:
        out.add("people", "largest_shift", shift, **keys)
    alike = on_one_scale(scored, dataset.scale)
    if alike is None:
        why = "criteria are on different scales, and one of these is not known"
        out.add("people", "alpha_interval", undefined(why), **keys)
        return
    scored = [replace(one, value=round_ties(one.value)) for one in alike[0]]
    if len(scored) > 1:
        out.add("people", "alpha_interval", _pooled_alpha(scored, level), **keys)


BELOW_CHANCE: Final = "below chance"
"""The verdict on raters who order responses against each other."""

BELOW_CHANCE_ALPHA: Final = 0.01


def tested_below_chance(agreements: Sequence[Estimate]) -> list[Estimate]:
    """Returns the agreement of raters by criterion, each with the test that it is below chance.

    One-sided t on the jackknife's error, Holm over criteria, at .01. Raters may agree little, but
    there is hardly a way to disagree by system: it is a mistake in the table. The verdict falls in
    .026, .024, .014 of worlds whose raters draw lots on four criteria, and in .444, .957, 1.000 of
    those in which one of three raters is turned round on one of them (9, 26, 100 prompts of six;
    2,000 worlds, Monte Carlo error at most .011; benchmarks/simulate_calibration.py).
    """
    p = []
    for one in agreements:
        low, high = verdict_limits(one)
        if one.se > 0:
            p.append(float(stdtr(one.n - 1, one.value / one.se)))
        else:
            p.append(math.nan if math.isnan(low) else float(high >= 0))
    tested = [k for k, one in enumerate(p) if not math.isnan(one)]
    adjusted = np.full(len(p), math.nan)
    adjusted[tested] = holm([p[k] for k in tested])
    return [
        replace(
            one, p=own, p_adjusted=all_in, p_method="t, one-sided: below 0",
            family="criteria, Holm", verdict=BELOW_CHANCE if all_in < BELOW_CHANCE_ALPHA else None,
        )
        for one, own, all_in in zip(agreements, p, adjusted.tolist(), strict=True)
    ]  # fmt: skip


class Contradiction(NamedTuple):
    """A criterion on which people agree less than chance: what they gave, and the figure."""

    criterion: str
    kind: str
    figure: str


def contradictions(estimates: pd.DataFrame) -> list[Contradiction]:
    """Returns the criteria on which people agree less than chance would have them."""
    return [
        Contradiction(
            str(row["criterion"]),
            kind or str(row["detail"]),
            f"{name} {number(row['value'])} {interval(row['low'], row['high'])}",
        )
        for table, measure, kind, name in (
            ("people", "tau", "", "tau"),
            ("people", "icc_one_way", "", "ICC(1)"),
            ("label people", "alpha", "label", "alpha"),
            ("preferences", "kappa", "preference", "kappa"),
        )
        for row in select(
            estimates, table, measure=measure, verdict=BELOW_CHANCE
        ).to_dict("records")
    ]  # fmt: skip


def none_left(refused: Sequence[Contradiction]) -> InputError:
    """Returns the error that nothing is left to calibrate on."""
    return InputError(
        [
            f"{words(one.criterion)} ({one.kind}s): people agree less than chance would have them, "
            f"{one.figure}"
            for one in refused
        ],
        hint=f"Nothing is left to be calibrated. Likely: {BELOW_CHANCE_CAUSES}.\n"
        "areopagus humans inspect shows what was read.",
    )


BELOW_CHANCE_CAUSES: Final = (
    "ratings beside the wrong responses (a wrong join), columns that are no raters (a number, a "
    "time), or a rater for whom 1 is the best"
)


def _largest_shift(scored: Sequence[Ratings]) -> Estimate | None:
    """How far the strictest or mildest rater is from the others on any criterion, in spreads.

    The spread is the standard deviation of ratings of one response. None unless a few raters all
    rated many responses. The verdict is `ALIKE` below `ALIKE_SHIFT`: of SummEval's ratings the
    three experts differ by .20 to .45 on each criterion, the five places of crowd workers by .05
    at most, and HANNA's three places by .08.
    """
    shifts = []
    for ratings in scored:
        m, n = ratings.n_raters, ratings.n_responses
        if not (1 < m <= MOST_ALIKE and n >= ALIKE_RESPONSES and len(ratings) == m * n):
            return None
        table = ratings.value[np.lexsort((ratings.rater, ratings.response))].reshape(n, m)
        apart = table - table.mean(axis=1, keepdims=True)
        spread = math.sqrt(float((apart**2).sum()) / (n * (m - 1)))
        if spread == 0:
            return None
        shifts.append(float(np.abs(apart.mean(axis=0)).max()) / spread)
    if not shifts:
        return None
    return Estimate(
        max(shifts), n=scored[0].n_responses, unit="response",
        method="largest difference of a rater's mean from that of all, in standard deviations of "
        "ratings of one response",
        reason="a description of these ratings: no interval",
        verdict=ALIKE if max(shifts) < ALIKE_SHIFT else None,
    )  # fmt: skip


def add_criterion(
    out: Estimates,
    ratings: Ratings,
    dataset: Dataset,
    *,
    pairs: PairwiseTau | None = None,
    one_way: tuple[Estimate, Estimate] | None = None,
    level: float = 0.95,
) -> None:
    """Adds the agreement of people on one criterion, one coefficient for each question.

    tau             do two raters order the responses of a prompt alike? Mean over pairs of raters.
    alpha_interval  do they give the same level? Over all responses, so that differences between
                    prompts count as agreement. Ranks have no equal distances: of them it is
                    alpha_ordinal.
    ac2             is alpha low only because one value prevails? Gwet's AC2 is then high.
    mean_worth      would the mean of a response's m raters come out again? By Spearman and Brown,
                    m alpha / (1 + (m - 1) alpha), with alpha's interval carried through.

    Of unnamed raters ICC(1) and ICC(1,m) of `icc_one_way` stand beside tau of their places, as they
    do not ask who rated. How many rankings are incomplete, gapped, or reach beyond the number of
    responses is counted (`ranked_among_all`), and what each rater saw in a rotation.
    """
    table, prompt = by_place(ratings), _prompt_of_columns(ratings)
    pairs = pairs or pairwise_tau(ratings, level=level)
    n_pairs, m = pairs.n_pairs_defined, len(ratings) / ratings.n_responses
    metric: Level = "interval" if ratings.kind == "score" else "ordinal"
    alpha = _alpha(table, prompt, metric, level)
    figures: dict[str, Estimate | float] = {
        "n_ratings": len(ratings),
        "n_raters": ratings.n_raters,
        "n_prompts": ratings.n_prompts,
        "n_responses": ratings.n_responses,
        "n_too_large": n_too_large(ratings),
        "raters_a_response": m,
        "tau": pairs.tau,
        f"alpha_{metric}": alpha,
        "ac2": _ac2(table, prompt, ratings, dataset.scale_of(ratings.criterion), level),
        "mean_worth": _spearman_brown(alpha, m),
    }
    if dataset.has_unnamed_raters:
        single, mean = one_way or icc_one_way(ratings, level=level)
        figures |= {"icc_one_way": single, "icc_one_way_mean": mean}
        return out.add_all("people", figures, **keys_of(ratings))
    figures |= {
        "n_rater_pairs": Estimate(
            n_pairs, n=n_pairs, n_planned=n_pairs + pairs.n_pairs_undefined, unit="rater pair",
            method="pairs of raters that met and have a tau", level=math.nan,
        ),
        "n_constant": len(constant_raters(ratings)),
    }  # fmt: skip
    if (rotation := rotation_of(ratings)) is not None:
        figures |= {
            "n_rotated": rotation.n_prompts,
            "n_balanced": rotation.n_balanced,
            "seen_least": rotation.seen[0],
            "seen_most": rotation.seen[1],
            "responses_least": rotation.responses[0],
            "responses_most": rotation.responses[1],
        }
    if (rankings := ratings.rankings) is not None:
        figures |= {
            "n_rankings": rankings.n,
            "n_incomplete": rankings.n_incomplete,
            "n_gapped": rankings.n_gapped,
            "n_beyond": rankings.n_beyond,
        }
    return out.add_all("people", figures, **keys_of(ratings))


def _prompt_of_columns(ratings: Ratings) -> npt.NDArray[np.int64]:
    _, first = np.unique(ratings.response, return_index=True)
    return ratings.prompt[first]


def _with_interval(
    table: Floats,
    prompt: npt.NDArray[np.int64],
    statistic: str,
    value_of: _Statistic,
    level: float,
    why_undefined: str,
) -> Estimate:
    several = (~np.isnan(table)).sum(axis=0) >= 2
    n = len(np.unique(prompt[several]))
    value = value_of(table)
    if math.isnan(value):
        return Estimate(value, n=n, unit="prompt", method=statistic, reason=why_undefined)
    if int((~np.isnan(table)).sum()) > MOST_FOR_INTERVALS:
        return Estimate(
            value, n=n, unit="prompt", method=statistic,
            reason=f"no interval: more than {MOST_FOR_INTERVALS:,} ratings",
        )  # fmt: skip
    table, prompt = table[:, several], prompt[several]
    return recomputed(
        lambda mask: value_of(table[:, mask]), prompt, method=statistic, level=level,
        bounds=(-math.inf, 1.0),
    )  # fmt: skip


class _Statistic:
    """A coefficient of a table of ratings, with its options."""

    def __init__(self, level: Level | None, labels: tuple[float, ...] | None = None) -> None:
        self._level: Level | None = level
        self._labels = labels

    def __call__(self, table: Floats) -> float:
        if self._level is not None:
            return krippendorff_alpha(table, self._level)
        return gwet_ac2(table, weights="quadratic", labels=self._labels)


def _alpha(
    table: Floats | None, prompt: npt.NDArray[np.int64], metric: Level, level: float
) -> Estimate:
    name = f"Krippendorff's alpha, {metric}"
    if table is None:
        return undefined("one response has too many ratings", method=name)
    return _with_interval(
        table, prompt, name, _Statistic(metric), level,
        "only one value is used, or no response has two ratings: 0 / 0",
    )  # fmt: skip


def _ac2(
    table: Floats | None, prompt: npt.NDArray[np.int64], ratings: Ratings,
    scale: tuple[float, float] | None, level: float,
) -> Estimate:  # fmt: skip
    name = "Gwet's AC2, quadratic weights"
    if table is None:
        return undefined("one response has too many ratings", method=name)
    values = np.unique(ratings.value)
    labels: tuple[float, ...] | None = None
    if ratings.kind == "score" and scale is not None and bool((values == np.round(values)).all()):
        low, high = math.ceil(scale[0]), math.floor(scale[1])
        if values[0] >= low and values[-1] <= high:
            labels = tuple(float(k) for k in range(low, high + 1))
    if labels is None:
        labels = tuple(values.tolist())
        name += " over the values in use"
    if len(labels) > MOST_CATEGORIES:
        return undefined(
            f"more than {MOST_CATEGORIES} different values are no categories", method=name
        )
    return _with_interval(
        table, prompt, name, _Statistic(None, labels), level,
        "only one value is used, or no response has two ratings",
    )  # fmt: skip


def _spearman_brown(alpha: Estimate, raters: float) -> Estimate:
    def of(one: float) -> float:
        return raters * one / (1 + (raters - 1) * one) if one > 0 else math.nan

    method = f"Spearman-Brown: the mean of {raters:.3g} raters, from {alpha.method}"
    reason = alpha.reason
    if alpha.is_defined and not alpha.value > 0:
        reason = "alpha is not positive: these raters measure nothing in common"
    low = max(alpha.low, 0.0) if alpha.has_interval else math.nan
    return Estimate(
        of(alpha.value), 0.0 if low == 0 else of(low), of(alpha.high), alpha.n, alpha.unit, method,
        alpha.level, reason,
    )  # fmt: skip


def _pooled_alpha(scored: list[Ratings], level: float) -> Estimate:
    width = 1 + max(int(one.response.max()) for one in scored)
    together = Ratings(
        "all", "score",
        np.concatenate([one.rater for one in scored]),
        np.concatenate([one.response + k * width for k, one in enumerate(scored)]),
        np.concatenate([one.prompt for one in scored]),
        np.concatenate([one.value for one in scored]),
    )  # fmt: skip
    table = by_place(together)
    return _alpha(table, _prompt_of_columns(together), "interval", level)


def add_rater_effects(
    out: Estimates, ratings: Ratings, rater_ids: tuple[str, ...], *, level: float = 0.95
) -> None:
    """Adds the table "raters": the severity of each, harshest first.

    deviation  of `rater_severities`; "constant" is the verdict on who gives one value throughout:
               that is no severity, and every figure of the rater is undefined

    Why there are no severities stands in a row without a rater.
    """
    keys = keys_of(ratings)
    severities = rater_severities(ratings, level=level)
    for code, deviation in zip(severities.raters, severities.deviation, strict=True):
        out.add("raters", "deviation", deviation, rater=rater_ids[code], **keys)
    if severities.reason is not None:
        out.add("raters", "deviation", undefined(severities.reason), **keys)
    if severities.n_groups > 1:
        out.add("people", "n_groups_apart", severities.n_groups, **keys)
    for code in constant_raters(ratings).tolist():
        none = undefined(
            "gives one value throughout: that is no severity",
            n=int((ratings.rater == code).sum()),
        )
        none = replace(none, verdict="constant")
        out.add("raters", "deviation", none, rater=rater_ids[code], **keys)


WEAK_WORDS = ("floor", "weak", "degraded", "low_quality", "low-quality")
"""In the id or the model of a response, capitals aside: it was made weak on purpose. Where a column
`item_role` says of any response of the item what it is there for, that holds instead."""

ALL_ALIKE = "(all alike)"
"""In the place of the lowest response where every response has the same mean."""


def add_calibration_items(out: Estimates, dataset: Dataset) -> None:
    """Adds every calibration item, by criterion and prompt.

    The key `group` says what the item is there for: "quality floor" (some response was made weak
    on purpose), "all models" (no person's response among them), or "other".

    lowest           the lowest mean; its verdict is that response, or `ALL_ALIKE`
    floor_last       share of raters who put the weak response last (alone or with others), among
                     those who put anything before anything; its verdict is that response
    gap_to_standard  mean score of models here less that of models on standard items: raters who
                     mark responses down for being a model's would lift them where only models stand
    n_tied           raters who gave all responses of the item one value: they put nothing last
    """
    found = dataset.calibration
    for ratings in found.ratings if found is not None else ():
        for code in np.unique(ratings.prompt).tolist():
            _add_item(out, dataset, ratings.select(ratings.prompt == code), code)


def _add_item(out: Estimates, dataset: Dataset, mine: Ratings, code: int) -> None:
    found = dataset.calibration
    if found is None:
        return
    responses = np.unique(mine.response)
    item_type = found.item_type[int(responses[0])]
    mean, _ = mine.mean_by_response(len(found.responses))
    lowest = int(responses[np.argmin(mean[responses])])
    all_models = bool((found.responses.source[responses] == MODEL).all())
    weak = _weak(found, responses.tolist())
    is_floor = bool(weak) or any(word in item_type.lower() for word in ("floor", "quality"))
    is_alike = np.ptp(mean[responses]) == 0 and len(responses) > 1
    figures: dict[str, Estimate | float] = {
        "n_raters": mine.n_raters,
        "n_responses": len(responses),
        "lowest": Estimate(
            float(mean[lowest]),
            n=int((mine.response == lowest).sum()),
            unit="rating",
            method="mean rating of the lowest response",
            reason="one item: a description",
            verdict=ALL_ALIKE if is_alike else found.responses.ids[lowest],
        ),
    }
    if is_floor:
        floor_last, n_tied = undefined("no response is marked as the weak one", unit="rater"), 0
        if weak:
            shares, n_tied = _last_shares(mine, weak[0])
            why = "one item: a description"
            if not shares:
                why = (
                    "every rater ties all responses" if n_tied else "nobody rated it beside another"
                )
            floor_last = Estimate(
                float(np.mean(shares)) if shares else float("nan"), n=len(shares), unit="rater",
                method="share of raters who put the weak response last", reason=why,
                verdict=found.responses.ids[weak[0]],
            )  # fmt: skip
        figures |= {"floor_last": floor_last, "n_tied": n_tied}
    if all_models:
        figures["gap_to_standard"] = _gap(dataset, mine)
    keys = {
        "item": found.responses.prompt_ids[code],
        "factor": item_type,
        "group": "quality floor" if is_floor else "all models" if all_models else "other",
        **keys_of(mine),
    }
    out.add_all(ITEMS, figures, **keys)


def _weak(found: CalibrationRatings, responses: list[int]) -> list[int]:
    """The responses made weak on purpose: by their role, else by the words in id and model."""
    if any(found.item_role[r] for r in responses):
        return [r for r in responses if _says_weak(found.item_role[r])]
    names = found.responses
    return [r for r in responses if _says_weak(names.ids[r]) or _says_weak(names.respondent[r])]


def _says_weak(text: str | None) -> bool:
    return any(word in (text or "").lower() for word in WEAK_WORDS)


def _last_shares(ratings: Ratings, weak: int) -> tuple[list[float], int]:
    """1 for each rater who put it last, 0 for who did not; and how many tied everything."""
    shares, n_tied = [], 0
    for rater in np.unique(ratings.rater).tolist():
        mine = ratings.rater == rater
        values, responses = ratings.value[mine], ratings.response[mine]
        if len(values) < 2 or not (responses == weak).any():
            continue
        if values.min() == values.max():
            n_tied += 1
        else:
            shares.append(float(values[responses == weak][0] <= values.min()))
    return shares, n_tied


def _gap(dataset: Dataset, mine: Ratings) -> Estimate:
    method = "mean rating of models on this item less that of models on standard items"
    if mine.kind == "rank":
        return undefined(
            "ranks among models only hold no level to compare", unit="rating", method=method
        )
    standard = [
        one for one in dataset.ratings
        if (one.criterion, one.kind) == (mine.criterion, mine.kind)
    ]  # fmt: skip
    if not standard or not (dataset.responses.source == HUMAN).any():
        return undefined("no standard item holds both sources", unit="rating", method=method)
    of_models = dataset.responses.source[standard[0].response] == MODEL
    if not of_models.any():
        return undefined("no standard item holds a model", unit="rating", method=method)
    return Estimate(
        float(mine.value.mean() - standard[0].value[of_models].mean()), n=len(mine), unit="rating",
        method=method, reason="one prompt: no interval",
    )  # fmt: skip
