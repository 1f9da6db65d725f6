"""`areopagus ledger`: show, stats, prune."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from ..formats import dollars, units
from ..progress import ProgressLine
from .display import Group
from .options import json_option
from .results import Output, listing, write_shown

if TYPE_CHECKING:
    from ..records.ledger.admin import Pruning

_WHERE = click.option("--ledger", "location", metavar="PATH|URL", help="Default: the shared one.")


@click.group(cls=Group)
def ledger() -> None:
    """Show, count and prune the calls already paid."""


@ledger.command("show")
@click.argument("key", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@json_option
@_WHERE
def show(key: str | None, *, limit: int, location: str | None, json_file: str | None) -> None:
    """List the newest calls, or show all that is stored of the one whose KEY begins so."""
    from ..records.ledger.admin import recent_calls, whole_call
    from ..reports.document import Column, Table
    from .display import cut

    if key is not None:
        import json

        call = whole_call(location, key)
        if json_file is None:
            # Escaped to ASCII: what a model wrote must not move the terminal's cursor.
            click.echo(json.dumps(call, indent=2))
            return
        fields = [
            (name, value if isinstance(value, str | int | float) else json.dumps(value))
            for name, value in call.items()
        ]
        table = Table("", "Call", [Column("field", "id"), Column("value", "wide")], fields)
        write_shown(json_file, listing("call", [f"Call {call['key']}."], [table]))
        return
    rows = [
        (
            datetime.fromtimestamp(call.created_at).astimezone().strftime("%m-%d %H:%M:%S"),
            call.key[:8],
            cut(call.backend, 16),
            call.purpose,
            dollars(call.cost_usd),
            "(cannot be read)" if call.text is None else cut(" ".join(call.text.split()), 22),
        )
        for call in recent_calls(location, limit=limit)
    ]
    heads = ["time", "key", "backend", "for", "cost", "reply"]
    table = Table("", "Calls", [Column(head, "id") for head in heads], rows)
    told = f"The newest {units(len(rows), 'call')}."
    Output(json_file).show(listing("calls", [told], [table]))


@ledger.command("stats")
@json_option
@_WHERE
def stats(location: str | None, json_file: str | None) -> None:
    """Count calls, tokens, cost and failures by backend."""
    from ..records.ledger.admin import ledger_stats
    from ..reports.document import Column, Table

    with ProgressLine() as line:
        line.do("counting the calls")
        found = ledger_stats(location)
    columns = [Column("backend", "id"), *(Column(name, "count") for name in ("calls", "repairs"))]
    columns += [Column(name, "count") for name in ("tokens in", "tokens out")]
    columns += [Column("cost", "number"), Column("calls of unknown price", "count")]
    rows = [
        (
            one.backend, one.calls, one.repairs, one.input_tokens, one.output_tokens,
            one.cost_usd if one.unknown_price < one.calls or not one.calls else None,
            one.unknown_price,
        )
        for one in found.backends
    ]  # fmt: skip
    remarks = [
        (f"{one.backend}:", f"{units(number, 'call')} {told}")
        for one in found.backends
        for number, told in (
            (one.repeats, "in flight at a kill, asked again"),
            (one.duplicates, "paid by two processes at once; the first reply was kept"),
        )
        if number
    ]
    if found.abandoned:
        told = f"{units(found.abandoned, 'call')} in flight at a kill, not asked again yet"
        remarks.append(("", told))
    remarks += [
        ("failed:", f"{backend}: {fault}: {units(number, 'call')}")
        for backend, fault, number in found.failures
    ]
    table = Table("Calls by backend; cost in US dollars.", "Backends", columns, rows)
    place = f"{found.place}: {found.size_bytes / 1e6:.1f} MB"
    Output(json_file).show(listing("ledger", [place], [table], remarks=remarks))


@ledger.command("prune")
@click.option("--before", metavar="DATE", help="Only what is older, such as 2026-01-31.")
@click.option("--backend", metavar="NAME", help="Only what is of this backend.")
@click.option("--failures", is_flag=True, help="Only records of failed attempts.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@_WHERE
def prune(
    *,
    before: str | None,
    backend: str | None,
    failures: bool,
    yes: bool,
    location: str | None,
    json_file: str | None,
) -> None:
    """Remove calls from the ledger, after saying what they cost."""
    from ..errors import InputError
    from ..records.ledger.admin import prune as remove

    moment: float | None = None
    if before is not None:
        try:
            moment = datetime.fromisoformat(before).astimezone().timestamp()
        except ValueError:
            raise InputError(f"--before: must be a date such as 2026-01-31, got {before}") from None
    options = {"before": moment, "backend": backend, "failures_only": failures}
    with ProgressLine() as line:
        line.do("counting the calls")
        found = remove(location, dry_run=True, **options)  # type: ignore[arg-type]
    told = "Nothing to prune."
    if found.calls or found.failures:
        if not yes:
            click.echo(_told(found), err=True)
            click.confirm("Remove them?", abort=True, err=True)
        with ProgressLine() as line:
            line.do("removing the calls")
            remove(location, dry_run=False, **options)  # type: ignore[arg-type]
        told = f"Removed {_told(found)}."
    Output(json_file).show(listing("pruning", [told]))


def _told(found: Pruning) -> str:
    parts = [f"{found.failures:,} failed attempts"] if found.failures else []
    if found.calls:
        cost = f"they cost {dollars(found.cost_usd)}"
        if found.unknown_price:
            cost += f" and {found.unknown_price:,} of them have no known price"
        parts.insert(0, f"{found.calls:,} paid calls ({cost}; to need them again is to pay again)")
    return " and ".join(parts)
