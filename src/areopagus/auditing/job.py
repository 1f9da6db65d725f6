"""An audit as a job: plan, ask, read by rules, have the rest judged, estimate."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

from ..audits.answers_table import (
    ANSWERS_FILE,
    OWN_COLUMNS,
    VOTE_COLUMNS,
    VOTES_FILE,
    AnswersTable,
    ColumnKind,
    read_rows,
    written_rows,
)
from ..audits.audit import Audit, AuditItem, AuditOptions
from ..audits.definition import Definition
from ..audits.languages import ENGLISH, LANGUAGES, Language
from ..audits.registry import find_audit, is_builtin, read_options
from ..errors import InputError, InputFault
from ..experiment.ask import ModelAnswer, Protocol, Question, Wording, ask_each, targets_from
from ..experiment.backends import backends_from, repeated_names, settings_of
from ..experiment.config import AuditConfig
from ..experiment.cost_cap import CapStop
from ..experiment.dry_run import DryRun
from ..experiment.job import Job
from ..formats import units
from ..graphs.adjudication import Ruling
from ..judges.models.backend import OFFLINE_RESPONDENT, Backend, BackendSpec
from ..judges.models.client import Client
from ..progress import ESTIMATING, OnProgress, doing
from ..records.estimates import Estimates
from ..records.ledger import Ledger
from .classify import answer_row, case_of, read_by_rule, ruled_row, rulings, write_votes
from .dry_run import AuditDryRun
from .planned import plan_items
from .run import AuditRun, estimated
from .supplied import SuppliedAnswers

NO_JUDGE: Final = "offline/classifier"
"""The embedded classifier: the rules of the audit and nothing else, as when no judge is named."""


def judges_from(models: Any, audit: Audit[Any]) -> tuple[Backend, ...]:
    """The judges, in the order in which they are asked; none where none is named.

    Raises:
        InputError: settings that are none, two of one name, more than three, an embedded model, or
            an audit that judges have nothing to do in.
    """
    from ..judges.factory import backend_of

    if models is None or models in ((), [], NO_JUDGE, (NO_JUDGE,), [NO_JUDGE]):
        return ()
    if not audit.definition.takes_judges:
        raise InputError(
            f"{audit.definition.name}: everything is read by rule; judges have nothing to do"
        )
    backends = backends_from(models, backend_of)
    faults = [
        InputFault(backend.spec.name, "is an embedded model, and none of them can classify")
        for backend in backends
        if backend.spec.is_offline
    ]
    faults += repeated_names(backends)
    if len(backends) > 3:
        rule = f"at most three are asked, two and one who settles; got {len(backends)}"
        faults.append(InputFault("judges", rule))
    if faults:
        raise InputError(faults, hint=f"Without a judge ({NO_JUDGE}) the rules alone classify.")
    return backends


_ASKED_FILE = f".{ANSWERS_FILE}.asked"
_PARTS = (ANSWERS_FILE, VOTES_FILE)


class AuditJob(Job[AuditRun]):
    """An audit of models that are asked, or of answers that are supplied."""

    kind = "audit"
    run_type = AuditRun

    def __init__(
        self,
        audit: str | Path | Audit[Any],
        config: AuditConfig | None = None,
        *,
        options: Mapping[str, Any] | None = None,
        ledger: str | Path | Ledger | None = None,
        on_progress: OnProgress = None,
    ) -> None:
        """Checks everything that can be checked offline; see `areopagus.audit`.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        config = config or AuditConfig()
        self.audit = find_audit(audit)
        self.options = read_options(self.audit, options or {})
        self.language = self.audit.language(self.options)
        self.definition: Definition = self.audit.defined(self.options)
        self.chosen = config
        if config.for_people is not None and not self.definition.for_people:
            raise InputError(f"{self.definition.name}: names no column that people could check")
        if config.responses is not None and config.target:
            raise InputError("responses are supplied, so nobody is asked: leave out targets")
        self.judges: tuple[Backend, ...] = judges_from(config.judges, self.audit)
        if not self.judges and (option := self.audit.needs_judges(self.options)):
            raise InputError(
                f"{self.definition.name}: judges read every answer with `{option}`, and none is "
                "named",
                hint="Name one to three as `judges`, or leave the option out.",
            )
        self.plan = plan_items(
            lambda: self.audit.items(self.options),
            repeats=config.repeats,
            limit=config.limit,
            sample=config.sample,
            seed=config.seed,
        )
        self.supplied: SuppliedAnswers | None = None
        self.targets: tuple[Backend, ...] = ()
        effort = config.effort or self.definition.effort
        protocol = Protocol(
            effort=None if effort == "none" else effort, max_tokens=self.definition.answer_tokens
        )
        self.wording = Wording(
            protocol,
            template=self.audit.ask_template(self.options),
            labels={"job": "audit", "audit": self.definition.name},
        )
        identity: dict[str, Any] = {
            "kind": self.kind,
            "audit": self.definition.name,
            **_options_of(self.options, self.language),
            "items_sha256": self.plan.fingerprint,
            "repeats": config.repeats,
            "judges": settings_of(self.judges),
        }
        if config.responses is not None:
            most = max(item.repeats for item in self.plan.items()) * config.repeats
            ids = frozenset(item.item_id for item in self.plan.items())
            self.supplied = SuppliedAnswers(
                config.responses, ids, repeats=most, columns=config.columns
            )
            identity["responses_sha256"] = self.supplied.fingerprint
        else:
            self.targets = self.audit.targets(
                targets_from(config.target or [OFFLINE_RESPONDENT], protocol), self.options
            )
            identity["targets"] = settings_of(self.targets)
        self.stages = ("read" if self.supplied else "ask", *(["classify"] * bool(self.judges)))
        try:
            super().__init__(
                config,
                identity=identity,
                name=f"audit-{self.definition.name}",
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
        self._unasked = self._unjudged = 0

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
        return {
            **OWN_COLUMNS,
            **self.definition.item_columns,
            **self.definition.value_columns,
        }

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        warning = self.definition.warning
        return (*([warning] if warning else []), *self._notices())

    def _notices(self) -> tuple[str, ...]:
        found = list(self.audit.notices(self.options))
        found += LANGUAGES.hiding([self.language.id])
        if self.language.id != ENGLISH:
            found.append(f"asked in {self.language.label}; its rules read the answers")
        found += self.supplied.notices if self.supplied is not None else ()
        if self.definition.takes_judges and not self.judges and self.target_names:
            found.append(
                "no judge model: answers that the rules cannot decide stay unclassified; `judges` "
                "names one"
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
        return AuditDryRun(
            self.audit, self.options, self.plan, self.wording, self.targets, self.judges,
            self.supplied, self.ledger,
        ).counted()  # fmt: skip

    async def run_stages(self, client: Client) -> Estimates:
        """Asks, reads, classifies, estimates; every planned asking is a row of the answers."""
        self._sweep()
        asked = self.path / (_ASKED_FILE if self.judges else ANSWERS_FILE)
        await self._ask(client, asked)
        if self.judges:
            await self._classify(client, asked)
        else:
            (self.path / VOTES_FILE).unlink(missing_ok=True)
        answers = AnswersTable(self.path, self.target_names)
        self.result = {
            "notices": list(self._notices()),
            "cost_cap": None if self.cap_stop is None else self.cap_stop.to_json(),
            "labels": {
                column: dict(names) for column, names in self.audit.labels(self.options).items()
            },
        }
        self.audit.write_tables(answers, self.options)
        doing(ESTIMATING)
        found = estimated(self.audit, self.options, answers)
        self.result["limitations"] = list(self.audit.limitations(found.frame(), self.options))
        return found

    async def _answers(
        self, client: Client
    ) -> AsyncGenerator[tuple[AuditItem, str, int, ModelAnswer], None]:
        """Item, target, repeat and answer of everything planned, in order."""
        if self.supplied is not None:
            for item, repeat in self.plan.askings():
                for name in self.target_names:
                    yield item, name, repeat, self.supplied.answer(item.item_id, name, repeat)
            return
        async with aclosing(
            ask_each(self._questions(), client, self.wording, self.targets)
        ) as found:
            async for question, answer in found:
                yield question.item, question.backend.spec.name, question.repeat, answer

    def _questions(self) -> Iterator[Question[AuditItem]]:
        """Every asking of every target."""
        for item, repeat in self.plan.askings():
            for backend in self.targets:
                yield Question(item, item.prompt, backend, repeat)

    def _sweep(self) -> None:
        """Removes what stood between two stages, and what a killed process left half written."""
        for name in (*_PARTS, *self.audit.table_files):
            for pattern in (f".{name}.*", f"..{name}.*"):
                for part in self.path.glob(pattern):
                    part.unlink(missing_ok=True)

    async def _ask(self, client: Client, out: Path) -> None:
        stage = self.stages[0]
        self.begin(stage, total=self.n_askings, unit="answers")
        by_answer: Counter[str] = Counter()
        with written_rows(out, self.columns) as writer:
            async with aclosing(self._answers(client)) as found:
                async for item, target, repeat, answer in found:
                    reading = read_by_rule(self.audit, self.options, item, answer)
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
        self.begin("classify", total=self.n_askings, unit="answers")
        cases = (case_of(self.audit, self.options, row) for row in read_rows(asked))
        with (
            written_rows(self.path / ANSWERS_FILE, self.columns) as writer,
            written_rows(self.path / VOTES_FILE, VOTE_COLUMNS) as votes,
        ):
            async with aclosing(rulings(client, cases, self.judges)) as found:
                async for case, ruling in found:
                    row = case.row
                    if ruling is not None and case.question is not None:
                        row = ruled_row(self.audit, self.options, case, ruling)
                        write_votes(votes, row, case.question, ruling)
                        self.count_ruling(ruling)
                    writer.write(row)
                    self.count(row)
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
            self._unjudged += 1
            self.over_budget = True

    @property
    def cap_stop(self) -> CapStop | None:
        """What the cost cap left out; None where it left out nothing."""
        cap = self._budget.cap
        if not self.over_budget or cap is None:
            return None
        not_judged = (
            f"judges not asked about {units(self._unjudged, 'answer')}" if self._unjudged else ""
        )
        asked = self.n_askings - self._unasked
        verb = "asked for" if self.supplied is None else "supplied"
        return CapStop(cap, self.n_askings, asked, "answers", verb, not_judged)

    def describe(self) -> dict[str, Any]:
        """What run.json says of an audit."""
        return {
            "demonstration": self.is_demonstration,
            "audit": self.definition.model_dump(mode="json", exclude_defaults=True),
            "is_builtin": is_builtin(self.audit),
            "seed": self.chosen.seed,
            "items": {
                "n": self.plan.n_items,
                "units": self.plan.n_units,
                "unit": self.definition.asked_together,
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


def _options_of(options: AuditOptions, language: Language) -> dict[str, Any]:
    """The options, and another language than English: folders of earlier versions have none."""
    chosen = options.model_dump(mode="json", exclude={"language"})
    is_named = options.language not in (None, ENGLISH)
    if language.id == ENGLISH and not is_named and LANGUAGES.find(ENGLISH).is_builtin:
        return {"options": chosen}
    named = options.language or language.id
    return {"options": {**chosen, "language": named}, "language_sha256": language.sha256}


def _identity(spec: BackendSpec) -> tuple[str, str]:
    return spec.model, spec.api_base or ""
