"""The judgments of a run as the panel would ask for them: the same requests, the same keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..graphs.screening import screen
from ..judges.judge import Judge
from ..judges.models.request import Request, Rung
from ..records.readers.responses import ResponseRow
from ..scoring import matter_of

if TYPE_CHECKING:
    from ..panel import Panel

_ID_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Planned:
    """One judgment that a batch may answer.

    Attributes:
        row: place of its response in the source, from 0.
        judge: who judges.
        request: what is asked.
    """

    row: int
    judge: Judge
    request: Request

    @property
    def key(self) -> str:
        """The ledger's key."""
        return self.request.key()

    @property
    def custom_id(self) -> str:
        """What the provider gives back with the answer: 128 bits of the key, nothing of a text."""
        return custom_id_of(self.key)


def custom_id_of(key: str) -> str:
    """The id of a request in a batch."""
    return key[:_ID_DIGITS]


def planned_judgments(
    panel: Panel,
    rows: Iterable[ResponseRow],
    rungs: Mapping[str, Rung],
    *,
    first_row: int = 0,
    last_row: int | None = None,
    whole: bool = False,
) -> Iterator[list[Planned]]:
    """What the panel would ask about each response; those that the screen closes are left out.

    Args:
        panel: who judges.
        rows: the responses, all of them.
        rungs: backend name to the form of structured output; other backends are left out.
        first_row, last_row: only the responses between these places, both included.
        whole: also what a rule would not have asked yet, as an earlier run may have done.
    """
    for number, row in enumerate(rows):
        if number < first_row:
            continue
        if last_row is not None and number > last_row:
            return
        found = judgments_on(panel, number, row, rungs, whole=whole)
        if found:
            yield found


def judgments_on(
    panel: Panel,
    number: int,
    row: ResponseRow,
    rungs: Mapping[str, Rung],
    *,
    whole: bool = False,
) -> list[Planned]:
    """What the panel would ask about one response, in the order of the plan.

    Where a rule says when enough are asked, those that are asked whatever the answers, unless
    `whole` is set: the rest is up to the ordinary run.
    """
    bench, matter = panel.bench, matter_of(row)
    if screen(matter.response, most_characters=bench.most_characters).gate:
        return []
    seats: dict[str, list[tuple[Judge, int]]] = {}
    keys: dict[str, list[str]] = {}
    for key in bench.planned() if whole else bench.first_calls(matter.response_id):
        judge, repeat = bench.seat(key)
        if judge.model in rungs:
            seats.setdefault(judge.model, []).append((judge, repeat))
            keys.setdefault(judge.model, []).append(key)
    found: list[Planned] = []
    for model, taken in seats.items():
        # Marks for the provider's cache, where the ordinary run would set them.
        shares = taken[0][0].goes_first(
            panel.brief, matter, calls=bench.calls_that_share(keys[model])
        )
        for judge, repeat in taken:
            request = judge.requests(
                panel.brief,
                matter,
                secret=panel.ledger.secret,
                repeat=repeat,
                rung=rungs[model],
                shares=shares,
            )
            found.append(Planned(number, judge, request))
    return found
