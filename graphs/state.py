"""What the panel graph carries between its nodes: ids, numbers and strings, nothing else.

Texts, judges, limits and the ledger live in the runtime context, which is never persisted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from ..judges.brief import Brief
from ..judges.desk import Desk
from ..judges.judge import Judge, Matter
from .screen import MAX_RESPONSE_CHARACTERS

JudgmentRow = dict[str, Any]


def merge_by_key(
    left: dict[str, JudgmentRow], right: dict[str, JudgmentRow]
) -> dict[str, JudgmentRow]:
    """Both, the later write winning: a write that is repeated changes nothing."""
    return {**left, **right}


class PanelState(TypedDict, total=False):
    """State of one response before the panel.

    Keys of `judgments` and entries of `planned` are `persona|model|repeat`.
    """

    response_id: str
    flags: list[str]
    gate: str | None
    planned: list[str]
    judgments: Annotated[dict[str, JudgmentRow], merge_by_key]
    verdict: dict[str, Any]


class JudgeTask(TypedDict):
    """What a judge node is sent: which judgments, by their keys, all of one backend."""

    judgments: list[str]


@dataclass(frozen=True, slots=True)
class Bench:
    """The panel as it sits: the same for every response of a run.

    Attributes:
        judges: judge id (`persona|model`) to judge, in the order of the results.
        brief: the wording.
        repeats: askings of each judge.
        quorum: share of planned judgments that must be scored.
    """

    judges: Mapping[str, Judge]
    brief: Brief
    repeats: int = 1
    quorum: float = 2 / 3
    most_characters: int = MAX_RESPONSE_CHARACTERS

    def planned(self) -> list[str]:
        """Keys of all judgments on one response."""
        return [f"{judge}|{repeat}" for repeat in range(self.repeats) for judge in self.judges]

    def seat(self, key: str) -> tuple[Judge, int]:
        """The judge and the repeat that a key names."""
        judge, _, repeat = key.rpartition("|")
        return self.judges[judge], int(repeat)


@dataclass(frozen=True, slots=True)
class Sitting:
    """Runtime context of one run of the graph: one response before the bench."""

    matter: Matter
    bench: Bench
    desk: Desk
    repeated_text: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


def judge_id(judge: Judge) -> str:
    """`persona|model`."""
    return f"{judge.persona.id}|{judge.model}"
