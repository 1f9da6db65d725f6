"""`areopagus concept-pairs`: questions for the hidden-bias audit, made from sources."""

from __future__ import annotations

from typing import Any

import click

from .options import columns_from


@click.command(name="concept-pairs", context_settings={"max_content_width": 80})
@click.argument("sources", metavar="SOURCES")
@click.option(
    "--model",
    "-m",
    "models",
    multiple=True,
    metavar="MODEL",
    help="Who writes; given twice, the second checks the concept pairs.",
)
@click.option("--models-file", metavar="FILE", help="YAML with these models and settings.")
@click.option(
    "--column", "columns", multiple=True, metavar="OURS=THEIRS", help="Another name for a column."
)
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many sources.")
@click.option("--effort", metavar="LEVEL", help="Reasoning effort of the models.")
@click.option("--out", metavar="DIR", help="Folder. Default: runs/concepts-NAME-xxxxxxxx.")
@click.option("--ledger", metavar="PATH", help="Store of paid calls. Default: shared.")
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Stop asking before this much is spent.",
)
@click.option("--dry-run", is_flag=True, help="Print calls and a cost range; send nothing.")
@click.option("--resume", is_flag=True, help="Demand that the folder exists already.")
@click.option("--quiet", "-q", is_flag=True, help="No progress line, no report.")
def concept_pairs(
    sources: str,
    *,
    models: tuple[str, ...],
    models_file: str | None,
    columns: tuple[str, ...],
    dry_run: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Make concept pairs for `audit hidden-bias` from sources.

    SOURCES needs scenario_id and scenario_text: sentences or test items that hold a stereotype.
    For each, a model sums the belief up, names two opposite concepts, has them checked, and hides
    them in two endings of one scene. The result, concepts.jsonl, is for --concepts of the audit.
    Read it before use.
    """
    from ..auditing.concept_pairs import ConceptJob
    from ..loop import run_stoppable, run_sync
    from ..settings import read_targets
    from .display import dollars, printable, same_command
    from .main import terminated
    from .stage_line import StageLine

    named: list[Any] = list(models)
    if models_file is not None:
        named += read_targets(models_file)
    with StageLine(quiet=quiet or dry_run) as line:
        job = ConceptJob(
            sources, models=named, columns=columns_from(columns), on_progress=line.update,
            **options,
        )  # fmt: skip
        if dry_run:
            found = job.estimate()
            run_sync(job.close())
            click.echo(
                f"Dry run: {found.sources:,} sources, {found.calls:,} calls, at most "
                f"{found.most_calls:,}: {dollars(found.likely_usd)} likely, at most "
                f"{dollars(found.most_usd)}"
            )
            return 0
        run, was_interrupted = run_stoppable(job)
    if was_interrupted:
        click.echo(
            "Stopped. What was paid is kept in the ledger.\n"
            f"To go on, give the same command again: {same_command()}",
            err=True,
        )
        return 143 if terminated() else 130
    if not quiet:
        said = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in run.counts.items() if n)
        click.echo(f"Sources: {said}")
        click.echo(f"Concept pairs: {printable(str(run.concepts))}")
    code: int = run.exit_code
    return code
