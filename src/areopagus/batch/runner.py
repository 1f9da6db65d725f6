"""The batch stage, before the ordinary run: plan, submit, wait, collect.

Requests whose reply is stored, or that are already with a provider, are left out. The ordinary run
then finds the batches' answers in the ledger and asks for whatever has none.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError, InputFault, ProviderError
from ..judges.models.backend import Backend
from ..judges.models.budget import BudgetReservation, BudgetSpentError, reserve_usd
from ..judges.models.client import Client
from ..judges.models.credentials import redact
from ..judges.models.provider_errors import TRANSIENT
from ..judges.models.rate_limit import StoppedError
from ..judges.models.request import ResponseFormat
from .collect import Collected, Collector
from .eligible import Planned, Rows, eligible_backends, planned_judgments
from .providers import BatchProvider, BatchResults, BatchState
from .settings import BatchProgress, BatchSettings
from .store import BatchFile, BatchRecord, BatchStore
from .submit import Submitter

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec


_SHOWN_CHARACTERS = 200
_ROUNDING = 1e-9
"""Sums of the same amounts in another order differ in their last digits."""


@dataclass(slots=True)
class Leftovers:
    """What the batches did not answer, and why.

    Attributes:
        errors: ledger key to what became of its request.
        by_backend: backend name to why no further request of it went into a batch.
        capped: whether something found no room under the cost cap.
    """

    errors: dict[str, ProviderError] = field(default_factory=dict)
    by_backend: dict[str, ProviderError] = field(default_factory=dict)
    capped: bool = False

    def error(self, backend: Backend, key: str) -> Exception:
        """What became of a request that no batch has answered."""
        known = self.errors.get(key) or self.by_backend.get(backend.spec.name)
        if known is not None:
            # A new one each time: an error that is raised again and again keeps every trace.
            return ProviderError(known.fault, known.detail, status=known.status)
        if self.capped:
            return BudgetSpentError("the cost cap left no room for it in a batch")
        return ProviderError("server", "no batch has an answer, and nothing is asked online")


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
        self._submitter = Submitter(self._store, client, self._notice)
        self._providers: dict[str, BatchProvider] = {}
        self._reservations: dict[int, BudgetReservation] = {}  # of open batches, by number
        self._tried: set[str] = set()  # ids of requests that a batch has had its chance at
        self._doubted: set[int] = set()  # one look at these batches found nothing, or not all
        self._queue_was_full = False
        self._began = time.monotonic()

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
                    self.leftovers.capped or self._queue_was_full
                )
        except StoppedError:
            self._say_how_to_go_on()
        finally:
            for reservation in self._reservations.values():
                reservation.close()

    async def _get_ready(self) -> None:
        self._tell("planning")
        known: dict[str, ResponseFormat] = {
            record.backend: record.structured
            for record in self._store.of_status("open", "creating")
        }
        self._providers, refused = await eligible_backends(
            self._panel,
            self._rows,
            self._client,
            known,
            discount=self._settings.discount,
            on_notice=self._notice,
        )
        for name, error in refused.items():
            self._fall_back(name, error)
        for record in self._store.of_status("uploading", "creating"):
            try:
                await self._submitter.settle(record, self._providers.get(record.backend))
            except ProviderError as error:
                raise _cannot_look(record, error) from error
        for record in self._store.of_status("open"):
            # It was bought under the cap of an earlier session; here it leaves less room.
            self._reservations[record.number] = self._client.reservation()
            self._notice(
                f"{record.backend}: batch {record.batch_id} of {record.requests} requests was "
                f"submitted on {record.created}; it is waited for and not submitted again."
            )

    # Submitting

    async def _submit_all(self) -> None:
        """Puts everything that is open into batches, as far as the cap goes."""
        self._tell("planning")
        self.leftovers.capped = self._queue_was_full = False
        taken = set(self._tried)
        for record in self._store.of_status("open"):
            taken.update(self._store.ids(record))
        response_formats: dict[str, ResponseFormat] = {
            name: provider.response_format
            for name, provider in self._providers.items()
            if name not in self.leftovers.by_backend
        }
        files: dict[str, BatchFile] = {}
        try:
            for planned in planned_judgments(self._panel, self._rows(), response_formats):
                await asyncio.sleep(0)  # a stop may be waiting for its turn
                if self._client.stopped:
                    raise StoppedError
                stored = await self._client.ledger.find_all([item.key for item in planned])
                for item in planned:
                    if item.key in stored or item.custom_id in taken:
                        continue
                    if await self._pack(item, files):
                        taken.add(item.custom_id)
            for name in list(files):
                await self._submit(files.pop(name))
        finally:
            for file in files.values():
                file.remove()
        if self.leftovers.capped:
            self._notice("The cost cap leaves no room for every request at its worst at once.")

    async def _pack(self, item: Planned, files: dict[str, BatchFile]) -> bool:
        """Puts a request into the batch that is being gathered; False where it is left out."""
        name = item.judge.model
        if name in self.leftovers.by_backend:
            return False  # it was found meanwhile that it takes no batches
        provider = self._providers[name]
        worst = reserve_usd(provider.backend, item.request)
        if not self._fits(worst, files):
            self.leftovers.capped = True
            return False
        try:
            body = provider.backend.translate_request(item.request).body
            line = provider.line(item.custom_id, body)
        except ProviderError as error:
            self.leftovers.errors[item.key] = error
            return False
        if name in files and not files[name].has_room_for(line):
            await self._submit(files.pop(name))
            if name in self.leftovers.by_backend:
                return False
        if name not in files:
            number = list(self._providers).index(name)
            files[name] = BatchFile(self._store.input_path(number), provider)
        files[name].add(item, line, worst)
        return True

    def _fits(self, worst: float | None, files: dict[str, BatchFile]) -> bool:
        budget = self._client.budget
        if budget.cap is None:
            return True
        if worst is None or budget.closed:
            return False
        held = sum(record.worst_usd or 0.0 for record in self._store.of_status("open"))
        packed = sum(file.worst_usd or 0.0 for file in files.values())
        bound = budget.spent + budget.possibly_spent + held + packed + worst
        return bound + _ROUNDING <= budget.cap

    async def _submit(self, file: BatchFile) -> None:
        self._tell("submitting")
        reservation = self._client.reservation()
        try:
            file.seal()
            await reservation.need(file.worst_usd)  # it fits, so nobody is waited for
            record = await self._submitter.submit(file)
        except ProviderError as error:
            if error.may_be_billed:
                reservation.write_off(file.worst_usd)
            reservation.close()
            self._tried.update(file.ids)
            self._fall_back(file.provider.backend.spec.name, error)
            return
        except BaseException:
            reservation.close()
            raise
        finally:
            file.remove()
        self._reservations[record.number] = reservation
        self._tell("submitting")

    def _fall_back(self, name: str, error: ProviderError) -> None:
        """No further batch of this backend; what is with the provider is still waited for."""
        self.leftovers.by_backend[name] = error
        self._notice(f"{name}: no batch was made ({in_few_words(error)}). {self._what_then()}")

    # Waiting and collecting

    async def _wait_and_collect(self) -> None:
        looks = 0
        while self._store.of_status("open"):
            self._tell("waiting")
            if await self._look_at_all():
                looks = 0
                continue
            await self._client.pause(self._settings.pause_after(looks))
            looks += 1

    async def _look_at_all(self) -> int:
        """Looks at every open batch and takes in those that have ended; how many had.

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
                state = await self._look_at(record)
            except ProviderError as error:
                trouble = in_few_words(error)
                continue
            except InputError as error:
                stuck = stuck or error
                continue
            done += state.done
            ended += state.is_ended
        self.progress.done, self.progress.trouble = done, trouble
        self._tell("waiting")
        if stuck is not None:
            raise stuck
        return ended

    async def _look_at(self, record: BatchRecord) -> BatchState:
        """What the provider says of a batch; its results are taken in where it has ended.

        Raises:
            ProviderError: trouble that passes.
            InputError: somebody has to see to it.
        """
        provider = self._providers.get(record.backend)
        if provider is None or record.batch_id is None:
            raise _cannot_look(record, self.leftovers.by_backend.get(record.backend))
        results: BatchResults | None = BatchResults()
        try:
            state = await provider.look(record.batch_id)
            if state.is_ended:
                results = await provider.results(record.batch_id, state)
        except ProviderError as error:
            if error.fault in TRANSIENT or error.fault == "bad_reply":
                raise
            if error.fault != "not_found":
                raise _cannot_look(record, error) from error
            state, results = BatchState("not found", is_ended=True), None
        if (results is None or not results.is_whole) and record.number not in self._doubted:
            self._doubted.add(record.number)  # it was paid: one look does not end it
            raise ProviderError("bad_reply", "the batch or its results are not there, or not whole")
        if state.status != record.provider_status:
            record = self._store.change(record, provider_status=state.status)
        if results is None:
            self._give_up(record)
        elif state.is_ended:
            await self._collect(record, provider, state, results)
        return state

    def _give_up(self, record: BatchRecord) -> None:
        """Closes a batch of which the provider has nothing any more."""
        self._notice(
            f"{record.backend}: the provider knows no batch {record.batch_id} any more; its "
            f"{record.requests} requests may have been paid. {self._what_then()}"
        )
        self._tried.update(self._store.ids(record))
        reservation = self._reservations.pop(record.number)
        reservation.write_off(record.worst_usd)
        reservation.close()
        self._store.change(record, status="lost")

    async def _collect(
        self, record: BatchRecord, provider: BatchProvider, state: BatchState, results: BatchResults
    ) -> None:
        answered, failed = self.progress.answered, self.progress.failed

        def on_step(found: Collected) -> None:
            self.progress.answered = answered + found.answered
            self.progress.failed = failed + found.failed
            self._tell("collecting")

        ids = self._store.ids(record)
        if state.is_full:
            self._queue_was_full = True  # asked again when others have ended
        else:
            self._tried.update(ids)
        judgments = planned_judgments(
            self._panel,
            self._rows(),
            {record.backend: record.structured},
            first_row=record.first_row,
            last_row=record.last_row,
            whole=True,  # it may be of a session with another rule, and is paid for
        )
        reservation = self._reservations[record.number]
        collector = Collector(
            self._client, record, provider, results, reservation, self.leftovers.errors
        )
        found = await collector.collect(ids, judgments, on_step)
        self._reservations.pop(record.number).close()
        self._store.change(
            record,
            status="collected",
            answered=found.answered,
            failed=found.failed,
            faults=dict(found.faults),
        )
        if found.failed:
            why = ", ".join(f"{redact(name)} {n}" for name, n in found.faults.most_common())
            told = f": {redact(state.detail, limit=_SHOWN_CHARACTERS)}" if state.detail else ""
            self._notice(
                f"{record.backend}: {found.failed} of the {record.requests} requests of batch "
                f"{record.batch_id} came to nothing ({why}){told}. {self._what_then()}"
            )

    # Telling

    def _what_then(self) -> str:
        return "They count as failed." if self._settings.only else "They are asked online."

    def _say_how_to_go_on(self) -> None:
        waiting = self._store.of_status("open")
        if waiting:
            number = sum(record.requests for record in waiting)
            self._notice(
                f"{len(waiting)} submitted batches with {number} requests go on at the provider. "
                "The same call waits for them; without `batch` they would be paid for again."
            )

    def _tell(self, phase: str) -> None:
        waiting = self._store.of_status("open")
        self.progress.phase = phase
        self.progress.open_batches = len(waiting)
        self.progress.requests = sum(record.requests for record in waiting)
        self.progress.elapsed_s = time.monotonic() - self._began
        self._on_progress(self.progress)
        self._client.changed()  # a run waits for hours: what it has counted is to be on record


def in_few_words(error: ProviderError) -> str:
    """A fault in a few words; details come from outside, and keys are out of them already."""
    return redact(str(error), limit=_SHOWN_CHARACTERS)


def _cannot_look(record: BatchRecord, error: ProviderError | None) -> InputError:
    """The error that ends a run whose batch may hold paid answers and cannot be asked about."""
    why = in_few_words(error) if error is not None else "the backend takes no batches"
    name = record.batch_id or f"that was submitted on {record.created}"
    return InputError(
        [InputFault(record.backend, f"batch {name} cannot be looked at: {why}")],
        hint="What is submitted goes on at the provider and is kept in batches.json of the run "
        "folder. Once that is mended, give the same command again.",
    )
