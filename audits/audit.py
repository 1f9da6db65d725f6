"""What an audit's class does: items, readers of answers, what judges are asked, own estimators.

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

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from ..errors import InputError
from ..experiment.ask import ModelAnswer
from ..graphs.adjudication import SLOTS, JudgeQuestion, Ruling
from ..judges.models.backend import Backend
from ..yaml_files import read_document
from .answers_table import AnswersTable
from .dataset import language_of_files
from .definition import DEFINITION_FILE, Definition
from .languages import Language, find_language, known_languages, no_rules

if TYPE_CHECKING:
    import pandas as pd

    from ..records.estimates import Estimates

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

    material_options: ClassVar[tuple[str, ...]] = ()
    """Which fields name files with material, which may say their `language`."""

    language: str | None = Field(
        default=None,
        description="code of the language that is asked in, or a file with its words; that of the "
        "material by default",
    )
    _language: Language | None = PrivateAttr(default=None)

    def language_for(self, definition: Definition) -> Language:
        """The language that is asked in: the one named, that of the files, that of the audit.

        Raises:
            InputError: files of two languages; a language without rules, with what to write; one
                that the audit has no material in.
        """
        if self._language is None:
            self._language = self._found(definition)
        return self._language

    def _found(self, definition: Definition) -> Language:
        given: list[str] = []
        for name in self.material_options:
            value = getattr(self, name)
            given += [value] if isinstance(value, str) else value or ()
        named = language_of_files(given)
        if self.language is not None:
            found = find_language(self.language)
        else:
            code, where = named or (definition.language, definition.name)
            if code not in known_languages():
                raise no_rules(code, where)
            found = find_language(code)
        own = (definition.language, *definition.also_in)
        if found.id not in own and not given:
            raise InputError(
                f"{definition.name} has no material of its own in {found.id!r}, but in "
                f"{', '.join(own)}",
                hint=_own_files(self.material_options),
            )
        return found


def _own_files(options: Sequence[str]) -> str | None:
    named = ", ".join(f"`{name}`" for name in options)
    return f"Name files of your own in this language: {named}." if named else None


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


def by_judge(ruling: Ruling, said: Callable[[Mapping[str, object]], str]) -> dict[str, Cell]:
    """What each judge said that could be read, as the columns judge_1 to judge_3."""
    return {
        f"judge_{SLOTS.index(vote.slot) + 1}": said(vote.value)
        for vote in ruling.votes
        if vote.status == "read"
    }


class Audit(ABC, Generic[OptionsT]):
    """An audit. Subclasses hold no state: everything is in definition, items and options.

    Attributes:
        definition: what YAML says of it: the `audit.yaml` beside its module, unless it is given.
        options_model: its options.
        table_files: names of the files that `write_tables` leaves in the folder.
    """

    options_model: ClassVar[type[AuditOptions]] = AuditOptions
    table_files: ClassVar[tuple[str, ...]] = ()

    @cached_property
    def definition(self) -> Definition:
        """What YAML says of it.

        Raises:
            InputError: with every fault of the file.
        """
        packages = [sys.modules[one.__module__].__package__ for one in type(self).__mro__]
        places = [resources.files(one).joinpath(DEFINITION_FILE) for one in packages if one]
        file = next((place for place in places if place.is_file()), places[0])
        return read_document(file, Definition, kind="audit")

    def defined(self, options: OptionsT) -> Definition:
        """The definition as these options have it; by default as it is."""
        return self.definition

    @abstractmethod
    def items(self, options: OptionsT) -> Iterator[AuditItem]:
        """Every item, lazily, in an order that only options and data decide.

        It is called several times, and each time must give the same.

        Raises:
            InputError: with all that is wrong in data files; before anything is spent.
        """

    def language(self, options: OptionsT) -> Language:
        """The words in which is asked, and by which answers are read.

        Raises:
            InputError: see `AuditOptions.language_for`.
        """
        return options.language_for(self.definition)

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

    def needs_judges(self, options: OptionsT) -> str:
        """The option, with its value, that leaves every answer to judges; "" where none does."""
        return ""

    def heard(self, item: AuditItem, reading: Reading, ruling: Ruling) -> Mapping[str, Cell]:
        """Values that single votes give, whatever the judges came to; `ruled` finds them there."""
        return {}

    def ruled(
        self, item: AuditItem, answer: str, reading: Reading, ruling: Ruling, options: OptionsT
    ) -> Reading:
        """The reading where judges came to a value; by default the keys that are value columns."""
        columns = self.definition.value_columns
        values = {key: item for key, item in ruling.value.items() if key in columns}
        return Reading("classified", {**reading.values, **values})

    def own_estimates(self, answers: AnswersTable, options: OptionsT) -> Estimates | None:
        """Figures that the definition cannot name; `Definition.tables` says how they are shown."""
        return None

    def limitations(self, estimates: pd.DataFrame, options: OptionsT) -> Sequence[str]:
        """What a reader of these figures has to know first, as sentences."""
        return ()

    def labels(self, options: OptionsT) -> Mapping[str, Mapping[str, str]]:
        """Column to what its values are called in reports; others stand as they are."""
        return {}

    def write_tables(self, table: AnswersTable, options: OptionsT) -> None:
        """Writes further tables (`table_files`) into `table.folder`, by `records.replaced`.

        Called once after the estimates; what grows with the number of items is a stream.

        Raises:
            StoreError: the folder cannot be written.
        """
        return

    def likely_words(self, options: OptionsT) -> int:
        """About how many words an answer has with these options, for dry runs."""
        return self.definition.likely_answer_words

    def notices(self, options: OptionsT) -> Sequence[str]:
        """What a person should know before anything is spent."""
        return ()
