"""The responses to be judged, and the prompts to be asked: checked whole, then read again.

Columns of responses: response_id, prompt_text, response_text; optional respondent_id, prompt_id.
Columns of prompts: prompt_text; optional prompt_id. Others are carried through.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .row_source import RowSource, SourceSummary
from .seen import text_key

__all__ = [
    "MAX_TEXT_CHARS",
    "UNNAMED",
    "PromptRow",
    "PromptSource",
    "ResponseRow",
    "ResponseSource",
    "SourceSummary",
    "default_prompt_id",
    "open_prompts",
    "open_responses",
    "text_key",
]

MAX_TEXT_CHARS = 200_000
"""Longest prompt or response that is taken unless a caller sets another limit."""

UNNAMED = "unnamed"
"""The respondent of responses that name none."""


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """One response to be judged.

    Attributes:
        response_id: unique in its source.
        prompt_id, prompt_text: what was asked; one prompt_id has one text.
        response_text: may be empty, and is never altered.
        respondent_id: who wrote it, `UNNAMED` where the source does not say.
        extra: the other columns, as they came.
        line: where it stands (see `records.tables.Row`).
    """

    response_id: str
    prompt_id: str
    prompt_text: str
    response_text: str
    respondent_id: str
    extra: dict[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class PromptRow:
    """One prompt to be asked; fields as in `ResponseRow`."""

    prompt_id: str
    prompt_text: str
    extra: dict[str, Any]
    line: int


def default_prompt_id(prompt_text: str) -> str:
    """Returns the id of a prompt that has none: the same for the same text, wherever it stands."""
    return "p-" + hashlib.sha256(prompt_text.encode()).hexdigest()[:16]


class ResponseSource(RowSource):
    """Responses, checked by `check()` and then read by `rows()`; see `open_responses`."""

    own = ("response_id", "prompt_id", "prompt_text", "response_text", "respondent_id")
    required = ("response_id", "prompt_text", "response_text")
    unique = "response_id"
    kind = "responses"

    def rows(self) -> Iterator[ResponseRow]:
        """Returns the responses in order, `limit` of them at most.

        Raises:
            InputError: at the first fault, so that `check` may be skipped; and where the file
                has changed since it was checked.
        """
        for line, values, extra in self._read_again():
            yield ResponseRow(
                response_id=values["response_id"],
                prompt_id=values["prompt_id"],
                prompt_text=values["prompt_text"],
                response_text=values["response_text"],
                respondent_id=values["respondent_id"],
                extra=extra,
                line=line,
            )

    def _hint_for(self, absent: set[str | None]) -> str | None:
        if "response_text" in absent and "prompt_text" not in absent:
            return (
                "prompts without responses? have models answer them first: areopagus score FILE "
                "--target MODEL (areopagus stress FILE does the same under framings); a column of "
                "another name: --column response_text=answer"
            )
        return None

    def _complete(self, values: dict[str, str]) -> None:
        values.setdefault("respondent_id", UNNAMED)
        values.setdefault("prompt_id", default_prompt_id(values["prompt_text"]))


class PromptSource(RowSource):
    """Prompts, checked by `check()` and then read by `rows()`; see `open_prompts`."""

    own = ("prompt_id", "prompt_text")
    required = ("prompt_text",)
    unique = "prompt_id"
    kind = "prompts"

    def rows(self) -> Iterator[PromptRow]:
        """Returns the prompts in order; raises as `ResponseSource.rows`."""
        for line, values, extra in self._read_again():
            yield PromptRow(values["prompt_id"], values["prompt_text"], extra, line)

    def _complete(self, values: dict[str, str]) -> None:
        values.setdefault("prompt_id", default_prompt_id(values["prompt_text"]))


def open_responses(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    max_response_chars: int = MAX_TEXT_CHARS,
    format: str | None = None,  # noqa: A002
) -> ResponseSource:
    """Returns the responses of a file, a data frame or an iterable of mappings.

    Args:
        source: a path (see `records.tables`), a pandas or polars DataFrame, or any iterable of
            mappings, generators included.
        columns: our column name to theirs, for those they call otherwise.
        limit: how many responses to take, from the first; what follows is not looked at.
        max_response_chars: longest prompt or response; a longer one is a fault, never cut.
        format: the file's format where its suffix does not say it.

    Raises:
        InputError: for a source that cannot be opened, or a map to columns that do not exist here.
    """
    return ResponseSource(
        source, columns=columns, limit=limit, max_chars=max_response_chars, format=format
    )


def open_prompts(
    source: Any,
    *,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    max_prompt_chars: int = MAX_TEXT_CHARS,
    format: str | None = None,  # noqa: A002
) -> PromptSource:
    """Returns the prompts of a file, a data frame or an iterable of mappings; as `open_responses`.

    A prompt stands once: two rows of one prompt_id, or of one text without ids, are a fault.
    """
    return PromptSource(
        source, columns=columns, limit=limit, max_chars=max_prompt_chars, format=format
    )
