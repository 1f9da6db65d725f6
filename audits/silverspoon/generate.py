"""Scenarios written by a model, with wordings of each: a table that `--scenarios` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...prompts.items import ItemRun


def generate_scenarios(model: Any, **options: Any) -> ItemRun:
    """See `areopagus.prompts.generate_scenarios`."""
    from ...prompts.scenario_items import generate_scenarios as generate

    return generate(model, **options)


async def agenerate_scenarios(model: Any, **options: Any) -> ItemRun:
    """The asynchronous twin of `generate_scenarios`."""
    from ...prompts.scenario_items import agenerate_scenarios as generate

    return await generate(model, **options)
