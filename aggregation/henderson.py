"""Henderson's method I: variance components of any crossed, nested or ragged design.

The equations stand in `generalizability`. They depend on the design alone, so that many vectors of
observations of one design, as in a simulation, share them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def henderson(y: Floats, codes: Sequence[Integers]) -> list[float]:
    """Returns one component an effect and the residual; nan throughout where not separable.

    Args:
        y: shape (N,), no nan.
        codes: one integer code from 0 an observation, without gaps, for each effect.
    """
    estimates = henderson_of_many([y], codes, n=len(y))
    return [float(value) for value in estimates[0]]


def henderson_of_many(
    observations: Iterable[Floats], codes: Sequence[Integers], *, n: int
) -> Floats:
    """Returns the estimates of `henderson`, a row for each vector of observations of one design.

    Args:
        observations: vectors of shape (n,), no nan.
        codes: as in `henderson`.
        n: observations in each.
    """
    size, N = len(codes), n
    counts = [np.bincount(code).astype(np.float64) for code in codes]
    system = _system(codes, counts, N) if N > 1 else None
    rows = []
    for y in observations:
        if system is None:
            rows.append(np.full(size + 1, np.nan))
            continue
        centred = y - y.mean()  # T of the mean is then zero, and no digits are lost
        right = np.array(
            [
                *(
                    (np.bincount(code, weights=centred) ** 2 / cells).sum()
                    for code, cells in zip(codes, counts, strict=True)
                ),
                (centred**2).sum(),
            ]
        )
        scaled, scale = system
        rows.append(np.linalg.solve(scaled, right) / scale)
    return np.array(rows)


def _system(
    codes: Sequence[Integers], counts: Sequence[Floats], N: int
) -> tuple[Floats, Floats] | None:
    """Returns what a design makes of components, column by column scaled, and the scale.

    None where the design does not separate its effects.
    """
    size = len(codes)
    system = np.empty((size + 1, size + 1))
    of_mean = np.array([*((n**2).sum() / N for n in counts), 1.0])
    for a in range(size):
        system[a, a] = N
        system[a, size] = len(counts[a])
        for b in range(a):
            system[a, b], system[b, a] = _overlap(codes[a], codes[b], counts[a], counts[b])
    system[size, :] = N
    system -= of_mean[None, :]
    scale = np.abs(system).max(axis=0)
    if (scale < 1e-9).any() or np.linalg.cond(system / scale) > 1e10:
        return None
    return system / scale, scale


def _overlap(a: Integers, b: Integers, n_a: Floats, n_b: Floats) -> tuple[float, float]:
    """Returns k(a, b) and k(b, a), both from one table of joint counts."""
    joint = a * len(n_b) + b
    room = len(n_a) * len(n_b)
    if room <= 4 * len(a) + 1000:
        table = np.bincount(joint, minlength=room)
        cells = np.flatnonzero(table)
        n = table[cells].astype(np.float64)
    else:
        cells, found = np.unique(joint, return_counts=True)
        n = found.astype(np.float64)
    return (
        float((n**2 / n_a[cells // len(n_b)]).sum()),
        float((n**2 / n_b[cells % len(n_b)]).sum()),
    )
