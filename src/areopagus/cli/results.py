"""What the commands print of results and costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import visible_text
from ..formats import dollars, units
from ..judges.models.usage import RunUsage, UsageTotals
from .display import WIDTH, in_options, printable

if TYPE_CHECKING:
    import pandas as pd

    from ..records.estimates import Estimates
    from ..reports.document import Document, Table


_PARTS = (
    ("uncached_input_usd", "uncached input"),
    ("cached_input_usd", "cached input"),
    ("cache_write_usd", "written to a cache"),
    ("output_usd", "output"),
    ("not_taken_apart_usd", "not taken apart"),
)
_OUTCOMES = (
    ("repairs", "repair", "repairs"),
    ("refused", "refused reply", "refused replies"),
    ("unreadable", "unreadable reply", "unreadable replies"),
)


_MOST_FAULTS = 5


def stopped_by_cap(session: Mapping[str, Any]) -> str:
    """The lines that a command prints after its results.

    Args:
        session: as run.json holds it.
    """
    line = "Stopped by the cost cap: the rest was not asked. A higher --max-cost goes on."
    needed = session.get("call_left_out_usd")
    if needed is None:
        return line
    digits = 2 if needed >= 1 else 4
    enough = math.ceil(needed * 10**digits) / 10**digits
    return f"{line}\nOne call can cost {dollars(enough)} at most, which the cap must cover."


def cost_lines(session: Mapping[str, Any]) -> list[str]:
    """Calls, tokens, cost, savings and faults of one session of run.json, a line each.

    Args:
        session: as run.json holds it.
    """
    from ..reports.run_sections import saved_told

    usage = RunUsage.from_json(session.get("replies") or {})
    paid = usage.online.plus(usage.batch)
    lines = [f"Calls: {_calls(session.get('calls') or {}, usage)}"]
    # Where nothing is charged, nobody counts the tokens.
    if paid.cost_usd or paid.replies_with_unknown_price or paid.cached_input_tokens:
        lines.append(f"Tokens: {_tokens(paid)}")
    lines.append(f"Cost now: {_spent(session, usage)}")
    if paid.cached_input_tokens or paid.cache_write_tokens or usage.batch.replies:
        lines.append(" ".join(saved_told(session["replies"]["saved"], usage.online, usage.batch)))
    if of_these := _outcomes(usage):
        lines.append(f"Of all replies: {of_these}")
    return lines + fault_lines(session.get("faults") or ())


def cost_line(session: Mapping[str, Any]) -> str:
    """Calls sent, replies that the ledger held and dollars spent in one session, in a few words."""
    usage = RunUsage.from_json(session.get("replies") or {})
    calls = session.get("calls") or {}
    told = f"{units(calls.get('sent', 0), 'call')} sent"
    if stored := calls.get("from_ledger", 0):
        told += f", {stored:,} from the ledger"
    return f"{told} · {_spent(session, usage)}"


def fault_lines(faults: Sequence[Mapping[str, Any]]) -> list[str]:
    """What went wrong with calls: how often, what the endpoint said of it, and what to try.

    Args:
        faults: as a session of run.json holds them, the most frequent first.
    """
    lines: list[str] = []
    hints: dict[str, str] = {}
    for one in faults:
        lines.append(f"{one['calls']:,} × failed: {one['fault']}")
        said = " ".join(visible_text(one["said"], keep="\n").split())
        if said:
            lines.append(f"  {said if len(said) <= MOST_SAID else said[: MOST_SAID - 1] + '…'}")
        if one.get("hint"):
            hints[one["fault"]] = one["hint"]
    return lines + [f"To try ({fault}): {hint}" for fault, hint in hints.items()]


def echo_cost(session: Mapping[str, Any]) -> None:
    """Prints the lines in 80 columns."""
    import textwrap

    for line in cost_lines(session):
        click.echo(textwrap.fill(line, 80, subsequent_indent="  ", break_on_hyphens=False))


STDOUT = "-"
"""The file of --json that is no file."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a command is to print.

    Attributes:
        json_file: where --json says; "-" is stdout, which then holds nothing else.
        quiet: whether no more is printed than where the result is.
        full: whether the whole document is printed instead of its summary.
    """

    json_file: str | None = None
    quiet: bool = False
    full: bool = False

    @property
    def talks(self) -> bool:
        """Whether sentences may be printed on stdout."""
        return not self.quiet and self.json_file != STDOUT

    def show(
        self,
        document: Document,
        estimates: Estimates | pd.DataFrame | None = None,
        *,
        place: str | Path | None = None,
        **more: Any,
    ) -> bool:
        """Shows a result as it is wanted: as JSON, as text, or as the place where it stands.

        Args:
            document: what is shown.
            estimates: every figure, for JSON.
            place: where the result stands, which --quiet prints and JSON holds.
            more: what JSON holds beside them.

        Returns:
            Whether more sentences may be printed on stdout.

        Raises:
            StoreError: the file of --json cannot be written.
        """
        from ..reports.text import render_text

        document = as_command(document)
        if self.json_file is not None:
            where = None if place is None else str(place)
            write_shown(self.json_file, document, estimates, place=where, **more)
        if self.quiet and self.json_file != STDOUT and place is not None:
            click.echo(printable(str(place)))
        if self.talks:
            for line in render_text(document, full=self.full, width=WIDTH):
                click.echo(printable(line))
        if self.talks and self.json_file is not None:
            click.echo(f"Wrote {printable(self.json_file)}", err=True)
        return self.talks


def as_command(document: Document) -> Document:
    """The document, whose notices name the options of the command at work."""
    context = click.get_current_context(silent=True)
    if context is None:
        return document
    return replace(document, notices=[in_options(n, context.command) for n in document.notices])


def listing(
    kind: str,
    headline: Sequence[str],
    tables: Sequence[Table] = (),
    *,
    remarks: Sequence[tuple[str, str]] = (),
    notices: Sequence[str] = (),
) -> Document:
    """What a command shows that has no estimates: sentences, tables, and remarks below them.

    Args:
        kind: of the document, such as "ledger".
        headline: sentences that stand first.
        tables: in order.
        remarks: (what stands first in it, sentence).
        notices: what a reader must know first.
    """
    from ..reports.document import Document, Points, Section

    parts: list[Any] = [table for table in tables if table.rows]
    parts += [Points(remarks)] if remarks else []
    section = Section(kind.replace("_", "-"), kind.replace("_", " "), parts, "summary")
    return Document(
        title=" ".join(headline),
        kind=kind,
        sections=[section],
        headline=headline,
        notices=notices,
    )


def write_shown(
    json_file: str,
    document: Document,
    estimates: Estimates | pd.DataFrame | None = None,
    **more: Any,
) -> None:
    """Writes what is shown and every estimate where --json says, and more beside them.

    Raises:
        StoreError: it cannot be written.
    """
    import json

    from ..records.estimates import Estimates, json_rows
    from ..records.run_folder import replaced
    from ..reports.document_json import to_json

    frame = estimates.frame() if isinstance(estimates, Estimates) else estimates
    rows = [] if frame is None else json_rows(frame)
    told = {name: one for name, one in more.items() if one is not None}
    content = {**to_json(document), "estimates": rows, **told}
    if json_file == STDOUT:
        # Escaped to ASCII: what a model wrote must not move a terminal's cursor.
        click.echo(json.dumps(content, indent=1, allow_nan=False))
        return
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    with replaced(Path(json_file)) as part:
        part.write_text(text + "\n", encoding="utf-8")


def _calls(calls: Mapping[str, int], usage: RunUsage) -> str:
    sent, batched = calls.get("sent", 0), calls.get("in_batches", 0)
    said = f"{units(sent, 'call')} sent"
    if batched:
        where = f"{batched:,} in {units(calls.get('batches', 0), 'batch', 'batches')}"
        said += f" ({where}, {sent - batched:,} online)"
    parts = [said, f"{calls.get('from_ledger', 0):,} answered by the ledger"]
    if usage.batch.replies and not batched:
        parts.append(f"{usage.batch.replies:,} by batches of an earlier session")
    if calls.get("repeated"):
        parts.append(f"{calls['repeated']:,} in flight at an earlier kill, repeated")
    if calls.get("failed"):
        parts.append(f"{calls['failed']:,} failed")
    return ", ".join(parts)


def _tokens(paid: UsageTotals) -> str:
    if paid.replies and paid.replies_with_unknown_tokens == paid.replies:
        return "not stated by any endpoint"
    notes = []
    if paid.cached_input_tokens:
        share = paid.cached_input_tokens / paid.input_tokens
        notes.append(f"{paid.cached_input_tokens:,} from a cache ({share:.0%})")
    if paid.cache_write_tokens:
        notes.append(f"{paid.cache_write_tokens:,} written to one")
    said = f"{paid.input_tokens:,} in" + (f" ({', '.join(notes)})" if notes else "")
    said += f", {paid.output_tokens:,} out"
    if paid.replies_with_unknown_tokens:
        said += f"; {units(paid.replies_with_unknown_tokens, 'reply', 'replies')} did not say"
    return said


def _spent(session: Mapping[str, Any], usage: RunUsage) -> str:
    from ..reports.run_sections import spent_told

    paid = usage.online.plus(usage.batch)
    is_nothing = not (paid.replies or session["spent_usd"] or session["possibly_spent_usd"])
    if is_nothing and usage.ledger.replies_with_unknown_price:
        return "nothing paid now"
    parts = [
        f"{dollars(amount)} {name}"
        for key, name in _PARTS
        if (amount := getattr(paid, key)) and amount != paid.cost_usd
    ]
    return spent_told([session], f" ({', '.join(parts)})" if parts else "")


def _outcomes(usage: RunUsage) -> str:
    parts = []
    for name, one, many in _OUTCOMES:
        sums: UsageTotals = getattr(usage, name)
        if sums.replies:
            is_unknown = sums.replies_with_unknown_price == sums.replies
            cost = "price unknown" if is_unknown else dollars(sums.cost_usd)
            parts.append(f"{units(sums.replies, one, many)} ({cost})")
    return ", ".join(parts)


MOST_SAID = 300
"""Characters of an endpoint's sentence that are shown."""
MOST_ROWS = 30


def answer_lines(counts: Mapping[str, int]) -> list[str]:
    """What became of planned answers; see `ResponseCounts`."""
    cut = counts["cut_off"]
    tail = f", {cut} of them cut off at the token limit" if cut else ""
    lines = [f"{counts['answered']} answered of {counts['planned']} planned responses{tail}"]
    troubles = [
        f"{counts[name]} {name.replace('_', ' ')}"
        for name in ("empty", "refused", "failed", "not_asked")
        if counts[name]
    ]
    return [*lines, ", ".join(troubles)] if troubles else lines
