"""Handing a batch over: noted before it goes, found again where nobody knows whether it arrived."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..errors import ProviderError
from ..judges.backend import Backend
from ..judges.desk import Desk
from ..judges.faults import TRANSIENT
from ..judges.limits import StoppedError
from ..judges.spec import Rung
from .book import BatchBook, BatchRecord, now
from .parcel import Parcel
from .providers import BatchProvider

ATTEMPTS = 5
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0

Result = TypeVar("Result")


class Submitter:
    """Submits the batches of one run."""

    def __init__(self, book: BatchBook, desk: Desk, on_notice: Callable[[str], None]) -> None:
        self._book = book
        self._desk = desk
        self._notice = on_notice

    async def submit(self, backend: Backend, rung: Rung, parcel: Parcel) -> BatchRecord:
        """The record of the batch, which is with the provider when this returns.

        Raises:
            ProviderError: there is no batch; with `may_be_billed` there may be one that nobody
                can look at.
            StoppedError: the run is stopping; there is no batch.
            StoreError: the folder cannot be written; nothing was asked.
        """
        record = self._book.add(
            BatchRecord(
                number=1,
                backend=backend.spec.name,
                provider=parcel.provider.kind,
                structured=rung,
                status="uploading",
                requests=len(parcel.ids),
                first_row=parcel.first_row,
                last_row=parcel.last_row,
                ids_sha256="",
                worst_usd=parcel.worst_usd,
                created=now(),
            ),
            parcel.ids,
        )
        try:
            file_id = await self._patiently(
                backend, lambda: parcel.provider.upload(parcel.path), asks=False
            )
            record = self._book.change(record, status="creating", file_id=file_id)
            batch_id = await self._create(backend, parcel, file_id)
        except (ProviderError, StoppedError) as error:
            is_lost = isinstance(error, ProviderError) and error.may_be_billed
            self._book.change(record, status="lost" if is_lost else "dropped", ended=now())
            raise
        counts = self._desk.counts
        counts.sent += len(parcel.ids)
        counts.attempts += len(parcel.ids)
        counts.in_batches += len(parcel.ids)
        counts.batches += 1
        return self._book.change(record, status="open", batch_id=batch_id)

    async def settle(self, record: BatchRecord, provider: BatchProvider | None) -> None:
        """Finds out what became of a submission during which the process was killed."""
        if record.status == "uploading":
            self._book.change(record, status="dropped", ended=now())
            return
        is_told, batch_id = False, None
        if provider is not None:
            try:
                is_told, batch_id = await provider.find(record.file_id)
            except ProviderError:
                is_told = False
        if batch_id is not None:
            self._book.change(record, status="open", batch_id=batch_id)
        elif is_told:
            self._book.change(record, status="dropped", ended=now())
        else:
            self._book.change(record, status="lost", ended=now())
            self._desk.counts.repeated += record.requests
            self._notice(
                f"{record.backend}: an earlier process ended while it submitted a batch of "
                f"{record.requests} requests. Nobody can tell whether it arrived; they are asked "
                "again and may be paid twice."
            )

    async def _create(self, backend: Backend, parcel: Parcel, file_id: str | None) -> str:
        provider = parcel.provider
        try:
            return await self._patiently(
                backend, lambda: provider.create(parcel.path, file_id), asks=True
            )
        except ProviderError as error:
            if not error.may_be_billed:
                raise
            try:
                is_told, batch_id = await provider.find(file_id)
            except ProviderError:
                is_told, batch_id = False, None
            if batch_id is not None:
                return batch_id
            if not is_told:
                raise
            raise ProviderError(error.fault, error.detail, status=error.status) from error

    async def _patiently(
        self, backend: Backend, call: Callable[[], Awaitable[Result]], *, asks: bool
    ) -> Result:
        """The call's result; it is made again after faults that pass and cost nothing."""
        limiter = self._desk.limiter(backend)
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
