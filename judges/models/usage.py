"""What the replies of a run come to, by kind: added up as each reply is finished, never read back.

A reply's cost is taken apart only where its tokens times the prices give the cost that was booked
for it. Of any other reply the tokens and the cost are known and the parts are not; it is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ...records.types import Reply


_CLOSE = 1e-9
"""Sums of the same products in another order differ in their last digits."""
_CLOSE_USD = 1e-15


class UnitPrices(Protocol):
    """US dollars a token, by kind."""

    @property
    def input(self) -> float: ...
    @property
    def output(self) -> float: ...
    @property
    def cache_read(self) -> float: ...
    @property
    def cache_write(self) -> float: ...


@dataclass(slots=True)
class Sums:
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

    def add(self, reply: Reply, prices: UnitPrices | None) -> bool:
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
        cached = usage.cached_input_tokens or 0
        written = usage.cache_write_tokens or 0
        plain = max(0, (sent or 0) - cached - written)
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
            anew, read = plain * prices.input, cached * prices.cache_read
            kept, out = written * prices.cache_write, (said or 0) * prices.output
            if abs(anew + read + kept + out - cost) <= _CLOSE * abs(cost) + _CLOSE_USD:
                self.uncached_input_usd += anew
                self.cached_input_usd += read
                self.cache_write_usd += kept
                self.output_usd += out
                return True
        self.not_taken_apart_usd += cost
        self.replies_not_taken_apart += 1
        return False

    def save(self, reply: Reply, usual: UnitPrices, *, by_batch: bool) -> None:
        """What a reply that was taken apart has cost less than at the usual prices, uncached.

        Args:
            reply: as given to `add`.
            usual: the prices outside of batches; of the cache's saving too, so that the two and
                the cost add up to the full price.
            by_batch: whether it came in a batch.
        """
        usage = reply.usage
        cached, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
        if cached or written:
            self.cache_saved_usd += cached * (usual.input - usual.cache_read)
            self.cache_saved_usd += written * (usual.input - usual.cache_write)
        if by_batch:
            plain = max(0, (usage.input_tokens or 0) - cached - written)
            self.batch_saved_usd += (
                plain * usual.input
                + cached * usual.cache_read
                + written * usual.cache_write
                + (usage.output_tokens or 0) * usual.output
                - (reply.cost_usd or 0.0)
            )

    def plus(self, other: Sums, sign: int = 1) -> Sums:
        """The sum, or with -1 the difference."""
        return Sums(**{n: getattr(self, n) + sign * getattr(other, n) for n in _SUMS})

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Sums:
        """The reverse of `asdict`; what an earlier version did not write is 0."""
        return cls(**{name: stored.get(name, 0) for name in _SUMS})


@dataclass(slots=True)
class Account:
    """All replies that a desk has handed out, by where they came from and what became of them.

    Attributes:
        online, batch: paid by this desk, call by call and in batches.
        ledger: paid before, and found; what they cost then.
        repairs: of all these, replies to a second ask.
        refused, unreadable, failed: of all these, the replies of judgments and answers that came
            to that; a failed one had a reply before its repair failed.
    """

    online: Sums = field(default_factory=Sums)
    batch: Sums = field(default_factory=Sums)
    ledger: Sums = field(default_factory=Sums)
    repairs: Sums = field(default_factory=Sums)
    refused: Sums = field(default_factory=Sums)
    unreadable: Sums = field(default_factory=Sums)
    failed: Sums = field(default_factory=Sums)

    def paid_online(self, reply: Reply, prices: UnitPrices | None) -> None:
        """A reply that was just paid."""
        if self.online.add(reply, prices) and prices is not None:
            self.online.save(reply, prices, by_batch=False)

    def paid_in_batch(
        self, reply: Reply, prices: UnitPrices | None, usual: UnitPrices | None
    ) -> None:
        """A reply that a batch brought, at its prices and those outside of one."""
        if self.batch.add(reply, prices) and usual is not None:
            self.batch.save(reply, usual, by_batch=True)
        else:
            self.batch.replies_without_usual_price += 1

    def found(self, reply: Reply) -> None:
        """A reply that was paid before, at prices that may not be those of today."""
        self.ledger.add(reply, None)

    def closed(self, status: str, replies: Sequence[Reply]) -> None:
        """What became of one question whose replies are counted already.

        Args:
            status: how it ended. `refused`, `unreadable` and `failed` are counted; `not_asked` with
                a reply is one that was not read, and whose repair was not to be had.
            replies: the first and, if there was one, that to the second ask.
        """
        for reply in replies[1:]:
            self.repairs.add(reply, None)
        if status not in _ENDINGS:
            return
        sums: Sums = getattr(self, _ENDINGS[status])
        for reply in replies:
            sums.add(reply, None)

    def plus(self, other: Account, sign: int = 1) -> Account:
        """The sum, or with -1 the difference."""
        return Account(**{n: getattr(self, n).plus(getattr(other, n), sign) for n in _PARTS})

    def copy(self) -> Account:
        """The account as it stands."""
        return self.plus(Account())

    def flat(self) -> dict[str, float]:
        """Every number that is not 0, under "part.name"."""
        return {
            f"{part}.{name}": value
            for part in _PARTS
            for name in _SUMS
            if (value := getattr(getattr(self, part), name))
        }

    def take(self, numbers: Mapping[str, float]) -> None:
        """Adds what `flat` of another account gave."""
        for name, value in numbers.items():
            part, _, item = name.partition(".")
            sums = getattr(self, part)
            setattr(sums, item, getattr(sums, item) + value)

    def to_json(self) -> dict[str, Any]:
        """The sums as run.json holds them, with what was saved."""
        paid = {name: asdict(getattr(self, name)) for name in _WAYS}
        rest = {name: _brief(getattr(self, name)) for name in _PARTS if name not in _WAYS}
        return {**paid, **rest, "saved": saved(self.online, self.batch)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Account:
        """The reverse of `to_json`."""
        return cls(**{name: Sums.from_json(stored.get(name) or {}) for name in _PARTS})


_SUMS = tuple(item.name for item in fields(Sums))
_PARTS = tuple(item.name for item in fields(Account))
_WAYS = ("online", "batch")
_ENDINGS = {
    "refused": "refused",
    "unreadable": "unreadable",
    "failed": "failed",
    "not_asked": "unreadable",
}
_BRIEF = (
    "replies",
    "uncached_input_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "output_tokens",
    "cost_usd",
    "replies_with_unknown_price",
)


def saved(online: Sums, batch: Sums) -> dict[str, Any]:
    """What caches and batches saved on what was paid, as run.json says it.

    A sum over no reply is 0. One that is known of no reply is None, with the reason; one that is
    known of some is over those, with the number of the others.
    """
    paid = online.plus(batch)
    by_cache = _Saving(
        paid.cache_saved_usd,
        paid.replies,
        # of a batch's reply without a usual price the cache's part is not known either
        online.replies_not_taken_apart
        + online.replies_with_unknown_price
        + batch.replies_without_usual_price,
    )
    by_batch = _Saving(batch.batch_saved_usd, batch.replies, batch.replies_without_usual_price)
    is_whole = not by_cache.unknown and not by_batch.unknown
    silent = paid.replies > 0 and paid.replies_silent_on_cache == paid.replies
    return {
        "cache_usd": None if silent else by_cache.usd,
        "cache_reason": "no endpoint said what it read from a cache"
        if silent
        else by_cache.reason(paid),
        "batch_usd": by_batch.usd,
        "batch_reason": by_batch.reason(batch),
        "full_price_usd": paid.cost_usd + paid.cache_saved_usd + paid.batch_saved_usd
        if is_whole
        else None,
    }


@dataclass(frozen=True, slots=True)
class _Saving:
    amount: float
    replies: int
    unknown: int

    @property
    def usd(self) -> float | None:
        return None if self.replies and self.unknown == self.replies else self.amount

    def reason(self, sums: Sums) -> str | None:
        if not self.unknown:
            return None
        unpriced = sums.replies_with_unknown_price
        why = (
            "no price is known"
            if unpriced == self.unknown
            else "prices are unknown or are more than tokens times a price"
        )
        if self.usd is None:
            return why
        return f"{self.unknown} of {self.replies} replies are left out: {why}"


def added_to(now: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """What to `take` so that an account with the earlier `flat` numbers has the later ones."""
    names = now.keys() | before.keys()
    changes = {name: now.get(name, 0) - before.get(name, 0) for name in names}
    return {name: change for name, change in changes.items() if change}


def _brief(sums: Sums) -> dict[str, Any]:
    return {name: getattr(sums, name) for name in _BRIEF}


_USED = ("ledger", "repairs", "refused", "unreadable", "failed")


def cost_record(sessions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The cost over all sessions of a folder, and what the newest one worked with.

    Args:
        sessions: as run.json holds them. What each paid adds up. What it found in the ledger does
            not: a later session finds the same again, and what an earlier one paid.
    """
    accounts = [Account.from_json(one.get("replies") or {}) for one in sessions]
    online, batch = Sums(), Sums()
    for account in accounts:
        online, batch = online.plus(account.online), batch.plus(account.batch)
    newest: Mapping[str, Any] = (sessions[-1].get("replies") or {}) if sessions else {}
    return {
        "paid": {"online": asdict(online), "batch": asdict(batch)},
        "saved": saved(online, batch),
        "calls_without_reply": sum((one.get("calls") or {}).get("failed") or 0 for one in sessions),
        "possibly_spent_usd": sum(one.get("possibly_spent_usd") or 0.0 for one in sessions),
        "newest_session": {name: newest[name] for name in _USED if name in newest},
    }


@dataclass(slots=True)
class CallCounts:
    """What a desk did since it was opened.

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


@dataclass(frozen=True, slots=True)
class Spending:
    """Calls and money.

    Attributes:
        calls: see `CallCounts`.
        spent_usd, possibly_spent_usd, unknown_price_calls: see `Budget`.
        account: the replies by kind; see `Account`.
    """

    calls: CallCounts = field(default_factory=CallCounts)
    spent_usd: float = 0.0
    possibly_spent_usd: float = 0.0
    unknown_price_calls: int = 0
    account: Account = field(default_factory=Account)

    def since(self, before: Spending) -> Spending:
        """What came after an earlier moment of the same desk."""
        names = [item.name for item in fields(CallCounts)]
        counts = {n: getattr(self.calls, n) - getattr(before.calls, n) for n in names}
        return Spending(
            CallCounts(**counts),
            self.spent_usd - before.spent_usd,
            self.possibly_spent_usd - before.possibly_spent_usd,
            self.unknown_price_calls - before.unknown_price_calls,
            self.account.plus(before.account, -1),
        )

    def to_json(self) -> dict[str, Any]:
        """The fields as a session of run.json names them."""
        return {
            "calls": asdict(self.calls),
            "spent_usd": self.spent_usd,
            "possibly_spent_usd": self.possibly_spent_usd,
            "calls_with_unknown_price": self.unknown_price_calls,
            "replies": self.account.to_json(),
        }
