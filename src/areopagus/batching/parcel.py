"""The requests of one batch on their way: a file that only its owner can read, gone afterwards."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ..records.run_folder import unwritable
from .plan import Planned
from .providers import BatchProvider


class Parcel:
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
