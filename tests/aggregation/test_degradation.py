"""Prompts that find a difference, which `differences` asks for."""

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
