"""Sources of responses to judge and of prompts to ask: checked whole first, then read again."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from ...errors import InputError, InputFault
from .cells import ColumnMap, is_missing, read_id, read_text
from .dispatch import Table, open_table
from .rows import FAULT_LIMIT

if TYPE_CHECKING:
    from numpy.typing import NDArray


def text_key(text: str) -> int:
    """Returns a hash of a text, in [0, 2**64); the same in every process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


class SeenRows:
    """Ids and texts of the rows of a table, for the checks that look across rows.

    Memory: about 60 bytes a row, and twice that while a question is answered. Ids that must be
    unique are kept as 16 bytes, so that two different ones never count as the same in practice;
    the others as 8.
    """

    def __init__(self) -> None:
        self._lines = array("Q")
        self._unique_high = array("Q")
        self._unique_low = array("Q")
        self._prompts = array("Q")
        self._prompt_texts = array("Q")
        self._respondents = array("Q")
        self._response_texts = array("Q")

    def add(
        self,
        line: int,
        *,
        unique_id: str,
        prompt_id: str,
        prompt_text: str,
        respondent_id: str | None,
        response_text: str | None,
    ) -> None:
        """Remembers a row."""
        wide = blake2b(unique_id.encode(), digest_size=16).digest()
        self._lines.append(line)
        self._unique_high.append(int.from_bytes(wide[:8], "big"))
        self._unique_low.append(int.from_bytes(wide[8:], "big"))
        self._prompts.append(text_key(prompt_id))
        self._prompt_texts.append(text_key(prompt_text))
        if respondent_id is not None and response_text is not None:
            self._respondents.append(text_key(respondent_id))
            # 0 stands for a blank text: no repetition of interest.
            self._response_texts.append(text_key(response_text) if response_text.strip() else 0)

    def n_prompts(self) -> int:
        """Returns how many different prompt ids were seen."""
        return _n_different(self._prompts)

    def n_respondents(self) -> int:
        """Returns how many different respondents were seen."""
        return _n_different(self._respondents)

    def repeated_ids(self) -> list[tuple[int, int]]:
        """Returns (line, line of the first) for every row whose id stood before, by line."""
        import numpy as np

        lines, high, low = _numbers(self._lines, self._unique_high, self._unique_low)
        order = np.lexsort((np.arange(len(lines)), low, high))
        return _later_of_groups(lines, order, [high, low])

    def conflicting_prompts(self) -> list[tuple[int, int]]:
        """Returns (line, line of the first) where a prompt id comes with another text than first.

        Each other text of a prompt is given once, at its first line.
        """
        import numpy as np

        lines, prompts, texts = _numbers(self._lines, self._prompts, self._prompt_texts)
        order = np.lexsort((np.arange(len(lines)), texts, prompts))
        p, t = prompts[order], texts[order]
        starts = (
            np.flatnonzero(np.r_[True, (p[1:] != p[:-1]) | (t[1:] != t[:-1])]) if len(p) else order
        )
        firsts = np.sort(order[starts])  # first row of every (prompt, text), in row order
        by_prompt = firsts[np.argsort(prompts[firsts], kind="stable")]
        return _later_of_groups(lines, by_prompt, [prompts])

    def repeated_texts(self) -> frozenset[int]:
        """Returns `text_key` of texts that one respondent gives to two or more prompts."""
        import numpy as np

        if not self._response_texts:
            return frozenset()
        prompts, respondents, texts = _numbers(
            self._prompts, self._respondents, self._response_texts
        )
        order = np.lexsort((prompts, texts, respondents))
        p, r, t = prompts[order], respondents[order], texts[order]
        repeats = (r[1:] == r[:-1]) & (t[1:] == t[:-1]) & (p[1:] != p[:-1]) & (t[1:] != 0)
        return frozenset(int(key) for key in np.unique(t[1:][repeats]))


def _numbers(*columns: array[int]) -> list[NDArray[Any]]:
    import numpy as np

    return [
        np.frombuffer(column, dtype=np.uint64) if column else np.zeros(0, np.uint64)
        for column in columns
    ]


def _n_different(column: array[int]) -> int:
    import numpy as np

    return int(np.unique(_numbers(column)[0]).size)


def _later_of_groups(
    lines: NDArray[Any], order: NDArray[Any], keys: list[NDArray[Any]]
) -> list[tuple[int, int]]:
    """Returns (line, line of the group's first) for all but the first row of each equal-key run."""
    import numpy as np

    if order.size == 0:
        return []
    is_start = np.r_[True, np.zeros(order.size - 1, dtype=bool)]
    for key in keys:
        is_start[1:] |= key[order][1:] != key[order][:-1]
    first_of = np.maximum.accumulate(np.where(is_start, np.arange(order.size), 0))
    later = np.flatnonzero(~is_start)
    pairs = zip(lines[order[later]].tolist(), lines[order[first_of[later]]].tolist(), strict=True)
    return sorted(pairs)


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


__all__ = [
    "MAX_TEXT_CHARS",
    "UNNAMED",
    "PromptRow",
    "PromptSource",
    "ResponseRow",
    "ResponseSource",
    "SourceSummary",
    "default_prompt_id",
    "open_prompts",
    "open_responses",
    "text_key",
]

MAX_TEXT_CHARS = 200_000
"""Longest prompt or response that is taken unless a caller sets another limit."""

UNNAMED = "unnamed"
"""The respondent of responses that name none."""


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """One response to be judged.

    Attributes:
        response_id: unique in its source.
        prompt_id, prompt_text: what was asked; one prompt_id has one text.
        response_text: may be empty, and is never altered.
        respondent_id: who wrote it, `UNNAMED` where the source does not say.
        extra: the other columns, as they came.
        line: where it stands (see `readers.rows.Row`).
    """

    response_id: str
    prompt_id: str
    prompt_text: str
    response_text: str
    respondent_id: str
    extra: dict[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class PromptRow:
    """One prompt to be asked; fields as in `ResponseRow`."""

    prompt_id: str
    prompt_text: str
    extra: dict[str, Any]
    line: int


def default_prompt_id(prompt_text: str) -> str:
    """Returns the id of a prompt that has none: the same for the same text, wherever it stands."""
    return "p-" + hashlib.sha256(prompt_text.encode()).hexdigest()[:16]


class ResponseSource(RowSource):
    """Responses, checked by `check()` and then read by `rows()`; see `open_responses`."""

    own = ("response_id", "prompt_id", "prompt_text", "response_text", "respondent_id")
    required = ("response_id", "prompt_text", "response_text")
    unique = "response_id"
    kind = "responses"

    def rows(self) -> Iterator[ResponseRow]:
        """Returns the responses in order, `limit` of them at most.

        Raises:
            InputError: at the first fault, so that `check` may be skipped; and where the file
                has changed since it was checked.
        """
        for line, values, extra in self._read_again():
            yield ResponseRow(
                response_id=values["response_id"],
                prompt_id=values["prompt_id"],
                prompt_text=values["prompt_text"],
                response_text=values["response_text"],
                respondent_id=values["respondent_id"],
                extra=extra,
                line=line,
            )

    def _hint_for(self, absent: set[str | None]) -> str | None:
        if "response_text" in absent and "prompt_text" not in absent:
            return (
                "prompts without responses? have models answer them first: areopagus score FILE "
                "--target MODEL (areopagus stress FILE does the same under framings); a column of "
                "another name: --column response_text=answer"
            )
        return None

    def _complete(self, values: dict[str, str]) -> None:
        values.setdefault("respondent_id", UNNAMED)
        values.setdefault("prompt_id", default_prompt_id(values["prompt_text"]))


class PromptSource(RowSource):
    """Prompts, checked by `check()` and then read by `rows()`; see `open_prompts`."""

    own = ("prompt_id", "prompt_text")
    required = ("prompt_text",)
    unique = "prompt_id"
    kind = "prompts"

    def rows(self) -> Iterator[PromptRow]:
        """Returns the prompts in order; raises as `ResponseSource.rows`."""
        for line, values, extra in self._read_again():
            yield PromptRow(values["prompt_id"], values["prompt_text"], extra, line)

    def _complete(self, values: dict[str, str]) -> None:
        values.setdefault("prompt_id", default_prompt_id(values["prompt_text"]))


def open_responses(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    max_response_chars: int = MAX_TEXT_CHARS,
    format: str | None = None,  # noqa: A002
) -> ResponseSource:
    """Returns the responses of a file, a data frame or an iterable of mappings.

    Args:
        source: a path (see `readers.dispatch`), a pandas or polars DataFrame, or any iterable of
            mappings, generators included.
        columns: our column name to theirs, for those they call otherwise.
        limit: how many responses to take, from the first; what follows is not looked at.
        max_response_chars: longest prompt or response; a longer one is a fault, never cut.
        format: the file's format where its suffix does not say it.

    Raises:
        InputError: for a source that cannot be opened, or a map to columns that do not exist here.
    """
    return ResponseSource(
        source, columns=columns, limit=limit, max_chars=max_response_chars, format=format
    )


def open_prompts(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    max_prompt_chars: int = MAX_TEXT_CHARS,
    format: str | None = None,  # noqa: A002
) -> PromptSource:
    """Returns the prompts of a file, a data frame or an iterable of mappings; as `open_responses`.

    A prompt stands once: two rows of one prompt_id, or of one text without ids, are a fault.
    """
    return PromptSource(
        source, columns=columns, limit=limit, max_chars=max_prompt_chars, format=format
    )
