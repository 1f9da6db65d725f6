"""The table of variants: written for a person to read and edit, and read back whole.

One row a prompt and condition. `generated_sha256` is the hash of the text as a model wrote it, so
that a text changed by hand is known as such, whoever changed it and in whichever program.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from ..errors import InputError, InputFault
from .readers.cells import ColumnMap, is_missing, read_id, read_text
from .readers.dispatch import Table, open_table
from .readers.responses import MAX_TEXT_CHARS
from .run_folder import csv_table
from .spreadsheets import writable

BASELINE = "baseline"
"""The condition of the prompt as it was; no variant has it."""

VariantRowStatus = Literal["accepted", "failed", "not_asked"]
_STATUSES: tuple[VariantRowStatus, ...] = get_args(VariantRowStatus)

Origin = Literal["generated", "edited by hand", "supplied"]
"""`supplied`: nothing is known of a text that a model wrote before."""

_REQUIRED = ("prompt_id", "condition", "prompt_text")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class VariantRow:
    """One variant of one prompt.

    Attributes:
        prompt_id, condition: what it is a variant of, and in which framing.
        prompt_text: the variant; may be empty unless accepted.
        baseline_text: the prompt as it was.
        rewriter, reviewer: names of the models; "" where there was none.
        status: `accepted` is used; the others are counted and left out.
        reasons, checks: in words, for the reader.
        edited: where the text comes from.
        generated_sha256: `text_sha256` of what the rewriter wrote, "" where no model did.
        line: where it stands; 0 for a row that was not read.
    """

    prompt_id: str
    condition: str
    prompt_text: str
    baseline_text: str
    rewriter: str = ""
    reviewer: str = ""
    status: VariantRowStatus = "accepted"
    reasons: str = ""
    checks: str = ""
    edited: Origin = "generated"
    generated_sha256: str = ""
    line: int = 0


VARIANT_COLUMNS = tuple(field.name for field in fields(VariantRow) if field.name != "line")


@dataclass(frozen=True, slots=True)
class VariantSet:
    """All variants of a study.

    Attributes:
        rows: in the order of the file.
        conditions: in the order in which they first stand, those asked for first.
        baselines: prompt id to the prompt's text.
    """

    rows: tuple[VariantRow, ...]
    conditions: tuple[str, ...]
    baselines: Mapping[str, str]

    def usable(self) -> dict[str, dict[str, str]]:
        """Prompt id to condition to text, for the accepted ones; every prompt has an entry."""
        texts: dict[str, dict[str, str]] = {name: {} for name in self.baselines}
        for row in self.rows:
            if row.status == "accepted":
                texts[row.prompt_id][row.condition] = row.prompt_text
        return texts

    @property
    def n_edited(self) -> int:
        """How many texts a person has changed."""
        return sum(row.edited == "edited by hand" for row in self.rows)

    def fingerprint(self) -> str:
        """SHA-256, hex, over what is used: prompts, conditions, statuses and texts."""
        digest = hashlib.sha256()
        for row in sorted(self.rows, key=lambda row: (row.prompt_id, row.condition)):
            for part in (row.prompt_id, row.condition, row.status, row.prompt_text):
                encoded = part.encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "big") + encoded)
        return digest.hexdigest()


def text_sha256(text: str) -> str:
    """SHA-256, hex, of a text, whatever a spreadsheet does to its line ends and outer blanks."""
    return hashlib.sha256(_comparable(text).encode("utf-8", "surrogatepass")).hexdigest()


def write_variants(path: str | Path, rows: Iterable[VariantRow]) -> None:
    """Writes the table (CSV, UTF-8); a file that stands there is replaced once all is written.

    Raises:
        StoreError: where it cannot be written.
    """
    with csv_table(path, VARIANT_COLUMNS) as writer:
        for row in rows:
            writer.write(writable(getattr(row, name)) for name in VARIANT_COLUMNS)


def read_variants(
    source: Any,
    prompts: Mapping[str, str] | None = None,
    *,
    conditions: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002
) -> VariantSet:
    """The variants of a table that was written here, edited by a person, or made elsewhere.

    A row whose text is not the one that was generated is marked as edited by hand, and is accepted
    whatever became of the generated one. A row that failed and was not edited stays left out.

    Args:
        source: a file, a DataFrame or an iterable of mappings; prompt_id, condition and prompt_text
            are needed, the other columns of `VARIANT_COLUMNS` are not.
        prompts: prompt id to text. None: the prompts are those of the column baseline_text.
        conditions: those that every prompt must have, whatever else is in the file. Those in the
            file are free; every prompt must have each of them.
        columns: our column name to theirs.
        format: the file's format where its suffix does not say it.

    Raises:
        InputError: with every fault of every row.
    """
    names = ColumnMap(VARIANT_COLUMNS, columns)
    wrong = names.faults()
    if wrong:
        raise InputError(wrong)
    with open_table(source, format=format) as table:
        return _Reading(table, names, prompts, conditions).all()


class _Reading:
    """One reading of one table."""

    def __init__(
        self,
        table: Table,
        names: ColumnMap,
        prompts: Mapping[str, str] | None,
        conditions: Sequence[str],
    ) -> None:
        self.table = table
        self.names = names
        self.prompts = prompts
        self.conditions = conditions
        self.baselines: dict[str, str] = dict(prompts or {})
        self.faults: list[InputFault] = []

    def all(self) -> VariantSet:
        rows: dict[tuple[str, str], VariantRow] = {}
        found: dict[str, None] = dict.fromkeys(self.conditions)
        is_empty = True
        for line, raw in self.table.rows(self.faults):
            if is_empty and self._lacks_columns(raw):
                raise InputError(self.faults)
            is_empty = False
            row = self._row(line, raw)
            if row is None:
                continue
            key = (row.prompt_id, row.condition)
            if key in rows:
                first = self.table.where(rows[key].line)
                self._fault(line, f"stands at {first} too: one row a condition", "condition")
                continue
            rows[key] = row
            found.setdefault(row.condition)
        if is_empty and not self.faults:
            self.faults.append(InputFault(self.table.description, "holds no variants"))
        # With faulty rows left out, every one of them would be said to be missing as well.
        if not self.faults:
            self._missing(rows, list(found))
        if self.faults:
            raise InputError(self.faults)
        return VariantSet(tuple(rows.values()), tuple(found), self.baselines)

    def _lacks_columns(self, raw: Mapping[str, Any]) -> bool:
        needed = [*_REQUIRED, *(() if self.prompts is not None else ("baseline_text",))]
        for name in [*needed, *self.names.columns]:
            theirs = self.names.theirs[name]
            if theirs not in raw:
                shown = ", ".join(list(raw)[:30])
                rule = f"there is no such column; found: {shown}"
                self.faults.append(InputFault(self.table.description, rule, theirs))
        return bool(self.faults)

    def _row(self, line: int, raw: Mapping[str, Any]) -> VariantRow | None:
        ours, _ = self.names.split(raw)
        before = len(self.faults)
        prompt_id = self._id(line, ours, "prompt_id")
        condition = self._id(line, ours, "condition")
        text = self._text(line, ours, "prompt_text")
        baseline = self._text(line, ours, "baseline_text")
        status = self._status(line, ours)
        sha256 = self._plain(ours, "generated_sha256")
        if sha256 and not _SHA256.fullmatch(sha256):
            rule = f"must be 64 hex digits or empty, got {sha256[:_SHOWN]!r}"
            self._fault(line, rule, "generated_sha256")
        if condition.casefold() == BASELINE:
            self._fault(line, "must name a variant: the baseline is the prompt itself", "condition")
        known = self._baseline(line, prompt_id, baseline) if prompt_id else None
        origin: Origin = "supplied"
        if sha256:
            origin = "generated" if text_sha256(text) == sha256 else "edited by hand"
        elif "generated_sha256" in ours and status != "accepted" and text.strip():
            # No model brought a text, so a person did.
            origin = "edited by hand"
        if origin == "edited by hand" and text.strip():
            status = "accepted"
        if status == "accepted" and not text.strip() and len(self.faults) == before:
            rule = "must not be empty; to leave a variant out, set its status to failed"
            self._fault(line, rule, "prompt_text")
        if status == "accepted" and known is not None and _comparable(text) == _comparable(known):
            self._fault(line, "must not be the baseline itself", "prompt_text")
        if len(self.faults) > before or known is None:
            return None
        return VariantRow(
            prompt_id=prompt_id,
            condition=condition,
            prompt_text=text,
            baseline_text=known,
            rewriter=self._plain(ours, "rewriter"),
            reviewer=self._plain(ours, "reviewer"),
            status=status,
            reasons=self._plain(ours, "reasons"),
            checks=self._plain(ours, "checks"),
            edited=origin,
            generated_sha256=sha256,
            line=line,
        )

    def _baseline(self, line: int, prompt_id: str, given: str) -> str | None:
        """The prompt's text; None, with a fault, where it is unknown or another one stands here."""
        known = self.baselines.get(prompt_id)
        if known is None and self.prompts is not None:
            self._fault(line, f"there is no prompt {prompt_id[:_SHOWN]!r}", "prompt_id")
            return None
        if known is None:
            if not given.strip():
                self._fault(line, "must not be empty", "baseline_text")
                return None
            self.baselines[prompt_id] = known = given
        if given.strip() and _comparable(given) != _comparable(known):
            rule = f"must be the text of prompt {prompt_id[:_SHOWN]!r} unchanged; edit prompt_text"
            self._fault(line, rule, "baseline_text")
        return known

    def _missing(self, rows: Mapping[tuple[str, str], VariantRow], conditions: list[str]) -> None:
        if not conditions:
            return
        for prompt_id in self.baselines:
            absent = [name for name in conditions if (prompt_id, name) not in rows]
            if absent:
                rule = (
                    f"prompt {prompt_id[:_SHOWN]!r} has no row for {', '.join(absent)}; a variant "
                    "to be left out keeps its row with status failed"
                )
                self.faults.append(InputFault(self.table.description, rule, "condition"))

    def _id(self, line: int, ours: Mapping[str, Any], name: str) -> str:
        try:
            found = read_id(ours.get(name))
        except ValueError as error:
            self._fault(line, str(error), name)
            return ""
        if found is None:
            self._fault(line, "must not be empty", name)
            return ""
        return found.strip() if name == "condition" else found

    def _text(self, line: int, ours: Mapping[str, Any], name: str) -> str:
        value = ours.get(name)
        if is_missing(value):
            return ""
        try:
            return read_text(value, limit=MAX_TEXT_CHARS)
        except ValueError as error:
            self._fault(line, str(error), name)
            return ""

    def _status(self, line: int, ours: Mapping[str, Any]) -> VariantRowStatus:
        value = self._plain(ours, "status")
        for status in _STATUSES:
            if value == status:
                return status
        if value:
            allowed = ", ".join(_STATUSES)
            self._fault(line, f"must be one of {allowed}, got {value[:_SHOWN]!r}", "status")
        return "accepted"

    def _plain(self, ours: Mapping[str, Any], name: str) -> str:
        value = ours.get(name)
        return "" if is_missing(value) else str(value).strip()

    def _fault(self, line: int, message: str, name: str) -> None:
        field = self.names.theirs[name]
        self.faults.append(InputFault(self.table.where(line), message, field))


def as_generated(row: VariantRow) -> VariantRow:
    """The row with the hash of its text, as a rewriter's own."""
    sha256 = text_sha256(row.prompt_text) if row.prompt_text.strip() else ""
    return replace(row, edited="generated", generated_sha256=sha256)


def _comparable(text: str) -> str:
    """The text without what spreadsheets change unasked: line ends, outer blanks."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()
