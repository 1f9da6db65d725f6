"""The isotonic map and conformal widths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from areopagus.aggregation.conformal import conformal_width, isotonic_map

NAN = math.nan


def test_adjacent_violators_are_pooled() -> None:
    found = isotonic_map(np.arange(7), [1, 2, 6, 2, 5, 7, 3])
    assert found.predict(np.arange(7)) == pytest.approx([1, 2, 4, 4, 5, 5, 5])
    assert found.note is not None


def test_the_map_agrees_with_scikit_learn_and_stays_on_the_scale() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    rng = np.random.default_rng(3)
    x, y = rng.integers(1, 11, 80).astype(float), rng.normal(6, 3, 80)
    referee = isotonic.IsotonicRegression(out_of_bounds="clip", y_min=1, y_max=10).fit(x, y)
    new = np.linspace(-2, 14, 50)
    found = isotonic_map(x, y, scale=(1, 10))
    assert found.predict(new) == pytest.approx(referee.predict(new))
    assert found.note is None
    assert np.isnan(found.predict([NAN])).all()


def test_the_conformal_width_is_an_order_statistic() -> None:
    # nine misses 1..9 at 90%: ceil(10 x .9) = 9th smallest
    assert conformal_width(np.zeros(9), np.arange(1, 10)).value == 9
    # 19 misses at 80%: ceil(20 x .8) = 16th
    assert conformal_width(np.zeros(19), np.arange(1, 20), level=0.8).value == 16
    too_few = conformal_width(np.zeros(8), np.arange(8))
    assert too_few.value == float("inf")
    assert too_few.reason == "8 pairs, of which 9 are needed for 90%"
    assert conformal_width(np.zeros(18), np.arange(18), level=0.95).reason is not None
    assert np.isnan(conformal_width([NAN], [1]).value)


def test_prompts_weigh_alike_however_many_pairs_they_have() -> None:
    # ten prompts, the misses of a prompt alike: as one pair a prompt, the 10th of 11 at 90%
    doubled = np.repeat(np.arange(10), 2)
    found = conformal_width(np.zeros(20), doubled, groups=doubled)
    assert (found.n, found.unit, found.value) == (10, "prompt", 9)
    # nine prompts with a miss of 1, and one with ten, of which one is 1 and nine are 5: the ones
    # hold 9.1 of 11, which is less than .9, and eight of the fives make it 9.9 of 11
    groups = np.concatenate([np.arange(9), np.full(10, 9)])
    misses = np.concatenate([np.ones(10), np.full(9, 5.0)])
    assert conformal_width(np.zeros(19), misses, groups=groups, level=9.1 / 11).value == 1
    assert conformal_width(np.zeros(19), misses, groups=groups).value == 5
    # every pair told five times says nothing new
    again = conformal_width(np.zeros(95), np.tile(misses, 5), groups=np.tile(groups, 5))
    assert again.value == 5
