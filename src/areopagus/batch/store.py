"""The record of a run's batches: `batches.json` in its folder, and beside it the ids of each batch.

A batch stands here before anything is asked, so that a run that is killed at any moment knows what
it has bought and asks for none of it a second time. No text and no key of a provider is in it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import InputError, InputFault
from ..judges.models.request import ResponseFormat
from ..records.run_folder import replaced, unwritable
from .eligible import Planned
from .providers import BatchProvider, ProviderKind

BATCHES_FILE = "batches.json"
_IDS = "batch-{:04}.ids"
_INPUT = ".batch-input-"

BatchStatus = Literal["uploading", "creating", "open", "collected", "dropped", "lost"]
"""uploading: the file goes up, nothing is asked yet. creating: the provider is told to ask. open:
it has said that it will. collected: all results are in the ledger. dropped: nothing was asked.
lost: nobody knows whether it was, or the provider knows no more of it."""


class BatchRecord(BaseModel):
    """One batch."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    number: int = Field(ge=1)
    backend: str
    provider: ProviderKind
    structured: ResponseFormat
    status: BatchStatus
    file_id: str | None = None
    batch_id: str | None = None
    requests: int = Field(ge=0)
    first_row: int = Field(ge=0)
    last_row: int = Field(ge=0)
    ids_sha256: str
    worst_usd: float | None = None
    created: str
    ended: str | None = None
    provider_status: str | None = None
    answered: int = 0
    failed: int = 0
    faults: dict[str, int] = Field(default_factory=dict)


class _Content(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    batches: tuple[BatchRecord, ...] = ()


class BatchStore:
    """The batches of a run folder. The folder is locked by whoever uses this."""

    def __init__(self, folder: Path, records: Sequence[BatchRecord]) -> None:
        self.folder = folder
        self._records = {record.number: record for record in records}

    @classmethod
    def open(cls, folder: Path) -> BatchStore:
        """The store of a folder, empty where it has none; sweeps what a killed run left of texts.

        Raises:
            InputError: it cannot be read.
        """
        for pattern in (f"{_INPUT}*", f".{BATCHES_FILE}.*"):
            for left in folder.glob(pattern):
                with suppress(OSError):
                    left.unlink()
        return cls(folder, _read(folder / BATCHES_FILE))

    @property
    def records(self) -> tuple[BatchRecord, ...]:
        """All batches, in the order of their submission."""
        return tuple(self._records.values())

    def of_status(self, *status: BatchStatus) -> list[BatchRecord]:
        """The batches that stand so."""
        return [record for record in self._records.values() if record.status in status]

    def input_path(self, number: int) -> Path:
        """Where requests to one backend are gathered; whoever makes the file removes it."""
        return self.folder / f"{_INPUT}{number}.jsonl"

    def add(self, ids: Sequence[str], **values: Any) -> BatchRecord:
        """Enters a batch of these requests; its number, size, hash and time are set here.

        Raises:
            StoreError: the folder cannot be written, so nothing must be submitted.
        """
        text = "".join(f"{name}\n" for name in ids)
        record = BatchRecord(
            number=max(self._records, default=0) + 1,
            requests=len(ids),
            ids_sha256=hashlib.sha256(text.encode()).hexdigest(),
            created=_now(),
            **values,
        )
        with replaced(self._ids_path(record), durable=True) as part:
            part.write_text(text, encoding="ascii")
        self._records[record.number] = record
        self._write()
        return record

    def change(self, record: BatchRecord, **values: object) -> BatchRecord:
        """Enters what is new about a batch; when it ended is set here, and its ids go.

        Raises:
            StoreError: the folder cannot be written.
        """
        has_ended = values.get("status") in ("collected", "dropped", "lost")
        if has_ended:
            values["ended"] = _now()
        changed = record.model_copy(update=values)
        self._records[record.number] = changed
        self._write()
        if has_ended:
            with suppress(OSError):
                self._ids_path(changed).unlink()
        return changed

    def ids(self, record: BatchRecord) -> list[str]:
        """The ids of a batch's requests.

        Raises:
            InputError: they are gone, or are not those that were submitted.
        """
        path = self._ids_path(record)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise _unreadable(path, str(error.strerror or error)) from error
        if hashlib.sha256(content).hexdigest() != record.ids_sha256:
            raise _unreadable(path, "it is not what was written")
        return content.decode("ascii").split()

    def _ids_path(self, record: BatchRecord) -> Path:
        return self.folder / _IDS.format(record.number)

    def _write(self) -> None:
        path = self.folder / BATCHES_FILE
        content = _Content(batches=self.records)
        with replaced(path, durable=True) as part:
            part.write_text(content.model_dump_json(indent=2) + "\n", encoding="utf-8")


def open_batches(folder: str | Path) -> tuple[BatchRecord, ...]:
    """Batches of a run folder that the provider may still be at work on.

    Raises:
        InputError: `batches.json` cannot be read.
    """
    records = _read(Path(folder) / BATCHES_FILE)
    return tuple(record for record in records if record.status in ("creating", "open"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read(path: Path) -> tuple[BatchRecord, ...]:
    try:
        return _Content.model_validate_json(path.read_bytes()).batches
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _unreadable(path, str(error.strerror or error)) from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise _unreadable(path, f"{where}: {first['msg']}" if where else first["msg"]) from error


def _unreadable(path: Path, why: str) -> InputError:
    return InputError(
        [InputFault(str(path), f"cannot be used: {why}")],
        hint="It says which batches this run has bought. Without it they are asked for again: "
        "restore it, or choose another folder as `out`.",
    )


class BatchFile:
    """Requests to one backend, gathered until they are a batch.

    Attributes:
        provider: who takes it.
        ids: `custom_id` of each request, in order.
        bytes: size of the file.
        worst_usd: what the requests and their repairs cost at most; None = unknown.
        first_row, last_row: the responses that it is about lie between these.
    """

    def __init__(self, path: Path, provider: BatchProvider) -> None:
        """Makes the file.

        Raises:
            StoreError: it cannot be made.
        """
        self.path = path
        self.provider = provider
        self.ids: list[str] = []
        self.bytes = 0
        self.worst_usd: float | None = 0.0
        self.first_row = self.last_row = 0
        try:
            # Texts stand in it: for nobody else to read, whatever the umask says.
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except OSError as error:
            raise unwritable(path, error) from error
        self._file: BinaryIO = os.fdopen(handle, "wb")

    def has_room_for(self, line: bytes) -> bool:
        """Whether the provider takes one more request of this size."""
        envelope = 64  # what stands around all requests
        return (
            len(self.ids) < self.provider.most_requests
            and self.bytes + len(line) + envelope <= self.provider.most_bytes
        )

    def add(self, item: Planned, line: bytes, worst_usd: float | None) -> None:
        """Takes one more request in.

        Raises:
            StoreError: the disk is full.
        """
        try:
            self._file.write(line)
        except OSError as error:
            raise unwritable(self.path, error) from error
        if not self.ids:
            self.first_row = item.row
        self.last_row = item.row
        self.ids.append(item.custom_id)
        self.bytes += len(line)
        self.worst_usd = (
            None if self.worst_usd is None or worst_usd is None else self.worst_usd + worst_usd
        )

    def seal(self) -> None:
        """Writes what is pending.

        Raises:
            StoreError: the disk is full.
        """
        try:
            self._file.close()
        except OSError as error:
            raise unwritable(self.path, error) from error

    def remove(self) -> None:
        """Deletes the file."""
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
