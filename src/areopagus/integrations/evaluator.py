"""One panel for tools that hand over one response at a time; adapters to them stand on it.

    with PanelEvaluator("panel.yaml", max_cost=5) as evaluator:
        verdict = evaluator.score(prompt, response)
        for score in scores_of(verdict):
            print(score.name, score.value, score.reason)

The rule for all adapters: where a verdict has no headline number (inconclusive: fewer judgments
scored than the quorum; screened: nothing to judge), there is no score. The value is None, and the
reason says why. An adapter hands this on in whatever its tool has for it (unscored, skipped, an
error), never as 0 or False, and such a response is no part of the tool's means.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import os
import secrets
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..async_runner import run_async, run_sync
from ..errors import InputError
from ..panel import Panel
from ..records.prompt_units import prompt_text_id
from ..records.types import Verdict
from .verdicts import evaluation_name

if TYPE_CHECKING:
    from ..experiment.backends import Model
    from ..experiment.session import Session
    from ..run import Run
    from .opentelemetry_events import ResultEvents


class PanelEvaluator:
    """A panel, and one session in which all its verdicts are kept under one cost cap.

    Calls may come side by side, from threads and from any event loop. Each verdict stands in the
    session's log before it is returned; the tables and the report are written by `save`, by `close`
    and when the process ends. The same response asked again is the same row, and its calls are
    answered by the ledger.

    Attributes:
        panel: who judges.
        out: the run folder.
        max_cost: US dollars that are not passed; what does not fit is not asked.
    """

    def __init__(
        self,
        panel: Panel | str | Path | Sequence[Model] | None = None,
        *,
        out: str | Path | None = None,
        max_cost: float | None = None,
        emit_events: bool = False,
        **settings: Any,
    ) -> None:
        """Puts the panel together; nothing is opened or sent.

        Args:
            panel: a Panel; the path of a `panel.yaml`; a model's name or several; the embedded
                text-feature baseline when left out.
            out: the run folder; a new one under runs/, named by the time, when left out.
            max_cost: US dollars that are not passed.
            emit_events: whether each verdict becomes events of OpenTelemetry, beside the span that
                is the caller's at the call; see `opentelemetry_events`.
            settings: further arguments of `Panel`, where `panel` is not one.

        Raises:
            InputError: everything wrong with the settings.
        """
        if isinstance(panel, Panel):
            if settings:
                raise InputError(
                    f"{', '.join(settings)}: belong to Panel(…), and a Panel was given"
                )
            self.panel = panel
        elif isinstance(panel, str | Path) and str(panel).endswith((".yaml", ".yml")):
            self.panel = Panel.from_file(panel, **settings)
        else:
            models = str(panel) if isinstance(panel, Path) else panel
            self.panel = Panel(models, **settings)
        # Absolute: it is written when the process ends, wherever that then works.
        self.out = (Path(out) if out is not None else new_folder()).absolute()
        self.max_cost = max_cost
        self._emit_events = emit_events
        self._events: ResultEvents | None = None
        self._session: Session | None = None
        self._opening = asyncio.Lock()
        self._owner = 0

    @classmethod
    def of(
        cls,
        panel: PanelEvaluator | Panel | str | Path | Sequence[Model] | None,
        *,
        out: str | Path | None = None,
        max_cost: float | None = None,
        **settings: Any,
    ) -> PanelEvaluator:
        """An evaluator itself, or a new one of these settings, which are those of the class.

        Raises:
            InputError: everything wrong with the settings; settings beside an evaluator.
        """
        if not isinstance(panel, PanelEvaluator):
            return cls(panel, out=out, max_cost=max_cost, **settings)
        if out is not None or max_cost is not None or settings:
            raise InputError("a PanelEvaluator was given: out, max_cost and the rest belong to it")
        return panel

    @classmethod
    def shared(
        cls,
        panel: PanelEvaluator | Panel | str | Path | Sequence[Model] | None,
        *,
        out: str | Path | None = None,
        max_cost: float | None = None,
    ) -> PanelEvaluator:
        """The one evaluator of this process for these settings, so that they have one cap.

        For tools that make their evaluators of a file, as often as it names them.

        Raises:
            InputError: as of `of`.
        """
        is_object = isinstance(panel, Panel | PanelEvaluator)
        key = repr((id(panel) if is_object else panel, out, max_cost))
        with _making:
            if key not in _shared:
                _shared[key] = cls.of(panel, out=out, max_cost=max_cost)
            return _shared[key]

    @property
    def is_demonstration(self) -> bool:
        """Whether an embedded stand-in judges, and no language model."""
        return self.panel.spec.is_demonstration

    def score(
        self,
        prompt: str,
        response: str,
        *,
        response_id: str | None = None,
        prompt_id: str | None = None,
        respondent_id: str = "unnamed",
    ) -> Verdict:
        """The panel's verdict on one response, which becomes a row of the run.

        Args:
            prompt, response: the texts.
            response_id, prompt_id: made from the texts where they are left out, so that the same
                texts are the same row.
            respondent_id: who wrote it.

        Raises:
            InputError: an empty prompt, a missing key, an address at which nobody answers.
            StoreError: the ledger or the folder cannot be written.
        """
        self._find_events()
        work = self._score(prompt, response, response_id, prompt_id, respondent_id)
        return self._emitted(run_sync(work))

    async def ascore(
        self,
        prompt: str,
        response: str,
        *,
        response_id: str | None = None,
        prompt_id: str | None = None,
        respondent_id: str = "unnamed",
    ) -> Verdict:
        """The asynchronous twin of `score`."""
        self._find_events()
        work = self._score(prompt, response, response_id, prompt_id, respondent_id)
        return self._emitted(await run_async(work))

    @property
    def spent_usd(self) -> float:
        """What calls with a known price have cost since the session was opened."""
        return 0.0 if self._session is None else self._session.spent_usd

    def save(self) -> Run:
        """Writes the tables, run.json and the report of what is scored until now.

        Raises:
            StoreError: the folder cannot be written.
        """
        return run_sync(self._save())

    def close(self) -> None:
        """Ends the session: tables, run.json and report are written. A later call opens it anew."""
        atexit.unregister(self.close)
        if self._session is not None and self._owner == os.getpid():  # not in a forked child
            run_sync(self._end())

    def __enter__(self) -> PanelEvaluator:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PanelEvaluator({self.panel!r}, out={str(self.out)!r})"

    def _find_events(self) -> None:
        """Before anything is paid: without a provider of the host's there is nowhere to emit."""
        if self._emit_events and self._events is None:
            from .opentelemetry_events import ResultEvents

            spec = self.panel.spec
            name = evaluation_name(spec.identity())
            self._events = ResultEvents(name, is_demonstration=spec.is_demonstration)

    def _emitted(self, verdict: Verdict) -> Verdict:
        # In the caller's thread, whose current span is the caller's.
        if self._events is not None:
            self._events.emit(verdict)
        return verdict

    async def _open(self) -> Session:
        async with self._opening:  # only ever waited for on the package's own loop
            if self._session is None:
                session = self.panel.session(self.out, max_cost=self.max_cost)
                await session.__aenter__()
                self._session, self._owner = session, os.getpid()
                atexit.register(self.close)
            return self._session

    async def _score(
        self,
        prompt: str,
        response: str,
        response_id: str | None,
        prompt_id: str | None,
        respondent_id: str,
    ) -> Verdict:
        if response_id is None:
            texts = "\0".join((respondent_id, prompt_id or "", prompt, response))
            digest = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()
            response_id = f"r-{digest[:16]}"
        session = await self._open()
        return await session.ascore(
            prompt,
            response,
            response_id=response_id,
            prompt_id=prompt_id or prompt_text_id(prompt),
            respondent_id=respondent_id,
        )

    async def _save(self) -> Run:
        session = await self._open()
        return await session.asave()

    async def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.__aexit__(None, None, None)


_shared: dict[str, PanelEvaluator] = {}
_making = threading.Lock()


def new_folder() -> Path:
    """The path of a run folder under runs/ that nobody else has."""
    # A folder has one writer: two evaluators of one panel must not meet in one.
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    return Path("runs") / f"evaluator-{now}-{secrets.token_hex(3)}"
