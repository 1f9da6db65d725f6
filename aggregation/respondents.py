"""Scores of respondents and of a whole run, with the prompt as the unit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .estimate import Estimate
from .intervals import MIN_UNITS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

NO_VALUES: Final = "no response was scored"
TOO_FEW_PROMPTS: Final = f"fewer than {MIN_UNITS} prompts"
NO_VARIATION: Final = "the prompt means do not vary"


@dataclass(frozen=True, slots=True)
class PromptUnitMeans:
    """Means of one respondent, or of the run, on K columns.

    Attributes:
        label: the respondent, or "run".
        n_responses: responses handed in.
        n_scored: of each column, responses with a value.
        means: of each column, the mean over prompts of the mean over the responses to a prompt,
            with its t interval; n counts the prompts with a value.
    """

    label: str
    n_responses: int
    n_scored: tuple[int, ...]
    means: tuple[Estimate, ...]


def by_prompt_unit(
    values: ArrayLike,
    prompt: Sequence[Any] | NDArray[Any],
    respondent: Sequence[Any] | NDArray[Any],
    *,
    level: float = 0.95,
) -> tuple[tuple[PromptUnitMeans, ...], PromptUnitMeans]:
    """Returns each respondent's means, sorted, and those of the run, with prompts as the unit.

    Responses to one prompt share what the prompt brings, so they are averaged first; the prompt
    means are then the n independent observations: mean ± t_{n-1} sd / sqrt(n). The run's own row
    does the same over all responses to a prompt, whoever wrote them. An interval speaks of other
    prompts of this kind, given this panel.

    Measured coverage of the 95% interval with three responses a prompt (Monte Carlo error
    .002; benchmarks/simulate_calibration.py repeats it): normal prompt effects .951, .950, .950,
    .952 with 6, 9, 26, 100 prompts; exponential (skewed) ones .930, .935, .939, .949.

    Args:
        values: shape (R,) or (R, K), such as composite and criterion means; nan where a
            response was not scored or is inconclusive.
        prompt: R prompt ids.
        respondent: R respondent ids.
        level: confidence level, in (0, 1).

    Returns:
        With fewer than six prompts, or prompt means that do not vary, there are no limits, with the
        reason; a column without any value has a nan mean.

    Raises:
        ValueError: shapes that do not fit, infinite values, or a level outside (0, 1).
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or not len(table) == len(prompt) == len(respondent):
        raise ValueError(
            "values must have one row, one prompt and one respondent a response, got "
            f"{table.shape}, {len(prompt)}, {len(respondent)}"
        )
    if np.isinf(table).any():
        raise ValueError("values must be finite or nan")
    if not 0 < level < 1:
        raise ValueError(f"level must be above 0 and below 1, got {level}")
    _, prompt_code = np.unique(np.asarray(prompt, dtype=str), return_inverse=True)
    names, respondent_code = np.unique(np.asarray(respondent, dtype=str), return_inverse=True)
    labels = [str(name) for name in names]
    everyone = np.zeros(len(table), dtype=np.int64)
    (run,) = _means(table, prompt_code, everyone, ["run"], level)
    return tuple(_means(table, prompt_code, respondent_code, labels, level)), run


def _means(
    values: FloatArray,
    prompt: NDArray[np.intp] | IntArray,
    unit: NDArray[np.intp] | IntArray,
    labels: Sequence[str],
    level: float,
) -> Iterator[PromptUnitMeans]:
    from scipy.special import stdtrit

    units, columns = len(labels), values.shape[1]
    prompts = int(prompt.max()) + 1 if len(prompt) else 1
    pair, position = np.unique(unit * prompts + prompt, return_inverse=True)
    pair_unit = (pair // prompts).astype(np.int64)
    n_scored = np.zeros((units, columns), dtype=np.int64)
    n = np.zeros((units, columns), dtype=np.int64)
    mean, deviation = np.full((2, units, columns), np.nan)
    for k in range(columns):
        known = np.isfinite(values[:, k])
        n_scored[:, k] = np.bincount(unit[known], minlength=units)
        count = np.bincount(position[known], minlength=len(pair))
        total = np.bincount(position[known], weights=values[known, k], minlength=len(pair))
        has = count > 0
        cell, owner = total[has] / count[has], pair_unit[has]
        n[:, k] = np.bincount(owner, minlength=units)
        summed = np.bincount(owner, weights=cell, minlength=units)
        np.divide(summed, n[:, k], out=mean[:, k], where=n[:, k] > 0)
        squares = np.bincount(owner, weights=(cell - mean[owner, k]) ** 2, minlength=units)
        np.divide(squares, n[:, k] - 1, out=deviation[:, k], where=n[:, k] > 1)
    deviation = np.sqrt(deviation)
    error = deviation / np.sqrt(np.maximum(n, 1))
    # equal prompt means leave a rounding residue, which is no variation
    varies = deviation > 1e-12 * np.maximum(1.0, np.abs(np.nan_to_num(mean)))
    given = varies & (n >= MIN_UNITS)
    half = np.full(mean.shape, np.nan)
    half[given] = stdtrit(n[given] - 1.0, (1 + level) / 2) * error[given]

    def why(of: int, has_interval: bool) -> str | None:
        if has_interval:
            return None
        return NO_VALUES if not of else TOO_FEW_PROMPTS if of < MIN_UNITS else NO_VARIATION

    columns_of = (mean, mean - half, mean + half, error, n, given)
    for row in zip(
        labels, np.bincount(unit, minlength=units).tolist(), n_scored.tolist(),
        *(one.tolist() for one in columns_of), strict=True,
    ):  # fmt: skip
        label, n_responses, scored, *figures = row
        yield PromptUnitMeans(
            label,
            n_responses,
            tuple(scored),
            tuple(
                Estimate(value, low, high, of, "prompt", "t", level, why(of, has), se=se)
                for value, low, high, se, of, has in zip(*figures, strict=True)
            ),
        )
