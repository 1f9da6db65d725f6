"""What the replies of a run or a job cost, by kind, for the pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..judges.models.usage import UsageTotals
from .document import Column, Paragraph, Part, Table
from .numbers import count, dollars

_KINDS: Final = (
    ("input, uncached", "uncached_input_tokens", "uncached_input_usd"),
    ("input, from a cache", "cached_input_tokens", "cached_input_usd"),
    ("input, written to a cache", "cache_write_tokens", "cache_write_usd"),
    ("output", "output_tokens", "output_usd"),
)
_OUTCOMES: Final = (
    ("ledger", "answered by the ledger, paid before"),
    ("repairs", "repairs: a second ask, as the first reply could not be read"),
    ("refused", "refused: the model declined"),
    ("unreadable", "unreadable, also after the repair"),
    ("failed", "failed: a first reply, and none to its repair"),
)


def cost_parts(record: Mapping[str, Any]) -> list[Part]:
    """Tokens and dollars by kind, by way and by outcome, and what was saved.

    Args:
        record: the content of run.json; one of an earlier version has no such parts.
    """
    cost = record.get("cost") or {}
    if "paid" not in cost:
        return []
    online = UsageTotals.from_json(cost["paid"]["online"])
    batch = UsageTotals.from_json(cost["paid"]["batch"])
    newest = cost["newest_session"]
    parts: list[Part] = [Paragraph(_saved_told(cost["saved"], online, batch))]
    if online.replies or batch.replies:
        parts.append(_kinds_table(online.plus(batch)))
    parts.append(
        Table(
            caption="Replies by where they came from and what became of them. Paid: over all "
            "sessions. The others: what the newest session worked with, at what the replies cost "
            "when they were paid; a repair may be unreadable too.",
            label="Replies",
            columns=[
                Column("replies", "wide"),
                Column("number", "count"),
                Column("input tokens", "count"),
                Column("output tokens", "count"),
                Column("cost"),
                Column("price unknown", "count"),
            ],
            rows=[
                _replies("paid, asked online", online),
                _replies("paid, asked in batches", batch),
                *(
                    _replies(label, UsageTotals.from_json(newest[name]))
                    for name, label in _OUTCOMES
                    if name in newest
                ),
                (
                    "calls without any reply, all sessions; cost at most",
                    cost["calls_without_reply"],
                    None,
                    None,
                    dollars(cost["possibly_spent_usd"]),
                    None,
                ),
            ],
        )
    )
    return parts


def _kinds_table(paid: UsageTotals) -> Table:
    rows: list[tuple[Any, ...]] = []
    for label, tokens, usd in _KINDS:
        number, amount = getattr(paid, tokens), getattr(paid, usd)
        # Where no cost was taken apart, a part of nothing is not known either.
        is_known = amount or not number or not paid.replies_not_taken_apart
        is_known = is_known and not (number and paid.replies_with_unknown_price == paid.replies)
        rows.append((label, number, dollars(amount) if is_known else dollars(None)))
    if paid.replies_not_taken_apart:
        rows.append((f"not taken apart, {count(paid.replies_not_taken_apart)} replies", None,
                     dollars(paid.not_taken_apart_usd)))  # fmt: skip
    return Table(
        caption="What the sessions in this folder paid for, by kind.",
        label="Tokens paid",
        columns=[Column("kind"), Column("tokens", "count"), Column("cost")],
        rows=rows,
        foot=[("together", paid.input_tokens + paid.output_tokens, dollars(paid.cost_usd))],
        is_short=True,
    )


def _replies(label: str, sums: UsageTotals) -> tuple[Any, ...]:
    is_unknown = sums.replies and sums.replies_with_unknown_price == sums.replies
    return (
        label,
        sums.replies,
        sums.input_tokens,
        sums.output_tokens,
        dollars(None if is_unknown else sums.cost_usd),
        sums.replies_with_unknown_price,
    )


def _saved_told(saved: Mapping[str, Any], online: UsageTotals, batch: UsageTotals) -> str:
    return " ".join(_sentences(saved, online.plus(batch), batch))


def _sentences(saved: Mapping[str, Any], paid: UsageTotals, batch: UsageTotals) -> Iterator[str]:
    if not paid.replies:
        yield "Nothing was paid in this folder."
        return
    yield _gain("Prefix caches", saved["cache_usd"], saved["cache_reason"])
    if batch.replies:
        yield _gain("Batches", saved["batch_usd"], saved["batch_reason"])
    if saved["full_price_usd"] is not None:
        yield f"Without them the same tokens would have cost {dollars(saved['full_price_usd'])}."


def _gain(name: str, amount: float | None, reason: str | None) -> str:
    if amount is None:
        return f"What {name[0].lower()}{name[1:]} saved is not known: {reason}."
    if amount < 0:
        told = f"{name} saved nothing: writing to them cost {dollars(-amount)} more"
    else:
        told = f"{name} saved {dollars(amount)}"
    return f"{told} ({reason})." if reason else f"{told}."
