"""The stage before the ordinary run: what batches can answer is answered by them, into the ledger.

Plan, leave out what is stored or already with a provider, submit, wait, collect. Whatever comes to
nothing on the way is left to the ordinary run, which finds the rest in the ledger.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ProviderError
from ..judges.models.client import Desk, reserve_usd
from ..judges.models.rate_limit import StoppedError
from ..judges.models.request import Rung
from ..records.readers.responses import ResponseRow
from .book import BatchBook, BatchRecord
from .collecting import Collector
from .members import Member, members_of
from .parcel import Parcel
from .plan import Planned, planned_judgments
from .price import batch_prices
from .settings import BatchProgress, BatchSettings
from .submitting import Submitter
from .waiting import OpenBatches, cannot_look, in_few_words

if TYPE_CHECKING:
    from ..panel import Panel

Rows = Callable[[], Iterable[ResponseRow]]
"""Reads the responses again from the first."""

_ROUNDING = 1e-9
"""Sums of the same amounts in another order differ in their last digits."""


@dataclass(slots=True)
class Leftovers:
    """What the batches did not answer, for whoever must not ask online.

    Attributes:
        errors: ledger key to what became of its request.
        by_backend: backend name to why no further request of it went into a batch.
        capped: whether something found no room under the cost cap.
    """

    errors: dict[str, ProviderError] = field(default_factory=dict)
    by_backend: dict[str, ProviderError] = field(default_factory=dict)
    capped: bool = False


class BatchStage:
    """The batches of one run; used once, on the package's loop."""

    def __init__(
        self,
        panel: Panel,
        rows: Rows,
        desk: Desk,
        folder: Path,
        settings: BatchSettings,
        *,
        on_progress: Callable[[BatchProgress], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        """Takes what there is to work with.

        Args:
            panel: who judges.
            rows: reads the responses.
            desk: ledger, budget and stop of the run.
            folder: the run folder, locked by the run.
            settings: how.
            on_progress: called on every change: keep it short.
            on_notice: called with every sentence that a person should read.

        Raises:
            InputError: the records in the folder cannot be read.
        """
        self.progress = BatchProgress()
        self.leftovers = Leftovers()
        self._panel = panel
        self._rows = rows
        self._desk = desk
        self._settings = settings
        self._on_progress = on_progress or (lambda progress: None)
        self._notice = on_notice or (lambda sentence: None)
        self._book = BatchBook.open(folder)
        self._members: dict[str, Member] = {}
        self._rungs: dict[str, Rung] = {}  # of those that still take batches
        self._began = time.monotonic()
        self._collector = Collector(panel, desk, rows, self.leftovers.errors)
        self._submitter = Submitter(self._book, desk, self._notice)
        self._open = OpenBatches(
            self._book,
            desk,
            self._collector,
            self.progress,
            tell=self._tell,
            notice=self._notice,
            what_then=self._what_then(),
        )

    async def run(self) -> None:
        """Submits, waits and collects until nothing is left that a batch could answer.

        A desk that is stopped ends this soon; what is with a provider goes on there.

        Raises:
            InputError: a provider does not let its batches be looked at any more.
            StoreError: ledger or folder cannot be written.
        """
        try:
            await self._get_ready()
            is_worth_another = True
            while is_worth_another:
                await self._submit_all()
                answered = self.progress.answered
                await self._wait_and_collect()
                # Room that was not used comes free when a batch ends, in the cap and in the
                # provider's queue; without an answer nothing will have changed.
                is_worth_another = self.progress.answered > answered and (
                    self.leftovers.capped or self._open.queue_was_full
                )
        except StoppedError:
            self._say_how_to_go_on()
        finally:
            self._open.close()

    async def _get_ready(self) -> None:
        self._tell("planning")
        known: dict[str, Rung] = {r.backend: r.structured for r in self._unfinished()}
        ready = await members_of(self._panel, self._rows, self._desk, known, self._notice)
        self._members = ready.members
        self._rungs = {name: member.rung for name, member in ready.members.items()}
        for name, error in ready.refused.items():
            self._fall_back(name, error)
        for name, member in self._members.items():
            prices = batch_prices(member.backend, discount=self._settings.discount)
            self._collector.enroll(member.backend, prices)
            if prices is None:
                self._notice(
                    f"{name}: nobody says what it costs in a batch; its cost stays unknown. "
                    "State it with --batch-discount, such as 0.5 for half the price."
                )
        for record in self._book.of_status("uploading", "creating"):
            try:
                await self._submitter.settle(record, self._members.get(record.backend))
            except ProviderError as error:
                raise cannot_look(record, error) from error
        for record in self._book.of_status("open"):
            # It was bought under the cap of an earlier session; here it leaves less room.
            self._open.take(record, self._desk.purse())
            self._notice(
                f"{record.backend}: batch {record.batch_id} of {record.requests} requests was "
                f"submitted on {record.created}; it is waited for and not submitted again."
            )

    def _unfinished(self) -> list[BatchRecord]:
        return self._book.of_status("open", "creating")

    async def _submit_all(self) -> None:
        """Puts everything that is open into batches, as far as the cap goes."""
        self._tell("planning")
        self.leftovers.capped = self._open.queue_was_full = False
        taken = set(self._open.tried)
        for record in self._book.of_status("open"):
            taken.update(self._book.ids(record))
        parcels: dict[str, Parcel] = {}
        try:
            for planned in planned_judgments(self._panel, self._rows(), dict(self._rungs)):
                await asyncio.sleep(0)  # a stop may be waiting for its turn
                if self._desk.stopped:
                    raise StoppedError
                stored = self._desk.ledger.lookup([item.key for item in planned])
                for item in planned:
                    if item.key in stored or item.custom_id in taken:
                        continue
                    if await self._pack(item, parcels):
                        taken.add(item.custom_id)
            for name in list(parcels):
                await self._submit(parcels.pop(name), self._members[name])
        finally:
            for parcel in parcels.values():
                parcel.remove()
        if self.leftovers.capped:
            self._notice("The cost cap leaves no room for every request at its worst at once.")

    async def _pack(self, item: Planned, parcels: dict[str, Parcel]) -> bool:
        """Puts a request into the batch that is being gathered; False where it is left out."""
        name = item.judge.model
        if name not in self._rungs:
            return False  # it was found meanwhile that it takes no batches
        member = self._members[name]
        worst = reserve_usd(member.backend, item.request)
        if not self._fits(worst, parcels):
            self.leftovers.capped = True
            return False
        try:
            body = await member.writer.body(item.request)
            line = member.provider.line(item.custom_id, body)
        except ProviderError as error:
            self.leftovers.errors[item.key] = error
            return False
        if name in parcels and not parcels[name].has_room_for(line):
            await self._submit(parcels.pop(name), member)
            if name not in self._rungs:
                return False
        if name not in parcels:
            number = list(self._members).index(name)
            parcels[name] = Parcel(self._book.input_path(number), member.provider)
        parcels[name].add(item, line, worst)
        return True

    def _fits(self, worst: float | None, parcels: dict[str, Parcel]) -> bool:
        budget = self._desk.budget
        if budget.cap is None:
            return True
        if worst is None or budget.closed:
            return False
        packed = sum(parcel.worst_usd or 0.0 for parcel in parcels.values())
        bound = budget.spent + budget.possibly_spent + self._open.held_usd + packed + worst
        return bound + _ROUNDING <= budget.cap

    async def _submit(self, parcel: Parcel, member: Member) -> None:
        name = member.backend.spec.name
        self._tell("submitting")
        purse = self._desk.purse()
        try:
            parcel.seal()
            await purse.need(parcel.worst_usd)
            record = await self._submitter.submit(member.backend, member.rung, parcel)
        except ProviderError as error:
            if error.may_be_billed:
                purse.write_off(parcel.worst_usd)
            purse.close()
            self._open.tried.update(parcel.ids)
            self._fall_back(name, error)
            return
        except BaseException:
            purse.close()
            raise
        finally:
            parcel.remove()
        self._open.take(record, purse)
        self._tell("submitting")

    def _fall_back(self, name: str, error: ProviderError) -> None:
        """No further batch of this backend; what is with the provider is still waited for."""
        self._rungs.pop(name, None)
        self.leftovers.by_backend[name] = error
        self._notice(f"{name}: no batch was made ({in_few_words(error)}). {self._what_then()}")

    def _what_then(self) -> str:
        return "They count as failed." if self._settings.only else "They are asked online."

    async def _wait_and_collect(self) -> None:
        looks = 0
        while waiting := self._book.of_status("open"):
            self._tell("waiting")
            if await self._open.look(self._members, self.leftovers.by_backend):
                looks = 0
                continue
            backend = self._members[waiting[0].backend].backend
            await self._desk.limiter(backend).pause(self._settings.pause_after(looks))
            looks += 1

    def _say_how_to_go_on(self) -> None:
        waiting = self._book.of_status("open")
        if waiting:
            number = sum(record.requests for record in waiting)
            self._notice(
                f"{len(waiting)} submitted batches with {number} requests go on at the provider. "
                "The same command waits for them; without --batch it would pay for them again."
            )

    def _tell(self, phase: str) -> None:
        waiting = self._book.of_status("open")
        self.progress.phase = phase
        self.progress.open_batches = len(waiting)
        self.progress.requests = sum(record.requests for record in waiting)
        self.progress.elapsed_s = time.monotonic() - self._began
        self._on_progress(self.progress)
        self._desk.changed()  # a run waits for hours: what it has counted is to be on record
