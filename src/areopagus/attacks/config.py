"""What a person may choose for an attack and for a rescoring; it is decided before looking."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import Field

from ..experiment.config import CheckedByPeople, InputConfig, Option
from .families import Aim, AttackFamily, Placement, load_families
from .strings import families_of_strings


class AttackConfig(CheckedByPeople, InputConfig):
    """What `attack` takes."""

    corpus: Annotated[tuple[str | Path, ...], Option("FILE|DIR")] = Field(
        default=(),
        description="Families of attacks in place of the built-in corpus; repeatable.",
    )
    strings: Annotated[tuple[str | Path, ...], Option("FILE")] = Field(
        default=(),
        description="Published attack strings in place of the built-in corpus: .txt, one a line, "
        "or a table with text and perhaps family, asks, source; repeatable.",
    )
    strings_columns: Annotated[
        Mapping[str, str] | None, Option("OURS=THEIRS", "--strings-column")
    ] = Field(
        default=None,
        description="Another name for a column of --strings, such as text=prompt; repeatable.",
    )
    strings_ask: Aim = Field(
        default="highest", description="What the strings ask for where their file does not say."
    )
    families: Annotated[tuple[str, ...], Option("NAME[,NAME…]")] = Field(
        default=(), description="Only these families; repeatable. Default: all of the corpus."
    )
    placements: Annotated[tuple[Placement, ...], Option("PLACE[,PLACE…]")] = Field(
        default=get_args(Placement),
        min_length=1,
        description="Of start, middle, end, instead; repeatable. Default: all.",
    )
    texts: int | None = Field(
        default=None, ge=1, description="Only the first so many texts of a family."
    )
    threshold: Annotated[float, Option("POINTS")] = Field(
        default=2.0,
        gt=0,
        allow_inf_nan=False,
        description="Points from which a score counts as moved; part of the plan.",
    )
    controls: bool = Field(default=True, description="Score harmless prose of the same length too.")
    neutralise: Annotated[bool, Option(flag="--neutralise")] = Field(
        default=False, description="Score neutralised copies of the attacked responses too."
    )
    level: float = Field(
        default=0.95, gt=0.5, lt=1, description="Confidence level, over all families together."
    )
    seed: int = Field(default=0, description="Of the pairs drawn for people.")

    def load_families(self) -> tuple[AttackFamily, ...]:
        """The families that the options name.

        Raises:
            InputError: unknown names, and the faults of any file.
        """
        added = families_of_strings(
            self.strings, columns=self.strings_columns, asks=self.strings_ask, most=self.texts
        )
        return load_families(self.families or None, self.corpus, added)

    @property
    def plan(self) -> dict[str, Any]:
        """What must not change between two sessions of an attack."""
        names = {"threshold", "placements", "texts", "controls", "neutralise", "level"}
        return self.model_dump(mode="json", include=names)


class RescoreConfig(InputConfig):
    """What `rescore` takes."""

    threshold: Annotated[float, Option("POINTS")] = Field(
        default=2.0,
        gt=0,
        allow_inf_nan=False,
        description="Points of difference from which a response is marked.",
    )
