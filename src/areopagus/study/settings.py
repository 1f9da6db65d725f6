"""What an organiser can set of a study, and what of it cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import InputFault

MOST_LABELS = 26
MOST_RATERS = 2000


@dataclass(frozen=True, slots=True)
class RatingSettings:
    """The design of a rating study (task 2).

    Attributes:
        per_packet: responses a rater sees of a prompt, k.
        humans: how many of them people wrote.
        per_prompt: raters of each prompt; None for ten, or all where there are fewer.
        per_session: most prompts a sitting.
        pause_minutes: minutes between two sittings; 0 for none.
        rotate: whether each rater of a prompt sees other human responses.
        normal: whether texts are brought into the plain form.
        title: shown to raters.
        instructions: shown to raters above the rubric; "" for the built-in ones.
    """

    per_packet: int = 6
    humans: int = 3
    per_prompt: int | None = None
    per_session: int = 5
    pause_minutes: int = 30
    rotate: bool = True
    normal: bool = True
    title: str = "Rating responses"
    instructions: str = ""

    @property
    def models(self) -> int:
        """Responses of models in a packet."""
        return self.per_packet - self.humans

    def faults(self) -> Iterator[InputFault]:
        """Everything that cannot be."""
        yield from _whole("per_packet", self.per_packet, 2, MOST_LABELS)
        yield from _whole("humans", self.humans, 0, max(self.per_packet, 0))
        if self.per_prompt is not None:
            yield from _whole("per_prompt", self.per_prompt, 1, MOST_RATERS)
        yield from _shared(self.title, self.per_session, self.pause_minutes)


@dataclass(frozen=True, slots=True)
class WritingSettings:
    """The design of a writing study (task 1).

    Attributes:
        per_prompt: writers of each prompt; None for ten, or all where there are fewer.
        minutes: time for a prompt; 0 for no limit.
        words: words aimed at.
        per_session: most prompts a sitting.
        pause_minutes: minutes between two sittings; 0 for none.
        title: shown to writers.
        instructions: shown to writers; "" for the built-in ones.
    """

    per_prompt: int | None = None
    minutes: int = 30
    words: int = 400
    per_session: int = 5
    pause_minutes: int = 30
    title: str = "Writing responses"
    instructions: str = ""

    def faults(self) -> Iterator[InputFault]:
        """Everything that cannot be."""
        if self.per_prompt is not None:
            yield from _whole("per_prompt", self.per_prompt, 1, MOST_RATERS)
        yield from _whole("minutes", self.minutes, 0, 24 * 60)
        yield from _whole("words", self.words, 1, 20_000)
        yield from _shared(self.title, self.per_session, self.pause_minutes)


def _shared(title: str, per_session: int, pause_minutes: int) -> Iterator[InputFault]:
    yield from _whole("per_session", per_session, 1, 1000)
    yield from _whole("pause_minutes", pause_minutes, 0, 30 * 24 * 60)
    if not title.strip() or len(title) > 200:
        yield InputFault("settings", "must have 1 to 200 characters", "title")


def _whole(name: str, value: int, low: int, high: int) -> Iterator[InputFault]:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        yield InputFault("settings", f"must be a whole number from {low} to {high}, got {value!r}",
                         name)  # fmt: skip
