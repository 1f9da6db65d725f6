"""A calibration as one tree of numbers, and its stable layout as JSON.

Layout, format 1: the names of the attributes below, all the way down. Every estimate is an object
{value, n, unit, low, high, method, reason}: value, low and high null when undefined, reason then
says why; counts are plain integers; probabilities of rows (a rater's Holm-adjusted p) and plain
descriptions (a chance level) are numbers or null. Keys are added within a format, never renamed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from ..number import as_json
from .alt import AltTestResult
from .corrections import Corrections
from .how_many import HowMany
from .judges_table import JudgesTable
from .matched import Matched
from .material import Material, Target
from .one_person import AgainstOnePerson
from .panel_people import PanelPeople
from .paper import PaperFigures
from .people import People
from .unsaid import Unsaid

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
        from .text import calibration_lines

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
        from .text import agreement_lines

        return agreement_lines(self)


def _json(report: Calibration | AgreementReport) -> dict[str, Any]:
    names = [one.name for one in fields(report) if one.name not in _NOT_WRITTEN]
    names.sort(key=lambda name: name not in ("format", "kind"))
    return {name: as_json(getattr(report, name)) for name in names}
