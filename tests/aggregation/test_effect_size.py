"""Effect sizes of the sleep data, and the smallest detectable change."""

from __future__ import annotations

import math

import numpy as np
import pytest

from areopagus.aggregation.effect_size import (
    cohen_dav,
    cohen_dz,
    hedges_correction,
    smallest_detectable_change,
)

NAN = math.nan
FIRST = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
SECOND = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])


def test_effect_sizes_of_the_sleep_data() -> None:
    assert cohen_dz(FIRST - SECOND) == pytest.approx(-1.2846, abs=5e-5)
    # t = d_z sqrt(n)
    assert cohen_dz(FIRST - SECOND) * math.sqrt(10) == pytest.approx(-4.0621, abs=5e-5)
    assert hedges_correction(9) == pytest.approx(0.9139, abs=5e-5)
    assert cohen_dz(FIRST - SECOND) * hedges_correction(9) == pytest.approx(-1.1739, abs=5e-5)
    assert cohen_dav(FIRST, SECOND) == pytest.approx(-0.8335, abs=5e-5)


def test_effect_sizes_are_undefined_without_variation() -> None:
    assert math.isnan(cohen_dz([0.1, 0.1, 0.1]))
    assert math.isnan(cohen_dz([1.0, NAN]))
    assert math.isnan(cohen_dav([1, 1], [2, 2]))
    assert math.isnan(cohen_dav([1, NAN], [2, 3]))
    assert cohen_dz([*(FIRST - SECOND), NAN]) == cohen_dz(FIRST - SECOND)
    with pytest.raises(ValueError, match="paired"):
        cohen_dav([1, 2], [1])
    with pytest.raises(ValueError, match="above 1"):
        hedges_correction(1)


def test_smallest_detectable_change_of_one_judge_a_panel_and_twenty_prompts() -> None:
    assert smallest_detectable_change(0.9, 1) == pytest.approx(2.49, abs=5e-3)
    assert smallest_detectable_change(0.9, 30) == pytest.approx(0.46, abs=5e-3)
    assert smallest_detectable_change(0.9, 30, n_prompts=20) == pytest.approx(0.10, abs=5e-3)
    assert smallest_detectable_change(0.9, 1, repeats=4) == pytest.approx(
        smallest_detectable_change(0.9, 1) / 2
    )
    assert math.isnan(smallest_detectable_change(NAN, 3))
    with pytest.raises(ValueError, match="at least 1"):
        smallest_detectable_change(0.9, 0)
