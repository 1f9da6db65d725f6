"""A finished (or interrupted) audit: its folder, its estimates, its report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar, Final

from ..audits.answers_table import ANSWERS_FILE, AnswersTable
from ..audits.audit import Audit
from ..audits.definition import Definition, People
from ..audits.registry import find_audit, read_options
from ..formats import words
from ..graphs.adjudication import JudgeQuestion
from ..records.estimates import Estimates
from ..records.readings import MachineReading, Rate, Readings
from ..reports.document import Column, Document, Entry, Records, View
from ..run import JobRun
from .classify import case_of

MOST_RECORDS: Final = 5_000
"""Answers that the page carries; answers.parquet holds all."""


class AuditRun(JobRun):
    """The folder of an audit, read."""

    kind: ClassVar[str] = "audit"

    @property
    def targets(self) -> tuple[str, ...]:
        """The models under test, or the respondents."""
        return tuple(self.record["targets"])

    @property
    def answers(self) -> AnswersTable:
        """One row a planned asking, whatever became of it."""
        return AnswersTable(self.path, self.targets)

    @property
    def statuses(self) -> dict[str, int]:
        """Status to number of askings."""
        return dict(self.record["stages"].get("statuses", {}))

    @property
    def definition(self) -> Definition:
        """What was audited, as run.json has it."""
        return Definition.model_validate(self.record["audit"])

    @property
    def known_audit(self) -> tuple[Audit[Any], Any] | None:
        """The audit and its options; None where it did not come with the package."""
        if not self.record["is_builtin"]:
            return None
        identity = self.record["identity"]
        audit = find_audit(str(identity["audit"]))
        return audit, read_options(audit, identity["options"])

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside.

        A target's refusal is a finding of an audit, and so is an answer that no rule decides where
        nobody was to judge; they are no trouble.
        """
        if self.state == "budget":
            return 4
        statuses = self.statuses
        troubled = sum(statuses.get(name, 0) for name in ("failed", "empty", "unreadable"))
        classify = self.record["stages"].get("classify", {})
        troubled += classify.get("rulings", {}).get("unresolved", 0)
        return 3 if troubled else 0

    def document(self) -> Document:
        """What is shown of the audit."""
        from ..audits.document import document

        definition = self.definition
        records = self._records(definition)
        return self.checked(document(definition, self.record, self.estimates, records=records))

    def readings(self) -> tuple[Readings, ...]:
        """The columns that the definition says people can check, of every answer with a value."""
        definition = self.definition
        if not definition.for_people or not (self.path / ANSWERS_FILE).is_file():
            return ()
        return audit_readings(definition, self.answers, self.known_audit)

    def _records(self, definition: Definition) -> tuple[Records, ...]:
        """Prompt and answer behind every figure, the first `MOST_RECORDS` of them."""
        if not (self.path / ANSWERS_FILE).is_file():
            return ()
        names = [
            "target", *definition.item_columns, *definition.value_columns, "status", "by", "reason",
        ]  # fmt: skip
        rows: list[list[Any]] = []
        entries: list[Entry] = []
        shown = self.answers.rows(*names, "item_id", "prompt_text", "response_text")
        for row in islice(shown, MOST_RECORDS):
            rows.append([row["item_id"], *(_told(row[name]) for name in names)])
            entries.append(Entry([row["prompt_text"], row["response_text"]], []))
        if not rows:
            return ()
        # A choice is offered of what few rows do not tell apart.
        filters = [k for k in range(1, 1 + len(names)) if 1 < len({row[k] for row in rows}) <= 60]
        return (
            Records(
                name="answer",
                caption="What was asked and answered; the first cell of a row opens both. Choose a "
                "model and a group above to read what stands behind a figure.",
                label="Answers",
                columns=[Column("prompt", "id")]
                + [Column({"target": "model"}.get(name, name.replace("_", " "))) for name in names],
                rows=rows,
                filters=filters,
                view=View(
                    texts=["Prompt", "Answer"], judge_columns=[], judges=[], scores=[],
                    scale=(0.0, 1.0), entries=entries,
                ),
                left_out=self.answers.n_rows - len(rows),
                file=ANSWERS_FILE,
            ),
        )  # fmt: skip


def audit_readings(
    definition: Definition, answers: AnswersTable, known: tuple[Audit[Any], Any] | None = None
) -> tuple[Readings, ...]:
    """What an audit has read in its answers, for people to check; nothing where it names nothing.

    Args:
        definition: of the audit.
        answers: of the run.
        known: the audit and its options, which know what judges are shown of an answer; without
            them people see prompt and answer.
    """
    asked = definition.for_people
    if len(asked) > 1:  # a column without a value, as that of judges who were not asked, is none
        asked = tuple(
            one for one in asked
            if any(row[one.of] is not None for row in answers.rows(one.of))
        )  # fmt: skip
    return tuple(_people_readings(definition, answers, one, known) for one in asked)


def _people_readings(
    definition: Definition,
    answers: AnswersTable,
    people: People,
    known: tuple[Audit[Any], Any] | None,
) -> Readings:
    of = people.of
    categories = people.categories or next(
        (dict.fromkeys(one.levels, "") for one in definition.agreement.values() if one.of == of), {}
    )
    rates = [
        Rate(
            one.title, frozenset(people.rates.get(name, one.values)),
            frozenset(people.among.get(name, ())),
        )
        for name, one in definition.outcomes.items()
        if name in people.rates or (one.of == of and one.values and not one.among)
    ]  # fmt: skip
    for shares in definition.shares.values():
        if shares.of == of:
            rates += [Rate(title, frozenset([level])) for level, title in shares.levels.items()]
    if not categories:
        rates.append(Rate(f"mean {words(of)}"))
    is_judged = people.shown == "judged" and known is not None
    item_columns = ("item_id", definition.unit)

    def rows() -> Iterator[MachineReading]:
        from ..audits.estimate import merged_units

        frame = answers.frame(item_columns, with_prompts=True)
        clusters = merged_units(frame, definition.unit)
        # all columns where the audit is asked what judges see, for it may look at any
        names = () if is_judged else ("prompt_text", "response_text", "target", "status", of)
        for cluster, row in zip(clusters, answers.rows(*names), strict=True):
            label = row[of]
            if label is None and people.other and row["status"] == "classified":
                label = people.other
            if label is None or not row["response_text"]:
                continue
            shown: tuple[str, ...] = (row["prompt_text"], row["response_text"])
            if is_judged and known is not None:
                shown = _shown_to_judges(*known, row) or shown
            yield MachineReading(shown, str(label), cluster, (row["target"],))

    columns: tuple[str, ...] = ("prompt_text", "response_text")
    if is_judged and known is not None:
        columns = _judged_columns(*known, answers) or columns
    return Readings(
        people.question, categories, columns, definition.unit_word, ("respondent",), tuple(rates),
        rows, people.name or (words(of) if len(definition.for_people) > 1 else ""), people.sheet,
    )  # fmt: skip


def _question(audit: Audit[Any], options: Any, row: dict[str, Any]) -> JudgeQuestion | None:
    """What judges are asked of an answer, also where a rule has read it."""
    return case_of(audit, options, {**row, "status": "unclassified"}).question


def _shown_to_judges(audit: Audit[Any], options: Any, row: dict[str, Any]) -> tuple[str, ...]:
    asked = _question(audit, options, row)
    return () if asked is None else tuple(asked.texts.values())


def _judged_columns(audit: Audit[Any], options: Any, answers: AnswersTable) -> tuple[str, ...]:
    """What the texts are called, by the first answer that has some."""
    row = next((row for row in answers.rows() if row["response_text"]), None)
    asked = None if row is None else _question(audit, options, row)
    return () if asked is None else tuple(f"{name.lower()}_text" for name in asked.texts)


def estimated(audit: Audit[Any], options: Any, answers: AnswersTable) -> Estimates:
    """The estimates of an audit's answers: those of its definition, and its own after them."""
    found = estimated_by_definition(audit.defined(options), answers, answers.votes())
    own = audit.own_estimates(answers, options)
    if own is not None:
        found.extend(own)
    return found


def estimated_by_definition(
    definition: Definition, answers: AnswersTable, votes: Iterable[Mapping[str, Any]] = ()
) -> Estimates:
    """The estimates that a definition names."""
    from ..audits.estimate import columns_of, estimate, status_counts

    if not definition.reads_answers:
        # There may be millions of answers, of which nothing but their class asks anything.
        return status_counts(answers.counts())
    frame = answers.frame(columns_of(definition), with_prompts=True)
    return estimate(definition, frame, answers.targets, votes=votes)


def _told(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value
