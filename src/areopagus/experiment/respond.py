"""The `respond` job: target models answer prompts, and their responses become a table."""

from __future__ import annotations

import asyncio
import csv
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..async_runner import run_async, run_stoppable
from ..errors import InputError, InputFault
from ..judges.models.backend import Backend
from ..judges.models.budget import Budget, reserve_usd
from ..judges.models.client import Client
from ..judges.models.usage import UsageSnapshot
from ..records.run_folder import replaced
from ..records.spreadsheets import CsvLines, carried_names, writable
from .ask import ModelAnswer, Question, Track, Wording, ask_each, protocol_from, target_backend
from .backends import check_cap, prepare_all, require_access, sorted_models
from .dry_run import plus

if TYPE_CHECKING:
    from ..records.ledger import Ledger
    from ..records.readers.responses import PromptRow, PromptSource
    from ..records.types import Reply


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
class RespondEstimate:
    """What a job would call and cost.

    Attributes:
        planned, stored, calls: responses planned, those in the ledger, and those to be asked for.
        likely_usd: cost at the length asked for (or of a usual essay), reasoning apart; None =
            a price is unknown.
        most_usd: cost if every reply used all the tokens it may.
    """

    planned: int
    stored: int
    calls: int
    likely_usd: float | None
    most_usd: float | None


@dataclass(slots=True)
class RespondResult:
    """A finished table of responses.

    Attributes:
        path: the table, as `score` reads it.
        counts: what became of the planned responses.
        sent, from_ledger, repeated: calls of this session; see `CallCounts`.
        spent_usd, possibly_spent_usd, unknown_price_calls: what they cost; see `Budget`.
        faults: class of fault to number of failed calls.
        spending: the same by kind, when all is asked.
        interrupted, over_budget: why not everything was asked.
    """

    path: Path
    counts: ResponseCounts
    sent: int = 0
    from_ledger: int = 0
    repeated: int = 0
    spent_usd: float = 0.0
    possibly_spent_usd: float = 0.0
    unknown_price_calls: int = 0
    interrupted: bool = False
    over_budget: bool = False
    faults: dict[str, int] = field(default_factory=dict)
    spending: UsageSnapshot = field(default_factory=UsageSnapshot)

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome."""
        if self.over_budget:
            return 4
        return 3 if self.counts.failed or self.counts.refused or self.counts.empty else 0


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


def respond(
    prompts: Any,
    targets: Sequence[Any] | Any,
    out: str | Path,
    **options: Any,
) -> RespondResult:
    """Asks every target every prompt and writes the table that `score` reads.

    Args:
        prompts: a file, a DataFrame or an iterable with prompt_text and optional prompt_id.
        targets: model strings, settings, chat models or backends.
        out: the table to write (CSV); one of an earlier call is replaced when all is asked.
        options: see `RespondJob`.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the table cannot be written.
    """
    return run_respond(RespondJob(prompts, targets, out, **options))


async def arespond(
    prompts: Any, targets: Sequence[Any] | Any, out: str | Path, **options: Any
) -> RespondResult:
    """The asynchronous twin of `respond`."""
    return await run_async(RespondJob(prompts, targets, out, **options).run())


def run_respond(job: RespondJob) -> RespondResult:
    """Runs a job; a KeyboardInterrupt lets what is in flight finish, and is kept in the result."""
    return run_stoppable(job)[0]


class RespondJob:
    """Every target x prompt x repeat, asked once."""

    def __init__(
        self,
        prompts: Any,
        targets: Sequence[Any] | Any,
        out: str | Path | None,
        *,
        track: Track | None = None,
        repeats: int = 1,
        effort: str | None = None,
        words: int | None = None,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        ledger: str | Path | Ledger | None = None,
        max_cost: float | None = None,
        on_progress: Callable[[RespondResult], None] | None = None,
    ) -> None:
        """Checks everything that can be checked offline.

        Args:
            prompts, targets: see `respond`.
            out: the table; None where `write_to` says it before the job runs.
            track: one of the paper's presets; None asks the bare prompt with no effort set.
            repeats: askings of each prompt, as separate responses.
            effort: reasoning effort, instead of the track's; "none" sends none, for models that
                take none.
            words: words to aim at, instead of the track's.
            columns: our column name to theirs.
            limit: only the first so many prompts.
            ledger: a file or an open Ledger; the user's shared one when left out.
            max_cost: US dollars that are not passed.
            on_progress: called on every change.

        Raises:
            InputError: everything wrong with the input.
        """
        from ..records.readers.responses import PromptSource

        protocol = protocol_from(track, effort=effort, words=words)
        if not 1 <= repeats <= 1000:
            raise InputError(f"repeats: must be from 1 to 1000, got {repeats}")
        specs, given = sorted_models(targets)
        self.protocol = protocol
        self.wording = Wording(protocol, labels={"track": track or "none"})
        self.repeats = repeats
        self.backends = tuple(
            target_backend(spec, given.get(i), protocol) for i, spec in enumerate(specs)
        )
        check_cap(max_cost)
        if out is not None:
            check_target(Path(out))
        _refuse_judges(self.backends)
        self.source: PromptSource = PromptSource(prompts, columns=columns, limit=limit)
        self.summary = self.source.check()
        self._ledger = ledger
        self._budget = Budget(cap=max_cost)
        planned = self.summary.n_responses * len(self.backends) * repeats
        self.result = RespondResult(Path(out or ""), ResponseCounts(planned=planned))
        self._on_progress = on_progress or (lambda result: None)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Client | None = None
        self._stop_early = False
        self.began = time.monotonic()

    def write_to(self, out: Path) -> None:
        """Says where the table is to stand.

        Raises:
            InputError: no table can be written there, or somebody else's file is there.
        """
        check_target(out)
        self.result.path = out

    def stop(self) -> None:
        """Asks the job to end soon, from any thread."""
        self._stop_early = True
        if self._loop is not None and self._client is not None:
            self._loop.call_soon_threadsafe(self._client.stop)

    async def run(self) -> RespondResult:
        """Asks, writes, and returns what became of it.

        Raises:
            InputError: a key is missing or an address does not answer; nothing was spent.
            StoreError: the ledger or the table cannot be written.
        """
        from ..records.ledger import Ledger

        given = self._ledger
        ledger = given if isinstance(given, Ledger) else Ledger.open(given)
        try:
            self._loop = asyncio.get_running_loop()
            self._client = client = Client(ledger, budget=self._budget, on_change=self._tell)
            await require_access(
                self.backends,
                lambda backend: self.all_paid(ledger, backend),
                capped=self._budget.cap is not None,
            )
            if self._stop_early:
                client.stop()
            self._tell()
            await self._ask_all(client)
            self.result.spending = self.spending()
            self.result.interrupted = client.stopped
            self.result.over_budget = self.result.counts.not_asked > 0 and not client.stopped
            self._tell()
            return self.result
        finally:
            for backend in self.backends:
                await backend.close()
            self.source.close()
            if ledger is not given:
                ledger.close()

    def spending(self) -> UsageSnapshot:
        """What was sent and paid until now."""
        return self._client.spending() if self._client is not None else UsageSnapshot()

    def estimate(self, ledger: Ledger) -> RespondEstimate:
        """Calls and cost, without sending anything.

        Raises:
            InputError: unknown providers, and parameters that a model does not take.
        """
        prepare_all(self.backends)
        planned = stored = 0
        likely: float | None = 0.0
        most: float | None = 0.0
        words = self.protocol.words or USUAL_WORDS
        for question, reply in self.rehearsed(ledger):
            planned += 1
            if reply is not None:
                stored += 1
                continue
            backend = question.backend
            request = self.wording.request(backend, question.prompt, question.repeat)
            tokens = backend.likely_tokens(request.messages[0]["content"])
            # A word is about four thirds of a token.
            output = min(words * 4 // 3, backend.spec.max_tokens)
            likely = plus(likely, backend.likely_cost(tokens, output))
            most = plus(most, reserve_usd(backend, request))
        return RespondEstimate(planned, stored, planned - stored, likely, most)

    def rehearsed(self, ledger: Ledger) -> Iterator[tuple[Question[PromptRow], Reply | None]]:
        """Everything that would be asked, with the reply where the ledger has it."""
        for question in self._questions():
            key = self.wording.request(question.backend, question.prompt, question.repeat).key()
            yield question, ledger.lookup([key]).get(key)

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

    def all_paid(self, ledger: Ledger, backend: Backend) -> bool:
        """Whether the ledger holds everything that this backend would be asked."""
        for row in self.source.rows():
            keys = {
                self.wording.request(backend, row.prompt_text, repeat).key()
                for repeat in range(self.repeats)
            }
            if len(ledger.lookup(sorted(keys))) < len(keys):
                return False
        return True

    async def _ask_all(self, client: Client) -> None:
        carried = self.summary.columns_carried
        path = self.result.path
        with replaced(path) as part, part.open("w", encoding="utf-8", newline="") as file:
            writer = CsvLines(file)
            writer.write([*COLUMNS, *carried_names(carried, COLUMNS)])
            answers = ask_each(self._questions(), client, self.wording, self.backends)
            async with aclosing(answers):
                async for question, answer in answers:
                    extra = question.item.extra
                    rest = ["" if (v := extra.get(name)) is None else v for name in carried]
                    cells = self._cells(question, answer)
                    writer.write([writable(cell) for cell in (*cells, *rest)])
                    self._tell()

    def _questions(self) -> Iterator[Question[PromptRow]]:
        for row in self.source.rows():
            for backend in self.backends:
                for repeat in range(self.repeats):
                    yield Question(row, row.prompt_text, backend, repeat)

    def _cells(self, question: Question[PromptRow], answer: ModelAnswer) -> list[Any]:
        counts = self.result.counts
        setattr(counts, answer.status, getattr(counts, answer.status) + 1)
        counts.cut_off += answer.is_cut_off
        if answer.fault is not None:
            self.result.faults[answer.fault] = self.result.faults.get(answer.fault, 0) + 1
        head = self.row_of(question, answer.text).values()
        return [*head, question.repeat, *answer_cells(answer)]

    def _tell(self) -> None:
        if self._client is not None:
            counts = self._client.counts
            self.result.sent, self.result.from_ledger = counts.sent, counts.from_ledger
            self.result.repeated = counts.repeated
        self.result.spent_usd = self._budget.spent
        self.result.possibly_spent_usd = self._budget.possibly_spent
        self.result.unknown_price_calls = self._budget.unknown_calls
        self._on_progress(self.result)


def _refuse_judges(backends: Sequence[Backend]) -> None:
    from ..judges.offline.models import require_role

    require_role(backends, "respondent")
