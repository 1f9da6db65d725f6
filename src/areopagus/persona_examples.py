"""A persona's example responses against the score bands it expects, by the embedded baseline."""

from __future__ import annotations

from dataclasses import dataclass

from .judges.offline.lexical import measure, score
from .personas import Persona
from .records.types import OVERALL
from .rubrics import Rubric


@dataclass(frozen=True, slots=True)
class ExampleOutcome:
    """One expected band and the score that the baseline gives.

    Attributes:
        number: which example, from 1.
        criterion: a dimension of the rubric, or `overall`.
        low, high: the band.
        score: the baseline's score; None where the rubric has no such dimension.
    """

    number: int
    criterion: str
    low: float
    high: float
    score: int | None

    @property
    def is_met(self) -> bool:
        """Whether the score lies within the band."""
        return self.score is not None and self.low <= self.score <= self.high

    def sentence(self) -> str:
        """One line for people."""
        got = "the rubric has no such dimension" if self.score is None else f"got {self.score}"
        verdict = "met" if self.is_met else "missed"
        return (
            f"example {self.number}, {self.criterion}: expected {self.low:g} to {self.high:g}, "
            f"{got}: {verdict}"
        )


def check_examples(persona: Persona, rubric: Rubric) -> list[ExampleOutcome]:
    """Every expected band of every example, scored."""
    found: list[ExampleOutcome] = []
    for number, example in enumerate(persona.examples or (), start=1):
        scores = score(
            measure(example.prompt, example.response),
            dimensions=[(d.id, d.offline) for d in rubric.dimensions],
            low=rubric.scale.low,
            high=rubric.scale.high,
            lexicon=persona.lexicon or {},
        )
        for criterion, (low, high) in example.expect.items():
            value = scores.overall if criterion == OVERALL else scores.scores.get(criterion)
            found.append(ExampleOutcome(number, criterion, low, high, value))
    return found
