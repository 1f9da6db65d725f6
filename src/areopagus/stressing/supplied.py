"""Responses that a user brings: what is in them, and what of them cannot be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, InputFault
from ..formats import units
from ..records.readers.rows import FAULT_LIMIT
from .panel_rows import repeat_of
from .plan import StressPlan
from .source import StressResponse, StressSource


@dataclass(frozen=True, slots=True)
class Supplied:
    """Responses that a user brings, and what is in them.

    Attributes:
        source, fingerprint, name, notices: of the file.
        targets, conditions, prompts: in the order in which they first stand, the baseline first.
        repeats: responses of one respondent to one prompt under one condition whose scores are
            averaged: as many as nine in ten of these cells have.
    """

    source: StressSource
    fingerprint: str
    name: str
    notices: tuple[str, ...]
    targets: tuple[str, ...]
    conditions: tuple[str, ...]
    prompts: tuple[str, ...]
    repeats: int


def read_supplied(
    source: Any,
    plan: StressPlan,
    *,
    condition: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Supplied:
    """Responses under several conditions, checked.

    Raises:
        InputError: with every fault of the file; no baseline, or nothing beside it; no respondent
            with both; two responses that are the same repeat of one prompt, condition and
            respondent; fewer repeats than the plan has.
    """
    opened = StressSource(source, condition=condition, columns=columns, limit=limit)
    try:
        summary = opened.check()
        targets: dict[str, None] = {}
        conditions: dict[str, None] = {}
        prompts: dict[str, None] = {}
        arms: tuple[set[tuple[str, str]], set[tuple[str, str]]] = (set(), set())
        cells = _Cells(opened)
        for row in opened.rows():
            targets[row.target] = conditions[row.condition] = prompts[row.prompt_id] = None
            arms[row.condition == plan.baseline].add((row.target, row.prompt_id))
            cells.add(row)
        cells.refuse_doubles()
        _require_baseline(summary.name, list(conditions), plan.baseline)
        if arms[0].isdisjoint(arms[1]):
            _refuse_unpaired(summary.name, list(targets), plan.baseline)
        repeats, said = cells.repeats(summary.name, plan.response_repeats)
    except BaseException:
        opened.close()
        raise
    others = [name for name in conditions if name != plan.baseline]
    return Supplied(
        opened,
        summary.fingerprint,
        summary.name,
        (*summary.notices, *said),
        tuple(targets),
        (plan.baseline, *others),
        tuple(prompts),
        repeats,
    )


class _Cells:
    """The repeats of each respondent, prompt and condition, with their lines."""

    def __init__(self, source: StressSource) -> None:
        self._source = source
        self._lines: dict[tuple[str, str, str], dict[int, int]] = {}
        self._faults: list[InputFault] = []

    def add(self, row: StressResponse) -> None:
        """Takes a response."""
        try:
            repeat = repeat_of(row)
        except ValueError as error:
            self._fault(row, str(error), "repeat")
            return
        lines = self._lines.setdefault((row.target, row.prompt_id, row.condition), {})
        first = lines.setdefault(repeat, row.line)
        if first != row.line:
            self._fault(
                row,
                f"is another response of {row.target!r} to prompt {row.prompt_id!r} under "
                f"{row.condition!r}, as repeat {repeat}, beside {self._source.where(first)}; "
                "only one of them could count",
                "response_id",
            )

    def refuse_doubles(self) -> None:
        """Raises for responses of which only the last would count.

        Raises:
            InputError: with every line.
        """
        if self._faults:
            raise InputError(
                self._faults[:FAULT_LIMIT],
                hint="Several responses to one prompt under one condition are numbered from 0 in a "
                "column repeat; their scores are averaged.",
            )

    def repeats(self, name: str, planned: int) -> tuple[int, list[str]]:
        """How many repeats the cells have, and what is said of the responses beyond them.

        Args:
            name: of the file.
            planned: repeats of the plan; 1, its default, takes what is there.

        Raises:
            InputError: the plan has other repeats than the file; no first one is there.
        """
        whole = [set(lines) for lines in self._lines.values()]
        if not any(0 in found for found in whole):
            rule = "repeats are numbered from 0, and there is no repeat 0"
            raise InputError([InputFault(name, rule, "repeat")])
        complete = sorted(_first_missing(numbers) for numbers in whole)
        # A few responses that were lost do not make a design of two repeats one of one.
        found = max(1, complete[len(complete) // 10])
        if planned not in (1, found):
            rule = (
                f"holds {units(found, 'response')} to a prompt under a condition, and the plan "
                f"says {planned} (response_repeats)"
            )
            raise InputError([InputFault(name, rule, "repeat")])
        said = []
        if found > 1:
            said.append(
                f"{name}: {found} responses to a prompt under a condition; scores are averaged."
            )
        lacking = sum(numbers.isdisjoint(range(found)) for numbers in whole)
        fewer = sum(not numbers >= {*range(found)} for numbers in whole) - lacking
        if fewer:
            said.append(
                f"{name}: {units(fewer, 'time')} a prompt has fewer than {found} responses under "
                "a condition; those that are there are averaged."
            )
        beyond = [number for numbers in whole for number in numbers if number >= found]
        paired = sum(found == 1 and {0, 1} <= numbers for numbers in whole)
        if paired:
            said.append(
                f"{name}: {units(paired, 'response')} with repeat 1 where most prompts have one "
                "response: judged to measure how much responses vary; figures rest on repeat 0."
            )
        if unused := len(beyond) - paired:
            said.append(
                f"{name}: {units(unused, 'response')} with a repeat beyond the {found} of a "
                "prompt and condition: judged, and in no figure."
            )
        return found, said

    def _fault(self, row: StressResponse, rule: str, field: str) -> None:
        self._faults.append(InputFault(self._source.where(row.line), rule, field))


def _first_missing(numbers: Iterable[int]) -> int:
    there = set(numbers)
    return next(number for number in range(len(there) + 1) if number not in there)


def _require_baseline(name: str, conditions: Sequence[str], baseline: str) -> None:
    shown = ", ".join(conditions[:20]) + (" …" if len(conditions) > 20 else "")
    if baseline not in conditions:
        raise InputError(
            [InputFault(name, f"no condition is called {baseline!r}; found: {shown}", "condition")],
            hint="Name the one that the others are compared with: --baseline NAME.",
        )
    if len(conditions) < 2:
        raise InputError(
            [InputFault(name, f"holds the condition {baseline!r} alone; nothing to compare")]
        )


def _refuse_unpaired(name: str, targets: Sequence[str], baseline: str) -> None:
    """Raises for responses of which no two can be compared: judging them would be for nothing."""
    shown = ", ".join(targets[:20]) + (" …" if len(targets) > 20 else "")
    raise InputError(
        [
            InputFault(
                name,
                f"no respondent answered a prompt both under {baseline!r} and under another "
                f"condition; respondents: {shown}",
                "condition",
            )
        ],
        hint="One respondent must have one name under all conditions. Where the name carries the "
        "condition, as in gpt-4o@turn1, --condition '@(turn[0-9]+)' takes it out.",
    )
