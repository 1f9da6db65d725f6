"""One scenario through the graph, for whoever has a panel and no job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..async_runner import run_async
from ..experiment.backends import require_access
from ..graphs.prompt_construction import Constructed, Construction, PromptRef, construct
from ..judges.factory import is_made_of_settings
from ..judges.models.client import Client
from .concepts import load_technology_terms
from .job import material_of
from .material import models_from
from .plan import PromptPlan
from .scenarios import Scenario

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec


async def construct_one(
    panel: PanelSpec, scenario: Scenario, *, plan: PromptPlan | None = None
) -> dict[str, Any]:
    """What the panel's models make of one scenario, as plain values.

    Where the panel has only embedded judges, the embedded generator writes, and nobody votes.

    Returns:
        `scenario_id`; `bundles` with model, status, reason and prompts, each with what its votes
        come to; `votes` and `pairs` as they were cast.

    Raises:
        InputError: a model cannot be asked at all.
        StoreError: the ledger cannot be written.
    """
    chosen = plan or PromptPlan()
    named = [
        # A backend of our own is made anew from its settings, with the generator's limits.
        backend.spec if is_made_of_settings(backend) else backend
        for backend in panel.backends
        if not backend.spec.is_offline
    ]
    models = models_from(named)

    async def work() -> Constructed:
        await require_access((*models.generators, *models.asked_judges), lambda _: False)
        return await construct(
            Construction(
                material_of(scenario, chosen.per_scenario), models.generators,
                models.asked_judges, Client(panel.ledger), chosen.design,
                load_technology_terms().pattern(),
            )
        )  # fmt: skip

    return _plain(await run_async(work()))


def _plain(outcome: Constructed) -> dict[str, Any]:
    known = outcome.qualities()
    return {
        "scenario_id": outcome.scenario_id,
        "bundles": [
            {
                "generator": bundle.generator,
                "status": bundle.status,
                "reason": bundle.reason,
                "prompts": [
                    {
                        "number": block.number,
                        "prompt_text": block.question,
                        "angle": block.angle,
                        "dimensions": block.dimensions,
                        "quality": known[PromptRef(bundle.generator, block.number)].outcome,
                    }
                    for block in bundle.usable
                ],
            }
            for bundle in outcome.bundles
        ],
        "votes": [
            {
                "generator": vote.prompt.generator,
                "number": vote.prompt.number,
                "judge": vote.judge,
                "status": vote.asked.status,
                "value": dict(vote.asked.value),
            }
            for vote in outcome.votes
        ],
        "pairs": [
            {
                "first": list(vote.pair.one),
                "second": list(vote.pair.other),
                "judge": vote.judge,
                "equivalent": vote.value,
            }
            for vote in outcome.pairs
        ],
    }
