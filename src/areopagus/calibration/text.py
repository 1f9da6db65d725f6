"""The printed reports, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..text_lines import item
from .cautions import demonstration
from .text_panel import (
    alt_lines,
    corrections_lines,
    how_many_lines,
    judges_lines,
    one_person_lines,
    panel_lines,
    unsaid_lines,
)
from .text_people import matched_lines, paper_lines, people_lines

if TYPE_CHECKING:
    from .result import AgreementReport, Calibration


def calibration_lines(calibration: Calibration) -> list[str]:
    """Returns the report of a calibration, at most 80 columns wide."""
    first = "Calibration of a panel against people"
    if calibration.main_target:
        first += f", on: {calibration.main_target}"
    head = []
    if calibration.stand_ins:
        head = [*item("DEMONSTRATION", demonstration(calibration.stand_ins), indent=0), ""]
    return [
        *head,
        first,
        f"Intervals are {calibration.level:.0%}; the unit is the prompt unless another is named.",
        *matched_lines(calibration.matched),
        *people_lines(calibration.people),
        *panel_lines(calibration.panel),
        *one_person_lines(calibration.one_person),
        *judges_lines(calibration.judges),
        *how_many_lines(calibration.how_many),
        *corrections_lines(calibration.corrections),
        *alt_lines(calibration.alt_tests, calibration.alt_tests_reason),
        *paper_lines(calibration.people, calibration.paper, "9"),
        *unsaid_lines(calibration.unsaid, "10"),
    ]


def agreement_lines(report: AgreementReport) -> list[str]:
    """Returns the report of people alone, at most 80 columns wide."""
    return [
        "Agreement of people with people",
        f"Intervals are {report.level:.0%}; the unit is the prompt unless another is named.",
        *matched_lines(report.matched),
        *people_lines(report.people),
        *paper_lines(report.people, report.paper, "3"),
        *unsaid_lines(report.unsaid, "4"),
    ]
