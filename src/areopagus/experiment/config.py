"""What a person may choose for a job: name, type, default and description of every option, once.

The options of the command line, the checks of the Python calls and the `config` of run.json are
made of these models.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import InputError, InputFault
from ..yaml_files import shown

Track = Literal["matched", "maximum"]


@dataclass(frozen=True, slots=True)
class Option:
    """How the command line shows a field, where its name and type do not say it.

    Attributes:
        metavar: what stands for the value in the help.
        flag: of the option, where it is not the field's name; with a space, a short one after it.
        file: of a field that names models (repeatable, several by commas): the option for a file
            of models beside it.
    """

    metavar: str = ""
    flag: str = ""
    file: str = ""


class CheckedConfig(BaseModel):
    """Options that are checked together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def checked(cls, **given: Any) -> Self:
        """The configuration made of keyword arguments.

        Raises:
            InputError: with everything wrong in them.
        """
        try:
            return cls(**given)
        except ValidationError as error:
            raise InputError(faults_of(error, names=tuple(cls.model_fields))) from error


class JobConfig(CheckedConfig):
    """What every job takes."""

    out: Annotated[str | Path | None, Option("DIR")] = Field(
        default=None, description="Folder of the run. Default: runs/NAME-xxxxxxxx."
    )
    resume: Annotated[bool, Option(flag="--resume")] = Field(
        default=False, description="Demand that the folder exists already."
    )
    max_cost: Annotated[float | None, Option("USD")] = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="Stop asking before this much is spent, over all stages.",
    )

    def to_json(self) -> dict[str, Any]:
        """What run.json says was chosen; where the folder stands is left out."""
        return self.model_dump(mode="json", exclude={"out", "resume"})


class InputConfig(JobConfig):
    """What jobs take that read a table."""

    columns: Annotated[Mapping[str, str] | None, Option("OURS=THEIRS", "--column")] = Field(
        default=None,
        description="Another name for a column, such as prompt_text=question; repeatable.",
    )
    limit: int | None = Field(
        default=None, ge=1, description="Only the first so many rows of the input."
    )


class CheckedByPeople(CheckedConfig):
    """What jobs take that put texts into categories; they have a `seed` too."""

    for_people: Annotated[int | None, Option("N")] = Field(
        default=None,
        ge=1,
        description="Draw so many texts by --seed for people to label: for_people.csv; then "
        "humans check.",
    )


class ScoreConfig(InputConfig):
    """What `score` takes."""

    prompts_from: Annotated[str | Path | None, Option("FILE")] = Field(
        default=None,
        description="Prompts by prompt_id, where RESPONSES has none: a table, or a batch's input.",
    )
    format: Annotated[str | None, Option("NAME")] = Field(
        default=None,
        description="What RESPONSES is, where neither name nor content says it, such as lm-eval.",
    )

    precision: Annotated[float | None, Option("POINTS")] = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Ask judges in random order until the panel's mean is known to within so much.",
    )
    judges_per_response: Annotated[int | None, Option("N")] = Field(
        default=None,
        ge=1,
        description="Ask at most so many judges a response, drawn at random.",
    )
    order_seed: int = Field(
        default=0, description="Seed of those orders, and of the personas that a plan draws."
    )


class AskingConfig(InputConfig):
    """What jobs take that ask models for responses."""

    track: Track | None = Field(
        default=None,
        description="matched: effort medium, 400 words, at most 440. maximum: effort high.",
    )
    effort: Annotated[str | None, Option("LEVEL")] = Field(
        default=None,
        description="Reasoning effort of the models that are asked; none sends none.",
    )
    words: int | None = Field(
        default=None, ge=1, description="Words for the targets to aim at, instead of the track's."
    )


class RespondConfig(AskingConfig):
    """What `respond` takes."""

    out: Annotated[str | Path | None, Option("FILE.csv")] = Field(
        default=None, description="The table that score reads."
    )
    repeats: int = Field(default=1, ge=1, le=1000, description="Askings of each prompt.")


class AuditConfig(CheckedByPeople, InputConfig):
    """What every audit takes; models and answers may be objects, and stand in run.json apart."""

    target: Annotated[Any, Option("MODEL[,MODEL…]", "--target -t", "--targets-file")] = Field(
        default=None,
        exclude=True,
        description="Model under test, as provider/model; repeatable. Left out: an embedded "
        "stand-in.",
    )
    judges: Annotated[Any, Option("MODEL[,MODEL…]", "--judge", "--judges-file")] = Field(
        default=None,
        exclude=True,
        description="Model that classifies what rules cannot decide: two apart, a third settles.",
    )
    responses: Annotated[Any, Option("FILE")] = Field(
        default=None, exclude=True, description="Answers that are there already."
    )
    repeats: int = Field(default=1, ge=1, le=1000, description="Rounds of asking.")
    sample: int | None = Field(default=None, ge=1, description="So many units, drawn by --seed.")
    seed: int = Field(default=0, description="Of the sample.")
    effort: Annotated[str | None, Option("LEVEL")] = Field(
        default=None, description="Reasoning effort of the targets; none sends none."
    )


class SessionConfig(JobConfig):
    """What `Panel.session` takes."""

    tags: Mapping[str, str] = Field(
        default={}, description="Names and values that run.json records, such as a commit."
    )


class HumansConfig(CheckedConfig):
    """How a file of human judgments is read."""

    layout: str = Field(default="auto", description="The tool the file is from.")
    columns: Annotated[str | Path | None, Option("FILE")] = Field(
        default=None, description="A column map (YAML); humans map --draft writes one."
    )
    column: Annotated[Mapping[str, str] | None, Option("OURS=THEIRS", "--column")] = Field(
        default=None,
        description="Another name for a column, such as rater_id=worker; repeatable.",
    )
    source_map: Annotated[str | Path | None, Option("FILE")] = Field(
        default=None, description="What blinded labels stood for: rater, prompt, label."
    )
    roster: Annotated[str | Path | None, Option("FILE")] = Field(
        default=None, description="Who may rate, such as Prolific's list."
    )
    criteria: Annotated[tuple[str, ...], Option("NAME[,NAME…]")] = Field(
        default=(), description="Only these criteria: in a wide table, columns."
    )
    missing: Annotated[tuple[str, ...], Option("CODE[,CODE…]")] = Field(
        default=(), description="What else stands for no rating, beside NA, NaN, null, …."
    )
    scale: Annotated[tuple[str, ...], Option("[NAME=]LOW:HIGH")] = Field(
        default=(),
        description="Scores outside are left out. NAME: the criterion's own scale; repeatable.",
    )
    pool: Annotated[str | None, Option("COLUMN")] = Field(
        default=None,
        description="Count raters with one value of this column as one: the mean of theirs.",
    )
    raters: Annotated[tuple[str, ...], Option("GLOB[,GLOB…]")] = Field(
        default=(), description="Only raters with such names."
    )
    unnamed_raters: bool = Field(
        default=False,
        description="Rater ids are places (first, second, third rating), not persons.",
    )


class AgreementConfig(CheckedConfig):
    """What `agreement` takes."""

    level: float = Field(default=0.95, gt=0, lt=1, description="Nominal coverage of intervals.")
    seed: int = Field(default=0, description="Of everything drawn.")
    ruler: Annotated[bool, Option(flag="--ruler")] = Field(
        default=False,
        description="Also fit the many-facet model: which people use part of the scale, and who is"
        " erratic.",
    )


class CalibrateConfig(AgreementConfig):
    """What `calibrate` takes."""

    epsilon: float = Field(
        default=0.2,
        ge=0,
        lt=1,
        description="Of the alt-test: .2 against experts, .15 skilled raters, .1 crowd workers.",
    )
    rated: Literal["random", "chosen"] | None = Field(
        default=None,
        description="How the rated prompts were taken from all: a random sample of them, or chosen."
        " Means of unrated responses are earned by a random sample only.",
    )
    cut: Annotated[tuple[str, ...], Option("CRITERION=[LABEL:]SCORE")] = Field(
        default=(),
        description="Where people gave labels and the panel scores: the score from which a response"
        " has the label. By default the best one, chosen out of fold.",
    )


Call = TypeVar("Call", bound=Callable[..., Any])


def takes_options(config: type[BaseModel]) -> Callable[[Call], Call]:
    """Gives a function of `**options` the parameters that a configuration has.

    `help()` and notebooks then show each option with its type, default and description, as
    `areopagus COMMAND --help` does.
    """

    def added(call: Call) -> Call:
        given = inspect.signature(call)
        own = [p for p in given.parameters.values() if p.kind is not p.VAR_KEYWORD]
        named = {p.name for p in own}
        fields = {name: i for name, i in config.model_fields.items() if name not in named}
        options = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=info.get_default(call_default_factory=True),
                annotation=info.annotation,
            )
            for name, info in fields.items()
        ]
        call.__signature__ = given.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
        told = "\n".join(f"    {name}: {info.description}" for name, info in fields.items())
        call.__doc__ = f"{inspect.cleandoc(call.__doc__ or '')}\n\nOptions:\n{told}\n"
        return call

    return added


def faults_of(
    error: ValidationError, where: str | None = None, *, names: Sequence[str] = ()
) -> list[InputFault]:
    """Pydantic's complaints as faults of an input.

    Args:
        error: the complaints.
        where: the input, such as a file; left out, each names its argument, marked as such.
        names: the arguments that there are, for whoever names another.
    """
    faults = []
    complaints = error.errors(include_url=False)
    in_lists = {item["loc"][:-1] for item in complaints if _is_entry(item["loc"])}
    for item in complaints:
        if item["type"] == "too_short" and item["loc"] in in_lists:
            continue  # for want of the entries that were refused, each with its own complaint
        place, field = where or "", [str(part) for part in item["loc"]]
        if where is None and _is_entry(item["loc"]):
            field.pop()  # whoever gives three names knows them by these, and not by numbers
        if where is None and len(field) > 1:
            place = f"`{field.pop(0)}`"
        told = item["msg"].removeprefix("Value error, ")
        if item["type"] == "literal_error":  # other values may be keys, and are never shown
            told = f"must be {item.get('ctx', {}).get('expected')}, got {shown(item['input'])}"
        if item["type"] == "extra_forbidden" and names:
            near = get_close_matches(str(item["loc"][-1]), names, n=1, cutoff=0.5)
            there = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(names)}"
            told = f"unknown argument; {there}"
        faults.append(InputFault(place, told, ".".join(field) or None))
    return faults


def _is_entry(loc: tuple[int | str, ...]) -> bool:
    """Whether an argument's entry is meant: (name, number)."""
    return len(loc) == 2 and isinstance(loc[1], int)
