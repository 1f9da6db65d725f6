"""Sign-flip tests of many cells against enumeration, the one-cell test and published figures."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from areopagus.aggregation.sign_flips import sign_flip_test, sign_flip_tests, smallest_holm_p

NAN = math.nan
# Darwin's maize, crossed minus self-fertilised, in eighths of an inch.
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def test_darwins_maize_beside_another_cell() -> None:
    tests = sign_flip_tests(np.column_stack([MAIZE, np.zeros(15)]))
    assert tests.p_value.tolist() == [1726 / 32768, 1]
    assert tests.method == ("exact", "exact")
    assert tests.smallest.tolist() == [2 / 2**15] * 2


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-8, 8), min_size=1, max_size=13), st.integers(1, 7))
def test_ties_are_counted_as_by_listing_all_vectors(steps, divisor) -> None:
    values = np.array(steps) / divisor
    # Whole steps add up without rounding: every sign vector, listed.
    sums = np.zeros(1, dtype=int)
    for step in steps:
        sums = np.concatenate((sums + step, sums - step))
    total = sum(steps)
    assert sign_flip_tests(values[:, None]).p_value[0] == (np.abs(sums) >= abs(total)).mean()
    assert sign_flip_test(values, alternative="greater").p_value == (sums >= total).mean()
    assert sign_flip_test(values, alternative="less").p_value == (sums <= total).mean()


def test_twenty_two_values_by_full_listing() -> None:
    values = np.random.default_rng(5).normal(0.3, 1, 22)
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate((sums + value, sums - value))
    expected = (np.abs(sums) >= abs(values.sum()) - 1e-9).mean()
    assert sign_flip_tests(values[:, None]).p_value[0] == expected


def test_missing_values_leave_the_cell_and_not_the_prompt() -> None:
    table = np.array([[1.0, NAN], [2.0, 3.0], [NAN, 1.0], [4.0, -1.0]])
    tests = sign_flip_tests(table)
    assert tests.n.tolist() == [3, 3]
    assert tests.p_value.tolist() == [
        sign_flip_test([1, 2, 4]).p_value,
        sign_flip_test([3, 1, -1]).p_value,
    ]


def test_a_cell_without_a_value_has_no_p() -> None:
    tests = sign_flip_tests(np.full((4, 1), NAN))
    assert math.isnan(tests.p_value[0])
    assert tests.method == ("none",)
    assert math.isnan(smallest_holm_p(tests))
    assert sign_flip_tests(np.zeros((0, 2))).n.tolist() == [0, 0]


def test_beyond_thirty_values_vectors_are_drawn() -> None:
    rng = np.random.default_rng(2)
    table = rng.normal(0.2, 1, (60, 2))
    table[:35, 1] = NAN
    tests = sign_flip_tests(table, flips=1999, seed=3)
    assert tests.method == ("monte carlo", "exact")
    assert (tests.p_value[0] * 2000) % 1 == pytest.approx(0, abs=1e-9)
    # Normal approximation of the flipped sum: sd = root of the sum of squares.
    z = abs(table[:, 0].sum()) / math.sqrt((table[:, 0] ** 2).sum())
    assert tests.p_value[0] == pytest.approx(2 * stats.norm.sf(z), abs=0.04)
    assert tests.smallest[0] == 1 / 2000
    again = sign_flip_tests(table, flips=1999, seed=3)
    assert again.p_value.tolist() == tests.p_value.tolist()
    strong = sign_flip_tests(np.full((40, 1), 2.0), flips=99)
    assert strong.p_value[0] == 0.01


def test_the_exact_p_meets_the_drawn_one_at_the_change_of_method() -> None:
    values = np.random.default_rng(8).normal(0.25, 1, 30)
    exact = sign_flip_tests(values[:, None]).p_value[0]
    drawn = sign_flip_tests(np.append(values, 0.0)[:, None], flips=19_999).p_value[0]
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000) + 1e-4)


def test_nine_prompts_cannot_reach_significance_among_twenty_cells() -> None:
    # 20 x 2 / 512 = .078; ten prompts: 20 x 2 / 1024 = .039.
    table = np.random.default_rng(0).normal(size=(10, 20))
    assert smallest_holm_p(sign_flip_tests(table[:9])) == 20 * 2 / 512
    assert smallest_holm_p(sign_flip_tests(table)) == 20 * 2 / 1024


def test_sign_flips_refuse_other_shapes() -> None:
    with pytest.raises(ValueError, match="prompts, cells"):
        sign_flip_tests([1.0, 2.0])
    with pytest.raises(ValueError, match="flips"):
        sign_flip_tests([[1.0]], flips=0)
