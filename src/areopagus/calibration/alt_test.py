"""May the panel stand in for a rater? The alternative annotator test, as published and by rank."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..aggregation.alt_test import AltTest, alt_test
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.pair_counting import round_ties
from ..records.estimates import Estimates
from .dataset import Dataset, Target
from .panel_people import NONE_RATED

TABLE = "alt-test"
BY_RANK, AS_PUBLISHED = "by rank", "as published"

MOST_CELLS = 2_000_000
"""Raters x responses beyond which the test is not made."""

MOST_PROMPTS = 1000
"""Prompts that are used; of more, so many are drawn: that is power enough."""

MOST_POWER_CELLS = 50_000
"""Raters x responses beyond which power is not simulated."""


def add_alt_test(
    out: Estimates,
    dataset: Dataset,
    target: Target | None,
    *,
    epsilon: float,
    seed: int = 0,
) -> None:
    """Adds the table "alt-test": the rank form, then the published form (`detail`).

    winning_rate    share of raters whom the panel may replace; its verdict is "pass", "fail" or
                    "not enough prompts". With a `baseline`: what a constant judge, a random one
                    and a copy of a human get
    advantage       how often the panel is as close to the others as a rater, or closer
    power           probability that a judge exactly as good as one human passes here
    power_of_truth  the same for a judge who knows the truth

    The published form takes items as independent and closeness as negative squared error; where
    people gave ranks, the panel's ranks within each prompt stand against theirs. Why no test was
    made stands in a row without a form.
    """
    if target is None or not target.both.any():
        return _add_none(out, NONE_RATED)
    ratings, responses = target.ratings, dataset.responses
    usable = target.both.copy()
    prompts = np.unique(responses.prompt[usable])
    drawn = ""
    if len(prompts) > MOST_PROMPTS:
        chosen = np.random.default_rng(seed).choice(prompts, MOST_PROMPTS, replace=False)
        usable &= np.isin(responses.prompt, chosen)
        drawn = f"; {MOST_PROMPTS:,} of {len(prompts):,} prompts, drawn at random"
    mine = ratings.select(usable[ratings.response])
    raters = np.unique(mine.rater)
    cells = len(raters) * len(np.unique(mine.response))
    if len(raters) < 2:
        return _add_none(out, "one rater")
    if cells > MOST_CELLS:
        return _add_none(out, f"more than {MOST_CELLS:,} raters x responses")
    by_rater: dict[int, dict[int, float]] = {int(code): {} for code in raters}
    for who, what, value in zip(
        mine.rater.tolist(), mine.response.tolist(), mine.value.tolist(), strict=True
    ):
        by_rater[who][what] = value
    rows = np.flatnonzero(usable)
    prompt_of = {int(r): int(responses.prompt[r]) for r in rows}
    panel = dict(zip(rows.tolist(), round_ties(target.panel[rows]).tolist(), strict=True))
    by_rank = alt_test(
        panel, by_rater, epsilon=epsilon, score="rank", groups=prompt_of, seed=seed,
        worlds=300 if cells <= MOST_POWER_CELLS else 0,
    )  # fmt: skip
    on_their_scale = panel
    if ratings.kind == "rank":
        on_their_scale = _ranks(panel, prompt_of)
    published = alt_test(on_their_scale, by_rater, epsilon=epsilon, score="neg_rmse", seed=seed)
    _add_form(out, BY_RANK, by_rank, drawn)
    _add_form(out, AS_PUBLISHED, published, drawn)
    return None


def _add_none(out: Estimates, why: str) -> None:
    out.add(TABLE, "winning_rate", undefined(why, unit="rater"))


def _ranks(panel: Mapping[int, float], prompt_of: Mapping[int, int]) -> dict[int, float]:
    from scipy import stats

    members: dict[int, list[int]] = {}
    for response, prompt in prompt_of.items():
        members.setdefault(prompt, []).append(response)
    found: dict[int, float] = {}
    for mine in members.values():
        ranks = stats.rankdata([-panel[r] for r in mine])
        found.update(zip(mine, (-ranks).tolist(), strict=True))
    return found


def _add_form(out: Estimates, form: str, test: AltTest, drawn: str) -> None:
    units = sum(1 for one in test.comparisons if not math.isnan(one.p))
    n = max((one.n for one in test.comparisons), default=0)
    description = "over raters: its test is the verdict, it has no interval"
    constant = test.references.get("constant")
    if test.reason is None and constant is not None and constant.winning_rate >= 0.5:
        description = "a judge who always says the same passes too: this form says nothing here"

    def share(value: float, unit: str, count: int, method: str) -> Estimate:
        return Estimate(
            value, n=count, unit=unit, method=f"{method}{drawn}",
            reason=test.reason if test.reason or math.isnan(value) else description,
        )  # fmt: skip

    def power(value: float, of: str) -> Estimate:
        none = "the raters' own tau is not positive, or too many ratings to simulate"
        return Estimate(
            value, n=n, unit=test.unit, method=f"power of a judge {of}, 300 simulated worlds",
            reason=none if math.isnan(value) else "simulated",
        )  # fmt: skip

    rate = share(
        test.winning_rate, "rater", units,
        f"share of raters beaten, Benjamini-Yekutieli, epsilon {test.epsilon:g}, by {test.score}",
    )  # fmt: skip
    closer = share(
        test.advantage_probability, test.unit, n, f"mean share of {test.unit}s at least as close"
    )
    figures = {"winning_rate": replace(rate, verdict=test.verdict), "advantage": closer}
    if form == BY_RANK:  # power is simulated for that form only
        figures["power"] = power(test.power, "exactly as good as one human")
        figures["power_of_truth"] = power(test.power_of_truth, "who knows the truth")
    out.add_all(TABLE, figures, detail=form)
    out.add(TABLE, "epsilon", test.epsilon, detail=form)
    for name, one in test.references.items():
        known = {"winning_rate": one.winning_rate, "advantage": one.advantage_probability}
        out.add_all(TABLE, known, detail=form, baseline=f"a {name} judge")
