"""Which pages a rater may open now: sittings, the pause between them, and the time to write in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .files import Packet, StudyFile
from .store import SavedPage

GRACE_S = 20.0
"""Seconds after the end of the time in which a last save still counts: the network's, not ours."""

PageState = Literal["done", "started", "new", "later"]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a rater stands.

    Attributes:
        states: state of each page, in order.
        session: the sitting that is open, or that comes next.
        opens_in_s: seconds until it opens; 0 where it is open.
        is_finished: whether all pages are done.
    """

    states: tuple[PageState, ...]
    session: int
    opens_in_s: float
    is_finished: bool


def progress(
    study: StudyFile, packets: Sequence[Packet], saved: Mapping[int, SavedPage], now: float
) -> Progress:
    """Returns where a rater stands; `packets` in the rater's order, `saved` by page number."""
    done_at = {
        packet.number: ended(study, saved[packet.number], now)
        for packet in packets
        if packet.number in saved
    }
    session, opens_at = 1, 0.0
    for number in sorted({packet.session for packet in packets}):
        session = number
        ends = [done_at.get(packet.number) for packet in packets if packet.session == number]
        known = [end for end in ends if end is not None]
        if len(known) < len(ends):
            break
        opens_at = max(known) + 60.0 * study.pause_minutes
    is_finished = all(done_at.get(packet.number) is not None for packet in packets)
    waits = max(0.0, opens_at - now) if not is_finished else 0.0
    # A sitting that was begun stays open, whatever becomes of the one before.
    if any(p.session == session and p.number in saved for p in packets):
        waits = 0.0
    states: list[PageState] = []
    for packet in packets:
        if done_at.get(packet.number) is not None:
            states.append("done")
        elif packet.number in saved:
            states.append("started")
        elif packet.session > session or (packet.session == session and waits > 0):
            states.append("later")
        else:
            states.append("new")
    return Progress(tuple(states), session, waits, is_finished)


def seconds_left(study: StudyFile, page: SavedPage, now: float) -> float | None:
    """Returns the time left to write in, at least 0; None where there is no limit or no start."""
    if study.kind != "writing" or not study.minutes or page.opened_at is None:
        return None
    return max(0.0, page.opened_at + 60.0 * study.minutes - now)


def ended(study: StudyFile, page: SavedPage, now: float) -> float | None:
    """Returns when the page was done: by the rater, or because the time was up; None if not yet."""
    if page.done_at is not None:
        return page.done_at
    if seconds_left(study, page, now - GRACE_S) == 0.0 and page.opened_at is not None:
        return page.opened_at + 60.0 * study.minutes
    return None
