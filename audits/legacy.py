"""The form of the first audits, until each has a definition: figures and pages of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .answers_table import AnswersTable, ColumnKind
from .definition import Audit, Definition, OptionsT

if TYPE_CHECKING:
    from ..reports.document import Section


class LegacyAudit(Audit[OptionsT]):
    """An audit whose figures, text and page are its own."""

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    source: ClassVar[str] = ""
    warning: ClassVar[str] = ""
    item_columns: ClassVar[Mapping[str, ColumnKind]] = {}
    value_columns: ClassVar[Mapping[str, ColumnKind]] = {}
    unit_name: ClassVar[str] = "prompt"
    takes_judges: ClassVar[bool] = False
    answer_tokens: ClassVar[int] = 4_000
    likely_answer_words: ClassVar[int] = 60

    @cached_property
    def definition(self) -> Definition:
        """The names of the class."""
        return Definition(
            name=self.name,
            title=self.title,
            about=self.about,
            source=self.source,
            warning=self.warning,
            asked_together=self.unit_name,
            item_columns=self.item_columns,
            value_columns=self.value_columns,
            takes_judges=self.takes_judges,
            answer_tokens=self.answer_tokens,
            likely_answer_words=self.likely_answer_words,
        )

    @abstractmethod
    def estimate(self, table: AnswersTable, options: OptionsT) -> Any:
        """The figures: a dataclass tree whose numbers are `Estimate`s."""

    @abstractmethod
    def lines(self, figures: Any, options: OptionsT) -> list[str]:
        """The report as text of at most 80 columns, without title, warning and counts."""

    def draw(self, folder: Path, figures: Any, options: OptionsT) -> Sequence[tuple[str, str]]:
        """Draws pictures into the folder; name and caption of each."""
        return ()

    def sections(self, figures: Any, options: OptionsT) -> Sequence[Section]:
        """Parts of the report page before its pictures and its numbers."""
        return ()
