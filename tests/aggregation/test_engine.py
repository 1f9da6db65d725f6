"""The engine: contrasts of arms over units, scored by the same judges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

from areopagus.aggregation.effects import (
    Contrast,
    Effect,
    Scores,
    arm_when,
    before_and_after,
    effects,
)
from areopagus.aggregation.rules import decided

RESPONDENTS, PROMPTS, PERSONAS, MODELS = 3, 20, 4, 2


def panel(seed: int = 0, lift: float = 0.6) -> pd.DataFrame:
    """One row a judgment; respondent 0 is `lift` better than the others."""
    rng = np.random.default_rng(seed)
    shape = (RESPONDENTS, PROMPTS, PERSONAS, MODELS)
    score = (
        5.0
        + rng.normal(0, 0.7, (1, PROMPTS, 1, 1))
        + rng.normal(0, 0.5, (1, 1, PERSONAS, MODELS))
        + rng.normal(0, 0.5, shape)
    )
    score[0] += lift
    r, q, p, m = (axis.ravel() for axis in np.indices(shape))
    return pd.DataFrame(
        {
            "respondent": [f"r{code}" for code in r], "prompt": q, "persona": p, "model": m,
            "composite": score.ravel(), "depth": score.ravel() + rng.normal(0, 0.4, score.size),
        }
    )  # fmt: skip


def coded(table: pd.DataFrame, **more: str) -> Scores:
    return Scores.of(
        table, arm="respondent", unit="prompt", persona="persona", model="model",
        columns=("composite", "depth"), **more,
    )  # fmt: skip


def difference(table: pd.DataFrame, first: str = "r0", second: str = "r1") -> Effect:
    contrast = Contrast({first: 1, second: -1}, "composite")
    return effects(coded(table), [contrast], scale=(1, 10))[0]


def test_a_difference_is_the_paired_t_over_prompts() -> None:
    table = panel()
    wide = table.pivot_table(index="prompt", columns="respondent", values="composite")
    expected = stats.ttest_rel(wide["r0"], wide["r1"])
    found = difference(table).this_panel
    assert (found.value, found.p) == pytest.approx(
        ((wide["r0"] - wide["r1"]).mean(), expected.pvalue)
    )
    interval = expected.confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert (found.n, found.n_planned, found.verdict) == (PROMPTS, PROMPTS, "higher")


def test_a_judge_counts_where_it_scored_both_and_a_prompt_with_few_of_them_is_left_out() -> None:
    table = panel()
    gone = (table["respondent"] == "r1") & (table["model"] == 1)
    table.loc[gone, ["composite", "depth"]] = np.nan
    both = table[table["model"] == 0]
    assert difference(table).this_panel.value == pytest.approx(difference(both).this_panel.value)
    few = (table["prompt"] < 3) & (table["respondent"] == "r1") & (table["persona"] > 0)
    table.loc[few, ["composite", "depth"]] = np.nan
    effect = difference(table)
    assert (effect.this_panel.n, effect.this_panel.n_planned) == (PROMPTS - 3, PROMPTS)
    assert (effect.matched.n_few, effect.matched.n_apart) == (3, 0)
    assert effect.matched.reason == "3 with fewer than 2 judges on one side"


def test_votes_missing_at_random_leave_every_prompt_and_no_bias() -> None:
    rng = np.random.default_rng(4)
    values, kept = [], []
    for seed in range(60):
        table = panel(seed, lift=0.6)
        table.loc[rng.random(len(table)) < 0.3, ["composite", "depth"]] = np.nan
        effect = difference(table)
        values.append(effect.this_panel.value)
        kept.append(effect.this_panel.n)
    assert np.mean(values) == pytest.approx(0.6, abs=0.05)
    assert np.mean(kept) > 0.95 * PROMPTS


def test_where_the_arms_miss_unequal_shares_the_bounds_hold_the_whole_difference() -> None:
    table = panel()
    whole = difference(table)
    assert whole.bounds is None
    low = table["composite"] < table["composite"].quantile(0.25)
    refused = table.assign(
        **{
            name: table[name].mask(low & (table["respondent"] == "r1"))
            for name in ("composite", "depth")
        }
    )
    effect = difference(refused)
    assert effect.scored.value > 0.1
    assert effect.scored.low > 0
    assert effect.bounds is not None
    assert effect.bounds.low < whole.this_panel.value < effect.bounds.high


def test_judges_like_these_are_less_certain_where_models_differ_in_taste() -> None:
    table = panel(lift=0.0)
    taste = (table["respondent"] == "r0") & (table["model"] == 1)
    table.loc[taste, "composite"] += 2.0
    effect = difference(table)
    assert effect.this_panel.verdict == "higher"
    assert effect.such_judges.verdict == "undefined"
    assert effect.such_judges.reason is not None
    assert "two models" in effect.such_judges.reason
    one_model = difference(table[table["model"] == 0])
    assert one_model.such_judges.has_interval


def test_limits_for_judges_like_these_hold_those_for_this_panel() -> None:
    # Eight skewed prompts: lopsided limits of this panel, and no other universe is narrower.
    table = panel(5)
    table = table[table["prompt"] < 8]
    table["composite"] += (table["prompt"] == 3) * (table["respondent"] == "r0") * 4.0
    plan = [Contrast({"r0": 1, other: -1}, "composite") for other in ("r1", "r2")]
    table = table[table["model"] == 0]
    for effect in effects(coded(table), plan, scale=(1, 10)):
        here, there = effect.this_panel, effect.such_judges
        assert there.low_family <= here.low_family
        assert there.high_family >= here.high_family
        assert there.high_family == pytest.approx(here.high_family)


def test_disjoint_prompts_are_compared_over_separate_units() -> None:
    table = panel()
    first = (table["respondent"] == "r0") & (table["prompt"] < 9)
    second = (table["respondent"] == "r1") & (table["prompt"] >= 9)
    effect = difference(table[first | second])
    means = table[first | second].groupby(["respondent", "prompt"])["composite"].mean()
    expected = stats.ttest_ind(means["r0"], means["r1"], equal_var=False)
    assert not effect.matched.is_paired
    assert effect.this_panel.value == pytest.approx(means["r0"].mean() - means["r1"].mean())
    assert effect.this_panel.p == pytest.approx(expected.pvalue)
    assert effect.this_panel.n_planned == PROMPTS


def test_arms_and_columns_take_any_weights() -> None:
    table = panel()
    scores = coded(table)
    both = effects(
        scores,
        [
            Contrast({"r0": 1, "r1": -0.5, "r2": -0.5}, "composite", family="a"),
            Contrast({"r0": 1}, {"composite": 1, "depth": -1}, family="b"),
            Contrast({"r0": 1}, "composite", family="b"),
        ],
        scale=(1, 10),
    )
    wide = table.pivot_table(index="prompt", columns="respondent", values="composite")
    assert both[0].this_panel.value == pytest.approx(
        (wide["r0"] - (wide["r1"] + wide["r2"]) / 2).mean()
    )
    assert both[1].this_panel.family == "one comparison"
    assert (both[2].this_panel.verdict, both[2].this_panel.family) == (None, None)
    assert 1 <= both[2].this_panel.low < both[2].this_panel.high <= 10


def test_items_within_a_unit_are_averaged() -> None:
    table = panel()
    twice = pd.concat([table.assign(item="a"), table.assign(item="b")])
    twice.loc[twice["item"] == "b", "composite"] += 1
    effect = effects(
        coded(twice, item="item"), [Contrast({"r0": 1, "r1": -1}, "composite")], scale=(1, 10)
    )[0]
    assert effect.this_panel.value == pytest.approx(difference(table).this_panel.value)
    assert (effect.matched.n_planned, effect.this_panel.n) == (2 * PROMPTS, PROMPTS)


def test_a_share_has_the_error_of_its_clusters() -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {
            "cluster": rng.integers(0, 25, 400), "item": range(400),
            "arm": rng.choice(["a", "b"], 400), "yes": rng.integers(0, 2, 400) * 1.0,
        }
    )  # fmt: skip
    scores = Scores.of(table, arm="arm", unit="cluster", item="item", columns=("yes",))
    share, gap = (
        effect.this_panel
        for effect in effects(
            scores,
            [
                Contrast({"a": 1}, "yes", is_pooled=True),
                Contrast({"a": 1, "b": -1}, "yes", is_pooled=True),
            ],
            unit="cluster",
        )
    )
    fit = sm.OLS(table["yes"], sm.add_constant((table["arm"] == "a") * 1.0)).fit(
        cov_type="cluster", cov_kwds={"groups": table["cluster"], "use_correction": False}
    )
    assert gap.value == pytest.approx(fit.params.iloc[1])
    assert gap.se == pytest.approx(fit.bse.iloc[1] * np.sqrt(25 / 24))
    assert share.value == pytest.approx(table.loc[table["arm"] == "a", "yes"].mean())
    apart = table.assign(cluster=table["cluster"].astype(str) + table["arm"])
    separate = effects(
        Scores.of(apart, arm="arm", unit="cluster", item="item", columns=("yes",)),
        [Contrast({"a": 1, "b": -1}, "yes", is_pooled=True)],
    )[0]
    assert not separate.matched.is_paired
    assert separate.this_panel.value == pytest.approx(gap.value)


def test_arms_in_sets_without_a_unit_in_common_have_the_errors_of_their_sets() -> None:
    # Names of four groups, each in two kinds of cities: groups are separate, kinds are not.
    rng = np.random.default_rng(3)
    levels = {group: rng.normal(k, 1 + k, (4 + k, 2)) for k, group in enumerate("abcd")}
    table = pd.DataFrame([
        {"unit": f"{group}{name}", "arm": f"{group}{city}", "score": score}
        for group, values in levels.items()
        for name, row in enumerate(values) for city, score in enumerate(row)
    ])  # fmt: skip
    scores = Scores.of(table, arm="arm", unit="unit", columns=["score"])
    weights = {"a": 0.5, "b": 0.5, "c": -0.5, "d": -0.5}
    between = {f"{group}{k}": w / 2 for group, w in weights.items() for k in (0, 1)}
    within = {f"{group}{k}": (-1) ** k / 4 for group in "abcd" for k in (0, 1)}
    found = [
        effect.this_panel
        for effect in effects(scores, [
            Contrast(between, "score", is_pooled=True), Contrast(within, "score", is_pooled=True)
        ])
    ]  # fmt: skip
    for one, of_name, w in (
        (found[0], lambda values: values.mean(axis=1), weights),
        (found[1], lambda values: values[:, 0] - values[:, 1], dict.fromkeys("abcd", 0.25)),
    ):
        of_group = {group: of_name(values) for group, values in levels.items()}
        assert one.value == pytest.approx(sum(w[g] * v.mean() for g, v in of_group.items()))
        parts = [w[g] ** 2 * v.var(ddof=1) / v.size for g, v in of_group.items()]
        df = sum(parts) ** 2 / sum(
            part**2 / (v.size - 1) for part, v in zip(parts, of_group.values(), strict=True)
        )
        assert one.se == pytest.approx(np.sqrt(sum(parts)))
        assert one.high - one.value == pytest.approx(stats.t.ppf(0.975, df) * one.se)
        assert one.n == 22


def test_before_and_after_are_two_more_arms() -> None:
    table, later = panel(), panel(lift=1.4)
    both = pd.concat(
        [
            one.assign(respondent=[arm_when(when, name) for name in one["respondent"]])
            for when, one in (("before", table), ("after", later))
        ]
    )
    plan = [Contrast({"r0": 1, "r1": -1}, "composite")]
    change = effects(coded(both), before_and_after(plan), scale=(1, 10))[0]
    expected = difference(later).by_unit - difference(table).by_unit
    assert change.by_unit == pytest.approx(expected)
    assert change.this_panel.value == pytest.approx(0.8)


def test_arms_that_nobody_scored_have_a_reason_and_no_number() -> None:
    table = panel()
    table.loc[table["respondent"] == "r1", ["composite", "depth"]] = np.nan
    effect = difference(table)
    assert (effect.this_panel.verdict, effect.this_panel.n) == ("undefined", 0)
    assert np.isnan(effect.this_panel.value)
    assert effect.this_panel.reason == "no prompt has enough judges who scored both"


def test_values_that_scatter_as_the_contrast_is_uncertain_are_decided_with_others() -> None:
    table = panel()
    table.loc[np.random.default_rng(2).random(len(table)) < 0.3, ["composite", "depth"]] = np.nan
    effect = difference(table)
    found = decided(effect.spread[:, None])[0]
    mine = effect.this_panel
    assert (found.value, found.se, found.verdict) == (
        pytest.approx(mine.value), pytest.approx(mine.se), mine.verdict,
    )  # fmt: skip
