"""The `respond` job: target models answer prompts, and their responses become a table."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ..async_runner import run_async, run_stoppable
from ..errors import InputError, InputFault
from ..formats import units
from ..progress import OnProgress
from ..records.estimates import Estimates
from ..records.run_folder import csv_table
from ..records.spreadsheets import carried_names, writable
from ..shown import Shown
from .ask import ModelAnswer, Question, Wording, ask_each, protocol_from, targets_from
from .config import RespondConfig, Track
from .dry_run import DryRun, StageCost
from .job import Job
from .run_record import RunState

if TYPE_CHECKING:
    from ..judges.models.backend import Backend
    from ..judges.models.client import Client
    from ..judges.models.usage import UsageSnapshot
    from ..records.ledger import Ledger
    from ..records.readers.responses import PromptRow, PromptSource
    from ..records.types import Reply
    from ..reports.document import Document


COLUMNS = (
    "response_id",
    "prompt_id",
    "prompt_text",
    "response_text",
    "respondent_id",
    "repeat",
    "status",
    "reason",
    "finish_reason",
    "words",
    "answered_by",
    "input_tokens",
    "output_tokens",
    "cost_usd",
)
"""Columns of the responses table before those that the prompts carried."""


@dataclass(slots=True)
class ResponseCounts:
    """What became of the planned responses; the sum is `planned`.

    `answered` includes what was cut off at the token limit, which is also counted in `cut_off`;
    `empty` are replies without text.
    """

    planned: int = 0
    answered: int = 0
    empty: int = 0
    refused: int = 0
    failed: int = 0
    not_asked: int = 0
    cut_off: int = 0


@dataclass(frozen=True, slots=True)
class RespondResult(Shown):
    """A finished table of responses.

    Attributes:
        path: the table, as `score` reads it.
        counts: what became of the planned responses.
        faults: class of fault to number of failed calls.
        spending: calls and money of this session.
        state: `complete`, `interrupted` or `budget` (the cost cap stopped it).
        is_demonstration: whether an embedded stand-in answered.
        notices: sentences for the user, such as which columns were read as what.
    """

    path: Path
    counts: ResponseCounts
    faults: Mapping[str, int]
    spending: UsageSnapshot
    state: RunState
    is_demonstration: bool = False
    notices: tuple[str, ...] = ()

    @property
    def spent_usd(self) -> float:
        """What calls with a known price have cost in this session."""
        return self.spending.spent_usd

    @property
    def over_budget(self) -> bool:
        """Whether the cost cap did."""
        return self.state == "budget"

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome."""
        if self.over_budget:
            return 4
        return 3 if self.counts.failed or self.counts.refused or self.counts.empty else 0

    @property
    def record(self) -> dict[str, Any]:
        """What run.json says of a job that has a folder: its state, faults and cost."""
        return {"state": self.state, "faults": dict(self.faults), "cost": self.spending.to_json()}

    @property
    def estimates(self) -> Estimates:
        """How many responses there are of each status."""
        found = Estimates()
        for status, number in asdict(self.counts).items():
            found.add("responses", "responses", number, factor="status", group=status)
        return found

    def document(self) -> Document:
        """What is shown: what became of the planned responses."""
        from ..reports.document import Column, Document, Section, Table

        counts = asdict(self.counts)
        planned = units(counts.pop("planned"), "planned response")
        rows = [(name.replace("_", " "), number) for name, number in counts.items()]
        columns = [Column("status"), Column("responses", "count")]
        table = Table("", "What became of the planned responses", columns, rows, is_short=True)
        return Document(
            title="Responses",
            kind="respond",
            headline=[f"{self.counts.answered:,} answered of {planned}."],
            sections=[Section("status", "By status", [table], "summary")],
            is_demonstration=self.is_demonstration,
        )


def answer_cells(answer: ModelAnswer) -> list[Any]:
    """The cells of an answer, from `status` to the last of `COLUMNS`."""
    usage = answer.usage
    is_reply = answer.status in ("answered", "empty", "refused")
    tail = [
        answer.finish_reason or None,
        len(answer.text.split()) if is_reply else None,
        answer.answered_by,
        usage.input_tokens,
        usage.output_tokens,
        answer.cost_usd,
    ]
    return [answer.status, answer.reason, *("" if v is None else v for v in tail)]


def check_target(out: Path) -> None:
    """Refuses a place that no table can be written to, or that holds somebody else's file.

    Raises:
        InputError: with what stands there.
    """
    if out.is_dir():
        raise InputError([InputFault(str(out), "is a folder; name a CSV file to write")])
    if out.suffix.lower() != ".csv":
        raise InputError([InputFault(str(out), "must end in .csv")])
    if not out.parent.is_dir():
        raise InputError([InputFault(str(out.parent), "is not a folder")])
    if out.exists():
        with out.open(encoding="utf-8", errors="replace", newline="") as file:
            if tuple(next(csv.reader(file), ()))[: len(COLUMNS)] != COLUMNS:
                raise InputError(
                    [InputFault(str(out), "exists and is no table of responses of ours")],
                    hint="Nothing was overwritten; choose another name.",
                )


USUAL_WORDS = 500
"""Words of an answer where the protocol names no length."""
_WORDS_TO_TOKENS = 4 / 3


class RespondOptions(TypedDict, total=False):
    """The options of `respond`; see `RespondConfig`."""

    track: Track | None
    effort: str | None
    words: int | None
    repeats: int
    columns: Mapping[str, str] | None
    limit: int | None
    max_cost: float | None
    ledger: str | Path | Ledger | None
    on_progress: OnProgress


def respond(
    prompts: Any,
    targets: Sequence[Any] | Any,
    out: str | Path,
    **options: Unpack[RespondOptions],
) -> RespondResult:
    """Asks every target every prompt and writes the table that `score` reads.

    A KeyboardInterrupt lets what is in flight finish, and is kept in the result.

    Args:
        prompts: a file, a DataFrame or an iterable with prompt_text and optional prompt_id.
        targets: model strings, settings, chat models or backends.
        out: the table to write (CSV); one of an earlier call is replaced when all is asked.
        options: `track`: one of the paper's presets; without one the bare prompt is asked with no
            effort set. `effort`: reasoning effort, instead of the track's; "none" sends none, for
            models that take none. `words`: to aim at, instead of the track's. `repeats`: askings
            of each prompt, as separate responses. `columns`: our column name to theirs. `limit`:
            only the first so many prompts. `max_cost`: US dollars that are not passed. `ledger`: a
            file or an open Ledger; the user's shared one when left out. `on_progress`: as of
            `Panel.score_many`.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the table cannot be written.
    """
    job = respond_job(prompts, targets, out, **options)
    return run_stoppable(job.run(), job.stop)[0]


async def arespond(
    prompts: Any,
    targets: Sequence[Any] | Any,
    out: str | Path,
    **options: Unpack[RespondOptions],
) -> RespondResult:
    """The asynchronous twin of `respond`."""
    return await run_async(respond_job(prompts, targets, out, **options).run())


def respond_job(
    prompts: Any, targets: Any, out: str | Path, **options: Unpack[RespondOptions]
) -> RespondJob:
    """The checked job, for callers that want to hold its handle; see `respond`."""
    ledger = options.pop("ledger", None)
    on_progress = options.pop("on_progress", None)
    config = RespondConfig.checked(out=out, **options)
    return RespondJob(prompts, targets, config, ledger=ledger, on_progress=on_progress)


class RespondJob(Job[RespondResult]):
    """Every target x prompt x repeat, asked once, into a table."""

    kind = "respond"
    stages = ("respond",)

    def __init__(
        self,
        prompts: Any,
        targets: Sequence[Any] | Any,
        config: RespondConfig,
        *,
        ledger: str | Path | Ledger | None = None,
        on_progress: OnProgress = None,
    ) -> None:
        """Checks everything that can be checked offline.

        Args:
            prompts, targets, ledger, on_progress: see `respond`.
            config: with no `out` where `write_to` says it before the job runs.

        Raises:
            InputError: everything wrong with the input.
        """
        from ..records.readers.responses import PromptSource

        self.protocol = protocol_from(config.track, effort=config.effort, words=config.words)
        self.wording = Wording(self.protocol, labels={"track": config.track or "none"})
        self.repeats = config.repeats
        self._targets = targets_from(targets, self.protocol)
        if config.out is not None:
            check_target(Path(config.out))
        self.source: PromptSource = PromptSource(
            prompts, columns=config.columns, limit=config.limit
        )
        self.summary = self.source.check()
        super().__init__(config, identity={}, ledger=ledger, on_progress=on_progress)
        self.n_planned = self.summary.n_responses * len(self._targets) * config.repeats
        self.progress.total = self.n_planned
        self.counts = ResponseCounts(planned=self.n_planned)
        self.faults: dict[str, int] = {}

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The targets."""
        return self._targets

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        return self.summary.notices

    @property
    def asked(self) -> dict[str, Any]:
        """How the targets are asked: part of what makes the run this run."""
        return asdict(self.protocol) | {"repeats": self.repeats}

    @property
    def likely_words(self) -> int:
        """The length asked for, or that of a usual essay."""
        return self.protocol.words or USUAL_WORDS

    def write_to(self, out: Path) -> None:
        """Says where the table is to stand.

        Raises:
            InputError: no table can be written there, or somebody else's file is there.
        """
        check_target(out)
        self.path = out

    def open_folder(self) -> None:
        """None: the table has no run folder of its own."""

    async def dry_run(self) -> DryRun:
        """Calls and cost by target; reasoning is not in what is likely."""
        stages = {
            backend.spec.name: StageCost(
                "respond", backend.spec.name, input_tokens=0, output_tokens=0
            )
            for backend in self._targets
        }
        for question, reply in self.stored_replies():
            backend = question.backend
            stage = stages[backend.spec.name]
            stage.planned += 1
            if reply is not None:
                stage.stored += 1
                continue
            request = self.wording.request(backend, question.prompt, question.repeat)
            stage.add(backend, request, output_tokens=self.likely_words * _WORDS_TO_TOKENS)
        assumption = (
            f"Answers are assumed to have {self.likely_words} words, reasoning apart; at most: all "
            "the tokens they may have."
        )
        return DryRun(tuple(stages.values()), (assumption,))

    def stored_replies(self) -> Iterator[tuple[Question[PromptRow], Reply | None]]:
        """Everything that would be asked, with the reply where the ledger has it."""
        for question in self._questions():
            key = self.wording.request(question.backend, question.prompt, question.repeat).key()
            yield question, self.ledger.lookup([key]).get(key)

    def is_paid(self) -> bool:
        """Whether the ledger holds everything that would be asked."""
        return all(reply is not None for _, reply in self.stored_replies())

    async def run_stages(self, client: Client) -> None:
        """Asks, and writes the table; what failed is a row of it, counted."""
        self.begin("respond", total=self.n_planned, unit="responses")
        carried = self.summary.columns_carried
        with csv_table(self.path, [*COLUMNS, *carried_names(carried, COLUMNS)]) as writer:
            answers = ask_each(self._questions(), client, self.wording, self._targets)
            async with aclosing(answers):
                async for question, answer in answers:
                    extra = question.item.extra
                    rest = ["" if (v := extra.get(name)) is None else v for name in carried]
                    cells = [*self.row_of(question, answer.text).values(), question.repeat]
                    cells += answer_cells(answer)
                    writer.write([writable(cell) for cell in (*cells, *rest)])
                    self._count(answer)
        self.over_budget = self.counts.not_asked > 0 and not client.stopped

    def finished(self, result: None) -> RespondResult:
        """What became of it."""
        return RespondResult(
            self.path, self.counts, self.faults, self.spending, self.state, self.is_demonstration,
            self.notices,
        )  # fmt: skip

    def row_of(self, question: Question[PromptRow], text: str) -> dict[str, str]:
        """An answer as `score` reads it."""
        row, name = question.item, question.backend.spec.name
        suffix = f"#{question.repeat}" if self.repeats > 1 else ""
        return {
            "response_id": f"{row.prompt_id}|{name}{suffix}",
            "prompt_id": row.prompt_id,
            "prompt_text": row.prompt_text,
            "response_text": text,
            "respondent_id": name,
        }

    def describe(self) -> dict[str, Any]:
        """What run.json says of the answers, where they are asked for in a larger run."""
        return {
            "prompts": self.summary.name,
            "counts": asdict(self.counts),
            "faults": dict(self.faults),
            "asked": self.asked,
            "effective_parameters": {
                backend.spec.name: backend.effective_parameters() for backend in self._targets
            },
        }

    async def close(self) -> None:
        """Closes the targets and the prompts."""
        self.source.close()
        await super().close()

    def _questions(self) -> Iterator[Question[PromptRow]]:
        for row in self.source.rows():
            for backend in self._targets:
                for repeat in range(self.repeats):
                    yield Question(row, row.prompt_text, backend, repeat)

    def _count(self, answer: ModelAnswer) -> None:
        counts = self.counts
        setattr(counts, answer.status, getattr(counts, answer.status) + 1)
        counts.cut_off += answer.is_cut_off
        if answer.fault is not None:
            self.faults[answer.fault] = self.faults.get(answer.fault, 0) + 1
        told = self.progress.counts
        told[answer.status] = told.get(answer.status, 0) + 1
        self.step(is_troubled=answer.status in ("empty", "refused", "failed"))
