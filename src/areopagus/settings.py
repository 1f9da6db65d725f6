"""`panel.yaml`: everything that makes a panel, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from .experiment.config import Option
from .judges.models.backend import OFFLINE_MODEL, BackendSpec
from .judges.prompt import DEFAULT_ORDER, CriterionCalls, Order, Rationale
from .judges.templates import DEFAULT as DEFAULT_TEMPLATE
from .records.types import Mode, ScoreMode

Name = Annotated[str, Field(min_length=1)]


class PanelSettings(BaseModel):
    """The settings of a panel; each has a default, and none of them is a key or a secret."""

    # An input that is refused may be a key, written where its name belongs.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    models: tuple[BackendSpec, ...] = Field(
        default_factory=lambda: (BackendSpec(model=OFFLINE_MODEL),),
        min_length=1,
        description="The backends; a name alone, or one with its settings.",
    )
    personas: tuple[Name, ...] | None = Field(
        default=None,
        min_length=1,
        description="names or files; all built-in ones and those of persona_folders if left out",
    )
    persona_folders: tuple[Name, ...] = Field(
        default=(), description="Folders of persona files; all of them join the panel."
    )
    rubric: Annotated[Name, Option("NAME|FILE")] = Field(
        default="critical_thinking", description="What is judged by."
    )
    mode: Mode = Field(
        default="dimensions",
        description="A score on each dimension, one integer with the rubric shown, or without it.",
    )
    order: Order = Field(
        default=DEFAULT_ORDER, description="Where the persona stands in the messages."
    )
    rationale: Rationale = Field(
        default="none", description="Whether judges give reasons before their scores."
    )
    anchors: bool = Field(default=True, description="Show judges the rubric's anchors.")
    criterion_order: int = Field(
        default=0, ge=0, description="Rotate the rubric's criteria by so many places."
    )
    criterion_calls: CriterionCalls = Field(
        default="together", description="One call for all criteria, or one for each."
    )
    template: Annotated[Name, Option("NAME|FILE")] = Field(
        default=DEFAULT_TEMPLATE, description="Wording of the judges' messages."
    )
    datamark: bool = Field(
        default=False,
        description="Mark every word of a response, against texts that talk to judges.",
    )
    repeats: int = Field(default=1, ge=1, le=1000, description="Askings of each judge.")
    score_mode: ScoreMode = Field(
        default="integer",
        description="The integer that a judge writes, or the mean over its log-probabilities.",
    )
    quorum: float = Field(
        default=2 / 3,
        gt=0,
        le=1,
        description="Share of planned judgments that must be scored. Default: 2/3.",
    )

    @model_validator(mode="after")
    def _distinct_names(self) -> PanelSettings:
        seen: set[str] = set()
        for spec in self.models:
            if spec.name in seen:
                raise ValueError(
                    f"models: two backends are called {spec.name!r}; give one of them a name"
                )
            seen.add(spec.name)
        return self


def read_settings(path: str | Path) -> PanelSettings:
    """The settings in a `panel.yaml`; paths in it are relative to the file.

    Raises:
        InputError: with every fault of the file.
    """
    from .yaml_files import read_document

    path = Path(path)
    settings = read_document(path, PanelSettings, kind="panel")
    base = path.parent
    return settings.model_copy(
        update={
            "persona_folders": tuple(str(base / folder) for folder in settings.persona_folders),
            "personas": None
            if settings.personas is None
            else tuple(_beside(base, name) for name in settings.personas),
            "rubric": _beside(base, settings.rubric),
            "template": _beside(base, settings.template),
        }
    )


def _beside(base: Path, name: str) -> str:
    is_file = "/" in name or "\\" in name or name.endswith((".yaml", ".yml"))
    return str(base / name) if is_file else name


class TargetSettings(BaseModel):
    """A file of target models for `respond`: the `models` part of a `panel.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    models: tuple[BackendSpec, ...] = Field(min_length=1)


def read_targets(path: str | Path) -> tuple[BackendSpec, ...]:
    """The models of a targets file.

    Raises:
        InputError: with every fault of the file.
    """
    from .yaml_files import read_document

    return read_document(Path(path), TargetSettings, kind="targets").models
