"""What an attack found, as one tree of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..aggregation.estimate import Estimate
from ..number import as_json
from .outcomes import FamilyTest

FIGURES_FORMAT = 2


@dataclass(frozen=True, slots=True)
class Cell:
    """The attacks of one cell against the judges of one cell.

    Attributes:
        family, placement, persona, model: what the cell is; None: all of them.
        shift: points, attacked minus clean, of the same judge on the same response.
        beyond_control: the same minus what harmless prose of the same length did there.
        success: share of judgments that moved by the plan's threshold in the demanded direction,
            or that reached the demanded end of the scale where the clean one had not.
        verdicts_moved: the same for the mean of the judges named, as share of responses.
        worst: the largest such move of a response in the demanded direction, in points; None
            where there is none to look at.
        n_scored: judgments that have a score with the attack and without.
        n_planned: judgments planned on attacked responses.
    """

    family: str | None
    placement: str | None
    persona: str | None
    model: str | None
    shift: Estimate
    beyond_control: Estimate
    success: Estimate
    verdicts_moved: Estimate
    worst: float | None
    n_scored: int
    n_planned: int


@dataclass(frozen=True, slots=True)
class FamilyFigures:
    """One family of attacks.

    Attributes:
        id, label, asks: of the family.
        all: the cell of all its attacks and judges.
        n_responses: attacked responses.
        n_screened: of these, responses that reached no judge.
        statuses: status to number of judgments on attacked responses.
        flagged: share of attacked responses with a flag that the clean one does not have, as mean
            over prompts.
        flags: those flags.
        test: of what harmless prose did not do as well, corrected over families (Holm).
        neutralised_shift: points of the neutralised copy minus clean; undefined unless planned.
    """

    id: str
    label: str
    asks: str
    all: Cell
    n_responses: int
    n_screened: int
    statuses: dict[str, int]
    flagged: Estimate
    flags: tuple[str, ...]
    test: FamilyTest
    neutralised_shift: Estimate


@dataclass(frozen=True, slots=True)
class BenignCell:
    """What harmless prose of the same length does to the score, in points."""

    placement: str | None
    persona: str | None
    model: str | None
    shift: Estimate
    n_scored: int
    n_planned: int


@dataclass(frozen=True, slots=True)
class DetectorFigures:
    """One detector, or all of them together.

    Attributes:
        flag: its name; "any" for all together.
        about: what it looks for.
        false_alarms_clean: share of base responses that it flags, as mean over prompts.
        false_alarms_controls: share of controls that it flags and whose clean response it does
            not, likewise.
        false_alarms_telling: share of the built-in clean texts with telling words that it flags.
        families: family to the share of its attacked responses that it newly flags, likewise over
            prompts, where above 0.
        clean_counts, control_counts: base responses, and controls, flagged, and how many there
            are; None in folders of earlier versions.
    """

    flag: str
    about: str
    false_alarms_clean: Estimate
    false_alarms_controls: Estimate
    false_alarms_telling: Estimate
    families: dict[str, float]
    clean_counts: tuple[int, int] | None = None
    control_counts: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class AttackFigures:
    """Everything that an attack measured.

    Attributes:
        scale: both ends.
        n_bases, n_prompts: responses attacked, and the prompts they answer, which are the units.
        n_scored, n_planned: judgments of the whole attack, clean and controls included.
        clean: mean clean score over prompts.
        families: in the order of the corpus.
        cells: family by placement, by persona and by model, and each of these alone.
        benign: harmless insertions: all, by placement, by persona, by model.
        detectors: "any" first.
        format: of this layout.
    """

    scale: tuple[int, int]
    n_bases: int
    n_prompts: int
    n_scored: int
    n_planned: int
    clean: Estimate
    families: tuple[FamilyFigures, ...]
    cells: tuple[Cell, ...]
    benign: tuple[BenignCell, ...]
    detectors: tuple[DetectorFigures, ...]
    format: int = FIGURES_FORMAT

    def family(self, name: str) -> FamilyFigures:
        """The figures of one family.

        Raises:
            KeyError: it was not tried.
        """
        for found in self.families:
            if found.id == name:
                return found
        raise KeyError(name)

    def cell(
        self,
        *,
        family: str | None = None,
        placement: str | None = None,
        persona: str | None = None,
        model: str | None = None,
    ) -> Cell:
        """One cell.

        Raises:
            KeyError: there is no such cell.
        """
        wanted = (family, placement, persona, model)
        if wanted == (family, None, None, None) and family is not None:
            return self.family(family).all
        for found in self.cells:
            if (found.family, found.placement, found.persona, found.model) == wanted:
                return found
        raise KeyError(wanted)

    def to_json(self) -> dict[str, Any]:
        """Every number with n, interval, method and reason."""
        plain: dict[str, Any] = as_json(self)
        return plain
