"""The dry run of an audit, on what the ledger holds.

A stored answer is read by the rules and goes to the judges only where they would be asked; of what
is not there yet it assumes that judges are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..audits.audit import Audit, AuditItem, Reading
from ..experiment.ask import Wording, read_answer
from ..experiment.dry_run import CallCounter, DryRun, StageCost, times
from ..graphs.adjudication import (
    SLOTS,
    JudgeQuestion,
    JudgeVote,
    Slot,
    earlier_askings,
    judge_question,
    ruling_of,
)
from ..judges.models.backend import Backend
from ..judges.models.budget import reserve_usd
from ..judges.structured import Question
from ..records.ledger import Ledger
from .classify import read_by_rule
from .planned import Plan
from .supplied import SuppliedAnswers

_WORDS_TO_TOKENS = 4 / 3
_CALLS_OF_A_VOTE = 2
"""A judge's reply, and its one repair."""


@dataclass(frozen=True, slots=True)
class AuditDryRun:
    """What an audit would ask.

    Attributes:
        audit, options: which.
        plan, wording: what is asked, and how.
        targets, judges: whom.
        supplied: answers that are there already, instead of targets.
        ledger: the store of calls.
    """

    audit: Audit[Any]
    options: Any
    plan: Plan
    wording: Wording
    targets: tuple[Backend, ...]
    judges: tuple[Backend, ...]
    supplied: SuppliedAnswers | None
    ledger: Ledger
    _calls: CallCounter = field(init=False)
    _stages: dict[tuple[str, str], StageCost] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Begins with nothing counted."""
        object.__setattr__(self, "_calls", CallCounter(self.ledger))

    def counted(self) -> DryRun:
        """Calls and cost of every stage and backend, after going through everything planned."""
        for stage, backends in (("ask", self.targets), ("classify", self.judges)):
            for backend in backends:
                self._stage(stage, backend)
        for item, repeat in self.plan.askings():
            if self.supplied is None:
                for backend in self.targets:
                    self._asking(item, repeat, backend)
                continue
            for name in self.supplied.respondents:
                found = self.supplied.answer(item.item_id, name, repeat)
                reading = read_by_rule(self.audit, self.options, item, found)
                self._judging(item, reading, found.text)
        stages = tuple(self._stages.values())
        if not self.judges:
            return DryRun(stages)
        differ = "every two judges differ, and " if len(self.judges) > 2 else ""
        assumption = (
            f"Answers not there yet are assumed to need judges; at most: {differ}every reply of a "
            "judge has to be repaired."
        )
        return DryRun(stages, (assumption,))

    def _stage(self, stage: str, backend: Backend) -> StageCost:
        name = backend.spec.name
        return self._stages.setdefault((stage, name), StageCost(stage, name))

    def _asking(self, item: AuditItem, repeat: int, backend: Backend) -> None:
        stage = self._stage("ask", backend)
        stage.planned += 1
        request = self.wording.request(backend, item.prompt, repeat)
        reply = self._calls.stored(request)
        if reply is not None:
            stage.stored += 1
            answer = read_answer(reply)
            reading = read_by_rule(self.audit, self.options, item, answer)
            self._judging(item, reading, answer.text)
        elif self._calls.is_first(request):
            words = self.audit.likely_words(self.options)
            stage.add(backend, request, output_tokens=words * _WORDS_TO_TOKENS)
            if self.judges and self.audit.definition.takes_judges:
                self._unknown_judging(item, words)

    def _judging(self, item: AuditItem, reading: Reading | None, text: str) -> None:
        """Judges on an answer that is there."""
        if not self.judges or reading is None or reading.status != "unclassified":
            return
        question = self.audit.question(item, text, reading, self.options)
        if question is None:
            return
        found = [self._vote(question, slot) for slot in SLOTS[: min(2, len(self.judges))]]
        votes = [vote for vote in found if vote is not None]
        if len(self.judges) < 3:
            return
        if len(votes) < 2:
            self._perhaps(question, "third")
        elif ruling_of(question, votes).outcome != "agreed":
            values = tuple(vote.value for vote in votes if vote.status == "read")
            self._vote(question, "third", values)

    def _vote(
        self, question: JudgeQuestion, slot: Slot, earlier: tuple[Mapping[str, Any], ...] = ()
    ) -> JudgeVote | None:
        """The stored vote, or None with its call counted."""
        backend, stage = self._judge(slot)
        asked = self._asked(question, slot, earlier)
        tokens = question.output_tokens
        found = self._calls.complete(stage, backend, asked, output_tokens=tokens)
        if found is None:
            return None
        return JudgeVote(slot, backend.spec.name, found.outcome, found.value or {})

    def _unknown_judging(self, item: AuditItem, words: int) -> None:
        """Judges on an answer that is not there yet: two would be asked, and perhaps a third."""
        reading = Reading("unclassified", {}, "assumed")
        question = self.audit.question(item, "word " * words, reading, self.options)
        if question is None:
            return
        for slot in SLOTS[: len(self.judges)]:
            if slot != "third":
                backend, stage = self._judge(slot)
                stage.planned += 1
                request = self._asked(question, slot).request(backend, "json_schema")
                stage.add_likely(backend, request, output_tokens=question.output_tokens)
            self._perhaps(question, slot)

    def _perhaps(self, question: JudgeQuestion, slot: Slot) -> None:
        """Adds a vote to the most that there may be."""
        backend, stage = self._judge(slot)
        request = self._asked(question, slot).request(backend, "json_schema")
        usd = times(_CALLS_OF_A_VOTE, reserve_usd(backend, request))
        stage.add_most(_CALLS_OF_A_VOTE, usd)

    def _judge(self, slot: Slot) -> tuple[Backend, StageCost]:
        backend = self.judges[SLOTS.index(slot)]
        return backend, self._stage("classify", backend)

    def _asked(
        self, question: JudgeQuestion, slot: Slot, earlier: tuple[Mapping[str, Any], ...] = ()
    ) -> Question[dict[str, Any]]:
        return judge_question(
            question,
            secret=self.ledger.secret,
            repeat=earlier_askings(self.judges, slot),
            earlier=earlier,
        )
