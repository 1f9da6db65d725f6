"""Sources of responses to judge and of prompts to ask: checked whole first, then read again."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from ...errors import InputError, InputFault
from ...formats import units
from ..prompt_units import prompt_text_id
from ..types import Sample
from .cells import ColumnMap, RowFields, is_missing, read_id
from .column_names import ColumnNames, chat_text, recognise_columns
from .dispatch import Table, open_table
from .inspect_log import NO_RESPONSE
from .rows import FAULT_LIMIT, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray


MAX_TEXT_CHARS = 200_000
"""Longest prompt or response that is taken unless a caller sets another limit."""

MAX_EXTRA_COLUMNS = 1000
"""Most columns of others' names that are carried through."""

UNNAMED = "unnamed"
"""The respondent of responses that name none."""

RowT = TypeVar("RowT")


def text_key(text: str) -> int:
    """Returns a hash of a text, in [0, 2**64); the same in every process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def made_id(values: Mapping[str, str], repeats: Counter[int]) -> str:
    """Returns an id for a response that has none: `PROMPT_ID|RESPONDENT_ID`, then `…#1`, `…#2`.

    Unlike a row's number it is the same in a file with other rows, so that runs can be compared.

    Args:
        values: prompt_id, respondent_id, and condition where there are conditions.
        repeats: hashes of ids made in this reading, without the number, counted; about 100 bytes
            a row.
    """
    parts = [values[name] for name in ("prompt_id", "respondent_id", "condition") if name in values]
    stem = "|".join(part for part in parts if part != UNNAMED)
    repeat = repeats[text_key(stem)]
    repeats[text_key(stem)] += 1
    return f"{stem}#{repeat}" if repeat else stem


class SeenRows:
    """Hashes of the ids and texts of a table, for the checks that look across rows.

    Memory: 48 bytes a row, and three times that while a question is answered.
    """

    def __init__(self) -> None:
        self._hashes = array("Q")

    def add(self, line: int, row_id: str, prompt_key: str, values: Mapping[str, str]) -> None:
        """Remembers a row; prompts have neither respondent nor response."""
        response = values.get("response_text", "")
        self._hashes.extend(
            (
                line,
                text_key(row_id),
                text_key(prompt_key),
                text_key(values["prompt_text"]),
                text_key(values.get("respondent_id", "")),
                # 0 stands for a blank text: no repetition of interest.
                text_key(response) if response.strip() else 0,
            )
        )

    def _columns(self) -> NDArray[Any]:
        """Returns lines, ids, prompts, prompts' texts, respondents and responses; shape (6, n)."""
        import numpy as np

        return np.array(self._hashes, dtype=np.uint64).reshape(-1, 6).T

    def counts(self) -> tuple[int, int]:
        """Returns how many prompts of different texts, and respondents, were seen."""
        import numpy as np

        _, _, _, texts, respondents, _ = self._columns()
        return np.unique(texts).size, np.unique(respondents).size

    def repeated_ids(self) -> list[tuple[int, int]]:
        """Returns (line, line of the first) for every row whose id stood before, by line."""
        import numpy as np

        lines, ids, *_ = self._columns()
        first = _first_of_each(ids)
        later = np.flatnonzero(first != np.arange(len(first)))
        return [*zip(lines[later].tolist(), lines[first[later]].tolist(), strict=True)]

    def conflicting_prompts(self) -> list[tuple[int, int]]:
        """Returns (line, line of the first) where a prompt comes with another text than first.

        Each other text of a prompt is given once, at its first line.
        """
        import numpy as np

        lines, _, prompts, texts, _, _ = self._columns()
        first = _first_of_each(prompts)
        is_new = _first_of_each(_mixed(prompts, texts)) == np.arange(len(lines))
        later = np.flatnonzero(is_new & (texts != texts[first]))
        return [*zip(lines[later].tolist(), lines[first[later]].tolist(), strict=True)]

    def repeated_texts(self) -> frozenset[int]:
        """Returns `text_key` of texts that one respondent gives to two or more prompts."""
        import numpy as np

        _, _, _, prompts, respondents, texts = self._columns()
        first = _first_of_each(_mixed(respondents, texts))
        repeats = (prompts != prompts[first]) & (texts != 0)
        return frozenset(np.unique(texts[repeats]).tolist())


def _first_of_each(keys: NDArray[Any]) -> NDArray[Any]:
    """Returns for each row the first row that has its key."""
    import numpy as np

    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    found: NDArray[Any] = first[which]
    return found


def _mixed(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Returns a hash of each pair of hashes; the odd factor keeps (a, b) from being (b, a)."""
    import numpy as np

    mixed: NDArray[Any] = one * np.uint64(0x9E3779B97F4A7C15) + other  # modulo 2**64
    return mixed


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """What the checking pass found.

    Attributes:
        name: the file, or what the source is where it is none.
        n_responses: rows (of prompts: the prompts).
        n_prompts, n_respondents: different ones, prompts by their texts; `n_respondents` is 0 for
            prompts.
        fingerprint: SHA-256, hex, over our columns of every row in order. Carried columns are
            left out: adding one does not make another run.
        columns_carried: names of the other columns, as first seen.
        repeated_texts: `text_key` of every response text, blank ones apart, that one respondent
            gives verbatim to two or more different prompts.
        text_chars: characters of all prompts and responses together.
        notices: sentences for the user: what was assumed.
        left_out: reason to number of the samples that have no response.
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
    left_out: Mapping[str, int] = field(default_factory=dict)


class RowSource(ABC, Generic[RowT]):
    """A table with our columns: checked whole by `check`, then read by `rows`.

    A subclass names its columns, fills in what a row may leave out, and makes its rows. Use it in
    a `with` block, or `close` it: what was not a file is copied to a temporary one.

    Attributes:
        own: our columns, in the order in which the fingerprint takes them.
        required: those that no row may leave empty; a table without the `unique` one gets it made.
        unique: the one whose cells must differ.
        kind: what messages call the rows.
    """

    own: ClassVar[tuple[str, ...]]
    required: ClassVar[tuple[str, ...]]
    unique: ClassVar[str]
    kind: ClassVar[str]

    def __init__(
        self,
        source: Any,
        *,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        max_chars: int = MAX_TEXT_CHARS,
        format: str | None = None,  # noqa: A002
    ) -> None:
        """Opens the source.

        Args:
            source: a path (see `readers.dispatch`), a pandas or polars DataFrame, or any iterable
                of mappings, generators included.
            columns: our column name to theirs, where their name is not one that is recognised
                (see `column_names`).
            limit: how many rows to take, from the first; what follows is not looked at.
            max_chars: longest text; a longer one is a fault, never cut.
            format: the file's format where its suffix does not say it.

        Raises:
            InputError: a source that cannot be opened, a map of columns that do not exist here.
        """
        if limit is not None and limit < 1:
            raise InputError(f"limit: must be at least 1, got {limit}")
        self._map = ColumnMap(self.own, columns)
        self._limit = limit
        self._max_chars = max_chars
        self._stamp: tuple[int, int] | None = None
        self._names: ColumnNames | None = None
        self._required: Sequence[str] = self.required
        self._reserved: tuple[str, ...] = ()
        self._table: Table = open_table(source, format=format)

    @abstractmethod
    def _complete(self, values: dict[str, str], repeats: Counter[int]) -> None:
        """Fills in the columns that the row leaves out.

        Args:
            values: our columns of the row.
            repeats: hashes of what the ids made in this reading are made of, counted.
        """

    @abstractmethod
    def _row(self, values: dict[str, str], extra: dict[str, Any], line: int) -> RowT:
        """Returns a sound row: our columns, the others as they came, and its line."""

    def _prompt_key(self, values: Mapping[str, str]) -> str:
        """What has one prompt text: the prompt's id, unless a subclass knows of framings."""
        return values["prompt_id"]

    def _raw_rows(self, faults: list[InputFault] | None) -> Iterator[Row]:
        """The rows of the table; a subclass may add what stands elsewhere."""
        return self._table.rows(faults)

    def _why_left_out(self, raw: Mapping[str, Any]) -> str | None:
        """Why a row is none of ours though nothing is wrong with it; None where it is one."""
        return None

    def _hint_for(self, absent: set[str | None], found: Collection[str]) -> str | None:
        """What a table without these columns is likely to be; None where nobody knows."""
        return None

    @property
    def name(self) -> str:
        """The file, or what the source is where it is none."""
        return self._table.description

    def close(self) -> None:
        """Deletes the temporary copy, where there is one."""
        self._table.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def check(self) -> SourceSummary:
        """Returns a summary, having read and checked every row; for memory see `SeenRows`.

        Raises:
            InputError: with every fault of the file (the first `FAULT_LIMIT`).
        """
        faults: list[InputFault] = []
        seen = SeenRows()
        digest = hashlib.sha256()
        columns_found: dict[str, None] = {}
        carried: dict[str, None] = {}
        lacking = dict.fromkeys(self.own, 0)
        left_out: Counter[str] = Counter()
        n_rows = text_chars = 0
        self._stamp = self._table.stamp()
        names = self._recognise()
        text_columns = [self._map.theirs[name] for name in self.own if name.endswith("_text")]
        repeats: Counter[int] = Counter()
        n_chats: Counter[str] = Counter()
        for line, raw in self._limited(faults, left_out):
            n_rows += 1
            n_chats.update(name for name in text_columns if isinstance(raw.get(name), list | dict))
            values, extra = self._checked(line, raw, faults)
            if not raw.keys() <= columns_found.keys():
                columns_found.update(dict.fromkeys(raw))
                carried.update(dict.fromkeys(extra))
            if len(columns_found) > MAX_EXTRA_COLUMNS:
                faults.append(InputFault(self.name, f"has more than {MAX_EXTRA_COLUMNS:,} columns"))
                break
            if len(faults) >= FAULT_LIMIT:
                break
            if values is None:
                continue
            for name in self.own:
                lacking[name] += name not in values
            self._complete(values, repeats)
            row = [values[name] for name in self.own]
            digest.update(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            text_chars += len(values["prompt_text"]) + len(values.get("response_text", ""))
            seen.add(line, values[self.unique], self._prompt_key(values), values)
        absent = self._map.absent(columns_found, self._required, self.name) if n_rows else []
        if absent:
            # A column that is missing altogether is one fault, not one a row.
            fields = {fault.field for fault in absent}
            raise InputError(
                absent + [one for one in faults if one.field not in fields],
                hint=self._hint_for(fields, columns_found)
                or "name other columns, as in `columns={'prompt_text': 'question'}`",
            )
        if n_rows == 0 and not faults:
            sentence = f"holds no {self.kind}"
            if left_out:
                sentence += f"; {_told_left_out(left_out)}"
            faults.append(InputFault(self.name, sentence))
        faults += self._faults_between_rows(seen)
        if faults:
            is_cut = len(faults) >= FAULT_LIMIT
            stopped = f"reading stopped after {FAULT_LIMIT:,} faults"
            raise InputError(faults, hint=stopped if is_cut else None)
        n_prompts, n_respondents = seen.counts()
        return SourceSummary(
            name=self.name,
            n_responses=n_rows,
            n_prompts=n_prompts,
            n_respondents=n_respondents if "respondent_id" in self.own else 0,
            fingerprint=digest.hexdigest(),
            columns_carried=tuple(carried),
            repeated_texts=seen.repeated_texts(),
            text_chars=text_chars,
            notices=(
                *names.notices,
                *(
                    f"{name} holds chat messages in {n:,} of {n_rows:,} rows: each cell is read as "
                    "one text."
                    for name, n in n_chats.items()
                ),
                *self._notices(lacking, n_rows, left_out),
            ),
            left_out=dict(left_out.most_common()),
        )

    def rows(self) -> Iterator[RowT]:
        """Returns the rows in order, `limit` of them at most.

        Raises:
            InputError: at the first fault, so that `check` may be skipped; and where the file
                has changed since it was checked.
        """
        if self._stamp is not None and self._stamp != self._table.stamp():
            raise InputError([InputFault(self.name, "the file has changed since it was checked")])
        self._recognise()
        repeats: Counter[int] = Counter()
        for line, raw in self._limited(None):
            faults: list[InputFault] = []
            values, extra = self._checked(line, raw, faults)
            if values is None:
                raise InputError(faults)
            self._complete(values, repeats)
            yield self._row(values, extra, line)

    def _recognise(self) -> ColumnNames:
        """Returns whose columns are whose, once read, and takes those of other names for ours.

        Raises:
            InputError: a column with two candidates.
        """
        if self._names is not None:
            return self._names

        def rows() -> Iterator[dict[str, Any]]:
            # A fault of format is reported where the rows are read and checked.
            with suppress(InputError):
                for row in islice(self._table.rows([]), self._limit):
                    yield row.values

        first = next(rows(), {})
        if not any(is_missing(first.get(name)) for name in self._map.theirs.values()):
            self._names = ColumnNames()  # all are there: no need to read the table for them
            return self._names
        names = recognise_columns(
            rows(),
            self.own,
            unique=self.unique,
            where=self.name,
            taken=self._map.columns,
            reserved=self._reserved,
        )
        if names.faults:
            raise InputError(names.faults)
        self._names = names
        self._map = ColumnMap(self.own, {**names.theirs, **self._map.columns})
        # Ids are made where there are none; where some are missing, rows have lost theirs.
        self._required = [
            name
            for name in self.required
            if name != self.unique or name not in names.without_values
        ]
        return names

    def _limited(
        self, faults: list[InputFault] | None, left_out: Counter[str] | None = None
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        taken = 0
        for line, raw in self._raw_rows(faults):
            if (reason := self._why_left_out(raw)) is not None:
                if left_out is not None:
                    left_out[reason] += 1
                continue
            taken += 1
            yield line, raw
            if taken == self._limit:
                return

    def _checked(
        self, line: int, raw: Mapping[str, Any], faults: list[InputFault]
    ) -> tuple[dict[str, str] | None, dict[str, Any]]:
        chats = {
            theirs: chat_text(name, raw[theirs])
            for name, theirs in self._map.theirs.items()
            if name.endswith("_text") and isinstance(raw.get(theirs), list | dict)
        }
        fields = RowFields(self._map, {**raw, **chats}, self._table.where(line), faults)
        values: dict[str, str] = {}
        for name in self.own:
            if name.endswith("_text"):
                is_prompt = name == "prompt_text"
                found = fields.text(name, limit=self._max_chars, required=is_prompt)
            else:
                found = fields.id(name, required=name in self._required)
            if found is not None:
                values[name] = found
        return (values if fields.is_sound else None), fields.carried

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
                field=self._map.theirs.get(self.unique, self.unique),
            )
            for line, first in repeated[:FAULT_LIMIT]
        ] + [
            InputFault(
                self._table.where(line),
                f"prompt {prompts.get(line, '')!r} has another text at {self._table.where(first)}",
                field=self._map.theirs.get("prompt_text", "prompt_text"),
            )
            for line, first in conflicting[:FAULT_LIMIT]
        ]

    def _ids_at(self, lines: set[int], name: str) -> dict[int, str]:
        """Returns the ids at some lines; only hashes were kept, so the file is read once more."""
        found: dict[int, str] = {}
        ignored: list[InputFault] = []
        repeats: Counter[int] = Counter()
        for line, raw in self._limited(ignored):
            if line in lines:
                values, _ = self._checked(line, raw, ignored)
                if values is not None:
                    self._complete(values, repeats)
                    found[line] = values[name][:80]
        return found

    def _notices(
        self, defaults: Mapping[str, int], n_rows: int, left_out: Counter[str]
    ) -> tuple[str, ...]:
        sentences = {
            "respondent_id": "'unnamed' is taken",
            "prompt_id": "it is made from the prompt's text",
            "response_id": "it is made from prompt_id and respondent_id",
        }
        notices = tuple(
            f"No {name}{'' if n == n_rows else f' in {n:,} of {n_rows:,} {self.kind}'}: {sentence}."
            for name, sentence in sentences.items()
            if (n := defaults.get(name))
        )
        return (*notices, _told_left_out(left_out)) if left_out else notices


def _told_left_out(left_out: Counter[str]) -> str:
    reasons = "; ".join(f"{n:,}: {reason}" for reason, n in left_out.most_common())
    return f"{units(left_out.total(), 'sample')} without a response left out ({reasons})"


@dataclass(frozen=True, slots=True)
class PromptRow:
    """One prompt to be asked; fields as in `Sample`."""

    prompt_id: str
    prompt_text: str
    extra: dict[str, Any]
    line: int


_UNANSWERED = "no line of the file answers its prompt"


class ResponseSource(RowSource[Sample]):
    """Responses to be judged.

    A row with no response_text at all (not an empty one) whose column `no_response` gives a reason
    is left out and counted in the notices: the tool that wrote the file got no response.
    """

    own = ("response_id", "prompt_id", "prompt_text", "response_text", "respondent_id")
    required = ("response_id", "prompt_text", "response_text")
    unique = "response_id"
    kind = "responses"

    def __init__(
        self,
        source: Any,
        *,
        prompts_from: str | Path | None = None,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        max_chars: int = MAX_TEXT_CHARS,
        format: str | None = None,  # noqa: A002
    ) -> None:
        """Opens the source.

        Args:
            source: as of `RowSource`.
            prompts_from: a file of prompts, such as the input of a batch, for rows without
                prompt_text: they are joined by prompt_id. Prompts that no row names are counted as
                samples without a response.
            columns, limit, max_chars, format: as of `RowSource`.

        Raises:
            InputError: as `RowSource`, and everything wrong with the file of prompts.
        """
        super().__init__(source, columns=columns, limit=limit, max_chars=max_chars, format=format)
        self._prompts_from = prompts_from
        self._prompts: dict[str, str] | None = None
        if prompts_from is not None:
            with PromptSource(prompts_from, max_chars=max_chars) as prompts:
                prompts.check()
                self._prompts = {one.prompt_id: one.prompt_text for one in prompts.rows()}

    def _raw_rows(self, faults: list[InputFault] | None) -> Iterator[Row]:
        if self._prompts is None:
            yield from super()._raw_rows(faults)
            return
        their_id, their_text = (self._map.theirs[one] for one in ("prompt_id", "prompt_text"))
        unnamed = dict.fromkeys(self._prompts)
        line = 0
        for line, given in super()._raw_rows(faults):
            raw = given
            try:
                named = read_id(raw.get(their_id)) or ""
            except ValueError:
                named = ""  # said where the row is checked
            unnamed.pop(named, None)
            if is_missing(raw.get(their_text)):
                raw = {**raw, their_text: self._prompts.get(named)}
            yield Row(line, raw)
        for named in unnamed:
            nothing = {self._map.theirs["response_text"]: None, NO_RESPONSE: _UNANSWERED}
            yield Row(line, {their_id: named, **nothing})

    def _checked(
        self, line: int, raw: Mapping[str, Any], faults: list[InputFault]
    ) -> tuple[dict[str, str] | None, dict[str, Any]]:
        their_id, their_text = (self._map.theirs[one] for one in ("prompt_id", "prompt_text"))
        if self._prompts is not None and raw.get(their_text) is None:
            message = f"{str(raw.get(their_id))[:80]!r} does not stand in {self._prompts_from}"
            faults.append(InputFault(self._table.where(line), message, field=their_id))
            return None, {}
        return super()._checked(line, raw, faults)

    def _why_left_out(self, raw: Mapping[str, Any]) -> str | None:
        # A tool that says why it has no response is believed; an empty response is another thing.
        if raw.get(self._map.theirs["response_text"]) is None and raw.get(NO_RESPONSE):
            return str(raw[NO_RESPONSE])
        return None

    def _row(self, values: dict[str, str], extra: dict[str, Any], line: int) -> Sample:
        return Sample(**values, extra=extra, line=line)

    def _complete(self, values: dict[str, str], repeats: Counter[int]) -> None:
        values.setdefault("respondent_id", UNNAMED)
        values.setdefault("prompt_id", prompt_text_id(values["prompt_text"]))
        if "response_id" not in values:
            values["response_id"] = made_id(values, repeats)

    def _hint_for(self, absent: set[str | None], found: Collection[str]) -> str | None:
        if "prompt_text" in absent and self._map.theirs["prompt_id"] in found:
            return (
                "where the prompts stand in another file, as of a batch's output in its input, "
                "name it as `prompts_from`"
            )
        if "response_text" in absent and "prompt_text" not in absent:
            return (
                "prompts without responses? have models answer them first: areopagus score FILE "
                "--target MODEL (areopagus stress FILE does the same under framings); a column of "
                "another name: `columns={'response_text': 'answer'}`"
            )
        return None


class PromptSource(RowSource[PromptRow]):
    """Prompts to be asked. A prompt stands once: two rows of one prompt_id, or of one text without
    ids, are a fault.
    """

    own = ("prompt_id", "prompt_text")
    required = ("prompt_text",)
    unique = "prompt_id"
    kind = "prompts"

    def _row(self, values: dict[str, str], extra: dict[str, Any], line: int) -> PromptRow:
        return PromptRow(values["prompt_id"], values["prompt_text"], extra, line)

    def _complete(self, values: dict[str, str], repeats: Counter[int]) -> None:
        values.setdefault("prompt_id", prompt_text_id(values["prompt_text"]))
