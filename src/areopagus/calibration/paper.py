"""The figures of the paper's human study, recomputed on these ratings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import t_interval
from ..aggregation.kendall import kendall_tau_b
from .concordance import concordance
from .judge_bias import prompt_means
from .leave_out import ratio
from .material import Material
from .rater_pairs import pairwise_tau
from .ratings import Ratings
from .responses import HUMAN, MODEL, Responses

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeanRank:
    """Mean rank (1 = best) or mean score of one group of responses in one domain.

    Attributes:
        group: "people", "models", or a respondent.
        domain: a domain, or "all".
        mean: mean over prompts of the mean over ratings.
        n_responses: rated responses.
    """

    group: str
    domain: str
    mean: Estimate
    n_responses: int


@dataclass(frozen=True, slots=True)
class DomainAgreement:
    """W and pairwise tau of the prompts of one domain."""

    domain: str
    w: Estimate
    chance_w: float
    tau: Estimate


@dataclass(frozen=True, slots=True)
class PaperFigures:
    """Figure by figure; the paper's own values stand in the text of the report.

    Attributes:
        rated: which ratings were used: "overall, rank" or another.
        means: mean rank (or score) by source, by respondent and by domain.
        by_domain: W and tau by domain.
        model_wins: share of model–person pairs (within rater and prompt) that the model wins,
            ties one half (paper: .744 of 1,170).
        model_wins_untied: the same among pairs that are not tied.
        n_pairs, n_tied: those pairs.
        model_first: share of rankings with a model first; a first place shared between sources
            counts by the models' share (paper: .808).
        inferred: tau-b of scores that the panel inferred from raters' written justifications
            with people's mean, over all responses (the paper's definition; .308), labelled
            inferred.
        inferred_within: the same within prompts.
        reason: why figures by source are missing, or None.
    """

    rated: str
    means: tuple[MeanRank, ...]
    by_domain: tuple[DomainAgreement, ...]
    model_wins: Estimate
    model_wins_untied: Estimate
    n_pairs: int
    n_tied: int
    model_first: Estimate
    inferred: Estimate
    inferred_within: Estimate
    reason: str | None


def paper_figures(
    material: Material, *, inferred: Ratings | None = None, level: float = 0.95, seed: int = 0
) -> PaperFigures:
    """Returns the paper's human-study figures on the overall ranking, else the first criterion.

    Measured coverage of the 95% intervals at 9, 26, 100 prompts (benchmarks/simulate_worlds.py,
    2,000 worlds, Monte Carlo error .005): pairs won .952, .948, .951; model first .950, .949,
    .944. By benchmarks/simulate_study_cells.py (400 worlds, error .01): mean rank by source .953,
    .963, .953, by model .935 to .960; by domain, at 26 and 100 prompts, W .940 to .955, tau .940
    to .960, means .930 to .978.

    Args:
        material: what was rated.
        inferred: scores inferred from justifications, oriented like other ratings.
        level, seed: of intervals and permutations.
    """
    if not material.ratings:
        none = undefined("nobody rated anything")
        return PaperFigures("", (), (), none, none, 0, 0, none, none, none, "no ratings")
    ratings = material.ratings[0]
    responses = material.responses
    reason = None
    wins = untied = first = undefined("people's and models' responses are not both known")
    n_pairs = n_tied = 0
    if responses.has_both_sources:
        wins, untied, n_pairs, n_tied = _wins(ratings, responses, level)
        first = _firsts(ratings, responses, level)
    else:
        reason = "the sources of the responses are not known, or there is one only"
    tau, within = _inferred(ratings, responses, inferred)
    return PaperFigures(
        rated=ratings.name,
        means=_means(ratings, responses, level),
        by_domain=_by_domain(ratings, responses, level, seed),
        model_wins=wins,
        model_wins_untied=untied,
        n_pairs=n_pairs,
        n_tied=n_tied,
        model_first=first,
        inferred=tau,
        inferred_within=within,
        reason=reason,
    )


def _means(ratings: Ratings, responses: Responses, level: float) -> tuple[MeanRank, ...]:
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
    found = []
    n_prompts = len(responses.prompt_ids)
    what = "mean rank" if ratings.kind == "rank" else "mean score"
    for group, mask in groups.items():
        for place in ("all", *domains):
            chosen = mask if place == "all" else mask & (domain == place)
            mine = chosen[ratings.response]
            if not mine.any():
                continue
            means = prompt_means(value[mine], ratings.prompt[mine], n_prompts)
            found.append(
                MeanRank(
                    group=group,
                    domain=place,
                    mean=t_interval(means, level=level).of(what),
                    n_responses=len(np.unique(ratings.response[mine])),
                )
            )
    return tuple(found)


def _by_domain(
    ratings: Ratings, responses: Responses, level: float, seed: int
) -> tuple[DomainAgreement, ...]:
    domain = np.array([name or "" for name in responses.domain], dtype=object)
    found = []
    for name in dict.fromkeys(domain.tolist()):
        if not name:
            continue
        mine = ratings.select(domain[ratings.response] == name)
        if not len(mine):
            continue
        agreed = concordance(mine, level=level, seed=seed, permute=False)
        found.append(
            DomainAgreement(name, agreed.w, agreed.chance_w, pairwise_tau(mine, level=level).tau)
        )
    return tuple(found)


def _cells(ratings: Ratings) -> npt.NDArray[np.int64]:
    """The rater-and-prompt cell of each rating: ratings are sorted by prompt and rater."""
    changes = np.ones(len(ratings), dtype=bool)
    changes[1:] = (np.diff(ratings.prompt) != 0) | (np.diff(ratings.rater) != 0)
    return np.cumsum(changes) - 1


def _wins(
    ratings: Ratings, responses: Responses, level: float
) -> tuple[Estimate, Estimate, int, int]:
    """Cross pairs by counting: within a cell, how the sources' values fall against each other."""
    from .pair_parts import sums_by_type

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
    return (
        ratio(
            won_untied + (pairs - untied) / 2, pairs, level=level,
            method="share of model-person pairs won by the model, ties one half",
        ),
        ratio(
            won_untied, untied, level=level,
            method="share of untied model-person pairs won by the model",
        ),
        n_pairs,
        n_tied,
    )  # fmt: skip


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
    ratings: Ratings, responses: Responses, inferred: Ratings | None
) -> tuple[Estimate, Estimate]:
    method = "INFERRED from justifications: tau-b with people's mean"
    if inferred is None:
        none = undefined("no scores inferred from justifications were given", method=method)
        return none, none
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
