"""State and runtime context of the panel graph. The state holds ids, numbers and strings only.

Texts, judges, limits and the ledger live in the runtime context, which is never persisted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from ..judges.models.client import Client
from ..records.types import Judgment, Sample
from .generate import merged
from .panel_spec import PanelSpec

JudgmentRow = dict[str, Any]


class PanelState(TypedDict, total=False):
    """State of one response before the panel.

    Keys of `judgments` and entries of the lists are `persona|model|repeat`. Where a rule says when
    enough have been asked, `order` holds all in the order of asking, `called` those asked so far,
    `block` the last of these, which are asked side by side.
    """

    response_id: str
    flags: list[str]
    gate: str | None
    planned: list[str]
    order: list[str]
    called: list[str]
    block: list[str]
    judgments: Annotated[dict[str, JudgmentRow], merged]
    verdict: dict[str, Any]


class JudgeTask(TypedDict):
    """What a judge node is sent: which judgments, by their keys, all of one backend."""

    judgments: list[str]


@dataclass(frozen=True, slots=True)
class PanelContext:
    """Runtime context of one run of the graph: one response before the panel."""

    sample: Sample
    panel: PanelSpec
    client: Client
    repeated_text: bool = False
    _judged: dict[str, tuple[JudgmentRow, Judgment]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def row(self, key: str, judgment: Judgment) -> JudgmentRow:
        """The judgment as the state carries it."""
        row = judgment.to_json()
        self._judged[key] = row, judgment
        return row

    def judgment(self, key: str, row: JudgmentRow) -> Judgment:
        """The judgment that a row of the state stands for.

        Rows that nobody has stored and read again need not be read here either.
        """
        heard = self._judged.get(key)
        return heard[1] if heard is not None and heard[0] is row else Judgment.from_json(row)
