"""An audit as a job: ask, read by rules, have the rest judged, estimate, write.

Its dry run reads what the ledger holds: a stored answer is read by the rules and goes to the judges
only where they would be asked; of what is not there yet it assumes that judges are needed.
"""

from __future__ import annotations

import asyncio
import json
import textwrap
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..async_runner import ordered_map
from ..audits.answers_table import (
    ANSWERS_FILE,
    OWN_COLUMNS,
    VOTE_COLUMNS,
    VOTES_FILE,
    AnswersTable,
    ColumnKind,
)
from ..audits.definition import ANSWER_STATUSES, Audit, AuditItem, Reading
from ..audits.registry import find_audit, folder_of
from ..errors import InputError
from ..experiment.ask import (
    ModelAnswer,
    Protocol,
    Question,
    Wording,
    ask_each,
    read_answer,
    targets_from,
)
from ..experiment.backends import known_response_format, settings_of
from ..experiment.config import InputConfig
from ..experiment.cost_cap import CapStop, cap_notices
from ..experiment.dry_run import DryRun, StageCost
from ..experiment.job import Job, Progress
from ..formats import units
from ..graphs.adjudication import (
    SLOTS,
    JudgeQuestion,
    JudgeVote,
    Ruling,
    Slot,
    earlier_askings,
    judge_question,
    ruling_of,
)
from ..judges.models.backend import OFFLINE_RESPONDENT, Backend, BackendSpec
from ..judges.models.budget import worst_usd
from ..judges.models.client import Client
from ..judges.models.request import Request
from ..judges.parse import parse
from ..judges.structured import Question as ModelQuestion
from ..number import WIDTH, as_json, heading, table
from ..records.ledger import Ledger
from ..records.run_folder import REPORT_FILE, read_run_file, replaced
from ..records.types import Reply
from .models import judges_from
from .options import read_options
from .page import AuditPage, demonstration, write_audit_page
from .planned import Plan, plan_items
from .run import AUDIT_FILE, FIGURES_FOLDER, TEXT_FILE, AuditRun
from .supplied import SuppliedAnswers
from .table_writer import RowWriter, written_rows


async def answers(
    job: AuditJob, client: Client
) -> AsyncGenerator[tuple[AuditItem, str, int, ModelAnswer], None]:
    """Item, target, repeat and answer of everything planned, in order.

    Raises:
        StoreError: the ledger cannot be written.
    """
    if job.supplied is not None:
        for item, repeat in job.plan.askings():
            for name in job.target_names:
                yield item, name, repeat, job.supplied.answer(item.item_id, name, repeat)
        return
    asked = questions(job, job.plan)
    async with aclosing(ask_each(asked, client, job.wording, job.targets)) as found:
        async for question, answer in found:
            yield question.item, question.backend.spec.name, question.repeat, answer


def questions(job: AuditJob, plan: Plan) -> Iterator[Question[AuditItem]]:
    """Every asking of every target."""
    for item, repeat in plan.askings():
        for backend in job.targets:
            yield Question(item, item.prompt, backend, repeat)


def read_by_rule(job: AuditJob, item: AuditItem, answer: ModelAnswer) -> Reading | None:
    """What rules make of the answer; None where there is no reply to read."""
    if answer.status in ("failed", "not_asked"):
        return None
    return job.audit.read(item, answer, job.options)


def answer_row(
    item: AuditItem, target: str, repeat: int, answer: ModelAnswer, reading: Reading | None
) -> dict[str, Any]:
    """The row of an answer that no judge has seen yet."""
    status = reading.status if reading is not None else answer.status
    reason = reading.reason if reading is not None else answer.reason
    return {
        **item.fields,
        **(reading.values if reading is not None else {}),
        "item_id": item.item_id,
        "unit": item.cluster,
        "target": target,
        "repeat": repeat,
        "prompt_text": item.prompt,
        "response_text": answer.text if reading is not None else None,
        "status": status,
        "by": "rule" if status == "classified" else "",
        "reason": reason,
        "is_cut_off": answer.is_cut_off,
        "finish_reason": answer.finish_reason,
        "answered_by": answer.answered_by,
        "input_tokens": answer.usage.input_tokens,
        "output_tokens": answer.usage.output_tokens,
        "cost_usd": answer.cost_usd,
        "judging": "",
        "judge_calls": 0,
        "judge_cost_usd": 0.0,
    }


@dataclass(frozen=True, slots=True)
class Case:
    """One row on its way through the stage, with what judges are asked about it."""

    row: dict[str, Any]
    item: AuditItem
    reading: Reading
    question: JudgeQuestion | None


async def judge_all(
    job: AuditJob, client: Client, rows: Iterator[dict[str, Any]], out: Path
) -> None:
    """Writes the table anew with the judges' classifications, and the table of their votes.

    Raises:
        StoreError: the ledger or the folder cannot be written.
    """
    from ..graphs.adjudication import adjudicate

    alone = asyncio.Lock()
    is_first = client.budget.cap is not None

    async def hear(case: Case) -> Ruling | None:
        nonlocal is_first
        if case.question is None:
            return None
        if is_first:
            # Under a cap the first ruling also finds out how the judges take structured output:
            # only then can the money for two votes be set aside together.
            async with alone:
                if is_first:
                    try:
                        return await adjudicate(client, case.question, job.judges)
                    finally:
                        is_first = False
        return await adjudicate(client, case.question, job.judges)

    at_once = min(sum(backend.spec.concurrency for backend in job.judges) + 4, 256)
    cases = (case_of(job, row) for row in rows)
    with (
        written_rows(out, job.columns) as writer,
        written_rows(job.path / VOTES_FILE, VOTE_COLUMNS) as votes,
    ):
        async with aclosing(ordered_map(cases, hear, at_once=at_once)) as heard:
            async for case, ruling in heard:
                row = case.row
                if ruling is not None:
                    row = ruled_row(job.audit, job.options, case, ruling)
                    write_votes(votes, row, ruling)
                    job.count_ruling(ruling)
                writer.write(row)
                job.count(row)


def case_of(job: AuditJob, row: dict[str, Any]) -> Case:
    """The row with the question that judges are asked about it, if there is one."""
    audit = job.audit
    item = AuditItem(
        row["item_id"],
        row["prompt_text"],
        {name: row[name] for name in audit.item_columns},
        row["unit"],
    )
    values = {name: row[name] for name in audit.value_columns if row[name] is not None}
    reading = Reading(row["status"], values, row["reason"])
    question = None
    if row["status"] == "unclassified":
        question = audit.question(item, row["response_text"], reading, job.options)
    return Case(row, item, reading, question)


def ruled_row(audit: Audit[Any], options: Any, case: Case, ruling: Ruling) -> dict[str, Any]:
    """The row after the judges."""
    row = case.row
    status, reason, by = "unclassified", ruling.reason, ""
    values: dict[str, Any] = dict(case.reading.values)
    if ruling.outcome == "not_asked":
        # The target's answer is there; only its classification was not paid for.
        reason = f"judges not asked: {ruling.reason}"
    else:
        reading = audit.ruled(case.item, row["response_text"], case.reading, ruling, options)
        status, values = reading.status, dict(reading.values)
        reason = reading.reason or (ruling.reason if status != "classified" else "")
        by = "judges" if status == "classified" else ""
    costs = [vote.cost_usd for vote in ruling.votes]
    return {
        **{name: item for name, item in row.items() if name not in audit.value_columns},
        **values,
        "status": status,
        "by": by,
        "reason": reason,
        "judging": ruling.outcome,
        "judge_calls": sum(vote.calls for vote in ruling.votes),
        "judge_cost_usd": None if None in costs else sum(cost or 0.0 for cost in costs),
    }


def write_votes(votes: RowWriter, row: dict[str, Any], ruling: Ruling) -> None:
    """One row a vote."""
    for vote in ruling.votes:
        votes.write(
            {
                **{name: row[name] for name in ("item_id", "unit", "target", "repeat")},
                "slot": vote.slot,
                "model": vote.model,
                "status": vote.status,
                "detail": vote.detail,
                "value": json.dumps(dict(vote.value), ensure_ascii=False) if vote.value else None,
                "calls": vote.calls,
                "cost_usd": vote.cost_usd,
            }
        )


_SAMPLE = 50
_WORDS_TO_TOKENS = 4 / 3


class _DryRun:
    def __init__(self, job: AuditJob) -> None:
        self.job = job
        self.ask = {b.spec.name: StageCost("ask", b.spec.name) for b in job.targets}
        self.judge = {b.spec.name: StageCost("classify", b.spec.name) for b in job.judges}
        self.rates = {b.spec.name: self._rate(b) for b in (*job.targets, *job.judges)}
        self.counted: set[str] = set()

    def stages(self) -> list[StageCost]:
        """Every stage and backend, after going through everything planned."""
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
        self,
        question: JudgeQuestion,
        slot: Slot,
        earlier: tuple[Mapping[str, Any], ...] = (),
    ) -> JudgeVote | None:
        """The stored vote, or None with its call counted."""
        backend = self.job.judges[SLOTS.index(slot)]
        stage = self.judge[backend.spec.name]
        stage.planned += 1
        asked = self._asked(question, slot, earlier)
        form = known_response_format(self.job.ledger, backend) or "json_schema"
        request = asked.request(backend, form)
        found = self._stored(backend, request)
        if found is not None:
            parsed = parse(found, asked.schema, judged=asked.shown)
            if parsed.outcome == "unreadable":
                again = asked.repaired(found.text, parsed.problem or "not_json")
                repair = again.request(backend, form)
                found = self._stored(backend, repair)
                if found is None:
                    self._call(stage, backend, repair, question.output_tokens)
                    return None
                parsed = parse(found, asked.schema, judged=asked.shown)
            stage.stored += 1
            return JudgeVote(slot, backend.spec.name, parsed.outcome, parsed.value or {})
        self._call(stage, backend, request, question.output_tokens, may_repair=True)
        return None

    def _perhaps_third(self, question: JudgeQuestion) -> None:
        backend = self.job.judges[2]
        request = self._judge_request(question, "third")
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
            request = self._judge_request(question, slot)
            if slot == "third":
                self._most(stage, backend, request, 2)
                continue
            stage.planned += 1
            stage.calls += 1
            self._most(stage, backend, request, 2)
            stage.likely_usd = self._plus_likely(
                stage.likely_usd, backend, request, question.output_tokens
            )

    def _judge_request(self, question: JudgeQuestion, slot: Slot) -> Request:
        backend = self.job.judges[SLOTS.index(slot)]
        form = known_response_format(self.job.ledger, backend) or "json_schema"
        return self._asked(question, slot).request(backend, form)

    def _asked(
        self, question: JudgeQuestion, slot: Slot, earlier: tuple[Mapping[str, Any], ...] = ()
    ) -> ModelQuestion[dict[str, Any]]:
        return judge_question(
            question,
            secret=self.job.ledger.secret,
            repeat=earlier_askings(self.job.judges, slot),
            earlier=earlier,
        )

    def _stored(self, backend: Backend, request: Request) -> Reply | None:
        if known_response_format(self.job.ledger, backend) is None:
            return None
        key = request.key()
        return self.job.ledger.lookup([key]).get(key)

    def _call(
        self,
        stage: StageCost,
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

    def _most(self, stage: StageCost, backend: Backend, request: Request, times: int) -> None:
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


def write_outputs(job: AuditJob, answers: AnswersTable) -> Any:
    """Estimates, and writes audit.json, audit.txt, the pictures and report.html.

    Raises:
        StoreError: the folder cannot be written.
    """
    audit, options = job.audit, job.options
    figures = audit.estimate(answers, options)
    audit.write_tables(answers, options)
    counts = answers.counts()
    plain = {
        "audit": audit.name,
        "title": audit.title,
        "source": audit.source,
        "warning": audit.warning,
        "demonstration": job.is_demonstration,
        "options": options.model_dump(mode="json"),
        "items": {"n": job.plan.n_items, "units": job.plan.n_units, "unit": audit.unit_name},
        "repeats": job.plan.repeats,
        "targets": list(job.target_names),
        "judges": [backend.spec.name for backend in job.judges],
        "notices": list(job.notices),
        "cost_cap": None if job.cap_stop is None else job.cap_stop.to_json(),
        "counts": {
            name: {status: found.get(status, 0) for status in ANSWER_STATUSES}
            for name, found in counts.items()
        },
        "judging": job.outcome.get("classify"),
        "figures": as_json(figures),
    }
    _write(job.path / AUDIT_FILE, json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False))
    body = audit.lines(figures, options)
    lines = [*head_lines(job, counts), *body]
    pictures = draw(job, figures)
    _write(job.path / TEXT_FILE, "\n".join(lines))
    write_audit_page(
        job.path / REPORT_FILE,
        AuditPage(
            audit=audit,
            options=options,
            figures=figures,
            counts=counts,
            pictures=pictures,
            pictures_folder=job.path / FIGURES_FOLDER,
            notices=(*cap_notices(plain), *job.notices),
            stand_ins=stand_ins(job) if job.is_demonstration else (),
            record=read_run_file(job.path, kind=job.kind),
        ),
    )
    return figures


def head_lines(job: AuditJob, counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Title, warnings, and what became of the askings, by target."""
    audit, plan = job.audit, job.plan
    lines = []
    if job.is_demonstration:
        lines += [*textwrap.wrap(f"DEMONSTRATION: {demonstration(stand_ins(job))}", WIDTH), ""]
    if (stop := job.cap_stop) is not None:
        lines += [*stop.lines(WIDTH), ""]
    lines += [audit.title, "=" * min(len(audit.title), WIDTH)]
    if audit.source:
        lines += textwrap.wrap(f"After {audit.source}", WIDTH)
    asked = f"{units(plan.n_items, 'prompt')} of {units(plan.n_units, audit.unit_name)}"
    asked += f", {plan.n_askings:,} askings a target" if plan.n_askings != plan.n_items else ""
    targets = units(len(counts), "target") if counts else "nobody was asked"
    lines += textwrap.wrap(f"{asked}; {targets}", WIDTH)
    judges = [backend.spec.name for backend in job.judges]
    if audit.takes_judges and counts:
        lines += textwrap.wrap(f"Judges: {', '.join(judges) or 'none, rules alone'}", WIDTH)
    for notice in job.notices:
        lines += textwrap.wrap(f"Note: {notice}", WIDTH, subsequent_indent="  ")
    if not counts:  # answers that the audit's own options bring
        return lines
    lines += heading("What became of the askings")
    used = [name for name in ANSWER_STATUSES if any(found.get(name) for found in counts.values())]
    header, rows = _count_table(counts, used)
    lines += table(header, rows)
    return lines


def draw(job: AuditJob, figures: Any) -> list[tuple[str, str]]:
    """Draws the audit's pictures; returns the name and the caption of each."""
    return list(job.audit.draw(job.path / FIGURES_FOLDER, figures, job.options))


def _count_table(
    counts: Mapping[str, Mapping[str, int]], used: Sequence[str]
) -> tuple[list[str], list[list[str]]]:
    header = ["target", "planned", *(_words(name) for name in used)]
    rows = [
        [name, f"{sum(found.values()):,}", *(f"{found.get(status, 0):,}" for status in used)]
        for name, found in counts.items()
    ]
    return header, rows


def stand_ins(job: AuditJob) -> tuple[str, ...]:
    """The embedded targets."""
    return tuple(sorted({b.spec.model for b in job.targets if b.spec.is_offline}))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _write(path: Path, text: str) -> None:
    with replaced(path) as part:
        part.write_text(text + "\n", encoding="utf-8")


_ASKED_FILE = f".{ANSWERS_FILE}.asked"
_PARTS = (ANSWERS_FILE, VOTES_FILE, AUDIT_FILE, TEXT_FILE)


class AuditJob(Job[AuditRun]):
    """An audit of models that are asked, or of answers that are supplied."""

    kind = "audit"

    def __init__(
        self,
        audit: str | Path | Audit[Any],
        *,
        targets: Any = None,
        judges: Any = None,
        responses: Any = None,
        options: Mapping[str, Any] | None = None,
        repeats: int = 1,
        limit: int | None = None,
        sample: int | None = None,
        seed: int = 0,
        effort: str | None = None,
        columns: Mapping[str, str] | None = None,
        out: str | Path | None = None,
        resume: bool = False,
        ledger: str | Path | Ledger | None = None,
        max_cost: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Checks everything that can be checked offline; see `areopagus.audit`.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        config = InputConfig.checked(
            out=out, resume=resume, max_cost=max_cost, columns=columns, limit=limit
        )
        self.audit = find_audit(audit)
        self.options = read_options(self.audit, options or {})
        self.seed = seed
        if responses is not None and targets:
            raise InputError("responses are supplied, so nobody is asked: leave out targets")
        self.judges: tuple[Backend, ...] = judges_from(judges, self.audit)
        self.plan = plan_items(
            lambda: self.audit.items(self.options),
            repeats=repeats,
            limit=limit,
            sample=sample,
            seed=seed,
        )
        self.supplied: SuppliedAnswers | None = None
        self.targets: tuple[Backend, ...] = ()
        effort = effort or self.audit.effort
        protocol = Protocol(
            effort=None if effort == "none" else effort, max_tokens=self.audit.answer_tokens
        )
        self.wording = Wording(
            protocol,
            template=self.audit.ask_template(self.options),
            labels={"job": "audit", "audit": self.audit.name},
        )
        identity: dict[str, Any] = {
            "kind": self.kind,
            "audit": self.audit.name,
            "options": self.options.model_dump(mode="json"),
            "items_sha256": self.plan.fingerprint,
            "repeats": repeats,
            "judges": settings_of(self.judges),
        }
        if responses is not None:
            most = max(item.repeats for item in self.plan.items()) * repeats
            ids = frozenset(item.item_id for item in self.plan.items())
            self.supplied = SuppliedAnswers(responses, ids, repeats=most, columns=columns)
            identity["responses_sha256"] = self.supplied.fingerprint
        else:
            self.targets = self.audit.targets(
                targets_from(targets or [OFFLINE_RESPONDENT], protocol), self.options
            )
            identity["targets"] = settings_of(self.targets)
        self.stages = ("read" if self.supplied else "ask", *(["classify"] * bool(self.judges)))
        try:
            super().__init__(
                config,
                identity=identity,
                name=f"audit-{self.audit.name}",
                ledger=ledger,
                on_progress=on_progress,
            )
        except BaseException:
            if self.supplied is not None:
                self.supplied.close()
            raise
        self._statuses: Counter[str] = Counter()
        self._rulings: Counter[str] = Counter()
        self._votes: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._unasked = self._unheard = 0

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The models under test, and the judges."""
        return (*self.targets, *self.judges)

    @property
    def target_names(self) -> tuple[str, ...]:
        """The models under test, or the respondents of supplied answers."""
        if self.supplied is not None:
            return self.supplied.respondents
        return tuple(backend.spec.name for backend in self.targets)

    @property
    def n_askings(self) -> int:
        """Rows of the table of answers."""
        return self.plan.n_askings * len(self.target_names)

    @property
    def columns(self) -> dict[str, ColumnKind]:
        """Columns of the table of answers."""
        return {**OWN_COLUMNS, **self.audit.item_columns, **self.audit.value_columns}

    @property
    def is_demonstration(self) -> bool:
        """Whether an embedded stand-in takes part."""
        return any(backend.spec.is_offline for backend in self.targets)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        found = [self.audit.warning] if self.audit.warning else []
        found += self.audit.notices(self.options)
        found += self.supplied.notices if self.supplied is not None else ()
        if self.audit.takes_judges and not self.judges and self.target_names:
            found.append(
                "no judge model: answers that the rules cannot decide stay unclassified "
                "(name judges with --judge)"
            )
        if self.judges and len(self.judges) < 3:
            found.append(
                "one judge: its word stands, and agreement is not measured"
                if len(self.judges) == 1
                else "two judges: where they differ, the answer stays unclassified"
            )
        mine = {_identity(backend.spec) for backend in self.targets}
        found += [
            f"{backend.spec.name} judges its own answers too"
            for backend in self.judges
            if _identity(backend.spec) in mine
        ]
        if len({_identity(backend.spec) for backend in self.judges}) < len(self.judges):
            found.append("two judges are one model: their agreement is no independent one")
        return tuple(found)

    async def dry_run(self) -> DryRun:
        """Calls and cost of every stage and backend."""
        stages = tuple(_DryRun(self).stages())
        if not self.judges:
            return DryRun(stages)
        differ = "every two judges differ, and " if len(self.judges) > 2 else ""
        assumption = (
            f"Answers not there yet are assumed to need judges; at most: {differ}every reply of a "
            "judge has to be repaired."
        )
        return DryRun(stages, (assumption,))

    async def run_stages(self, client: Client) -> AnswersTable:
        """Asks, reads, classifies; every planned asking is a row of the table at the end."""
        self._sweep()
        asked = self.path / (_ASKED_FILE if self.judges else ANSWERS_FILE)
        await self._ask(client, asked)
        if self.judges:
            await self._classify(client, asked)
        else:
            (self.path / VOTES_FILE).unlink(missing_ok=True)
        return AnswersTable(self.path, self.target_names)

    def finished(self, result: AnswersTable) -> AuditRun:
        """Estimates, writes the report, and returns the run."""

        write_outputs(self, result)
        return AuditRun(self.path)

    def _sweep(self) -> None:
        """Removes what stood between two stages, and what a killed process left half written."""
        for name in (*_PARTS, *self.audit.table_files):
            for pattern in (f".{name}.*", f"..{name}.*"):
                for part in self.path.glob(pattern):
                    part.unlink(missing_ok=True)

    async def _ask(self, client: Client, out: Path) -> None:
        from .table_writer import written_rows

        stage = self.stages[0]
        self.begin(stage, total=self.n_askings, unit="answers")
        by_answer: Counter[str] = Counter()
        with written_rows(out, self.columns) as writer:
            async with aclosing(answers(self, client)) as found:
                async for item, target, repeat, answer in found:
                    reading = read_by_rule(self, item, answer)
                    row = answer_row(item, target, repeat, answer, reading)
                    writer.write(row)
                    by_answer[answer.status] += 1
                    if answer.fault is not None:
                        self._faults[answer.fault] += 1
                    if answer.status == "not_asked":
                        self._unasked += 1
                        self.over_budget |= answer.reason == "budget"
                    if self.judges:
                        self.step(is_troubled=answer.status in ("failed", "empty"))
                    else:
                        self.count(row)
        self.outcome[stage] = {
            "planned": self.n_askings,
            **dict(sorted(by_answer.items())),
            "faults": dict(self._faults),
        }
        if not self.judges:
            self.outcome["statuses"] = dict(sorted(self._statuses.items()))

    async def _classify(self, client: Client, asked: Path) -> None:
        from .rows import read_rows

        self.begin("classify", total=self.n_askings, unit="answers")
        await judge_all(self, client, read_rows(asked), self.path / ANSWERS_FILE)
        self._sweep()
        self.outcome["classify"] = {
            "rulings": dict(sorted(self._rulings.items())),
            "votes": dict(sorted(self._votes.items())),
        }
        self.outcome["statuses"] = dict(sorted(self._statuses.items()))

    def count(self, row: Mapping[str, Any]) -> None:
        """Counts a finished row."""
        self._statuses[row["status"]] += 1
        self.step(is_troubled=row["status"] in ("failed", "empty", "unreadable"))

    def count_ruling(self, ruling: Ruling) -> None:
        """Counts what judges came to."""
        self._rulings[ruling.outcome] += 1
        for vote in ruling.votes:
            self._votes[vote.status] += 1
        if any(vote.status == "not_asked" and vote.detail == "budget" for vote in ruling.votes):
            self._unheard += 1
            self.over_budget = True

    @property
    def cap_stop(self) -> CapStop | None:
        """What the cost cap left out; None where it left out nothing."""
        cap = self._budget.cap
        if not self.over_budget or cap is None:
            return None
        not_judged = (
            f"judges not heard on {units(self._unheard, 'answer')}" if self._unheard else ""
        )
        asked = self.n_askings - self._unasked
        verb = "asked for" if self.supplied is None else "supplied"
        return CapStop(cap, self.n_askings, asked, "answers", verb, not_judged)

    def describe(self) -> dict[str, Any]:
        """What run.json says of an audit."""
        folder = folder_of(self.audit)
        return {
            "demonstration": self.is_demonstration,
            "audit": {
                "name": self.audit.name,
                "title": self.audit.title,
                "source": self.audit.source,
                "warning": self.audit.warning,
                # Of an audit of one's own: its report can be written anew from there.
                "folder": None if folder is None else str(folder),
            },
            "notices": list(self.notices),
            "seed": self.seed,
            "items": {
                "n": self.plan.n_items,
                "units": self.plan.n_units,
                "unit": self.audit.unit_name,
                "askings_a_target": self.plan.n_askings,
            },
            "targets": list(self.target_names),
            "judges": [backend.spec.name for backend in self.judges],
            "effective_parameters": {
                backend.spec.name: backend.effective_parameters()
                for backend in (*self.targets, *self.judges)
            },
        }

    async def close(self) -> None:
        """Closes supplied answers too."""
        if self.supplied is not None:
            self.supplied.close()
        await super().close()


def _identity(spec: BackendSpec) -> tuple[str, str]:
    return spec.model, spec.api_base or ""
