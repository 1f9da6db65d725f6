"""Functional diversity, rates and intervals against hand calculations and other implementations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from areopagus.aggregation.clustered import bounded_mean, clustered_rate
from areopagus.aggregation.estimate import Estimate
from areopagus.graphs.prompt_construction import EquivalenceRule
from areopagus.prompts.estimates import PairCounts, estimate
from areopagus.prompts.tables import Rows
from areopagus.records.estimates import estimates_by, select

Verdicts = Mapping[tuple[str, int, str, int], Sequence[bool | None]]
"""Two prompts, by writer and number, to what each judge says of them; None: it cannot be read."""


def pairs(
    name: str, verdicts: Verdicts, unjudged: Sequence[tuple[str, int, str, int]] = ()
) -> Rows:
    """Rows of the table of pairs for one scenario."""
    words = {True: "yes", False: "no", None: "unreadable"}
    rows = []
    for (one, i, other, j), answers in {**verdicts, **dict.fromkeys(unjudged, ())}.items():
        row: dict[str, Any] = {
            "scenario_id": name,
            "first": f"{one}{i}",
            "second": f"{other}{j}",
            "first_generator": one,
            "second_generator": other,
        }
        for place in (1, 2):
            has_judge = len(answers) >= place
            row[f"judge_{place}"] = f"judge {place}" if has_judge else ""
            row[f"vote_{place}"] = words[answers[place - 1]] if has_judge else ""
        rows.append(row)
    return rows


def measured(
    scenarios: Mapping[str, Rows], generators: Sequence[str], rule: EquivalenceRule = "both"
) -> pd.DataFrame:
    """The estimates of scenarios whose bundles are complete and whose pairs are these."""
    bundle = {"source": "bbq", "stratum": "", "status": "complete", "wanted": 5}
    bundles = [
        bundle | {"scenario_id": name, "generator": generator}
        for name in scenarios
        for generator in generators
    ]
    tables = {
        "bundles.csv": bundles,
        "candidates.csv": [],
        "votes.csv": [],
        "pairs.csv": [row for rows in scenarios.values() for row in rows],
    }
    return estimate(tables, generators, rule=rule).frame()


def fd(
    frame: pd.DataFrame, one: str | None, other: str | None = None, measure: str = "diversity"
) -> Estimate:
    """Functional diversity within the one, across it and the other, or (None) over all twos."""
    rows = (
        select(frame, "generators", respondent=one)
        if one is not None and other is None
        else select(frame, "diversity across", respondent=one, baseline=other)
    )
    ((_, measures),) = estimates_by(rows, [])
    return measures[measure]


def within(name: str, matrix: Sequence[Sequence[int]]) -> dict[tuple[str, int, str, int], Any]:
    """Votes by which a pair is equivalent under `both` where the matrix has a 2, under `either`
    where it has a 1 or 2."""
    return {
        (name, i + 1, name, j + 1): [matrix[i][j] >= 1, matrix[i][j] == 2]
        for i, j in combinations(range(len(matrix)), 2)
    }


# Five prompts; above the diagonal: how many of two judges call the pair equivalent.
#      1  2  3  4  5
# 1       2  1  0  0
# 2          2  0  0
# 3             0  1
# 4                2
# both: 3 of 10 equivalent, FD = .7;  either: 5 of 10, FD = .5
MATRIX = [
    [0, 2, 1, 0, 0],
    [0, 0, 2, 0, 0],
    [0, 0, 0, 0, 1],
    [0, 0, 0, 0, 2],
    [0, 0, 0, 0, 0],
]


def test_fd_of_a_known_matrix_of_votes() -> None:
    rows = pairs("s", within("a", MATRIX))
    both = PairCounts.of(rows, "both")
    assert (both.equivalent, both.different, both.planned, both.judges) == (3, 7, 10, 2)
    assert both.diversity == pytest.approx(0.7)
    assert PairCounts.of(rows, "either").diversity == pytest.approx(0.5)


def test_fd_does_not_depend_on_how_prompts_are_numbered() -> None:
    order = [3, 0, 4, 1, 2]
    full = np.array(MATRIX) + np.array(MATRIX).T
    renumbered = full[np.ix_(order, order)].tolist()
    found = measured({"s": pairs("s", within("a", renumbered))}, ["a"])
    assert fd(found, "a").value == pytest.approx(0.7)


def test_the_mean_over_scenarios_has_the_standard_error_of_a_mean() -> None:
    # Two scenarios with FD .7 and 1: mean .85, SE = s / sqrt(2) = .21213 / 1.41421 = .15.
    scenarios = {
        "s1": pairs("s1", within("a", MATRIX)),
        "s2": pairs("s2", within("a", [[0] * 5] * 5)),
    }
    found = measured(scenarios, ["a"])
    mean = fd(found, "a")
    assert mean.value == pytest.approx(0.85)
    assert mean.se == pytest.approx(0.15)
    assert mean.reason == "2 scenarios: an interval needs at least 6"
    names = ("diversity_other_rule", "pairs", "equivalent_pairs", "judges_a_pair")
    values = [fd(found, "a", measure=name).value for name in names]
    assert values == pytest.approx([(0.5 + 1) / 2, 20, 3, 2])


def test_an_undecided_pair_leaves_its_bundle_without_a_value() -> None:
    votes = within("a", MATRIX)
    votes["a", 1, "a", 2] = [True, None]
    scenarios = {"s1": pairs("s1", votes), "s2": pairs("s2", within("a", MATRIX))}
    found = fd(measured(scenarios, ["a"]), "a")
    assert (found.n, found.n_planned) == (1, 2)
    # Under either the one vote there is decides.
    assert fd(measured(scenarios, ["a"], "either"), "a").n == 2


def test_the_mean_across_generators_takes_scenarios_with_every_two_of_them() -> None:
    def crossed(n_equal: Mapping[tuple[str, str], int]) -> Verdicts:
        votes = {}
        for (one, other), equal in n_equal.items():
            for k in range(4):
                votes[one, 1 + k // 2, other, 1 + k % 2] = [k < equal]
        return votes

    whole = pairs("s1", crossed({("a", "b"): 1, ("a", "c"): 2, ("b", "c"): 0}))
    part = pairs("s2", crossed({("a", "b"): 4}))
    found = measured({"s1": whole, "s2": part}, ["a", "b", "c"])
    # a x b: .75 and 0; over all: only the first scenario, (.75 + .5 + 1) / 3 = .75.
    assert fd(found, "a", "b").value == pytest.approx(0.375)
    assert fd(found, None).value == pytest.approx(0.75)
    assert fd(found, None).n == 1
    assert fd(found, "a", "b", "judges_a_pair").value == 1


def test_where_nobody_could_judge_the_reason_says_so() -> None:
    found = fd(measured({"s": pairs("s", {}, [("a", 1, "a", 2)])}, ["a"]), "a")
    assert math.isnan(found.value)
    assert found.reason == "no model that wrote neither prompt"
    assert fd(measured({"s": []}, ["a"]), "a").reason == "no two usable prompts"


def test_agreement_of_judges_counts_what_two_of_them_were_read_on() -> None:
    # Ten pairs: the judges differ on those with a 1, which are two; eight of ten.
    rows = pairs("s", within("a", MATRIX))
    ((_, found),) = estimates_by(select(measured({"s": rows}, ["a"]), "agreement"), ["detail"])
    assert found["agreement"].value == pytest.approx(0.8)
    assert found["judged"].value == 10
    rows[0]["vote_2"] = "unreadable"
    ((_, found),) = estimates_by(select(measured({"s": rows}, ["a"]), "agreement"), ["detail"])
    assert found["judged"].value == 9


def test_a_clustered_rate_by_hand() -> None:
    # y = 5 4 3 5 5 2 of 5 each: p = 24/30 = .8; rests y − 4: 1 0 −1 1 1 −2, squares 8.
    # SE = sqrt(6/5 · 8) / 30 = sqrt(9.6) / 30 = .103280
    found = clustered_rate([5, 4, 3, 5, 5, 2], [5] * 6)
    assert found.value == pytest.approx(0.8)
    assert found.se == pytest.approx(math.sqrt(9.6) / 30)
    # Rests over a mean of 5 trials: squares 8/25 = .32. V = (.32 + .25 · .16) / (6.25 · 5) = .01152
    # (1 0 −1 1 1 −2 have kurtosis 6 · 20 / 64 = 1.875, below 3: df = 5.)
    # n* = .16 / .01152 · (1.959964 / 2.570582)² = 13.88889 · .581342 = 8.07419, of which 6.45935.
    # Clopper and Pearson's limits of 6.45935 in 8.07419 trials, by another implementation:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    limits = proportion.proportion_confint(6.45935, 8.07419, alpha=0.05, method="beta")
    assert (found.low, found.high) == pytest.approx(limits, abs=1e-5)
    assert found.method == "korn-graubard"


def test_scenarios_at_0_or_1_count_as_so_many_trials_less_one() -> None:
    # With y of 0 and 1, V = p (1 − p) / (G − 1) whatever w is: n* = 39 (1.959964 / 2.022691)².
    # The kurtosis of 24 ones of 40 is 1 / .24 − 3 = 1.17, below the normal's: df = 39.
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    found = bounded_mean([1] * 24 + [0] * 16)
    effective = 39 * (1.959964 / 2.022691) ** 2
    limits = proportion.proportion_confint(0.6 * effective, effective, method="beta")
    assert (found.low, found.high) == pytest.approx(limits, abs=1e-6)
    # Turned round, the limits change places.
    turned = bounded_mean([0] * 24 + [1] * 16)
    assert (turned.low, turned.high) == pytest.approx((1 - found.high, 1 - found.low))


def test_near_the_ceiling_an_unseen_scenario_makes_the_interval_wider() -> None:
    # Near 1 mean ± t SE from scenarios that hardly differ is too short (.987 ± .009 here).
    values = [1.0] * 10 + [0.9, 0.95]
    found = bounded_mean(values)
    plain = found.value - float(stats.t.ppf(0.975, 11)) * found.se
    assert found.low < plain - 0.02
    assert found.value < found.high < 1


@pytest.mark.parametrize(
    ("draw", "n"), [((1.0, 6.0), 33), ((0.3, 12.0), 12)], ids=["some overlap", "near 1"]
)
def test_intervals_hold_the_truth_where_logit_limits_did_not(
    draw: tuple[float, float], n: int
) -> None:
    # A small form of benchmarks/simulate.py prompt-statistics.
    rng = np.random.default_rng(8)
    truth = 1 - draw[0] / sum(draw)
    hits = 0
    for _ in range(400):
        tendency = rng.beta(*draw, size=n)
        found = bounded_mean(1 - rng.binomial(75, tendency) / 75)
        hits += found.low <= truth <= found.high
    # .95 less three Monte Carlo errors of .011
    assert hits / 400 > 0.917


def test_the_standard_error_of_a_mean_agrees_with_scipy() -> None:
    values = np.random.default_rng(5).beta(4, 2, size=40)
    found = bounded_mean(values)
    assert found.value == pytest.approx(values.mean())
    assert found.se == pytest.approx(stats.sem(values))


def test_a_clustered_rate_agrees_with_the_regression_form_of_the_sandwich() -> None:
    # OLS of 0/1 on a constant with cluster-robust (CR1 without its n−1/n−k part) errors.
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(3)
    m = rng.integers(1, 6, size=30)
    y = rng.binomial(m, rng.beta(5, 2, size=30))
    trials = np.concatenate([np.r_[np.ones(a), np.zeros(b - a)] for a, b in zip(y, m, strict=True)])
    groups = np.repeat(np.arange(30), m)
    fit = sm.OLS(trials, np.ones(len(trials))).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    expected = float(fit.bse[0]) * math.sqrt(30 / 29)
    assert clustered_rate(y, m).se == pytest.approx(expected)


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_where_every_scenario_is_at_one_end_the_far_limit_is_an_exact_one(end: float) -> None:
    # Twelve of twelve: the Clopper-Pearson limit is (α/2)^(1/12) = .025^(1/12) = .7354.
    found = bounded_mean([end] * 12)
    reach = found.low if end else 1 - found.high
    assert reach == pytest.approx(0.7354, abs=1e-4)
    assert reach == pytest.approx(float(stats.binomtest(12, 12).proportion_ci().low))
    assert found.se == 0


def test_degenerate_input_has_no_interval_and_a_reason() -> None:
    assert bounded_mean([]).reason == "no scenario has a value"
    assert math.isnan(bounded_mean([math.nan]).value)
    assert "at least 6" in str(bounded_mean([0.4, 0.6]).reason)
    same = bounded_mean([0.5] * 8)
    assert same.value == 0.5
    assert same.reason == "the 8 scenarios all have the same value"
    assert clustered_rate([0, 2], [0, 4]).n == 1
    assert clustered_rate([0, 2], [0, 4]).n_planned == 2
    with pytest.raises(ValueError, match="in \\[0, 1\\]"):
        bounded_mean([1.2])
    with pytest.raises(ValueError, match="level"):
        bounded_mean([0.5], level=1.0)


def test_neither_order_nor_splitting_of_whole_copies_changes_a_rate() -> None:
    y, m = [5, 4, 3, 5, 5, 2, 0], [5, 5, 4, 5, 5, 5, 3]
    first, turned = clustered_rate(y, m), clustered_rate(y[::-1], m[::-1])
    assert turned.value == pytest.approx(first.value)
    assert turned.se == pytest.approx(first.se)
    assert clustered_rate(y * 2, m * 2).value == pytest.approx(first.value)
    assert clustered_rate(y * 2, m * 2).se < first.se
