"""What an audit would call and cost, stage by stage, without sending anything.

Stages are rehearsed on what the ledger holds: a stored answer is read by the rules, and goes to
the judges only where they would be asked about it; stored votes decide whether the third is asked.
What is not there yet is assumed to need judges, where the audit has any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from ..access import prepare_all
from ..asking import read_answer
from ..audits.definition import AuditItem, Reading
from ..graphs.adjudication import (
    SLOTS,
    JudgeQuestion,
    JudgeVote,
    Slot,
    earlier_askings,
    judge_request,
    read_judgment,
    repair_request,
    ruling_of,
)
from ..judges.models.backend import Backend
from ..judges.models.client import worst_usd
from ..judges.models.request import LADDER, Request, Rung
from ..records.types import Reply
from .asking_stage import read_by_rule

if TYPE_CHECKING:
    from .job import AuditJob

_SAMPLE = 50
_WORDS_TO_TOKENS = 4 / 3


@dataclass(slots=True)
class StageEstimate:
    """One backend's part in one stage.

    Attributes:
        planned: answers wanted of it, or answers to be judged by it.
        stored: of these, first replies that the ledger holds.
        calls: calls to send, as far as can be known; repairs apart.
        most_calls: calls if every answer not known yet needs judges, every two judges differ and
            every reply has to be repaired.
        likely_usd, most_usd: cost of `calls` at likely lengths, and of `most_calls` at their
            worst; None = price unknown.
    """

    stage: str
    backend: str
    planned: int = 0
    stored: int = 0
    calls: int = 0
    most_calls: int = 0
    likely_usd: float | None = 0.0
    most_usd: float | None = 0.0


def rehearse(job: AuditJob) -> list[StageEstimate]:
    """Calls and cost of every stage and backend.

    Raises:
        InputError: unknown providers, and parameters that a model does not take.
    """
    prepare_all((*job.targets, *job.judges))
    return _Rehearsal(job).run()


def calls_left(job: AuditJob) -> dict[str, int]:
    """Backend to the calls that the ledger cannot answer."""
    left: dict[str, int] = {}
    for item in _Rehearsal(job).run():
        left[item.backend] = left.get(item.backend, 0) + item.most_calls
    return left


class _Rehearsal:
    def __init__(self, job: AuditJob) -> None:
        self.job = job
        self.ask = {b.spec.name: StageEstimate("ask", b.spec.name) for b in job.targets}
        self.judge = {b.spec.name: StageEstimate("classify", b.spec.name) for b in job.judges}
        self.rates = {b.spec.name: self._rate(b) for b in (*job.targets, *job.judges)}
        self.counted: set[str] = set()

    def run(self) -> list[StageEstimate]:
        """Goes through everything planned."""
        job = self.job
        if job.supplied is not None:
            for item, repeat in job.plan.askings():
                for name in job.target_names:
                    found = job.supplied.answer(item.item_id, name, repeat)
                    self._judging(item, read_by_rule(job, item, found), found.text)
            return list(self.judge.values())
        for item, repeat in job.plan.askings():
            for backend in job.targets:
                self._asking(item, repeat, backend)
        return [*self.ask.values(), *self.judge.values()]

    def _asking(self, item: AuditItem, repeat: int, backend: Backend) -> None:
        job, stage = self.job, self.ask[backend.spec.name]
        stage.planned += 1
        request = job.wording.request(backend, item.prompt, repeat)
        key = request.key()
        if key in self.counted:
            return
        reply = job.ledger.lookup([key]).get(key)
        if reply is not None:
            stage.stored += 1
            answer = read_answer(reply)
            self._judging(item, read_by_rule(job, item, answer), answer.text)
            return
        words = job.audit.likely_words(job.options)
        self._call(stage, backend, request, round(words * _WORDS_TO_TOKENS))
        if job.judges and job.audit.takes_judges:
            self._unknown_judging(item, words)

    def _judging(self, item: AuditItem, reading: Reading | None, text: str) -> None:
        """Judges on an answer that is there."""
        job = self.job
        if not job.judges or reading is None or reading.status != "unclassified":
            return
        question = job.audit.question(item, text, reading, job.options)
        if question is None:
            return
        votes: list[JudgeVote] = []
        for slot in SLOTS[: min(2, len(job.judges))]:
            vote = self._vote(question, slot)
            if vote is not None:
                votes.append(vote)
        if len(job.judges) < 3:
            return
        if len(votes) == 2 and ruling_of(question, votes).outcome == "agreed":
            return
        if len(votes) == 2:
            values = tuple(vote.value for vote in votes if vote.status == "read")
            self._vote(question, "third", values)
        else:
            self._perhaps_third(question)

    def _vote(
        self, question: JudgeQuestion, slot: Slot, earlier: tuple[object, ...] = ()
    ) -> JudgeVote | None:
        """The stored vote, or None with its call counted."""
        backend = self.job.judges[SLOTS.index(slot)]
        stage = self.judge[backend.spec.name]
        stage.planned += 1
        request = self._judge_request(question, slot, earlier)
        found = self._stored(backend, request)
        if found is not None:
            reading = read_judgment(question, found)
            if reading.outcome == "unreadable":
                again = repair_request(question, request, found, reading.problem or "not_json")
                found = self._stored(backend, again)
                if found is None:
                    self._call(stage, backend, again, question.output_tokens)
                    return None
                reading = read_judgment(question, found)
            stage.stored += 1
            return JudgeVote(slot, backend.spec.name, reading.outcome, reading.value)
        self._call(stage, backend, request, question.output_tokens, may_repair=True)
        return None

    def _perhaps_third(self, question: JudgeQuestion) -> None:
        backend = self.job.judges[2]
        request = self._judge_request(question, "third", ())
        self._most(self.judge[backend.spec.name], backend, request, 2)

    def _unknown_judging(self, item: AuditItem, words: int) -> None:
        """Judges on an answer that is not there yet: two would be asked, and perhaps a third."""
        job = self.job
        text = "word " * words
        question = job.audit.question(
            item, text, Reading("unclassified", {}, "assumed"), job.options
        )
        if question is None:
            return
        for slot in SLOTS[: len(job.judges)]:
            backend = job.judges[SLOTS.index(slot)]
            stage = self.judge[backend.spec.name]
            request = self._judge_request(question, slot, ())
            if slot == "third":
                self._most(stage, backend, request, 2)
                continue
            stage.planned += 1
            stage.calls += 1
            self._most(stage, backend, request, 2)
            stage.likely_usd = self._plus_likely(
                stage.likely_usd, backend, request, question.output_tokens
            )

    def _judge_request(
        self, question: JudgeQuestion, slot: Slot, earlier: tuple[object, ...]
    ) -> Request:
        backend = self.job.judges[SLOTS.index(slot)]
        return judge_request(
            question,
            backend,
            secret=self.job.ledger.secret,
            rung=self._rung(backend) or "json_schema",
            repeat=earlier_askings(self.job.judges, slot),
            earlier=earlier,  # type: ignore[arg-type]
        )

    def _stored(self, backend: Backend, request: Request) -> Reply | None:
        if self._rung(backend) is None:
            return None
        key = request.key()
        return self.job.ledger.lookup([key]).get(key)

    def _rung(self, backend: Backend) -> Rung | None:
        if backend.spec.structured != "auto":
            return backend.spec.structured
        learned = self.job.ledger.capability(backend.spec.identity)
        return learned if learned in LADDER else None

    def _call(
        self,
        stage: StageEstimate,
        backend: Backend,
        request: Request,
        output_tokens: int,
        *,
        may_repair: bool = False,
    ) -> None:
        """A call to send, unless the very same one is to be sent anyway."""
        key = request.key()
        if key in self.counted:
            return
        self.counted.add(key)
        stage.calls += 1
        stage.likely_usd = self._plus_likely(stage.likely_usd, backend, request, output_tokens)
        self._most(stage, backend, request, 2 if may_repair else 1)

    def _most(self, stage: StageEstimate, backend: Backend, request: Request, times: int) -> None:
        stage.most_calls += times
        worst = worst_usd(backend, request)
        most = stage.most_usd
        stage.most_usd = None if worst is None or most is None else most + times * worst

    def _plus_likely(
        self, total: float | None, backend: Backend, request: Request, output_tokens: int
    ) -> float | None:
        characters = sum(len(message["content"]) for message in request.messages)
        tokens = round(characters * self.rates[backend.spec.name])
        cost = backend.likely_cost(tokens, min(output_tokens, backend.spec.max_tokens))
        return None if cost is None or total is None else total + cost

    def _rate(self, backend: Backend) -> float:
        """Tokens a character, by the model's tokenizer on a sample of the prompts."""
        text = "\n".join(item.prompt for item in _some(self.job))
        return backend.likely_tokens(text) / len(text) if text else 0.25


def _some(job: AuditJob) -> Iterator[AuditItem]:
    return islice(job.plan.items(), _SAMPLE)
