"""What a person may choose for an attack and for a rescoring; it is decided before looking."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self, get_args

from pydantic import Field, model_validator

from ..experiment.config import CheckedByPeople, InputConfig, Option
from .families import MOST_TEXTS, Aim, AttackFamily, Placement, load_families
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
    search: Annotated[bool, Option(flag="--search")] = Field(
        default=False,
        description="Have a model reword the texts, keep what moves the panel most, and report it "
        "on prompts held out.",
    )
    search_model: Annotated[Any, Option("MODEL", "--search-model", "--search-model-file")] = Field(
        default=None,
        description="Who rewords; the embedded rewriter, for a first try, if left out.",
    )
    search_texts: int = Field(
        default=8, ge=1, le=MOST_TEXTS, description="Rewordings of a family in a round."
    )
    search_rounds: int = Field(
        default=2, ge=1, le=100, description="Rounds; each rewords the best text so far."
    )
    search_prompts: int | None = Field(
        default=None,
        ge=1,
        description="Prompts that are searched on. Default: a third, and six held out where there "
        "are so many.",
    )
    try_datamark: Annotated[bool, Option(flag="--try-datamark")] = Field(
        default=False,
        description="Score everything once more with datamarking: what it does to clean responses "
        "and to the attacks.",
    )
    margin: Annotated[float, Option("POINTS")] = Field(
        default=0.25,
        gt=0,
        allow_inf_nan=False,
        description="Points within which datamarking leaves clean scores as they are.",
    )
    level: float = Field(default=0.95, gt=0, lt=1, description="Coverage of the intervals.")
    alpha: float = Field(
        default=0.05, gt=0, lt=1, description="Level of the tests, over all families together."
    )
    seed: int = Field(
        default=0, description="Of the prompts searched on, and of pairs drawn for people."
    )

    @model_validator(mode="after")
    def _search_is_meant(self) -> Self:
        if self.search_model and not self.search:
            raise ValueError("search_model: names who rewords the texts of a `search`")
        return self

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
        names = {"threshold", "placements", "texts", "controls", "neutralise", "level", "alpha"}
        if self.try_datamark:
            names |= {"try_datamark", "margin"}
        if self.search:
            names |= {"search", "search_texts", "search_rounds", "search_prompts", "seed"}
        return self.model_dump(mode="json", include=names)


class RescoreConfig(InputConfig):
    """What `rescore` takes."""

    threshold: Annotated[float, Option("POINTS")] = Field(
        default=2.0,
        gt=0,
        allow_inf_nan=False,
        description="Points of difference from which a response is marked.",
    )
