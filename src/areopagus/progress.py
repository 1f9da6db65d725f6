"""How far long work is: whoever does it says so, and a line shows it where somebody looks.

    with heard():                       # a line in a terminal or a notebook; nothing elsewhere
        doing("reading the ratings")    # said in the library, heard by that line

A job counts its units in a `Progress`; `doing` is for work that has nothing to count, such as
writing a report. The line is rich's on a terminal, an output of the cell in a notebook, and in the
log of a command a line every half minute.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from threading import Lock, Timer
from types import TracebackType
from typing import Any, Final, Protocol, TypeVar, cast

from .environment import is_own_process
from .errors import visible_text
from .formats import duration, known_dollars

_AFTER_S: Final = 0.5
"""How long a Python call works before a line is shown: most that are not jobs are done by then."""

PREPARING: Final = "preparing"
READING: Final = "reading the input"
ESTIMATING: Final = "computing the estimates"
WRITING: Final = "writing the report"


@dataclass(slots=True)
class Progress:
    """How far a job is.

    Attributes:
        stage: the stage at work; `number` of `stages` in all, from 1.
        unit: what is counted in it.
        done, total: units of this stage.
        troubled: of this stage, what came to nothing.
        counts: of this stage, status to number: of judgments while a panel scores, of responses
            while targets respond; empty where a stage has no statuses.
        doing: what is done that has nothing to count, such as writing the report; "" otherwise.
        planned: judgments planned in all, where a panel scores.
        elapsed_s: seconds since this stage began.
        stage_sent: calls sent in this stage.
        sent, answered, failed, from_ledger, repeated: calls of the whole job; see `CallCounts`.
        spent_usd, unknown_price_calls: of the whole job.
    """

    stage: str = ""
    number: int = 0
    stages: int = 0
    unit: str = ""
    done: int = 0
    total: int = 0
    troubled: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    doing: str = ""
    planned: int = 0
    elapsed_s: float = 0.0
    stage_sent: int = 0
    sent: int = 0
    answered: int = 0
    failed: int = 0
    from_ledger: int = 0
    repeated: int = 0
    spent_usd: float = 0.0
    unknown_price_calls: int = 0


OnProgress = Callable[[Progress], None] | bool | None
"""Who hears how far a job is: a function; None shows a line in a terminal or a notebook, False
nothing anywhere, and True a line also where nobody looks, every half minute."""

Listener = Callable[[Progress], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def listener() -> Listener | None:
    """Who hears how far the work is; None where nobody does."""
    return _listener.get()


def doing(text: str) -> None:
    """Says what is being done now to whoever listens."""
    hear = _listener.get()
    if hear is not None:
        hear(Progress(doing=text))


@contextmanager
def heard(on_progress: OnProgress = None) -> Iterator[None]:
    """Has it heard how far the work is that runs inside the block.

    Who listens already goes on to, unless a function is named or nobody is to.
    """
    if not callable(on_progress) and on_progress is not False:
        if _listener.get() is not None or _showing:
            yield
            return
        with ProgressLine(in_logs=on_progress is True, after_s=_AFTER_S):
            yield
        return
    token = _listener.set(on_progress or None)
    try:
        yield
    finally:
        _listener.reset(token)


Call = TypeVar("Call", bound=Callable[..., Any])


def shows_progress(call: Call) -> Call:
    """Gives a function the argument `on_progress`, and has its `doing` heard as that says."""

    @wraps(call)
    def heard_call(*given: Any, on_progress: OnProgress = None, **named: Any) -> Any:
        with heard(on_progress):
            return call(*given, **named)

    own = inspect.signature(call)
    added = inspect.Parameter(
        "on_progress", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="OnProgress"
    )
    rest = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    last = [one for one in own.parameters.values() if one.kind is one.VAR_KEYWORD]
    heard_call.__signature__ = own.replace(parameters=[*rest, added, *last])  # type: ignore[attr-defined]
    return cast("Call", heard_call)


_showing: list[ProgressLine] = []


class ProgressLine:
    """One line that shows how far the work is."""

    def __init__(self, *, quiet: bool = False, in_logs: bool = True, after_s: float = 0.0) -> None:
        """Looks where it can be shown; nothing is shown before the block begins.

        Args:
            quiet: show nothing.
            in_logs: whether a stderr that is no terminal gets a line every half minute.
            after_s: seconds before anything is shown: what is short needs no line.
        """
        self._place: _Place | None = None
        if not quiet:
            self._place = _notebook() or _terminal() or (_Log() if in_logs else None)
        self._last = 0.0
        self._lock = Lock()
        self._is_there = self._is_over = False
        self._timer = Timer(after_s, self._start) if after_s and self._place is not None else None

    def __enter__(self) -> ProgressLine:
        self._token = _listener.set(self.update)
        _showing.append(self)  # of several jobs at once, one has the line
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        else:
            self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _showing.remove(self)
        _listener.reset(self._token)
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._is_over = True
            if self._place is not None and self._is_there:
                self._place.stop()

    def _start(self) -> None:
        with self._lock:
            if self._place is not None and not self._is_over:
                self._place.start()
                self._is_there = True

    def do(self, text: str) -> None:
        """Says what is being done that has nothing to count."""
        if self._place is not None:
            self._place.show(visible_text(text), 0, None, "")

    def say(self, text: str) -> None:
        """Shows a sentence in the place of the counts, for as long as there are none."""
        if self._place is not None and self._is_due():
            self._place.say(visible_text(text))

    def update(self, progress: Progress) -> None:
        """Takes the newest state; draws at most ten times a second."""
        done, total = progress.done, progress.total
        if self._place is None:
            return
        if progress.doing:
            self.do(progress.doing)
            return
        if not self._is_due() and done < total:
            return
        elapsed = progress.elapsed_s
        rate = progress.stage_sent / elapsed if elapsed > 0 else 0.0
        left = duration(elapsed / done * (total - done)) if done else "–"
        spent = known_dollars(progress.spent_usd, progress.unknown_price_calls)
        rate_said = f"{rate:.0f} calls/s · {spent} · {left} left"
        of_all = f"{progress.number}/{progress.stages} {progress.stage} "
        stage = f"{of_all if progress.stages > 1 else ''}{done}/{total} {progress.unit}"
        self._place.show(stage, done, total, _came(progress) + rate_said)

    def _is_due(self) -> bool:
        now = time.monotonic()
        if self._place is None or now - self._last < self._place.every_s:
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


class _Place(Protocol):
    """Where a line is shown.

    Attributes:
        every_s: seconds between two states that count units.
    """

    every_s: float

    def start(self) -> None:
        """Begins."""

    def stop(self) -> None:
        """Takes the line away."""

    def show(self, stage: str, done: int, total: int | None, said: str) -> None:
        """Shows a state; a total of None has nothing to count."""

    def say(self, text: str) -> None:
        """Shows a sentence behind the stage."""


class _Terminal:
    """rich's bar on stderr, which goes when the work is done."""

    every_s = 0.1

    def __init__(self, screen: Any) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        # What a host program prints goes its own way; the command's own notes stand above the bar.
        is_own = is_own_process()
        self.bar = Progress(
            TextColumn("{task.fields[stage]}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[said]}", markup=False),
            console=screen,
            transient=True,
            redirect_stdout=is_own,
            redirect_stderr=is_own,
        )
        self._task = self.bar.add_task("", total=None, said="", stage=PREPARING)

    def start(self) -> None:
        self.bar.start()

    def stop(self) -> None:
        self.bar.stop()

    def show(self, stage: str, done: int, total: int | None, said: str) -> None:
        if total is None:  # which rich takes for a total that stays
            self.bar.tasks[0].total = None
        self.bar.update(self._task, completed=done, total=total, said=said, stage=stage)

    def say(self, text: str) -> None:
        self.bar.update(self._task, said=text)


def _terminal() -> _Terminal | None:
    if not sys.stderr.isatty():  # asked first: rich takes time to load
        return None
    from rich.console import Console

    screen = Console(stderr=True, highlight=False, emoji=False)
    return _Terminal(screen) if screen.is_terminal and not screen.is_jupyter else None


class _Notebook:
    """An output of the cell, which is written over and emptied at the end."""

    every_s = 0.5

    def __init__(self) -> None:
        self._output: Any = None
        self._stage: tuple[str, int, int | None] = (PREPARING, 0, None)
        self._said = ""

    def start(self) -> None:
        show: Any = import_module("IPython.display").display
        self._output = show(self._drawn(), raw=True, display_id=True)

    def stop(self) -> None:
        self._output.update({"text/plain": "", "text/html": ""}, raw=True)

    def show(self, stage: str, done: int, total: int | None, said: str) -> None:
        self._stage = (stage, done, total)
        self.say(said)

    def say(self, text: str) -> None:
        self._said = text
        if self._output is not None:
            self._output.update(self._drawn(), raw=True)

    def _drawn(self) -> dict[str, str]:
        from html import escape

        (stage, done, total), said = self._stage, self._said
        counts = f' value="{done}" max="{max(total, 1)}"' if total is not None else ""
        return {
            "text/plain": " · ".join(filter(None, (stage, said))),
            "text/html": f"<div>{escape(stage)} <progress{counts}></progress> {escape(said)}</div>",
        }


def _notebook() -> _Notebook | None:
    # A notebook has loaded IPython already, and its shell has a kernel behind it.
    found = sys.modules.get("IPython")
    shell = found.get_ipython() if found is not None else None
    return _Notebook() if hasattr(shell, "kernel") else None


class _Log:
    """A line every half minute on a stderr that is kept, such as that of a CI job."""

    every_s = 1.0
    least_s = 30.0

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._stage = PREPARING

    def start(self) -> None:
        self._last = time.monotonic()

    def stop(self) -> None:
        return

    def show(self, stage: str, done: int, total: int | None, said: str) -> None:
        self._stage = stage
        self.say(said)

    def say(self, text: str) -> None:
        now = time.monotonic()
        if now - self._last >= self.least_s:
            self._last = now
            print(" · ".join(filter(None, (self._stage, text))), file=sys.stderr, flush=True)
