"""Submits batches so that none is lost and none is bought twice, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TypeVar

from ..errors import ProviderError
from ..judges.models.client import Client
from ..judges.models.provider_errors import TRANSIENT
from ..judges.models.rate_limit import StoppedError
from .providers import BatchProvider
from .store import BatchFile, BatchRecord, BatchStore

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

    async def submit(self, file: BatchFile) -> BatchRecord:
        """The record of the batch, which is with the provider when this returns.

        Raises:
            ProviderError: there is no batch; with `may_be_billed` there may be one that nobody
                can look at.
            StoppedError: the run is stopping; there is no batch.
            StoreError: the folder cannot be written; nothing was asked.
        """
        provider = file.provider
        record = self._store.add(
            file.ids,
            backend=provider.backend.spec.name,
            provider=provider.kind,
            structured=provider.response_format,
            status="uploading",
            first_row=file.first_row,
            last_row=file.last_row,
            worst_usd=file.worst_usd,
        )
        try:
            file_id = await self._patiently(lambda: provider.upload(file.path), asks=False)
            record = self._store.change(record, status="creating", file_id=file_id)
            batch_id = await self._patiently(lambda: provider.create(file.path, file_id), asks=True)
        except StoppedError:
            self._store.change(record, status="dropped")
            raise
        except ProviderError as error:
            if record.status == "creating" and error.may_be_billed:
                batch_id = await self._made_after_all(provider, record, error)
            else:
                self._store.change(record, status="dropped")
                raise _unpaid(error) from error
        counts = self._client.counts
        counts.sent += len(file.ids)
        counts.attempts += len(file.ids)
        counts.in_batches += len(file.ids)
        counts.batches += 1
        return self._store.change(record, status="open", batch_id=batch_id)

    async def settle(self, record: BatchRecord, provider: BatchProvider | None) -> None:
        """Finds out what became of a submission during which the process ended.

        Raises:
            ProviderError: the provider could not be asked.
            StoppedError: the run is stopping; the next one has to find out.
        """
        if record.status == "uploading":
            self._store.change(record, status="dropped")
            return
        is_told, batch_id = False, None
        if provider is not None:
            is_told, batch_id = await self._found(provider, record)
        if batch_id is not None:
            self._store.change(record, status="open", batch_id=batch_id)
        elif is_told:
            self._store.change(record, status="dropped")
        else:
            self._store.change(record, status="lost")
            self._client.counts.repeated += record.requests
            self._client.reservation().write_off(record.worst_usd)
            self._notice(
                f"{record.backend}: an earlier process ended while it submitted a batch of "
                f"{record.requests} requests. Nobody can tell whether it arrived; they are asked "
                "again and may be paid twice."
            )

    async def _made_after_all(
        self, provider: BatchProvider, record: BatchRecord, error: ProviderError
    ) -> str:
        """The id of a batch whose creation was answered with trouble.

        Raises:
            ProviderError: there is none; with `may_be_billed` nobody can tell.
            StoppedError: the run is stopping; the next one has to find out.
        """
        try:
            is_told, batch_id = await self._found(provider, record)
        except ProviderError:
            is_told, batch_id = False, None
        if batch_id is not None:
            return batch_id
        self._store.change(record, status="dropped" if is_told else "lost")
        raise _unpaid(error) if is_told else error

    async def _found(self, provider: BatchProvider, record: BatchRecord) -> tuple[bool, str | None]:
        """Whether it can be told if there is a batch, and its id.

        A batch that is not listed may still be in the making, where its creation timed out or broke
        off: that there is none is believed after some looks only.

        Raises:
            ProviderError: the last look failed, for a reason that may pass or be mended.
            StoppedError: the run is stopping.
        """
        since = datetime.fromisoformat(record.created)
        trouble: ProviderError | None = None
        for pause_s in (0.0, *LOOK_AGAIN_S):
            await self._client.pause(pause_s)
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

    async def _patiently(self, call: Callable[[], Awaitable[Result]], *, asks: bool) -> Result:
        """The call's result; it is made again after faults that pass and cost nothing."""
        for attempt in range(ATTEMPTS - 1):
            try:
                return await call()
            except ProviderError as error:
                if error.fault not in TRANSIENT or (asks and error.may_be_billed):
                    raise
                wait = error.retry_after_s or _FIRST_PAUSE_S * 2**attempt
            await self._client.pause(min(wait, _LONGEST_PAUSE_S))
        return await call()


def _unpaid(error: ProviderError) -> ProviderError:
    """The same fault, of a submission that came to no batch."""
    return ProviderError(error.fault, error.detail, status=error.status)
