"""What a construction of prompts decides before it looks, and how long it may go on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator

from ..experiment.config import InputConfig, Option

if TYPE_CHECKING:
    # The options of the command are made of this model: its help loads no graph.
    from ..graphs.prompt_construction import Design

Projection = Literal["pca", "umap"]
MOST_PROMPTS = 10


class PromptsConfig(InputConfig):
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
