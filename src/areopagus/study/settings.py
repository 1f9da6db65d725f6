"""What an organiser can set of a study, once: for the command, the Python call and build.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ..errors import InputFault
from ..experiment.config import Option, faults_of

MOST_LABELS = 26
MOST_RATERS = 2000


class StudySettings(BaseModel):
    """What rating and writing studies share."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    per_prompt: int | None = Field(
        default=None, ge=1, le=MOST_RATERS,
        description="People a prompt. Default: 10, or all if fewer.",
    )  # fmt: skip
    per_session: int = Field(default=5, ge=1, le=1000, description="Most prompts a sitting.")
    pause_minutes: Annotated[int, Option("MINUTES", "--pause")] = Field(
        default=30, ge=0, le=30 * 24 * 60, description="Between two sittings."
    )
    title: str = Field(default="", max_length=200, description="Shown to raters.")
    instructions: Annotated[str, Option("FILE")] = Field(
        default="", description="What raters are told; on the command line a text file."
    )

    @classmethod
    def checked(cls, given: Self | Mapping[str, Any] | None, faults: list[InputFault]) -> Self:
        """The settings; what is wrong in a mapping is added to the faults."""
        try:
            return given if isinstance(given, cls) else cls(**dict(given or {}))
        except ValidationError as error:
            faults += faults_of(error)
            return cls()


class RatingSettings(StudySettings):
    """The design of a rating study (task 2)."""

    per_packet: int = Field(default=6, ge=2, le=MOST_LABELS, description="Responses a page.")
    humans: int = Field(default=3, ge=0, description="Of them by people.")
    fixed_humans: Annotated[bool, Option(flag="--fixed-humans")] = Field(
        default=False, description="Show all raters the same human responses."
    )
    rank: Annotated[bool, Option(flag="--rank")] = Field(
        default=False, description="Raters order the responses themselves, beside the scores."
    )
    justify: Annotated[tuple[str, ...], Option("CRITERION")] = Field(
        default=(),
        description="Scores on it need a reason; overall: the order does. Repeatable.",
    )
    justify_chars: int = Field(
        default=20, ge=1, le=2000, description="Least characters of such a reason."
    )
    keep_form: Annotated[bool, Option(flag="--keep-form")] = Field(
        default=False, description="Leave the form of texts as it is: it may tell."
    )

    @model_validator(mode="after")
    def _humans_fit(self) -> Self:
        if self.humans > self.per_packet:
            raise ValueError(f"`humans` must be at most `per_packet`, got {self.humans}")
        return self

    @property
    def models(self) -> int:
        """Responses of models in a packet."""
        return self.per_packet - self.humans


class WritingSettings(StudySettings):
    """The design of a writing study (task 1)."""

    minutes: int = Field(
        default=30, ge=0, le=24 * 60, description="To write a response in; 0: no limit."
    )
    words: int = Field(default=400, ge=1, le=20_000, description="Words to aim at when writing.")


class LabelSettings(StudySettings):
    """The design of a labelling study (task 3)."""

    question: str = Field(
        default="", max_length=2000, description="Asked of every item of a labelling study."
    )
    category: Annotated[tuple[str, ...], Option("NAME[=TEXT]")] = Field(
        default=(), description="A label, and how it is worded on the page. Repeatable."
    )
    golds: int = Field(
        default=2, ge=1, le=MOST_RATERS,
        description="Labels an item, each by another rater: of every group as many.",
    )  # fmt: skip
    criterion: str = Field(
        default="label", min_length=1, max_length=80, description="What labels are called."
    )

    @model_validator(mode="after")
    def _golds_say_how_many(self) -> Self:
        if self.per_prompt is not None:
            raise ValueError("`golds` says how many label each item, not `per_prompt`")
        return self


class BuildOptions(BaseModel):
    """What a study is built of, as `areopagus study build` takes it; see `build_study`."""

    raters: Annotated[str, Option("N|FILE")] = Field(
        description="How many, or a table: rater_id.",
    )
    out: Annotated[str, Option("DIR")] = Field(description="The folder to make.")
    task: Literal["rate", "write", "label"] = Field(
        default="rate",
        description="rate responses, write them to the prompts of FILE, or label these.",
    )
    human: Annotated[tuple[str, ...], Option("FILE")] = Field(
        default=(), description="Responses by people; repeatable."
    )
    model: Annotated[tuple[str, ...], Option("FILE")] = Field(
        default=(), description="Responses of models; repeatable."
    )
    weak: Annotated[tuple[str, ...], Option("FILE")] = Field(
        default=(), description="Responses made weak on purpose."
    )
    all_models: Annotated[tuple[str, ...], Option("PROMPT_ID")] = Field(
        default=(),
        description="A calibration item with responses of models only; repeatable.",
    )
    rubric: Annotated[str | None, Option("NAME|FILE")] = Field(
        default=None, description="Default: critical_thinking."
    )
    seed: int | None = Field(default=None, description="Default: drawn. Who knows it can unblind.")
    url: str | None = Field(
        default=None, description="What links begin with. Default: http://127.0.0.1:8765."
    )


Goal = Literal["difference", "agreement", "alt-test"]


class PlanWish(BaseModel):
    """What is wanted of a plan, as `areopagus study plan` takes it: one of interval and power."""

    half_width: float | None = Field(default=None, description="Wanted half-width of the interval.")
    of: Literal["difference", "agreement"] = Field(
        default="difference", description="What the interval is of."
    )
    power: float | None = Field(default=None, description="Wanted power of the alt-test, instead.")


class PlanConfig(BaseModel):
    """What a plan is for, and what it rests on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    goal: Goal = "difference"
    wanted: float = Field(gt=0, allow_inf_nan=False)
    ratings: Annotated[str | Path | None, Option("FILE")] = Field(
        default=None,
        description="People's ratings of an earlier study, for sd, icc, between-sd.",
    )
    sd: float | None = Field(
        default=None, gt=0, le=1e6, description="SD of one rating within a prompt, in points."
    )
    icc: float | None = Field(
        default=None, gt=0, le=0.999, description="Correlation of two raters within a prompt."
    )
    panel_r: float | None = Field(
        default=None, gt=0, le=1, description="Correlation of panel and truth in a prompt."
    )
    between_sd: float | None = Field(
        default=None, ge=0, le=1e6, description="SD over prompts of the true difference."
    )
    responses: int = Field(default=6, ge=2, le=26, description="Responses a page.")
    per_side: int = Field(default=1, ge=1, description="Of each side a page.")
    prompts: Annotated[
        tuple[Annotated[int, Field(ge=6, le=100_000)], ...], Option("N[,N...]")
    ] = Field(
        default=(9, 15, 20, 30, 45, 60, 90, 120), min_length=1,
        description="Numbers of prompts to compare.",
    )  # fmt: skip
    per_prompt: Annotated[
        tuple[Annotated[int, Field(ge=1, le=1000)], ...], Option("N[,N...]")
    ] = Field(
        default=(3, 5, 8, 10), min_length=1,
        description="Numbers of raters a prompt to compare.",
    )  # fmt: skip
    raters: int | None = Field(
        default=None, ge=2, le=2000, description="Raters in all, for the alt-test."
    )
    epsilon: float = Field(default=0.2, ge=0, lt=1, description="Of the alt-test.")
    level: float = Field(default=0.95, ge=0.5, lt=1, description="Of the interval.")
    worlds: int = Field(default=400, ge=50, le=1_000_000, description="Simulated studies.")
    seed: int = Field(default=0, description="Of everything drawn.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.per_side > self.responses // 2:
            raise ValueError(f"per_side must be at most half a page, got {self.per_side}")
        if self.goal == "alt-test" and self.wanted >= 1:
            raise ValueError(f"a power must be below 1, got {self.wanted}")
        return self


RATING_TITLE, WRITING_TITLE, LABEL_TITLE = "Rating responses", "Writing responses", "Labelling"

RATING = """\
Each page shows one question and several responses to it, called A, B, C and so on. The letters \
are dealt anew on every page and mean nothing.

Read all the responses before you score the first. Then give each of them a score on every \
criterion below. Responses may share a score, and may share a rank. What counts is the thinking on \
the page: not whether you agree with its conclusion, how long it is, or who may have written it.

Please work alone, without other people and without AI tools."""

RANKING = """

Then put the responses into your own order, from the best to the worst. It need not be that of \
your scores, and responses may share a place."""

WRITING = """\
Each page shows one question. Write a response of your own, in running text, as you would for an \
attentive reader who is no specialist.

Please work alone and without AI tools. Other sources are welcome as far as they are in your \
head."""

LABELLING = """\
Each page shows one text and one question about it. Choose the label that fits best. There is no \
trick, and other people label the same texts: say what you think.

Please work alone, without other people and without AI tools."""
