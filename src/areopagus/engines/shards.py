"""How the responses of a run are cut into shards."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..graphs.state import Bench
from ..records.readers.responses import ResponseRow
from ..scoring import window_for

LARGEST = 256


@dataclass(frozen=True, slots=True)
class Shard:
    """Some neighbouring responses of the input.

    Attributes:
        number: from 0.
        rows: the responses.
        repeated: for each, whether its respondent gives the same text to another prompt too.
        questions: digests of what judges are asked about, prompt and text: where another shard has
            the same, whoever wrote it, the calls are the same, and one of the two should make them.
    """

    number: int
    rows: tuple[ResponseRow, ...]
    repeated: tuple[bool, ...]
    questions: frozenset[bytes]


def shard_size(bench: Bench, processors: int) -> int:
    """Responses in a shard: four times what a process keeps in flight, so that starts and ends
    of shards, at which it has less to do, are a small part.

    Limits are those of the run, so that each of many processes keeps its part of them in flight:
    shards for all of it would be too few to go round.
    """
    return min(LARGEST, 4 * -(-window_for(bench) // processors))


def cut(
    rows: Iterable[ResponseRow], *, size: int, is_repeated: Callable[[ResponseRow], bool]
) -> Iterator[Shard]:
    """The rows in shards of this size, in order."""
    waiting: list[ResponseRow] = []
    number = 0
    for row in rows:
        waiting.append(row)
        if len(waiting) == size:
            yield _shard(number, waiting, is_repeated)
            number, waiting = number + 1, []
    if waiting:
        yield _shard(number, waiting, is_repeated)


def _shard(
    number: int, rows: list[ResponseRow], is_repeated: Callable[[ResponseRow], bool]
) -> Shard:
    repeated = tuple(is_repeated(row) for row in rows)
    # Nobody is asked about a response without text, however many there are.
    questions = frozenset(_question(row) for row in rows if row.response_text.strip())
    return Shard(number, tuple(rows), repeated, questions)


def _question(row: ResponseRow) -> bytes:
    prompt = hashlib.sha256(row.prompt_text.encode("utf-8", "surrogatepass")).digest()
    return hashlib.sha256(prompt + row.response_text.encode("utf-8", "surrogatepass")).digest()
