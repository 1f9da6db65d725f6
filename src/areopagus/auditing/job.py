"""An audit as a job: ask, read by rule, let judges classify the rest, estimate, report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from ..access import require_access
from ..asking import Wording
from ..audits.answers_table import (
    ANSWERS_FILE,
    OWN_COLUMNS,
    VOTES_FILE,
    AnswersTable,
    ColumnKind,
)
from ..audits.definition import Audit
from ..audits.registry import find_audit, folder_of
from ..cap_stop import CapStop
from ..errors import InputError
from ..graphs.adjudication import Ruling
from ..job import default_folder
from ..judges.models.backend import Backend, BackendSpec
from ..judges.models.client import Desk
from ..records.ledger import Ledger
from ..respond_protocol import Protocol
from ..staged import StagedJob, StageProgress
from ..text_lines import units
from .models import judges_from, settings_of, targets_from
from .options import read_options
from .planned import plan_items
from .run import AUDIT_FILE, TEXT_FILE, AuditRun
from .supplied import SuppliedAnswers

_ASKED_FILE = f".{ANSWERS_FILE}.asked"
_PARTS = (ANSWERS_FILE, VOTES_FILE, AUDIT_FILE, TEXT_FILE)


class AuditJob(StagedJob):
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
        on_progress: Callable[[StageProgress], None] | None = None,
    ) -> None:
        """Checks everything that can be checked offline; see `areopagus.audit`.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
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
            self.targets = self.audit.targets(targets_from(targets, protocol), self.options)
            identity["targets"] = settings_of(self.targets)
        self.stages = ("read" if self.supplied else "ask", *(["classify"] * bool(self.judges)))
        try:
            super().__init__(
                out=out or default_folder(f"audit-{self.audit.name}", identity),
                identity=identity,
                resume=resume,
                max_cost=max_cost,
                on_progress=on_progress,
            )
        except BaseException:
            if self.supplied is not None:
                self.supplied.close()
            raise
        self._given_ledger = ledger
        self._ledger: Ledger | None = ledger if isinstance(ledger, Ledger) else None
        self._statuses: Counter[str] = Counter()
        self._rulings: Counter[str] = Counter()
        self._votes: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._over_budget = False
        self._unasked = self._unheard = 0

    @property
    def ledger(self) -> Ledger:
        """The store of calls; opened when first used."""
        if self._ledger is None:
            given = self._given_ledger
            self._ledger = given if isinstance(given, Ledger) else Ledger.open(given)
        return self._ledger

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

    async def require_access(self, desk: Desk) -> None:
        """Raises what keeps any backend from being asked, unless nothing is wanted of it."""
        from .estimate import calls_left

        backends = (*self.targets, *self.judges)
        capped = desk.budget.cap is not None
        try:
            await require_access(backends, lambda _: False, capped=capped)
        except InputError:
            # What the ledger holds needs no endpoint; only now is it worth while to look.
            left = calls_left(self)
            await require_access(
                backends, lambda backend: not left.get(backend.spec.name), capped=capped
            )

    async def run_stages(self, desk: Desk) -> AnswersTable:
        """Asks, reads, classifies; every planned asking is a row of the table at the end."""
        self._sweep()
        asked = self.path / (_ASKED_FILE if self.judges else ANSWERS_FILE)
        await self._ask(desk, asked)
        if self.judges:
            await self._classify(desk, asked)
        else:
            (self.path / VOTES_FILE).unlink(missing_ok=True)
        return AnswersTable(self.path, self.target_names)

    def finished(self, result: AnswersTable) -> AuditRun:
        """Estimates, writes the report, and returns the run."""
        from .outputs import write_outputs

        write_outputs(self, result)
        return AuditRun(self.path)

    def _sweep(self) -> None:
        """Removes what stood between two stages, and what a killed process left half written."""
        for name in (*_PARTS, *self.audit.table_files):
            for pattern in (f".{name}.*", f"..{name}.*"):
                for part in self.path.glob(pattern):
                    part.unlink(missing_ok=True)

    async def _ask(self, desk: Desk, out: Path) -> None:
        from .asking_stage import answer_row, answers, read_by_rule
        from .table_writer import written_rows

        stage = self.stages[0]
        self.begin(stage, total=self.n_askings, unit="answers")
        by_answer: Counter[str] = Counter()
        with written_rows(out, self.columns) as writer:
            async with aclosing(answers(self, desk)) as found:
                async for item, target, repeat, answer in found:
                    reading = read_by_rule(self, item, answer)
                    row = answer_row(item, target, repeat, answer, reading)
                    writer.write(row)
                    by_answer[answer.status] += 1
                    if answer.fault is not None:
                        self._faults[answer.fault] += 1
                    if answer.status == "not_asked":
                        self._unasked += 1
                        self._over_budget |= answer.reason == "budget"
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

    async def _classify(self, desk: Desk, asked: Path) -> None:
        from .judging_stage import judge_all
        from .rows import read_rows

        self.begin("classify", total=self.n_askings, unit="answers")
        await judge_all(self, desk, read_rows(asked), self.path / ANSWERS_FILE)
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
            self._over_budget = True

    def stopped_by_budget(self) -> bool:
        """Whether the cost cap left something out, in any stage."""
        return self._over_budget

    @property
    def cap_stop(self) -> CapStop | None:
        """What the cost cap left out; None where it left out nothing."""
        cap = self._budget.cap
        if not self._over_budget or cap is None:
            return None
        unheard = f"judges not heard on {units(self._unheard, 'answer')}" if self._unheard else ""
        asked = self.n_askings - self._unasked
        verb = "asked for" if self.supplied is None else "supplied"
        return CapStop(cap, self.n_askings, asked, "answers", verb, unheard)

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
        """Closes what the job has opened."""
        if self.supplied is not None:
            self.supplied.close()
        for backend in (*self.targets, *self.judges):
            await backend.close()
        if self._ledger is not None and not isinstance(self._given_ledger, Ledger):
            self._ledger.close()
            self._ledger = None


def _identity(spec: BackendSpec) -> tuple[str, str]:
    return spec.model, spec.api_base or ""
