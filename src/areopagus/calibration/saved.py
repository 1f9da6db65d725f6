"""`load`: what a calibration's folder keeps for later runs of the same panel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..records.estimates import estimate_at, estimates_by, select
from ..records.run_folder import RUN_FILE
from .calibration import Calibration, CalibrationRun
from .corrections import ADOPTED

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class SavedCalibration:
    """What a calibration has to correct a later run with.

    Attributes:
        panel: what makes the panel this panel.
        criterion: the panel's criterion that was calibrated; None for its composite.
        weights: judge to weight; empty unless a fitted weighting was earned.
        map_name, map_x, map_y: the earned map and its knots; none for "as is".
        severities: judge to points above the panel, where its interval leaves out 0.
        half_width: of the conformal interval around a calibrated score; nan where there is none.
        judge_scores: of the calibrated responses, a row a response and judge.
        people: people's ratings on the panel's criterion, and the responses nobody rated; see
            `Calibration.people_scores`. None where the calibration keeps none.
        level_criterion: the panel's criterion beside these ratings; None for its composite.
        rated: how the rated prompts were taken, "random" or "chosen"; None where nobody said.
        level: nominal coverage.
    """

    panel: Mapping[str, Any]
    criterion: str | None
    weights: Mapping[str, float]
    map_name: str
    map_x: tuple[float, ...]
    map_y: tuple[float, ...]
    severities: Mapping[str, float]
    half_width: float
    judge_scores: pd.DataFrame
    people: pd.DataFrame | None = None
    level_criterion: str | None = None
    rated: str | None = None
    level: float = 0.95

    @property
    def earned(self) -> list[str]:
        """What there is to correct with, in the order in which it is applied."""
        found = ["severities"] if self.severities else []
        found += ["weights"] if self.weights else []
        return found + ([self.map_name] if self.map_x else [])


def load(calibration: Calibration | CalibrationRun | str | Path) -> SavedCalibration:
    """Returns what a calibration has to correct with.

    Args:
        calibration: itself or its folder.

    Raises:
        InputError: it cannot be read, is something else, or is from a later version; or people and
            panel shared no criterion.
    """
    if isinstance(calibration, str | Path):
        path = Path(calibration)
        calibration = CalibrationRun(path.parent if path.name == RUN_FILE else path)
    record, estimates = calibration.record, calibration.estimates
    target, levels = record["target"], record["levels"]
    if target is None:
        raise InputError("people and panel share no criterion: there is nothing to apply")
    # map and width belong to the criterion that they were fitted on
    is_alike = levels is not None and levels["of_panel"] == target["of_panel"]
    weights = estimates[(estimates["table"] == "weights") & (estimates["verdict"] == ADOPTED)]
    is_fitted = bool(len(weights)) and weights.iloc[0]["group"] != "equal"
    of_judges = select(estimates, "judge weights")
    knots = select(estimates, "map knots") if is_alike else select(estimates, "")
    width = estimate_at(estimates, "conformal", "half_width")
    severities = {
        str(keys["group"]): found["severity"].value
        for keys, found in estimates_by(select(estimates, "judges", factor="judge"), ["group"])
        if found["severity"].has_interval and not found["severity"].covers(0.0)
    }
    return SavedCalibration(
        panel=record["panel"],
        criterion=target["of_panel"],
        weights=dict(zip(of_judges["group"], of_judges["value"], strict=True)) if is_fitted else {},
        map_name=str(knots["group"].iloc[0]) if len(knots) else "as is",
        map_x=tuple(knots.loc[knots["measure"] == "x", "value"].tolist()),
        map_y=tuple(knots.loc[knots["measure"] == "y", "value"].tolist()),
        severities=severities,
        half_width=width.value if width is not None and is_alike else math.nan,
        judge_scores=calibration.judge_scores,
        people=calibration.people_scores,
        level_criterion=levels["of_panel"] if levels is not None else None,
        rated=record["config"].get("rated"),
        level=record["config"]["level"],
    )
