"""Sign-flip tests of one vector or of many cells, exact far beyond enumeration."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

Alternative = Literal["two-sided", "greater", "less"]

EXACT_PROMPTS = 30
"""Values of a cell up to which every one of the 2^n sign vectors is counted."""


@dataclass(frozen=True, slots=True)
class SignFlips:
    """Two-sided sign-flip tests of K cells.

    Attributes:
        p_value: shape (cells,); nan without a value.
        n: shape (cells,), prompts with a value.
        method: one a cell: "exact", "monte carlo" or "none".
        smallest: shape (cells,), the smallest p that n and the method can give.
    """

    p_value: Floats
    n: npt.NDArray[np.int64]
    method: tuple[str, ...]
    smallest: Floats


def sign_flip_tests(values: npt.ArrayLike, *, flips: int = 9999, seed: int = 0) -> SignFlips:
    """Returns the two-sided sign-flip test of a mean of 0 for every column.

    `sign_flip_test` for many cells: p = P(|Σ ±x| ≥ |Σ x|) over all 2^n sign vectors
    up to 30 values, beyond that over sign vectors drawn once for all cells, (1 + k) / (B + 1). All
    2^n are counted without being listed: the sums of the two halves are sorted, and for each sum
    of the one those of the other that reach the observed total are counted (Horowitz & Sahni,
    1974), which takes 2^(n/2) steps.

    Args:
        values: shape (prompts, cells); nan is missing, a cell uses the prompts that it has.
        flips: sign vectors drawn for cells of more than 30 values.
        seed: of those.

    Returns:
        p 1 for a cell of zeros; nan for a cell without a value.

    Raises:
        ValueError: not two-dimensional, or flips below 1.
    """
    table = cells_to_flip(values, flips)
    known = ~np.isnan(table)
    n = known.sum(axis=0).astype(np.int64)
    p = np.full(table.shape[1], np.nan)
    for cell in np.flatnonzero((n > 0) & (n <= EXACT_PROMPTS)):
        p[cell] = exact_p(table[known[:, cell], cell])
    many = n > EXACT_PROMPTS
    if many.any():
        p[many] = sampled_p(np.nan_to_num(table[:, many]), flips, np.random.default_rng(seed))
    exact = 2.0 ** (1 - np.minimum(n, EXACT_PROMPTS).astype(np.float64))
    smallest = np.where(many, 1 / (flips + 1), np.where(n > 0, exact, np.nan))
    method = tuple(
        "none" if k == 0 else "exact" if k <= EXACT_PROMPTS else "monte carlo" for k in n
    )
    return SignFlips(p, n, method, smallest)


def cells_to_flip(values: npt.ArrayLike, flips: int) -> npt.NDArray[np.float64]:
    """The values as a table (prompts, cells), for a number of sign vectors.

    Raises:
        ValueError: not two-dimensional, or flips below 1.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"values must be (prompts, cells), got shape {table.shape}")
    if flips < 1:
        raise ValueError(f"flips must be at least 1, got {flips}")
    return table


def exact_p(values: Floats, alternative: Alternative = "two-sided") -> float:
    """Returns the share of all 2^n sign vectors whose sum is as extreme as that of the values.

    Args:
        values: shape (n,), at least one, none missing.
        alternative: "greater": sums at least as high.
    """
    reached = float(_least(values, alternative))
    sides = 2 if alternative == "two-sided" else 1
    if sides == 2 and reached <= 0:
        return 1.0
    half = values.size // 2
    one, other = _sorted_sums(values[:half]), _sorted_sums(values[half:])
    above = other.size - np.searchsorted(other, reached - one, side="left")
    # The sums are symmetric about 0, so the lower tail holds as many.
    return sides * int(above.sum()) / 2.0**values.size


def _least(values: Floats, alternative: Alternative) -> Floats:
    """Returns, for each cell, the sum from which a sum (turned or not) is as extreme."""
    total = values.sum(axis=0)
    turned = {"two-sided": np.abs(total), "greater": total, "less": -total}[alternative]
    # Sums that differ by rounding only are the same sum: without this, half of an exact p is lost.
    least: Floats = turned - 1e-9 * np.abs(values).sum(axis=0)
    return least


def _sorted_sums(values: Floats) -> Floats:
    sums = np.zeros(1)
    for value in np.abs(values):
        # Both runs are sorted: a stable sort merges them.
        sums = np.sort(np.concatenate((sums - value, sums + value)), kind="stable")
    return sums


def sampled_p(
    filled: Floats,
    flips: int,
    generator: np.random.Generator,
    alternative: Alternative = "two-sided",
) -> Floats:
    """Returns (1 + k) / (B + 1) of each cell over sign vectors drawn once for all cells.

    Args:
        filled: shape (prompts, cells), 0 where missing.
        flips: B, sign vectors drawn.
        generator: draws them.
        alternative: as in `exact_p`.
    """
    least = _least(filled, alternative)
    reached = np.zeros(filled.shape[1])
    step = max(4_000_000 // max(filled.shape), 1)
    for start in range(0, flips, step):
        size = (min(step, flips - start), len(filled))
        signs = generator.integers(0, 2, size=size, dtype=np.int8) * 2.0 - 1
        sums = signs @ filled
        if alternative == "two-sided":
            sums = np.abs(sums)
        elif alternative == "less":
            sums = -sums
        reached += (sums >= least).sum(axis=0)
    p: Floats = (1 + reached) / (flips + 1)
    return p


def smallest_holm_p(tests: SignFlips) -> float:
    """Returns the smallest Holm-adjusted p that any cell of this family could reach.

    m times the smallest p of the cell with most prompts; nan without a test. Ten prompts are
    needed for any of 20 cells to reach .05, nine cannot.
    """
    counted = tests.smallest[tests.n > 0]
    return min(1.0, counted.size * float(counted.min())) if counted.size else math.nan
