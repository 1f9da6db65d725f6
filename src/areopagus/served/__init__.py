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

if TYPE_CHECKING:
    from .context import RunContext


async def panel(config: dict[str, Any]) -> Any:
    """The panel that the client chose, a node for each persona."""

    def made() -> Any:
        from .context import JudgingContext
        from .graphs import panel_graph

        return panel_graph(*drawn(JudgingContext.of(_chosen(config))))

    return await asyncio.to_thread(made)


async def reframing(config: dict[str, Any]) -> Any:
    """The framings written, checked, repaired once and reviewed."""

    def made() -> Any:
        from .graphs import reframing_graph

        return reframing_graph()

    return await asyncio.to_thread(made)


async def stress(config: dict[str, Any]) -> Any:
    """Reframing, the targets' answers, the panel on all of them, and what changed."""

    def made() -> Any:
        from .context import StressContext
        from .stress import stress_graph

        return stress_graph(*drawn(StressContext.of(_chosen(config))))

    return await asyncio.to_thread(made)


async def prompts(config: dict[str, Any]) -> Any:
    """Generators, the votes on what they wrote, and the comparison of pairs."""

    def made() -> Any:
        from .graphs import prompts_graph

        return prompts_graph()

    return await asyncio.to_thread(made)


def _chosen(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    # A server keeps the context of an assistant and of a run here as well.
    return (config or {}).get("configurable") or {}


def drawn(context: RunContext) -> tuple[tuple[str, ...], str]:
    """The personas of the panel that was chosen, and the models on which each judges."""
    spec = context.spec
    names = ", ".join(backend.spec.name for backend in spec.backends)
    return tuple(persona.id for persona in spec.personas), names
