"""The alternative annotator test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.alternative_annotator import alt_test, rank_differences, winning_rates


def world(
    seed: int, *, prompts: int = 20, each: int = 5, raters: int = 4, noise: float = 0.7
) -> tuple[dict[int, float], dict[str, dict[int, float]], dict[int, str], np.ndarray]:
    rng = np.random.default_rng(seed)
    n = prompts * each
    quality = rng.normal(size=n)
    table = quality + noise * rng.normal(size=(raters, n))
    judge = dict(enumerate((quality + noise * rng.normal(size=n)).tolist()))
    people = {f"rater {k}": dict(enumerate(row.tolist())) for k, row in enumerate(table)}
    return judge, people, {item: f"prompt {item // each}" for item in range(n)}, quality


def test_one_comparison_by_hand() -> None:
    # 40 items, raters a, b, c; b and c always say "x". The judge says "x" on 30 items, and a
    # on 20, of which 15 where the judge does too.
    # closeness to (b, c): 1 for "x", 0 else. Items: judge only right 15, a only right 5.
    # d = 1[a >= judge] - 1[judge >= a]: -1 on 15, +1 on 5, 0 on 20: mean -.25
    judge = {i: "x" if i < 30 else "y" for i in range(40)}
    a = {i: "x" if 15 <= i < 35 else "y" for i in range(40)}
    both = dict.fromkeys(range(40), "x")
    found = alt_test(judge, {"a": a, "b": both, "c": both}, epsilon=0.1)
    d = np.array([-1] * 15 + [0] * 15 + [1] * 5 + [0] * 5)
    assert found.comparisons[0].difference == pytest.approx(-0.25)
    expected = stats.ttest_1samp(d, 0.1, alternative="less").pvalue
    assert found.comparisons[0].p == pytest.approx(expected)


def test_benjamini_yekutieli_counts_rejections_as_statsmodels_does() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(1)
    p = rng.random((50, 6)) ** 3
    expected = [multitest.multipletests(row, 0.05, method="fdr_by")[0].mean() for row in p]
    assert winning_rates(p, 0.05) == pytest.approx(expected)


def test_raters_with_fewer_than_thirty_items_are_not_compared() -> None:
    judge = dict.fromkeys(range(29), 1)
    found = alt_test(judge, {"a": judge, "b": judge}, epsilon=0.2)
    assert np.isnan(found.winning_rate)
    assert found.verdict == "not enough prompts"
    assert found.reason == "no rater shares 30 items with the judge and another rater"


def test_rank_scores_agree_with_scipy_prompt_by_prompt() -> None:
    judge, people, _, _ = world(2, prompts=6)
    table = np.round(np.array([list(row.values()) for row in people.values()]))
    of_judge = np.round(np.array(list(judge.values())))
    groups = np.repeat(np.arange(6), 5)
    d = rank_differences(of_judge[None], table[None], groups)
    for rater in range(4):
        mean = np.delete(table, rater, axis=0).mean(axis=0)
        for prompt in range(6):
            rows = groups == prompt
            own = np.nan_to_num(stats.kendalltau(table[rater, rows], mean[rows]).statistic)
            other = np.nan_to_num(stats.kendalltau(of_judge[rows], mean[rows]).statistic)
            gap = 0 if abs(own - other) < 1e-9 else np.sign(own - other)
            assert d[0, rater, prompt] == gap


def test_a_constant_wins_against_nobody_by_rank() -> None:
    rng = np.random.default_rng(3)
    quality = rng.normal(6, 0.5, 200)
    people: dict[Any, dict[int, float]] = {
        k: dict(enumerate((quality + rng.normal(0, 1.5, 200)).tolist())) for k in range(5)
    }
    constant = dict.fromkeys(range(200), 6.0)
    groups = {item: item // 5 for item in range(200)}
    ranked = alt_test(constant, people, epsilon=0.2, score="rank", groups=groups, worlds=100)
    assert ranked.winning_rate == 0
    assert ranked.references["constant"] == 0


def test_a_judge_who_knows_the_truth_passes_by_rank() -> None:
    _, people, groups, quality = world(4, prompts=40)
    found = alt_test(
        dict(enumerate(quality.tolist())), people, epsilon=0.2, score="rank", groups=groups
    )
    assert found.verdict == "pass"
    assert found.references["random"] == 0


def test_failing_without_power_is_not_enough_prompts() -> None:
    judge, people, groups, _ = world(5, prompts=9, noise=1.5)
    found = alt_test(judge, people, epsilon=0.2, score="rank", groups=groups)
    assert found.verdict == "not enough prompts"
    assert found.power < 0.2
    assert found.reason is not None


def test_a_judge_that_falls_short_of_most_raters_fails_whatever_the_power() -> None:
    """Nine prompts do not let a judge as good as a human pass, and are enough to see this."""
    judge, people, groups, _ = world(5, prompts=9)
    turned = {item: -value for item, value in judge.items()}
    found = alt_test(turned, people, epsilon=0.2, score="rank", groups=groups)
    assert found.power < 0.8
    assert (found.verdict, found.reason) == ("fail", None)


def test_an_epsilon_that_lets_a_random_judge_pass_makes_the_test_uninformative() -> None:
    judge, people, groups, _ = world(6, prompts=60, noise=3.0)
    found = alt_test(judge, people, epsilon=0.9, score="rank", groups=groups, worlds=0)
    assert found.references["random"] == 1
    assert found.verdict == "uninformative"
    assert "at random" in (found.reason or "")


def test_order_of_raters_and_items_does_not_matter() -> None:
    judge, people, groups, _ = world(8)
    one = alt_test(judge, people, epsilon=0.2, score="rank", groups=groups, worlds=0)
    turned = {
        name: dict(reversed(list(values.items()))) for name, values in reversed(people.items())
    }
    two = alt_test(judge, turned, epsilon=0.2, score="rank", groups=groups, worlds=0)
    assert two.winning_rate == one.winning_rate
    differences = {one.rater: one.difference for one in two.comparisons}
    for comparison in one.comparisons:
        assert differences[comparison.rater] == pytest.approx(comparison.difference)


def test_missing_values_are_left_out() -> None:
    judge, people, _, _ = world(9)
    judge[0] = float("nan")
    people["rater 0"][1] = None  # type: ignore[assignment]
    labels = {name: {k: None if x is None else round(x) for k, x in values.items()}
              for name, values in people.items()}  # fmt: skip
    found = alt_test(judge, labels, epsilon=0.1, references=False)
    assert [one.n for one in found.comparisons] == [98, 99, 99, 99]
