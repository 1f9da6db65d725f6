"""Which columns of a user's table are ours, by the names that such columns usually have.

Case, spaces, underscores and hyphens do not count: `Prompt ID` is `prompt_id`. Our own name wins
over its other spellings, and those win over `SYNONYMS`. Two candidates of the same rank are a
fault, as nobody can tell which is meant.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ...errors import InputFault
from ...formats import listed_all
from ..chat import prompt_text, response_text
from .cells import is_missing, read_id

SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "prompt_text": ("prompt", "question", "question_text", "input", "input_text", "instruction",
                    "query"),
    "response_text": ("response", "answer", "answer_text", "output", "output_text", "completion",
                      "reply", "generation", "generated_text", "prediction", "model_response",
                      "model_answer", "model_output"),
    "respondent_id": ("respondent", "model", "model_name", "model_id", "system", "system_name",
                      "system_id"),
    "prompt_id": ("question_id", "input_id", "instruction_id"),
    "response_id": ("answer_id", "output_id", "completion_id"),
    "item_id": ("item", "prompt_id"),
}  # fmt: skip
"""Our column to the names that others use for it. A name that may mean two things, such as `answer`
for a reference answer, is here as well: beside a second candidate it is refused, not guessed."""

ID: Final = "id"
"""Read as the column that must differ from row to row, if its values do."""

_ORDER: Final = ("prompt_text", "response_text", "respondent_id", "prompt_id", "response_id")
_MOST_WORDS_OF_NAME: Final = 4
_SHOWN_CHARS: Final = 60


class ColumnNames(NamedTuple):
    """What a table's columns are.

    Attributes:
        theirs: our column to theirs, for those whose name is not ours.
        without_values: our columns that the table lacks, or that are empty in every row.
        notices: sentences for the user: what was read as what, and what was not.
        faults: columns with two candidates.
    """

    theirs: Mapping[str, str] = {}
    without_values: frozenset[str] = frozenset()
    notices: tuple[str, ...] = ()
    faults: tuple[InputFault, ...] = ()


def plain_name(name: str) -> str:
    """Returns a column's name in lower case, without spaces, underscores and punctuation."""
    return re.sub(r"[\W_]+", "", name.casefold())


def chat_text(ours: str, value: Any) -> Any:
    """Returns the text of chat messages in a column of texts; any other value as it is."""
    if not isinstance(value, list | dict):
        return value
    text = prompt_text(value) if ours == "prompt_text" else response_text(value)
    return value if text is None else text


def recognise_columns(
    rows: Iterable[Mapping[str, Any]],
    own: Sequence[str],
    *,
    unique: str,
    where: str,
    taken: Mapping[str, str],
    reserved: Collection[str] = (),
) -> ColumnNames:
    """Returns which columns of a table are ours; it reads every row.

    A synonym counts if it holds values of the right kind: texts (or chat messages), or ids. A
    column `system` counts if it holds names, as it often holds system prompts.

    Args:
        rows: the table.
        own: our columns.
        unique: the one whose values must differ; a column `id` may be it.
        where: the table, for messages.
        taken: our columns that the user has mapped already, to theirs.
        reserved: their columns that mean something else here.
    """
    plain_own = {plain_name(name): name for name in own}
    kinds = {plain_name(name): ours for ours in own for name in SYNONYMS.get(ours, ())}
    kinds |= {ID: unique} | plain_own
    others = {*taken.values(), *reserved}
    columns: dict[str, _Column | None] = {}
    n_rows = 0
    for row in rows:
        n_rows += 1
        for name, value in row.items():
            if name not in columns:
                ours = None if name in others else kinds.get(plain_name(name))
                columns[name] = None if ours is None else _Column(ours, plain_name(name))
            if (column := columns[name]) is not None:
                column.add(value)
    theirs: dict[str, str] = {}
    notices: list[str] = []
    faults: list[InputFault] = []
    for ours in sorted(own, key=lambda name: _ORDER.index(name) if name in _ORDER else 9):
        if ours in taken or ours in columns:
            continue
        candidates = {
            name: column
            for name, column in columns.items()
            if column is not None and column.ours == ours and column.plain != ID
        }
        spellings = [name for name in candidates if candidates[name].plain in plain_own]
        synonyms = [name for name in candidates if name not in spellings]
        fitting: list[str] = []
        for names in (spellings, synonyms):
            fitting = fitting or [name for name in names if candidates[name].fits()]
        if len(fitting) > 1:
            choices = " or ".join(f"`columns={ {ours: name}!r}`" for name in fitting)
            several = f"{listed_all(fitting)} could each be this column; choose with {choices}"
            faults.append(InputFault(where, several, field=ours))
        elif fitting:
            theirs[ours] = fitting[0]
        elif len(candidates) == 1 and ours.endswith("_text"):
            theirs[ours] = next(iter(candidates))  # what is wrong with its cells is reported there
        elif unfit := [name for name, column in candidates.items() if column.n_values]:
            sentence = f"{unfit[0]} was not read as {ours}: it does not hold names."
            if candidates[unfit[0]].is_id:
                sentence += f" If it does, add `columns={ {ours: unfit[0]}!r}`."
            notices.append(sentence)
    column_id = next((name for name in columns if plain_name(name) == ID), None)
    column = None if column_id is None else columns[column_id]
    if column_id and column and unique in own and not {unique} & {*taken, *theirs, *columns}:
        if column.is_id and column.n_values == n_rows == column.n_different():
            theirs[unique] = column_id
        elif column.n_values:
            sentence = f"{column_id} was not read as {unique}: its values repeat or are missing."
            if "prompt_id" in own and not {"prompt_id"} & {unique, *taken, *theirs, *columns}:
                choice = f"`columns={ {'prompt_id': column_id}!r}`"
                sentence += f" If it names the prompt, add {choice}."
            notices.append(sentence)
    if theirs:
        pairs = [f"{name[:_SHOWN_CHARS]} as {ours}" for ours, name in theirs.items()]
        notices.insert(0, f"Read {', '.join(pairs)}.")
    held = {name for name, column in columns.items() if column is None or column.n_values}
    without = {ours for ours in own if ours not in taken and theirs.get(ours, ours) not in held}
    return ColumnNames(theirs, frozenset(without), tuple(notices), tuple(faults))


class _Column:
    """What the cells of a column hold that may be one of ours."""

    def __init__(self, ours: str, plain: str) -> None:
        self.ours, self.plain = ours, plain
        self.n_values = 0
        self.is_text = self.is_id = self.is_name = True
        self._hashes = array("q")  # of a column `id` only: 8 bytes a row

    def add(self, value: Any) -> None:
        """Takes a cell."""
        if is_missing(value):
            return
        self.n_values += 1
        if self.ours.endswith("_text"):
            self.is_text = self.is_text and isinstance(chat_text(self.ours, value), str)
            return
        try:
            text = read_id(value) or ""
        except ValueError:
            self.is_id = False
            return
        words = text.split()
        self.is_name &= len(words) <= _MOST_WORDS_OF_NAME and not text.endswith((".", "!", "?"))
        if self.plain == ID:
            self._hashes.append(hash(text))

    def fits(self) -> bool:
        """Whether the column holds what its name promises, and anything at all."""
        if not self.n_values:
            return False
        if self.ours.endswith("_text"):
            return self.is_text
        return self.is_id and (self.is_name or not self.plain.startswith("system"))

    def n_different(self) -> int:
        """How many values differ; of a column `id` only."""
        import numpy as np

        return int(np.unique(np.frombuffer(self._hashes, dtype=np.int64)).size)
