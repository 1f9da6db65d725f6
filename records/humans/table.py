"""Human judgments in long tables, by column: about 80 bytes a rating.

Three kinds of judgment: a rating (a score or a rank) of a response, a label of a response or of
anything else that was shown, and a preference between two responses.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Literal, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Kind = Literal["score", "rank"]
"""A score grows with quality; of ranks 1 is best, and ties are allowed."""


@dataclass(frozen=True, slots=True)
class Coded:
    """A column of texts as numbers into its list of different texts.

    Attributes:
        codes: shape (ratings,), int32; -1 where the file says nothing.
        names: the different texts, in order of first appearance.
    """

    codes: NDArray[Any]
    names: tuple[str, ...]

    def texts(self) -> NDArray[Any]:
        """Returns the texts themselves, shape (ratings,), dtype object, None where missing."""
        lookup = np.array([*self.names, None], dtype=object)
        found: NDArray[Any] = lookup[self.codes]
        return found

    def used(self) -> tuple[str, ...]:
        """Returns the texts that occur (a selection keeps the whole list of names)."""
        return tuple(self.names[code] for code in np.unique(self.codes) if code >= 0)


class RatingMatrix(NamedTuple):
    """One criterion of a table as raters by responses.

    Attributes:
        values: shape (raters, responses); nan where a rater did not rate. Ranks stay as given.
        rater_ids, response_ids: names of rows and columns, in order of first appearance.
        prompt_ids: the prompt of each column; None where the file does not say.
        n_repeated: ratings that met an earlier one of the same cell; the first one stands.
    """

    values: NDArray[Any]
    rater_ids: tuple[str, ...]
    response_ids: tuple[str, ...]
    prompt_ids: tuple[str | None, ...]
    n_repeated: int


class JudgmentTable:
    """What the tables of judgments share; each is a frozen dataclass of columns of one length."""

    __slots__ = ()

    def __len__(self) -> int:
        line: NDArray[Any] = getattr(self, "line")  # noqa: B009  # each table has it
        return len(line)

    def select(self, mask: NDArray[Any]) -> Self:
        """Returns the entries at which a boolean array of shape (entries,) is true."""
        chosen: dict[str, Any] = {}
        for name, column in self._columns():
            chosen[name] = (
                Coded(column.codes[mask], column.names)
                if isinstance(column, Coded)
                else column[mask]
            )
        return type(self)(**chosen)

    def where(self, column: str, *texts: str) -> Self:
        """Returns the entries whose text column holds one of the texts."""
        coded: Coded = getattr(self, column)
        wanted = [code for code, name in enumerate(coded.names) if name in texts]
        return self.select(np.isin(coded.codes, wanted))

    def to_pandas(self) -> Any:
        """Returns a DataFrame with a row an entry, texts as texts (needs pandas)."""
        import pandas as pd

        return pd.DataFrame(
            {
                name: column.texts() if isinstance(column, Coded) else column
                for name, column in self._columns()
            }
        )

    def _columns(self) -> list[tuple[str, Any]]:
        return [(field.name, getattr(self, field.name)) for field in fields(cast("Any", self))]


@dataclass(frozen=True, slots=True)
class HumanTable(JudgmentTable):
    """Ratings, one an entry: rater x response x criterion x kind.

    Attributes:
        rater_id, response_id, criterion: never missing; criterion is a dimension or "overall".
        prompt_id: missing where the file does not say (see `with_prompts`).
        value: float64, as given: ranks are not negated here.
        is_rank: bool; kind "rank" (1 = best) where true, else "score".
        line: the row of the file (see `readers.rows.Row`).
        duration_s: float64, nan where unknown.
        time, comment, item_type, item_role, blinded_label, source, model, domain: optional texts.
    """

    rater_id: Coded
    prompt_id: Coded
    response_id: Coded
    criterion: Coded
    value: NDArray[Any]
    is_rank: NDArray[Any]
    line: NDArray[Any]
    duration_s: NDArray[Any]
    time: Coded
    comment: Coded
    item_type: Coded
    item_role: Coded
    blinded_label: Coded
    source: Coded
    model: Coded
    domain: Coded

    def with_prompts(self, prompt_of: Mapping[str, str]) -> HumanTable:
        """Returns the table with missing prompts filled in from response to prompt."""
        names = dict.fromkeys(self.prompt_id.names)
        names.update(dict.fromkeys(prompt_of[r] for r in self.response_id.names if r in prompt_of))
        code_of = {name: code for code, name in enumerate(names)}
        by_response = np.array(
            [code_of[prompt_of[r]] if r in prompt_of else -1 for r in self.response_id.names],
            dtype=np.int32,
        )
        codes = self.prompt_id.codes
        if by_response.size:
            codes = np.where(codes < 0, by_response[self.response_id.codes], codes)
        return replace(self, prompt_id=Coded(codes.astype(np.int32), tuple(names)))

    def matrix(self, criterion: str, *, kind: Kind = "score") -> RatingMatrix:
        """Returns one criterion and kind as a matrix of raters by responses."""
        part = self.where("criterion", criterion)
        part = part.select(part.is_rank if kind == "rank" else ~part.is_rank)
        raters, row = _renumbered(part.rater_id.codes)
        responses, column = _renumbered(part.response_id.codes)
        values = np.full((len(raters), len(responses)), np.nan)
        # Which of several assignments to one cell stays is not defined: only the first is made.
        _, first = np.unique(row * len(responses) + column, return_index=True)
        values[row[first], column[first]] = part.value[first]
        _, first = np.unique(column, return_index=True)
        prompts = part.prompt_id.codes[first]
        names = (*part.prompt_id.names, None)
        return RatingMatrix(
            values,
            tuple(part.rater_id.names[code] for code in raters),
            tuple(part.response_id.names[code] for code in responses),
            tuple(names[code] for code in prompts),
            len(part) - int(np.isfinite(values).sum()),
        )

    def to_pandas(self) -> Any:
        """Returns a DataFrame with a row a rating and `kind` as text (needs pandas)."""
        found = JudgmentTable.to_pandas(self)
        found["kind"] = np.where(found.pop("is_rank"), "rank", "score")
        return found


@dataclass(frozen=True, slots=True)
class LabelTable(JudgmentTable):
    """Labels, one an entry: rater x response x criterion.

    Attributes:
        rater_id, response_id, criterion, label: never missing. What was labelled is called a
            response, whatever it is: an answer, a variant, a scene, a reading of an answer.
        prompt_id: missing where the file does not say.
        line: the row of the file.
    """

    rater_id: Coded
    prompt_id: Coded
    response_id: Coded
    criterion: Coded
    label: Coded
    line: NDArray[Any]


@dataclass(frozen=True, slots=True)
class PreferenceTable(JudgmentTable):
    """Preferences, one an entry: rater x two responses of one prompt x criterion.

    Attributes:
        rater_id, response_a, response_b, criterion: never missing.
        prompt_id: missing where the file does not say.
        won_a: float64: 1 where a is preferred, 0 where b is, 0.5 for a tie.
        line: the row of the file.
    """

    rater_id: Coded
    prompt_id: Coded
    response_a: Coded
    response_b: Coded
    criterion: Coded
    won_a: NDArray[Any]
    line: NDArray[Any]


TEXT_COLUMNS = tuple(field.name for field in fields(HumanTable) if field.type == "Coded")
"""The columns of texts."""


def _renumbered(codes: NDArray[Any]) -> tuple[list[int], NDArray[Any]]:
    """Returns (the codes in order of first appearance, each entry's position among them)."""
    found, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    return [int(code) for code in found[order]], position[inverse]


Table = TypeVar("Table", bound=JudgmentTable)

_NUMBERS = {"line": ("q", np.int64), "is_rank": ("b", np.bool_)}
"""Columns that are no texts: how they are collected and kept; all others are float64."""


class TableBuilder(Generic[Table]):
    """Collects entries one by one into a table; each different text is kept once."""

    def __init__(self, table: type[Table]) -> None:
        """Begins an empty table of this class."""
        self._table = table
        names = [(field.name, field.type == "Coded") for field in fields(cast("Any", table))]
        texts = [name for name, is_text in names if is_text]
        self._names: dict[str, dict[str, int]] = {name: {} for name in texts}
        self._codes = {name: array("i") for name in texts}
        self._numbers: dict[str, array[Any]] = {
            name: array(_NUMBERS.get(name, ("d",))[0]) for name, is_text in names if not is_text
        }

    def add(self, texts: Mapping[str, str | None], **numbers: float) -> None:
        """Adds an entry.

        Args:
            texts: by the names of the columns of texts, absent or None where missing.
            numbers: every other column.
        """
        for name, known in self._names.items():
            text = texts.get(name)
            self._codes[name].append(-1 if text is None else known.setdefault(text, len(known)))
        for name, column in self._numbers.items():
            column.append(numbers[name])

    def __len__(self) -> int:
        return len(next(iter(self._codes.values())))

    def build(self) -> Table:
        """Returns the table."""
        made: dict[str, Any] = {
            name: Coded(np.array(codes, dtype=np.int32), tuple(self._names[name]))
            for name, codes in self._codes.items()
        }
        for name, column in self._numbers.items():
            made[name] = np.array(column, dtype=_NUMBERS.get(name, ("d", np.float64))[1])
        return self._table(**made)
