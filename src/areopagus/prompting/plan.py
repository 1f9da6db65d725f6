"""What a construction of prompts decides before it looks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..errors import InputError
from ..graphs.prompt_construction import (
    DIVERSITY_OF,
    EQUIVALENCE_RULES,
    FILTER_JUDGES,
    Design,
    DiversityOf,
    EquivalenceRule,
    FilterJudges,
)
from .projection import PROJECTIONS, Projection

MOST_PROMPTS = 10


@dataclass(frozen=True, slots=True)
class PromptPlan:
    """The plan.

    Attributes:
        per_scenario: prompts wanted of each generator for each scenario; 5 as in the paper.
        filter_judges: who votes on a prompt's quality: `others`, the models that did not write
            it; `all`, the writer too, as a reading of the paper's appendix 14.2 (2 of 3). More than
            half of them must pass it.
        equivalence: whether `both` judges must call a pair equivalent (the paper's text) or
            `either` is enough (the caption of its Table 5).
        diversity_of: whose pairs are compared: all usable prompts (`generated`), those that
            `passed`, or `none`.
        cross_pairs: most pairs between two generators in a scenario, drawn by the seed; 25 are all
            pairs of five prompts with five.
        level: of the intervals.
        seed: of every draw.
        projection: of the map, where an embedding model is named: `pca`, or the paper's `umap`.
    """

    per_scenario: int = 5
    filter_judges: FilterJudges = "others"
    equivalence: EquivalenceRule = "both"
    diversity_of: DiversityOf = "generated"
    cross_pairs: int = 25
    level: float = 0.95
    seed: int = 0
    projection: Projection = "pca"

    def __post_init__(self) -> None:
        faults = [
            f"{name}: must be {rule}, got {getattr(self, name)!r}"
            for name, rule, holds in (
                (
                    "per_scenario",
                    f"from 1 to {MOST_PROMPTS}",
                    1 <= self.per_scenario <= MOST_PROMPTS,
                ),
                ("filter_judges", " or ".join(FILTER_JUDGES), self.filter_judges in FILTER_JUDGES),
                (
                    "equivalence",
                    " or ".join(EQUIVALENCE_RULES),
                    self.equivalence in EQUIVALENCE_RULES,
                ),
                ("diversity_of", " or ".join(DIVERSITY_OF), self.diversity_of in DIVERSITY_OF),
                ("cross_pairs", "at least 0", self.cross_pairs >= 0),
                ("level", "between 0 and 1", 0 < self.level < 1),
                ("projection", " or ".join(PROJECTIONS), self.projection in PROJECTIONS),
            )
            if not holds
        ]
        if faults:
            raise InputError(faults)

    @property
    def design(self) -> Design:
        """The part that the graph needs."""
        return Design(self.filter_judges, self.diversity_of, self.cross_pairs, self.seed)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON-like values."""
        return asdict(self)

    def asked_json(self) -> dict[str, Any]:
        """The fields that decide what is asked: the others may change from one run to the next."""
        plain = self.to_json()
        reread = ("equivalence", "level", "projection")
        return {name: plain[name] for name in plain if name not in reread}
