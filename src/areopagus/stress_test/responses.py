"""Responses under several conditions, our own or a user's: read, checked, put before the panel."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..errors import InputError, InputFault
from ..formats import listed, units
from ..records.readers.responses import UNNAMED, RowSource, made_id
from ..records.readers.rows import FAULT_LIMIT

RESPONSES_FILE = "responses.csv"

CARRIED = ("stress_prompt_id", "condition", "target", "stress_repeat")
"""Columns that lead from a row of the panel's tables back to the design."""

NO_RESPONSE = ("failed", "not_asked")
"""Statuses of our own table without anything that could be judged."""

_GIVERS = ("respondent_id", "response_id")
"""Columns in which a pattern looks for the condition, in this order."""


@dataclass(frozen=True, slots=True)
class StressResponse:
    """One response under one condition.

    Attributes:
        response_id: unique in its source.
        prompt_id: the prompt before any framing; what pairs the conditions.
        condition: the baseline or a framing.
        prompt_text: what this response answered.
        response_text: may be empty.
        target: the respondent, without the condition.
        extra: the other columns.
        line: where it stands.
    """

    response_id: str
    prompt_id: str
    condition: str
    prompt_text: str
    response_text: str
    target: str
    extra: dict[str, Any]
    line: int


class StressSource(RowSource[StressResponse]):
    """Responses with their conditions, checked by `check()` and then read by `rows()`."""

    own: ClassVar[tuple[str, ...]] = (
        "response_id",
        "prompt_id",
        "condition",
        "prompt_text",
        "response_text",
        "respondent_id",
    )
    required: ClassVar[tuple[str, ...]] = (
        "response_id",
        "prompt_id",
        "condition",
        "prompt_text",
        "response_text",
    )
    unique = "response_id"
    kind = "responses"

    def __init__(
        self,
        source: Any,
        *,
        condition: str | None = None,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        format: str | None = None,  # noqa: A002
    ) -> None:
        """Opens the source.

        Args:
            source: a CSV, JSONL or Parquet file, a DataFrame or an iterable of mappings.
            condition: the column that holds the condition; or, where there is no such column, a
                regular expression that is searched for in respondent_id and then in response_id,
                whose group (the one called `condition`, else the first, else the whole match) is
                the condition. What it matches is taken out of the respondent's name.
            columns: our column name to theirs.
            limit: only the first so many responses.
            format: the file's format where its suffix does not say it.

        Raises:
            InputError: a source that cannot be opened, a pattern that is none.
        """
        super().__init__(source, columns=columns, limit=limit, format=format)
        self._condition = condition
        self._reserved = (condition,) if condition is not None else ()
        self._pattern: re.Pattern[str] | None = None
        self._looked = condition is None
        self._found_in: str | None = None

    def where(self, line: int) -> str:
        """Returns the place of a row as messages name it."""
        return self._table.where(line)

    def _row(self, values: dict[str, str], extra: dict[str, Any], line: int) -> StressResponse:
        return StressResponse(
            response_id=values["response_id"],
            prompt_id=values["prompt_id"],
            condition=values["condition"],
            prompt_text=values["prompt_text"],
            response_text=values["response_text"],
            target=values["respondent_id"],
            extra=extra,
            line=line,
        )

    def _complete(self, values: dict[str, str], repeats: Counter[int]) -> None:
        values.setdefault("respondent_id", UNNAMED)
        if "response_id" not in values:
            values["response_id"] = made_id(values, repeats)

    def _prompt_key(self, values: Mapping[str, str]) -> str:
        return f"{values['prompt_id']}\x1f{values['condition']}"

    def _limited(
        self, faults: list[InputFault] | None, left_out: Counter[str] | None = None
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, raw in super()._limited(faults, left_out):
            if not self._looked:
                self._look_at(raw)
            if self._condition is None:
                yield line, raw
                continue
            try:
                yield line, self._with_condition(raw)
            except ValueError as error:
                fault = InputFault(self._table.where(line), str(error), "condition")
                if faults is None:
                    raise InputError([fault]) from None
                faults.append(fault)

    def _look_at(self, raw: Mapping[str, Any]) -> None:
        """Decides by the first row whether the condition is a column's name or a pattern."""
        self._looked = True
        assert self._condition is not None  # noqa: S101 - _looked says so
        if self._condition in raw:
            return
        shown = ", ".join(list(raw)[:30])
        try:
            self._pattern = re.compile(self._condition)
        except re.error as error:
            raise InputError(
                [
                    InputFault(
                        f"`condition={self._condition!r}`",
                        f"is neither a column ({shown}) nor a regular expression ({error})",
                    )
                ]
            ) from None
        for name in _GIVERS:
            text = raw.get(self._map.theirs[name])
            if text is not None and self._pattern.search(str(text)):
                self._found_in = name
                return
        raise InputError(
            [
                InputFault(
                    f"`condition={self._condition!r}`",
                    f"is no column ({shown}), and as a regular expression it is found neither in "
                    "respondent_id nor in response_id of the first row",
                )
            ],
            hint="For respondents such as gpt-4o@turn1: `condition='@(turn[0-9]+)'`",
        )

    def _with_condition(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        ours = self._map.theirs["condition"]
        if self._pattern is None or self._found_in is None:
            return {**raw, ours: raw.get(self._condition or "")}
        giver = self._map.theirs[self._found_in]
        text = str(raw.get(giver) or "")
        found = self._pattern.search(text)
        if found is None:
            raise ValueError(f"no condition in {giver} {text[:80]!r} by {self._condition!r}")
        groups = found.groupdict()
        name = groups.get("condition") or (found.group(1) if found.groups() else found.group())
        changed = {**raw, ours: name}
        if self._found_in == "respondent_id":
            changed[giver] = (text[: found.start()] + text[found.end() :]).strip() or UNNAMED
        return changed


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
    *,
    baseline: str = "baseline",
    planned_repeats: int = 1,
    condition: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> Supplied:
    """Responses under several conditions, checked.

    Args:
        source, condition, columns, limit: see `StressSource`.
        baseline: the condition that the others are compared with.
        planned_repeats: responses of a prompt and condition that were decided on; 1 takes what is
            there.

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
            arms[row.condition == baseline].add((row.target, row.prompt_id))
            cells.add(row)
        cells.refuse_doubles()
        _require_baseline(summary.name, list(conditions), baseline)
        if arms[0].isdisjoint(arms[1]):
            _refuse_unpaired(summary.name, list(targets), baseline)
        repeats, said = cells.repeats(summary.name, planned_repeats)
    except BaseException:
        opened.close()
        raise
    others = [name for name in conditions if name != baseline]
    return Supplied(
        opened,
        summary.fingerprint,
        summary.name,
        (*summary.notices, *said),
        tuple(targets),
        (baseline, *others),
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
    shown = listed(conditions, most=20)
    if baseline not in conditions:
        raise InputError(
            [InputFault(name, f"no condition is called {baseline!r}; found: {shown}", "condition")],
            hint="Name the one that the others are compared with as `baseline`.",
        )
    if len(conditions) < 2:
        raise InputError(
            [InputFault(name, f"holds the condition {baseline!r} alone; nothing to compare")]
        )


def _refuse_unpaired(name: str, targets: Sequence[str], baseline: str) -> None:
    """Raises for responses of which no two can be compared: judging them would be for nothing."""
    shown = listed(targets, most=20)
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
        "condition, as in gpt-4o@turn1, `condition='@(turn[0-9]+)'` takes it out.",
    )


def panel_rows(
    responses: Iterable[StressResponse],
    judged_prompt: Literal["own", "baseline"],
    baseline_prompts: Mapping[str, str],
    *,
    only: frozenset[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Rows for the panel.

    A variant is a prompt of its own to the panel, unless its text is the baseline's.

    Args:
        responses: all of them.
        judged_prompt: which prompt the judges read.
        baseline_prompts: prompt id to the text of its baseline; a prompt without one is judged
            against the prompt that its response answered.
        only: ids of the responses wanted; all when left out.
    """
    for response in responses:
        if response.extra.get("status") in NO_RESPONSE:
            continue
        if only is not None and response.response_id not in only:
            continue
        baseline = baseline_prompts.get(response.prompt_id)
        text = response.prompt_text
        if judged_prompt == "baseline" and baseline is not None:
            text = baseline
        is_baseline = text == baseline
        yield {
            "response_id": response.response_id,
            "prompt_id": response.prompt_id
            if is_baseline
            else f"{response.prompt_id}|{response.condition}",
            "prompt_text": text,
            "response_text": response.response_text,
            "respondent_id": f"{response.target} @ {response.condition}",
            "stress_prompt_id": response.prompt_id,
            "condition": response.condition,
            "target": response.target,
            "stress_repeat": repeat_of(response),
        }


def repeat_of(response: StressResponse) -> int:
    """Which asking of its prompt a response came from, from 0; 0 where nothing is said of it.

    Raises:
        ValueError: the column `repeat` holds something else than a whole number from 0.
    """
    value = response.extra.get("repeat")
    if value is None or not str(value).strip():
        return 0
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if not (number >= 0 and number.is_integer()):
        raise ValueError(f"must be a whole number from 0, got {str(value)[:80]!r}")
    return int(number)


def chosen(
    names: Iterable[str], share: float, seed: int, purpose: str, *, at_least: int = 0
) -> frozenset[str]:
    """At least this share of the names, by seed: the same whatever their order.

    Each name is ranked by a hash of itself, so that adding names moves few of the others.

    Args:
        names: what to choose from.
        share: from 0 to 1; 0 chooses nothing.
        seed, purpose: two purposes choose differently by one seed.
        at_least: how many to take where the share comes to fewer.
    """
    if not share:
        return frozenset()
    ranked = sorted(
        set(names),
        key=lambda name: hashlib.sha256(f"{purpose}\x1f{seed}\x1f{name}".encode()).digest(),
    )
    wanted = -(-len(ranked) * round(share * 1_000_000) // 1_000_000)
    return frozenset(ranked[: max(wanted, at_least)])
