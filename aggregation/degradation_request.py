"""What a stress test's arrays and options must be, checked before anything is computed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt

from ..errors import InputError, InputFault
from .measured_cells import FamilyScope
from .noise_floor import NoiseFloor
from .prompt_means import Floats


@dataclass(frozen=True, slots=True)
class StressArrays:
    """Scores, top shares and abstentions with the names of their axes, as in `degradation`."""

    scores: Floats
    targets: tuple[str, ...]
    conditions: tuple[str, ...]
    dimensions: tuple[str, ...]
    top_share: Floats | None
    abstained: Floats | None


def stress_arrays(
    scores: npt.ArrayLike,
    targets: Sequence[str],
    conditions: Sequence[str],
    dimensions: Sequence[str],
    top_share: npt.ArrayLike | None,
    abstained: npt.ArrayLike | None,
) -> StressArrays:
    """Returns the arguments as arrays and tuples, unchecked."""
    return StressArrays(
        np.asarray(scores, dtype=np.float64),
        tuple(targets),
        tuple(conditions),
        tuple(dimensions),
        None if top_share is None else np.asarray(top_share, dtype=np.float64),
        None if abstained is None else np.asarray(abstained, dtype=np.float64),
    )


def check_stress(
    arrays: StressArrays,
    *,
    baseline: str,
    margin: float,
    alpha: float,
    scale: tuple[float, float],
    response_repeats: int,
    family: str,
    flips: int,
    noise: Mapping[str, tuple[NoiseFloor | None, NoiseFloor | None]],
) -> None:
    """Raises InputError naming every argument of `degradation` that does not fit."""
    found = [
        *_array_faults(arrays, baseline, scale),
        *_option_faults(margin, alpha, response_repeats, family, flips),
        *_noise_faults(arrays.dimensions, noise),
    ]
    if found:
        faults = [InputFault(where="degradation", field=one, message=text) for one, text in found]
        raise InputError(faults)


def _array_faults(
    arrays: StressArrays, baseline: str, scale: tuple[float, float]
) -> list[tuple[str, str]]:
    found = []
    for field, names in (
        ("targets", arrays.targets),
        ("conditions", arrays.conditions),
        ("dimensions", arrays.dimensions),
    ):
        if not names or len(set(names)) < len(names):
            listed = ", ".join(names) or "none"
            found.append((field, f"must be one or more different names, got {listed}"))
    if baseline not in arrays.conditions:
        found.append(("baseline", f"must be one of the conditions, got {baseline!r}"))
    elif len(arrays.conditions) < 2:
        found.append(("conditions", "must hold the baseline and at least one more"))
    shape = arrays.scores.shape
    t, c, d = len(arrays.targets), len(arrays.conditions), len(arrays.dimensions)
    if len(shape) != 4 or (shape[0], shape[1], shape[3]) != (t, c, d) or shape[2] < 1:
        wanted = f"({t} targets, {c} conditions, prompts, {d} dimensions)"
        found.append(("scores", f"must have shape {wanted}, got {shape}"))
    if not scale[0] < scale[1]:
        found.append(("scale", f"must rise, got {scale[0]:g} to {scale[1]:g}"))
    elif not _within(arrays.scores, *scale):
        found.append(("scores", f"must be nan or in {scale[0]:g} to {scale[1]:g}"))
    if arrays.top_share is not None and not (
        arrays.top_share.shape == shape and _within(arrays.top_share, 0, 1)
    ):
        found.append(("top_share", f"must be nan or in 0 to 1, of shape {shape}"))
    if arrays.abstained is not None:
        flags = arrays.abstained[~np.isnan(arrays.abstained)]
        if arrays.abstained.shape != shape[:3] or not np.isin(flags, (0, 1)).all():
            found.append(("abstained", f"must be 0, 1 or nan, of shape {shape[:3]}"))
    return found


def _option_faults(
    margin: float, alpha: float, response_repeats: int, family: str, flips: int
) -> list[tuple[str, str]]:
    found = []
    if not (margin > 0 and math.isfinite(margin)):
        found.append(("margin", f"must be above 0, got {margin}"))
    if not 0 < alpha < 0.5:
        found.append(("alpha", f"must be above 0 and below 0.5, got {alpha}"))
    if response_repeats < 1:
        found.append(("response_repeats", f"must be at least 1, got {response_repeats}"))
    if family not in get_args(FamilyScope):
        allowed = ", ".join(get_args(FamilyScope))
        found.append(("family", f"must be one of {allowed}, got {family!r}"))
    if flips < 1:
        found.append(("flips", f"must be at least 1, got {flips}"))
    return found


def _noise_faults(
    dimensions: tuple[str, ...], noise: Mapping[str, tuple[NoiseFloor | None, NoiseFloor | None]]
) -> list[tuple[str, str]]:
    found = []
    for target, floors in noise.items():
        for field, source, floor in zip(
            ("noise", "response_noise"), ("re-asked", "re-generated"), floors, strict=True
        ):
            if floor is None:
                continue
            if floor.source != source:
                found.append((field, f"must be of {source} responses, got {floor.source}"))
            held = {component.dimension for component in floor.components}
            if missing := [name for name in (*dimensions, None) if name not in held]:
                listed = ", ".join(name or "the mean over dimensions" for name in missing)
                found.append((field, f"must hold every dimension, lacks {listed} for {target}"))
    return list(dict.fromkeys(found))


def _within(values: Floats, low: float, high: float) -> bool:
    known = values[~np.isnan(values)]
    # Means of many judgments may pass an end by rounding.
    return not known.size or bool(known.min() >= low - 1e-9 and known.max() <= high + 1e-9)
