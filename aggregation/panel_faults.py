"""What can be wrong with the arguments of the panel's aggregation, found all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, InputFault

FloatArray = NDArray[np.float64]
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
