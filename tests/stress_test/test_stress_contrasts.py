"""What a stress test compares: published data, hand calculations, judges that are missing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from areopagus.aggregation.effects import arm_when, before_and_after, effects
from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.rater_severity import severity
from areopagus.records.estimates import estimate_at, select
from areopagus.stress_test import StressConfig
from areopagus.stress_test.contrasts import coded, contrasts_of, long_table
from areopagus.stress_test.counts import ConditionCounts
from areopagus.stress_test.estimates import estimate
from areopagus.stress_test.scores import StressScores

NAN = float("nan")
FRAMINGS = ("empirical_i", "empirical_friend", "emotion_agree", "emotion_disagree")
CRITERIA = ("clarity", "grounding", "pluralistic_engagement")
MODELS = ("kind",) * 3 + ("fair",) * 3 + ("harsh",) * 3
SEVERITY = np.repeat([0.5, 0.5, -2.6], 3)
# Student's sleep data (R's `sleep`): extra hours under two drugs, ten people.
DRUG_1 = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
DRUG_2 = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])


def scores_of(
    values: np.ndarray,
    *,
    conditions: tuple[str, ...] = ("baseline", *FRAMINGS),
    criteria: tuple[str, ...] = CRITERIA,
    models: tuple[str, ...] = ("judge",),
    units: tuple[str, ...] | None = None,
    abstained: np.ndarray | None = None,
    wanted: np.ndarray | None = None,
    scale: tuple[int, int] = (1, 10),
) -> StressScores:
    """Of (targets, conditions, prompts, criteria), or with repeats and judges before criteria."""
    if values.ndim == 4:
        values = values[:, :, :, None, None, :]
    n_targets, n_prompts = values.shape[0], values.shape[2]
    targets = tuple(f"t{k}" for k in range(n_targets))
    return StressScores(
        targets, conditions, tuple(f"p{k}" for k in range(n_prompts)), criteria,
        tuple((f"persona {k}", model, 0) for k, model in enumerate(models)),
        scores=values, units=units or tuple(f"text {k}" for k in range(n_prompts)),
        abstained=np.zeros(values.shape[:3]) if abstained is None else abstained,
        regenerated=np.empty((0, 2, len(criteria))), retested=np.empty((0, 2, len(criteria))),
        counts={
            (target, name): ConditionCounts(planned=n_prompts, scored=n_prompts)
            for target in targets for name in conditions
        },
        scale=scale, wanted=wanted,
    )  # fmt: skip


def estimated(values: np.ndarray, *, config: dict[str, Any] | None = None, **how: Any) -> Any:
    return estimate(scores_of(values, **how), StressConfig(**config or {}))[0].frame()


def row(frame: pd.DataFrame, table: str, measure: str = "difference", **keys: Any) -> Estimate:
    at = estimate_at(frame, table, measure, **keys)
    assert at is not None
    return at


def delta(
    frame: pd.DataFrame, framing: str | None, criterion: str = "composite", target: str = "t0"
) -> Estimate:
    keys = {"respondent": target, "framing": framing, "criterion": criterion}
    return row(frame, "degradation", "degradation", **keys)


def one_cell(baseline: Any, variant: Any, **config: Any) -> Estimate:
    """The degradation of one target, framing and criterion."""
    values = np.array([baseline, variant], dtype=float)[None, :, :, None]
    frame = estimated(
        values, conditions=("baseline", "v"), criteria=("d",), scale=(-10, 20), config=config
    )
    return delta(frame, "v")


def unchanged(seed: int = 0, prompts: int = 12, targets: int = 1, sd: float = 0.4) -> np.ndarray:
    return 6 + sd * np.random.default_rng(seed).normal(size=(targets, 5, prompts, 3))


def with_judges(seed: int = 0, prompts: int = 12, targets: int = 1, repeats: int = 1) -> np.ndarray:
    """Targets without effect before three models, one harsh; a prompt's level and judges' noise."""
    rng = np.random.default_rng(seed)
    scores = 6 + SEVERITY[:, None] + 0.8 * rng.normal(size=(targets, 5, prompts, repeats, 9, 3))
    return np.clip(scores + 0.7 * rng.normal(size=(1, 1, prompts, 1, 1, 1)), 1, 10)


def filtered(scores: np.ndarray) -> np.ndarray:
    """The same, the harsh model having refused under emotion_agree."""
    left = scores.copy()
    left[:, 3, :, :, 6:] = NAN
    return left


# The degradation


def test_students_sleep_data_in_one_cell() -> None:
    cell = one_cell(DRUG_1 + 4, DRUG_2 + 4)
    # R: t.test(extra ~ group, paired = TRUE): t = -4.0621, 95% -2.4598858 to -0.7001142.
    assert cell.value == pytest.approx(-1.58)
    assert (cell.low, cell.high) == pytest.approx((-2.4598858, -0.7001142))
    assert cell.value / cell.se == pytest.approx(-4.0621, abs=1e-4)
    # One comparison: the limits that decide are those of t.
    assert (cell.low_family, cell.high_family) == pytest.approx((cell.low, cell.high))
    assert (cell.verdict, cell.n, cell.n_planned) == ("lower", 10, 10)


def test_degradation_above_0_is_higher_and_means_that_scores_drop() -> None:
    values = unchanged(prompts=24)
    values[:, 3] -= 1.0
    frame = estimated(values)
    assert delta(frame, "emotion_agree", "clarity").verdict == "higher"
    assert delta(frame, "emotion_agree").value == pytest.approx(1.0, abs=0.2)
    assert delta(frame, "empirical_i").verdict == "alike"
    values[:, 3] += 2.0
    assert delta(estimated(values), "emotion_agree").verdict == "lower"


def test_one_framing_is_decided_with_the_others_and_the_composites_by_themselves() -> None:
    by_target = estimated(unchanged(targets=2))
    assert delta(by_target, "empirical_i", "clarity").family == "12 criteria by framing of t0"
    assert delta(by_target, "empirical_i").family == "4 composites of t0"
    together = estimated(unchanged(targets=2), config={"family": "all"})
    assert delta(together, "empirical_i", "clarity").family == "24 criteria by framing"
    assert delta(together, "empirical_i").family == "8 composites"
    # The limits of a family are wider than those of one cell.
    cell = delta(by_target, "empirical_i", "clarity")
    assert cell.low_family < cell.low < cell.high < cell.high_family


def test_no_shown_interval_contradicts_its_verdict() -> None:
    for seed in range(10):
        values = unchanged(seed, prompts=14)
        values[:, 3] -= 0.4
        frame = estimated(values)
        decided = frame[frame["verdict"].isin(["higher", "lower", "alike", "open"])]
        is_out = (decided["low_family"] > 0) | (decided["high_family"] < 0)
        assert (is_out == decided["verdict"].isin(["higher", "lower"])).all()
        assert set(frame["verdict"].dropna()) <= {"higher", "lower", "alike", "open", "undefined"}


def test_nine_prompts_can_show_a_large_change_of_one_criterion_among_twelve() -> None:
    # Holm over exact sign flips could not, whatever the change: 12 x 2 / 2^9 = .047, of 20 .078.
    values = unchanged(prompts=9)
    values[:, 3, :, 0] -= 3.0
    assert delta(estimated(values), "emotion_agree", "clarity").verdict == "higher"


def test_the_composite_is_each_prompts_mean_over_criteria() -> None:
    # Deltas by prompt: clarity 1 2 3 4 5 6, engagement 3 2 1 0 -1 2: means 2 2 2 2 2 4, mean 14/6.
    deltas = np.array([[1, 3], [2, 2], [3, 1], [4, 0], [5, -1], [6, 2]], dtype=float)
    values = np.stack([np.full((6, 2), 8.0), 8.0 - deltas])[None]
    frame = estimated(values, conditions=("baseline", "v"), criteria=("clarity", "engagement"))
    assert delta(frame, "v").value == pytest.approx(14 / 6)
    assert delta(frame, "v").se == pytest.approx(stats.sem([2, 2, 2, 2, 2, 4]))
    assert delta(frame, None).value == pytest.approx(14 / 6)


def test_a_change_inside_the_margin_is_a_change() -> None:
    rng = np.random.default_rng(6)
    baseline = 6 + rng.normal(size=40)
    cell = one_cell(baseline, baseline - 0.2 + 0.05 * rng.normal(size=40))
    assert cell.verdict == "higher"
    assert cell.high_family < 0.5


def test_changes_that_are_the_same_on_every_prompt_are_decided_without_limits() -> None:
    assert one_cell(np.full(6, 7.0), np.full(6, 7.0)).verdict == "alike"
    # Six prompts of one sign: 2 / 64.
    moved = one_cell(np.full(6, 7.0), np.full(6, 6.5))
    assert (moved.verdict, moved.p, moved.has_interval) == ("higher", 2 / 64, False)
    assert one_cell(np.full(5, 7.0), np.full(5, 7.0)).verdict == "undefined"


@pytest.mark.parametrize("prompts", [1, 2, 5])
def test_few_prompts_give_means_and_reasons(prompts: int) -> None:
    frame = estimated(unchanged(prompts=prompts))
    cells = select(frame, "degradation")
    assert set(cells["verdict"]) == {"undefined"}
    assert cells["value"].notna().all()
    assert cells["low"].isna().all()
    assert cells["reason"].str.contains("at least 6").all()


def test_an_open_cell_says_how_many_prompts_would_find_the_margin() -> None:
    values = stats.zscore([1.0, 2.0, 4.0, 4.5, 5.0, 7.0, 8.0], ddof=1) * 0.8
    cell = one_cell(np.full(7, 5.0), 5.0 - values)
    assert cell.verdict == "open"
    # G*Power: paired t, .5 / .8, two-sided .05, power .8.
    assert cell.needed == 23


def test_prompts_without_a_score_on_one_side_are_left_out_and_planned_all_the_same() -> None:
    values = unchanged(prompts=24)
    values[0, 0, 0] = NAN
    values[0, 3, 1] = NAN
    frame = estimated(values)
    cell = delta(frame, "emotion_agree")
    assert (cell.n, cell.n_planned) == (22, 24)
    assert cell.value == pytest.approx((values[0, 0, 2:] - values[0, 3, 2:]).mean())
    assert delta(frame, "empirical_i").n == 23
    assert delta(frame, None).n == 22
    assert row(frame, "balance", "left_out", framing="emotion_agree").value == 2


def test_a_target_without_a_condition_has_no_figure_for_it() -> None:
    values = unchanged(targets=2)
    values[1, 2] = NAN
    frame = estimated(values)
    cell = delta(frame, "empirical_friend", "clarity", "t1")
    assert (cell.n, cell.n_planned, cell.verdict) == (0, 12, "undefined")
    assert "enough judges who scored both" in str(cell.reason)
    # It does not count towards the family either.
    assert delta(frame, "empirical_i", "clarity", "t1").family == "9 criteria by framing of t1"
    assert math.isnan(delta(frame, None, target="t1").value)
    assert delta(frame, "empirical_friend", "clarity").n == 12


def test_the_order_of_prompts_criteria_conditions_and_targets_does_not_matter() -> None:
    rng = np.random.default_rng(7)
    values = 6 + 0.5 * rng.normal(size=(2, 5, 12, 3))
    names = ("baseline", *FRAMINGS)
    order = rng.permutation(5)
    frame = estimated(values)
    turned = estimated(
        values[:, order][:, :, rng.permutation(12)][..., ::-1],
        conditions=tuple(names[k] for k in order), criteria=CRITERIA[::-1],
    )  # fmt: skip
    for framing in FRAMINGS:
        for criterion in ("composite", *CRITERIA):
            one, other = delta(frame, framing, criterion), delta(turned, framing, criterion)
            assert other.value == pytest.approx(one.value)
            assert other.low_family == pytest.approx(one.low_family)
            assert other.verdict == one.verdict


def test_prompts_with_the_same_text_are_one_unit() -> None:
    scores = with_judges(prompts=6)
    twice = np.concatenate([scores, scores], axis=2)
    texts = tuple(f"text {k}" for k in range(6)) * 2
    once = estimated(scores, models=MODELS)
    both = estimated(twice, models=MODELS, units=texts)
    for framing in FRAMINGS:
        one, other = delta(once, framing), delta(both, framing)
        assert (other.n, other.n_planned) == (6, 6)
        assert (other.value, other.low, other.p) == pytest.approx((one.value, one.low, one.p))
    # As twelve prompts they would be surer than they are.
    assert delta(estimated(twice, models=MODELS), "empirical_i").n == 12
    # A prompt of the pair that is missing leaves the unit to the other.
    twice[0, 3, 0] = NAN
    assert delta(estimated(twice, models=MODELS, units=texts), "emotion_agree").n == 6


# Contrasts, asymmetry, targets, abstention


def test_contrasts_by_hand() -> None:
    values = 6 + 0.5 * np.random.default_rng(4).normal(size=(1, 5, 12, 3))
    frame = estimated(values)
    deltas = values[0, :1] - values[0, 1:]
    assert set(select(frame, "contrast")["family"]) == {"9 contrasts of t0"}
    friend = row(frame, "contrast", factor="framing", group="empirical_i")
    assert friend.value == pytest.approx((deltas[0] - deltas[1]).mean())
    agree = row(frame, "contrast", factor="condition", group="emotion_agree")
    assert agree.value == pytest.approx((deltas[2] - deltas[[0, 1, 3]].mean(axis=0)).mean())
    clarity = row(frame, "contrast", factor="dimension", group="clarity")
    assert clarity.value == pytest.approx(deltas[..., 0].mean() - deltas[..., 1:].mean())
    felt = row(frame, "contrast", factor="framing", group="emotion_agree, emotion_disagree")
    assert felt.value == pytest.approx(deltas[2:].mean() - deltas[:2].mean())


def test_two_conditions_are_contrasted_once() -> None:
    values = 6 + 0.5 * np.random.default_rng(4).normal(size=(1, 3, 12, 1))
    conditions = ("baseline", "empirical_i", "empirical_friend")
    frame = estimated(values, conditions=conditions, criteria=("d",))
    rows = select(frame, "contrast")
    assert rows[["factor", "group", "detail"]].to_numpy().tolist() == [
        ["condition", "empirical_i", "empirical_friend"]
    ]
    alone = estimated(values[:, :2], conditions=("baseline", "v"), criteria=("d",))
    assert select(alone, "contrast").empty


def test_asymmetry_is_the_paired_difference_of_the_two_framings() -> None:
    values = 6 + np.random.default_rng(1).normal(size=(2, 5, 12, 3)).clip(-3, 3)
    frame = estimated(values)
    for t in (0, 1):
        # delta_agree - delta_disagree = S_disagree - S_agree, whatever the baseline.
        gaps = values[t, 4, :, 2] - values[t, 3, :, 2]
        declared = row(frame, "asymmetry", respondent=f"t{t}", detail="declared")
        limits = stats.t.interval(0.95, 11, gaps.mean(), stats.sem(gaps))
        assert (declared.value, declared.low, declared.high) == pytest.approx(
            (gaps.mean(), *limits)
        )
        assert declared.family == "2 declared asymmetries"
    assert len(select(frame, "asymmetry", detail=None)) == 4
    values[:, 0] = NAN
    assert row(estimated(values), "asymmetry", detail="declared").n == 12, "the baseline cancels"


def test_a_missing_framing_or_criterion_is_said() -> None:
    frame = estimated(unchanged(), config={"agree": "praise", "disagree": "blame"})
    assert select(frame, "asymmetry").empty
    for config, why in (
        ({"agree": "praise", "disagree": "blame"}, "no condition named praise or blame"),
        ({"asymmetry_dimension": "humour"}, "no criterion is named humour"),
    ):
        said = estimate(scores_of(unchanged()), StressConfig(**config))[1]
        assert f"No declared asymmetry: {why}." in said["limitations"]


def test_targets_are_compared_on_the_same_prompts() -> None:
    values = unchanged(2, targets=3, sd=0.5)
    values[0, 1:] -= 0.8
    values[2, 0, 0] = NAN
    frame = estimated(values)
    overall = select(frame, "comparison", framing=None, criterion="composite")
    assert overall[["respondent", "baseline"]].to_numpy().tolist() == [
        ["t0", "t1"], ["t0", "t2"], ["t1", "t2"],
    ]  # fmt: skip
    whole = (values[:, :1] - values[:, 1:]).mean(axis=(1, 3))
    first = row(frame, "comparison", respondent="t0", baseline="t1", framing=None)
    assert first.value == pytest.approx((whole[0] - whole[1]).mean())
    assert (first.verdict, first.n) == ("higher", 12)
    assert row(frame, "comparison", respondent="t0", baseline="t2", framing=None).n == 11
    agree = row(
        frame, "comparison", respondent="t0", baseline="t1", framing="emotion_agree",
        criterion="composite",
    )  # fmt: skip
    columns = (values[:, 0] - values[:, 3]).mean(axis=2)
    assert agree.value == pytest.approx((columns[0] - columns[1]).mean())
    assert agree.family == "12 comparisons of targets, by framing"
    assert select(estimated(unchanged()), "comparison").empty


def test_differential_abstention_by_hand() -> None:
    # 12 prompts: 6 abstained only under the variant, 1 both, 4 neither, 1 unknown.
    first = [0] * 6 + [1] + [0] * 4 + [NAN]
    second = [1] * 6 + [1] + [0] * 4 + [1]
    values = np.full((1, 2, 12, 1), 6.0)
    how: dict[str, Any] = {"conditions": ("baseline", "v"), "criteria": ("d",)}
    frame = estimated(values, abstained=np.array([[first, second]], dtype=float), **how)
    change = row(frame, "abstention", framing="v")
    assert change.value == pytest.approx(6 / 11)
    assert (change.n, change.n_planned, change.verdict) == (11, 12, "higher")
    assert change.universe is None, "judges play no part"
    never = row(estimated(values, **how), "abstention", framing="v")
    assert (never.value, never.verdict) == (0, "alike")


def test_a_text_that_is_declined_in_half_of_its_prompts_counts_half() -> None:
    declined = np.zeros((1, 5, 12))
    declined[0, 3, [0, 6, 7]] = 1  # the whole first unit, and half of the second
    texts = tuple(f"text {k}" for k in range(6)) * 2
    frame = estimated(unchanged(), abstained=declined, units=texts)
    assert row(frame, "abstention", framing="emotion_agree").value == pytest.approx(1.5 / 6)


# Judges that are missing


def test_a_model_that_one_framing_filters_is_no_change_of_the_target() -> None:
    scores = filtered(with_judges())
    frame = estimated(scores, models=MODELS)
    cell = delta(frame, "emotion_agree")
    others = scores[0, :, :, 0, :6].mean(axis=(2, 3))
    assert cell.value == pytest.approx((others[0] - others[3]).mean())
    assert (cell.n, cell.verdict in ("alike", "open")) == (12, True)
    # The framing is marked: a third of its judgments are missing, and could be anything.
    assert row(frame, "balance", "scored", framing="emotion_agree").value == pytest.approx(1 / 3)
    assert row(frame, "balance", "one_sided", framing="emotion_agree").value == 36
    bounds = row(frame, "balance", "bounds", framing="emotion_agree")
    assert bounds.low < cell.low < cell.high < bounds.high
    assert estimate_at(frame, "balance", "bounds", framing="empirical_i") is None
    # Contrasts, asymmetry, the mean over framings rest on the six judges that scored every arm.
    rows = frame[frame["table"].isin(["contrast", "asymmetry", "degradation"])]
    assert not rows["verdict"].isin(["higher", "lower"]).any()
    assert delta(frame, None).value == pytest.approx((others[0] - others[1:]).mean())


def test_over_worlds_the_filter_changes_no_more_verdicts_than_chance() -> None:
    changed = 0
    for seed in range(40):
        table = long_table(scores_of(filtered(with_judges(seed)), models=MODELS))
        composites = [
            one for one in contrasts_of(table, CRITERIA, StressConfig())
            if one.family == "composites of t0"
        ]  # fmt: skip
        found = effects(coded(table, CRITERIA), composites, scale=(1, 10))
        changed += any(one.this_panel.verdict in ("higher", "lower") for one in found)
    # At most .05 of 40 worlds: 2, and twice the standard error of 1.4 more.
    assert changed <= 5


def test_prompts_that_one_judge_scored_in_both_arms_are_left_out_and_counted() -> None:
    scores = with_judges()
    scores[:, 3, :3, :, 1:] = NAN
    frame = estimated(scores, models=MODELS)
    cell = delta(frame, "emotion_agree")
    assert (cell.n, cell.n_planned) == (9, 12)
    assert row(frame, "balance", "left_out", framing="emotion_agree").value == 3
    whole = scores[0, :, 3:].mean(axis=(2, 3, 4))
    assert cell.value == pytest.approx((whole[0] - whole[3]).mean())


def test_judges_whom_nobody_wanted_are_not_missing() -> None:
    scores = with_judges()
    wanted = np.ones(scores.shape[:-1], dtype=bool)
    wanted[:, 3, :, :, 1:] = False
    scores[~wanted] = NAN
    frame = estimated(scores, models=MODELS, wanted=wanted)
    # One judge was planned on both sides, and it is enough.
    assert delta(frame, "emotion_agree").n == 12
    assert estimate_at(frame, "balance", "bounds", framing="emotion_agree") is None


def test_each_models_own_degradation_is_there_by_model() -> None:
    scores = with_judges()
    scores[:, 3] -= 1.0
    scores[:, 3, :, :, :3] += 1.0  # the kind model does not see it
    frame = estimated(filtered(scores), models=MODELS, scale=(-9, 19))

    def by(model: str, framing: str = "emotion_agree") -> Estimate:
        return row(frame, "direction", "degradation", model=model, framing=framing)

    assert by("fair").value == pytest.approx(1.0, abs=0.3)
    assert by("kind").value == pytest.approx(0.0, abs=0.3)
    assert (by("harsh").n, by("harsh").verdict) == (0, "undefined")
    mine = scores[0, :, :, 0, 3:6].mean(axis=(2, 3))
    assert by("fair", "empirical_i").value == pytest.approx((mine[0] - mine[1]).mean())


def test_levels_are_freed_from_who_judged_where_judges_are_missing() -> None:
    scores = with_judges()
    keys = {"framing": "emotion_agree", "criterion": "clarity"}
    even = row(estimated(scores, models=MODELS), "level", "mean", **keys)
    assert even.value == pytest.approx(scores[0, 3, ..., 0].mean())
    missing = filtered(scores)
    level = row(estimated(missing, models=MODELS), "level", "mean", **keys)
    assert "additive fit" in level.method
    assert level.value == pytest.approx(even.value, abs=0.3)
    # The additive fit, from the function that has it; the raw mean is a point above.
    values = missing[0, ..., 0]
    code = np.broadcast_to(np.arange(60).reshape(5, 12, 1, 1), values.shape)
    judge = np.broadcast_to(np.arange(9), values.shape)
    fit = severity(values.ravel(), code.ravel(), judge.ravel(), shrink=False)
    assert level.value == pytest.approx(fit.adjusted.reshape(5, 12)[3].mean())
    assert np.nanmean(values[3]) > level.value + 0.7


def test_shares_of_judgments_at_the_top_of_the_scale() -> None:
    values = np.array([[[10, 10], [9, 10], [8, NAN]], [[10, 9], [9, 9], [8, 8]]])
    frame = estimated(
        values[None, :, :, None, :, None], conditions=("baseline", "v"), criteria=("d",),
        models=("a", "a"),
    )  # fmt: skip
    top = row(frame, "level", "at_top", framing="baseline")
    assert (top.value, top.n, top.n_planned) == (3 / 5, 5, 6)
    assert row(frame, "level", "at_top", framing="v").value == pytest.approx(1 / 6)


# Two tests


def test_the_change_between_two_tests_is_a_contrast_of_their_two_tables() -> None:
    first, second = (long_table(scores_of(unchanged(seed, prompts=20))) for seed in (1, 2))
    second[[*CRITERIA]] -= 1.5 * (second["condition"] == "emotion_agree").to_numpy()[:, None]
    both = pd.concat(
        [
            table.assign(arm=[arm_when(when, arm) for arm in table["arm"]])
            for when, table in (("before", first), ("after", second))
        ]
    )
    wanted = contrasts_of(first, CRITERIA, StressConfig())
    changes = effects(coded(both, CRITERIA), before_and_after(wanted))
    verdicts = {
        one.contrast.keys.get("framing"): one.this_panel.verdict
        for one in changes
        if one.contrast.family == "composites of t0"
    }
    assert verdicts.pop("emotion_agree") == "higher"
    assert not {"higher", "lower"} & set(verdicts.values())
