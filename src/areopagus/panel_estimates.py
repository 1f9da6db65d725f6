"""The estimates of a panel run: means by respondent and by judge, ranks, agreement, counts.

table             keys                          measures
respondent        respondent, criterion         mean, in both universes; skewness of the means over
                                                prompts; responses; where judges
                                                were missing: moved, unbalanced responses
comparison        respondent, baseline,         difference, in both universes; prompts won, prompts
                  criterion                     tied; of the composite: pairs scored, scored here
                                                alone, scored in the baseline alone, scored share,
                                                bounds, one-sided judgments, moved
comparison by model  respondent, baseline,      difference
                  model
run               criterion                     mean
rank              respondent                    mean rank
spread            respondent                    lower quartile, median, upper quartile
judges            factor, group, criterion      mean, judgments, repaired
judges by status  factor, group, detail         judgments
persona by model  persona, model                mean
model scores      model                         most frequent score (a share), between responses
                                                (F): whether it tells responses apart
axes              group, baseline               mean, 5%, median, 95%
agreement         persona, baseline             tau; without baseline its mean with the others
worth                                           effective judges
design            factor, group                 who judged what: see `records.design`
missing           respondent, detail (status    share; against the others (baseline) difference
                  or reason)
judgments         group (status), detail        judgments
responses         factor, group                 responses

`criterion` is "composite" for the mean over the rubric's dimensions. Means by respondent come from
run.json, where they were summed up while verdicts came; what is said of judges is made of the table
of judgments.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from .aggregation.estimate import Estimate, undefined
from .aggregation.jackknife import cut_to_range
from .comparison import compared, judged, means_of_respondents, prompt_scores
from .records.design import add_design
from .records.estimates import Estimates
from .records.judgments import Coded, Codes, Floats, JudgmentTable
from .records.prompt_units import prompt_units
from .records.types import NOT_WANTED
from .reports.weak_models import add_model_scores

if TYPE_CHECKING:
    from .aggregation.design import Design

COMPOSITE: Final = "composite"
FEWEST_SHARED: Final = 6
"""Responses that two personas must have scored both before their agreement is stated."""
MOST_SCORES: Final = 120_000
"""Judgments from which variance components are estimated; of more, prompts drawn by seed."""

NOT_SCORED: Final = "not scored"
"""Whatever the reason: abstained, refused, unreadable, failed, or screened and nobody asked."""
SCREENED: Final = "screened"
OTHERS: Final = "the others"

ONE_RESPONDENT: Final = "there is one respondent: nothing to rank"
NO_COMMON_PROMPT: Final = "no prompt has a score for every respondent"
ONE_OF_A_KIND: Final = (
    "with one model or one persona, what its judgments share cannot be told from how the "
    "responses differ"
)
NOBODY_SCORED: Final = "no judgment was scored"
NOTHING_SCORED: Final = "no response was scored"
NO_VARIATION: Final = "the prompt means do not vary"

Rows = Sequence[Mapping[str, str]]


def panel_estimates(folder: Path, record: Mapping[str, Any], scores: Rows) -> Estimates:
    """Every figure of a panel run.

    Args:
        folder: where judgments.parquet lies.
        record: the content of run.json.
        scores: the rows of scores.csv.

    Raises:
        InputError: a table of the folder cannot be read.
    """
    found = Estimates()
    criteria = tuple(record["identity"]["criteria"])
    run = judged(folder.name, folder, record, scores)
    table = run.table
    means = _respondents(found, record, criteria)
    if len(record["respondents"]) > 1 and np.isfinite(table.values[:, 0]).any():
        compared([run]).add_to(found)
    if run.is_scored.any():
        for (who, name), mean in means_of_respondents(run).items():
            keys = {"respondent": who, "criterion": name}
            such = mean.such_judges  # run.json of a run that was not ended holds no means
            such = _around(means.get((who, name), such.value), such, run.scale)
            found.add("respondent", "mean", such, **keys)
            if name == COMPOSITE and mean.such_judges.has_interval:
                found.add("respondent", "skewness", _skewness(mean.by_unit), **keys)
    _ranks(found, *prompt_scores(run))
    _spread(found, scores)
    named = (COMPOSITE, *criteria) if len(criteria) > 1 else (COMPOSITE,)
    for factor, coded in (("model", table.model), ("persona", table.persona), ("axis", table.axis)):
        _judges(found, table, factor, coded, named)
    _persona_by_model(found, table)
    add_model_scores(found, table)
    _axes(found, table)
    _agreement(found, table)
    unit_of = prompt_units(scores)
    of = {row["response_id"]: (unit_of[row["prompt_id"]], row["respondent_id"]) for row in scores}
    prompts = [of.get(name, (name, ""))[0] for name in table.response_ids]
    found.add("worth", "effective judges", effective_judges(table, prompts))
    respondents = [of.get(name, ("", ""))[1] for name in table.response_ids]
    if design := run_design(table, prompts, respondents):
        add_design(found, design)
    _missing(found, table, prompts, respondents)
    _counts(found, table, scores)
    return found


def _respondents(
    found: Estimates, record: Mapping[str, Any], criteria: Sequence[str]
) -> dict[tuple[str, str], float]:
    """Adds the means of respondents and of the run; returns (respondent, criterion) to its mean."""
    means: dict[tuple[str, str], float] = {}
    method = str(record["total"]["method"])
    for item in record["respondents"]:
        who = str(item["respondent_id"])
        for name, mean in _means(item, criteria, method):
            found.add("respondent", "mean", mean, respondent=who, criterion=name)
            means[who, name] = mean.value
        n, planned = item["n_scored"], item["n_responses"]
        scored = Estimate(n, n=n, n_planned=planned, unit="response", method="count")
        keys = {"respondent": who, "criterion": COMPOSITE}
        found.add("respondent", "responses", scored, **keys)
        if item.get("n_unbalanced") or item.get("moved"):
            found.add("respondent", "moved", item["moved"], **keys)
            found.add("respondent", "unbalanced responses", item["n_unbalanced"], **keys)
    for name, mean in _means(record["total"], criteria, method):
        found.add("run", "mean", mean, criterion=name)
    return means


def _around(value: float, mean: Estimate, scale: tuple[float, float]) -> Estimate:
    """The interval of a mean, around another value of it.

    A respondent has one mean, freed over all responses of the run from which judges were missing;
    how much prompts and judges vary is that of its own responses.
    """
    low, high = mean.low - mean.value + value, mean.high - mean.value + value
    return cut_to_range(replace(mean, value=value, low=low, high=high), scale)


def _skewness(values: Floats) -> Estimate:
    """The third moment over the cube of the standard deviation, of means over prompts."""
    apart = values - values.mean()
    skewness = float((apart**3).mean() / (apart**2).mean() ** 1.5)
    return Estimate(skewness, n=len(values), unit="prompt", method="description: over prompts")


def _means(
    item: Mapping[str, Any], criteria: Sequence[str], method: str
) -> list[tuple[str, Estimate]]:
    """The composite, then one a criterion; run.json has one reason, that of the composite.

    All criteria of a respondent have the same prompts, so that one alone can lack an interval for
    one cause only.
    """
    nothing = (None, None, None)
    low, high = item["interval"] or nothing[:2]
    given = {COMPOSITE: (item["composite"], low, high)}
    if len(criteria) > 1:
        given |= {name: item["dimensions"].get(name, nothing) for name in criteria}
    made = []
    for name, (value, low, high) in given.items():
        reason = item["reason"]
        if reason is None and name != COMPOSITE:
            reason = NOTHING_SCORED if value is None else NO_VARIATION if low is None else None
        mean = Estimate(
            _nan(value), _nan(low), _nan(high), item["n_prompts"], "prompt", method,
            reason=reason, universe="this panel",
        )  # fmt: skip
        made.append((name, mean))
    return made


def _ranks(found: Estimates, names: Sequence[str], table: Floats) -> None:
    """Mean ranks over the prompts on which every respondent has a score; 1 = best."""
    from .aggregation.intervals import t_interval

    common = table[~np.isnan(table).any(axis=1)]
    method = "mean rank over common prompts, 1 = best, ties share their places"
    reason = ONE_RESPONDENT if len(names) < 2 else NO_COMMON_PROMPT if not len(common) else None
    if reason is not None:
        for name in names if len(names) > 1 else ():
            found.add("rank", "mean rank", undefined(reason, method=method), respondent=name)
        return
    ranks = np.stack([_mid_ranks(row) for row in common])
    for who, name in enumerate(names):
        mean = cut_to_range(t_interval(ranks[:, who]).of(method), (1.0, float(len(names))))
        found.add("rank", "mean rank", mean, respondent=name)


def _mid_ranks(values: Floats) -> Floats:
    """Ranks from 1 for the largest; those that tie share their mean.

    As `scipy.stats.rankdata` of the negative values, which takes a second to load.
    """
    _, group, sizes = np.unique(-values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    ranks: Floats = (last - (sizes - 1) / 2)[group]
    return ranks


def composites_by_respondent(rows: Rows) -> dict[str, list[float]]:
    """Respondent to the composites of its scored responses."""
    values: dict[str, list[float]] = {}
    for row in rows:
        if row["composite"]:
            values.setdefault(row["respondent_id"], []).append(float(row["composite"]))
    return values


def _spread(found: Estimates, scores: Rows) -> None:
    for who, values in composites_by_respondent(scores).items():
        ends = np.quantile(np.asarray(values), [0.25, 0.5, 0.75])
        for measure, value in zip(
            ("lower quartile", "median", "upper quartile"), ends, strict=True
        ):
            found.add("spread", measure, _described(value, len(values)), respondent=who)


def _judges(
    found: Estimates, table: JudgmentTable, factor: str, coded: Coded, criteria: Sequence[str]
) -> None:
    """Each group's mean on a response over its scored judgments, averaged over responses."""
    means = mean_over_responses(table.by_group(coded.codes, coded.n))
    for code, name in enumerate(coded.names):
        keys = {"factor": factor, "group": name}
        mine = coded.codes == code
        n = len(np.unique(table.response[~np.isnan(table.values[:, 0]) & mine]))
        for k, criterion in enumerate(criteria):
            mean = _described(means[code, k], n, "mean over responses of the group's mean")
            found.add("judges", "mean", mean, criterion=criterion, **keys)
        counts = table.counts_where(mine)
        found.add(
            "judges",
            "judgments",
            Estimate(
                counts["scored"], n=counts["scored"], n_planned=sum(counts.values()),
                unit="judgment", method="count",
            ),
            criterion=COMPOSITE,
            **keys,
        )  # fmt: skip
        found.add(
            "judges", "repaired", int(table.is_repaired[mine].sum()), criterion=COMPOSITE, **keys
        )
        for status, number in counts.items():
            found.add("judges by status", "judgments", number, detail=status, **keys)


def _persona_by_model(found: Estimates, table: JudgmentTable) -> None:
    n_models = table.model.n
    codes: Codes = (table.persona.codes * n_models + table.model.codes).astype(np.int32)
    by_cell = table.by_group(codes, table.persona.n * n_models)[:, :, 0]
    means = mean_over_responses(by_cell[:, :, None])[:, 0]
    n = (~np.isnan(by_cell)).sum(axis=1)
    for p, persona in enumerate(table.persona.names):
        for m, model in enumerate(table.model.names):
            at = p * n_models + m
            mean = _described(means[at], int(n[at]), "mean over responses")
            found.add("persona by model", "mean", mean, persona=persona, model=model)


def _axes(found: Estimates, table: JudgmentTable) -> None:
    """Differences between the means of two axes on the same response."""
    if table.axis.n < 2:
        return
    by_axis = axis_means(table)
    for first in range(table.axis.n):
        for second in range(first + 1, table.axis.n):
            gap = by_axis[first] - by_axis[second]
            gap = gap[~np.isnan(gap)]
            keys = {"group": table.axis.names[first], "baseline": table.axis.names[second]}
            ends = np.quantile(gap, [0.05, 0.5, 0.95]) if gap.size else [math.nan] * 3
            mean = float(gap.mean()) if gap.size else math.nan
            for name, value in zip(("mean", "5%", "median", "95%"), (mean, *ends), strict=True):
                found.add("axes", name, _described(value, len(gap)), **keys)


def axis_means(table: JudgmentTable) -> Floats:
    """Shape (axes, responses): mean composite of each axis of personas."""
    found: Floats = table.by_group(table.axis.codes, table.axis.n)[:, :, 0]
    return found


def _agreement(found: Estimates, table: JudgmentTable) -> None:
    """Kendall's tau-b of personas over the responses that both scored."""
    from .aggregation.kendall import kendall_tau_b

    names = table.persona.names
    if len(names) < 2:
        return
    composite = table.by_group(table.persona.codes, table.persona.n)[:, :, 0]
    known = ~np.isnan(composite)
    tau = np.full((len(names), len(names)), np.nan)
    for first, second in zip(*np.triu_indices(len(names), 1), strict=True):
        both = known[first] & known[second]
        n, reason, value = int(both.sum()), None, math.nan
        if n < FEWEST_SHARED:
            reason = f"fewer than {FEWEST_SHARED} responses that both scored"
        else:
            value = kendall_tau_b(composite[first, both], composite[second, both])
            reason = None if math.isfinite(value) else "one of them gives all responses one score"
        tau[first, second] = tau[second, first] = value
        agreement = Estimate(value, n=n, unit="response", method="tau-b", reason=reason)
        found.add("agreement", "tau", agreement, persona=names[first], baseline=names[second])
    others = mean_over_responses(tau[:, :, None])[:, 0]
    for name, value in zip(names, others, strict=True):
        reason = None if math.isfinite(value) else "no agreement with another is defined"
        mean = Estimate(
            float(value), n=len(names) - 1, unit="persona", method="mean of tau-b with the others",
            reason=reason,
        )  # fmt: skip
        found.add("agreement", "tau", mean, persona=name)


def run_design(
    table: JudgmentTable, prompts: Sequence[str], respondents: Sequence[str]
) -> Design | None:
    """The design of a run; None where no judgment was planned of a response that was not screened.

    Judgments that a stopping rule did not want count as not asked for.

    Args:
        table: the judgments.
        prompts, respondents: ids by response of the table.
    """
    from .aggregation.design import design_of

    def at(column: Coded, *names: str) -> npt.NDArray[np.bool_]:
        return np.isin(column.codes, [k for k, name in enumerate(column.names) if name in names])

    rows = np.flatnonzero(~at(table.reason, "screened"))
    if not len(rows):
        return None
    of_prompt, of_respondent = (
        np.unique(np.asarray(names, dtype=str), return_inverse=True)[1].reshape(-1)
        for names in (prompts, respondents)
    )
    response = table.response[rows]
    return design_of(
        of_prompt[response],
        response,
        table.persona.codes[rows],
        table.model.codes[rows],
        repeat=table.repeat[rows],
        respondent=of_respondent[response],
        asked=~at(table.reason, *NOT_WANTED)[rows],
        scored=at(table.status, "scored")[rows],
        persona_names=table.persona.names,
        model_names=table.model.names,
    )


def effective_judges(table: JudgmentTable, prompts: Sequence[str], *, seed: int = 0) -> Estimate:
    """How many independent single judgments a response's scored ones are worth.

    As many make an error of the same size, by a G-study of the run's composites: in the order of
    responses to one prompt or, with one response a prompt, of responses wherever they stand; where
    judges are missing, in that of the additive fit, free of how harsh each judge is. n counts the
    judgments scored of a response, on average.

    Args:
        table: the judgments.
        prompts: prompt id of each response of the table.
        seed: which prompts are drawn of a very large run.
    """
    from .aggregation.decision_study import layout_of
    from .aggregation.generalizability import panel_g_study
    from .aggregation.judge_worth import worth_of_layout

    repeats = int(table.repeat.max()) + 1 if table.repeat.size else 1
    shape = (table.persona.n, table.model.n, repeats)
    n = int(np.prod(shape))

    def none(reason: str) -> Estimate:
        return undefined(reason, unit="judgment", method="G-study", n=n)

    if min(shape[:2]) < 2:
        return none(ONE_OF_A_KIND)
    if not np.isfinite(table.values[:, 0]).any():
        return none(NOBODY_SCORED)
    names, codes = np.unique(np.asarray(prompts, dtype=str), return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(names))
    taken = np.bincount(codes, weights=np.diff(table.start), minlength=len(names))[order]
    is_chosen = np.isin(codes, order[np.cumsum(taken) <= max(MOST_SCORES, taken[0])])
    rows = is_chosen[table.response]
    scores = np.full((table.n_responses, *shape), np.nan)
    scores[
        table.response[rows], table.persona.codes[rows], table.model.codes[rows], table.repeat[rows]
    ] = table.values[rows, 0]
    scores, of_prompt = scores[is_chosen], codes.reshape(-1)[is_chosen]
    study = panel_g_study(scores, prompt=of_prompt, jackknife=False)
    if study.reason is not None:  # too few were scored: no component is defined
        return none(study.reason)
    layout = layout_of(scores, of_prompt, study, is_adjusted=True)
    worth = worth_of_layout(study, layout)
    if not np.isfinite(worth):
        return none("no component of error is above 0")
    return Estimate(
        float(worth), n=round(layout.judgments), unit="judgment",
        method="variance components, G-study",
    )  # fmt: skip


def _missing(
    found: Estimates, table: JudgmentTable, prompts: Sequence[str], respondents: Sequence[str]
) -> None:
    """Judgments without a score by respondent; none where a rule, the cap or a stop left them out.

    Args:
        found: where they go.
        table: the judgments.
        prompts, respondents: ids by response of the table.
    """
    from .aggregation.missingness import missingness

    status = np.asarray(table.status.names, dtype=str)[table.status.codes]
    reason = np.asarray(table.reason.names, dtype=str)[table.reason.codes]
    ended = np.where((status == "not_asked") & (reason == SCREENED), SCREENED, status)
    asked = ended != "not_asked"
    names, who = np.unique(np.asarray(respondents, dtype=str), return_inverse=True)
    units, prompt = np.unique(np.asarray(prompts, dtype=str), return_inverse=True)
    at = table.response[asked]
    kinds = [name for name in dict.fromkeys(ended[asked].tolist()) if name != "scored"]
    for kind in (NOT_SCORED, *kinds) if len(names) else ():
        is_missing = ended[asked] != "scored" if kind == NOT_SCORED else ended[asked] == kind
        every = missingness(
            is_missing, prompt.reshape(-1)[at], who.reshape(-1)[at],
            n_prompts=len(units), n_respondents=len(names),
        )  # fmt: skip
        for name, one in zip(names.tolist(), every, strict=True):
            found.add("missing", "share", one.share, respondent=name, detail=kind)
            if kind == NOT_SCORED and one.difference is not None:
                found.add(
                    "missing", "difference", one.difference,
                    respondent=name, baseline=OTHERS, detail=kind,
                )  # fmt: skip


def _counts(found: Estimates, table: JudgmentTable, scores: Rows) -> None:
    for status, number in table.counts.items():
        found.add("judgments", "judgments", number, group=status)
    for (status, reason), number in table.faults.items():
        found.add("judgments", "judgments", number, group=status, detail=reason)
    for factor in ("status", "disagreement", "flags", "interval_method"):
        counts: dict[str, int] = {}
        for row in scores:
            if factor == "interval_method" and not row["composite_low"]:
                continue
            for name in row[factor].split() if factor == "flags" else (row[factor],):
                counts[name] = counts.get(name, 0) + 1
        for name, number in counts.items():
            found.add("responses", "responses", number, factor=factor, group=name)
    unbalanced: dict[str, int] = {}
    for row in scores:
        for name in filter(None, (row.get("unbalanced") or "").split(", ")):
            unbalanced[name] = unbalanced.get(name, 0) + 1
    for name, number in unbalanced.items():
        found.add("responses", "responses", number, factor="unbalanced", group=name)


def mean_over_responses(table: Floats) -> Floats:
    """Shape (groups, columns): means over the second axis, nan of nothing."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Mean of empty slice", RuntimeWarning)
        return np.asarray(np.nanmean(table, axis=1), dtype=np.float64)


def _described(
    value: float | np.floating[Any], n: int, method: str = "of single responses"
) -> Estimate:
    """A figure that describes the responses at hand: it has no interval, and needs none."""
    reason = None if math.isfinite(value) else "nothing scored"
    return Estimate(
        float(value), n=n, unit="response", method=f"description: {method}", reason=reason
    )


def _nan(value: float | None) -> float:
    return math.nan if value is None else float(value)
