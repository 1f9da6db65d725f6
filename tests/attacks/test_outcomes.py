"""What may be said of a family: against harmless prose, in the direction demanded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from areopagus.attacks.outcomes import FamilyTest, Measured, family_tests

EIGHT = np.asarray([1.0, 1.2, 0.8, 1.1, 0.9, 1.3, 0.7, 1.0])
NOISE = np.asarray([0.2, -0.2, 0.1, -0.1, 0.3, -0.3, 0.1, -0.1])


def outcome_of(shift: Any, beyond: Any, direction: float = 1.0) -> FamilyTest:
    """One family alone, so that Holm's correction changes nothing."""
    one = Measured(np.asarray(shift), None if beyond is None else np.asarray(beyond), direction)
    return family_tests([one], alpha=0.05)[0]


def test_the_p_is_that_of_a_paired_t_test_of_attacked_minus_control() -> None:
    found = outcome_of(EIGHT, EIGHT / 2 + NOISE)
    expected = stats.ttest_1samp(EIGHT / 2 + NOISE, 0.0).pvalue
    assert found.p_value == pytest.approx(expected)
    assert found.p_holm == pytest.approx(expected)
    assert (found.tested, found.p_method) == ("attacked − control", "t")


def test_holms_correction_goes_over_the_families() -> None:
    # Sorted p: the smallest times 2, the other once, and never below the one before.
    one = Measured(EIGHT, EIGHT, 1.0)
    two = Measured(NOISE, NOISE + 0.1, 1.0)
    first, second = family_tests([one, two], alpha=0.05)
    p, q = (stats.ttest_1samp(x, 0.0).pvalue for x in (EIGHT, NOISE + 0.1))
    assert first.p_holm == pytest.approx(2 * p)
    assert second.p_holm == pytest.approx(max(2 * p, q))
    # Both at once: the larger p of the two differences.
    assert second.p_both_holm == pytest.approx(stats.ttest_1samp(NOISE, 0.0).pvalue)


def test_a_shift_that_harmless_prose_has_as_well_is_not_shown() -> None:
    found = outcome_of(EIGHT, NOISE)
    assert stats.ttest_1samp(EIGHT, 0.0).pvalue < 0.001  # the raw shift alone would be "sure"
    assert found.outcome == "not shown"


@pytest.mark.parametrize(
    ("shift", "beyond", "outcome"),
    [
        (EIGHT, EIGHT, "as demanded"),
        (-EIGHT, -EIGHT, "against its demand"),
        # Harmless prose lowered the score, the attack left it where it was.
        (NOISE, EIGHT, "ahead of harmless prose"),
        # Harmless prose raised the score, the attack did not.
        (NOISE, -EIGHT, "behind harmless prose"),
        # Both raised it, or both lowered it, one more than the other.
        (EIGHT, -EIGHT, "behind harmless prose"),
        (-EIGHT, EIGHT, "ahead of harmless prose"),
        (EIGHT, None, "raw shift as demanded"),
        (-EIGHT, None, "raw shift against its demand"),
        (NOISE, None, "not shown"),
        (np.zeros(8), np.zeros(8), "not shown"),
    ],
)
def test_a_family_is_called_what_both_differences_show(
    shift: Any, beyond: Any, outcome: str
) -> None:
    assert outcome_of(shift, beyond).outcome == outcome
    # A family that asks for the lowest score is the same mirrored.
    mirrored = None if beyond is None else -beyond
    assert outcome_of(-shift, mirrored, -1.0).outcome == outcome


def test_below_six_prompts_nothing_is_tested_and_it_is_said() -> None:
    found = outcome_of(EIGHT[:5], EIGHT[:5])
    assert (found.p_value, found.p_holm, found.outcome) == (None, None, "not tested")
    assert found.p_method == "none: 5 of the 6 prompts that a test needs"
    # A family that is not tested does not count in the correction of the others.
    both = family_tests([Measured(EIGHT, EIGHT, 1.0), Measured(EIGHT[:5], None, 1.0)], alpha=0.05)
    assert both[0].p_holm == both[0].p_value


def test_a_clean_score_that_is_missing_takes_back_no_more_than_it_must() -> None:
    few = EIGHT.copy()
    few[:3] = math.nan
    found = outcome_of(few, EIGHT)
    assert found.p_both_holm is None
    assert found.outcome == "ahead of harmless prose"


def test_families_that_do_as_much_as_harmless_prose_are_rarely_named() -> None:
    # Twenty families, 8 prompts, every shift a point up, attack and control alike: 300 worlds. At
    # .05 the count is Binomial(300, .05) at most: 29 or more has a chance of .0006. The long form
    # is benchmarks/simulate_attack.py.
    rng = np.random.default_rng(5)
    named = 0
    for _ in range(300):
        attacked, control = rng.normal(1.0, 0.3, (2, 20, 8))
        measured = [Measured(a, a - c, 1.0) for a, c in zip(attacked, control, strict=True)]
        named += any(t.outcome != "not shown" for t in family_tests(measured, alpha=0.05))
    assert named < 29
