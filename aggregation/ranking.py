"""Worths of items from rankings with ties: the Davidson-Luce (tied Plackett-Luce) model."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_ROUNDING = 1e-12
MAX_SUBSETS = 200_000
"""Choice sets of one stage that are still enumerated (20 items in ties of five: 21,699)."""


@dataclass(frozen=True, slots=True)
class PlackettLuce:
    """A fitted Davidson-Luce model.

    Attributes:
        log_worth: shape (items,), sum zero, larger = better; nan when not estimable.
        standard_errors: of log_worth in the sum-to-zero contrast, from the inverse observed
            information; with a ridge, of the penalised one.
        tie_prevalence: δ of each order of tie that occurs, {2: δ_2, …}; empty without ties.
        log_likelihood: at the estimate, without the penalty; nan when not estimable.
        converged: whether Newton's steps ended at the maximum.
        connected: whether a finite maximum of the likelihood exists without a ridge.
        reason: why the worths are nan, or None.
    """

    log_worth: Floats
    standard_errors: Floats
    tie_prevalence: dict[int, float]
    log_likelihood: float
    converged: bool
    connected: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class _Choice:
    """All choices made from one set of alternatives, as a multinomial logit."""

    features: Floats  # (subsets, parameters)
    counts: Floats  # (subsets,): how often each was chosen


def plackett_luce(
    rankings: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    ridge_sd: float | None = None,
    ties: bool = True,
) -> PlackettLuce:
    """Returns the maximum-likelihood worths of items from rankings with ties and gaps.

    A ranking is read from the top: from the alternatives A still there the set S is chosen with
    probability f(S) / Σ_{T ⊆ A} f(T),  f(S) = δ_|S| (Π_{i ∈ S} α_i)^(1/|S|),  δ_1 = 1
    over the orders of tie that occur in the data. Two items: Davidson (1970); no ties: Plackett
    (1975) and Luce (1959). The log-likelihood is concave in (log α, log δ); Newton with halving.
    Worths are comparable only among items that chains of rankings connect: responses of different
    prompts are not. The standard errors are those of the observed information; what intervals made
    of them cover is not simulated.

    Args:
        rankings: shape (rankers, items), 1 = best, equal ranks are ties, nan = not ranked. Only
            the order within a row matters; gaps in the ranks do not.
        weights: shape (rankers,), how often each row occurred; default 1.
        ridge_sd: standard deviation of a normal prior on every log α and log δ; gives an
            estimate where none exists without it. None: plain maximum likelihood.
        ties: False refuses tied ranks.

    Returns:
        nan worths, with the reason, when no finite maximum exists (an item that always wins or
        always loses, sets of items never compared) and no ridge is given.

    Raises:
        ValueError: not two-dimensional, a rank that is infinite, ties with ties=False, negative
            weights or ridge, or ties among so many items that their subsets cannot be enumerated.

    Source: Turner, van Etten, Firth & Kosmidis (2020), Computational Statistics 35, 1027–1057;
    existence: Ford (1957).
    """
    table = np.asarray(rankings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"rankings must be (rankers, items), got shape {table.shape}")
    if np.isinf(table).any():
        raise ValueError("rankings must be finite or nan, got an infinite rank")
    if ridge_sd is not None and not ridge_sd > 0:
        raise ValueError(f"ridge_sd must be above 0, got {ridge_sd}")
    times = np.ones(table.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    if times.shape != (table.shape[0],) or not (times >= 0).all():
        raise ValueError("weights must be one number of at least 0 a ranking")
    n_items = table.shape[1]
    stages, orders = _stages(table, times)
    if orders != [1] and not ties:
        raise ValueError(f"rankings must not be tied with ties=False, got ties of {orders[1:]}")
    choices = [_choice(pool, chosen, orders, n_items) for pool, chosen in stages.items()]
    n_parameters = n_items + len(orders) - 1
    if orders == [1]:
        connected = n_items >= 2 and _n_components(stages, n_items) == 1
    else:
        connected = _has_maximum(stages, choices, n_items, n_parameters)
    if n_items == 0 or (not connected and ridge_sd is None):
        nothing = np.full(n_items, np.nan)
        return PlackettLuce(
            nothing, nothing.copy(), dict.fromkeys(orders[1:], math.nan), math.nan, False,
            connected, _why_not(stages, n_items),
        )  # fmt: skip
    precision = 0.0 if ridge_sd is None else ridge_sd**-2
    theta, information, converged = _newton(choices, n_items, n_parameters, precision)
    centre = np.eye(n_parameters)
    centre[:n_items, :n_items] -= 1 / n_items
    # Without a ridge the information is singular along "all worths up", which the contrast removes.
    covariance = centre @ np.linalg.pinv(information, hermitian=True) @ centre.T
    variances = np.clip(np.diag(covariance)[:n_items], 0, None)
    return PlackettLuce(
        log_worth=theta[:n_items] - theta[:n_items].mean(),
        standard_errors=np.sqrt(variances),
        tie_prevalence={
            order: math.exp(value)
            for order, value in zip(orders[1:], theta[n_items:].tolist(), strict=True)
        },
        log_likelihood=_log_likelihood(choices, theta),
        converged=converged,
        connected=connected,
        reason=None if converged else "Newton's steps did not reach the maximum",
    )


Stages = dict[tuple[int, ...], dict[tuple[int, ...], float]]


def _stages(table: Floats, times: Floats) -> tuple[Stages, list[int]]:
    """Choices by set of alternatives, {alternatives: {chosen: weight}}, and the orders of tie."""
    stages: Stages = {}
    orders = {1}
    for row, weight in zip(table, times.tolist(), strict=True):
        if weight == 0:
            continue
        left = np.flatnonzero(~np.isnan(row))
        while left.size > 1:
            best = row[left] == row[left].min()
            chosen = tuple(left[best].tolist())
            pool = stages.setdefault(tuple(left.tolist()), {})
            pool[chosen] = pool.get(chosen, 0.0) + weight
            orders.add(len(chosen))
            left = left[~best]
    return stages, sorted(orders)


def _choice(
    pool: tuple[int, ...],
    chosen: dict[tuple[int, ...], float],
    orders: list[int],
    n_items: int,
) -> _Choice:
    n_subsets = sum(math.comb(len(pool), order) for order in orders)
    if n_subsets > MAX_SUBSETS:
        raise ValueError(
            f"ties of {orders[-1]} among {len(pool)} items make {n_subsets} possible choices, "
            f"more than {MAX_SUBSETS}; rank fewer items at a time"
        )
    subsets = [
        subset
        for order in orders
        if order <= len(pool)
        for subset in itertools.combinations(pool, order)
    ]
    features = np.zeros((len(subsets), n_items + len(orders) - 1))
    counts = np.zeros(len(subsets))
    for row, subset in enumerate(subsets):
        features[row, list(subset)] = 1 / len(subset)
        if len(subset) > 1:
            features[row, n_items + orders.index(len(subset)) - 1] = 1
        counts[row] = chosen.get(subset, 0.0)
    return _Choice(features, counts)


def _n_components(stages: Stages, n_items: int, *, ties_join: bool = False) -> int:
    """Sets of items that wins, followed in their direction, join into cycles.

    Args:
        stages: as `_stages` returns them.
        n_items: how many items there are.
        ties_join: whether items that tie count as winning against each other.
    """
    reaches = np.eye(n_items, dtype=np.bool_)
    for pool, chosen in stages.items():
        for winners in chosen:
            others = pool if ties_join else [item for item in pool if item not in winners]
            reaches[np.ix_(list(winners), list(others))] = True
    for _ in range(n_items.bit_length()):  # each doubles the length of the chains
        reaches = (reaches.astype(np.float32) @ reaches.astype(np.float32)) > 0
    return len(np.unique(reaches & reaches.T, axis=0)) if n_items else 0


def _has_maximum(stages: Stages, choices: list[_Choice], n_items: int, n_parameters: int) -> bool:
    """Whether the likelihood has one finite maximum, up to a shift of all worths.

    It has not when some direction of the parameters never lowers the likelihood: along it every
    choice made stays the best of its alternatives (Albert & Anderson, 1984). A linear programme
    looks for such a direction. Without ties it is the same as strong connection of the wins,
    which is quicker to see. With ties, a set of items that never loses to nor ties with another is
    such a direction: its worths rise for ever.
    """
    if _n_components(stages, n_items, ties_join=True) > 1:
        return False
    from scipy import optimize

    rows = list(_preferences(choices))
    if not rows or n_items < 2:
        return False
    gains = np.unique(np.concatenate(rows), axis=0)
    if np.linalg.matrix_rank(gains) < n_parameters - 1:
        return False
    solution = optimize.linprog(
        -gains.sum(axis=0), A_ub=-gains, b_ub=np.zeros(len(gains)), bounds=(-1, 1)
    )
    return bool(solution.status == 0 and -solution.fun < 1e-7)


def _preferences(choices: list[_Choice]) -> Iterator[Floats]:
    for choice in choices:
        for row in np.flatnonzero(choice.counts > 0):
            difference = choice.features[row] - choice.features
            yield difference[np.abs(difference).max(axis=1) > 0]


def _why_not(stages: Stages, n_items: int) -> str:
    ranked = {item for pool in stages for item in pool}
    unranked = [item for item in range(n_items) if item not in ranked]
    if unranked:
        return f"items never compared with another: {unranked}"
    if n_items < 2:
        return "fewer than two items"
    n_components = _n_components(stages, n_items)
    if n_components == 1:
        return "the tie parameters have no finite maximum"
    return (
        f"wins do not connect the items: {n_components} sets, each of which never loses to, or is "
        "never compared with, another; a ridge gives an estimate"
    )


def _newton(
    choices: list[_Choice], n_items: int, n_parameters: int, precision: float
) -> tuple[Floats, Floats, bool]:
    def objective(theta: Floats) -> float:
        return _log_likelihood(choices, theta) - precision / 2 * float(theta @ theta)

    theta = np.zeros(n_parameters)
    information = np.zeros((n_parameters, n_parameters))
    value = objective(theta)
    for _ in range(200):
        gradient = -precision * theta
        information = precision * np.eye(n_parameters)
        for choice in choices:
            total = float(choice.counts.sum())
            chance = _probabilities(choice, theta)
            mean = chance @ choice.features
            gradient = gradient + choice.counts @ choice.features - total * mean
            spread = choice.features - mean
            information = information + total * (spread.T * chance) @ spread
        step = np.linalg.pinv(information, hermitian=True) @ gradient
        if float(gradient @ step) < 1e-18 * max(abs(value), 1.0):
            return theta, information, True
        size = 1.0
        while size > 1e-10:
            trial = theta + size * step
            trial_value = objective(trial)
            # A loss within the rounding of the sum is none: the last steps change it by less.
            if trial_value >= value - _ROUNDING * max(abs(value), 1.0):
                break
            size /= 2
        else:
            # No step rises any more: the maximum to machine precision, or a failure.
            return theta, information, float(gradient @ step) < 1e-10
        theta, value = trial, trial_value
    return theta, information, False


def _probabilities(choice: _Choice, theta: Floats) -> Floats:
    logits = choice.features @ theta
    weights = np.exp(logits - logits.max())
    probabilities: Floats = weights / weights.sum()
    return probabilities


def _log_likelihood(choices: list[_Choice], theta: Floats) -> float:
    total = 0.0
    for choice in choices:
        logits = choice.features @ theta
        top = float(logits.max())
        normaliser = top + math.log(float(np.exp(logits - top).sum()))
        total += float(choice.counts @ (logits - normaliser))
    return total
