"""Variance of a panel mean from its cells: by personas and models, or by models alone.

The components come from Henderson's method I on the cells that are present; see `panel_interval`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Returns top / bottom with nan where the bottom is not positive, without a warning."""
    top, bottom = np.broadcast_arrays(top, bottom)
    out = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=out, where=bottom > 0)
    return out


def two_way(
    persona_sums: FloatArray,
    model_sums: FloatArray,
    squares: FloatArray,
    per_persona: FloatArray,
    per_model: FloatArray,
    weights: FloatArray,
    in_persona: FloatArray,
    in_model: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Returns components (R, K, 3), Var(mean) and its degrees of freedom, both (R, K)."""
    N = per_persona.sum(axis=1)
    P = (per_persona > 0).sum(axis=1).astype(np.float64)
    M = (per_model > 0).sum(axis=1).astype(np.float64)
    k_P = (per_persona**2).sum(axis=1) / N
    k_M = (per_model**2).sum(axis=1) / N

    # expectations of T_P - T_0, T_M - T_0, T_e - T_0; T_0 is zero for centred scores
    system = np.stack(
        [
            np.stack([N - k_P, P - k_M, P - 1], axis=1),
            np.stack([M - k_P, N - k_M, M - 1], axis=1),
            np.stack([N - k_P, N - k_M, N - 1], axis=1),
        ],
        axis=1,
    )
    T_P = (persona_sums**2 / np.maximum(per_persona, 1)[:, None, :]).sum(axis=2)
    T_M = (model_sums**2 / np.maximum(per_model, 1)[:, None, :]).sum(axis=2)
    right = np.stack([T_P, T_M, squares], axis=1)
    components = np.asarray(np.swapaxes(np.linalg.solve(system, right), 1, 2), dtype=np.float64)

    share_P = ((weights @ in_persona) ** 2).sum(axis=1)[:, None]
    share_M = ((weights @ in_model) ** 2).sum(axis=1)[:, None]
    share_e = (weights**2).sum(axis=1)[:, None]
    kept = np.maximum(components, 0.0)
    variance = kept[:, :, 0] * share_P + kept[:, :, 1] * share_M + kept[:, :, 2] * share_e

    # Satterthwaite on mean squares MS_P = s2_e + n_P s2_P, MS_M = s2_e + n_M s2_M, MS_e = s2_e.
    # Two levels leave one degree of freedom and the raw mean squares then cover .92 only; with
    # the non-negative components in their place they cover at least .95.
    two_levels = (np.minimum(P, M) < 3)[:, None, None]
    s2 = np.where(two_levels, kept, components)
    n_P = ((N - k_P) / (P - 1))[:, None]
    n_M = ((N - k_M) / (M - 1))[:, None]
    from_P = share_P / n_P * (s2[:, :, 2] + n_P * s2[:, :, 0])
    from_M = share_M / n_M * (s2[:, :, 2] + n_M * s2[:, :, 1])
    from_e = (share_e - share_P / n_P - share_M / n_M) * s2[:, :, 2]
    spread = (
        from_P**2 / (P - 1)[:, None]
        + from_M**2 / (M - 1)[:, None]
        + from_e**2 / (N - P - M + 1)[:, None]
    )
    fewest = (np.minimum(P, M) - 1)[:, None]
    df = np.clip(np.nan_to_num(ratio(variance**2, spread)), fewest, (N - 1)[:, None])
    return components, variance, df


def models_alone(
    model_sums: FloatArray,
    squares: FloatArray,
    per_model: FloatArray,
    weights: FloatArray,
    in_model: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Returns components (R, K, 2) of models and the rest, Var(mean) and its df, both (R, K).

    The analysis of variance of one random facet with unequal groups: where hardly any persona
    stands in two cells, its variance and the residual's act alike, and need not be told apart.
    """
    N = per_model.sum(axis=1)
    M = (per_model > 0).sum(axis=1).astype(np.float64)
    between = (model_sums**2 / np.maximum(per_model, 1)[:, None, :]).sum(axis=2)
    mean_between = between / (M - 1)[:, None]
    mean_within = (squares - between) / (N - M)[:, None]
    n_0 = ((N - (per_model**2).sum(axis=1) / N) / (M - 1))[:, None]
    of_model = (mean_between - mean_within) / n_0
    share_M = ((weights @ in_model) ** 2).sum(axis=1)[:, None]
    share_e = (weights**2).sum(axis=1)[:, None]
    kept = np.maximum(of_model, 0.0)
    variance = kept * share_M + mean_within * share_e

    # as in `two_way`: with two levels on mean squares rebuilt from the kept component
    s2_M = np.where((M < 3)[:, None], kept, of_model)
    from_M = share_M / n_0 * (mean_within + n_0 * s2_M)
    from_e = (share_e - share_M / n_0) * mean_within
    spread = from_M**2 / (M - 1)[:, None] + from_e**2 / (N - M)[:, None]
    df = np.clip(np.nan_to_num(ratio(variance**2, spread)), (M - 1)[:, None], (N - 1)[:, None])
    return np.stack([of_model, mean_within], axis=2), variance, df
