"""Responses under several conditions: our own table of them, or one that a user brings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import InputError, InputFault
from ..records.readers.responses import UNNAMED, RowSource

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

    def _complete(self, values: dict[str, str]) -> None:
        values.setdefault("respondent_id", UNNAMED)

    def _prompt_key(self, values: Mapping[str, str]) -> str:
        return f"{values['prompt_id']}\x1f{values['condition']}"

    def _limited(self, faults: list[InputFault] | None) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, raw in super()._limited(faults):
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
                        f"--condition {self._condition}",
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
                    f"--condition {self._condition}",
                    f"is no column ({shown}), and as a regular expression it is found neither in "
                    "respondent_id nor in response_id of the first row",
                )
            ],
            hint="For respondents such as gpt-4o@turn1: --condition '@(turn[0-9]+)'",
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
