"""The figures of the paper's human study, in its definitions, recomputed on these ratings.

They are printed for comparison and are not what this project recommends.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..aggregation.agreement import kendall_w_uncorrected, krippendorff_alpha
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import mean_by_prompt, t_interval
from ..aggregation.jackknife import ratio
from ..aggregation.kendall import kendall_tau_b, pairwise_tau
from ..aggregation.pair_counting import round_ties, sums_by_type
from ..aggregation.ratings import Ratings, by_place, prompt_tables
from ..records.estimates import Estimates
from .dataset import Dataset, Target, keys_of
from .responses import HUMAN, MODEL, Responses

Floats = npt.NDArray[np.float64]

TABLE = "paper"

MOST_PAIRS = 5000
"""Pairs of raters up to which the concatenated tau is computed."""


def add_paper(
    out: Estimates,
    dataset: Dataset,
    *,
    target: Target | None = None,
    inferred: Ratings | None = None,
    level: float = 0.95,
) -> None:
    """Adds the table "paper": the paper's definitions and figures, for comparison only.

    On every ranking: W on raw ranks without tie correction, pairwise tau-b on ranks concatenated
    over common prompts, ordinal alpha over raw ranks. Of the panel: tau-b with people's mean over
    all responses of all prompts at once, which differences between prompts inflate (paper: .666).
    On the overall ranking, else the first criterion: mean rank (1 = best) or score by source, by
    model and by domain; W and pairwise tau by domain; the share of model-person pairs (within rater
    and prompt) that the model wins, ties one half (paper: .744 of 1,170) and among untied pairs;
    the share of rankings with a model first, a shared first place counting by the models' share
    (paper: .808); and tau-b of scores that the panel inferred from raters' written justifications
    with people's mean (paper: .308).

    Measured coverage of the 95% intervals at 9, 26, 100 prompts (benchmarks/simulate.py
    calibration, 2,000 worlds, Monte Carlo error .005): pairs won .952, .948, .951; model first
    .950, .949, .944. By benchmarks/simulate.py study-cells (400 worlds, error .01): mean rank by
    source .953, .963, .953, by model .935 to .960; by domain, at 26 and 100 prompts, tau .940 to
    .960, means .930 to .978.

    Args:
        out: takes the figures.
        dataset: what was rated.
        target: what the panel is compared on; None of people alone.
        inferred: scores inferred from justifications, oriented like other ratings.
        level: of intervals.
    """
    for one in dataset.ratings:
        if one.kind == "rank":
            add_as_published(out, one)
    if target is not None and target.both.any():
        _add_panel_tau(out, target)
    if not dataset.ratings:
        return
    ratings, responses = dataset.ratings[0], dataset.responses
    keys = keys_of(ratings)
    _add_means(out, ratings, responses, level)
    _add_domains(out, ratings, responses, level)
    if responses.has_both_sources:
        _add_wins(out, ratings, responses, level)
        out.add(TABLE, "model_first", _firsts(ratings, responses, level), **keys)
    else:
        why = undefined("the sources of the responses are not known, or there is one only")
        out.add(TABLE, "model_wins", why, **keys)
    if inferred is not None:
        tau, within = _inferred(ratings, responses, inferred)
        out.add(TABLE, "inferred", tau, **keys)
        out.add(TABLE, "inferred_within", within, **keys)


def _add_panel_tau(out: Estimates, target: Target) -> None:
    both = target.both
    tau = kendall_tau_b(round_ties(target.panel[both]), round_ties(target.human[both]))
    pooled = Estimate(
        tau, n=int(both.sum()), unit="response",
        method="the paper's definition: tau-b over all responses of all prompts at once",
        reason="people or panel put all responses of all prompts level"
        if math.isnan(tau) else "prompts are not kept apart: no interval",
    )  # fmt: skip
    out.add(TABLE, "panel_tau", pooled, **keys_of(target.ratings))


def _add_means(out: Estimates, ratings: Ratings, responses: Responses, level: float) -> None:
    value = -ratings.value if ratings.kind == "rank" else ratings.value
    who = np.array([name or "" for name in responses.respondent], dtype=object)
    groups: dict[str, npt.NDArray[np.bool_]] = {}
    if responses.has_both_sources:
        groups = {"people": responses.source == HUMAN, "models": responses.source == MODEL}
    # people write a few responses each: they stand together, models one by one
    names = dict.fromkeys(
        name
        for name, source in zip(responses.respondent, responses.source.tolist(), strict=True)
        if name and source != HUMAN
    )
    if len(names) <= 50:
        groups |= {name: who == name for name in names}
    domain = np.array([name or "" for name in responses.domain], dtype=object)
    domains = [name for name in dict.fromkeys(domain.tolist()) if name]
    n_prompts = len(responses.prompt_ids)
    what = "mean rank" if ratings.kind == "rank" else "mean score"
    for group, mask in groups.items():
        for place in ("all", *domains):
            chosen = mask if place == "all" else mask & (domain == place)
            mine = chosen[ratings.response]
            if not mine.any():
                continue
            means = mean_by_prompt(value[mine], ratings.prompt[mine], n_prompts)
            found = t_interval(means, level=level).of(what)
            domain_of = {} if place == "all" else {"factor": "domain", "group": place}
            out.add(TABLE, "mean", found, respondent=group, **domain_of, **keys_of(ratings))


def _add_domains(out: Estimates, ratings: Ratings, responses: Responses, level: float) -> None:
    domain = np.array([name or "" for name in responses.domain], dtype=object)
    for name in dict.fromkeys(domain.tolist()):
        mine = ratings.select(domain[ratings.response] == name)
        if not name or not len(mine):
            continue
        figures = {"tau": pairwise_tau(mine, level=level).tau}
        if mine.kind == "rank":
            figures["w_raw_ranks"] = _w(mine)
        out.add_all(TABLE, figures, factor="domain", group=name, **keys_of(ratings))


def _cells(ratings: Ratings) -> npt.NDArray[np.int64]:
    """The rater-and-prompt cell of each rating: ratings are sorted by prompt and rater."""
    changes = np.ones(len(ratings), dtype=bool)
    changes[1:] = (np.diff(ratings.prompt) != 0) | (np.diff(ratings.rater) != 0)
    return np.cumsum(changes) - 1


def _add_wins(out: Estimates, ratings: Ratings, responses: Responses, level: float) -> None:
    """Cross pairs by counting: within a cell, how the sources' values fall against each other."""
    cell = _cells(ratings)
    source = responses.source[ratings.response]
    is_model = np.where(source == MODEL, 1.0, 0.0)
    n_cells = int(cell.max()) + 1
    cross = sums_by_type(is_model, ratings.value, cell, source, n_prompts=n_cells)["cross"]
    prompt_of_cell = np.zeros(n_cells, dtype=np.int64)
    prompt_of_cell[cell] = ratings.prompt
    size = len(responses.prompt_ids)
    won = np.bincount(prompt_of_cell, weights=cross.right, minlength=size)
    decided = np.bincount(prompt_of_cell, weights=cross.decided, minlength=size)
    people = np.bincount(cell[source == HUMAN], minlength=n_cells)
    models = np.bincount(cell[source == MODEL], minlength=n_cells)
    pairs = np.bincount(prompt_of_cell, weights=people * models, minlength=size).astype(np.float64)
    won_untied = np.asarray(won, dtype=np.float64)
    untied = np.asarray(decided, dtype=np.float64)
    n_pairs, n_tied = int(pairs.sum()), int((pairs - untied).sum())
    what = "model-person pairs won by the model"
    halves = won_untied + (pairs - untied) / 2
    figures: dict[str, Estimate | float] = {
        "model_wins": ratio(halves, pairs, level=level, method=f"share of {what}, ties one half"),
        "model_wins_untied": ratio(
            won_untied, untied, level=level, method=f"share of untied {what}"
        ),
        "n_pairs": n_pairs,
        "n_tied": n_tied,
    }
    out.add_all(TABLE, figures, **keys_of(ratings))


def _firsts(ratings: Ratings, responses: Responses, level: float) -> Estimate:
    cell = _cells(ratings)
    n_cells = int(cell.max()) + 1
    source = responses.source[ratings.response]
    best = np.full(n_cells, -np.inf)
    np.maximum.at(best, cell, ratings.value)
    is_top = ratings.value == best[cell]
    of_models = np.bincount(cell[is_top], weights=source[is_top] == MODEL, minlength=n_cells)
    share = of_models / np.bincount(cell[is_top], minlength=n_cells)
    both = np.bincount(cell[source == HUMAN], minlength=n_cells) > 0
    both &= np.bincount(cell[source == MODEL], minlength=n_cells) > 0
    prompt_of_cell = np.zeros(n_cells, dtype=np.int64)
    prompt_of_cell[cell] = ratings.prompt
    size = len(responses.prompt_ids)
    top = np.bincount(prompt_of_cell[both], weights=share[both], minlength=size).astype(np.float64)
    bottom = np.bincount(prompt_of_cell[both], minlength=size).astype(np.float64)
    return ratio(
        top, bottom, level=level, method="share of rankings of both sources with a model first"
    )


def _inferred(
    ratings: Ratings, responses: Responses, inferred: Ratings
) -> tuple[Estimate, Estimate]:
    method = "INFERRED from justifications: tau-b with people's mean"
    x, _ = inferred.mean_by_response(len(responses))
    y, _ = ratings.mean_by_response(len(responses))
    n = int((np.isfinite(x) & np.isfinite(y)).sum())
    pooled, within = kendall_tau_b(x, y), kendall_tau_b(x, y, responses.prompt)
    reason = "printed for comparison"
    if math.isnan(pooled):
        reason = "one side gives all responses one value" if n > 1 else "no two responses have both"
    return (
        Estimate(
            pooled, n=n, unit="response", reason=reason,
            method=f"{method}, all responses (paper's definition)",
        ),
        Estimate(within, n=n, unit="response", method=f"{method}, within prompts",
               reason=reason if not math.isnan(within) else "undefined within prompts"),
    )  # fmt: skip


_NO_INTERVAL = "the paper's definition: printed for comparison, without an interval"


def add_as_published(out: Estimates, ratings: Ratings) -> None:
    """Adds W, pairwise tau and alpha of ranks: no tie correction, raw ranks, prompts together."""
    figures = {
        "w_raw_ranks": _w(ratings),
        "tau_concatenated": _concatenated_tau(ratings),
        "alpha_raw_ranks": _alpha(ratings),
    }
    out.add_all(TABLE, figures, **keys_of(ratings))


def _w(ratings: Ratings) -> Estimate:
    w: list[float] = []
    for tables in prompt_tables(ratings):
        w.extend(kendall_w_uncorrected(-table) for table in tables.values)
    known = [value for value in w if not math.isnan(value)]
    return Estimate(
        float(np.mean(known)) if known else math.nan,
        n=len(known),
        unit="prompt",
        method="the paper's W: raw ranks, no tie correction, mean over prompts",
        reason=_NO_INTERVAL if known else "no prompt has two complete raters",
    )


def _concatenated_tau(ratings: Ratings) -> Estimate:
    method = "the paper's pairwise tau: tau-b on ranks concatenated over common prompts"
    raters, start = np.unique(ratings.rater, return_inverse=True)
    if len(raters) * (len(raters) - 1) // 2 > MOST_PAIRS:
        return undefined(
            f"more than {MOST_PAIRS} pairs of raters", method=method, unit="rater pair"
        )
    order = np.lexsort((ratings.response, start))
    cuts = np.searchsorted(start[order], np.arange(len(raters) + 1))
    mine = [order[cuts[k] : cuts[k + 1]] for k in range(len(raters))]
    taus: list[float] = []
    for one in range(len(raters)):
        for other in range(one + 1, len(raters)):
            _, left, right = np.intersect1d(
                ratings.response[mine[one]],
                ratings.response[mine[other]],
                assume_unique=True,
                return_indices=True,
            )
            if len(left) < 2:
                continue
            x: npt.NDArray[np.float64] = ratings.value[mine[one]][left]
            y: npt.NDArray[np.float64] = ratings.value[mine[other]][right]
            if np.ptp(x) > 0 and np.ptp(y) > 0:
                taus.append(kendall_tau_b(x, y))
    return Estimate(
        float(np.mean(taus)) if taus else math.nan,
        n=len(taus),
        unit="rater pair",
        method=method,
        reason=_NO_INTERVAL if taus else "no two raters share two responses they both order",
    )


def _alpha(ratings: Ratings) -> Estimate:
    method = "the paper's alpha: ordinal, raw ranks of all prompts"
    table = by_place(ratings)
    if table is None:
        return undefined("one response has too many ratings", method=method, unit="rating")
    value = krippendorff_alpha(table, "ordinal")
    several = (~np.isnan(table)).sum(axis=0) >= 2
    if math.isnan(value) and several.any():
        value = 1.0  # the released script's rule for constant data
    return Estimate(
        value,
        n=len(ratings),
        unit="rating",
        method=method,
        reason=_NO_INTERVAL if not math.isnan(value) else "no response has two ratings",
    )
