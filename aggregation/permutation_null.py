"""The exact null distribution of C − D when values are permuted within their groups."""

import itertools
import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MAX_ARRANGEMENTS = 50_000
"""Distinct orders of one group, ties on both sides, that are still enumerated."""

MAX_ONE_SIDED_ITEMS = 60
"""Items of one group, ties on at most one side, whose null is still computed exactly."""

BLOCK_LENGTH = 500
"""Groups are convolved among themselves up to this length before they meet the rest."""


@dataclass(frozen=True, slots=True)
class NullDistribution:
    """A distribution on consecutive integers: P(first + i) = probabilities[i]."""

    first: int
    probabilities: Floats

    @property
    def values(self) -> Integers:
        return np.arange(self.first, self.first + self.probabilities.size)

    def standard_deviation(self) -> float:
        """Returns the standard deviation."""
        mean = float(self.values @ self.probabilities)
        return math.sqrt(float((self.values - mean) ** 2 @ self.probabilities))


def can_enumerate(x: Floats, y: Floats) -> bool:
    """Returns whether the null of one group (complete values) is computed exactly."""
    ties_x, ties_y = _tie_sizes(x), _tie_sizes(y)
    if max(ties_x, default=1) == 1 or max(ties_y, default=1) == 1:
        return x.size <= MAX_ONE_SIDED_ITEMS
    return min(_n_arrangements(ties_x), _n_arrangements(ties_y)) <= MAX_ARRANGEMENTS


def group_null(x: Floats, y: Floats) -> NullDistribution:
    """Returns the null of C − D of one group: all orders of its values equally likely.

    With ties on one side only, D is the number of inversions of a random arrangement of a
    multiset, whose generating function is the Gaussian multinomial coefficient
    [n]! / Π [t_k]!, [n] = (1 − qⁿ) / (1 − q). With ties on both sides the distinct arrangements
    of the side that has fewer are enumerated.
    """
    ties_x, ties_y = _tie_sizes(x), _tie_sizes(y)
    if max(ties_x, default=1) == 1:
        return _one_sided_null(ties_y)
    if max(ties_y, default=1) == 1:
        return _one_sided_null(ties_x)
    if _n_arrangements(ties_x) < _n_arrangements(ties_y):
        x, y = y, x
    return _enumerated_null(x, y)


def combined_null(groups: list[tuple[Floats, Floats]]) -> NullDistribution:
    """Returns the null of C − D summed over independent groups, by convolution."""
    cache: dict[tuple[tuple[int, ...], tuple[int, ...]], NullDistribution] = {}
    first, probabilities, block = 0, np.ones(1), np.ones(1)
    for x, y in groups:
        key = (tuple(_tie_sizes(x)), tuple(_tie_sizes(y)))
        if key not in cache:
            cache[key] = group_null(x, y)
        first += cache[key].first
        block = np.convolve(block, cache[key].probabilities)
        # With thousands of groups it is many small steps over a long array that take the time.
        if len(block) >= BLOCK_LENGTH:
            probabilities, block = np.convolve(probabilities, block), np.ones(1)
    return NullDistribution(first, np.convolve(probabilities, block))


def _tie_sizes(values: Floats) -> list[int]:
    return sorted(Counter(values.tolist()).values())


def _n_arrangements(ties: list[int]) -> int:
    return math.factorial(sum(ties)) // math.prod(math.factorial(size) for size in ties)


def _one_sided_null(ties: list[int]) -> NullDistribution:
    n = sum(ties)
    decided = n * (n - 1) // 2 - sum(size * (size - 1) // 2 for size in ties)
    # Python integers: the counts pass 2^63 from 21 items on, and division must be exact.
    counts: list[int] = [1] + [0] * decided
    factors = Counter(range(2, n + 1))
    factors.subtract(k for size in ties for k in range(2, size + 1))
    for k, times in factors.items():
        for _ in range(times):
            for place in range(decided, k - 1, -1):
                counts[place] -= counts[place - k]
        # [k] has k in numerator and 1 in denominator: each (1 − q^k) comes with a 1 / (1 − q).
        for _ in range(times):
            for place in range(1, decided + 1):
                counts[place] += counts[place - 1]
    for k, times in factors.items():
        for _ in range(-times):
            for place in range(k, decided + 1):
                counts[place] += counts[place - k]
            for place in range(decided, 0, -1):
                counts[place] -= counts[place - 1]
    total = _n_arrangements(ties)
    # C − D = decided − 2 D, symmetric; every second integer.
    probabilities = np.zeros(2 * decided + 1)
    probabilities[::2] = [count / total for count in counts]
    return NullDistribution(-decided, probabilities)


def _enumerated_null(x: Floats, y: Floats) -> NullDistribution:
    """C − D over the distinct arrangements of y, x standing still."""
    n = x.size
    arranged = _arrangements(np.unique(y, return_inverse=True)[1].tolist())
    differences = np.zeros(len(arranged), dtype=np.int64)
    for i, j in itertools.combinations(range(n), 2):
        sign = int(np.sign(x[i] - x[j]))
        if sign:
            differences += sign * np.sign(arranged[:, i] - arranged[:, j])
    reach = int(np.abs(differences).max())
    counts = np.bincount(differences + reach, minlength=2 * reach + 1)
    return NullDistribution(-reach, counts / len(arranged))


def _arrangements(values: list[int]) -> Integers:
    """All distinct orders of a multiset, shape (orders, items)."""
    size = len(values)
    tables = [np.full((1, size), -1, dtype=np.int64)]
    for value, times in sorted(Counter(values).items()):
        table = tables[-1]
        free = size - int((table[0] >= 0).sum())
        places = np.array(list(itertools.combinations(range(free), times)), dtype=np.int64)
        # Free places of every partial order so far, in turn given to this value.
        free_places = np.argsort(table >= 0, axis=1, kind="stable")[:, :free]
        grown = np.repeat(table, len(places), axis=0)
        chosen = free_places[:, places].reshape(-1, times)
        np.put_along_axis(grown, chosen, value, axis=1)
        tables.append(grown)
    return tables[-1]
