"""How far panel scores move when nothing has changed but the asking."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy import special

NoiseSource = Literal["re-asked", "re-generated"]

FEWEST_PAIRS = 5
"""Repeated responses below which no noise floor is given; with five, the upper bound of the
standard deviation is 2.4 times the estimate."""


@dataclass(frozen=True, slots=True)
class NoiseComponent:
    """The noise of one dimension's panel means; `dimension` None is their mean over dimensions.

    Attributes:
        retest_sd: s = sd(again − first) / sqrt 2, in points; nan when not measured.
        upper: one-sided upper bound of s at the level, by chi-square; nan when not measured.
        shift: mean of again − first: repeats that drift are no mere noise.
        sdc_prompt: 1.96 sqrt 2 s, the delta of one prompt that noise stays below 95 times in 100.
        n: repeated responses with both panel means.
        level: of bound and SDC.
        reason: why it was not measured, or None.
    """

    dimension: str | None
    retest_sd: float
    upper: float
    shift: float
    sdc_prompt: float
    n: int
    level: float
    reason: str | None = None

    def sdc(self, n_prompts: int, *, repeats: int = 1) -> float:
        """Returns the smallest detectable change of a mean delta over prompts, in points.

        z sqrt 2 s / sqrt(prompts x repeats): the panel means are repeated whole, so neither the
        number of judges nor how far their noise is shared has to be known.

        Args:
            n_prompts: prompts averaged.
            repeats: responses to a prompt averaged in each score.

        Returns:
            nan when the noise was not measured, or without prompts.
        """
        if n_prompts < 1:
            return math.nan
        return smallest_detectable_change(
            self.retest_sd, 1, repeats=repeats, n_prompts=n_prompts, level=self.level
        )


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """The noise of panel means, by dimension.

    Attributes:
        source: what was repeated: "re-asked" (the panel) or "re-generated" (the response).
        components: one a dimension, then their mean (dimension None).
    """

    source: NoiseSource
    components: tuple[NoiseComponent, ...]

    def of(self, dimension: str | None) -> NoiseComponent:
        """Returns the component of a dimension, None being the mean over dimensions.

        Raises:
            KeyError: no such dimension.
        """
        for component in self.components:
            if component.dimension == dimension:
                return component
        raise KeyError(dimension)


def noise_floor(
    first: npt.ArrayLike,
    again: npt.ArrayLike,
    *,
    dimensions: Sequence[str],
    source: NoiseSource = "re-asked",
    level: float = 0.95,
) -> NoiseFloor:
    """Returns the retest standard deviation of panel means, by dimension and of their mean.

    s = sd(again − first) / sqrt 2 over responses scored twice; upper bound
    s sqrt((n − 1) / χ²_{1 − level, n − 1}). With source "re-asked" the same responses are judged
    again; with "re-generated" the target answered the same prompts again, so that s holds the
    noise of responses and of judges together. The two are kept apart: more judges shrink only the
    first. Take one pair a response: pairs that share a score are not independent.

    Measured (benchmarks/simulate.py retest-noise, 10 responses re-asked, 2,000 worlds): the bound
    holds the true s in .955 ± .005.

    Args:
        first: shape (responses, dimensions), panel means; nan is not measured.
        again: likewise, of the same responses asked again.
        dimensions: names of the columns.
        source: "re-asked" or "re-generated".
        level: of the bound and of the SDC.

    Returns:
        Not measured, with the reason, below five pairs, or where every repeat gave the same
        panel mean: a deterministic judge, temperature 0 or a cache repeats itself, which says
        nothing about noise.

    Raises:
        ValueError: shapes that do not fit, an unknown source, or level outside (0, 1).
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(again, dtype=np.float64)
    if a.ndim != 2 or a.shape != b.shape or a.shape[1] != len(dimensions):
        raise ValueError(
            f"first and again must be (responses, {len(dimensions)}), got {a.shape} and {b.shape}"
        )
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    if source not in get_args(NoiseSource):
        allowed = ", ".join(get_args(NoiseSource))
        raise ValueError(f"source must be one of {allowed}, got {source!r}")
    difference = b - a
    columns = [(name, difference[:, k]) for k, name in enumerate(dimensions)]
    # A response lacking a dimension has no mean over dimensions.
    whole = difference.mean(axis=1) if len(dimensions) else np.full(len(a), np.nan)
    return NoiseFloor(
        source,
        tuple(
            _component(name, values, source, level) for name, values in [*columns, (None, whole)]
        ),
    )


def _component(
    dimension: str | None, differences: npt.NDArray[np.float64], source: NoiseSource, level: float
) -> NoiseComponent:
    known = differences[~np.isnan(differences)]
    n = int(known.size)
    shift = float(known.mean()) if n else math.nan
    reason = None
    if n < FEWEST_PAIRS:
        reason = f"{n} responses {source}: the noise floor needs at least {FEWEST_PAIRS}"
    elif np.ptp(known) <= 1e-12:
        what = "scored exactly the same" if abs(known[0]) <= 1e-12 else "moved by the same amount"
        reason = (
            f"all {n} responses {source} {what}: a deterministic judge or a cache repeats itself "
            "and shows no noise"
        )
    if reason:
        nan = math.nan
        return NoiseComponent(dimension, nan, nan, shift, nan, n, level, reason)
    spread = float(known.std(ddof=1)) / math.sqrt(2)
    # chdtri takes the upper tail, so this is the (1 − level) quantile.
    upper = spread * math.sqrt((n - 1) / float(special.chdtri(n - 1, level)))
    return NoiseComponent(
        dimension, spread, upper, shift,
        smallest_detectable_change(spread, 1, level=level), n, level,
    )  # fmt: skip


def smallest_detectable_change(
    retest_sd: float, n_judges: int, *, repeats: int = 1, n_prompts: int = 1, level: float = 0.95
) -> float:
    """Returns the change of a panel mean that re-asking alone stays below with probability level.

    z sqrt(2) s / sqrt(judges x repeats x prompts). Too small where re-ask noise is shared between
    judges, and meaningless where repeats came from a cache or at temperature 0.

    Args:
        retest_sd: standard deviation of one judge's repeated scores of one response.
        n_judges: judges averaged.
        repeats: askings of each judge averaged.
        n_prompts: prompts averaged.
        level: two-sided, in (0, 1).

    Raises:
        ValueError: an argument outside its range.
    """
    if not (retest_sd >= 0 or math.isnan(retest_sd)) or min(n_judges, repeats, n_prompts) < 1:
        raise ValueError("retest_sd must be at least 0, and every count at least 1")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    z = float(special.ndtri((1 + level) / 2))
    return z * math.sqrt(2) * retest_sd / math.sqrt(n_judges * repeats * n_prompts)
