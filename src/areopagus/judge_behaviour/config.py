"""What a person may choose for an examination of judges; it is decided before looking."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from ..experiment.config import JobConfig, Option

Probe = Literal["order", "calls", "persona", "length", "formatting", "repeats"]
PROBES: tuple[Probe, ...] = get_args(Probe)


class JudgesConfig(JobConfig):
    """What `judges` takes."""

    before: Annotated[str | Path | None, Option("RUN")] = Field(
        default=None,
        exclude=True,
        description="An earlier run of the same judges on the same texts: have they drifted?",
    )
    probe: Annotated[int | None, Option("N")] = Field(
        default=None,
        ge=1,
        description="Ask the judges anew about so many of the run's responses, drawn by --seed.",
    )
    probes: Annotated[tuple[Probe, ...], Option("NAME[,NAME…]")] = Field(
        default=PROBES,
        min_length=1,
        description="Of order, calls, persona, length, formatting, repeats. Default: all.",
    )
    probe_personas: Annotated[int | None, Option("N")] = Field(
        default=None,
        ge=1,
        description="Only so many of the personas, drawn evenly over their axes.",
    )
    margin: Annotated[float | None, Option("POINTS")] = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="A bias inside it does not matter: tests that, too.",
    )
    families: Annotated[Mapping[str, str] | None, Option("NAME=FAMILY", "--family")] = Field(
        default=None, description="Family of a model or a respondent; repeatable."
    )
    level: float = Field(default=0.95, gt=0.5, lt=1, description="Coverage of the intervals.")
    seed: int = Field(default=0, description="Of the responses and personas that are drawn.")

    @model_validator(mode="after")
    def _probe_is_meant(self) -> Self:
        of_probe = {"probes": self.probes != PROBES, "probe_personas": self.probe_personas}
        for name, is_given in of_probe.items():
            if is_given and self.probe is None:
                raise ValueError(f"`{name}`: nothing is asked without `probe`, say how many")
        return self

    @property
    def plan(self) -> dict[str, Any]:
        """What must not change between two sessions of an examination."""
        plan = self.model_dump(mode="json", include={"margin", "families", "level", "seed"})
        if self.probe is None:
            return plan
        return plan | self.model_dump(mode="json", include={"probe", "probes", "probe_personas"})
