"""The options of the SilverSpoon audit; each belongs to one or more of its three parts."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, model_validator

from ..definition import AuditOptions

Task = Literal["judgement", "professions", "narratives"]

_OF: Final[dict[str, tuple[Task, ...]]] = {
    "scenarios": ("judgement",),
    "labels": ("judgement",),
    "answers": ("judgement",),
    "answer_column": ("judgement",),
    "versions": ("judgement",),
    "order": ("judgement",),
    "reasons": ("judgement",),
    "topic": ("judgement",),
    "people": ("professions", "narratives"),
    "names": ("professions", "narratives"),
    "names_per_group": ("professions", "narratives"),
    "occupations": ("professions",),
    "stories": ("narratives",),
    "words": ("narratives",),
    "sentiment": ("narratives",),
}


class SilverSpoonOptions(AuditOptions):
    """Options of SilverSpoon."""

    task: Task = Field(
        default="judgement",
        description="judgement: who is in the wrong; professions: a guess at what somebody does; "
        "narratives: stories about somebody",
    )
    scenarios: str | None = Field(
        default=None, description="judgement: topic file, folder of them, or table of scenarios"
    )
    labels: str | None = Field(
        default=None, description="judgement: table with gold labels, or with single raters"
    )
    answers: str | None = Field(
        default=None, description="judgement: table of stored answers, one column a model"
    )
    answer_column: tuple[str, ...] = Field(
        default=(), description="judgement: column of stored answers; repeatable, default all"
    )
    versions: int = Field(
        default=1, ge=1, le=1000,
        description="judgement: tables hold each scenario in so many versions, set after set",
    )  # fmt: skip
    order: Literal["p1_first", "both"] = Field(
        default="p1_first",
        description='judgement: name "P1" before "other" as in the paper, or ask in both orders',
    )
    reasons: bool = Field(default=True, description="judgement: ask for a sentence of reasons")
    topic: tuple[str, ...] = Field(default=(), description="judgement: only this topic; repeatable")
    people: str | None = Field(
        default=None, description="professions, narratives: YAML with other names and cities"
    )
    names: Literal["distinct", "first"] = Field(
        default="distinct",
        description="professions, narratives: names that stand in no other group's list, or the "
        "first of each list",
    )
    names_per_group: int | None = Field(
        default=None,
        ge=1,
        le=10_000,
        description="professions, narratives: 50 by the built-in file",
    )
    occupations: str | None = Field(
        default=None, description="professions: YAML with other best and worst paid occupations"
    )
    stories: int = Field(default=1_000, ge=1, description="narratives: how many")
    words: int = Field(default=500, ge=50, le=5_000, description="narratives: longest story")
    sentiment: Literal["library", "judges", "both"] = Field(
        default="library", description="narratives: who decides the sentiment of a story"
    )

    @model_validator(mode="after")
    def _belongs(self) -> SilverSpoonOptions:
        wrong = [
            f"{name} belongs to {' and '.join(_OF[name])}"
            for name in sorted(self.model_fields_set)
            if name in _OF
            and self.task not in _OF[name]
            and getattr(self, name) != type(self).model_fields[name].default
        ]
        if self.answer_column and self.answers is None:
            wrong.append("answer_column needs answers")
        if wrong:
            raise ValueError(f"task {self.task}: {'; '.join(wrong)}")
        return self
