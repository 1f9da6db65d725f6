"""Asking target models the prompts: a bare user turn, no system prompt, the same road as judges.

The reply is stored in the ledger before it is written to the table, and a table that is written
again asks nothing again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .access import check_cap, prepare_all, require_access
from .asking import ModelAnswer, Question, Wording, ask_each, target_backend
from .errors import InputError
from .estimate import plus
from .judges.models.backend import Backend
from .judges.models.budget import Budget
from .judges.models.client import Desk, reserve_usd
from .judges.models.usage import Spending
from .loop import run_async, run_stoppable
from .named_models import sorted_models
from .records.run_folder import replaced
from .records.spreadsheets import CsvLines, carried_names, writable
from .respond_protocol import Track, protocol_from
from .respond_results import (
    COLUMNS,
    RespondEstimate,
    RespondResult,
    ResponseCounts,
    answer_cells,
    check_target,
)

if TYPE_CHECKING:
    from .records.ledger import Ledger
    from .records.readers.responses import PromptRow, PromptSource
    from .records.types import Reply

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
        from .records.readers.responses import open_prompts

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
        self.source: PromptSource = open_prompts(prompts, columns=columns, limit=limit)
        self.summary = self.source.check()
        self._ledger = ledger
        self._budget = Budget(cap=max_cost)
        planned = self.summary.n_responses * len(self.backends) * repeats
        self.result = RespondResult(Path(out or ""), ResponseCounts(planned=planned))
        self._on_progress = on_progress or (lambda result: None)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._desk: Desk | None = None
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
        if self._loop is not None and self._desk is not None:
            self._loop.call_soon_threadsafe(self._desk.stop)

    async def run(self) -> RespondResult:
        """Asks, writes, and returns what became of it.

        Raises:
            InputError: a key is missing or an address does not answer; nothing was spent.
            StoreError: the ledger or the table cannot be written.
        """
        from .records.ledger import Ledger

        given = self._ledger
        ledger = given if isinstance(given, Ledger) else Ledger.open(given)
        try:
            self._loop = asyncio.get_running_loop()
            self._desk = desk = Desk(ledger, budget=self._budget, on_change=self._tell)
            await require_access(
                self.backends,
                lambda backend: self.all_paid(ledger, backend),
                capped=self._budget.cap is not None,
            )
            if self._stop_early:
                desk.stop()
            self._tell()
            await self._ask_all(desk)
            self.result.spending = self.spending()
            self.result.interrupted = desk.stopped
            self.result.over_budget = self.result.counts.not_asked > 0 and not desk.stopped
            self._tell()
            return self.result
        finally:
            for backend in self.backends:
                await backend.close()
            self.source.close()
            if ledger is not given:
                ledger.close()

    def spending(self) -> Spending:
        """What was sent and paid until now."""
        return self._desk.spending() if self._desk is not None else Spending()

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

    async def _ask_all(self, desk: Desk) -> None:
        carried = self.summary.columns_carried
        path = self.result.path
        with replaced(path) as part, part.open("w", encoding="utf-8", newline="") as file:
            writer = CsvLines(file)
            writer.write([*COLUMNS, *carried_names(carried, COLUMNS)])
            answers = ask_each(self._questions(), desk, self.wording, self.backends)
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
        if self._desk is not None:
            counts = self._desk.counts
            self.result.sent, self.result.from_ledger = counts.sent, counts.from_ledger
            self.result.repeated = counts.repeated
        self.result.spent_usd = self._budget.spent
        self.result.possibly_spent_usd = self._budget.possibly_spent
        self.result.unknown_price_calls = self._budget.unknown_calls
        self._on_progress(self.result)


def _refuse_judges(backends: Sequence[Backend]) -> None:
    from .judges.offline.models import require_role

    require_role(backends, "respondent")
