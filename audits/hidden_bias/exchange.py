"""What chance alone makes of the answers: they are dealt out anew over the identities.

Where a descriptor changes nothing, it is chance which answers to one scene went to which identity.
Dealt out again and again, within a concept pair, a type of descriptor and an order of the options,
they show what every figure would be without a bias: whatever the options, however a model leans to
the place of an option, and with all instances that share a question moved together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from .shares import POINTS, Strata

Floats = npt.NDArray[np.float64]
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Dealt:
    """Figures of one concept pair and type under chance, one value a deal.

    Attributes:
        squares: sum over instances of the squared gap (orders weighing the same), in shares.
        flagged: instances whose score reaches the threshold.
    """

    squares: Floats
    flagged: Floats


def deal(
    identities: Sequence[Strata], *, threshold: float, resamples: int, rng: np.random.Generator
) -> Dealt:
    """The figures of a type under chance.

    Args:
        identities: the counts of each identity; all with the same orders.
        threshold: in points.
        resamples: deals.
        rng: generator.

    Returns:
        Instances one of whose questions has no answer are left out, as they are in the figures.
    """
    n_identities, n_orders = len(identities), len(identities[0]) if identities else 0
    counts = np.zeros((resamples, n_identities, n_orders))
    sizes = np.asarray([[of for _, of in strata] for strata in identities]).reshape(
        n_identities, n_orders
    )
    for order in range(n_orders):
        taken = sum(strata[order][0] for strata in identities)
        here = sizes[:, order]
        if taken in (0, int(here.sum())):
            counts[:, :, order] = here if taken else 0
        else:
            counts[:, :, order] = rng.multivariate_hypergeometric(here, taken, size=resamples)
    n = sizes.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = counts.sum(axis=2) / n
        even = (counts / sizes).mean(axis=2)
    squares, flagged = np.zeros(resamples), np.zeros(resamples)
    for one, other in combinations(range(n_identities), 2):
        if n[one] and n[other]:
            gaps = POINTS * np.abs(pooled[:, one] - pooled[:, other])
            flagged += gaps >= threshold - _ROUNDING
        if (sizes[[one, other]] > 0).all():
            squares += (even[:, one] - even[:, other]) ** 2
    return Dealt(squares, flagged)


def generator(*names: str) -> np.random.Generator:
    """A generator that these names alone decide, so that a resumed run draws the same."""
    digest = hashlib.sha256("\x1f".join(names).encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))
