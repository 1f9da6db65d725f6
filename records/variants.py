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
from .readers.cells import ColumnMap, RowFields
from .readers.dispatch import open_table
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
    needed = _REQUIRED if prompts is not None else (*_REQUIRED, "baseline_text")
    baselines = dict(prompts or {})
    faults: list[InputFault] = []
    rows: dict[tuple[str, str], VariantRow] = {}
    with open_table(source, format=format) as table:
        for n, (line, raw) in enumerate(table.rows(faults)):
            if n == 0 and (absent := names.absent(raw, needed, table.description)):
                raise InputError([*faults, *absent])
            fields = RowFields(names, raw, table.where(line), faults)
            row = _read_row(fields, line, baselines, is_known=prompts is not None)
            if row is None:
                continue
            key = (row.prompt_id, row.condition)
            if key in rows:
                first = table.where(rows[key].line)
                fields.fault("condition", f"stands at {first} too: one row a condition")
            else:
                rows[key] = row
        found = tuple(dict.fromkeys((*conditions, *(condition for _, condition in rows))))
        # With faulty rows left out, every one of them would be said to be missing as well.
        if not faults:
            faults += _missing(rows, found, baselines, table.description)
    if faults:
        raise InputError(faults)
    return VariantSet(tuple(rows.values()), found, baselines)


def _read_row(
    fields: RowFields, line: int, baselines: dict[str, str], *, is_known: bool
) -> VariantRow | None:
    """One row; None, with its faults, where something is wrong with it.

    Args:
        fields: the row.
        line: where it stands.
        baselines: prompt id to text; takes those that are new.
        is_known: whether the prompts are given, so that there are no others.
    """
    prompt_id = fields.id("prompt_id", required=True)
    condition = (fields.id("condition", required=True) or "").strip()
    text, given = (
        fields.text(name, limit=MAX_TEXT_CHARS) or "" if fields.plain(name) else ""
        for name in ("prompt_text", "baseline_text")
    )
    status, sha256 = fields.plain("status"), fields.plain("generated_sha256")
    if status not in (*_STATUSES, ""):
        allowed = ", ".join(_STATUSES)
        fields.fault("status", f"must be one of {allowed}, got {status[:_SHOWN]!r}")
    if sha256 and not _SHA256.fullmatch(sha256):
        rule = f"must be 64 hex digits or empty, got {sha256[:_SHOWN]!r}"
        fields.fault("generated_sha256", rule)
    if condition.casefold() == BASELINE:
        rule = "must name a variant: the baseline is the prompt itself"
        fields.fault("condition", rule)
    baseline = None
    if prompt_id is not None:
        baseline = _baseline(fields, prompt_id, given, baselines, is_known=is_known)
    is_accepted = status not in ("failed", "not_asked")
    origin: Origin = "supplied"
    if sha256:
        origin = "generated" if text_sha256(text) == sha256 else "edited by hand"
    elif fields.is_given("generated_sha256") and not is_accepted and text.strip():
        # No model brought a text, so a person did.
        origin = "edited by hand"
    if origin == "edited by hand" and text.strip():
        is_accepted = True
    if is_accepted and not text.strip() and fields.is_sound:
        rule = "must not be empty; to leave a variant out, set its status to failed"
        fields.fault("prompt_text", rule)
    if is_accepted and baseline is not None and _comparable(text) == _comparable(baseline):
        fields.fault("prompt_text", "must not be the baseline itself")
    if prompt_id is None or baseline is None or not fields.is_sound:
        return None
    return VariantRow(
        prompt_id=prompt_id,
        condition=condition,
        prompt_text=text,
        baseline_text=baseline,
        rewriter=fields.plain("rewriter"),
        reviewer=fields.plain("reviewer"),
        status="accepted" if is_accepted else "failed" if status == "failed" else "not_asked",
        reasons=fields.plain("reasons"),
        checks=fields.plain("checks"),
        edited=origin,
        generated_sha256=sha256,
        line=line,
    )


def _baseline(
    fields: RowFields, prompt_id: str, given: str, baselines: dict[str, str], *, is_known: bool
) -> str | None:
    """The prompt's text; None, with a fault, where it is unknown; another one here is a fault."""
    known = baselines.get(prompt_id)
    if known is None and is_known:
        fields.fault("prompt_id", f"there is no prompt {prompt_id[:_SHOWN]!r}")
        return None
    if known is None and not given.strip():
        fields.fault("baseline_text", "must not be empty")
        return None
    known = baselines.setdefault(prompt_id, given)
    if given.strip() and _comparable(given) != _comparable(known):
        rule = f"must be the text of prompt {prompt_id[:_SHOWN]!r} unchanged; edit prompt_text"
        fields.fault("baseline_text", rule)
    return known


def _missing(
    rows: Mapping[tuple[str, str], VariantRow],
    conditions: Sequence[str],
    baselines: Mapping[str, str],
    where: str,
) -> list[InputFault]:
    """Faults for a table without rows, and for each prompt that lacks conditions."""
    if not rows:
        return [InputFault(where, "holds no variants")]
    faults: list[InputFault] = []
    for prompt_id in baselines:
        absent = [name for name in conditions if (prompt_id, name) not in rows]
        if absent:
            rule = (
                f"prompt {prompt_id[:_SHOWN]!r} has no row for {', '.join(absent)}; a variant "
                "to be left out keeps its row with status failed"
            )
            faults.append(InputFault(where, rule, "condition"))
    return faults


def as_generated(row: VariantRow) -> VariantRow:
    """The row with the hash of its text, as a rewriter's own."""
    sha256 = text_sha256(row.prompt_text) if row.prompt_text.strip() else ""
    return replace(row, edited="generated", generated_sha256=sha256)


def _comparable(text: str) -> str:
    """The text without what spreadsheets change unasked: line ends, outer blanks."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()
