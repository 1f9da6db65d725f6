"""The graphs that `langgraph.json` names for a LangGraph server: texts in, results out.

    panel       a prompt and a response in, the verdict out
    reframing   a prompt in, its variants out
    stress      prompts in; how a model's answers degrade when they are reframed
    prompts     a scenario in, prompts for it out

Each is a function that makes the graph for what a client chose (`context`), so that a drawing shows
the personas that judge. They are compiled without a checkpointer: the server brings its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from .run_context import RunContext


async def panel(config: dict[str, Any]) -> Any:
    """The panel that the client chose, a node for each persona."""
    return await _made("panel", config)


async def reframing(config: dict[str, Any]) -> Any:
    """The framings written, checked, repaired once and reviewed."""
    return await _made("reframing", config)


async def stress(config: dict[str, Any]) -> Any:
    """Reframing, the targets' answers, the panel on all of them, and what changed."""
    return await _made("stress", config)


async def prompts(config: dict[str, Any]) -> Any:
    """Generators, the votes on what they wrote, and the comparison of pairs."""
    return await _made("prompts", config)


async def _made(name: str, config: Mapping[str, Any] | None) -> Any:
    # In a thread: files are read, and a server's loop is not to wait for them.
    # A server keeps the context of an assistant and of a run among the configurable values.
    return await asyncio.to_thread(graph, name, (config or {}).get("configurable"))


def graph(name: str, context: Mapping[str, Any] | None = None, *, checkpointer: Any = None) -> Any:
    """One of the graphs, compiled for runs with this context.

    Args:
        name: `panel`, `reframing`, `stress` or `prompts`.
        context: what the runs choose; other values among it are left alone.
        checkpointer: a LangGraph checkpointer; none by default.

    Raises:
        InputError: everything wrong with the context.
    """
    from .graphs import panel_graph, prompts_graph, reframing_graph
    from .run_context import (
        JudgingContext,
        ReframingContext,
        RefusedInputError,
        RunContext,
        StressContext,
    )
    from .stress_graph import stress_graph

    try:
        if name == "panel":
            made = panel_graph(*drawn(JudgingContext.of(context)))
        elif name == "stress":
            made = stress_graph(*drawn(StressContext.of(context)))
        elif name == "reframing":
            ReframingContext.of(context)
            made = reframing_graph()
        elif name == "prompts":
            RunContext.of(context)
            made = prompts_graph()
        else:
            raise InputError(f"there is no graph {name!r}")
    except InputError as error:
        raise RefusedInputError(error.faults, hint=error.hint) from error
    return made if checkpointer is None else made.copy(update={"checkpointer": checkpointer})


def drawn(context: RunContext) -> tuple[tuple[str, ...], str]:
    """The personas of the panel that was chosen, and the models on which each judges."""
    spec = context.spec
    names = ", ".join(backend.spec.name for backend in spec.backends)
    return tuple(persona.id for persona in spec.personas), names
