"""Which column holds what: names known elsewhere, and the column map, which says the rest.

A YAML file with any of these parts (an unknown key is a fault):

    # a survey export, one row a rater
    layout: qualtrics            # auto, rows, scrub, qualtrics, limesurvey, mturk, label-studio,
                                 # argilla
    columns:                     # our name: their column
      rater_id: PROLIFIC_PID
    items:                       # one column, one rating: what it rates
      - {column: Q1_1, prompt_id: p1, response_id: p1-a, criterion: overall}
      - {column: Q1_2, prompt_id: p1, blinded_label: B, criterion: overall, kind: rank}
    codes:                       # text of an answer: number
      Strongly agree: 5

    # one row a rater x response, criteria as columns
    columns: {rater_id: worker, prompt_id: task, response_id: output}
    criteria: {clarity_1_7: conceptual_clarity, place: {criterion: overall, kind: rank}}

    # no header, one row a rater, one column a ranked item
    header: false                # the columns are then called "1", "2", …
    rater_from_row: true         # raters are called "row 1", "row 2", …
    item_columns: rest           # each further column is a response of that name
    kind: rank
    constants: {prompt_id: potatoes}

    # one row a rater and prompt, one column a blinded label and criterion
    columns_pattern: "{label}_{criterion}"   # {respondent}, {response}, {prompt}, {rater} as well
    key: {A: gpt-5, B: human}    # label: respondent; or a file, as --source-map

    # a ranking sheet: columns are places, cells are labels; ties as "A=B" or "A, B"
    place_columns: [best, next, worst]
    key: sheets/key.csv

    # two responses a row, and which is better: a, b, its name, tie
    columns: {rater_id: who, prompt_id: task, response_a: left, response_b: right, winner: pick}

    # a survey whose questions are named by a pattern, joined to a table with a row an item
    items: {pattern: "Q{item}_{criterion}", table: items.csv}   # item, prompt_id, response_id
    criteria: {"1": clarity, "2": {criterion: acceptable, kind: label}}

    # answers that know their item by an id only; the other columns stand in a table
    join: {table: tasks.csv, by: task_id}

    # one row an item, one column a rater
    columns: {response_id: Units}
    rater_columns: rest          # or a list of columns
    constants: {prompt_id: all}

    # what can be said of any file
    missing: [-99, don't know]   # cells of ratings that hold no rating, beside the usual NA, …
    scales: {clarity: "1:5", rest: "1:10"}
    ignore: [confidence, age]    # columns that are read as nothing
    pool: panel                  # raters with one value of this column count as one rater
    raters: places               # rater ids are places (first, second, third), not persons
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError

from ...errors import InputError, InputFault
from ...yaml_files import STRICT, read_document
from ..readers.cells import read_id
from ..readers.rows import Row
from ..types import OVERALL
from .layouts import LAYOUTS
from .match import read_scale
from .patterns import PLACES, names_of, pattern_faults

JudgmentKind = Literal["score", "rank", "label"]
"""What a column of judgments holds: as `table.Kind`, or labels (yes, no, any category)."""

RATER_PLACE = "rater_place"
"""A column of raters that are places (first, second, third rating), not persons."""

SYNONYMS: dict[str, tuple[str, ...]] = {
    "rater_id": (
        "rater_id", "rater", "judge_id", "annotator_id", "annotator", "worker_id", "workerid",
        "coder_id", "coder", "prolific_pid", "participant_id", "user_id", "judge", "user",
        RATER_PLACE,
    ),
    "prompt_id": ("prompt_id", "prompt", "doc_id", "document_id", "question_id", "task_id",
                  "question", "prompt_text"),
    "response_id": ("response_id", "true_id", "output_id", "item_id", "unit_id", "units", "unit",
                    "id"),
    "criterion": ("criterion", "dimension", "aspect", "attribute"),
    "kind": ("kind",),
    "value": ("value", "rating"),
    "score": ("score",),
    "rank": ("rank", "ranking"),
    "duration_s": ("duration_s", "duration", "duration_(in_seconds)", "lead_time",
                   "worktimeinseconds", "interviewtime", "time_s"),
    "time": ("time", "timestamp", "submitted_at", "created_at", "recordeddate", "submittime",
             "submitdate"),
    "comment": ("comment", "justification", "notes"),
    "item_type": ("item_type",),
    "item_role": ("item_role", "response_role"),
    "label": ("label", "category", "choice_label"),
    "response_a": ("response_a_id", "response_id_a", "response_a", "answer_a", "output_a",
                   "option_a", "option_a_output_id", "item_a", "left", "a"),
    "response_b": ("response_b_id", "response_id_b", "response_b", "answer_b", "output_b",
                   "option_b", "option_b_output_id", "item_b", "right", "b"),
    "source_a": ("source_a", "respondent_a", "model_a", "system_a"),
    "source_b": ("source_b", "respondent_b", "model_b", "system_b"),
    "winner": ("winner", "preferred", "preference", "better", "choice"),
    "blinded_label": ("blinded_label", "blind_label", "label"),
    "source": ("source", "true_source", "system_id", "system", "respondent_id"),
    "model": ("model", "judge_model"),
    "domain": ("domain",),
    "persona": ("persona", "perspective_id", "persona_id"),
    "status": ("status",),
    "abstained": ("abstained",),
    "response_length": ("response_length", "response_words", "n_words", "word_count",
                        "text_length"),
}  # fmt: skip
"""Our column to names as `plain_name` has them, the likeliest first."""

JUDGES_ONLY = ("persona", "status", "abstained", "response_length")
"""Columns that belong to stored judgments, not to human ones."""

_RATER_COLUMN = re.compile(
    r"(rater|judge|annotator|coder|expert|turker|worker|participant)[ _-]?\d+", re.IGNORECASE
)


def plain_name(name: str) -> str:
    """Returns a column's name in lower case, with one underscore between words."""
    return re.sub(r"[\s_-]+", "_", name.strip().lower())


def known_columns(found: Iterable[str], *, leaving: Iterable[str] = ()) -> dict[str, str]:
    """Returns our column to theirs, for those whose name is one we know.

    Args:
        found: the file's columns.
        leaving: our columns that are not to be guessed.
    """
    by_name: dict[str, str] = {}
    for name in found:
        by_name.setdefault(plain_name(name), name)
    left = set(leaving)
    guessed: dict[str, str] = {}
    for ours, names in SYNONYMS.items():
        theirs = next((by_name[name] for name in names if name in by_name), None)
        if theirs is not None and ours not in left:
            guessed[ours] = theirs
    return guessed


def rater_columns(found: Iterable[str]) -> tuple[str, ...]:
    """Returns the columns named for raters (Rater1, judge_2); none if it is only one."""
    names = tuple(name for name in found if _RATER_COLUMN.fullmatch(name.strip()))
    return names if len(names) > 1 else ()


def read_ids(
    rows: Iterable[Row], wanted: Collection[str], name: str, faults: list[InputFault]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Returns (line, our column to id) for each row; empty cells are left out.

    Args:
        rows: a table whose columns have known names.
        wanted: our columns.
        name: the table, for messages.
        faults: takes a fault for each cell that is no id.
    """
    for line, values in rows:
        found: dict[str, str] = {}
        columns = known_columns(values)
        for ours, theirs in ((ours, columns[ours]) for ours in wanted if ours in columns):
            try:
                text = read_id(values[theirs])
            except ValueError as error:
                faults.append(InputFault(f"{name}:{line}", str(error), field=theirs))
                continue
            if text is not None:
                found[ours] = text
        yield line, found


def _one_of(allowed: Collection[str]) -> AfterValidator:
    def check(name: str) -> str:
        if name not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return name

    return AfterValidator(check)


def _pattern(text: str) -> str:
    faults = pattern_faults(text)
    if faults:
        raise ValueError(faults[0])
    return text


def _response_pattern(text: str) -> str:
    unknown = [name for name in names_of(_pattern(text)) if name not in PLACES]
    if unknown:
        allowed = ", ".join(f"{{{name}}}" for name in PLACES)
        raise ValueError(f"must hold only {allowed} (others need a table of items)")
    return text


OwnColumn = Annotated[str, _one_of(SYNONYMS)]


def _scale(given: Any) -> Any:
    if isinstance(given, str):
        return read_scale(given)
    return tuple(given) if isinstance(given, list) else given


def _in_order(ends: tuple[float, float]) -> tuple[float, float]:
    if not ends[0] < ends[1]:
        raise ValueError("must be the lowest score, then the highest")
    return ends


Ends = Annotated[tuple[float, float], BeforeValidator(_scale), AfterValidator(_in_order)]
"""A scale, in a file "1:5" or [1, 5]."""


class Criterion(BaseModel):
    """What a column of ratings is."""

    model_config = STRICT
    criterion: str = OVERALL
    kind: JudgmentKind = "score"


class Item(BaseModel):
    """One column that holds one rating a row."""

    model_config = STRICT
    column: str
    criterion: str = OVERALL
    prompt_id: str | None = None
    response_id: str | None = None
    blinded_label: str | None = None
    kind: JudgmentKind = "score"


class ItemTable(BaseModel):
    """A table of items, and how the columns of a survey are named for them.

    Attributes:
        table: a file with a row an item: what the pattern names, prompt_id, and response_id,
            blinded_label or source; also criterion and kind.
        pattern: names in braces, of which `criterion` is the criterion and the others are columns
            of the table; without one, the table's `column` says which column it is.
    """

    model_config = STRICT
    table: str
    pattern: Annotated[str, AfterValidator(_pattern)] | None = None
    kind: JudgmentKind | None = None


class PatternOf(BaseModel):
    """A pattern of column names, with what its columns are where their names do not say it."""

    model_config = STRICT
    pattern: Annotated[str, AfterValidator(_response_pattern)]
    criterion: str | None = None
    kind: JudgmentKind | None = None


class Join(BaseModel):
    """A table of items that rows know by an id; `by` is the column that both have."""

    model_config = STRICT
    table: str
    by: str


class HumanColumns(BaseModel):
    """A column map; see the module's docstring for the file.

    Attributes:
        layout: where the file's own header leaves doubt.
        header: whether the first row names the columns.
        columns: our column to theirs.
        constants: our column to a value that holds for every row.
        criteria: their column to the criterion that it holds.
        items: their column to the response and criterion that it holds; or a table of items.
        columns_pattern: how columns are named for responses: "{label}_{criterion}".
        place_columns: columns whose cells name responses, from the first place on.
        key: blinded label to its respondent, or to a response id that holds "{prompt_id}"; or a
            file (see `side_tables.read_source_map`).
        join: a table of items, whose columns are added to the rows by an id that both have.
        item_columns: columns named for responses: a list, or "rest".
        rater_columns: columns named for raters: a list, or "rest".
        rater_from_row: whether each row is another, unnamed rater.
        kind: what values are, where nothing more particular says.
        codes: text of an answer to its number.
        missing: what stands for no rating, beside the usual words.
        scales: criterion, or "rest", to lowest and highest score.
        ignore: columns that are read as nothing.
        pool: the column whose values are counted as raters.
        raters: whether ids of raters name persons, or only places (first, second, third rating).
        standard_item_types: item types of the study itself; all others are calibration items.
    """

    model_config = STRICT
    layout: Annotated[str, _one_of(LAYOUTS)] = "auto"
    header: bool = True
    columns: dict[OwnColumn, str] = Field(default_factory=dict)
    constants: dict[OwnColumn, str] = Field(default_factory=dict)
    criteria: dict[str, str | Criterion] = Field(default_factory=dict)
    items: tuple[Item, ...] | ItemTable = ()
    columns_pattern: (
        Annotated[str, AfterValidator(_response_pattern)]
        | tuple[Annotated[str, AfterValidator(_response_pattern)] | PatternOf, ...]
    ) = ()
    place_columns: tuple[str, ...] = ()
    key: dict[str, str] | str = Field(default_factory=dict)
    join: Join | None = None
    item_columns: tuple[str, ...] | Literal["rest"] = ()
    rater_columns: tuple[str, ...] | Literal["rest"] = ()
    rater_from_row: bool = False
    kind: JudgmentKind = "score"
    codes: dict[str, float] = Field(default_factory=dict)
    missing: tuple[str | float, ...] = ()
    scales: dict[str, Ends] = Field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    pool: str | None = None
    raters: Literal["persons", "places"] = "persons"
    standard_item_types: tuple[str, ...] = ("standard", "regular", "main", "study")

    def numbers_of_codes(self) -> dict[str, float]:
        """Returns the text of an answer, in lower case, to its number."""
        return {text.strip().lower(): number for text, number in self.codes.items()}

    def with_columns(self, columns: Mapping[str, str]) -> HumanColumns:
        """Returns the map with further columns, our name to theirs, which go before its own.

        Raises:
            InputError: with every name that is none of ours.
        """
        wrong = [name for name in columns if name not in SYNONYMS]
        if wrong:
            allowed = ", ".join(SYNONYMS)
            raise InputError(
                InputFault("column map", f"must name one of {allowed}", name) for name in wrong
            )
        return self.model_copy(update={"columns": {**self.columns, **columns}})

    def patterns(self) -> tuple[PatternOf, ...]:
        """Returns the patterns of column names, one or several, in one form."""
        said = self.columns_pattern
        return tuple(
            one if isinstance(one, PatternOf) else PatternOf(pattern=one)
            for one in ((said,) if isinstance(said, str) else said)
        )

    def joining(self) -> tuple[Path, str] | None:
        """Returns the table of items to be joined, and the column by which."""
        return None if self.join is None else (Path(self.join.table), self.join.by)

    def beside(self, folder: Path) -> HumanColumns:
        """Returns the map with the files that it names as paths from the folder that it lies in."""
        changed: dict[str, Any] = {}
        if isinstance(self.key, str):
            changed["key"] = str(folder / self.key)
        if self.join is not None:
            joined = {"table": str(folder / self.join.table)}
            changed["join"] = self.join.model_copy(update=joined)
        if isinstance(self.items, ItemTable):
            table = str(folder / self.items.table)
            changed["items"] = self.items.model_copy(update={"table": table})
        return self.model_copy(update=changed) if changed else self


def read_column_map(given: str | Path | Mapping[str, Any] | HumanColumns | None) -> HumanColumns:
    """Returns the column map of a YAML file, or of a mapping.

    A mapping has the keys of the file, or is just our names to theirs
    (`{"rater_id": "worker"}`).

    Raises:
        InputError: with every fault of the map.
    """
    if given is None:
        return HumanColumns()
    if isinstance(given, HumanColumns):
        return given
    if isinstance(given, str | Path):
        path = Path(given)
        return read_document(path, HumanColumns, kind="column map").beside(path.parent)
    content: dict[str, Any] = dict(given)
    if content and not any(name in HumanColumns.model_fields for name in content):
        content = {"columns": content}
    try:
        return HumanColumns.model_validate(content)
    except ValidationError as error:
        raise InputError(
            InputFault(
                "column map",
                f"{detail['msg'].lower()}, got {str(detail['input'])[:60]!r}",
                field=".".join(str(part) for part in detail["loc"]),
            )
            for detail in error.errors()
        ) from error
