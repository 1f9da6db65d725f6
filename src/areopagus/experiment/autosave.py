"""`Autosave`: a record on disk is never long behind what it tells of."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from ..errors import StoreError

NOTE_EVERY_S = 5.0
"""A job notes what it has spent so often, so that a kill takes no more than that off the record."""


class Autosave:
    """Writes a record anew when it is old and something has changed; used on one event loop.

    A change soon after the last writing is written too, when its time has come: a run may wait for
    minutes after it.
    """

    def __init__(self, write: Callable[[], None]) -> None:
        """Takes what writes the record; where it fails, the last record stands."""
        self._write = write
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """From now on changes are written; the record was written just now."""
        self._due = time.monotonic() + NOTE_EVERY_S

    def end(self) -> None:
        """Nothing is written any more."""
        self._due = None
        self._forget_timer()

    def changed(self) -> None:
        """Says that the record tells less than there is."""
        if self._due is None:
            return
        left = self._due - time.monotonic()
        if left <= 0:
            self._renew()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(left, self._renew)

    def _renew(self) -> None:
        self._forget_timer()
        if self._due is not None:
            self.begin()
            with suppress(OSError, StoreError):  # the last record says so if it cannot be written
                self._write()

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
