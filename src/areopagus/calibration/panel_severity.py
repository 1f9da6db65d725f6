"""Severity of personas and of models, taken apart: fitted together on the panel's own scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate
from ..aggregation.severity import severity_parts
from .leave_out import jackknife
from .panel_scores import PanelScores

Floats = npt.NDArray[np.float64]

Kind = Literal["persona", "model"]

METHOD = "least squares, score = response + persona + model"


@dataclass(frozen=True, slots=True)
class SeverityPart:
    """One persona's or model's points above (lenient) or below (harsh) the others' mean."""

    kind: Kind
    name: str
    severity: Estimate


@dataclass(frozen=True, slots=True)
class PanelSeverity:
    """The severity of judges as that of their persona plus that of their model.

    Attributes:
        parts: personas, then models; none where the panel has one persona and one model.
        reason: why there are none, or None.
    """

    parts: tuple[SeverityPart, ...]
    reason: str | None


def panel_severity(
    panel: PanelScores,
    criterion: str | None,
    prompt: npt.NDArray[np.int64],
    *,
    level: float = 0.95,
) -> PanelSeverity:
    """Returns the severities of personas and models, freed from each other.

    With every judge on every response they are differences of means; where judges are missing,
    a persona is not called harsh because harsh models spoke for it. Intervals are jackknife over
    prompts: they hold for these personas and models.

    Args:
        panel: the judgments.
        criterion: one of the panel's; None for the mean over its criteria.
        prompt: prompt code of each response.
        level: nominal coverage.
    """
    P, M, _ = panel.shape
    if P < 2 and M < 2:
        return PanelSeverity((), "one persona and one model: there is nothing to take apart")
    fit = severity_parts(panel.by_judge(criterion), prompt=prompt)
    if fit.reason:
        return PanelSeverity((), fit.reason)
    sides: tuple[tuple[Kind, tuple[str, ...], Floats, Floats], ...] = (
        ("persona", panel.personas, fit.persona, fit.persona_left_out),
        ("model", panel.models, fit.model, fit.model_left_out),
    )
    parts = [
        SeverityPart(
            kind,
            name,
            jackknife(value, without, n=fit.n_prompts, method=METHOD, level=level),
        )
        for kind, names, values, left_out in sides
        if len(names) > 1
        for name, value, without in zip(names, values.tolist(), left_out.T, strict=True)
    ]
    return PanelSeverity(tuple(parts), None)
