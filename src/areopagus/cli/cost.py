"""What a session sent, paid and saved, as a person reads it on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..judges.models.usage import Account, Sums
from .display import dollars

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


def cost_lines(session: Mapping[str, Any]) -> list[str]:
    """Calls, tokens, cost and savings of one session of run.json, a line each.

    Args:
        session: as run.json holds it.
    """
    account = Account.from_json(session.get("replies") or {})
    paid = account.online.plus(account.batch)
    lines = [f"Calls: {_calls(session.get('calls') or {}, account)}"]
    # Where nothing is charged, nobody counts the tokens.
    if paid.cost_usd or paid.replies_with_unknown_price or paid.cached_input_tokens:
        lines.append(f"Tokens: {_tokens(paid)}")
    lines.append(f"Cost now: {_spent(session, paid)}")
    if gains := _saved((session.get("replies") or {}).get("saved") or {}, account):
        lines.append(f"Saved against the full price: {gains}")
    if of_these := _outcomes(account):
        lines.append(f"Of all replies: {of_these}")
    return lines


def echo_cost(session: Mapping[str, Any]) -> None:
    """Prints the lines in 80 columns."""
    import textwrap

    import click

    for line in cost_lines(session):
        click.echo(textwrap.fill(line, 80, subsequent_indent="  ", break_on_hyphens=False))


def write_numbers(json_file: str, figures: Path, record: Mapping[str, Any]) -> None:
    """Writes the figures of a job, with what it cost, where --json says.

    Args:
        json_file: where.
        figures: the file of figures in the job's folder.
        record: the job's run.json.

    Raises:
        StoreError: it cannot be written.
    """
    import json

    from ..records.run_folder import replaced

    content = json.loads(figures.read_text(encoding="utf-8"))
    text = json.dumps(
        {**content, "cost": record.get("cost")}, indent=1, ensure_ascii=False, allow_nan=False
    )
    with replaced(Path(json_file)) as part:
        part.write_text(text + "\n", encoding="utf-8")


def _calls(calls: Mapping[str, int], account: Account) -> str:
    sent, batched = calls.get("sent", 0), calls.get("in_batches", 0)
    said = f"{_units(sent, 'call')} sent"
    if batched:
        where = f"{batched:,} in {_units(calls.get('batches', 0), 'batch', 'batches')}"
        said += f" ({where}, {sent - batched:,} online)"
    parts = [said, f"{calls.get('from_ledger', 0):,} answered by the ledger"]
    if account.batch.replies and not batched:
        parts.append(f"{account.batch.replies:,} by batches of an earlier session")
    if calls.get("repeated"):
        parts.append(f"{calls['repeated']:,} in flight at an earlier kill, repeated")
    if calls.get("failed"):
        parts.append(f"{calls['failed']:,} failed")
    return ", ".join(parts)


def _tokens(paid: Sums) -> str:
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
        said += f"; {_units(paid.replies_with_unknown_tokens, 'reply', 'replies')} did not say"
    return said


def _spent(session: Mapping[str, Any], paid: Sums) -> str:
    is_unknown = paid.replies > 0 and paid.replies_with_unknown_price == paid.replies
    said = dollars(None if is_unknown else session["spent_usd"])
    parts = [
        f"{dollars(amount)} {name}"
        for key, name in _PARTS
        if (amount := getattr(paid, key)) and amount != paid.cost_usd
    ]
    if parts:
        said += f" ({', '.join(parts)})"
    if session["possibly_spent_usd"]:
        said += (
            f", and at most {dollars(session['possibly_spent_usd'])} for attempts that broke off"
        )
    if unknown := session["calls_with_unknown_price"]:
        said += f"; {_units(unknown, 'call')} {'has' if unknown == 1 else 'have'} no known price"
    return said


def _saved(saved: Mapping[str, Any], account: Account) -> str:
    parts = []
    paid = account.online.plus(account.batch)
    if paid.cached_input_tokens or paid.cache_write_tokens:
        parts.append(_gain("the cache", saved.get("cache_usd"), saved.get("cache_reason")))
    if account.batch.replies:
        parts.append(_gain("batches", saved.get("batch_usd"), saved.get("batch_reason")))
    return ", ".join(parts)


def _gain(name: str, amount: float | None, reason: str | None) -> str:
    if amount is None:
        return f"unknown by {name} ({reason})"
    if amount < 0:
        told = f"nothing by {name}, which cost {dollars(-amount)} more"
    else:
        told = f"{dollars(amount)} by {name}"
    return f"{told} ({reason})" if reason else told


def _outcomes(account: Account) -> str:
    parts = []
    for name, one, many in _OUTCOMES:
        sums: Sums = getattr(account, name)
        if sums.replies:
            is_unknown = sums.replies_with_unknown_price == sums.replies
            cost = "price unknown" if is_unknown else dollars(sums.cost_usd)
            parts.append(f"{_units(sums.replies, one, many)} ({cost})")
    return ", ".join(parts)


def _units(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
