"""Intervals for the mean of a panel whose judges are personas crossed with models.

Thirty judgments of ten personas on three models are not thirty independent raters: every
persona brings its severity to all models, every model its own to all personas. With the score
of persona p on model m (the mean over its repeats) as

    y_pm = mu + a_p + b_m + e_pm,   variances s2_P, s2_M, s2_e,

the panel mean, with weight w_pm on the cell (its share of the scored judgments), has

    Var = s2_P sum_p w_p.^2 + s2_M sum_m w_.m^2 + s2_e sum_pm w_pm^2.

The components come from Henderson's method I (the analogous ANOVA): with T_P = sum_p y_p.^2/n_p,
T_M likewise, T_e = sum y^2 and T_0 = y..^2/N on the N cells that are present, their expectations
are linear in the components and three equations are solved. Negative estimates are set to zero
in the variance only; they are returned as they are.
Source: Henderson (1953), Biometrics 9, 226; Searle, Casella & McCulloch (1992), ch. 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def ratio(top: ArrayLike, bottom: ArrayLike) -> FloatArray:
    """Returns top / bottom with nan where the bottom is not positive, without a warning."""
    below = np.asarray(bottom, dtype=np.float64)
    out = np.full(np.broadcast_shapes(np.shape(top), below.shape), np.nan)
    np.divide(top, below, out=out, where=below > 0)
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
    # Two personas leave one degree of freedom and the raw mean squares then cover .92 only; with
    # the non-negative components in their place they cover at least .95.
    two_levels = (P < 3)[:, None, None]
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

    from_M = share_M / n_0 * (mean_within + n_0 * of_model)
    from_e = (share_e - share_M / n_0) * mean_within
    spread = from_M**2 / (M - 1)[:, None] + from_e**2 / (N - M)[:, None]
    df = np.clip(np.nan_to_num(ratio(variance**2, spread)), (M - 1)[:, None], (N - 1)[:, None])
    return np.stack([of_model, mean_within], axis=2), variance, df


IntArray = NDArray[np.int64]

TWO_FACETS: Final = "personas and models as random facets (Henderson I, Satterthwaite t)"
ONE_MODEL: Final = "personas within one model; the model facet is not estimable"
ONE_PERSONA: Final = "models within one persona; the persona facet is not estimable"
MODELS_ALONE: Final = "models as a random facet, personas within the rest (few judges were asked)"
NO_INTERVAL: Final = "none"

METHODS: Final = (NO_INTERVAL, TWO_FACETS, ONE_MODEL, ONE_PERSONA, MODELS_ALONE)
"""How an interval was made; `FacetIntervals.method` holds positions in this tuple."""

NOTHING_SCORED: Final = "no judgment was scored"
ONE_JUDGE: Final = "only one judge scored"
TOO_SPARSE: Final = "too few crossed cells to separate persona, model and residual"
NO_VARIATION: Final = "the scores do not vary between judges"
BELOW_QUORUM: Final = "below the quorum"
TWO_MODELS: Final = "two models cannot tell"
"""They leave one degree of freedom: on a scale of 1 to 10 an interval for judges like these was 5.9
points wide on average (three models 2.1, five 1.4)."""

MOST_REPEATED: Final = 0.2
"""Share of the cells whose personas stand in another one too, up to which they may count as part of
the residual."""

REASONS: Final = (None, NOTHING_SCORED, ONE_JUDGE, TOO_SPARSE, NO_VARIATION, BELOW_QUORUM,
                  TWO_MODELS)  # fmt: skip
"""Why there is no interval; `FacetIntervals.reason` holds positions in this tuple."""


@dataclass(frozen=True, slots=True)
class FacetIntervals:
    """Intervals of R panel means on K columns, as arrays.

    Attributes:
        low, high, df: shape (R, K); nan where there is no interval.
        components: shape (R, K, 3), the estimates of s2_P, s2_M, s2_e as they came out, negative
            ones too; nan where a component is not estimable.
        method: shape (R,), positions in `METHODS`.
        reason: shape (R, K), positions in `REASONS`; 0 where there is an interval.
    """

    low: FloatArray
    high: FloatArray
    df: FloatArray
    components: FloatArray
    method: NDArray[np.int8]
    reason: NDArray[np.int8]


def indicator(codes: IntArray, levels: int) -> FloatArray:
    """Returns the (len(codes), levels) matrix with a one where a code equals a level."""
    return np.asarray(codes[:, None] == np.arange(levels)[None, :], dtype=np.float64)


def facet_intervals(
    cells: FloatArray,
    counts: FloatArray,
    persona: IntArray,
    model: IntArray,
    *,
    level: float = 0.95,
) -> FacetIntervals:
    """Returns the interval of each response's panel mean, with persona and model as random facets.

    It speaks of the mean that such personas on such models would give the response: the judges
    are the sample, the response is fixed. It does not speak of human judgment, nor of what another
    response to the same prompt would get.

    Where the scored judgments come from one model only, its facet is not estimable: the interval
    then covers the mean over personas *on that model* (t over persona means); likewise for one
    persona. One judge gives no interval, however often it was repeated, and two models give none:
    they cannot tell how much models differ. Intervals are not cut at the ends of the scale here.

    Where so few cells of a crossed panel were asked that persona and residual cannot be told
    apart, and hardly any persona stands in two of them, the two count as one (`MODELS_ALONE`). A
    stopping rule that asks in balance leaves such parts.

    Degrees of freedom: Satterthwaite's on the mean squares, kept within
    [min(personas, models) - 1, cells - 1]; with two levels of a facet on mean squares rebuilt
    from the non-negative components. Of five formulas tried this covered best.

    Measured coverage of the 95% interval (benchmarks/simulate.py panel-interval, 20,000 worlds
    a figure, Monte Carlo error at most .002; variances given as s2_P, s2_M, s2_e):

        design   .06/.30/.25   1/1/1   .2/.2/1   0/1/1   0/0/1
        10 x 3       .945       .945      .971    .952    .993
        10 x 5       .948       .951      .967    .953    .994
         5 x 3       .969       .971      .990    .969    .998
        10 x 1       .949       .950      .951    .952    .953

    Parts of a panel drawn in balance (3,000 worlds, error .004), by `MODELS_ALONE`:

        8 of 10 x 3        .957       .964      .977    .958    .987
        12 of 10 x 3       .957       .954      .971    .944    .988
        8 of 10 x 5        .966       .970      .979    .960    .982

    With 15% of the cells missing at random all figures lie between .947 and 1.000. Where the
    facets add little the interval is too wide, not too narrow.

    Args:
        cells: shape (R, K, C), the mean over repeats in each persona x model cell; the value of
            an absent cell is not looked at, but must be finite.
        counts: shape (R, C), scored judgments in each cell; 0 is an absent cell.
        persona: shape (C,), persona code of each cell, from 0.
        model: shape (C,), model code of each cell, from 0.
        level: confidence level, in (0, 1).

    Returns:
        Intervals around the mean over scored judgments, sum_c counts_c cells_c / sum_c counts_c.
    """
    from scipy.special import stdtrit

    present = (counts > 0).astype(np.float64)
    in_persona = indicator(persona, int(persona.max()) + 1)
    in_model = indicator(model, int(model.max()) + 1)
    rows, columns = cells.shape[:2]

    cell_n = present.sum(axis=1)  # N of the docstring: cells, not judgments
    per_persona = present @ in_persona
    per_model = present @ in_model
    personas = (per_persona > 0).sum(axis=1).astype(np.float64)
    models = (per_model > 0).sum(axis=1).astype(np.float64)
    weights = ratio(counts, counts.sum(axis=1, keepdims=True))
    mean = np.einsum("rkc,rc->rk", cells, np.nan_to_num(weights))

    centre = ratio(np.einsum("rkc,rc->rk", cells, present), cell_n[:, None])
    deviations = (cells - np.nan_to_num(centre)[:, :, None]) * present[:, None, :]
    squares = np.einsum("rkc,rkc->rk", deviations, deviations)

    residual_df = cell_n - personas - models + 1
    two = (personas > 1) & (models > 1) & (residual_df >= 1)
    apart = (
        (personas > 1)
        & (models > 1)
        & (residual_df < 1)
        & (cell_n - models >= 1)
        & (cell_n - personas <= MOST_REPEATED * cell_n)
    )
    one_model = (models == 1) & (personas > 1)
    one_persona = (personas == 1) & (models > 1)

    variance = np.full((rows, columns), np.nan)
    df = np.full((rows, columns), np.nan)
    components = np.full((rows, columns, 3), np.nan)

    if two.any():
        estimate, variance[two], df[two] = two_way(
            deviations[two] @ in_persona,
            deviations[two] @ in_model,
            squares[two],
            per_persona[two],
            per_model[two],
            weights[two],
            in_persona,
            in_model,
        )
        components[two] = estimate
    if apart.any():
        estimate, variance[apart], df[apart] = models_alone(
            deviations[apart] @ in_model, squares[apart], per_model[apart], weights[apart], in_model
        )
        components[apart, :, 1:] = estimate
    single = one_model | one_persona
    if single.any():
        # persona (or model) variance and residual cannot be told apart here, and need not be:
        # their sum is what a cell mean varies by
        spread = squares[single] / (cell_n[single, None] - 1)
        variance[single] = spread * (weights[single] ** 2).sum(axis=1)[:, None]
        df[single] = cell_n[single, None] - 1
        components[single, :, 2] = spread

    method = np.zeros(rows, dtype=np.int8)
    method[two] = METHODS.index(TWO_FACETS)
    method[one_model] = METHODS.index(ONE_MODEL)
    method[one_persona] = METHODS.index(ONE_PERSONA)
    method[apart] = METHODS.index(MODELS_ALONE)

    reason = np.zeros((rows, columns), dtype=np.int8)
    # below the rounding of a mean of equal floats, a variance is no variance
    flat = squares <= 1e-20 * np.maximum(1.0, mean**2) * cell_n[:, None]
    reason[flat | ~(variance > 0)] = REASONS.index(NO_VARIATION)
    reason[(method == 0) & (cell_n > 1)] = REASONS.index(TOO_SPARSE)
    reason[models == 2] = REASONS.index(TWO_MODELS)
    reason[cell_n == 1] = REASONS.index(ONE_JUDGE)
    reason[cell_n == 0] = REASONS.index(NOTHING_SCORED)

    given = reason == 0
    half = np.full((rows, columns), np.nan)
    half[given] = stdtrit(df[given], (1 + level) / 2) * np.sqrt(variance[given])
    return FacetIntervals(
        low=np.where(given, mean - half, np.nan),
        high=np.where(given, mean + half, np.nan),
        df=np.where(given, df, np.nan),
        components=components,
        method=method,
        reason=reason,
    )


def cell_layout(persona: IntArray, model: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Returns the persona and model of each judge cell, and the (J, C) map of columns to cells."""
    pairs, position = np.unique(np.stack([persona, model], axis=1), axis=0, return_inverse=True)
    return (
        pairs[:, 0].astype(np.int64),
        pairs[:, 1].astype(np.int64),
        indicator(np.asarray(position, dtype=np.int64).reshape(-1), len(pairs)),
    )


def cell_means(values: FloatArray, mask: FloatArray, to_cell: FloatArray) -> FloatArray:
    """Returns (R, K, C) means over repeats; 0 in absent cells.

    Args:
        values: shape (R, K, J), 0 where a judgment is missing.
        mask: shape (R, J), 1 where scored, else 0.
        to_cell: shape (J, C), from `cell_layout`.
    """
    counts = np.maximum(mask @ to_cell, 1.0)
    return np.asarray((values @ to_cell) / counts[:, None, :])
