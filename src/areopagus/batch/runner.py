"""The batch stage, before the ordinary run: plan, submit, wait, collect.

Requests whose reply is stored, or that are already with a provider, are left out. The ordinary run
then finds the batches' answers in the ledger and asks for whatever has none.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..errors import InputError, InputFault, ProviderError
from ..judges.models.backend import Backend
from ..judges.models.budget import BudgetReservation, reserve_usd
from ..judges.models.client import Client
from ..judges.models.credentials import redact
from ..judges.models.provider_errors import TRANSIENT
from ..judges.models.rate_limit import StoppedError
from ..judges.models.request import ResponseFormat
from ..records.readers.responses import ResponseRow
from .collect import Collected, Collector
from .eligible import Member, Planned, eligible_backends, planned_judgments
from .providers import BatchProvider, BatchResults, BatchState, batch_prices
from .settings import BatchProgress, BatchSettings
from .store import BatchFile, BatchRecord, BatchStore, now

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec


_SHOWN_CHARACTERS = 200


class BatchPoller:
    """The open batches of one run.

    Attributes:
        tried: ids of requests that a batch has had its chance at.
        queue_was_full: whether one failed for want of room in the provider's queue; the stage
            sets it back before it submits.
    """

    def __init__(
        self,
        store: BatchStore,
        client: Client,
        collector: Collector,
        progress: BatchProgress,
        *,
        tell: Callable[[str], None],
        notice: Callable[[str], None],
        what_then: str,
    ) -> None:
        """Takes what there is to work with.

        Args:
            store: the run's batches.
            client: budget and stop of the run.
            collector: takes results in.
            progress: kept up to date.
            tell: called with the phase after every change.
            notice: called with every sentence that a person should read.
            what_then: the sentence on what becomes of requests without an answer.
        """
        self.tried: set[str] = set()
        self.queue_was_full = False
        self._store = store
        self._client = client
        self._collector = collector
        self._progress = progress
        self._tell = tell
        self._notice = notice
        self._what_then = what_then
        self._reservations: dict[int, BudgetReservation] = {}
        self._held: dict[int, float] = {}
        self._doubted: set[int] = set()  # one look at them found nothing, or not all

    @property
    def held_usd(self) -> float:
        """The worst cases of all of them."""
        return sum(self._held.values())

    def take(self, record: BatchRecord, reservation: BudgetReservation) -> None:
        """Enters a batch, with what is set aside for it."""
        self._reservations[record.number] = reservation
        self._held[record.number] = record.worst_usd or 0.0

    def close(self) -> None:
        """Gives back what is set aside; the batches go on at the provider."""
        for reservation in self._reservations.values():
            reservation.close()

    async def look(
        self, members: Mapping[str, Member], refused: Mapping[str, ProviderError]
    ) -> int:
        """Looks at every batch and takes in those that have ended; how many had.

        Args:
            members: who takes part, by name.
            refused: why others do not.

        Raises:
            StoppedError: the run is stopping.
            StoreError: the ledger or the folder cannot be written.
            InputError: one cannot be looked at any more. The others are taken in first: what was
                paid must not wait for somebody to mend another backend.
        """
        done = ended = 0
        trouble: str | None = None
        stuck: InputError | None = None
        for record in self._store.of_status("open"):
            if self._client.stopped:
                raise StoppedError
            try:
                state = await self._look_at(record, members.get(record.backend), refused)
            except ProviderError as error:
                trouble = in_few_words(error)
                continue
            except InputError as error:
                stuck = stuck or error
                continue
            done += state.done
            ended += state.is_ended
        self._progress.done, self._progress.trouble = done, trouble
        self._tell("waiting")
        if stuck is not None:
            raise stuck
        return ended

    async def _look_at(
        self, record: BatchRecord, member: Member | None, refused: Mapping[str, ProviderError]
    ) -> BatchState:
        """What the provider says of a batch; its results are taken in where it has ended.

        Raises:
            ProviderError: trouble that passes.
            InputError: somebody has to see to it.
        """
        if member is None or record.batch_id is None:
            raise cannot_look(record, refused.get(record.backend))
        results: BatchResults | None = BatchResults()
        try:
            state = await member.provider.look(record.batch_id)
            if state.is_ended:
                results = await member.provider.results(record.batch_id, state)
        except ProviderError as error:
            if error.fault in TRANSIENT or error.fault == "bad_reply":
                raise
            if error.fault != "not_found":
                raise cannot_look(record, error) from error
            state, results = BatchState("not found", is_ended=True), None
        if (results is None or not results.is_whole) and record.number not in self._doubted:
            self._doubted.add(record.number)  # it was paid: one look does not end it
            raise ProviderError("bad_reply", "the batch or its results are not there, or not whole")
        if state.status != record.provider_status:
            record = self._store.change(record, provider_status=state.status)
        if results is None:
            self._give_up(record)
        elif state.is_ended:
            await self._collect(record, state, results)
        return state

    def _give_up(self, record: BatchRecord) -> None:
        """Closes a batch of which the provider has nothing any more."""
        self._reservations[record.number].write_off(record.worst_usd)
        self._notice(
            f"{record.backend}: the provider knows no batch {record.batch_id} any more; its "
            f"{record.requests} requests may have been paid. {self._what_then}"
        )
        self.tried.update(self._store.ids(record))
        self._close(record)
        self._store.change(record, status="lost", ended=now())

    async def _collect(self, record: BatchRecord, state: BatchState, results: BatchResults) -> None:
        answered, failed = self._progress.answered, self._progress.failed

        def on_step(found: Collected) -> None:
            self._progress.answered = answered + found.answered
            self._progress.failed = failed + found.failed
            self._tell("collecting")

        ids = self._store.ids(record)
        if state.is_full:
            self.queue_was_full = True  # asked again when others have ended
        else:
            self.tried.update(ids)
        reservation = self._reservations[record.number]
        found = await self._collector.collect(record, ids, results, reservation, on_step)
        self._close(record)
        self._store.change(
            record,
            status="collected",
            ended=now(),
            answered=found.answered,
            failed=found.failed,
            faults=dict(found.faults),
        )
        if found.failed:
            why = ", ".join(f"{redact(name)} {n}" for name, n in found.faults.most_common())
            told = f": {redact(state.detail, limit=_SHOWN_CHARACTERS)}" if state.detail else ""
            self._notice(
                f"{record.backend}: {found.failed} of the {record.requests} requests of batch "
                f"{record.batch_id} came to nothing ({why}){told}. {self._what_then}"
            )

    def _close(self, record: BatchRecord) -> None:
        self._reservations.pop(record.number).close()
        self._held.pop(record.number, None)


def in_few_words(error: ProviderError) -> str:
    """A fault in a few words; details come from outside, and keys are out of them already."""
    return redact(str(error), limit=_SHOWN_CHARACTERS)


def cannot_look(record: BatchRecord, error: ProviderError | None) -> InputError:
    """The error that ends a run whose batch may hold paid answers and cannot be asked about."""
    why = in_few_words(error) if error is not None else "the backend takes no batches"
    name = record.batch_id or f"that was submitted on {record.created}"
    return InputError(
        [InputFault(record.backend, f"batch {name} cannot be looked at: {why}")],
        hint="What is submitted goes on at the provider and is kept in batches.json of the run "
        "folder. Once that is mended, give the same command again.",
    )


ATTEMPTS = 5
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0

LOOK_AGAIN_S = (2.0, 8.0, 20.0, 30.0)
"""Seconds between the looks for a batch of which nobody knows whether it was made."""
_NO_LIST = frozenset({"not_found", "bad_request", "unsupported_parameter"})
"""Faults of an endpoint that lists no batches."""

Result = TypeVar("Result")


class Submitter:
    """Submits the batches of one run."""

    def __init__(self, store: BatchStore, client: Client, on_notice: Callable[[str], None]) -> None:
        self._store = store
        self._client = client
        self._notice = on_notice

    async def submit(
        self, backend: Backend, response_format: ResponseFormat, file: BatchFile
    ) -> BatchRecord:
        """The record of the batch, which is with the provider when this returns.

        Raises:
            ProviderError: there is no batch; with `may_be_billed` there may be one that nobody
                can look at.
            StoppedError: the run is stopping; there is no batch.
            StoreError: the folder cannot be written; nothing was asked.
        """
        record = self._store.add(
            BatchRecord(
                number=1,
                backend=backend.spec.name,
                provider=file.provider.kind,
                structured=response_format,
                status="uploading",
                requests=len(file.ids),
                first_row=file.first_row,
                last_row=file.last_row,
                ids_sha256="",
                worst_usd=file.worst_usd,
                created=now(),
            ),
            file.ids,
        )
        provider = file.provider
        try:
            file_id = await self._patiently(backend, lambda: provider.upload(file.path), asks=False)
            record = self._store.change(record, status="creating", file_id=file_id)
            batch_id = await self._patiently(
                backend, lambda: provider.create(file.path, file_id), asks=True
            )
        except StoppedError:
            self._store.change(record, status="dropped", ended=now())
            raise
        except ProviderError as error:
            if record.status == "creating" and error.may_be_billed:
                batch_id = await self._made_after_all(backend, provider, record, error)
            else:
                self._store.change(record, status="dropped", ended=now())
                raise _unpaid(error) from error
        counts = self._client.counts
        counts.sent += len(file.ids)
        counts.attempts += len(file.ids)
        counts.in_batches += len(file.ids)
        counts.batches += 1
        return self._store.change(record, status="open", batch_id=batch_id)

    async def settle(self, record: BatchRecord, member: Member | None) -> None:
        """Finds out what became of a submission during which the process ended.

        Raises:
            ProviderError: the provider could not be asked.
            StoppedError: the run is stopping; the next one has to find out.
        """
        if record.status == "uploading":
            self._store.change(record, status="dropped", ended=now())
            return
        is_told, batch_id = False, None
        if member is not None:
            is_told, batch_id = await self._found(member.backend, member.provider, record)
        if batch_id is not None:
            self._store.change(record, status="open", batch_id=batch_id)
        elif is_told:
            self._store.change(record, status="dropped", ended=now())
        else:
            self._store.change(record, status="lost", ended=now())
            self._client.counts.repeated += record.requests
            self._client.reservation().write_off(record.worst_usd)
            self._notice(
                f"{record.backend}: an earlier process ended while it submitted a batch of "
                f"{record.requests} requests. Nobody can tell whether it arrived; they are asked "
                "again and may be paid twice."
            )

    async def _made_after_all(
        self,
        backend: Backend,
        provider: BatchProvider,
        record: BatchRecord,
        error: ProviderError,
    ) -> str:
        """The id of a batch whose creation was answered with trouble.

        Raises:
            ProviderError: there is none; with `may_be_billed` nobody can tell.
            StoppedError: the run is stopping; the next one has to find out.
        """
        try:
            is_told, batch_id = await self._found(backend, provider, record)
        except ProviderError:
            is_told, batch_id = False, None
        if batch_id is not None:
            return batch_id
        self._store.change(record, status="dropped" if is_told else "lost", ended=now())
        raise _unpaid(error) if is_told else error

    async def _found(
        self, backend: Backend, provider: BatchProvider, record: BatchRecord
    ) -> tuple[bool, str | None]:
        """Whether it can be told if there is a batch, and its id.

        A batch that is not listed may still be in the making, where its creation timed out or broke
        off: that there is none is believed after some looks only.

        Raises:
            ProviderError: the last look failed, for a reason that may pass or be mended.
            StoppedError: the run is stopping.
        """
        limiter = self._client.limiter(backend)
        since = datetime.fromisoformat(record.created)
        trouble: ProviderError | None = None
        for pause_s in (0.0, *LOOK_AGAIN_S):
            await limiter.pause(pause_s)
            trouble = None
            try:
                is_told, batch_id = await provider.find(record.file_id, since=since)
            except ProviderError as error:
                if error.fault in _NO_LIST:
                    return False, None
                if error.fault not in TRANSIENT and error.fault != "bad_reply":
                    raise
                trouble = error
                continue
            if batch_id is not None or not is_told:
                return is_told, batch_id
        if trouble is not None:
            raise trouble
        return True, None

    async def _patiently(
        self, backend: Backend, call: Callable[[], Awaitable[Result]], *, asks: bool
    ) -> Result:
        """The call's result; it is made again after faults that pass and cost nothing."""
        limiter = self._client.limiter(backend)
        attempt = 0
        while True:
            attempt += 1
            try:
                return await call()
            except ProviderError as error:
                passes = error.fault in TRANSIENT and not (asks and error.may_be_billed)
                if not passes or attempt >= ATTEMPTS:
                    raise
                wait = error.retry_after_s or _FIRST_PAUSE_S * 2 ** (attempt - 1)
            await limiter.pause(min(wait, _LONGEST_PAUSE_S))


def _unpaid(error: ProviderError) -> ProviderError:
    """The same fault, of a submission that came to no batch."""
    return ProviderError(error.fault, error.detail, status=error.status)


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


class BatchRunner:
    """The batches of one run; used once, on the package's loop."""

    def __init__(
        self,
        panel: PanelSpec,
        rows: Rows,
        client: Client,
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
            client: ledger, budget and stop of the run.
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
        self._client = client
        self._settings = settings
        self._on_progress = on_progress or (lambda progress: None)
        self._notice = on_notice or (lambda sentence: None)
        self._store = BatchStore.open(folder)
        self._members: dict[str, Member] = {}
        self._response_formats: dict[str, ResponseFormat] = {}  # of those that still take batches
        self._began = time.monotonic()
        self._collector = Collector(panel, client, rows, self.leftovers.errors)
        self._submitter = Submitter(self._store, client, self._notice)
        self._open = BatchPoller(
            self._store,
            client,
            self._collector,
            self.progress,
            tell=self._tell,
            notice=self._notice,
            what_then=self._what_then(),
        )

    async def run(self) -> None:
        """Submits, waits and collects until nothing is left that a batch could answer.

        A client that is stopped ends this soon; what is with a provider goes on there.

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
        known: dict[str, ResponseFormat] = {r.backend: r.structured for r in self._unfinished()}
        ready = await eligible_backends(self._panel, self._rows, self._client, known, self._notice)
        self._members = ready.members
        self._response_formats = {
            name: member.response_format for name, member in ready.members.items()
        }
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
        for record in self._store.of_status("uploading", "creating"):
            try:
                await self._submitter.settle(record, self._members.get(record.backend))
            except ProviderError as error:
                raise cannot_look(record, error) from error
        for record in self._store.of_status("open"):
            # It was bought under the cap of an earlier session; here it leaves less room.
            self._open.take(record, self._client.reservation())
            self._notice(
                f"{record.backend}: batch {record.batch_id} of {record.requests} requests was "
                f"submitted on {record.created}; it is waited for and not submitted again."
            )

    def _unfinished(self) -> list[BatchRecord]:
        return self._store.of_status("open", "creating")

    async def _submit_all(self) -> None:
        """Puts everything that is open into batches, as far as the cap goes."""
        self._tell("planning")
        self.leftovers.capped = self._open.queue_was_full = False
        taken = set(self._open.tried)
        for record in self._store.of_status("open"):
            taken.update(self._store.ids(record))
        files: dict[str, BatchFile] = {}
        try:
            for planned in planned_judgments(
                self._panel, self._rows(), dict(self._response_formats)
            ):
                await asyncio.sleep(0)  # a stop may be waiting for its turn
                if self._client.stopped:
                    raise StoppedError
                stored = self._client.ledger.lookup([item.key for item in planned])
                for item in planned:
                    if item.key in stored or item.custom_id in taken:
                        continue
                    if await self._pack(item, files):
                        taken.add(item.custom_id)
            for name in list(files):
                await self._submit(files.pop(name), self._members[name])
        finally:
            for file in files.values():
                file.remove()
        if self.leftovers.capped:
            self._notice("The cost cap leaves no room for every request at its worst at once.")

    async def _pack(self, item: Planned, files: dict[str, BatchFile]) -> bool:
        """Puts a request into the batch that is being gathered; False where it is left out."""
        name = item.judge.model
        if name not in self._response_formats:
            return False  # it was found meanwhile that it takes no batches
        member = self._members[name]
        worst = reserve_usd(member.backend, item.request)
        if not self._fits(worst, files):
            self.leftovers.capped = True
            return False
        try:
            body = member.backend.translate_request(item.request).body
            line = member.provider.line(item.custom_id, body)
        except ProviderError as error:
            self.leftovers.errors[item.key] = error
            return False
        if name in files and not files[name].has_room_for(line):
            await self._submit(files.pop(name), member)
            if name not in self._response_formats:
                return False
        if name not in files:
            number = list(self._members).index(name)
            files[name] = BatchFile(self._store.input_path(number), member.provider)
        files[name].add(item, line, worst)
        return True

    def _fits(self, worst: float | None, files: dict[str, BatchFile]) -> bool:
        budget = self._client.budget
        if budget.cap is None:
            return True
        if worst is None or budget.closed:
            return False
        packed = sum(file.worst_usd or 0.0 for file in files.values())
        bound = budget.spent + budget.possibly_spent + self._open.held_usd + packed + worst
        return bound + _ROUNDING <= budget.cap

    async def _submit(self, file: BatchFile, member: Member) -> None:
        name = member.backend.spec.name
        self._tell("submitting")
        reservation = self._client.reservation()
        try:
            file.seal()
            await reservation.need(file.worst_usd)
            record = await self._submitter.submit(member.backend, member.response_format, file)
        except ProviderError as error:
            if error.may_be_billed:
                reservation.write_off(file.worst_usd)
            reservation.close()
            self._open.tried.update(file.ids)
            self._fall_back(name, error)
            return
        except BaseException:
            reservation.close()
            raise
        finally:
            file.remove()
        self._open.take(record, reservation)
        self._tell("submitting")

    def _fall_back(self, name: str, error: ProviderError) -> None:
        """No further batch of this backend; what is with the provider is still waited for."""
        self._response_formats.pop(name, None)
        self.leftovers.by_backend[name] = error
        self._notice(f"{name}: no batch was made ({in_few_words(error)}). {self._what_then()}")

    def _what_then(self) -> str:
        return "They count as failed." if self._settings.only else "They are asked online."

    async def _wait_and_collect(self) -> None:
        looks = 0
        while self._store.of_status("open"):
            self._tell("waiting")
            if await self._open.look(self._members, self.leftovers.by_backend):
                looks = 0
                continue
            await self._client.pause(self._settings.pause_after(looks))
            looks += 1

    def _say_how_to_go_on(self) -> None:
        waiting = self._store.of_status("open")
        if waiting:
            number = sum(record.requests for record in waiting)
            self._notice(
                f"{len(waiting)} submitted batches with {number} requests go on at the provider. "
                "The same command waits for them; without --batch it would pay for them again."
            )

    def _tell(self, phase: str) -> None:
        waiting = self._store.of_status("open")
        self.progress.phase = phase
        self.progress.open_batches = len(waiting)
        self.progress.requests = sum(record.requests for record in waiting)
        self.progress.elapsed_s = time.monotonic() - self._began
        self._on_progress(self.progress)
        self._client.changed()  # a run waits for hours: what it has counted is to be on record
