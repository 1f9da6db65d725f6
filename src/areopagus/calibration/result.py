"""What `calibrate` and `agreement` return, and their text."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from ..number import as_json, item
from .alt import AltTestResult
from .cautions import demonstration
from .corrections import Corrections
from .how_many import HowMany
from .judges_table import JudgesTable
from .matched import Matched
from .material import Material, Target
from .one_person import AgainstOnePerson
from .panel_people import PanelPeople
from .paper import PaperFigures
from .people import People
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
from .unsaid import Unsaid


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


RESULT_FORMAT = 1

_NOT_WRITTEN = frozenset({"material", "target", "levels", "panel_identity", "texts_sha256"})


@dataclass(frozen=True, slots=True)
class Calibration:
    """What people's ratings say about a panel.

    Attributes:
        format, kind: of the JSON layout.
        main_target: what people and panel are compared on first: "overall, rank" or another.
        level: nominal coverage of all intervals.
        seed: of everything drawn.
        matched: what was matched and what was not.
        people: people with people.
        panel: panel with people.
        one_person: the panel against one more person.
        judges: every judge, persona, model and axis.
        how_many: variance components, effective number, designs.
        corrections: what is earned out of fold.
        alt_tests: the rank form and the published form.
        alt_tests_reason: why there are none, or None.
        paper: the paper's human-study figures.
        unsaid: what cannot be said.
        material, target: the data and the main target, for figures; not part of the JSON.
        levels: the target that people's level was taken from, or None; likewise.
        stand_ins: embedded stand-ins (`offline/…`) among judges and respondents: with any, all
            this is a demonstration.
        panel_identity: what makes the panel this panel; kept for a saved calibration.
        texts_sha256: response id to the hash of its text, where texts were given.
    """

    main_target: str | None
    level: float
    seed: int
    matched: Matched
    people: People
    panel: PanelPeople
    one_person: AgainstOnePerson
    judges: JudgesTable
    how_many: HowMany
    corrections: Corrections
    alt_tests: tuple[AltTestResult, ...]
    alt_tests_reason: str | None
    paper: PaperFigures
    unsaid: tuple[Unsaid, ...]
    material: Material = field(repr=False)
    target: Target | None = field(repr=False)
    panel_identity: dict[str, Any] = field(repr=False)
    texts_sha256: dict[str, str] = field(repr=False, default_factory=dict)
    levels: Target | None = field(repr=False, default=None)
    stand_ins: tuple[str, ...] = ()
    format: int = RESULT_FORMAT
    kind: str = "calibration"

    def to_json(self) -> dict[str, Any]:
        """Returns every number with n, interval, method and reason; see the module's layout."""
        return _json(self)

    def text(self) -> list[str]:
        """Returns the report as lines of at most 80 columns."""

        return calibration_lines(self)


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """People with people alone; attributes as in `Calibration`."""

    level: float
    seed: int
    matched: Matched
    people: People
    paper: PaperFigures
    unsaid: tuple[Unsaid, ...]
    material: Material = field(repr=False)
    format: int = RESULT_FORMAT
    kind: str = "agreement"

    def to_json(self) -> dict[str, Any]:
        """Returns every number with n, interval, method and reason; see the module's layout."""
        return _json(self)

    def text(self) -> list[str]:
        """Returns the report as lines of at most 80 columns."""

        return agreement_lines(self)


def _json(report: Calibration | AgreementReport) -> dict[str, Any]:
    names = [one.name for one in fields(report) if one.name not in _NOT_WRITTEN]
    names.sort(key=lambda name: name not in ("format", "kind"))
    return {name: as_json(getattr(report, name)) for name in names}
