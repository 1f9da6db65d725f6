"""`areopagus concept-pairs`: questions for the hidden-bias audit, made from sources."""

from __future__ import annotations

from typing import Any

import click

from .constructing import construct, model_options, run_options
from .options import columns_from


@click.command(name="concept-pairs", context_settings={"max_content_width": 80})
@click.argument("sources", metavar="SOURCES")
@model_options("Who writes; given twice, the second checks the concept pairs.")
@click.option(
    "--column", "columns", multiple=True, metavar="OURS=THEIRS", help="Another name for a column."
)
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many sources.")
@run_options("concepts-NAME")
def concept_pairs(sources: str, *, columns: tuple[str, ...], **options: Any) -> int:
    """Make concept pairs for `audit hidden-bias` from sources.

    SOURCES needs scenario_id and scenario_text: sentences or test items that hold a stereotype.
    For each, a model sums the belief up, names two opposite concepts, has them checked, and hides
    them in two endings of one scene. The result, concepts.jsonl, is for --concepts of the audit.
    Read it before use.
    """
    from ..auditing.concept_pairs import concept_job

    return construct(concept_job, sources=sources, columns=columns_from(columns), **options)
