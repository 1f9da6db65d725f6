"""Puts a job's responses before the panel: the `Engine` protocol, and the one of this process."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..async_runner import ordered_map
from ..graphs.panel import PanelContext, aggregate, panel_graph
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..judges.models.prefix_cache import one_goes_first_from
from ..records.types import Sample, Verdict
from .backends import require_access

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec


class Scored(NamedTuple):
    """One response of the input, and the verdict on it."""

    row: Sample
    verdict: Verdict


def window_for(panel: PanelSpec) -> int:
    """How many responses at once keep every backend busy."""
    judges_of: dict[str, int] = {}
    most: dict[str, int] = {}
    for judge in panel.judges.values():
        judges_of[judge.model] = judges_of.get(judge.model, 0) + panel.repeats
        most[judge.model] = judge.backend.spec.concurrency
        if one_goes_first_from(judge.backend) is not None:
            # Half the time of a response one call is under way in place of all.
            most[judge.model] *= 2
    needed = max(-(-most[model] // judges_of[model]) for model in most)
    if panel.rule is not None and panel.rule.half_width is not None:
        # After its first block a response mostly waits for one judgment, of one backend.
        needed = sum(most.values())
    # Twice over: while one round of calls is answered, the next stands ready.
    return min(1024, 2 * needed + 2)


async def judge_sample(context: PanelContext, *, graph: Any = None, config: Any = None) -> Verdict:
    """The verdict on one response, through the graph."""
    runner = panel_graph() if graph is None else graph
    if context.panel.rule is not None:
        # Three steps a block; LangGraph's own limit is meant for loops that may never end.
        steps = 8 + 3 * len(context.panel.planned())
        config = {**(config or {}), "recursion_limit": steps}
    from langsmith import tracing_context

    # Whatever the environment says, a run's texts go to the endpoints named and nowhere else.
    with tracing_context(enabled=False):
        state = await runner.ainvoke(
            {"response_id": context.sample.response_id},
            config,
            context=context,
            output_keys=_OF_A_VERDICT,
        )
    return verdict_of(state, context)


_OF_A_VERDICT = ("planned", "judgments", "verdict")
"""What `verdict_of` reads of a final state: LangGraph copies what is asked for after every step."""


def verdict_of(state: Mapping[str, Any], context: PanelContext) -> Verdict:
    """The verdict in a final state, with its judgments in the order of the plan."""
    rows = state["judgments"]
    judgments = tuple(context.judgment(key, rows[key]) for key in state["planned"])
    return replace(Verdict.from_json(state["verdict"]), judgments=judgments)


async def score_rows(
    rows: Iterable[Sample],
    *,
    panel: PanelSpec,
    client: Client,
    is_repeated: Callable[[Sample], bool] = lambda row: False,
) -> AsyncGenerator[Scored, None]:
    """Verdicts on the rows, in their order.

    Once the client is stopped, calls in flight end, and every further response is closed as not
    asked without looking anything up: what is paid stays in the ledger.

    Raises:
        StoreError: the ledger cannot be written; calls in flight are abandoned.
    """

    async def one(row: Sample) -> Verdict:
        repeated = is_repeated(row)
        if client.stopped:
            return closed(row, panel=panel, repeated=repeated)
        return await judge_sample(PanelContext(row, panel, client, repeated_text=repeated))

    with less_collection():
        verdicts = ordered_map(rows, one, at_once=window_for(panel))
        async with contextlib.aclosing(verdicts):
            async for row, verdict in verdicts:
                yield Scored(row, verdict)


_COLLECTED_AFTER = 10_000
"""New objects, in place of 700: a few calls in flight are as many, and none of them is garbage."""


@contextlib.contextmanager
def less_collection() -> Iterator[None]:
    """A block in which the garbage collector leaves alone what was there before, and is rarer.

    litellm and its kind stand in memory as some hundred thousand objects, and walking them all
    again and again costs a third of the time around calls. Afterwards all is as it was. Where
    something is frozen already, by another such block or by somebody else, nothing is changed.
    """
    is_ours = gc.get_freeze_count() == 0
    young, *older = gc.get_threshold()
    if is_ours:
        gc.freeze()
        if young:  # 0: it is switched off
            gc.set_threshold(max(young, _COLLECTED_AFTER), *older)
    try:
        yield
    finally:
        if is_ours:
            gc.set_threshold(young, *older)
            gc.unfreeze()


def closed(sample: Sample, *, panel: PanelSpec, repeated: bool) -> Verdict:
    """The verdict on a response that was never put before the panel, because the run stopped."""
    seen = panel.screen(sample, repeated=repeated)
    reason = "screened" if seen.gate else "interrupted"
    judgments = tuple(panel.unasked(key, sample, reason, seen.gate) for key in panel.planned())
    return aggregate(judgments, panel=panel, sample=sample, flags=seen.flags)


class Engine(Protocol):
    """Puts responses before a panel and hands back the verdicts."""

    async def require_access(
        self, panel: PanelSpec, is_paid: Callable[[Backend], bool], *, capped: bool
    ) -> None:
        """Raises everything that keeps the backends from being asked; sends nothing.

        Args:
            panel: whose backends.
            is_paid: whether the ledger holds every reply that is wanted of a backend.
            capped: whether there is a cost cap, which needs prices.

        Raises:
            InputError: with all faults together.
        """
        ...

    def score(
        self,
        rows: Callable[[], Iterable[Sample]],
        *,
        panel: PanelSpec,
        client: Client,
        is_repeated: Callable[[Sample], bool],
        folder: Path,
    ) -> AsyncGenerator[Scored, None]:
        """Verdicts on the rows, in their order.

        Calls and money are counted at the client, wherever they were made; a client that is stopped
        lets what is in flight end.

        Args:
            rows: gives the responses, each time from the first.
            panel: who judges.
            client: through which it asks.
            is_repeated: whether a response's writer gives its text to another prompt too.
            folder: of the run.
        """
        ...

    async def close(self) -> None:
        """Ends what the engine has started."""
        ...


class LocalEngine:
    """All responses through the panel graph of this process, some dozens at once."""

    async def require_access(
        self, panel: PanelSpec, is_paid: Callable[[Backend], bool], *, capped: bool
    ) -> None:
        """See `backends.require_access`."""
        await require_access(panel.backends, is_paid, capped=capped)

    def score(
        self,
        rows: Callable[[], Iterable[Sample]],
        *,
        panel: PanelSpec,
        client: Client,
        is_repeated: Callable[[Sample], bool],
        folder: Path,
    ) -> AsyncGenerator[Scored, None]:
        """See `score_rows`."""
        return score_rows(rows(), panel=panel, client=client, is_repeated=is_repeated)

    async def close(self) -> None:
        """Nothing was started."""
