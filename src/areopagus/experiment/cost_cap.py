"""What is said where the cost cap has stopped a run."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CapStop:
    """What the cost cap left out.

    Attributes:
        cap_usd: the cap.
        planned: what the run was to ask for.
        asked: how many of them were asked for.
        unit: what they are, in the plural.
        verb: what was done to get them.
        rest: what else was left out ("judges were not asked about 12 answers"), or "".
    """

    cap_usd: float
    planned: int
    asked: int
    unit: str
    verb: str = "asked for"
    rest: str = ""

    @property
    def sentence(self) -> str:
        """How much of the plan stands behind the figures, without a full stop."""
        left_out = f"; {self.rest}" if self.rest else ""
        return (
            f"stopped by the cost cap of {_dollars(self.cap_usd)}: {self.asked:,} of "
            f"{self.planned:,} planned {self.unit} {self.verb}{left_out}; figures rest on these "
            "alone"
        )

    def lines(self, width: int) -> list[str]:
        """The sentence as a report prints it."""
        return textwrap.wrap(f"{self.sentence[:1].upper()}{self.sentence[1:]}.", width)

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "max_cost_usd": self.cap_usd,
            "planned": self.planned,
            "asked": self.asked,
            "unit": self.unit,
            "sentence": self.sentence,
        }


def _dollars(value: float) -> str:
    """The cap as it was given, with cents where it has any."""
    return f"${value:,.2f}" if round(value, 2) == value else f"${value:,}"


def cap_notices(plain: Mapping[str, Any]) -> list[str]:
    """What a written result says of the cost cap that stopped its run, if one did."""
    stop = plain.get("cost_cap")
    return [] if stop is None else [str(stop["sentence"])]
