"""What an audit is: items, how to ask, how to read, what judges are asked, what to estimate.

An audit is one folder with an object `AUDIT`; everything else (asking, the ledger, the cost cap,
dry run, streaming tables, resuming, the command line) is the same for all. A minimal one:

    class CoinOptions(AuditOptions):
        sides: int = Field(default=2, description="sides of the coin")

    class Coin(Audit[CoinOptions]):
        name, title, about = "coin", "Coin audit", "whether a model prefers heads"
        options_model = CoinOptions
        item_columns = {"order": "text"}
        value_columns = {"side": "text"}

        def items(self, options):
            for order in (("heads", "tails"), ("tails", "heads")):
                ask = f"Name a side of a coin.\n\n{lettered(order)}\n\n{one_of('A', 'B')}"
                yield AuditItem(f"coin|{order[0]}", ask, {"order": order[0]}, unit="coin")

        def read(self, item, answer, options):
            letter = read_option(answer.text, ("A", "B"))
            return letter.as_reading("side")

        def estimate(self, table, options): …      # a dataclass whose numbers are `Number`s
        def lines(self, figures, options): …       # text of at most 80 columns

    AUDIT = Coin()

What happens to a planned asking ends as exactly one status:

    classified     there is a value: by rule, or by judges
    unclassified   answered, but neither rule nor judges came to a value (the reason says why)
    refused        the target declined to answer
    unreadable     answered in a form that cannot be read at all
    empty          a reply without text
    failed         no reply came, after the retries that made sense
    not_asked      the cost cap, an interruption, or no response supplied for it

Whether a refusal is a finding with a value of its own (a category) or a status is the audit's to
say: `read` sees every reply, the provider's refusals and empty ones included.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict

from ..experiment.ask import ModelAnswer
from ..graphs.adjudication import JudgeQuestion, JudgeVote, Ruling
from ..judges.models.backend import Backend
from .answers_table import AnswersTable, ColumnKind

if TYPE_CHECKING:
    from ..reports.document import Section

Cell = str | int | float | bool | None
"""A value of a column; None is missing."""

ReadingStatus = Literal["classified", "unclassified", "refused", "unreadable", "empty"]

AnswerStatus = Literal[
    "classified", "unclassified", "refused", "unreadable", "empty", "failed", "not_asked"
]
ANSWER_STATUSES: tuple[AnswerStatus, ...] = get_args(AnswerStatus)


class AuditOptions(BaseModel):
    """Options of an audit; each field becomes an option of the command line.

    Fields are bool, int, float, str, a Literal of texts, any of these or None, or a tuple of
    texts; each has a default and a description, which is its help.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


ASK_TEMPLATE = "audit-ask-1"

OptionsT = TypeVar("OptionsT", bound=AuditOptions)


@dataclass(frozen=True, slots=True)
class AuditItem:
    """One thing to ask.

    Attributes:
        item_id: unique in the audit, the same for the same options and data.
        prompt: the user turn, complete.
        fields: the item's values of `Audit.item_columns`.
        unit: what items belong together by design (two orders of one question, a group and its
            control): drawn together by `--sample`, and the cluster of the estimators. The item's
            id where left empty. Items of one unit follow each other.
        repeats: askings of this item in one round; `--repeats` multiplies them.
    """

    item_id: str
    prompt: str
    fields: Mapping[str, Cell] = field(default_factory=dict)
    unit: str = ""
    repeats: int = 1

    @property
    def cluster(self) -> str:
        """The unit, or the item where it stands alone."""
        return self.unit or self.item_id


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says.

    Attributes:
        status: `classified` with values; `unclassified` goes to the judges where there are any;
            the others end here.
        values: of `Audit.value_columns`; a column that is left out is missing.
        reason: a few words for what is not classified; a code, so that reasons can be counted.
    """

    status: ReadingStatus
    values: Mapping[str, Cell] = field(default_factory=dict)
    reason: str = ""


class Audit(ABC, Generic[OptionsT]):
    """The definition of an audit. Subclasses hold no state: everything is in items and options.

    Attributes:
        name: as in `areopagus audit NAME`; small letters and hyphens.
        title: heading of its report.
        about: what it finds out, in one line.
        source: the paper it follows.
        warning: a sentence about offensive content, where it is due; shown before and in results.
        options_model: its options.
        item_columns: columns that `AuditItem.fields` fill.
        value_columns: columns that `Reading.values` fill.
        unit_name: what `AuditItem.unit` is, in the singular: "question", "scenario".
        takes_judges: whether judges have anything to do in it.
        answer_tokens: most tokens of an answer, reasoning included, unless a target's settings
            say otherwise.
        likely_answer_words: about how long an answer is, for estimates.
        effort: reasoning effort asked of the targets; None leaves it to the model.
        table_files: names of the files that `write_tables` leaves in the folder.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    source: ClassVar[str] = ""
    warning: ClassVar[str] = ""
    options_model: ClassVar[type[AuditOptions]] = AuditOptions
    item_columns: ClassVar[Mapping[str, ColumnKind]] = {}
    value_columns: ClassVar[Mapping[str, ColumnKind]] = {}
    unit_name: ClassVar[str] = "prompt"
    takes_judges: ClassVar[bool] = False
    answer_tokens: ClassVar[int] = 4_000
    likely_answer_words: ClassVar[int] = 60
    effort: ClassVar[str | None] = None
    table_files: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def items(self, options: OptionsT) -> Iterator[AuditItem]:
        """Every item, lazily, in an order that only options and data decide.

        It is called several times, and each time must give the same.

        Raises:
            InputError: with all that is wrong in data files; before anything is spent.
        """

    def targets(self, backends: tuple[Backend, ...], options: OptionsT) -> tuple[Backend, ...]:
        """The models as this audit asks them; by default as they are, with a bare user turn.

        An audit that asks in another way (for log-probabilities of its prompts, say) wraps each in
        a backend of its own, whose `send` puts what it found into the reply's text as `read`
        expects it. It then names an `ask_template` of its own, so that the ledger keeps its
        replies apart from chat replies to the same prompts.

        Raises:
            InputError: a model that cannot be asked so.
        """
        return backends

    def ask_template(self, options: OptionsT) -> str:
        """Under which version of asking the calls stand in the ledger; part of their key."""
        return ASK_TEMPLATE

    @abstractmethod
    def read(self, item: AuditItem, answer: ModelAnswer, options: OptionsT) -> Reading:
        """What rules make of a reply; `answer.status` is `answered`, `empty` or `refused`."""

    def question(
        self, item: AuditItem, answer: str, reading: Reading, options: OptionsT
    ) -> JudgeQuestion | None:
        """What judges are asked about an answer that rules left unclassified; None: nothing."""
        return None

    def ruled(
        self, item: AuditItem, answer: str, reading: Reading, ruling: Ruling, options: OptionsT
    ) -> Reading:
        """The reading after the judges; by default the reply's keys that are value columns.

        It is called whatever the ruling's outcome. A ruling without a value must not become one.
        """
        if not ruling.is_decided:
            return Reading("unclassified", reading.values, f"judges: {ruling.outcome}")
        values = {key: item for key, item in ruling.value.items() if key in self.value_columns}
        return Reading("classified", {**reading.values, **values})

    @abstractmethod
    def estimate(self, table: AnswersTable, options: OptionsT) -> Any:
        """The figures: a dataclass tree whose numbers are `Number`s, made JSON by `as_json`."""

    def write_tables(self, table: AnswersTable, options: OptionsT) -> None:
        """Writes further tables (`table_files`) into `table.folder`, by `records.replaced`.

        Called once after `estimate`; what grows with the number of items is written as a stream.

        Raises:
            StoreError: the folder cannot be written.
        """
        return

    @abstractmethod
    def lines(self, figures: Any, options: OptionsT) -> list[str]:
        """The report as text of at most 80 columns, without title, warning and counts."""

    def draw(self, folder: Path, figures: Any, options: OptionsT) -> Sequence[tuple[str, str]]:
        """Draws PNG and SVG pictures into the folder, by `reports.chart_style`.

        Returns:
            Name (of NAME.png and NAME.svg) and caption of each; empty where there are none.
        """
        return ()

    def sections(self, figures: Any, options: OptionsT) -> Sequence[Section]:
        """Parts of the report page (see `reports.document`) before its pictures and its numbers.

        The page has the counts by status, the pictures and every number of the figures anyway.
        """
        return ()

    def likely_words(self, options: OptionsT) -> int:
        """About how many words an answer has with these options, for estimates."""
        return self.likely_answer_words

    def notices(self, options: OptionsT) -> Sequence[str]:
        """What a person should know before anything is spent."""
        return ()


__all__ = [
    "ANSWER_STATUSES",
    "AnswerStatus",
    "Audit",
    "AuditItem",
    "AuditOptions",
    "Cell",
    "JudgeQuestion",
    "JudgeVote",
    "OptionsT",
    "Reading",
    "ReadingStatus",
    "Ruling",
]
