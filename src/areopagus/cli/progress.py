"""The progress lines of jobs: how far, how fast, what came of it, what it cost, how long."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from .display import console, dollars, duration, visible

if TYPE_CHECKING:
    from ..experiment.job import StageProgress
    from ..experiment.respond import RespondResult
    from ..experiment.score import Progress


_EVERY_S = 0.1


class ProgressLine:
    """Shown on a terminal's stderr while a job runs; silent elsewhere."""

    def __init__(self, *, unit: str, quiet: bool = False) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        screen = console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.completed}/{task.total} " + unit),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[said]}"),
            console=screen,
            transient=True,
            disable=quiet or not screen.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, said="")
        self._last = 0.0
        self._began = time.monotonic()

    def __enter__(self) -> ProgressLine:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """Shows a sentence in the place of the counts, for as long as there are none."""
        now = time.monotonic()
        if now - self._last < _EVERY_S:
            return
        self._last = now
        self._bar.update(self._task, said=visible(text))

    def update(self, progress: Progress) -> None:
        """Takes the newest state; draws at most ten times a second."""
        now = time.monotonic()
        if now - self._last < _EVERY_S and progress.done < progress.total:
            return
        self._last = now
        counts = progress.counts
        troubled = counts["failed"] + counts["unreadable"] + counts["refused"]
        rate = progress.sent / progress.elapsed_s if progress.elapsed_s > 0 else 0.0
        left = (
            duration(progress.elapsed_s / progress.done * (progress.total - progress.done))
            if progress.done
            else "–"
        )
        unasked = counts["not_asked"]
        said = (
            f"{counts['scored']} scored, {troubled} not"
            + (f", {unasked} not asked" if unasked else "")
            + f" · {rate:.0f} calls/s · "
            f"{dollars(progress.spent_usd)} · {left} left"
        )
        self._bar.update(self._task, completed=progress.done, total=progress.total, said=said)

    def update_answers(self, result: RespondResult) -> None:
        """Takes the newest state of target models' answers; draws as often."""
        now, counts = time.monotonic(), result.counts
        troubled = counts.empty + counts.refused + counts.failed
        done = counts.answered + troubled + counts.not_asked
        if now - self._last < _EVERY_S and done < counts.planned:
            return
        self._last = now
        rate = result.sent / max(now - self._began, 1e-9)
        said = f"{counts.answered} answered, {troubled} not · {rate:.1f} calls/s · "
        said += dollars(result.spent_usd)
        self._bar.update(self._task, completed=done, total=counts.planned, said=said)


class StageLine:
    """Shown on a terminal's stderr while a job runs; silent elsewhere."""

    def __init__(self, *, quiet: bool = False) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        screen = console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.fields[stage]}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[said]}"),
            console=screen,
            transient=True,
            disable=quiet or not screen.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, said="", stage="preparing")
        self._last = 0.0

    def __enter__(self) -> StageLine:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def update(self, progress: StageProgress) -> None:
        """Takes the newest state; draws at most ten times a second."""
        now = time.monotonic()
        if now - self._last < _EVERY_S and progress.done < progress.total:
            return
        self._last = now
        elapsed, done = progress.elapsed_s, progress.done
        rate = progress.stage_sent / elapsed if elapsed > 0 else 0.0
        left = duration(elapsed / done * (progress.total - done)) if done else "–"
        trouble = f"{progress.troubled} not · " if progress.troubled else ""
        said = f"{trouble}{rate:.0f} calls/s · {dollars(progress.spent_usd)} · {left} left"
        self._bar.update(
            self._task,
            completed=done,
            total=progress.total,
            said=said,
            stage=f"{progress.number}/{progress.stages} {progress.stage} {done}/{progress.total}",
        )
