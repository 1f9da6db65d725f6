"""Usage of a run: calls, tokens, US dollars and faults, counted as they come.

A reply's cost is split by kind of token only where its tokens times the prices give the cost that
was booked for it. Other replies are counted with their tokens and their whole cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ...errors import FAULT_HINTS, FaultClass, ProviderError
from ...records.types import Reply, Usage
from .prices import TokenPrices, input_parts

MOST_TOKENS = 100_000_000
"""More than any model reads or writes in one call: who says so is wrong."""
_CLOSE = 1e-9
"""Sums of the same products in another order differ in their last digits."""
_CLOSE_USD = 1e-15


def usage_from(told: Any) -> Usage:
    """The tokens of one call; None for what the endpoint did not say.

    Nothing is known where a number is none that can be (negative, a text, nan, beyond
    `MOST_TOKENS`) or where more was cached than was sent: the answer is good all the same.

    Args:
        told: the `usage` of an answer, as an object or a dict, in the names of OpenAI and those
            like it, which are litellm's, or of LangChain.
    """
    told = fields_of(told)
    sent = fields_of(_known(told.get("prompt_tokens_details"), told.get("input_token_details")))
    said = fields_of(
        _known(told.get("completion_tokens_details"), told.get("output_token_details"))
    )
    try:
        usage = Usage(
            input_tokens=_count(told.get("prompt_tokens"), told.get("input_tokens")),
            output_tokens=_count(told.get("completion_tokens"), told.get("output_tokens")),
            cached_input_tokens=_count(
                told.get("cache_read_input_tokens"),
                told.get("prompt_cache_hit_tokens"),
                sent.get("cached_tokens"),
                sent.get("cache_read"),
            ),
            cache_write_tokens=_count(
                told.get("cache_creation_input_tokens") or sent.get("cache_creation")
            ),
            reasoning_tokens=_count(
                said.get("reasoning_tokens"), said.get("reasoning"), told.get("reasoning_tokens")
            ),
        )
    except ValueError:
        return Usage()
    cached = (usage.cached_input_tokens or 0) + (usage.cache_write_tokens or 0)
    if not usage.input_tokens:
        # litellm writes zeros where the endpoint said nothing; no question is of no tokens.
        return Usage() if cached else Usage(output_tokens=usage.output_tokens or None)
    return Usage() if cached > usage.input_tokens else usage


def fields_of(part: Any) -> Mapping[str, Any]:
    """What a part of an answer holds, be it a dict or one of litellm's objects.

    To ask one of these for a field that it lacks takes its time.
    """
    if isinstance(part, dict):
        return part
    held: Mapping[str, Any] = getattr(part, "__dict__", {})
    further = getattr(part, "__pydantic_extra__", None)
    return {**held, **further} if further else held


def _known(*values: Any) -> Any:
    """The first that is there."""
    return next((value for value in values if value is not None), None)


def _count(*told: Any) -> int | None:
    value = _known(*told)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MOST_TOKENS:  # also rejects nan
        raise ValueError("no count of tokens")
    return int(value)


@dataclass(slots=True)
class UsageTotals:
    """Sums over replies, under the names that they have in run.json.

    Attributes:
        replies: how many.
        replies_with_unknown_tokens: their endpoint did not say what they used.
        replies_silent_on_cache: their endpoint did not say what it read from a cache; that counts
            as nothing read, as it does in their cost.
        uncached_input_tokens, cached_input_tokens, cache_write_tokens: input read anew, read from
            a cache, and written to one; together all input.
        output_tokens, reasoning_tokens: all output, and the part of it that was reasoning.
        cost_usd: of the replies with a known price.
        replies_with_unknown_price: the others.
        uncached_input_usd, cached_input_usd, cache_write_usd, output_usd, not_taken_apart_usd:
            the parts of `cost_usd`.
        replies_not_taken_apart: replies whose cost is known and its parts are not.
        cache_saved_usd: what the replies taken apart would have cost more without a cache; below
            0 where caches were written to at a surcharge and hardly read.
        batch_saved_usd: what those of batches would have cost more outside of them.
        replies_without_usual_price: replies of batches of which that is not known.
    """

    replies: int = 0
    replies_with_unknown_tokens: int = 0
    replies_silent_on_cache: int = 0
    uncached_input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float = 0.0
    replies_with_unknown_price: int = 0
    uncached_input_usd: float = 0.0
    cached_input_usd: float = 0.0
    cache_write_usd: float = 0.0
    output_usd: float = 0.0
    not_taken_apart_usd: float = 0.0
    replies_not_taken_apart: int = 0
    cache_saved_usd: float = 0.0
    batch_saved_usd: float = 0.0
    replies_without_usual_price: int = 0

    @property
    def input_tokens(self) -> int:
        """All input."""
        return self.uncached_input_tokens + self.cached_input_tokens + self.cache_write_tokens

    def add(self, reply: Reply, prices: TokenPrices | None = None) -> bool:
        """One more reply; whether its cost could be taken apart.

        Args:
            reply: what came.
            prices: those that it was paid at; None where they are unknown, or more than a sum.
        """
        usage, cost = reply.usage, reply.cost_usd
        sent, said = usage.input_tokens, usage.output_tokens
        self.replies += 1
        if usage.cached_input_tokens is None:
            self.replies_silent_on_cache += 1
        if sent is None or said is None:
            self.replies_with_unknown_tokens += 1
        plain, cached, written = input_parts(usage)
        self.uncached_input_tokens += plain
        self.cached_input_tokens += cached
        self.cache_write_tokens += written
        self.output_tokens += said or 0
        self.reasoning_tokens += usage.reasoning_tokens or 0
        if cost is None:
            self.replies_with_unknown_price += 1
            return False
        self.cost_usd += cost
        if prices is not None:
            anew, read, kept, out = prices.parts(usage)
            if abs(anew + read + kept + out - cost) <= _CLOSE * abs(cost) + _CLOSE_USD:
                self.uncached_input_usd += anew
                self.cached_input_usd += read
                self.cache_write_usd += kept
                self.output_usd += out
                return True
        self.not_taken_apart_usd += cost
        self.replies_not_taken_apart += 1
        return False

    def add_saving(self, reply: Reply, usual: TokenPrices, *, by_batch: bool) -> None:
        """What a reply that was taken apart has cost less than at the usual prices, uncached.

        Args:
            reply: as given to `add`.
            usual: the prices outside of batches; of the cache's saving too, so that the two and
                the cost add up to the full price.
            by_batch: whether it came in a batch.
        """
        _, cached, written = input_parts(reply.usage)
        self.cache_saved_usd += cached * (usual.input - usual.cache_read)
        self.cache_saved_usd += written * (usual.input - usual.cache_write)
        if by_batch:
            self.batch_saved_usd += sum(usual.parts(reply.usage)) - (reply.cost_usd or 0.0)

    def plus(self, other: UsageTotals, sign: int = 1) -> UsageTotals:
        """The sum, or with -1 the difference."""
        return UsageTotals(**{n: getattr(self, n) + sign * getattr(other, n) for n in _TOTALS})

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> UsageTotals:
        """The reverse of `asdict`; what an earlier version did not write is 0."""
        return cls(**{name: stored.get(name, 0) for name in _TOTALS})


@dataclass(slots=True)
class RunUsage:
    """All replies that a client has handed out, by where they came from and what became of them.

    Attributes:
        online, batch: paid by this client, call by call and in batches.
        ledger: paid before, and found; what they cost then.
        repairs: of all these, replies to a second ask.
        refused, unreadable, failed: of all these, the replies of judgments and answers that came
            to that; a failed one had a reply before its repair failed.
    """

    online: UsageTotals = field(default_factory=UsageTotals)
    batch: UsageTotals = field(default_factory=UsageTotals)
    ledger: UsageTotals = field(default_factory=UsageTotals)
    repairs: UsageTotals = field(default_factory=UsageTotals)
    refused: UsageTotals = field(default_factory=UsageTotals)
    unreadable: UsageTotals = field(default_factory=UsageTotals)
    failed: UsageTotals = field(default_factory=UsageTotals)

    def paid_online(self, reply: Reply, prices: TokenPrices | None) -> None:
        """A reply that was just paid."""
        if self.online.add(reply, prices) and prices is not None:
            self.online.add_saving(reply, prices, by_batch=False)

    def paid_in_batch(
        self, reply: Reply, prices: TokenPrices | None, usual: TokenPrices | None
    ) -> None:
        """A reply that a batch brought, at its prices and those outside of one."""
        if self.batch.add(reply, prices) and usual is not None:
            self.batch.add_saving(reply, usual, by_batch=True)
        else:
            self.batch.replies_without_usual_price += 1

    def found(self, reply: Reply) -> None:
        """A reply that was paid before, at prices that may not be those of today."""
        self.ledger.add(reply)

    def closed(self, status: str, replies: Sequence[Reply]) -> None:
        """What became of one question whose replies are counted already.

        Args:
            status: how it ended. `refused`, `unreadable` and `failed` are counted; `not_asked` with
                a reply is one that was not read, and whose repair was not to be had.
            replies: the first and, if there was one, that to the second ask.
        """
        for reply in replies[1:]:
            self.repairs.add(reply)
        ending = "unreadable" if status == "not_asked" else status
        if ending in ("refused", "unreadable", "failed"):
            totals: UsageTotals = getattr(self, ending)
            for reply in replies:
                totals.add(reply)

    def plus(self, other: RunUsage, sign: int = 1) -> RunUsage:
        """The sum, or with -1 the difference."""
        return RunUsage(**{n: getattr(self, n).plus(getattr(other, n), sign) for n in _PARTS})

    def to_json(self) -> dict[str, Any]:
        """The sums as run.json holds them, with what was saved."""
        paid = {name: asdict(getattr(self, name)) for name in _PAID}
        rest = {
            part: {name: getattr(getattr(self, part), name) for name in _SHORT}
            for part in _PARTS
            if part not in _PAID
        }
        return {**paid, **rest, "saved": _saved(self.online, self.batch)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> RunUsage:
        """The reverse of `to_json`."""
        return cls(**{name: UsageTotals.from_json(stored.get(name) or {}) for name in _PARTS})


_TOTALS = tuple(item.name for item in fields(UsageTotals))
_PARTS = tuple(item.name for item in fields(RunUsage))
_PAID = ("online", "batch")
_SHORT = (
    "replies",
    "uncached_input_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "output_tokens",
    "cost_usd",
    "replies_with_unknown_price",
)


@dataclass(slots=True)
class CallCounts:
    """What a client did since it was opened.

    Attributes:
        sent: calls for which at least one attempt was sent.
        answered: calls that brought a reply, which is in the ledger.
        failed: calls that brought none.
        from_ledger: calls that needed nothing sent.
        attempts: HTTP attempts; of a request in a batch, its handing in.
        repeated: calls sent again that an earlier process, or this one, had left in flight.
        in_batches: of those sent, the ones handed in in batches.
        batches: batches handed in.
    """

    sent: int = 0
    answered: int = 0
    failed: int = 0
    from_ledger: int = 0
    attempts: int = 0
    repeated: int = 0
    in_batches: int = 0
    batches: int = 0


class FaultCounts:
    """Calls that brought no reply, by the class of fault and what the endpoint said.

    Sentences that differ in numbers and ids only count as one, shown as it came first.
    """

    def __init__(self) -> None:
        self._calls: dict[tuple[FaultClass, str], int] = {}
        self._said: dict[tuple[FaultClass, str], str] = {}

    @classmethod
    def of(cls, told: Iterable[Mapping[str, Any]]) -> FaultCounts:
        """The reverse of `to_json`."""
        counts = cls()
        counts.take(told)
        return counts

    def add(self, error: ProviderError) -> None:
        """One more call."""
        self._add(error.fault, own_sentence(error.detail), 1)

    def take(self, told: Iterable[Mapping[str, Any]]) -> None:
        """Adds what `to_json` of another gave."""
        for one in told:
            self._add(one["fault"], one["said"], one["calls"])

    def since(self, before: FaultCounts) -> FaultCounts:
        """What came after an earlier moment of the same counts."""
        later = FaultCounts()
        for key, calls in self._calls.items():
            if more := calls - before._calls.get(key, 0):
                later._add(key[0], self._said[key], more)
        return later

    def to_json(self) -> list[dict[str, Any]]:
        """The most frequent first: `fault`, `said` (the endpoint's sentence), `calls`, `hint`."""
        return [
            {"fault": key[0], "said": self._said[key], "calls": calls, "hint": FAULT_HINTS[key[0]]}
            for key, calls in sorted(self._calls.items(), key=lambda item: -item[1])
        ]

    def _add(self, fault: FaultClass, said: str, calls: int) -> None:
        key = fault, _ID.sub("", said)
        if key not in self._calls and len(self._calls) >= MOST_SENTENCES:
            said = "(an endpoint that says something else each time)"
            key = fault, said
        self._said.setdefault(key, said)
        self._calls[key] = self._calls.get(key, 0) + calls


MOST_SENTENCES = 20
# Numbers, and words with digits in them: ids of requests, times, counts.
_ID = re.compile(r"\b[\w-]*\d[\w-]{7,}\b|\b\d+(?:[.,:]\d+)*\b")
_CLASS_NAME = re.compile(r"^(?:[\w.]*(?:Error|Exception|Timeout)\s*[:-]\s*)+")
_NOT_SENT = re.compile(r"^(?:not sent|given up)[^;]*; the backend said before: ")


def own_sentence(detail: str) -> str:
    """What the endpoint said, without the names of the errors that it came wrapped in."""
    said = _NOT_SENT.sub("", detail)
    return _CLASS_NAME.sub("", said).strip() or said


@dataclass(frozen=True, slots=True)
class UsageSnapshot:
    """What a client has sent and spent up to a moment, or between two.

    Attributes:
        calls: see `CallCounts`.
        spent_usd, possibly_spent_usd, unknown_price_calls: see `Budget`.
        usage: the replies by kind.
        faults: the calls without one.
        needed_usd: see `Budget.needed`.
    """

    calls: CallCounts = field(default_factory=CallCounts)
    spent_usd: float = 0.0
    possibly_spent_usd: float = 0.0
    unknown_price_calls: int = 0
    usage: RunUsage = field(default_factory=RunUsage)
    faults: FaultCounts = field(default_factory=FaultCounts)
    needed_usd: float | None = None

    def plus(self, other: UsageSnapshot, sign: int = 1) -> UsageSnapshot:
        """The sum; with -1 what came after the other, an earlier moment of the same client."""
        names = [item.name for item in fields(CallCounts)]
        counts = {n: getattr(self.calls, n) + sign * getattr(other.calls, n) for n in names}
        faults = self.faults.since(other.faults if sign < 0 else FaultCounts())
        if sign > 0:
            faults.take(other.faults.to_json())
        return UsageSnapshot(
            CallCounts(**counts),
            self.spent_usd + sign * other.spent_usd,
            self.possibly_spent_usd + sign * other.possibly_spent_usd,
            self.unknown_price_calls + sign * other.unknown_price_calls,
            self.usage.plus(other.usage, sign),
            faults,
            self.needed_usd if self.needed_usd is not None else other.needed_usd,
        )

    def since(self, before: UsageSnapshot) -> UsageSnapshot:
        """What came after an earlier moment of the same client."""
        return self.plus(before, -1)

    def to_json(self) -> dict[str, Any]:
        """The fields as a session of run.json names them."""
        return {
            "calls": asdict(self.calls),
            "spent_usd": self.spent_usd,
            "possibly_spent_usd": self.possibly_spent_usd,
            "calls_with_unknown_price": self.unknown_price_calls,
            "replies": self.usage.to_json(),
            "faults": self.faults.to_json(),
            "call_left_out_usd": self.needed_usd,
        }


def cost_record(sessions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The part "cost" of run.json: over all sessions of a folder, and the newest one's replies.

    Args:
        sessions: as run.json holds them. What each paid adds up. What it found in the ledger does
            not: a later session finds the same again, and what an earlier one paid.
    """
    online, batch = UsageTotals(), UsageTotals()
    for session in sessions:
        usage = RunUsage.from_json(session.get("replies") or {})
        online, batch = online.plus(usage.online), batch.plus(usage.batch)
    newest: Mapping[str, Any] = (sessions[-1].get("replies") or {}) if sessions else {}
    return {
        "paid": {"online": asdict(online), "batch": asdict(batch)},
        "saved": _saved(online, batch),
        "calls_without_reply": sum((one.get("calls") or {}).get("failed") or 0 for one in sessions),
        "possibly_spent_usd": sum(one.get("possibly_spent_usd") or 0.0 for one in sessions),
        "newest_session": {
            name: newest[name] for name in _PARTS if name not in _PAID and name in newest
        },
    }


def _saved(online: UsageTotals, batch: UsageTotals) -> dict[str, Any]:
    """What caches and batches saved on what was paid, as run.json says it.

    A sum over no reply is 0. One that is known of no reply is None, with the reason; one that is
    known of some is over those, with the number of the others.
    """
    paid = online.plus(batch)
    # Of a batch's reply without a usual price the cache's part is not known either.
    no_usual = batch.replies_without_usual_price
    unknown = online.replies_not_taken_apart + online.replies_with_unknown_price + no_usual
    cache_usd, cache_reason = _saving(paid.cache_saved_usd, paid, unknown)
    batch_usd, batch_reason = _saving(batch.batch_saved_usd, batch, no_usual)
    if paid.replies > 0 and paid.replies_silent_on_cache == paid.replies:
        cache_usd, cache_reason = None, "no endpoint said what it read from a cache"
    return {
        "cache_usd": cache_usd,
        "cache_reason": cache_reason,
        "batch_usd": batch_usd,
        "batch_reason": batch_reason,
        "full_price_usd": None
        if unknown
        else paid.cost_usd + paid.cache_saved_usd + paid.batch_saved_usd,
    }


def _saving(amount: float, totals: UsageTotals, unknown: int) -> tuple[float | None, str | None]:
    """A saving as far as it is known, and what is not known of it.

    Args:
        amount: over the replies of which it is known.
        totals: all replies.
        unknown: how many of them it is not known of.
    """
    if not unknown:
        return amount, None
    why = (
        "no price is known"
        if totals.replies_with_unknown_price == unknown
        else "prices are unknown or are more than tokens times a price"
    )
    if unknown == totals.replies:
        return None, why
    return amount, f"{unknown} of {totals.replies} replies are left out: {why}"
