"""Squared gaps: limits, tests, and shares of cells by two gaps, in worlds whose truth is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.squared_gaps import SquaredGaps, class_shares, gap_limits, gap_p


def drawn(rng: np.random.Generator, gaps: np.ndarray, v: float = 0.02, df: int = 4) -> SquaredGaps:
    """Cells of df differences of variance v each, which is estimated with 40 degrees of freedom."""
    z = rng.normal(np.sqrt(gaps**2)[:, None], math.sqrt(v), size=(len(gaps), df))
    bias = v * rng.chisquare(40, size=len(gaps)) / 40
    return SquaredGaps((z**2).mean(axis=1), bias, bias / df, np.full(len(gaps), 40.0))


def known(raw: float, bias: float, scale: float, noise: float = math.inf) -> SquaredGaps:
    return SquaredGaps(*(np.asarray([one]) for one in (raw, bias, scale, noise)))


def test_the_p_is_that_of_an_f_and_of_a_chi_square_where_the_noise_is_known() -> None:
    # b / s = 4 degrees of freedom; R / b = 2.5.
    assert gap_p(known(0.1, 0.04, 0.01, 20))[0] == pytest.approx(stats.f.sf(2.5, 4, 20))
    assert gap_p(known(0.1, 0.04, 0.01))[0] == pytest.approx(stats.chi2.sf(10, 4), rel=1e-4)


def test_the_limits_are_the_gaps_that_scipy_gives_the_tails() -> None:
    low, high = (one[0] for one in gap_limits(known(0.3, 0.04, 0.01)))
    # R / s = 30; a gap G has the noncentrality G² / s.
    assert stats.ncx2.sf(30, 4, low**2 / 0.01) == pytest.approx(0.025, abs=1e-6)
    assert stats.ncx2.cdf(30, 4, high**2 / 0.01) == pytest.approx(0.025, abs=1e-4)
    # Less than chance makes: 0 is inside, and the upper limit is no less than a gap may hide.
    low, high = (one[0] for one in gap_limits(known(0.001, 0.04, 0.01)))
    assert low == 0
    assert high > 0.15


def test_limits_hold_the_truth() -> None:
    rng = np.random.default_rng(1)
    for truth in (0.0, 0.15, 0.4):
        low, high = gap_limits(drawn(rng, np.full(2_000, truth)))
        # Stated .95: Monte Carlo error .005; the noise is taken for known, which it is nearly.
        assert 0.93 <= float(((low <= truth) & (truth <= high)).mean()) <= 0.985


def planted(rng: np.random.Generator, n: int, share: float) -> tuple[SquaredGaps, SquaredGaps]:
    """A share of cells has a gap of .5 in the second arm alone."""
    hidden = np.where(rng.random(n) < share, 0.5, 0.0)
    return drawn(rng, np.zeros(n)), drawn(rng, hidden)


def test_a_planted_share_is_found_and_none_where_there_is_none() -> None:
    rng = np.random.default_rng(2)
    shares, hits = [], 0
    for _ in range(12):
        found = class_shares(
            *planted(rng, 35, 0.3), np.arange(35), margin=0.2, largest=1.0, classes=("second",)
        ).shares["second"]
        shares.append(found.value)
        hits += found.covers(0.3)
    assert np.mean(shares) == pytest.approx(0.3, abs=0.06)
    assert hits >= 10
    null = class_shares(*planted(rng, 35, 0.0), np.arange(35), margin=0.2, largest=1.0)
    assert null.shares["second"].value < 0.06
    assert null.shares["second"].low == 0
    assert sum(one.value for one in null.shares.values()) == pytest.approx(1)


def test_the_more_noise_the_wider_and_never_a_share_that_power_makes() -> None:
    rng = np.random.default_rng(3)
    hidden = np.where(np.arange(40) < 20, 0.4, 0.0)
    exact = (drawn(rng, np.zeros(40), v=0.002), drawn(rng, hidden, v=0.002))
    vague = (drawn(rng, np.zeros(40), v=0.08), drawn(rng, hidden, v=0.08))
    one, other = (
        class_shares(*pair, np.arange(40), margin=0.2, largest=1.0, classes=("second",))
        for pair in (exact, vague)
    )
    assert one.shares["second"].value == pytest.approx(0.5, abs=0.03)
    widths = [found.shares["second"].high - found.shares["second"].low for found in (one, other)]
    assert widths[1] > 1.5 * widths[0]
    assert other.shares["second"].covers(0.5)
    # Who is in the class is told cell by cell where the noise is small.
    assert (one.members["second"][:20] > 0.9).all()
    assert (one.members["second"][20:] < 0.1).all()


def test_cells_of_a_cluster_that_go_together_count_as_one() -> None:
    rng = np.random.default_rng(4)
    first, second = planted(rng, 30, 0.4)
    alone = class_shares(first, second, np.arange(30), margin=0.2, classes=("second",))
    four = [
        SquaredGaps(*(np.repeat(part, 4) for part in (g.raw, g.bias, g.scale, g.noise)))
        for g in (first, second)
    ]
    copied = class_shares(*four, np.repeat(np.arange(30), 4), margin=0.2, classes=("second",))
    a, b = alone.shares["second"], copied.shares["second"]
    assert (a.n, b.n) == (30, 30)
    assert b.high - b.low == pytest.approx(a.high - a.low, abs=0.04)


def test_what_is_missing_is_counted_and_few_clusters_have_no_interval() -> None:
    rng = np.random.default_rng(5)
    first, second = planted(rng, 9, 0.5)
    raw = first.raw.copy()
    raw[:4] = np.nan
    found = class_shares(replace(first, raw=raw), second, np.arange(9), margin=0.2, n_planned=9)
    one = found.shares["both"]
    assert (one.n, one.n_planned, one.has_interval) == (5, 9, False)
    assert one.reason == "an interval needs 6 concept pairs, there are 5"
    assert np.isnan(found.members["both"][:4]).all()
    nothing = class_shares(replace(first, raw=np.full(9, np.nan)), second, np.arange(9), margin=0.2)
    assert nothing.shares["both"].reason == "no cell has both gaps"


def test_arguments_out_of_range_are_refused() -> None:
    one = known(0.1, 0.04, 0.01)
    with pytest.raises(ValueError, match="level"):
        gap_limits(one, level=1.0)
    with pytest.raises(ValueError, match="margin"):
        class_shares(one, one, [0], margin=0.0)
    with pytest.raises(ValueError, match="one cluster"):
        class_shares(one, one, [0, 1], margin=0.2)
