"""Data that a page carries compressed: chunks of gzipped JSON in base64, unpacked by its script."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

CHUNK_CHARS = 400_000
"""Characters of JSON from which on a chunk is closed: a view unpacks one, in some milliseconds."""


def packed(value: Any) -> str:
    """The value as gzipped JSON in base64: letters, digits, "+", "/" and "=" alone.

    Nothing in it can end the element that holds it, whatever the texts say. The same value gives
    the same characters.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # "surrogatepass" keeps a lone surrogate from ending the page; the browser shows it replaced.
    raw = text.encode("utf-8", "surrogatepass")
    return base64.b64encode(gzip.compress(raw, compresslevel=6, mtime=0)).decode("ascii")


@dataclass(slots=True)
class ChunkedStream:
    """Items in their order, packed into chunks until a limit is reached.

    Attributes:
        most_chars: characters of packed chunks that are kept; None = all.
        chunks: (place of its first item, packed list of items).
        n_items: items handed in.
        n_kept: items in the chunks: the first ones.
    """

    most_chars: int | None = None
    chunks: list[tuple[int, str]] = field(default_factory=list)
    n_items: int = 0
    n_kept: int = 0
    _open: list[Any] = field(default_factory=list)
    _open_chars: int = 0
    _chars: int = 0
    _is_full: bool = False

    def add(self, item: Any, size: int) -> None:
        """One more item; `size` is about its characters of JSON."""
        self.n_items += 1
        if self._is_full:
            return
        self._open.append(item)
        self._open_chars += size
        if self._open_chars >= CHUNK_CHARS:
            self._close_chunk()

    def finish(self) -> None:
        """Closes the last chunk."""
        if self._open and not self._is_full:
            self._close_chunk()

    def limited(self, most_chars: int) -> ChunkedStream:
        """The finished stream cut to so many packed characters."""
        kept = ChunkedStream(most_chars, n_items=self.n_items)
        for position, (start, text) in enumerate(self.chunks):
            if kept.packed_chars + len(text) > most_chars:
                break
            kept.chunks.append((start, text))
            later = self.chunks[position + 1 :]
            kept.n_kept = later[0][0] if later else self.n_kept
        return kept

    @property
    def packed_chars(self) -> int:
        """Characters of all chunks kept."""
        return sum(len(text) for _, text in self.chunks)

    def is_cut(self, n_items: int) -> bool:
        """Whether items were handed in and fewer than `n_items` of them are kept."""
        return self.n_items > 0 and self.n_kept < n_items

    @property
    def starts(self) -> list[int]:
        """Place of the first item of each chunk."""
        return [start for start, _ in self.chunks]

    def _close_chunk(self) -> None:
        text = packed(self._open)
        if self.most_chars is not None and self._chars + len(text) > self.most_chars:
            self._is_full = True
        else:
            self.chunks.append((self.n_kept, text))
            self.n_kept += len(self._open)
            self._chars += len(text)
        self._open, self._open_chars = [], 0


def elements(name: str, streams: dict[str, ChunkedStream]) -> Iterator[tuple[str, str]]:
    """(element id, packed text) of every chunk of a table's streams."""
    for stream_name, stream in streams.items():
        for position, (_, text) in enumerate(stream.chunks):
            yield f"{name}-{stream_name}-{position}", text


def rounded(values: Sequence[float | None], digits: int = 4) -> list[float | int | None]:
    """Numbers as short as JSON can say them; nan and infinite ones as None."""
    found: list[float | int | None] = []
    for value in values:
        if value is None or not math.isfinite(value):
            found.append(None)
        elif value == (whole := int(value)):  # votes are whole: most values are
            found.append(whole)
        else:
            short = round(value, digits)
            found.append(int(short) if short == int(short) else short)
    return found
