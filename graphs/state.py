"""What the panel graph carries between its nodes: ids, numbers and strings, nothing else.

Texts, judges, limits and the ledger live in the runtime context, which is never persisted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from ..judges.judge import Judge, Matter
from ..judges.models.client import Desk
from ..judges.prompt import Brief
from ..records.types import Judgment
from .screening import MAX_RESPONSE_CHARACTERS
from .stopping import FIRST_BLOCK, PlannedSeat, StoppingRule, balanced_order, next_block, why_enough

JudgmentRow = dict[str, Any]


def merge_by_key(
    left: dict[str, JudgmentRow], right: dict[str, JudgmentRow]
) -> dict[str, JudgmentRow]:
    """Both, the later write winning: a write that is repeated changes nothing."""
    return {**left, **right}


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
        quorum: share of planned judgments that must be scored; of those asked where `rule` is set.
        rule: when fewer judgments are enough; None = all are asked.
    """

    judges: Mapping[str, Judge]
    brief: Brief
    repeats: int = 1
    quorum: float = 2 / 3
    most_characters: int = MAX_RESPONSE_CHARACTERS
    rule: StoppingRule | None = None

    def planned(self) -> list[str]:
        """Keys of all judgments on one response."""
        return [f"{judge}|{repeat}" for repeat in range(self.repeats) for judge in self.judges]

    def seat(self, key: str) -> tuple[Judge, int]:
        """The judge and the repeat that a key names."""
        judge, _, repeat = key.rpartition("|")
        return self.judges[judge], int(repeat)

    def order(self, response_id: str) -> list[str]:
        """Keys of all judgments on a response in the order in which the rule has them asked.

        Raises:
            ValueError: there is no rule.
        """
        if self.rule is None:
            raise ValueError("only a bench with a rule has an order")
        seats = [
            PlannedSeat(f"{name}|{repeat}", judge.model, judge.persona.axis, judge.persona.id)
            for repeat in range(self.repeats)
            for name, judge in self.judges.items()
        ]
        return balanced_order(seats, seed=self.rule.seed, response_id=response_id)

    def next_calls(self, order: Sequence[str], values: Sequence[float | None]) -> list[str]:
        """The keys to be asked next, after those whose composites these are; none when enough are.

        Args:
            order: of the response.
            values: composites of the first so many of it; None where one was not scored.
        """
        if self.rule is None:
            return []
        count = next_block(self.rule, len(order), values, grain=self.grain)
        return list(order[len(values) : len(values) + count])

    def rest_after(self, order: Sequence[str], n_called: int) -> list[str]:
        """The keys after the first so many that may still be asked for."""
        most = None if self.rule is None else self.rule.most
        return list(order[n_called:most])

    def why_enough(self, values: Sequence[float | None]) -> str | None:
        """A sentence on why no more are asked, for those that were not."""
        if self.rule is None:
            return None
        return why_enough(self.rule, self.repeats * len(self.judges), values, grain=self.grain)

    def first_calls(self, response_id: str) -> list[str]:
        """Keys of the judgments that are asked for whatever the others say."""
        return self.planned() if self.rule is None else self.next_calls(self.order(response_id), [])

    def most_calls(self, response_id: str) -> list[str]:
        """Keys of the judgments that may be asked for, however they turn out."""
        if self.rule is None or self.rule.most is None:
            return self.planned()
        return self.order(response_id)[: self.rule.most]

    def calls_that_share(self, keys: Sequence[str]) -> int:
        """How many calls on one response go to the backend of these keys, as far as is known.

        Later blocks of a rule read what the first has left in the provider's cache, so they count
        with it.
        """
        if self.rule is None:
            return len(keys)
        n_models = len({judge.model for judge in self.judges.values()})
        certain = len(self.judges) * self.repeats
        for limit in (self.rule.most, FIRST_BLOCK if self.rule.half_width is not None else None):
            certain = certain if limit is None else min(certain, limit)
        return max(len(keys), -(-certain // n_models))

    @property
    def grain(self) -> float:
        """The step in which composites come; 0 where they are expected values."""
        if any(judge.score_mode == "expected" for judge in self.judges.values()):
            return 0.0
        return 1.0 / max(1, len(self.brief.contract.criteria))


@dataclass(frozen=True, slots=True)
class Sitting:
    """Runtime context of one run of the graph: one response before the bench."""

    matter: Matter
    bench: Bench
    desk: Desk
    repeated_text: bool = False
    _heard: dict[str, tuple[JudgmentRow, Judgment]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def row(self, key: str, judgment: Judgment) -> JudgmentRow:
        """The judgment as the state carries it."""
        row = judgment.to_json()
        self._heard[key] = row, judgment
        return row

    def judgment(self, key: str, row: JudgmentRow) -> Judgment:
        """The judgment that a row of the state stands for.

        Rows that nobody has stored and read again need not be read here either.
        """
        heard = self._heard.get(key)
        return heard[1] if heard is not None and heard[0] is row else Judgment.from_json(row)


def judge_id(judge: Judge) -> str:
    """`persona|model`."""
    return f"{judge.persona.id}|{judge.model}"
