"""Scenarios written by a model, with wordings of each: a table that `--scenarios` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...auditing.constructing import ConstructionRun


def generate_scenarios(model: Any, **options: Any) -> ConstructionRun:
    """Has a model write scenarios and wordings of them into a table in a folder.

    The defaults are the paper's design: 1,000 scenarios of ten topics, two more wordings of each,
    3,000 texts, a wording keeping at least .8 of the words. What is paid for is in the ledger: the
    same call again goes on where it stopped. Gold labels are not made: they are for people to give.

    Args:
        model: who writes, as anywhere else ("openai/gpt-4o", or a mapping with settings).
        **options: topics (in words; the built-in ten by default); per_topic, scenarios wanted of
            each (100), asked for in batches of ten; versions, wordings of each, the first one
            included (3); similarity, least share of words that a wording has in common with its
            scenario (.8); effort, out, resume, ledger, max_cost, on_progress as of
            `areopagus.audit`; the folder is `runs/scenarios-xxxxxxxx` when left out.

    Returns:
        The run: `table` is scenarios.csv (scenario_id, base, topic, other, text), `outcomes` is
        batches.jsonl, `counts` says what was left out.

    Raises:
        InputError: numbers out of range, or a model that cannot write; nothing was spent.
        StoreError: the ledger or the folder cannot be written.
        KeyboardInterrupt: after an interrupt, when what is paid for is stored.
    """
    from ...auditing.constructing import constructed
    from ...auditing.scenarios import scenario_job

    return constructed(scenario_job(models=[model], **options))


async def agenerate_scenarios(model: Any, **options: Any) -> ConstructionRun:
    """The asynchronous twin of `generate_scenarios`."""
    from ...auditing.constructing import aconstructed
    from ...auditing.scenarios import scenario_job

    return await aconstructed(scenario_job(models=[model], **options))
