"""What a person may choose for the review of personas; it is decided before looking."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..experiment.config import CheckedConfig, Option


class ReviewConfig(CheckedConfig):
    """What `personas review` takes."""

    out: Annotated[str | Path | None, Option("DIR")] = Field(
        default=None, description="Folder of the review. Default: RUN/persona_review."
    )
    personas: Annotated[tuple[str, ...], Option("ID[,ID…]", "--persona")] = Field(
        default=(), description="Only these personas of the run; repeatable."
    )
    level: float = Field(default=0.95, gt=0, lt=1, description="Nominal coverage of intervals.")
