"""What a panel of judges says about each response: the ensemble scores and their spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, InputFault
from .panel_interval import (
    BELOW_QUORUM,
    METHODS,
    NOTHING_SCORED,
    REASONS,
    cell_layout,
    cell_means,
    facet_intervals,
    indicator,
    ratio,
)

FloatArray = NDArray[np.float64]

MODERATE_SD: Final = 0.10
"""From this SD between judges, as a share of the scale's width, disagreement is "moderate"."""

HIGH_SD: Final = 0.20
"""From this SD on it is "high". Judges who pick 1 to 10 blindly reach .32."""

SPLIT_GAP: Final = 0.20
"""From this gap between two axis means, as a share of the width, a response splits the panel."""


def disagreement_labels(
    composites: FloatArray, present: NDArray[np.bool_], to_axis: FloatArray, *, width: float
) -> NDArray[np.object_]:
    """Returns "low", "moderate", "high", "split" or "undefined" for each response.

    With s the SD between the judges' composites (divisor n - 1) over the width of the scale:
    low below .10 (.9 points on a scale of 1 to 10), moderate below .20 (1.8 points), high from
    there. "split" comes before these: the farthest two axis means, of axes with at least two
    judges each, lie at least .20 of the width apart and at least two standard errors (Welch's),
    so that a gap which a few noisy judges make by chance is not called a split. "undefined" where
    fewer than two judges scored. The thresholds are conventions of this project.

    Args:
        composites: shape (R, C), each judge's composite (its repeats averaged).
        present: shape (R, C), whether the judge scored.
        to_axis: shape (C, A), 1 where the judge belongs to the axis.
        width: highest minus lowest score of the scale.
    """
    mask = present.astype(np.float64)
    values = np.where(present, composites, 0.0)
    n = mask.sum(axis=1)
    mean = values.sum(axis=1) / np.maximum(n, 1)
    squares = (np.where(present, values - mean[:, None], 0.0) ** 2).sum(axis=1)
    # rounding must not decide on which side of a threshold a round figure falls
    spread = np.round(np.sqrt(squares / np.maximum(n - 1, 1)) / width, 12)

    labels = np.full(len(n), "low", dtype=object)
    labels[spread >= MODERATE_SD] = "moderate"
    labels[spread >= HIGH_SD] = "high"
    labels[_is_split(values, mask, to_axis, width)] = "split"
    labels[n < 2] = "undefined"
    return labels


def _is_split(
    values: FloatArray, mask: FloatArray, to_axis: FloatArray, width: float
) -> NDArray[np.bool_]:
    n = mask @ to_axis
    mean = (values @ to_axis) / np.maximum(n, 1)
    # the within-axis squares by deviations: a difference of squares would lose all digits
    own = mean @ to_axis.T
    squares = ((values - own) ** 2 * mask) @ to_axis
    error = squares / np.maximum(n - 1, 1) / np.maximum(n, 1)

    counted = n >= 2
    top = np.where(counted, mean, -np.inf).argmax(axis=1)[:, None]
    bottom = np.where(counted, mean, np.inf).argmin(axis=1)[:, None]
    gap = np.take_along_axis(mean, top, 1) - np.take_along_axis(mean, bottom, 1)
    standard_error = np.sqrt(
        np.take_along_axis(error, top, 1) + np.take_along_axis(error, bottom, 1)
    )
    enough = counted.sum(axis=1) >= 2
    wide = (np.round(gap / width, 12) >= SPLIT_GAP) & (gap >= 2 * standard_error)
    return np.asarray(enough & wide[:, 0])


IntArray = NDArray[np.int64]

CHUNK_ROWS: Final = 4096
"""Responses checked at once, so that the masks stay small."""


def check_panel(
    values: FloatArray,
    persona: NDArray[Any],
    model: NDArray[Any],
    axis: tuple[str, ...],
    scale: tuple[float, float],
    quorum: float,
    trim: float,
    level: float,
) -> None:
    """Checks the arguments of `aggregate_panel`.

    Raises:
        InputError: all faults found, with their fields.
    """
    faults: list[InputFault] = []

    def wrong(field: str, message: str) -> None:
        faults.append(InputFault(where="aggregate_panel", field=field, message=message))

    low, high = scale
    if not low < high:
        wrong("scale", f"must be (low, high) with low below high, got {scale}")
    if not 0 <= quorum <= 1:
        wrong("quorum", f"must be between 0 and 1, got {quorum}")
    if not 0 <= trim < 0.5:
        wrong("trim", f"must be at least 0 and below 0.5, got {trim}")
    if not 0 < level < 1:
        wrong("level", f"must be above 0 and below 1, got {level}")
    if values.ndim != 3 or values.shape[1] == 0 or values.shape[2] == 0:
        wrong("scores", f"must have shape (responses, judgments, criteria), got {values.shape}")
    else:
        for name, array in (("persona", persona), ("model", model)):
            if array.shape != values.shape[1:2]:
                wrong(name, f"must have one entry a judgment column, got shape {array.shape}")
            elif array.dtype.kind not in "iu" or array.min() < 0:
                wrong(name, "must be whole numbers from 0")
        if len(axis) != values.shape[1]:
            wrong("axis", f"must have one entry a judgment column, got shape {(len(axis),)}")
        _check_scores(values, low, high, wrong)
        if not faults:
            judges = list(zip(persona.tolist(), model.tolist(), strict=True))
            if len(set(zip(judges, axis, strict=True))) > len(set(judges)):
                wrong("axis", "must be the same for every repeat of a judge")
    if faults:
        raise InputError(faults)


def _check_scores(
    values: FloatArray, low: float, high: float, wrong: Callable[[str, str], None]
) -> None:
    off_scale = 0
    partly = 0
    for start in range(0, values.shape[0], CHUNK_ROWS):
        part = values[start : start + CHUNK_ROWS]
        missing = np.isnan(part)
        off_scale += int((~missing & ~((part >= low) & (part <= high))).sum())
        partly += int((missing.any(axis=2) != missing.all(axis=2)).sum())
    if off_scale:
        wrong("scores", f"must lie within {low:g} and {high:g}, got {off_scale} that do not")
    if partly:
        wrong("scores", f"must be scored in all criteria or in none, got {partly} judgments partly")


def check_counts(n_scored: IntArray, n_abstained: FloatArray, n_planned: IntArray) -> None:
    """Checks the counts of votes against the judgments planned.

    Raises:
        InputError: every response with more votes than planned judgments.
    """
    if n_abstained.shape != n_scored.shape:
        raise InputError(
            [
                InputFault(
                    where="aggregate_panel",
                    field="abstained",
                    message=f"must have one count a response, got shape {n_abstained.shape}",
                )
            ]
        )
    over = np.flatnonzero((n_scored + n_abstained > n_planned) | (n_abstained < 0))
    if len(over):
        raise InputError(
            InputFault(
                where=f"aggregate_panel: response {row}",
                field="planned",
                message="must be at least the judgments scored and abstained "
                f"({n_scored[row]} and {n_abstained[row]:g}), got {n_planned[row]}",
            )
            for row in over
        )


ObjectArray = NDArray[np.object_]
"""Responses worked on at once; bounds the memory beside input and result to some tens of MB."""


@dataclass(frozen=True, slots=True)
class PanelAggregate:
    """The verdicts of one panel on R responses by K criteria; nan means "not measured".

    Attributes:
        n_scored, n_planned: shape (R,), judgments scored and planned.
        share_abstained: (R,), abstentions over planned; nan where they were not handed in.
        composite: (R,), the mean over criteria of the panel means, unweighted.
        mean, median, trimmed_mean: (R, K), over the scored judgments.
        composite_median, composite_trimmed_mean: (R,), of the composites of the judgments.
        sd: (R, K), standard deviation between judges (a judge's repeats averaged first),
            divisor n - 1; nan with fewer than two judges.
        composite_sd: (R,), the same of the judges' composites.
        by_persona, by_model, by_axis: (R, P), (R, M), (R, A), mean composite of the scored
            judgments of each.
        axes: the A axis labels, in the order of `by_axis`.
        composite_low, composite_high, composite_df: (R,), interval of the composite.
        low, high, df: (R, K), intervals of the criterion means.
        interval_level: the confidence level of the intervals.
        interval_method: (R,), how the intervals of a response were made.
        composite_interval_reason, interval_reason: (R,) and (R, K), why there is none, or None.
        disagreement: (R,), "low", "moderate", "high", "split" or "undefined".
        inconclusive: (R,), whether fewer judgments were scored than the quorum demands.
        reason: (R,), why the response is inconclusive, or None.

    Below the quorum every panel location (composite, mean, median, trimmed mean, intervals) is
    nan; what was scored still stands in sd, by_persona, by_model, by_axis and disagreement.
    """

    n_scored: IntArray
    n_planned: IntArray
    share_abstained: FloatArray
    composite: FloatArray
    composite_median: FloatArray
    composite_trimmed_mean: FloatArray
    composite_sd: FloatArray
    composite_low: FloatArray
    composite_high: FloatArray
    composite_df: FloatArray
    composite_interval_reason: ObjectArray
    mean: FloatArray
    median: FloatArray
    trimmed_mean: FloatArray
    sd: FloatArray
    low: FloatArray
    high: FloatArray
    df: FloatArray
    interval_reason: ObjectArray
    interval_level: float
    interval_method: ObjectArray
    by_persona: FloatArray
    by_model: FloatArray
    by_axis: FloatArray
    axes: tuple[str, ...]
    disagreement: ObjectArray
    inconclusive: NDArray[np.bool_]
    reason: ObjectArray


def aggregate_panel(
    scores: ArrayLike,
    *,
    persona: ArrayLike,
    model: ArrayLike,
    axis: Sequence[str],
    scale: tuple[float, float],
    planned: int | ArrayLike,
    abstained: ArrayLike | None = None,
    quorum: float = 2 / 3,
    trim: float = 0.1,
    level: float = 0.95,
) -> PanelAggregate:
    """Returns the ensemble scores of a panel, one response a row.

    The mean is the paper's: every scored judgment counts once, so a model or persona with more
    scored judgments weighs more; by_persona and by_model show each alone. The trimmed mean drops
    floor(trim n) judgments at each end (none when n is small). The interval is that of
    `facet_intervals`, cut at the ends of the scale: personas and models are random facets, not
    independent raters.

    Args:
        scores: shape (R responses, J judgments, K criteria); nan where a judgment is not
            `scored`, in all its criteria or in none.
        persona: shape (J,), persona code of each judgment column, from 0.
        model: shape (J,), model code of each judgment column, from 0. Columns with the same
            pair are repeats of one judge.
        axis: J labels, such as "disciplinary" and "ideological".
        scale: lowest and highest score.
        planned: judgments planned, one number or shape (R,).
        abstained: shape (R,), judgments that found the response to decline the question.
        quorum: share of the planned judgments that must be scored, in [0, 1].
        trim: share dropped at each end by the trimmed mean, in [0, 0.5).
        level: confidence level of the intervals.

    Raises:
        InputError: shapes that do not fit, a score off the scale, a partly scored judgment, more
            judgments scored and abstained than planned, an option out of range; all together.
    """
    values = np.asarray(scores, dtype=np.float64)
    persona_of = np.asarray(persona)
    model_of = np.asarray(model)
    labels = tuple(str(label) for label in axis)
    check_panel(values, persona_of, model_of, labels, scale, quorum, trim, level)
    rows, _, criteria = values.shape
    n_planned = np.array(np.broadcast_to(np.asarray(planned, dtype=np.int64), (rows,)))

    columns = _columns_of(tuple(persona_of.tolist()), tuple(model_of.tolist()), labels)
    out = _empty(rows, criteria, columns)
    for start in range(0, rows, CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        _fill(out, part, values[part], columns, scale=scale, trim=trim, level=level)

    n_scored = out["n_scored"]
    n_abstained = np.zeros(rows) if abstained is None else np.asarray(abstained, dtype=np.float64)
    check_counts(n_scored, n_abstained, n_planned)
    # two thirds of 30 is 20 in floating point only by luck: a hair of slack
    inconclusive = (n_scored < quorum * n_planned - 1e-9) | (n_scored == 0)
    for name in ("composite", "median", "trimmed", "low", "high", "df"):
        out[name][inconclusive] = np.nan
    out["method"][inconclusive] = 0
    out["why"][inconclusive & (n_scored > 0)] = REASONS.index(BELOW_QUORUM)

    share = np.full(rows, np.nan)
    if abstained is not None:
        np.divide(n_abstained, n_planned, out=share, where=n_planned > 0)
    interval_reason = np.array(REASONS, dtype=object)[out["why"]]
    return PanelAggregate(
        n_scored=n_scored,
        n_planned=n_planned,
        share_abstained=share,
        composite=out["composite"][:, 0],
        composite_median=out["median"][:, 0],
        composite_trimmed_mean=out["trimmed"][:, 0],
        composite_sd=out["sd"][:, 0],
        composite_low=out["low"][:, 0],
        composite_high=out["high"][:, 0],
        composite_df=out["df"][:, 0],
        composite_interval_reason=interval_reason[:, 0],
        mean=out["composite"][:, 1:],
        median=out["median"][:, 1:],
        trimmed_mean=out["trimmed"][:, 1:],
        sd=out["sd"][:, 1:],
        low=out["low"][:, 1:],
        high=out["high"][:, 1:],
        df=out["df"][:, 1:],
        interval_reason=interval_reason[:, 1:],
        interval_level=level,
        interval_method=np.array(METHODS, dtype=object)[out["method"]],
        by_persona=out["by_persona"],
        by_model=out["by_model"],
        by_axis=out["by_axis"],
        axes=columns.axes,
        disagreement=out["disagreement"],
        inconclusive=inconclusive,
        reason=_quorum_reasons(n_scored, n_planned, inconclusive, quorum),
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which judgment column belongs to which persona, model, axis and cell."""

    to_persona: FloatArray
    to_model: FloatArray
    to_axis: FloatArray
    cells: tuple[IntArray, IntArray, FloatArray]
    cell_axis: FloatArray
    axes: tuple[str, ...]


@lru_cache(maxsize=32)
def _columns_of(
    persona: tuple[int, ...], model: tuple[int, ...], axis: tuple[str, ...]
) -> _Columns:
    """The columns of a panel: one and the same for every response, which may come one by one."""
    persona_of = np.array(persona, dtype=np.int64)
    model_of = np.array(model, dtype=np.int64)
    axes, axis_of = np.unique(np.array(axis), return_inverse=True)
    to_axis = indicator(np.asarray(axis_of, dtype=np.int64), len(axes))
    cells = cell_layout(persona_of, model_of)
    return _Columns(
        to_persona=indicator(persona_of, max(persona) + 1),
        to_model=indicator(model_of, max(model) + 1),
        to_axis=to_axis,
        cells=cells,
        cell_axis=np.asarray((cells[2].T @ to_axis) > 0, dtype=np.float64),
        axes=tuple(str(label) for label in axes),
    )


def _empty(rows: int, criteria: int, columns: _Columns) -> dict[str, Any]:
    wide = (rows, criteria + 1)  # column 0 is the composite
    out: dict[str, Any] = {
        name: np.full(wide, np.nan)
        for name in ("composite", "median", "trimmed", "sd", "low", "high", "df")
    }
    out["n_scored"] = np.zeros(rows, dtype=np.int64)
    out["why"] = np.zeros(wide, dtype=np.int8)
    out["method"] = np.zeros(rows, dtype=np.int8)
    out["disagreement"] = np.full(rows, None, dtype=object)
    for name in ("persona", "model", "axis"):
        levels = getattr(columns, f"to_{name}").shape[1]
        out[f"by_{name}"] = np.full((rows, levels), np.nan)
    return out


def _fill(
    out: dict[str, Any],
    part: slice,
    scores: FloatArray,
    columns: _Columns,
    *,
    scale: tuple[float, float],
    trim: float,
    level: float,
) -> None:
    """Writes the figures of one chunk of responses into the result arrays."""
    scored = np.isfinite(scores[:, :, 0])
    mask = scored.astype(np.float64)
    n = scored.sum(axis=1)
    # (responses, composite and criteria, judgments): sums and sorts then run along memory
    wide = np.empty((scores.shape[0], scores.shape[2] + 1, scores.shape[1]))
    wide[:, 1:] = np.swapaxes(scores, 1, 2)
    wide[:, 0] = scores.mean(axis=2)
    filled = np.where(scored[:, None, :], wide, 0.0)

    out["n_scored"][part] = n
    out["composite"][part] = ratio(filled.sum(axis=2), n[:, None])
    _order_statistics(out, part, wide, n, trim)
    for name, to_level in (
        ("by_persona", columns.to_persona),
        ("by_model", columns.to_model),
        ("by_axis", columns.to_axis),
    ):
        out[name][part] = ratio(filled[:, 0] @ to_level, mask @ to_level)

    cell_persona, cell_model, to_cell = columns.cells
    counts = mask @ to_cell
    cells = cell_means(filled, mask, to_cell)
    present = counts > 0
    judges = present.sum(axis=1)
    centre = ratio((cells * present[:, None, :]).sum(axis=2), judges[:, None])
    deviations = np.where(present[:, None, :], cells - centre[:, :, None], 0.0)
    squares = np.einsum("rkc,rkc->rk", deviations, deviations)
    out["sd"][part] = np.sqrt(ratio(squares, judges[:, None] - 1))

    interval = facet_intervals(cells, counts, cell_persona, cell_model, level=level)
    out["low"][part], out["high"][part] = (
        np.clip(i, *scale) for i in (interval.low, interval.high)
    )
    out["df"][part] = interval.df
    out["method"][part] = interval.method
    out["why"][part] = interval.reason
    out["disagreement"][part] = disagreement_labels(
        cells[:, 0],
        present,
        columns.cell_axis,
        width=scale[1] - scale[0],
    )


def _order_statistics(
    out: dict[str, Any], part: slice, wide: FloatArray, n: IntArray, trim: float
) -> None:
    """Writes median and trimmed mean; sorting puts the missing ones (nan) last."""
    ordered = np.sort(wide, axis=2)
    last = np.maximum(n, 1)
    lower = np.take_along_axis(ordered, ((last - 1) // 2)[:, None, None], axis=2)
    upper = np.take_along_axis(ordered, (last // 2)[:, None, None], axis=2)
    out["median"][part] = ((lower + upper) / 2)[:, :, 0]

    cut = np.floor(trim * n + 1e-9).astype(np.int64)
    place = np.arange(wide.shape[2])[None, :]
    kept = (place >= cut[:, None]) & (place < (n - cut)[:, None])
    total = np.einsum("rkj,rj->rk", np.nan_to_num(ordered), kept.astype(np.float64))
    out["trimmed"][part] = ratio(total, (n - 2 * cut)[:, None])


def _quorum_reasons(
    n_scored: IntArray, n_planned: IntArray, inconclusive: NDArray[np.bool_], quorum: float
) -> ObjectArray:
    reasons = np.full(len(n_scored), None, dtype=object)
    for row in np.flatnonzero(inconclusive):
        scored, planned = int(n_scored[row]), int(n_planned[row])
        reasons[row] = (
            f"{NOTHING_SCORED} of {planned} planned"
            if scored == 0
            else f"{scored} of {planned} planned judgments scored, below the quorum of {quorum:.0%}"
        )
    return reasons
