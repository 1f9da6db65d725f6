"""`BatchSettings`, the options of batch mode, and `BatchProgress`, how far its batches are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

from ..errors import InputError, InputFault, visible_text

FIRST_PAUSE_S = 15.0
LONGEST_PAUSE_S = 300.0
PAUSE_GROWTH = 1.5


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """What a user may say about batches.

    Attributes:
        poll_s: seconds between two looks at the provider; None = 15 at first, then longer and
            longer up to 300.
        only: nothing is asked online but what teaches the form of replies: what a batch does not
            answer has failed.
        discount: share of the usual price that batches are cheaper by, in [0, 1): 0.5 for half
            the price. It goes before the prices listed; None = as listed, unknown where not.
    """

    poll_s: float | None = None
    only: bool = False
    discount: float | None = None

    def __post_init__(self) -> None:
        """Refuses what makes no sense.

        Raises:
            InputError: with all faults.
        """
        faults: list[InputFault] = []
        if self.poll_s is not None and not (math.isfinite(self.poll_s) and self.poll_s > 0):
            faults.append(
                InputFault("batch_poll", f"must be seconds greater than 0, got {self.poll_s}")
            )
        if self.discount is not None and not 0 <= self.discount < 1:
            faults.append(
                InputFault("batch_discount", f"must be from 0 to less than 1, got {self.discount}")
            )
        if faults:
            raise InputError(faults)

    def pause_after(self, looks: int) -> float:
        """Seconds to wait after so many looks that found nothing new (from 0)."""
        if self.poll_s is not None:
            return self.poll_s
        return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * PAUSE_GROWTH ** min(looks, 20))


@dataclass(slots=True)
class BatchProgress:
    """How far the batches of a run are.

    Attributes:
        phase: what is being done.
        open_batches: submitted and not collected.
        requests: in the open batches.
        done: of these, what the providers say is done.
        answered, failed: lines collected so far, of all batches of this session.
        trouble: why the last look at a provider failed; None when it did not.
        elapsed_s: seconds since the stage began.
    """

    phase: str = "planning"
    open_batches: int = 0
    requests: int = 0
    done: int = 0
    answered: int = 0
    failed: int = 0
    trouble: str | None = None
    elapsed_s: float = 0.0


def batch_sentence(progress: BatchProgress) -> str:
    """The progress in one line of plain text; what providers said is made harmless for it."""
    parts = [progress.phase]
    if progress.open_batches:
        parts.append(
            f"{progress.open_batches} batches, {progress.done:,} of {progress.requests:,} done"
        )
    if progress.answered or progress.failed:
        parts.append(f"{progress.answered:,} answered, {progress.failed:,} not")
    parts.append(str(timedelta(seconds=round(progress.elapsed_s))))
    if progress.trouble:
        parts.append(f"trying again: {visible_text(progress.trouble)}")
    return " · ".join(parts)
