"""May the panel stand in for a rater? The alternative annotator test, as published and by rank."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..aggregation.alt_test import AltTest, alt_test
from ..aggregation.estimate import Estimate
from .material import Material, Target
from .pair_parts import settled

EPSILON = 0.2
"""What the authors propose against experts (.15 skilled raters, .1 crowd workers)."""

MOST_CELLS = 2_000_000
"""Raters x responses beyond which the test is not made."""

MOST_PROMPTS = 1000
"""Prompts that are used; of more, so many are drawn: that is power enough."""

MOST_POWER_CELLS = 50_000
"""Raters x responses beyond which power is not simulated."""


@dataclass(frozen=True, slots=True)
class AltTestResult:
    """One form of the test.

    Attributes:
        form: "as published" or "by rank".
        score, unit: closeness, and what was taken as independent.
        epsilon: what human labour costs.
        winning_rate, advantage: see `aggregation.alt_test`.
        verdict: "pass", "fail" or "not enough prompts".
        power: probability that a judge exactly as good as one human passes here.
        power_of_truth: the same for a judge who knows the truth.
        references: what a constant, a random judge and a copy of a human get: (winning rate,
            advantage).
        note: what to make of it, or None.
    """

    form: str
    score: str
    unit: str
    epsilon: float
    winning_rate: Estimate
    advantage: Estimate
    verdict: str
    power: Estimate
    power_of_truth: Estimate
    references: Mapping[str, tuple[float, float]]
    note: str | None


def alt_tests(
    material: Material, target: Target | None, *, epsilon: float = EPSILON, seed: int = 0
) -> tuple[tuple[AltTestResult, ...], str | None]:
    """Returns the rank form, then the published form; or none, with the reason.

    The published form takes items as independent and closeness as negative squared error; where
    people gave ranks, the panel's ranks within each prompt stand against theirs.
    """
    if target is None or not target.both.any():
        return (), "no response is both rated and scored"
    ratings, responses = target.ratings, material.responses
    usable = target.both.copy()
    prompts = np.unique(responses.prompt[usable])
    drawn_note = None
    if len(prompts) > MOST_PROMPTS:
        chosen = np.random.default_rng(seed).choice(prompts, MOST_PROMPTS, replace=False)
        usable &= np.isin(responses.prompt, chosen)
        drawn_note = f"on {MOST_PROMPTS:,} of {len(prompts):,} prompts, drawn at random"
    mine = ratings.select(usable[ratings.response])
    raters = np.unique(mine.rater)
    cells = len(raters) * len(np.unique(mine.response))
    if len(raters) < 2:
        return (), "one rater"
    if cells > MOST_CELLS:
        return (), f"more than {MOST_CELLS:,} raters x responses"
    by_rater: dict[int, dict[int, float]] = {int(code): {} for code in raters}
    for who, what, value in zip(
        mine.rater.tolist(), mine.response.tolist(), mine.value.tolist(), strict=True
    ):
        by_rater[who][what] = value
    rows = np.flatnonzero(usable)
    prompt_of = {int(r): int(responses.prompt[r]) for r in rows}
    panel = dict(zip(rows.tolist(), settled(target.panel[rows]).tolist(), strict=True))
    by_rank = alt_test(
        panel, by_rater, epsilon=epsilon, score="rank", groups=prompt_of, seed=seed,
        worlds=300 if cells <= MOST_POWER_CELLS else 0,
    )  # fmt: skip
    on_their_scale = panel
    if ratings.kind == "rank":
        on_their_scale = _ranks(panel, prompt_of)
    published = alt_test(on_their_scale, by_rater, epsilon=epsilon, score="neg_rmse", seed=seed)
    return (
        _result("by rank", by_rank, drawn_note),
        _result("as published", published, drawn_note),
    ), None


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


def _result(form: str, test: AltTest, drawn: str | None) -> AltTestResult:
    units = sum(1 for one in test.comparisons if not math.isnan(one.p))
    n = max((one.n for one in test.comparisons), default=0)
    description = "over raters: its test is the verdict, it has no interval"
    note = test.reason
    constant = test.references.get("constant")
    if note is None and constant is not None and constant.winning_rate >= 0.5:
        note = "a judge who always says the same passes too: this form says nothing here"
    note = "; ".join(text for text in (note, drawn) if text) or None
    is_by_rank = form == "by rank"

    def power_reason(power: float) -> str:
        if not is_by_rank:
            return "simulated for the rank form only"
        if math.isnan(power):
            return "the raters' own tau is not positive, or too many ratings to simulate"
        return "simulated, 300 worlds"

    return AltTestResult(
        form=form,
        score=test.score,
        unit=test.unit,
        epsilon=test.epsilon,
        winning_rate=Estimate(
            test.winning_rate, n=units, unit="rater",
            method="share of raters beaten, Benjamini-Yekutieli",
            reason=test.reason if math.isnan(test.winning_rate) else description,
        ),
        advantage=Estimate(
            test.advantage_probability, n=n, unit=test.unit,
            method="mean share of units at least as close",
            reason=test.reason if math.isnan(test.advantage_probability) else description,
        ),
        verdict=test.verdict,
        power=Estimate(
            test.power, n=n, unit=test.unit, method="power of a judge exactly as good as one human",
            reason=power_reason(test.power),
        ),
        power_of_truth=Estimate(
            test.power_of_truth, n=n, unit=test.unit, method="power of a judge who knows the truth",
            reason=power_reason(test.power_of_truth),
        ),
        references={
            name: (one.winning_rate, one.advantage_probability)
            for name, one in test.references.items()
        },
        note=note,
    )  # fmt: skip
