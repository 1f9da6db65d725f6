"""What YAML says of an audit, `audit.yaml`: names, columns, unit, outcomes, contrasts, tables.

From the definition come the estimates (`estimate.estimate`), the report (`document.document`) and
what the command line shows; everything else (asking, the ledger, the cost cap, dry run, streaming
tables, resuming) is the same for all. docs/guides/audits.md has the form of
the file, field by field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import (
    Annotated,
    Any,
    Literal,
    Self,
)

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from .answers_table import ColumnKind
from .dataset import Code, Text
from .languages import ENGLISH

DEFINITION_FILE = "audit.yaml"

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,60}$")]
_PLACE = re.compile(r"\{([a-z][a-z0-9_]*)\}")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class People(_Part):
    """A reading that people can check, in the words in which they are asked."""

    of: Name = Field(description="the column of the answers that holds it")
    name: str = Field(
        default="", description="what it is called where there are several; the column's name"
    )
    sheet: str = Field(
        default="",
        pattern=r"^[a-z0-9]*$",
        description="of several: which sheet it is on; those of one sheet ask people the same",
    )
    shown: Literal["answer", "judged"] = Field(
        default="answer",
        description="what people read: prompt and answer, or what a judge is shown of them and "
        "nothing else (built-in audits; others show the answer)",
    )
    question: str = Field(default="What does the answer say?", description="what they are asked")
    categories: Mapping[str, str] = Field(
        default={},
        description='value to what it means, or ""; left out: those of an agreement on the column, '
        "else people write a number",
    )
    rates: Mapping[Name, tuple[str, ...]] = Field(
        default={},
        description="outcome, read from another column, to the categories that it is the share of; "
        "outcomes of the column itself with `values` need no mention",
    )
    among: Mapping[Name, tuple[str, ...]] = Field(
        default={},
        description="outcome to the categories among which it is a share: answers of others count "
        "neither for it nor against it",
    )
    other: str = Field(
        default="",
        description="the category of an answer that was classified and holds nothing in the column",
    )


class Outcome(_Part):
    """One thing that is measured of every answer: a share of answers, or a mean."""

    title: Text = Field(description="head of its column: 'bias rate'")
    in_words: str = Field(
        default="",
        description="what it is, in a sentence: 'the share of choices that favour the higher "
        "class'; the title if empty",
    )
    of: Name | None = Field(
        default=None,
        description="the column of the answers that it is read from; left out: the audit's class "
        "estimates it, into the table `outcomes`",
    )
    values: tuple[str, ...] = Field(
        default=(),
        description="the outcome is 1 where the column holds one of these, else 0; left out: the "
        "column's own number, or true as 1 and false as 0",
    )
    any_value: bool = Field(
        default=False, description="the outcome is 1 where the column holds anything, else 0"
    )
    among: tuple[Name, ...] = Field(
        default=(), description="only answers that have a value in one of these columns"
    )
    scale: tuple[float, float] = Field(
        default=(0.0, 1.0), description="its ends; 0 to 1 is a share of answers"
    )
    note: str = Field(default="", description="how it is read, a sentence")
    neutral: float | None = Field(
        default=None, description="the value that stands for no preference, such as .5"
    )
    above: str = Field(default="", description="what a model does above it: 'favours the rich'")
    below: str = Field(default="", description="what a model does below it")
    undecided: str = Field(
        default="is not shown to take a side", description="what is said where neither is shown"
    )
    over_answers: bool = Field(
        default=False, description="Wilson's interval over answers beside that over units"
    )
    bounds: bool = Field(
        default=False,
        description="also the value if all unread answers were at either end of the scale",
    )
    parts: bool = Field(default=False, description="also by part of the prompts, see `by`")
    headline: bool = Field(
        default=False, description="said first, though it is not the first of the outcomes"
    )
    summary: bool = Field(
        default=False,
        description="shown in the summary, as the first outcome is, and those with `neutral`",
    )
    compare: bool = Field(default=False, description="also tests of whether models differ in it")
    worse: Literal["more", "less", ""] = Field(
        default="",
        description="what is worse: more of it or less; left out, or with `neutral` "
        "inside the scale: neither, or what is further from neutral",
    )
    digits: int = 2

    @model_validator(mode="after")
    def _neutral_is_inside(self) -> Self:
        low, high = self.scale
        if self.of and self.neutral is not None and not low < self.neutral < high:
            raise ValueError(
                f"neutral must lie between the ends of the scale, {low:g} and {high:g}"
            )
        return self

    @property
    def said(self) -> str:
        """What it is, in a sentence."""
        return self.in_words or self.title

    @property
    def is_share(self) -> bool:
        """Whether it is a share of answers."""
        return self.scale == (0.0, 1.0)

    @property
    def is_difference(self) -> bool:
        """Whether it is a difference that the audit's class makes, which has a sign."""
        low, high = self.scale
        return low == -high and not self.of


class Shares(_Part):
    """The shares of the values of a column."""

    title: Text
    of: Name
    levels: Mapping[str, str] = Field(description="value to what it is called")
    note: str = ""


class Change(_Part):
    """How often an answer changes with one column, all else the same."""

    title: Text
    of: Name = Field(description="the column whose value changes")
    across: Name = Field(description="the column that differs between the two prompts")
    within: tuple[Name, ...] = Field(description="the columns that are the same in both")
    unit: str = Field(default="question", description="what two such prompts are called")
    note: str = ""
    lean: tuple[str, ...] = Field(
        default=(),
        description="values of the column whose share is taken in both prompts: which way it goes",
    )
    first: str = Field(
        default="", description="with lean: the value of `across` less whose other it is taken"
    )
    lean_title: str = Field(default="lean", description="what that difference is called")


class Contrast(_Part):
    """Groups less a reference, on prompts that are alike but for the group; see `contrasts`."""

    title: Text = Field(description="what the difference is called: 'bias'")
    of: Name = Field(description="an outcome; or a column of numbers, or of true and false")
    mean_title: str = Field(default="mean", description="what the mean of a group is called")
    factor: tuple[Name, ...] = Field(
        min_length=1, max_length=2,
        description="the column that holds the group; or that of the kind of group, then the group",
    )  # fmt: skip
    reference: Mapping[Name, tuple[str, ...]] = Field(
        description="with what groups are compared: rows that hold one of these in every column"
    )
    reference_name: str = Field(
        default="the reference", description="what it is called in sentences: 'the control'"
    )
    references: Mapping[str, str] = Field(
        default={}, description="kind of group to its reference, where there are several"
    )
    match: tuple[Name, ...] = Field(
        default=(),
        description="columns that are alike in the two prompts, beside the unit; left out where "
        "YAML makes the prompts: all others",
    )
    average: tuple[Name, ...] = Field(
        default=(), description="columns over which answers are averaged before they are matched"
    )
    by: tuple[Name, ...] = Field(
        default=(), description="also within each value of these: of `average`, or of the unit"
    )
    scale: tuple[float, float] = Field(
        default=(0.0, 1.0), description="its ends, for the bounds of unread answers"
    )
    margin: float | None = Field(
        default=None, gt=0, description="within which a group counts as like the reference"
    )
    points: str = Field(default="", description="of what it is measured in: 'points of 1–100'")
    more: str = Field(
        default="", description="what a difference above 0 means: 'expected to help more'"
    )
    less: str = Field(default="", description="what one below 0 means")
    note: str = ""
    digits: int = 2


class Differences(_Part):
    """Differences between two kinds of people that an audit's class estimates.

    They stand in a table of estimates of this name, measure `difference`, key `factor` "A - B".
    """

    title: Text = Field(description="what a difference is of: 'share taken for well paid'")
    more: Text = Field(description="what those with more of it are: 'taken for well paid more'")
    named: Mapping[str, str] = Field(default={}, description="what A and B are called")
    summary: bool = Field(
        default=True, description="drawn in the summary; else its table stands in the details"
    )
    digits: int = 2

    def sides(self, factor: str) -> tuple[str, str]:
        """What A and B of "A - B" are called."""
        first, _, second = factor.partition(" - ")
        return self.named.get(first, first), self.named.get(second, second)


class Agreement(_Part):
    """A key of the judges' replies on which two of them agree or do not."""

    title: Text
    of: Name = Field(description="the key")
    levels: tuple[str, ...] = Field(description="all values that it can have")
    values: tuple[str, ...] = Field(
        default=(), description="looked at is only whether the value is one of these"
    )


class Case(_Part):
    """One situation that is asked about, with places for the factors."""

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,80}$")]
    text: Text = Field(description="with places such as {applicant}, filled from the factors")
    columns: Mapping[Name, Text] = Field(
        default={},
        description="what kind of case it is, as columns of its own: {about: tenants}; all cases "
        "have the same",
    )


class Read(_Part):
    """How answers are asked for and read; give options or a number."""

    options: tuple[Text, ...] = Field(
        default=(), description="the answer is one of these; it stands in the column `answer`"
    )
    orders: Literal["given", "both"] = Field(
        default="both",
        description="both: every prompt names the options in their order, and again turned round; "
        "the column `order` says which",
    )
    number: tuple[int, int] | None = Field(
        default=None, description="the answer is a whole number from the first to the second"
    )
    judge: str = Field(
        default="",
        description="what judges are told where rules cannot read the answer; empty: the usual",
    )

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if bool(self.options) == (self.number is not None):
            raise ValueError("must hold options, or a number, and not both")
        if len(self.options) == 1 or len(set(self.options)) < len(self.options):
            raise ValueError("must hold two options at least, no two alike")
        return self


class MeasureColumn(_Part):
    """A column of figures; see `reports.views.Measure`."""

    name: str
    title: str = ""
    field: Literal[
        "estimate", "value", "p", "p_adjusted", "n", "n_of", "se", "verdict", "needed", "method"
    ] = "estimate"
    digits: int = 2
    is_signed: bool = False
    is_percent: bool = False
    is_count: bool = False


class ChartView(_Part):
    """A drawing of one measure of a table; see `reports.document.Chart`."""

    kind: Literal["forest", "heatmap", "bars"]
    measure: str
    rows: str = Field(description="the key whose values are its rows")
    columns: str = Field(default="", description="the key whose values are its columns")
    facets: str = Field(default="", description="the key whose values are drawings side by side")
    title: Text
    caption: str = ""
    axis: str = ""
    scale: tuple[float, float] | None = None
    reference: float | None = None
    is_diverging: bool = False
    hollow: tuple[str, ...] = Field(
        default=(), description="columns whose markers are open, such as those of what is not shown"
    )
    is_ranked: bool = Field(
        default=False, description="the rows furthest from the reference, or from 0, stand first"
    )
    digits: int = 2


class TableView(_Part):
    """A table, or a drawing, of estimates that an audit makes itself."""

    table: str = Field(description="the table of estimates")
    section: Text = Field(description="heading of the section that it stands in")
    caption: str = ""
    keys: Mapping[str, str] = Field(default={}, description="key column to its head")
    measures: tuple[MeasureColumn, ...] = ()
    where: Mapping[str, str | None] = Field(default={}, description="only rows with these keys")
    each: Mapping[str, Mapping[str, str]] = Field(
        default={},
        max_length=1,
        description="one such table for each value of a key column; what the value is called "
        "stands for {each} in section, caption and titles",
    )
    audience: Literal["summary", "detail", "appendix"] = "detail"
    chart: ChartView | None = None

    @property
    def one_by_one(self) -> tuple[TableView, ...]:
        """The tables that it stands for."""
        plain = self.model_copy(update={"each": {}})
        return tuple(
            _named(plain, said).model_copy(update={"where": {**self.where, column: value}})
            for column, values in self.each.items()
            for value, said in values.items()
        ) or (self,)


def _named(view: Any, said: str) -> Any:
    """A part of a definition with its texts filled in."""
    if isinstance(view, str):
        return view.replace("{each}", said)
    if isinstance(view, tuple):
        return tuple(_named(one, said) for one in view)
    if isinstance(view, BaseModel):
        return view.model_copy(update={name: _named(value, said) for name, value in view})
    return view


class Definition(_Part):
    """What an audit is, as far as YAML can say it."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,60}$", description="as in `areopagus audit NAME`")
    title: Text = Field(description="heading of its report")
    about: Text = Field(description="what it finds out, in one line")
    source: str = Field(default="", description="the paper it follows")
    warning: str = Field(
        default="", description="a sentence about offensive content, shown before and in results"
    )
    language: Code = Field(
        default=ENGLISH,
        description="code of the language of its material, whose rules read the answers: de",
    )
    also_in: tuple[Code, ...] = Field(
        default=(), description="other languages in which some of its own material exists"
    )
    asked_together: str = Field(
        default="prompt",
        description="what is asked, and sampled, together: 'question', 'scenario'",
    )
    item_columns: Mapping[Name, ColumnKind] = Field(
        default={}, description="columns of the answers that say what a prompt is"
    )
    value_columns: Mapping[Name, ColumnKind] = Field(
        default={}, description="columns of the answers that say what was read in them"
    )
    factors: Mapping[Name, Mapping[str, Text]] = Field(
        default={},
        description="what differs between prompts: column to the values' ids and texts; every case "
        "is asked with every combination",
    )
    material: tuple[Case, ...] = Field(default=(), description="what is asked about")
    ask: str = Field(
        default="",
        description="the prompt: {text} is the case's text, other places are factors; without it "
        "the audit's class makes the prompts",
    )
    read: Read | None = Field(default=None, description="how answers to it are read")
    unit: Name = Field(
        default="unit",
        description="the column whose values are independent: intervals and tests are over these",
    )
    unit_name: str = Field(default="", description="what one is called; the column's name if empty")
    crossed: tuple[Name, ...] = Field(
        default=(),
        description="columns that hold what stands in prompts of several units, such as the two "
        "markers of a prompt: intervals of outcomes are over units and over these; tests between "
        "models are over units alone",
    )
    outcomes: Mapping[Name, Outcome] = {}
    shares: Mapping[Name, Shares] = {}
    changes: Mapping[Name, Change] = {}
    contrasts: Mapping[Name, Contrast] = {}
    differences: Mapping[Name, Differences] = {}
    by: tuple[tuple[Name, ...], ...] = Field(
        default=(), description="columns, alone or crossed, by which prompts are taken apart"
    )
    named: Mapping[Name, str] = Field(default={}, description="column to what reports call it")
    agreement: Mapping[Name, Agreement] = {}
    people: People | tuple[People, ...] | str = Field(
        default="",
        description="the reading that people can check, or its column alone; or several",
    )
    tables: tuple[TableView, ...] = Field(
        default=(), description="of the estimates that its class makes"
    )
    takes_judges: bool = Field(
        default=False, description="whether judges have anything to do in it"
    )
    answer_tokens: int = Field(default=4_000, description="most tokens of an answer")
    likely_answer_words: int = Field(default=60, description="about how long an answer is")
    effort: str | None = Field(default=None, description="reasoning effort asked of the targets")

    @property
    def read_outcomes(self) -> dict[str, Outcome]:
        """The outcomes that are read from a column of the answers."""
        return {name: one for name, one in self.outcomes.items() if one.of is not None}

    @property
    def case_columns(self) -> Mapping[str, str]:
        """The columns that the cases have of their own, by those of the first."""
        return self.material[0].columns if self.material else {}

    @property
    def reads_answers(self) -> bool:
        """Whether anything is estimated from columns of the answers, and not by the class alone."""
        return any((self.read_outcomes, self.shares, self.changes, self.contrasts, self.agreement))

    @property
    def table_views(self) -> tuple[TableView, ...]:
        """The tables of what the class estimates, one by one."""
        return tuple(one for table in self.tables for one in table.one_by_one)

    @property
    def for_people(self) -> tuple[People, ...]:
        """The readings that people can check."""
        if isinstance(self.people, str):
            return (People(of=self.people),) if self.people else ()
        return self.people if isinstance(self.people, tuple) else (self.people,)

    @property
    def unit_word(self) -> str:
        """What one of the independent units is called."""
        return self.unit_name or self.unit.replace("_", " ")

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.ask and (self.read is None or not self.material):
            raise ValueError("ask goes with read and material")
        own = {"case", "order", "answer", "text"}
        if taken := own & self.factors.keys():
            raise ValueError(f"factors: {', '.join(sorted(taken))} is a column of its own")
        if taken := (own | self.factors.keys()) & self.case_columns.keys():
            raise ValueError(f"columns: {', '.join(sorted(taken))} is a column already")
        if any(case.columns.keys() != self.case_columns.keys() for case in self.material):
            raise ValueError("all cases must have the same columns")
        places = {"text", *self.factors}
        texts = [self.ask, *(case.text for case in self.material)]
        if unknown := sorted({one for text in texts for one in _PLACE.findall(text)} - places):
            raise ValueError(f"no factor is called {', '.join(unknown)}")
        return self

    @model_validator(mode="after")
    def _columns_exist(self) -> Self:
        known = {"unit", "item_id", *self.item_columns, *self.value_columns}
        if self.ask:
            known |= {"case", "order", "answer", *self.factors, *self.case_columns}
        used = {self.unit: "unit", **dict.fromkeys(self.crossed, "crossed")}
        used |= {column: "by" for crossed in self.by for column in crossed}
        for name, outcome in self.outcomes.items():
            read = (outcome.of, *outcome.among) if outcome.of else outcome.among
            used |= dict.fromkeys(read, f"outcomes.{name}")
        used |= {shares.of: f"shares.{name}" for name, shares in self.shares.items()}
        for name, change in self.changes.items():
            used |= dict.fromkeys((change.of, change.across, *change.within), f"changes.{name}")
        for name, contrast in self.contrasts.items():
            of = () if contrast.of in self.outcomes else (contrast.of,)
            columns = (*of, *contrast.factor, *contrast.reference, *contrast.match)
            columns += (*contrast.average, *contrast.by)
            used |= dict.fromkeys(columns, f"contrasts.{name}")
        for people in self.for_people:
            used |= {people.of: "people"}
            if unnamed := sorted({*people.rates, *people.among} - set(self.outcomes)):
                raise ValueError(f"people.rates: no outcome is called {', '.join(unnamed)}")
        if unknown := [
            f"{where}: no column is called {c!r}" for c, where in used.items() if c not in known
        ]:
            raise ValueError("; ".join(unknown))
        return self
