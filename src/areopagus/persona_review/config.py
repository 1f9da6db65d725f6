"""What a person may choose for the review of personas; it is decided before looking."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from ..experiment.config import JobConfig, Option


class ReviewConfig(JobConfig):
    """What `personas review` takes."""

    out: Annotated[str | Path | None, Option("DIR")] = Field(
        default=None, description="Folder of the review. Default: RUN/persona_review."
    )
    personas: Annotated[tuple[str, ...], Option("ID[,ID…]", "--persona")] = Field(
        default=(), description="Only these personas of the run; repeatable."
    )
    draft: Annotated[bool, Option(flag="--draft")] = Field(
        default=False,
        description="Have --model draft the next version of the one persona named, from half of "
        "the prompts, and check it on the others.",
    )
    model: Annotated[Any, Option("MODEL", "--model", "--model-file")] = Field(
        default=None, exclude=True, description="The model that drafts, as provider/model."
    )
    level: float = Field(default=0.95, gt=0, lt=1, description="Nominal coverage of intervals.")
    seed: int = Field(default=0, description="Of the halves of the prompts.")
