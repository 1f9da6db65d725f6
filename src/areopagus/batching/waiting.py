"""Batches that are with a provider: what is set aside for each, looks at them, their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..errors import InputError, InputFault, ProviderError
from ..judges.models.budget import Purse
from ..judges.models.client import Desk
from ..judges.models.credentials import redact
from ..judges.models.provider_errors import TRANSIENT
from ..judges.models.rate_limit import StoppedError
from .book import BatchBook, BatchRecord, now
from .collecting import Collected, Collector
from .members import Member
from .providers import BatchResults, BatchState
from .settings import BatchProgress

_SHOWN_CHARACTERS = 200


class OpenBatches:
    """The open batches of one run.

    Attributes:
        tried: ids of requests that a batch has had its chance at.
        queue_was_full: whether one failed for want of room in the provider's queue; the stage
            sets it back before it submits.
    """

    def __init__(
        self,
        book: BatchBook,
        desk: Desk,
        collector: Collector,
        progress: BatchProgress,
        *,
        tell: Callable[[str], None],
        notice: Callable[[str], None],
        what_then: str,
    ) -> None:
        """Takes what there is to work with.

        Args:
            book: the run's batches.
            desk: budget and stop of the run.
            collector: takes results in.
            progress: kept up to date.
            tell: called with the phase after every change.
            notice: called with every sentence that a person should read.
            what_then: the sentence on what becomes of requests without an answer.
        """
        self.tried: set[str] = set()
        self.queue_was_full = False
        self._book = book
        self._desk = desk
        self._collector = collector
        self._progress = progress
        self._tell = tell
        self._notice = notice
        self._what_then = what_then
        self._purses: dict[int, Purse] = {}
        self._held: dict[int, float] = {}
        self._doubted: set[int] = set()  # one look at them found nothing, or not all

    @property
    def held_usd(self) -> float:
        """The worst cases of all of them."""
        return sum(self._held.values())

    def take(self, record: BatchRecord, purse: Purse) -> None:
        """Enters a batch, with what is set aside for it."""
        self._purses[record.number] = purse
        self._held[record.number] = record.worst_usd or 0.0

    def close(self) -> None:
        """Gives back what is set aside; the batches go on at the provider."""
        for purse in self._purses.values():
            purse.close()

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
        for record in self._book.of_status("open"):
            if self._desk.stopped:
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
            record = self._book.change(record, provider_status=state.status)
        if results is None:
            self._give_up(record)
        elif state.is_ended:
            await self._collect(record, state, results)
        return state

    def _give_up(self, record: BatchRecord) -> None:
        """Closes a batch of which the provider has nothing any more."""
        self._purses[record.number].write_off(record.worst_usd)
        self._notice(
            f"{record.backend}: the provider knows no batch {record.batch_id} any more; its "
            f"{record.requests} requests may have been paid. {self._what_then}"
        )
        self.tried.update(self._book.ids(record))
        self._close(record)
        self._book.change(record, status="lost", ended=now())

    async def _collect(self, record: BatchRecord, state: BatchState, results: BatchResults) -> None:
        answered, failed = self._progress.answered, self._progress.failed

        def on_step(found: Collected) -> None:
            self._progress.answered = answered + found.answered
            self._progress.failed = failed + found.failed
            self._tell("collecting")

        ids = self._book.ids(record)
        if state.is_full:
            self.queue_was_full = True  # asked again when others have ended
        else:
            self.tried.update(ids)
        purse = self._purses[record.number]
        found = await self._collector.collect(record, ids, results, purse, on_step)
        self._close(record)
        self._book.change(
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
        self._purses.pop(record.number).close()
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
