"""The Davidson-Luce model against published fits, numerical derivatives and existence theory."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from areopagus.aggregation.ranking import plackett_luce

NAN = math.nan
# Davidson (1970): six chocolate puddings; wins of the first, wins of the second, ties.
PUDDING = {
    (0, 1): (19, 22, 16), (0, 2): (16, 19, 12), (1, 2): (19, 19, 10), (0, 3): (18, 23, 13),
    (1, 3): (23, 19, 9), (2, 3): (19, 20, 15), (0, 4): (13, 19, 18), (1, 4): (16, 20, 12),
    (2, 4): (16, 15, 17), (3, 4): (17, 14, 16), (0, 5): (18, 21, 12), (1, 5): (22, 20, 12),
    (2, 5): (13, 18, 10), (3, 5): (14, 19, 18), (4, 5): (11, 21, 12),
}  # fmt: skip
# Stigler's citations between journals, as in Agresti: Biometrika, Comm Statist, JASA, JRSS-B.
JOURNALS = {
    (0, 1): (730, 33, 0), (0, 2): (498, 320, 0), (0, 3): (221, 284, 0),
    (1, 2): (68, 813, 0), (1, 3): (17, 276, 0), (2, 3): (142, 325, 0),
}  # fmt: skip


# Critchlow and Fligner (1991), Psychometrika 56: 32 judges rank four salad dressings A B C D by
# tartness, 1 the most tart; ranks and how many judges gave them.
SALAD = {
    (1, 2, 3, 4): 2, (2, 1, 3, 4): 1, (2, 1, 4, 3): 2, (2, 3, 1, 4): 1, (3, 1, 2, 4): 2,
    (3, 1, 4, 2): 1, (3, 4, 2, 1): 1, (4, 1, 2, 3): 11, (4, 1, 3, 2): 6, (4, 2, 1, 3): 3,
    (4, 3, 1, 2): 1, (4, 3, 2, 1): 1,
}  # fmt: skip


def salad_fit(counts: dict[tuple[int, ...], int]) -> tuple[list[float], float]:
    fit = plackett_luce(np.array(list(counts), dtype=float), weights=list(counts.values()))
    return (fit.log_worth[1:] - fit.log_worth[0]).tolist(), fit.log_likelihood


def test_the_salad_figures_in_circulation_come_from_one_ranking_read_otherwise() -> None:
    # 2.61891 1.52862 1.03837 and -77.81872 belong to the data with one 4213 read as 4312.
    changed = {**SALAD, (4, 2, 1, 3): 2, (4, 3, 1, 2): 2}
    assert salad_fit(SALAD)[0] == pytest.approx([2.72991, 1.56154, 1.02684], abs=1e-5)
    # (4, 3, 1, 2) stood once before.
    worths, log_likelihood = salad_fit(changed)
    assert worths == pytest.approx([2.61891, 1.52862, 1.03837], abs=1e-5)
    assert log_likelihood == pytest.approx(-77.81872, abs=1e-5)


def as_rankings(pairs, n_items):
    rows, weights = [], []
    for (i, j), (wins, losses, ties) in pairs.items():
        for ranks, weight in (((1, 2), wins), ((2, 1), losses), ((1, 1), ties)):
            row = np.full(n_items, NAN)
            row[i], row[j] = ranks
            rows.append(row)
            weights.append(weight)
    return np.array(rows), weights


def log_likelihood_by_definition(rankings, log_worth, tie_prevalence):
    alpha, total = np.exp(log_worth), 0.0
    delta = {1: 1.0, **tie_prevalence}
    for row in rankings:
        left = [i for i in range(len(row)) if not math.isnan(row[i])]
        while len(left) > 1:
            best = [i for i in left if row[i] == min(row[k] for k in left)]
            weight = {
                subset: delta[size] * math.prod(alpha[i] for i in subset) ** (1 / size)
                for size in delta
                for subset in itertools.combinations(left, size)
            }
            total += math.log(weight[tuple(best)] / sum(weight.values()))
            left = [i for i in left if i not in best]
    return total


def test_the_pudding_worths_are_the_published_and_the_exact_ones() -> None:
    rankings, weights = as_rankings(PUDDING, 6)
    fit = plackett_luce(rankings, weights=weights)
    worth = np.exp(fit.log_worth) / np.exp(fit.log_worth).sum()
    published = [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855]
    exact = [0.1388034, 0.1730015, 0.1617474, 0.1653730, 0.1586854, 0.2023893]
    assert worth == pytest.approx(published, abs=1e-4)
    assert worth == pytest.approx(exact, abs=1e-6)
    assert fit.tie_prevalence[2] == pytest.approx(0.7468147, abs=1e-4)
    assert fit.tie_prevalence[2] == pytest.approx(0.7468230, abs=1e-6)
    assert fit.log_likelihood == pytest.approx(-809.709510, abs=1e-6)
    assert fit.tie_prevalence[2] / (2 + fit.tie_prevalence[2]) == pytest.approx(0.272, abs=5e-4)
    assert fit.converged
    assert fit.connected
    assert fit.reason is None


def test_the_journal_worths_and_errors_are_the_published_ones() -> None:
    rankings, weights = as_rankings(JOURNALS, 4)
    fit = plackett_luce(rankings, weights=weights)
    against_first = fit.log_worth - fit.log_worth[0]
    assert against_first[1:] == pytest.approx([-2.9491, -0.4796, 0.2690], abs=5e-5)
    # Published errors are of differences from the first; rebuilt here from the information.
    p = 1 / (1 + np.exp(-np.subtract.outer(fit.log_worth, fit.log_worth)))
    information = np.zeros((4, 4))
    for (i, j), (wins, losses, _) in JOURNALS.items():
        contrast = np.eye(4)[i] - np.eye(4)[j]
        information += (wins + losses) * p[i, j] * p[j, i] * np.outer(contrast, contrast)
    to_first = np.linalg.inv(information[1:, 1:])
    assert np.sqrt(np.diag(to_first)) == pytest.approx([0.1025, 0.0606, 0.0708], abs=5e-5)
    assert fit.standard_errors == pytest.approx(np.sqrt(np.diag(np.linalg.pinv(information))))


def test_two_items_have_a_closed_form() -> None:
    # 6 wins, 3 losses: log worths ± log(2) / 2; SE of half the logit: sqrt(1/6 + 1/3) / 2.
    fit = plackett_luce([[1, 2], [2, 1]], weights=[6, 3])
    assert fit.log_worth == pytest.approx([math.log(2) / 2, -math.log(2) / 2])
    assert fit.standard_errors == pytest.approx(math.sqrt(1 / 6 + 1 / 3) / 2)
    # With 4 ties, Davidson: δ = 4 / sqrt(6 * 3).
    tied = plackett_luce([[1, 2], [2, 1], [1, 1]], weights=[6, 3, 4])
    assert tied.log_worth == pytest.approx([math.log(2) / 2, -math.log(2) / 2])
    assert tied.tie_prevalence[2] == pytest.approx(4 / math.sqrt(18))


def test_the_fit_is_the_maximum_of_the_likelihood_as_defined() -> None:
    rng = np.random.default_rng(3)
    rankings = np.round(rng.normal([0, 0.5, 1, 1.5], 1.2, size=(30, 4)))
    rankings[rng.random(rankings.shape) < 0.15] = NAN
    fit = plackett_luce(rankings)
    orders = sorted(fit.tie_prevalence)
    assert len(orders) >= 2

    def cost(theta):
        delta = dict(zip(orders, np.exp(theta[4:]), strict=True))
        return -log_likelihood_by_definition(rankings, theta[:4], delta)

    found = optimize.minimize(cost, np.zeros(4 + len(orders)), method="BFGS")
    assert fit.log_likelihood == pytest.approx(-found.fun, abs=1e-6)
    assert fit.log_worth == pytest.approx(found.x[:4] - found.x[:4].mean(), abs=1e-3)
    at_fit = log_likelihood_by_definition(rankings, fit.log_worth, fit.tie_prevalence)
    assert fit.log_likelihood == pytest.approx(at_fit)
    assert fit.log_worth.sum() == pytest.approx(0, abs=1e-10)


def test_worths_ignore_rank_gaps_order_of_rankers_and_names_of_items() -> None:
    rng = np.random.default_rng(5)
    rankings = rng.integers(1, 5, (40, 5)).astype(float)
    fit = plackett_luce(rankings)
    assert plackett_luce(rankings[::-1] * 10 - 3).log_worth == pytest.approx(fit.log_worth)
    turned = plackett_luce(rankings[:, ::-1])
    assert turned.log_worth[::-1] == pytest.approx(fit.log_worth)
    doubled = plackett_luce(np.concatenate([rankings, rankings]))
    assert doubled.log_worth == pytest.approx(fit.log_worth)
    assert doubled.standard_errors == pytest.approx(fit.standard_errors / math.sqrt(2))


def test_unanimous_rankings_have_no_finite_worths_without_a_ridge() -> None:
    rankings = [[1, 2, 3]] * 5
    fit = plackett_luce(rankings)
    assert np.isnan(fit.log_worth).all()
    assert np.isnan(fit.standard_errors).all()
    assert not fit.connected
    assert "3 sets" in (fit.reason or "")
    ridged = plackett_luce(rankings, ridge_sd=2)
    assert ridged.log_worth == pytest.approx([2.20, 0, -2.20], abs=0.005)
    assert ridged.reason is None
    assert not ridged.connected


def test_an_item_nobody_ranked_is_named() -> None:
    fit = plackett_luce([[1, 2, NAN], [2, 1, NAN]])
    assert "[2]" in (fit.reason or "")
    ridged = plackett_luce([[1, 2, NAN], [2, 1, NAN]], ridge_sd=1.5)
    assert np.isfinite(ridged.log_worth).all()
    assert ridged.standard_errors[2] > ridged.standard_errors[0]


def test_ties_alone_do_not_connect_but_pinned_ties_do() -> None:
    # Only ties: delta runs away. Wins one way and ties: so do worth and delta together.
    assert not plackett_luce([[1, 1]] * 4).connected
    assert not plackett_luce([[1, 2], [1, 1]]).connected
    # A beats B and ties with it; C and D fix delta, and a tie joins each pair to the other.
    rows = [[1, 2, NAN, NAN], [1, 1, NAN, NAN], [NAN, NAN, 1, 2], [NAN, NAN, 2, 1]]
    rows += [[NAN, NAN, 1, 1], [1, NAN, 2, NAN], [2, NAN, 1, NAN]]
    fit = plackett_luce(rows)
    assert fit.connected
    assert fit.converged
    assert fit.log_worth[0] > fit.log_worth[1]
    assert np.isfinite(fit.standard_errors).all()


def has_direction(rows: np.ndarray) -> bool:
    """Whether some change of (log worths, log delta), not all worths alike, lowers no choice."""
    gains = []
    for row in rows:
        left = [i for i in range(len(row)) if not math.isnan(row[i])]
        while len(left) > 1:
            best = [i for i in left if row[i] == min(row[k] for k in left)]
            features = {}
            for subset in [*itertools.combinations(left, 1), *itertools.combinations(left, 2)]:
                features[subset] = np.zeros(len(row) + 1)
                features[subset][list(subset)] = 1 / len(subset)
                features[subset][-1] = len(subset) - 1
            gains += [features[tuple(best)] - other for other in features.values()]
            left = [i for i in left if i not in best]
    if not gains or np.linalg.matrix_rank(gains) < len(rows[0]):
        return True
    least = optimize.linprog(
        -np.sum(gains, 0), -np.array(gains), np.zeros(len(gains)), bounds=(-1, 1)
    )
    return bool(least.fun < -1e-7)


def test_ties_have_a_maximum_where_no_direction_leads_up_for_ever() -> None:
    rng = np.random.default_rng(4)
    outcomes = []
    for _ in range(300):
        rows = np.array([rng.permutation([1, 1, 2])[[0, 1, 2]] for _ in range(rng.integers(1, 9))])
        rows = np.where(rng.random(rows.shape) < 0.2, NAN, rows.astype(float))
        if rng.random() < 0.3:
            rows[:, 0] = 0  # never beaten
        if any(len(set(row)) < len(row) for row in (r[~np.isnan(r)] for r in rows)):
            outcomes.append(plackett_luce(rows).connected)
            assert outcomes[-1] == (not has_direction(rows)), rows
    assert len(set(outcomes)) == 2


@pytest.mark.parametrize("rankings", [np.empty((0, 3)), [[1, NAN, NAN]], [[NAN, NAN]], [[1]]])
def test_nothing_to_compare_is_undefined(rankings) -> None:
    fit = plackett_luce(rankings)
    assert np.isnan(fit.log_worth).all()
    assert fit.reason


@pytest.mark.parametrize(("times", "tied"), [(1, False), (4, True), (11, True)])
def test_the_steps_end_at_the_maximum_in_whatever_order_it_is_summed(
    times: int, tied: bool
) -> None:
    # Near it the likelihood changes by less than its own rounding, which differs between orders
    # of the items, and between processors.
    rows = [[1, 2, 3, 4]] * times + [[1, 3, 2, 4]] * (times // 3) + [[1, 1, 2, 3]] * tied
    table = np.array(rows, dtype=float)
    plain = plackett_luce(table, ridge_sd=2)
    for order in itertools.permutations(range(4)):
        fit = plackett_luce(table[:, order], ridge_sd=2)
        assert fit.converged
        assert fit.log_worth == pytest.approx(plain.log_worth[list(order)], abs=1e-12)
        assert fit.standard_errors == pytest.approx(plain.standard_errors[list(order)], abs=1e-9)
