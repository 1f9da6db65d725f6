"""What a mean could be if those who abstained had scored."""

from __future__ import annotations

import math

import pytest

from areopagus.aggregation import (
    abstention_bounds,
)

NAN = math.nan


def test_bounds_of_a_mean_with_abstentions() -> None:
    # 25 scores with sum 130, five abstentions, scale 1 to 10: (130 + 5) / 30, (130 + 50) / 30.
    scores = [5.0] * 20 + [6.0] * 5 + [NAN] * 5
    found = abstention_bounds(scores)
    assert (found.mean, found.low, found.high) == pytest.approx((5.2, 4.5, 6.0))
    assert (found.n_scored, found.n_abstained, found.coverage) == (25, 5, 25 / 30)
    nobody = abstention_bounds([NAN, NAN], lowest=0, highest=1)
    assert math.isnan(nobody.mean)
    assert (nobody.low, nobody.high) == (0, 1)
    for scores, options in (([], {}), ([11.0], {}), ([5.0], {"lowest": 6.0, "highest": 6.0})):
        with pytest.raises(ValueError, match="got"):
            abstention_bounds(scores, **options)
