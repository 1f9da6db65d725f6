"""The responses that are attacked: the user's own, or those that come with the package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, InputFault
from ..formats import units
from ..graphs.screening import screen
from .design import Base
from .load import example_texts


@dataclass(frozen=True, slots=True)
class Bases:
    """Base responses.

    Attributes:
        name: the file, or what the source is where it is none.
        rows: the responses.
        notices: sentences for the user: what was assumed or left out.
    """

    name: str
    rows: tuple[Base, ...]
    notices: tuple[str, ...] = ()


def read_bases(
    source: Any = None, *, columns: Mapping[str, str] | None = None, limit: int | None = None
) -> Bases:
    """The responses of a source; the eight built-in ones when left out.

    Responses that no judge would be asked about are left out, with a notice.

    Raises:
        InputError: every fault of the source, or no response that can be judged.
    """
    if source is None:
        rows = tuple(
            Base(item.id, item.id, item.prompt or "", item.text, "built_in")
            for item in example_texts("base_responses").texts
        )
        return Bases("the built-in responses", rows[:limit])
    from ..records.readers.responses import ResponseSource

    with ResponseSource(source, columns=columns, limit=limit) as opened:
        summary = opened.check()
        found = [
            Base(
                row.response_id, row.prompt_id, row.prompt_text, row.response_text,
                row.respondent_id,
            )
            for row in opened.rows()
        ]  # fmt: skip
    judged = tuple(base for base in found if screen(base.response_text).gate is None)
    if not judged:
        raise InputError([InputFault(summary.name, "holds no response that would be judged")])
    notices = list(summary.notices)
    if len(judged) < len(found):
        notices.append(
            f"screened and left out: {len(found) - len(judged)} of {units(len(found), 'response')}"
        )
    return Bases(summary.name, judged, tuple(notices))
