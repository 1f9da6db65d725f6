"""The dry run of an audit, on what the ledger holds.

A stored answer is read by the rules and goes to the judges only where they would be asked; of what
is not there yet it assumes that judges are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..audits.definition import AuditItem, Reading
from ..experiment.ask import read_answer
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

if TYPE_CHECKING:
    from .job import AuditJob

_WORDS_TO_TOKENS = 4 / 3
_CALLS_OF_A_VOTE = 2
"""A judge's reply, and its one repair."""


def audit_dry_run(job: AuditJob) -> DryRun:
    """Calls and cost of every stage and backend, after going through everything planned."""
    stages = tuple(_Counts(job).stages())
    if not job.judges:
        return DryRun(stages)
    differ = "every two judges differ, and " if len(job.judges) > 2 else ""
    assumption = (
        f"Answers not there yet are assumed to need judges; at most: {differ}every reply of a "
        "judge has to be repaired."
    )
    return DryRun(stages, (assumption,))


class _Counts:
    def __init__(self, job: AuditJob) -> None:
        self.job = job
        self.calls = CallCounter(job.ledger)
        self.ask = {b.spec.name: StageCost("ask", b.spec.name) for b in job.targets}
        self.judge = {b.spec.name: StageCost("classify", b.spec.name) for b in job.judges}

    def stages(self) -> list[StageCost]:
        job = self.job
        for item, repeat in job.plan.askings():
            if job.supplied is None:
                for backend in job.targets:
                    self._asking(item, repeat, backend)
                continue
            for name in job.target_names:
                found = job.supplied.answer(item.item_id, name, repeat)
                self._judging(item, job.read_by_rule(item, found), found.text)
        return [*self.ask.values(), *self.judge.values()]

    def _asking(self, item: AuditItem, repeat: int, backend: Backend) -> None:
        job, stage = self.job, self.ask[backend.spec.name]
        stage.planned += 1
        request = job.wording.request(backend, item.prompt, repeat)
        reply = self.calls.stored(request)
        if reply is not None:
            stage.stored += 1
            answer = read_answer(reply)
            self._judging(item, job.read_by_rule(item, answer), answer.text)
        elif self.calls.is_first(request):
            words = job.audit.likely_words(job.options)
            stage.add(backend, request, output_tokens=words * _WORDS_TO_TOKENS)
            if job.judges and job.definition.takes_judges:
                self._unknown_judging(item, words)

    def _judging(self, item: AuditItem, reading: Reading | None, text: str) -> None:
        """Judges on an answer that is there."""
        job = self.job
        if not job.judges or reading is None or reading.status != "unclassified":
            return
        question = job.audit.question(item, text, reading, job.options)
        if question is None:
            return
        found = [self._vote(question, slot) for slot in SLOTS[: min(2, len(job.judges))]]
        votes = [vote for vote in found if vote is not None]
        if len(job.judges) < 3:
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
        found = self.calls.complete(stage, backend, asked, output_tokens=tokens)
        if found is None:
            return None
        return JudgeVote(slot, backend.spec.name, found.outcome, found.value or {})

    def _unknown_judging(self, item: AuditItem, words: int) -> None:
        """Judges on an answer that is not there yet: two would be asked, and perhaps a third."""
        job = self.job
        reading = Reading("unclassified", {}, "assumed")
        question = job.audit.question(item, "word " * words, reading, job.options)
        if question is None:
            return
        for slot in SLOTS[: len(job.judges)]:
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
        backend = self.job.judges[SLOTS.index(slot)]
        return backend, self.judge[backend.spec.name]

    def _asked(
        self, question: JudgeQuestion, slot: Slot, earlier: tuple[Mapping[str, Any], ...] = ()
    ) -> Question[dict[str, Any]]:
        return judge_question(
            question,
            secret=self.job.ledger.secret,
            repeat=earlier_askings(self.job.judges, slot),
            earlier=earlier,
        )
