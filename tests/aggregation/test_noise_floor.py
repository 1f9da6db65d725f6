"""The noise floor against hand calculations, the tabled figures and shared noise."""

import math

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.retest_noise import (
    NoiseComponent,
    noise_floor,
    smallest_detectable_change,
)

NAN = math.nan


def component(retest_sd: float) -> NoiseComponent:
    return NoiseComponent("d", retest_sd, retest_sd, 0.0, NAN, 10, 0.95)


def test_noise_by_hand() -> None:
    # Differences .2 -.2 .4 0 -.4: mean 0, squares .04 .04 .16 0 .16, sum .4, variance .4 / 4 = .1;
    # s = sqrt(.1 / 2) = .2236; SDC of one prompt 1.96 sqrt 2 s = .6198.
    first = [[5.0], [6.0], [7.0], [5.0], [6.0]]
    again = [[5.2], [5.8], [7.4], [5.0], [5.6]]
    floor = noise_floor(first, again, dimensions=["clarity"])
    one = floor.of("clarity")
    assert one.retest_sd == pytest.approx(math.sqrt(0.05))
    assert one.sdc_prompt == pytest.approx(1.95996 * math.sqrt(0.1), abs=1e-5)
    assert one.shift == pytest.approx(0, abs=1e-12)
    assert one.n == 5
    # chi-square of 4 df, lower 5%: .7107; bound = s sqrt(4 / .7107) = .5305.
    assert one.upper == pytest.approx(math.sqrt(0.05 * 4 / stats.chi2.ppf(0.05, 4)))
    assert one.upper == pytest.approx(0.5305, abs=1e-4)
    assert one.sdc(4) == pytest.approx(one.sdc_prompt / 2)
    assert one.sdc(4, repeats=4) == pytest.approx(one.sdc_prompt / 4)
    assert floor.of(None).retest_sd == pytest.approx(one.retest_sd)


def test_tabled_smallest_detectable_changes() -> None:
    # s = .9 a judge: 2.49 for one judge, .46 for the mean of 30, .10 over 20 prompts.
    assert component(0.9).sdc(1) == pytest.approx(2.49, abs=5e-3)
    panel = component(0.9 / math.sqrt(30))
    assert panel.sdc(1) == pytest.approx(0.46, abs=5e-3)
    assert panel.sdc(20) == pytest.approx(0.10, abs=5e-3)


def test_noise_that_judges_share_is_seen_in_the_panel_mean() -> None:
    # rho .25 between 30 judges of s = .9: the panel mean keeps .9 sqrt((1 + 29/4) / 30) = .47.
    rng = np.random.default_rng(1)

    def panel_mean() -> np.ndarray:
        shared = math.sqrt(0.25) * rng.normal(size=(20_000, 1))
        own = math.sqrt(0.75) * rng.normal(size=(20_000, 30))
        return 6 + 0.9 * (shared + own).mean(axis=1, keepdims=True)

    found = noise_floor(panel_mean(), panel_mean(), dimensions=["d"]).of("d")
    assert found.retest_sd == pytest.approx(0.47, abs=0.01)
    assert found.upper == pytest.approx(found.retest_sd, rel=0.02)


def test_a_repeat_that_repeats_itself_measures_nothing() -> None:
    same = np.linspace(3, 7, 12).reshape(6, 2)
    for again, words in ((same, "exactly the same"), (same + 0.5, "the same amount")):
        one = noise_floor(same, again, dimensions=["a", "b"]).of("a")
        assert math.isnan(one.retest_sd)
        assert math.isnan(one.upper)
        assert math.isnan(one.sdc(10))
        assert words in str(one.reason)


def test_four_pairs_are_too_few_and_missing_ones_do_not_count() -> None:
    rng = np.random.default_rng(0)
    first, again = rng.normal(size=(2, 6, 2))
    first[0, 0] = again[1, 0] = NAN
    floor = noise_floor(first, again, dimensions=["a", "b"])
    assert (floor.of("a").n, floor.of("b").n, floor.of(None).n) == (4, 6, 4)
    assert "4 responses re-asked" in str(floor.of("a").reason)
    assert floor.of("b").reason is None
    # The mean over dimensions counts responses with every dimension.
    assert "at least 5" in str(floor.of(None).reason)
    nothing = noise_floor(np.zeros((0, 1)), np.zeros((0, 1)), dimensions=["a"]).of("a")
    assert (nothing.n, math.isnan(nothing.shift)) == (0, True)


def test_noise_does_not_depend_on_order_side_or_level() -> None:
    rng = np.random.default_rng(4)
    first, again = rng.normal(size=(2, 12, 2))
    one = noise_floor(first, again, dimensions=["a", "b"]).of("b")
    other = noise_floor(again[::-1] + 3, first[::-1] + 3, dimensions=["a", "b"]).of("b")
    assert other.retest_sd == pytest.approx(one.retest_sd)
    assert other.shift == pytest.approx(-one.shift)


def test_smallest_detectable_change_of_one_judge_a_panel_and_twenty_prompts() -> None:
    assert smallest_detectable_change(0.9, 1) == pytest.approx(2.49, abs=5e-3)
    assert smallest_detectable_change(0.9, 30) == pytest.approx(0.46, abs=5e-3)
    assert smallest_detectable_change(0.9, 30, n_prompts=20) == pytest.approx(0.10, abs=5e-3)
    assert smallest_detectable_change(0.9, 1, repeats=4) == pytest.approx(
        smallest_detectable_change(0.9, 1) / 2
    )
    assert math.isnan(smallest_detectable_change(math.nan, 3))
    with pytest.raises(ValueError, match="at least 1"):
        smallest_detectable_change(0.9, 0)
