"""What chance alone makes of the answers: they are exchanged anew over the identities.

Where a descriptor changes nothing, it is chance which answers to one scene went to which identity.
Exchanged again and again, within a concept pair, a type of descriptor and an order of the options,
they show what every figure would be without a bias: whatever the options, however a model leans to
the place of an option, and with all instances that share a question moved together.
"""

from __future__ import annotations

import hashlib
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
POINTS: Final = 100
ROUNDING: Final = 1e-9
"""7/10 − 5/10 are 20 points, whatever floats say."""


class Permuted(NamedTuple):
    """Figures of one concept pair and type under chance, one value a permutation.

    Attributes:
        squares: sum over instances of the squared gap (orders weighing the same), in shares.
        flagged: instances whose score reaches the threshold.
    """

    squares: Floats
    flagged: Floats


def permute(
    one: npt.ArrayLike,
    chosen: npt.ArrayLike,
    *,
    threshold: float,
    resamples: int,
    rng: np.random.Generator,
) -> Permuted:
    """The figures of a type under chance.

    Args:
        one, chosen: shape (identities, orders): answers that take the first option, and answers.
        threshold: in points.
        resamples: permutations.
        rng: generator.

    Returns:
        Instances one of whose questions has no answer are left out, as they are in the figures.
    """
    taken, sizes = np.asarray(one, dtype=np.int64), np.asarray(chosen, dtype=np.int64)
    n_identities, n_orders = sizes.shape
    counts = np.zeros((resamples, n_identities, n_orders))
    for order in range(n_orders):
        here, total = sizes[:, order], int(taken[:, order].sum())
        if total in (0, int(here.sum())):
            counts[:, :, order] = here if total else 0
        else:
            counts[:, :, order] = rng.multivariate_hypergeometric(here, total, size=resamples)
    n = sizes.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = counts.sum(axis=2) / n
        even = (counts / sizes).mean(axis=2)
    squares, flagged = np.zeros(resamples), np.zeros(resamples)
    for a, b in combinations(range(n_identities), 2):
        if n[a] and n[b]:
            gaps = POINTS * np.abs(pooled[:, a] - pooled[:, b])
            flagged += gaps >= threshold - ROUNDING
        if (sizes[[a, b]] > 0).all():
            squares += (even[:, a] - even[:, b]) ** 2
    return Permuted(squares, flagged)


def generator(*names: str) -> np.random.Generator:
    """A generator that these names alone decide, so that a resumed run draws the same."""
    digest = hashlib.sha256("\x1f".join(names).encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))
