"""How many independent judges a panel is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from .decision_study import (
    Layout,
    crossed_layout,
    is_replicated,
    target_of,
)
from .design import Target
from .estimate import Estimate, undefined
from .generalizability import RESIDUAL, GStudy
from .jackknife import jackknife

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def effective_judges_from_components(
    components: GStudy | Mapping[str, float], *, personas: int, models: int, repeats: int = 1
) -> float:
    """Returns how many independent single judgments a panel is worth, from a G-study.

    n_eff = (s2_rP + s2_rM + s2_rPM + s2_e) / (relative error of the panel mean): errors of
    responses to one prompt; of a study with one response a prompt, errors of responses wherever
    they stand, with qP and qM in place of rP and rM. nan where no component of error is positive.

    Raises:
        ValueError: as `d_study`.

    Source: the ratio of design effects, Kish (1965), Survey Sampling, ch. 8, on the components of
    Brennan (2001), Generalizability Theory.
    """
    if min(personas, models, repeats) < 1:
        raise ValueError(
            f"personas, models and repeats must be at least 1, got {personas}, {models}, {repeats}"
        )
    layout = crossed_layout(
        personas, models, repeats,
        target=target_of(components), is_replicated=is_replicated(components),
    )  # fmt: skip
    return worth_of_layout(components, layout)


def worth_of_layout(components: GStudy | Mapping[str, float], layout: Layout) -> float:
    """Returns the worth of the judgments of a layout: `layout_of` those that were really scored.

    The error of one judgment over that of the mean, of what does not cancel between the responses
    that are compared. Where judges differ from response to response, in a rotation, that is also
    how harsh each is. nan where no component of error is positive; negative ones count as 0.

    Raises:
        ValueError: an undefined component.
    """
    given = components.components if isinstance(components, GStudy) else components
    s2 = {name: max(float(value), 0.0) for name, value in given.items()}
    if any(math.isnan(value) for value in given.values()):
        raise ValueError("a worth needs defined components, got nan")
    mean = layout.relative_error(s2)
    # never more than were given: what cancels is rounded apart from what does not
    return min(layout.error_of_one(s2) / mean, layout.judgments) if mean > 0 else math.nan


MOST_SEVERITY: Final = 0.05
"""Share of the error that personas and models may make by their severities, for an interval."""

SHARED: Final[Mapping[Target, tuple[str, ...]]] = {
    "response_within_prompt": ("rP", "rM", "rPM"),
    "response": ("qP", "qM", "rP", "rM", "rPM"),
}
"""Components by which judgments of one response err alike, by what is told apart."""


def worth_of_components(study: GStudy, layout: Layout, n_prompts: int, level: float) -> Estimate:
    """Returns the worth of a panel, with an interval from components as they were estimated.

    A negative estimate counts as 0 in the worth itself. In the interval it keeps its sign: cut at
    0 the worth would be the panel's size without every prompt alike, and seem to be known exactly.
    There is none where the severity of judges who differ from response to response makes more than
    `MOST_SEVERITY` of the error, as it does of plain means in a rotation.

    Measured coverage of the 95% interval (benchmarks/simulate_panel_size.py, four personas and
    three models, 15% missing, means of the additive fit, worth 5.6 of 12): .975, .953, .968 at 9,
    26, 100 prompts (400 worlds, Monte Carlo error .008 to .011); of independent judges .940, .970
    at 9, 26 prompts (100 worlds, .024). By benchmarks/simulate_designs.py: one response a prompt
    .950 (60 worlds, .028); six of thirty judges a response .975, the same with one response .950
    (200 worlds, .015). Where one of three models fell out after a third it is too short: .880
    (.023).

    Args:
        study: of `panel_g_study`.
        layout: `layout_of` the same scores, or `crossed_layout` of a panel.
        n_prompts: of the study.
        level: nominal coverage.
    """
    method = "variance of one judgment's error over that of the panel mean, on the logarithm"
    size = layout.judgments
    if not set(SHARED[layout.target]) & set(study.components):
        shape = "one judge" if round(size) == 1 else "with one model, or one persona,"
        return undefined(
            f"{shape} what judges share does not show in their scores", unit="prompt", method=method
        )
    found = worth_of_layout(study, layout)
    if not found > 0:
        return undefined("no component of error is positive", unit="prompt", method=method)
    s2 = {name: max(value, 0.0) for name, value in study.components.items()}
    severity = {name: value for name, value in s2.items() if name in ("P", "M", "PM")}
    if layout.relative_error(severity) > MOST_SEVERITY * layout.relative_error(s2):
        return Estimate(
            found, n=n_prompts, unit="prompt", method=method,
            reason="no interval: how harsh each judge is does not cancel between responses with "
            "other judges, and prompts do not show how much that varies",
        )  # fmt: skip
    signed = _signed_worth(study.components, layout)
    left_out = np.array([_signed_worth(components, layout) for components in study.left_out])
    counted = (*SHARED[layout.target], RESIDUAL)
    negative = [name for name in study.negative if name in counted]
    if negative:
        method += f"; in the interval negative components ({', '.join(negative)}) keep their sign"
    number = jackknife(signed, left_out, n=n_prompts, method=method, level=level)
    if not number.has_interval:
        reason = number.reason
        is_whole = not any(math.isnan(v) for parts in study.left_out for v in parts.values())
        if math.isnan(signed) or (is_whole and np.isnan(left_out).any()):
            reason = "no interval: components of error below 0 outweigh the others"
        return replace(number, value=found, reason=reason)
    # A panel is worth at least one judgment and at most as many as it gives.
    return replace(
        number,
        value=found,
        low=min(max(math.exp(number.low), 1.0), found),
        high=max(min(math.exp(min(number.high, 700.0)), size), found),
    )


def _signed_worth(components: Mapping[str, float], layout: Layout) -> float:
    """The logarithm of the worth, components as estimated; nan where a variance is not positive."""
    one, mean = layout.error_of_one(components), layout.relative_error(components)
    return math.log(one / mean) if one > 0 and mean > 0 else math.nan
