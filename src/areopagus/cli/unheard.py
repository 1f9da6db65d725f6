"""Output whose reader has gone, as in `areopagus score … | head`.

A closed pipe ends a process at its next line. A job that is being paid for must go on instead, and
leave with the exit code that it has earned.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Unheard(io.FileIO):
    """A descriptor whose writes count as written when nobody reads them any more."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def outlive_readers() -> None:
    """Lets the process's own standard streams outlive their readers; terminals stay as they are."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        own = stream is getattr(sys, f"__{name}__")
        if own and isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            setattr(sys, name, _outliving(stream))


def _outliving(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Unheard(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
