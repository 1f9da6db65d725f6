"""The progress line of a job of several stages."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from .display import console, dollars, duration

if TYPE_CHECKING:
    from ..experiment.job import StageProgress

_EVERY_S = 0.1


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
