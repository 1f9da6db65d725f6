"""The page of a stress test, from its folder alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ..aggregation.degradation import Degradation
from ..aggregation.noise_floor import NoiseComponent, NoiseFloor
from ..aggregation.vulnerability import Finding
from ..experiment.cost_cap import cap_notices
from ..rebuilt import rebuilt
from ..records.run_folder import FIGURES_FOLDER
from .measure import StressFigures
from .page import StressPage
from .plan import StressPlan
from .run import StressRun
from .table import ConditionCounts


def stress_page_of(folder: Path) -> StressPage:
    """What stress.json holds, and where the pictures lie.

    Raises:
        InputError: the folder holds no stress test, or one that has not come so far.
        ValueError: stress.json is not what this version writes.
    """
    run = StressRun(folder)
    plain = run.figures
    return StressPage(
        figures=_figures(plain),
        plan=rebuilt(StressPlan, plain["plan"]),
        judges=str(plain["judges"]),
        is_demonstration=bool(plain["demonstration"]),
        rewriting=plain["rewriting"],
        figures_folder=folder / FIGURES_FOLDER,
        is_supplied=bool(plain.get("supplied")),
        notices=tuple(cap_notices(plain)),
        record=run.record,
    )


def _figures(plain: Mapping[str, Any]) -> StressFigures:
    noise = plain["noise"]
    return StressFigures(
        degradation=_degradation(plain),
        noise=_floor(noise["re_asked"], "re-asked"),
        response_noise=_floor(noise["re_generated"], "re-generated"),
        n_retested=noise["re_asked"]["n"],
        n_regenerated=noise["re_generated"]["n"],
        counts={
            (row["target"], row["condition"]): rebuilt(ConditionCounts, row)
            for row in plain["counts"]
        },
        notes=tuple(map(str, plain["notes"])),
    )


def _degradation(plain: Mapping[str, Any]) -> Degradation:
    found = rebuilt(Degradation, plain, given={"findings": ()})
    findings = tuple(
        rebuilt(
            Finding,
            row,
            given={"cells": tuple(found.cell(row["target"], *cell) for cell in row["cells"])},
        )
        for row in plain["findings"]
    )
    return replace(found, findings=findings)


def _floor(
    plain: Mapping[str, Any], source: Literal["re-asked", "re-generated"]
) -> NoiseFloor | None:
    if plain["reason"] is not None:
        return None
    return NoiseFloor(source, tuple(rebuilt(NoiseComponent, one) for one in plain["components"]))
