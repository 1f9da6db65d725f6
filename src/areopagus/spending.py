"""What a desk has sent and spent, and how much of it belongs to one stage."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from .judges.account import Account
from .judges.desk import CallCounts, Desk


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

    @classmethod
    def of(cls, desk: Desk) -> Spending:
        """What the desk has done until now."""
        budget = desk.budget
        counts = CallCounts(**asdict(desk.counts))
        return cls(
            counts,
            budget.spent,
            budget.possibly_spent,
            budget.unknown_calls,
            desk.account.copy(),
        )

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
