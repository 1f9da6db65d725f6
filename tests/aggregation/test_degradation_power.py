"""Prompts needed, against statsmodels and the lattice of the sign-flip test."""

import math

import pytest
from statsmodels.stats.power import TTestPower

from areopagus.aggregation.degradation_cells import prompts_to_detect


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
