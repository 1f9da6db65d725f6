"""What may be chosen for a construction of prompts, of scenarios and of concept pairs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator

from ..experiment.config import CheckedByPeople, InputConfig, JobConfig, Option

if TYPE_CHECKING:
    # The options of the command are made of this model: its help loads no graph.
    from ..graphs.prompt_construction import Design

Projection = Literal["pca", "umap"]
Files = Annotated[
    tuple[str | Path, ...],
    AfterValidator(lambda given: tuple(map(str, given))),
    Option("FILE"),
]
MOST_PROMPTS = 10


class PromptsConfig(CheckedByPeople, InputConfig):
    """What `prompts generate` takes, and `bbq`, `hle` and `concepts` where they go on to it."""

    per_scenario: Annotated[int, Option("N")] = Field(
        default=5,
        ge=1,
        le=MOST_PROMPTS,
        description="Prompts wanted of each model for each scenario; 5 as in the paper.",
    )
    filter_judges: Literal["others", "all"] = Field(
        default="others",
        description="Who votes on quality: models that did not write the prompt, or all.",
    )
    equivalence: Literal["both", "either"] = Field(
        default="both", description="Judges that must call two prompts equivalent."
    )
    diversity_of: Annotated[Literal["generated", "passed", "none"], Option(flag="--diversity")] = (
        Field(
            default="generated",
            description="Whose pairs are compared: all usable prompts, or those that passed.",
        )
    )
    cross_pairs: Annotated[int, Option("N")] = Field(
        default=25, ge=0, description="Most pairs between two models in a scenario."
    )
    projection: Projection = Field(
        default="pca",
        description="Of the map; umap, as in the paper, needs the package umap-learn.",
    )
    technology: Annotated[str | Path | None, Option("FILE")] = Field(
        default=None, description="Words about technology of your own (YAML)."
    )
    effort: Annotated[str | None, Option("LEVEL")] = Field(
        default=None, description="Reasoning effort of the writers; none sends none."
    )
    level: float = Field(default=0.95, gt=0, lt=1, description="Level of the intervals.")
    seed: int = Field(default=0, description="Of every draw.")

    @field_validator("technology")
    @classmethod
    def _as_text(cls, given: str | Path | None) -> str | None:
        return None if given is None else str(given)

    @property
    def design(self) -> Design:
        """The part that the graph needs."""
        from ..graphs.prompt_construction import Design

        return Design(self.filter_judges, self.diversity_of, self.cross_pairs, self.seed)

    def asked_json(self) -> dict[str, Any]:
        """The choices that decide what is asked; another folder is needed where they change."""
        names = ("per_scenario", "filter_judges", "diversity_of", "cross_pairs", "seed")
        return {name: getattr(self, name) for name in names}


class ScenariosConfig(JobConfig):
    """What `scenarios` takes."""

    topics: Annotated[tuple[str, ...], Option("WORDS", "--topic")] = Field(
        default=(),
        description="What scenarios are about; repeatable. Default: the audit's ten topics.",
    )
    per_topic: Annotated[int, Option("N")] = Field(
        default=100, ge=1, description="Scenarios wanted of each topic, ten in a call."
    )
    versions: Annotated[int, Option("N")] = Field(
        default=3, ge=1, le=20, description="Wordings of each, the first one included."
    )
    similarity: Annotated[float, Option("SHARE")] = Field(
        default=0.8, ge=0, le=1, description="Least share of words that a wording keeps."
    )
    beside: Files = Field(
        default=(),
        description="Scenarios that stand already, beside which these are written: none of them "
        "comes again; repeatable.",
    )
    effort: Annotated[str | None, Option("LEVEL")] = Field(
        default=None, description="Reasoning effort of the writer; none sends none."
    )

    @field_validator("topics")
    @classmethod
    def _distinct(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        counted = Counter(" ".join(topic.split()).casefold() for topic in given)
        said = [
            f"{name!r} stands twice" if name else "must not be empty"
            for name, n in counted.items()
            if n > 1 or not name
        ]
        if said:
            raise ValueError("; ".join(said))
        return given


class ConceptPairsConfig(InputConfig):
    """What `concept-pairs` takes."""

    beside: Files = Field(
        default=(),
        description="Concept pairs that stand already (.jsonl), beside which these are made: none "
        "of them comes again; repeatable.",
    )
    effort: Annotated[str | None, Option("LEVEL")] = Field(
        default=None, description="Reasoning effort of the models; none sends none."
    )
