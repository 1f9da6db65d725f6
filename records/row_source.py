"""What sources of responses and of prompts share: one checking pass over everything, then rows."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, Self

from ..errors import InputError, InputFault
from .cells import is_missing, read_id, read_text
from .column_names import ColumnMap
from .intake import Table, open_table
from .seen import SeenRows

FAULT_LIMIT = 1000
"""After so many faults a pass stops: a wrong file would fill the memory with one a row."""

_CARRIED_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """What the checking pass found.

    Attributes:
        name: the file, or what the source is where it is none.
        n_responses: rows (of prompts: the prompts).
        n_prompts, n_respondents: different ones; `n_respondents` is 0 for prompts.
        fingerprint: SHA-256, hex, over our columns of every row in order. Carried columns are
            left out: adding one does not make another run.
        columns_carried: names of the other columns, as first seen.
        repeated_texts: `text_key` of every response text, blank ones apart, that one respondent
            gives verbatim to two or more different prompts.
        text_chars: characters of all prompts and responses together.
        notices: sentences for the user: what was assumed.
    """

    name: str
    n_responses: int
    n_prompts: int
    n_respondents: int
    fingerprint: str
    columns_carried: tuple[str, ...]
    repeated_texts: frozenset[int]
    text_chars: int
    notices: tuple[str, ...]


class Checked(NamedTuple):
    """One sound row: its line, our columns as text, and the others."""

    line: int
    values: dict[str, str]
    extra: dict[str, Any]


class RowSource(ABC):
    """A table with our columns; the subclasses say which, and build their own rows.

    Use it in a `with` block, or `close` it: what was not a file is copied to a temporary one.
    """

    own: ClassVar[tuple[str, ...]]
    required: ClassVar[tuple[str, ...]]
    unique: ClassVar[str]
    kind: ClassVar[str]

    def __init__(
        self,
        source: Any,
        *,
        columns: Mapping[str, str] | None,
        limit: int | None,
        max_chars: int,
        format: str | None,  # noqa: A002
    ) -> None:
        if limit is not None and limit < 1:
            raise InputError(f"limit: must be at least 1, got {limit}")
        self._map = ColumnMap(self.own, columns)
        wrong = self._map.faults()
        if wrong:
            raise InputError(wrong)
        self._limit = limit
        self._max_chars = max_chars
        self._stamp: tuple[int, int] | None = None
        self._table: Table = open_table(source, format=format)

    @property
    def name(self) -> str:
        """The file, or what the source is where it is none."""
        return self._table.description

    def close(self) -> None:
        """Deletes the temporary copy, where there is one."""
        self._table.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def check(self) -> SourceSummary:
        """Returns a summary, having read and checked every row.

        Memory: about 60 bytes a row. Raises:
            InputError: with every fault of the file (the first `FAULT_LIMIT`).
        """
        faults: list[InputFault] = []
        seen = SeenRows()
        digest = hashlib.sha256()
        carried: dict[str, None] = {}
        columns_found: dict[str, None] = {}
        defaults = dict.fromkeys(self.own, 0)
        n_rows = text_chars = 0
        self._stamp = self._table.stamp()
        for line, raw in self._limited(faults):
            n_rows += 1
            for name in raw:
                if name not in columns_found and len(columns_found) <= _CARRIED_LIMIT:
                    columns_found[name] = None
            values, extra = self._checked(line, raw, faults)
            if len(faults) >= FAULT_LIMIT:
                break
            if values is None:
                continue
            for name in self.own:
                defaults[name] += name not in values
            self._complete(values)
            for name in extra:
                if name not in carried and len(carried) <= _CARRIED_LIMIT:
                    carried[name] = None
            row = [values[name] for name in self.own]
            digest.update(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            text_chars += len(values["prompt_text"]) + len(values.get("response_text", ""))
            seen.add(
                line,
                unique_id=values[self.unique],
                prompt_id=self._prompt_key(values),
                prompt_text=values["prompt_text"],
                respondent_id=values.get("respondent_id"),
                response_text=values.get("response_text"),
            )
        if len(carried) > _CARRIED_LIMIT or len(columns_found) > _CARRIED_LIMIT:
            faults.append(InputFault(self.name, f"has more than {_CARRIED_LIMIT:,} columns"))
        absent = self._absent_columns(columns_found) if n_rows else []
        if absent:
            # A column that is missing altogether is one fault, not one a row.
            names = {fault.field for fault in absent}
            kept = [fault for fault in faults if fault.field not in names]
            raise self._error(absent + kept)
        if n_rows == 0 and not faults:
            faults.append(InputFault(self.name, f"holds no {self.kind}"))
        faults += self._faults_between_rows(seen)
        if faults:
            raise self._error(faults)
        return SourceSummary(
            name=self.name,
            n_responses=n_rows,
            n_prompts=seen.n_prompts(),
            n_respondents=seen.n_respondents(),
            fingerprint=digest.hexdigest(),
            columns_carried=tuple(carried),
            repeated_texts=seen.repeated_texts(),
            text_chars=text_chars,
            notices=self._notices(defaults, n_rows),
        )

    @abstractmethod
    def _complete(self, values: dict[str, str]) -> None:
        """Fills in the optional columns that the row leaves out."""

    def _prompt_key(self, values: Mapping[str, str]) -> str:
        """What has one prompt text: the prompt's id, unless a subclass knows of framings."""
        return values["prompt_id"]

    def _read_again(self) -> Iterator[Checked]:
        if self._stamp is not None and self._stamp != self._table.stamp():
            raise InputError([InputFault(self.name, "the file has changed since it was checked")])
        for line, raw in self._limited(None):
            faults: list[InputFault] = []
            values, extra = self._checked(line, raw, faults)
            if values is None:
                raise self._error(faults)
            self._complete(values)
            yield Checked(line, values, extra)

    def _limited(self, faults: list[InputFault] | None) -> Iterator[tuple[int, dict[str, Any]]]:
        for taken, (line, raw) in enumerate(self._table.rows(faults), start=1):
            yield line, raw
            if taken == self._limit:
                return

    def _checked(
        self, line: int, raw: Mapping[str, Any], faults: list[InputFault]
    ) -> tuple[dict[str, str] | None, dict[str, Any]]:
        ours, extra = self._map.split(raw)
        values: dict[str, str] = {}
        is_sound = True
        for name in self.own:
            try:
                found = self._cell(name, ours.get(name))
            except ValueError as error:
                is_sound = False
                theirs = self._map.theirs[name]
                faults.append(InputFault(self._table.where(line), str(error), field=theirs))
                continue
            if found is not None:
                values[name] = found
        return (values if is_sound else None), extra

    def _cell(self, name: str, value: Any) -> str | None:
        if name.endswith("_text"):
            text = read_text(value, limit=self._max_chars)
            if name == "prompt_text" and is_missing(text):
                raise ValueError("must not be empty")
            return text
        found = read_id(value)
        if found is None and name in self.required:
            raise ValueError("must not be empty")
        return found

    def _absent_columns(self, found: Mapping[str, None]) -> list[InputFault]:
        faults: list[InputFault] = []
        for name in self.own:
            theirs = self._map.theirs[name]
            if theirs in found or not (name in self.required or name in self._map.columns):
                continue
            shown = ", ".join(list(found)[:30]) + (", …" if len(found) > 30 else "")
            faults.append(
                InputFault(self.name, f"there is no such column; found: {shown}", field=theirs)
            )
        return faults

    def _hint_for(self, absent: set[str | None]) -> str | None:
        """What a table without these columns is likely to be; None where nobody knows."""
        return None

    def _error(self, faults: list[InputFault]) -> InputError:
        hint = None
        if any("no such column" in fault.message for fault in faults):
            hint = self._hint_for({fault.field for fault in faults}) or (
                "name other columns with --column OURS=THEIRS, as in --column prompt_text=question"
            )
        elif len(faults) >= FAULT_LIMIT:
            hint = f"reading stopped after {FAULT_LIMIT:,} faults"
        return InputError(faults, hint=hint)

    def _faults_between_rows(self, seen: SeenRows) -> list[InputFault]:
        repeated = seen.repeated_ids()
        conflicting = seen.conflicting_prompts()
        if not repeated and not conflicting:
            return []
        names = self._ids_at({line for line, _ in repeated}, self.unique)
        prompts = self._ids_at({line for line, _ in conflicting}, "prompt_id")
        return [
            InputFault(
                self._table.where(line),
                f"must be unique, got {names.get(line, '')!r}, "
                f"which stands at {self._table.where(first)} too",
                field=self._map.theirs[self.unique],
            )
            for line, first in repeated[:FAULT_LIMIT]
        ] + [
            InputFault(
                self._table.where(line),
                f"prompt {prompts.get(line, '')!r} has another text at {self._table.where(first)}",
                field=self._map.theirs["prompt_text"],
            )
            for line, first in conflicting[:FAULT_LIMIT]
        ]

    def _ids_at(self, lines: set[int], name: str) -> dict[int, str]:
        """Returns the ids at some lines; only hashes were kept, so the file is read once more."""
        found: dict[int, str] = {}
        ignored: list[InputFault] = []
        for line, raw in self._limited(ignored):
            if line in lines:
                values, _ = self._checked(line, raw, ignored)
                if values is not None:
                    self._complete(values)
                    found[line] = values[name][:80]
        return found

    def _notices(self, defaults: Mapping[str, int], n_rows: int) -> tuple[str, ...]:
        sentences = {
            "respondent_id": "no respondent_id: {n} are taken as written by 'unnamed'",
            "prompt_id": "no prompt_id: {n} take an id made from the prompt's text",
        }
        return tuple(
            sentence.format(
                n=f"all {n_rows:,} {self.kind}"
                if defaults[name] == n_rows
                else f"{defaults[name]:,} of {n_rows:,} {self.kind}"
            )
            for name, sentence in sentences.items()
            if defaults.get(name)
        )
