"""Cells of the stress test: published data, hand calculations, verdicts, families, gates."""

import math
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from areopagus.aggregation import (
    Degradation,
    Estimate,
    degradation,
    holm,
    max_t,
    sign_flip_test,
)
from areopagus.aggregation.degradation_cells import prompts_to_detect
from areopagus.errors import InputError

NAN = math.nan
# Student's sleep data (R's `sleep`): extra hours under two drugs, ten people.
DRUG_1 = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
DRUG_2 = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
FRAMINGS = ["empirical_i", "empirical_friend", "emotion_agree", "emotion_disagree"]
DIMENSIONS = ["clarity", "pluralistic_engagement"]


def one_cell(baseline, variant, **options) -> Degradation:
    """A test of one target, framing and dimension."""
    scores = np.array([baseline, variant], dtype=float)[None, :, :, None]
    return degradation(
        scores, targets=["t"], conditions=["baseline", "v"], dimensions=["d"], **options
    )


def study(seed: int = 0, prompts: int = 12, targets: int = 1, **options) -> Degradation:
    """An unchanged target of two dimensions under four framings, unless scores are given."""
    rng = np.random.default_rng(seed)
    scores = options.pop("scores", None)
    if scores is None:
        scores = 6 + 0.4 * rng.normal(size=(targets, 5, prompts, 2))
    return degradation(
        scores,
        targets=[f"t{k}" for k in range(len(scores))],
        conditions=["baseline", *FRAMINGS],
        dimensions=DIMENSIONS,
        **options,
    )


def with_changes(prompts: int = 24, seed: int = 1) -> np.ndarray:
    """Scores of one target that falls by 1 under emotion_agree in both dimensions."""
    scores = 6 + 0.4 * np.random.default_rng(seed).normal(size=(1, 5, prompts, 2))
    scores[:, 3] -= 1.0
    return scores


def test_students_sleep_data_in_one_cell() -> None:
    found = one_cell(DRUG_1 + 4, DRUG_2 + 4)
    cell = found.cell("t", "v", "d")
    # R: t.test(extra ~ group, paired = TRUE): t = -4.0621, 95% -2.4598858 to -0.7001142.
    assert cell.delta.value == pytest.approx(-1.58)
    assert (cell.delta.low, cell.delta.high) == pytest.approx((-2.4598858, -0.7001142))
    assert cell.delta.value / (cell.standard_deviation / math.sqrt(10)) == pytest.approx(
        -4.0621, abs=1e-4
    )
    # d_z, times J(9) = .9139, and by the mean standard deviation of the arms.
    assert cell.d_z == pytest.approx(-1.2846, abs=1e-4)
    assert cell.hedges_g == pytest.approx(-1.1739, abs=1e-4)
    assert cell.d_av == pytest.approx(-0.8335, abs=1e-3)
    # Nine differences of one sign and a 0: only all signs alike reach the sum, 4 / 1024.
    assert cell.delta.p == 4 / 1024
    assert cell.verdict == "changed"
    assert cell.within_margin is False
    assert (cell.delta.n, cell.delta.n_planned) == (10, 10)


def test_the_null_of_a_cell_is_the_sign_flip_test_and_its_equivalence_the_ninety_interval() -> None:
    rng = np.random.default_rng(3)
    baseline, variant = 6 + rng.normal(size=(2, 14))
    cell = one_cell(baseline, variant).cell("t", "v", "d")
    assert cell.delta.p == sign_flip_test(baseline - variant).p
    assert cell.delta.p_method == "sign flip, exact"
    ninety = stats.t.interval(0.9, 13, (baseline - variant).mean(), stats.sem(baseline - variant))
    assert (cell.equivalence.low, cell.equivalence.high) == pytest.approx(ninety)


def test_holm_and_max_t_run_over_the_dimension_cells_of_a_target() -> None:
    rng = np.random.default_rng(4)
    scores = 6 + 0.4 * rng.normal(size=(2, 5, 11, 2))
    by_target, over_all = study(scores=scores), study(scores=scores, family="all")
    deltas = scores[:, :1] - scores[:, 1:]
    for t in (0, 1):
        cells = [c for c in by_target.cells if c.target == f"t{t}" and c.dimension]
        assert [c.n_tests for c in cells] == [8] * 8
        assert [c.delta.p_adjusted for c in cells] == holm([c.delta.p for c in cells]).tolist()
        columns = deltas[t].transpose(1, 0, 2).reshape(11, 8)
        assert [c.p_max_t for c in cells] == pytest.approx(max_t(columns).p_adjusted.tolist())
    cells = [c for c in over_all.cells if c.dimension]
    assert [c.n_tests for c in cells] == [16] * 16
    assert [c.delta.p_adjusted for c in cells] == holm([c.delta.p for c in cells]).tolist()
    # The mean cells are a second family, of four framings a target.
    means = [c for c in by_target.cells if c.target == "t0" and c.dimension is None]
    assert [c.delta.p_adjusted for c in means] == holm([c.delta.p for c in means]).tolist()
    assert [(f.kind, f.targets, f.n_tests) for f in by_target.families] == [
        ("dimensions", ("t0",), 8),
        ("dimensions", ("t1",), 8),
        ("means", ("t0",), 4),
        ("means", ("t1",), 4),
    ]
    assert [f.n_tests for f in over_all.families] == [16, 8]


def test_the_mean_cell_is_each_prompts_mean_over_dimensions() -> None:
    # Deltas by prompt: clarity 1 2 3 4 5 6, engagement 3 2 1 0 -1 2: means 2 2 2 2 2 4, mean 14/6.
    baseline = np.full((6, 2), 8.0)
    deltas = np.array([[1, 3], [2, 2], [3, 1], [4, 0], [5, -1], [6, 2]], dtype=float)
    scores = np.stack([baseline, baseline - deltas])[None]
    found = degradation(scores, targets=["t"], conditions=["baseline", "v"], dimensions=DIMENSIONS)
    cell = found.cell("t", "v", None)
    assert cell.delta.value == pytest.approx(14 / 6)
    assert cell.standard_deviation == pytest.approx(np.std([2, 2, 2, 2, 2, 4], ddof=1))
    assert found.overall["t"].value == pytest.approx(14 / 6)
    assert found.overall["t"].low == pytest.approx(cell.delta.low)


def test_verdicts_of_a_change_an_absence_and_a_doubt() -> None:
    found = study(scores=with_changes())
    assert found.cell("t0", "emotion_agree", "clarity").verdict == "changed"
    robust = found.cell("t0", "empirical_i", "clarity")
    assert (robust.verdict, robust.reason, robust.within_margin) == ("robust", None, True)
    small = study(scores=with_changes(prompts=7))
    assert "among 8 tests" in str(small.families[0].reason)
    # Four mean cells: 4 x 2 / 128 = .0625 is no more use.
    assert small.families[1].smallest_p_holm == 0.0625
    few = small.cell("t0", "emotion_agree", "clarity")
    # Eight tests, seven prompts: 8 x 2 / 128 = .125 is the smallest Holm p.
    assert few.verdict == "undecided"
    assert few.delta.p_adjusted == pytest.approx(0.125)
    assert "among 8 tests the smallest Holm p" in str(few.reason)
    assert "is not inside ±0.5" in str(few.reason)


def test_a_change_inside_the_margin_is_a_change_and_says_so() -> None:
    rng = np.random.default_rng(6)
    baseline = 6 + rng.normal(size=40)
    found = one_cell(baseline, baseline - 0.2 + 0.05 * rng.normal(size=40))
    cell = found.cell("t", "v", "d")
    assert (cell.verdict, cell.within_margin) == ("changed", True)
    # The claim for all cells is one of size: it stands, and counts the change.
    claim = found.robust_everywhere[0]
    assert (claim.is_robust, claim.n_changed, claim.n_failing) == (True, 1, 0)
    assert claim.p_value == cell.equivalence.p


def test_deltas_that_are_the_same_on_every_prompt_can_be_robust_or_not() -> None:
    same = one_cell(np.full(6, 7.0), np.full(6, 7.0)).cell("t", "v", "d")
    assert (same.verdict, same.reason, same.within_margin) == ("robust", None, True)
    # No interval over prompts, of the change or here: the value itself is inside.
    assert (same.delta.has_interval, same.equivalence.has_interval) == (False, False)
    assert (same.equivalence.verdict, same.equivalence.p) == ("inside", 0.0)
    assert "every prompt moves by the same" in str(same.equivalence.reason)
    # On the margin it is not inside, and six prompts of one sign are significant: 2 / 64.
    moved = one_cell(np.full(6, 7.0), np.full(6, 6.5)).cell("t", "v", "d")
    assert (moved.verdict, moved.within_margin, moved.delta.p) == ("changed", False, 2 / 64)
    few = one_cell(np.full(5, 7.0), np.full(5, 7.0)).cell("t", "v", "d")
    assert (few.verdict, few.within_margin) == ("undecided", None)


def test_prompts_needed_are_the_tabled_ones_within_one() -> None:
    # Standard deviations .8 and 1.2, margin .5: 24 and 51 prompts for equivalence.
    for sd, tabled in ((0.8, 24), (1.2, 51)):
        values = stats.zscore([1.0, 2.0, 4.0, 4.5, 5.0, 7.0, 8.0], ddof=1) * sd
        cell = one_cell(np.full(7, 5.0), 5.0 - values).cell("t", "v", "d")
        assert cell.verdict == "undecided"
        assert cell.prompts_for_equivalence is not None
        assert abs(cell.prompts_for_equivalence - tabled) <= 1
        assert cell.prompts_to_detect is not None
        assert cell.prompts_needed == max(cell.prompts_for_equivalence, cell.prompts_to_detect)


def test_missing_scores_leave_out_whole_prompts() -> None:
    scores = with_changes()
    scores[0, 0, 0, 0] = NAN  # the baseline's clarity on the first prompt
    scores[0, 3, 1, 1] = NAN  # emotion_agree's engagement on the second
    found = study(scores=scores)
    clarity = found.cell("t0", "emotion_agree", "clarity")
    assert (clarity.delta.n, clarity.n_variant_only, clarity.n_baseline_only) == (23, 1, 0)
    expected = (scores[0, 0, 1:, 0] - scores[0, 3, 1:, 0]).mean()
    assert clarity.delta.value == pytest.approx(expected)
    engagement = found.cell("t0", "emotion_agree", "pluralistic_engagement")
    assert (engagement.delta.n, engagement.n_baseline_only) == (23, 1)
    # The mean over dimensions needs both, under this framing: prompts 3 to 24.
    assert found.cell("t0", "emotion_agree", None).delta.n == 22
    assert found.cell("t0", "empirical_i", None).delta.n == 23
    overall = found.overall["t0"]
    assert (overall.n, overall.n_planned) == (22, 24)
    assert overall.value == pytest.approx((scores[0, :1, 2:] - scores[0, 1:, 2:]).mean())


def test_a_target_without_a_condition_has_no_figure_for_it() -> None:
    scores = np.concatenate([with_changes(), with_changes(seed=2)])
    scores[1, 2] = NAN
    found = study(scores=scores)
    cell = found.cell("t1", "empirical_friend", "clarity")
    assert (cell.delta.n, cell.verdict) == (0, "undecided")
    assert cell.reason == cell.delta.reason == "no prompt was scored in both arms"
    # It does not count towards the family either.
    assert found.cell("t1", "empirical_i", "clarity").n_tests == 6
    assert math.isnan(found.overall["t1"].value)
    assert "every score" in str(found.overall["t1"].reason)
    assert found.cell("t0", "empirical_friend", "clarity").delta.n == 24
    assert found.cell("t1", "emotion_agree", None).delta.n == 24


def test_shares_at_the_top_of_the_scale() -> None:
    baseline = [10.0, 9.5, 9.4, 8.0, 10.0, NAN]
    variant = [9.6, 9.0, 9.0, 8.0, NAN, 10.0]
    cell = one_cell(baseline, variant).cell("t", "v", "d")
    # Scored in both arms: the first four; at 9.5 or above two of the baseline's, one variant.
    assert [(one.value, one.n) for one in cell.at_top] == [(0.5, 4), (0.25, 4)]
    # Of two judges: the shares of their judgments at 10 over the first four prompts.
    other = np.array([[10, 10, 9, 8, 8, 8], [10, 9, 9, 8, 8, NAN]])
    both = np.stack([[baseline, variant], other], axis=-1)[None, :, :, None, :, None]
    counted = degradation(
        both, targets=["t"], conditions=["baseline", "v"], dimensions=["d"], models=["a", "a"],
        quorum=1,
    ).cell("t", "v", "d").at_top  # fmt: skip
    assert [one.value for one in counted] == pytest.approx([3 / 8, 1 / 8])
    assert counted[0].method == "judgments at the top"


def test_differential_abstention_by_hand() -> None:
    # 12 prompts: 6 abstained only under the variant, 0 only at the baseline, 1 both, 4 neither,
    # 1 unknown. Mid-p = 2 x .5^6 - .5^6 = 1 / 64.
    first = [0] * 6 + [1] + [0] * 4 + [NAN]
    second = [1] * 6 + [1] + [0] * 4 + [1]
    abstained = np.array([first, second])[None]
    found = one_cell(np.full(12, 6.0), np.full(12, 6.0), abstained=abstained)
    row = found.abstentions[0]
    assert (row.only_baseline, row.only_variant, row.both, row.neither) == (0, 6, 1, 4)
    assert row.estimate.value == pytest.approx(6 / 11)
    assert (row.estimate.n, row.estimate.n_planned) == (11, 12)
    assert row.estimate.p == pytest.approx(1 / 64)
    assert [f.kind for f in found.findings] == ["abstains_more"]
    never = one_cell(np.full(4, 6.0), np.full(4, 6.0), abstained=np.zeros((1, 2, 4))).abstentions[0]
    assert math.isnan(never.estimate.p)
    assert "only one of the arms" in str(never.estimate.reason)


def test_the_order_of_prompts_dimensions_conditions_and_targets_does_not_matter() -> None:
    rng = np.random.default_rng(7)
    scores = 6 + 0.5 * rng.normal(size=(2, 5, 12, 2))
    names = ["baseline", *FRAMINGS]
    found = study(scores=scores)
    order = rng.permutation(5)
    turned = degradation(
        scores[::-1][:, order][:, :, rng.permutation(12)][..., ::-1],
        targets=["t1", "t0"],
        conditions=[names[k] for k in order],
        dimensions=DIMENSIONS[::-1],
    )
    for cell in found.cells:
        other = turned.cell(cell.target, cell.condition, cell.dimension)
        assert other.delta.value == pytest.approx(cell.delta.value)
        assert (other.delta.p, other.delta.p_adjusted) == (cell.delta.p, cell.delta.p_adjusted)
        assert other.p_max_t == cell.p_max_t
        assert other.verdict == cell.verdict


def unexplained(value: object) -> list[Estimate]:
    """The estimates of a result that lack a value or limits and do not say why."""
    if isinstance(value, Estimate):
        is_whole = value.is_defined and (value.has_interval or math.isnan(value.p))
        return [] if is_whole or value.reason else [value]
    if isinstance(value, dict):
        return [bad for one in value.values() for bad in unexplained(one)]
    if isinstance(value, tuple | list):
        return [bad for one in value for bad in unexplained(one)]
    if is_dataclass(value):
        return [bad for one in fields(value) for bad in unexplained(getattr(value, one.name))]
    return []


@pytest.mark.parametrize("prompts", [1, 2, 5])
def test_few_prompts_give_means_and_reasons(prompts) -> None:
    found = study(prompts=prompts)
    for cell in found.cells:
        assert cell.verdict == "undecided"
        assert not math.isnan(cell.delta.value)
        assert math.isnan(cell.delta.low)
        assert "at least 6" in str(cell.reason)
        assert cell.within_margin is None
    assert found.robust_everywhere[0].is_robust is None
    assert [finding.kind for finding in found.findings] == ["none"]
    assert unexplained(found) == []


def test_no_variation_leaves_the_sign_flip_test_and_no_interval_of_its_own() -> None:
    shifted = one_cell(np.full(12, 7.0), np.full(12, 6.0)).cell("t", "v", "d")
    assert shifted.delta.p == 2 / 2**12
    assert shifted.verdict == "changed"
    assert "does not vary" in str(shifted.delta.reason)
    assert math.isnan(shifted.d_z)


def test_every_fault_is_reported_at_once() -> None:
    with pytest.raises(InputError) as caught:
        degradation(
            np.full((1, 2, 3, 2), 11.0), targets=["t", "t"], conditions=["a", "b"],
            dimensions=["d"], margin=0, alpha=0.7, quorum=2, flips=0, units=["p"] * 4,
            family="cells", abstained=np.full((1, 2, 3), 2),
        )  # fmt: skip
    fields = [fault.field for fault in caught.value.faults]
    assert fields == [
        "targets", "baseline", "scores", "units", "scores", "abstained", "margin", "alpha",
        "quorum", "family", "flips",
    ]  # fmt: skip
    with pytest.raises(InputError, match="at least one more"):
        degradation(np.ones((1, 1, 3, 1)), targets=["t"], conditions=["baseline"], dimensions=["d"])
    with pytest.raises(KeyError):
        study().cell("t0", "baseline", "clarity")


@pytest.mark.parametrize(("effect", "tests"), [(0.5, 1), (0.8, 1), (0.3, 20), (0.625, 20)])
def test_prompts_to_detect_agree_with_statsmodels(effect, tests) -> None:
    exact = TTestPower().solve_power(effect_size=effect, alpha=0.05 / tests, power=0.8)
    assert prompts_to_detect(1.0, effect, tests=tests) == math.ceil(exact)
    # Units do not matter, nor the sign.
    assert prompts_to_detect(2.0, -2 * effect, tests=tests) == math.ceil(exact)


def test_never_fewer_than_a_sign_flip_test_needs() -> None:
    # 2 / 2^n ≤ .05 from n = 6; ≤ .05 / 20 from n = 10: however large the effect.
    assert prompts_to_detect(0.01, 5.0) == 6
    assert prompts_to_detect(0.01, 5.0, tests=20) == 10
