"""What a person may choose for a stress test; most of it is decided before looking."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from ..experiment.config import AskingConfig, CheckedByPeople, Option
from ..graphs.framings import Framing

LEAST_RETEST_SHARE = 0.1
"""The least share of responses from which a noise floor is measured, where one is."""

PLAN = (
    "baseline", "margin", "alpha", "retest_share", "response_repeats", "regenerate_share",
    "judged_prompt", "family", "agree", "disagree", "asymmetry_dimension", "seed",
)  # fmt: skip
"""The fields that are decided before looking: a folder with others is another study."""


class StressConfig(CheckedByPeople, AskingConfig):
    """What `stress` takes."""

    framings: Annotated[
        tuple[str | Path | Framing, ...] | None, Option("NAME|FILE", "--framing")
    ] = Field(default=None, description="Only these framings; repeatable.")
    framing_folders: Annotated[tuple[str | Path, ...], Option("DIR", "--framings")] = Field(
        default=(), description="Folder whose framings join the four; repeatable."
    )
    rewrite_only: Annotated[bool, Option(flag="--rewrite-only")] = Field(
        default=False, description="Stop when variants.csv is written."
    )
    variants: Annotated[str | Path | None, Option("FILE")] = Field(
        default=None, description="Use these variants, edited or not; nothing is rewritten."
    )
    condition: Annotated[str | None, Option("COLUMN|REGEX")] = Field(
        default=None,
        description="Where supplied responses carry their condition, such as '@(turn[0-9]+)'.",
    )
    baseline: Annotated[str, Option("NAME")] = Field(
        default="baseline", description="The condition that the others are compared with."
    )
    margin: Annotated[float, Option("POINTS")] = Field(
        default=0.5,
        gt=0,
        allow_inf_nan=False,
        description="Points within which a change counts as none.",
    )
    alpha: float = Field(
        default=0.05, gt=0, lt=1, description="Error rate of each family of comparisons."
    )
    family: Literal["target", "all"] = Field(
        default="target", description="Whose cells are decided together."
    )
    retest_share: Annotated[float, Option("SHARE", "--retest")] = Field(
        default=0.1,
        ge=0,
        le=1,
        description="Share of responses whose judges are asked again, for the noise floor: 0, or "
        "from 0.1 on.",
    )
    regenerate_share: Annotated[float, Option("SHARE", "--regenerate")] = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Share of responses generated once more, to see how much they vary.",
    )
    response_repeats: int = Field(
        default=1,
        ge=1,
        le=1000,
        description="Responses asked for a prompt, whose scores are averaged.",
    )
    judged_prompt: Literal["own", "baseline"] = Field(
        default="own",
        description="Which prompt the judges read: the one answered, or the baseline.",
    )
    agree: Annotated[str, Option("FRAMING")] = Field(
        default="emotion_agree", description="With --disagree, the pair read as sycophancy."
    )
    disagree: Annotated[str, Option("FRAMING")] = Field(
        default="emotion_disagree", description="See --agree."
    )
    asymmetry_dimension: Annotated[str, Option("CRITERION")] = Field(
        default="pluralistic_engagement", description="The criterion on which they are compared."
    )
    bold_at: float = Field(
        default=1.2, ge=0, description="Points from which the heat map's cells have a bold border."
    )
    seed: int = Field(default=0, description="Of every random choice.")

    @field_validator("baseline")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must be a name")
        return value

    @field_validator("retest_share")
    @classmethod
    def _measures_something(cls, value: float) -> float:
        if 0 < value < LEAST_RETEST_SHARE:
            raise ValueError(f"must be 0, or a share from {LEAST_RETEST_SHARE} to 1, got {value!r}")
        return value

    @property
    def plan(self) -> dict[str, Any]:
        """What was decided before looking."""
        return {name: getattr(self, name) for name in PLAN}

    def to_json(self) -> dict[str, Any]:
        """What run.json says was chosen; files by their name, framings by their id."""
        plain = super().to_json()
        if self.framings is not None:
            plain["framings"] = [getattr(one, "id", str(one)) for one in self.framings]
        return plain
