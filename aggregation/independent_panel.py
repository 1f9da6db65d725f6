"""What a panel's worth in judgments comes out as where its judges are independent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .effective_judges import effective_judges_from_components
from .generalizability import RESIDUAL, panel_design, panel_g_study
from .henderson import henderson_of_many

Floats = npt.NDArray[np.float64]

DRAWS: Final = 200

SHARED: Final = ("rP", "rM", "rPM")
"""Components by which judgments of one response err alike."""


@dataclass(frozen=True, slots=True)
class IndependentWorth:
    """The null of `effective_judges_from_components`.

    Attributes:
        low, median, high: 2.5%, 50% and 97.5% of the worth of panels without shared errors.
        draws: panels that came out with a worth.
        reason: why there is none, or None.
    """

    low: float
    median: float
    high: float
    draws: int
    reason: str | None = None


def independent_worth(
    scores: npt.ArrayLike,
    *,
    prompt: Sequence[Any] | npt.NDArray[Any],
    components: Mapping[str, float] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> IndependentWorth:
    """Returns what so many independent judges come out as on such data.

    Panels are drawn with the same cells missing, the same variances of prompts, responses and
    severities, and the same variance of a single judgment's error, of which nothing is shared:
    s2_rP + s2_rM + s2_rPM + s2_e all fall to the residual. Each is put through Henderson's method
    I as the panel was. A panel inside the limits is not shown to share errors; the upper limit is
    mostly the panel's size, since estimates below 0 count as 0.

    Measured at 9 prompts of six responses, four personas and three models, 15% missing
    (benchmarks/simulate_panel_size.py, 700 panels of independent judges): .023 of them below the
    lower limit, nominal .025 (Monte Carlo error .006).

    Args:
        scores: shape (R, P, M) or (R, P, M, repeats), nan where missing.
        prompt: R prompt ids.
        components: of `panel_g_study`, where they are known already.
        draws: panels drawn.
        seed: of the draws.

    Raises:
        ValueError: as `panel_g_study`, or draws below 1.

    """
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
    table = np.asarray(scores, dtype=np.float64)
    if components is None:
        components = panel_g_study(table, prompt=prompt, jackknife=False).components
    y, codes, _, _ = panel_design(table, prompt)
    found = {name: max(float(value), 0.0) for name, value in components.items()}
    error = sum(found.get(name, 0.0) for name in (*SHARED, RESIDUAL))
    nan = math.nan
    if any(math.isnan(value) for value in components.values()) or not error > 0:
        return IndependentWorth(nan, nan, nan, 0, "no component of error is known and positive")
    rng = np.random.default_rng(seed)
    kept = [(code, found.get(name, 0.0)) for name, code in codes.items() if name not in SHARED]

    def panels() -> Iterator[Floats]:
        for _ in range(draws):
            drawn: Floats = rng.normal(scale=math.sqrt(error), size=len(y))
            for code, variance in kept:
                if variance > 0:
                    levels = int(code.max()) + 1
                    drawn += rng.normal(scale=math.sqrt(variance), size=levels)[code]
            yield drawn

    estimates = henderson_of_many(panels(), list(codes.values()), n=len(y))
    personas, models = table.shape[1], table.shape[2]
    repeats = table.shape[3] if table.ndim == 4 else 1
    worths = np.array(
        [
            effective_judges_from_components(
                dict(zip([*codes, RESIDUAL], row, strict=True)),
                personas=personas, models=models, repeats=repeats,
            )
            for row in estimates.tolist()
        ]
    )  # fmt: skip
    known = np.sort(worths[np.isfinite(worths)])
    if not len(known):
        return IndependentWorth(nan, nan, nan, 0, "no panel drawn has a worth")
    low, median, high = np.quantile(known, [0.025, 0.5, 0.975])
    return IndependentWorth(float(low), float(median), float(high), len(known))
