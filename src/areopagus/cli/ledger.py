"""`areopagus ledger`: show, stats, prune."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..records.ledger.admin import Pruning

_WHERE = click.option("--ledger", "location", metavar="PATH|URL", help="Default: the shared one.")


@click.group()
def ledger() -> None:
    """Show, count and prune the calls already paid."""


@ledger.command("show")
@click.argument("key", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@_WHERE
def show(key: str | None, *, limit: int, location: str | None) -> None:
    """List the newest calls, or show all that is stored of the one whose KEY begins so."""
    from ..records.ledger.admin import recent_calls, whole_call

    if key is not None:
        import json

        # Escaped to ASCII: what a model wrote must not move the terminal's cursor.
        click.echo(json.dumps(whole_call(location, key), indent=2))
        return
    from .display import console, dollars, table, visible

    out = console()
    rows = table("", ["time", "key", "backend", "for", "cost", "reply"], left=4)
    rows.columns[5].justify = "left"
    # The reply takes what the other columns leave: rich would shrink all of them alike.
    room = max(12, out.width - 58)
    for call in recent_calls(location, limit=limit):
        rows.add_row(
            datetime.fromtimestamp(call.created_at).astimezone().strftime("%m-%d %H:%M:%S"),
            call.key[:8],
            visible(call.backend, width=18),
            visible(call.purpose),
            dollars(call.cost_usd),
            visible(call.text, width=room) if call.text is not None else "(cannot be read)",
        )
    out.print(rows)


@ledger.command("stats")
@_WHERE
def stats(location: str | None) -> None:
    """Count calls, tokens, cost and failures by backend."""
    from ..formats import units
    from ..records.ledger.admin import ledger_stats
    from .display import console, dollars, table, visible

    found = ledger_stats(location)
    out = console()
    out.print(f"{visible(found.place)}: {found.size_bytes / 1e6:.1f} MB")
    rows = table("", ["backend", "calls", "repairs", "tokens in", "tokens out", "cost"])
    for item in found.backends:
        cost = dollars(item.cost_usd)
        if item.unknown_price:
            cost = f"{cost} + ?" if item.unknown_price < item.calls else "unknown"
        rows.add_row(
            visible(item.backend, width=30),
            f"{item.calls:,}",
            f"{item.repairs:,}",
            f"{item.input_tokens:,}",
            f"{item.output_tokens:,}",
            cost,
        )
    out.print(rows)
    for item in found.backends:
        if item.unknown_price:
            out.print(
                f"{visible(item.backend)}: {units(item.unknown_price, 'call')} without a known "
                "price"
            )
        if item.repeats:
            out.print(
                f"{visible(item.backend)}: {units(item.repeats, 'call')} in flight at a kill, "
                "asked again"
            )
        if item.duplicates:
            out.print(
                f"{visible(item.backend)}: {units(item.duplicates, 'call')} paid by two processes "
                "at once; the first reply was kept"
            )
    if found.abandoned:
        out.print(f"{units(found.abandoned, 'call')} in flight at a kill, not asked again yet")
    for backend, fault, number in found.failures:
        out.print(f"failed: {visible(backend)}: {visible(fault)}: {units(number, 'call')}")


@ledger.command("prune")
@click.option("--before", metavar="DATE", help="Only what is older, such as 2026-01-31.")
@click.option("--backend", metavar="NAME", help="Only what is of this backend.")
@click.option("--failures", is_flag=True, help="Only records of failed attempts.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_WHERE
def prune(
    *, before: str | None, backend: str | None, failures: bool, yes: bool, location: str | None
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
    found = remove(location, dry_run=True, **options)  # type: ignore[arg-type]
    if not (found.calls or found.failures):
        click.echo("Nothing to prune.")
        return
    click.echo(_told(found))
    if not yes:
        click.confirm("Remove them?", abort=True)
    remove(location, dry_run=False, **options)  # type: ignore[arg-type]
    click.echo("Removed.")


def _told(found: Pruning) -> str:
    from .display import dollars

    parts = [f"{found.failures:,} failed attempts"] if found.failures else []
    if found.calls:
        cost = f"they cost {dollars(found.cost_usd)}"
        if found.unknown_price:
            cost += f" and {found.unknown_price:,} of them have no known price"
        parts.insert(0, f"{found.calls:,} paid calls ({cost}; to need them again is to pay again)")
    return " and ".join(parts)
