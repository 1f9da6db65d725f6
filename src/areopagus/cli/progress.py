"""The progress line of a job: how far, how fast, what came of it, what it cost, how long."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from ..errors import visible_text
from ..formats import dollars, duration

if TYPE_CHECKING:
    from ..experiment.job import Progress


_EVERY_S = 0.1


class ProgressLine:
    """Shown on a terminal's stderr while a job runs; silent elsewhere."""

    def __init__(self, *, quiet: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        screen = Console(stderr=True, highlight=False, emoji=False)
        self._bar = Progress(
            TextColumn("{task.fields[stage]}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[said]}", markup=False),
            console=screen,
            transient=True,
            disable=quiet or not screen.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, said="", stage="preparing")
        self._last = 0.0

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
        if self._is_due():
            self._bar.update(self._task, said=visible_text(text))

    def stage(self, name: str) -> None:
        """Shows what is being done now, of work that has stages and no counts."""
        self._bar.update(self._task, stage=visible_text(name))

    def update(self, progress: Progress) -> None:
        """Takes the newest state; draws at most ten times a second."""
        done, total = progress.done, progress.total
        if not self._is_due() and done < total:
            return
        elapsed = progress.elapsed_s
        rate = progress.stage_sent / elapsed if elapsed > 0 else 0.0
        left = duration(elapsed / done * (total - done)) if done else "–"
        rate_said = f"{rate:.0f} calls/s · {dollars(progress.spent_usd)} · {left} left"
        of_all = f"{progress.number}/{progress.stages} {progress.stage} "
        self._bar.update(
            self._task,
            completed=done,
            total=total,
            said=_came(progress) + rate_said,
            stage=f"{of_all if progress.stages > 1 else ''}{done}/{total} {progress.unit}",
        )

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now - self._last < _EVERY_S:
            return False
        self._last = now
        return True


def _came(progress: Progress) -> str:
    """What came of the units so far: "12 scored, 1 not, 3 not asked · "."""
    counts = progress.counts
    parts = [f"{counts[name]:,} {name}" for name in ("scored", "answered") if name in counts]
    if progress.troubled or parts:
        parts.append(f"{progress.troubled:,} not")
    if counts.get("not_asked"):
        parts.append(f"{counts['not_asked']:,} not asked")
    return f"{', '.join(parts)} · " if parts else ""
