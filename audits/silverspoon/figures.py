"""The figures of SilverSpoon, as they stand in audit.json: those of the part that was run."""

from __future__ import annotations

from dataclasses import dataclass

from .judgement_figures import JudgementFigures
from .judges_agree import JudgeFigures
from .narratives import NarrativeFigures
from .professions import ProfessionFigures


@dataclass(frozen=True, slots=True)
class SilverSpoonFigures:
    """Figures of one part; the others are None.

    Attributes:
        task: which part.
        judges: agreement of the judges; None where none was asked.
    """

    task: str
    judgement: JudgementFigures | None = None
    professions: ProfessionFigures | None = None
    narratives: NarrativeFigures | None = None
    judges: JudgeFigures | None = None
