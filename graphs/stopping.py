"""The stopping rule: in what order judges are asked, and when enough have been.

The order is random and balanced: the next judgment is drawn from the backend, then the axis, then
the persona of which the smallest share has been asked. Asking backend after backend instead would
stop before the panel's differences have shown. After a first block the t interval for the mean of
the whole panel, with finite-population correction, is looked at after every further block.

A block is half of what the spread so far says is still needed, at least one: the rule then stops
where it would if it looked after each judgment, in fewer rounds.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import InputError, InputFault

FIRST_BLOCK = 8
"""Scored judgments before the first look: an earlier one stops on spreads small by luck."""

LEVEL = 0.95
"""Nominal level of the interval that is looked at."""

STATED_COVERAGE = 0.94
"""Share of responses in which the interval, looked at again and again, holds the whole panel's
mean: no panel of `benchmarks/simulate.py precision` falls below it."""

_SLACK = 1e-12
_Facets = tuple[str, str, str]

Ending = Literal["precise", "allowance", "everyone"]
"""`precise`: the half width is reached. `allowance`: as many were asked as a response may have.
`everyone`: the whole panel was asked."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When a response has been judged enough.

    Attributes:
        half_width: wanted half width of the 95% interval for the whole panel's mean composite, in
            points of the scale; None = none is wanted.
        most: judgments that may be asked for on one response; None = all that are planned.
        seed: of the orders.
    """

    half_width: float | None = None
    most: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuses what makes no sense.

        Raises:
            InputError: with all faults.
        """
        faults: list[InputFault] = []
        width, most = self.half_width, self.most
        if width is not None and not (math.isfinite(width) and width > 0):
            faults.append(
                InputFault("precision", f"must be points of the scale above 0, got {width}")
            )
        if most is not None and most < 1:
            faults.append(InputFault("judges_per_response", f"must be at least 1, got {most}"))
        if width is None and most is None:
            faults.append(InputFault("precision", "or judges_per_response must be given"))
        if faults:
            raise InputError(faults)


@dataclass(frozen=True, slots=True)
class PlannedJudgment:
    """A planned judgment, as the order sees it."""

    key: str
    model: str
    axis: str
    persona: str


def balanced_order(
    assignments: Sequence[PlannedJudgment], *, seed: int, response_id: str
) -> list[str]:
    """The keys in the order in which they are asked: the same for the same seed and response.

    Args:
        assignments: the plan.
        seed: of the run.
        response_id: whose order it is; every response has another.
    """
    salt = hashlib.sha256(f"{seed}\n{response_id}".encode("utf-8", "surrogatepass")).digest()
    # By digests and no generator: the same on every machine and in every version of Python.
    shuffled = sorted(
        assignments, key=lambda assignment: hashlib.sha256(salt + assignment.key.encode()).digest()
    )
    # Repeats of a judge wait behind each other; the shuffled place breaks every tie.
    queues: dict[_Facets, deque[tuple[int, str]]] = {}
    totals: dict[str, int] = {}
    for place, assignment in enumerate(shuffled):
        facets = (
            f"model {assignment.model}",
            f"axis {assignment.axis}",
            f"persona {assignment.persona}",
        )
        queues.setdefault(facets, deque()).append((place, assignment.key))
        for facet in facets:
            totals[facet] = totals.get(facet, 0) + 1
    asked = dict.fromkeys(totals, 0.0)
    counts = dict.fromkeys(totals, 0)
    order: list[str] = []
    while queues:
        facets = min(queues, key=lambda f: (asked[f[0]], asked[f[1]], asked[f[2]], queues[f][0]))
        order.append(queues[facets].popleft()[1])
        if not queues[facets]:
            del queues[facets]
        for facet in facets:
            counts[facet] += 1
            asked[facet] = counts[facet] / totals[facet]
    return order


def next_block(
    rule: StoppingRule, planned: int, values: Sequence[float | None], *, grain: float
) -> int:
    """How many judgments to ask for next; 0 when it is enough.

    Args:
        rule: when it is.
        planned: judgments of the whole panel.
        values: composites of the judgments asked so far; None where one was not scored. Those are
            taken out of the panel whose mean is meant, and do not count towards the first block.
        grain: step in which composites come; 0 for none.
    """
    most = planned if rule.most is None else min(planned, rule.most)
    left = most - len(values)
    if left <= 0 or rule.half_width is None:
        return max(0, left)
    scored = [value for value in values if value is not None]
    if len(scored) < FIRST_BLOCK:
        return min(left, FIRST_BLOCK - len(scored))
    reached = reached_half_width(planned, values, grain=grain)
    if reached <= rule.half_width + _SLACK:
        return 0
    needed = _needed(rule.half_width, reached, len(scored), planned - len(values) + len(scored))
    return min(left, max(1, (needed - len(scored)) // 2))


def reached_half_width(planned: int, values: Sequence[float | None], *, grain: float) -> float:
    """The half width of the interval after these judgments; inf with fewer than two scored."""
    from ..aggregation.intervals import half_width

    scored = [value for value in values if value is not None]
    population = planned - len(values) + len(scored)
    return half_width(scored, population, level=LEVEL, grain=grain)


def ending_of(
    rule: StoppingRule, planned: int, values: Sequence[float | None], *, grain: float
) -> Ending:
    """Why no more are asked."""
    if len(values) >= planned:
        return "everyone"
    if (
        rule.half_width is not None
        and sum(value is not None for value in values) >= FIRST_BLOCK
        and reached_half_width(planned, values, grain=grain) <= rule.half_width + _SLACK
    ):
        return "precise"
    return "allowance"


def why_enough(
    rule: StoppingRule, planned: int, values: Sequence[float | None], *, grain: float
) -> str:
    """A sentence on what was reached, and with how many judgments."""
    reached = reached_half_width(planned, values, grain=grain)
    within = (
        f"the whole panel's mean is known to within {reached:.2f}"
        if math.isfinite(reached)
        else "how near the whole panel's mean is cannot be told"
    )
    asked = f"after {len(values)} of {planned} judgments {within}"
    if ending_of(rule, planned, values, grain=grain) == "precise":
        return f"{asked}; {rule.half_width:g} was wanted"
    return f"{asked}; no more than {rule.most} were allowed"


def _needed(wanted: float, reached: float, n: int, population: int) -> int:
    """Judgments with which the wanted half width is reached if the spread stays what it is."""
    from ..aggregation.intervals import shrinking

    now = shrinking(n, population, level=LEVEL)
    for more in range(n + 1, population):
        if reached * shrinking(more, population, level=LEVEL) / now <= wanted:
            return more
    return population
