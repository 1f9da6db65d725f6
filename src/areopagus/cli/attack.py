"""`areopagus attack` and `areopagus rescore`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .options import PANEL_NAMES, columns_from, names_in, panel_from, panel_options

if TYPE_CHECKING:
    from ..attacking import AttackJob, RescoreJob


@click.command(context_settings={"max_content_width": 80})
@click.option(
    "--responses", metavar="FILE", help="Responses to attack. Left out: eight built-in ones."
)
@click.option(
    "--corpus", multiple=True, metavar="FILE|DIR",
    help="Families of attacks in place of the built-in corpus; repeatable.",
)  # fmt: skip
@click.option(
    "--families", multiple=True, metavar="NAME[,NAME…]", help="Only these families; repeatable."
)
@click.option("--list", "only_list", is_flag=True, help="List the families and exit.")
@click.option(
    "--placements", multiple=True, metavar="PLACE[,PLACE…]",
    help="Of start, middle, end, instead; default: all.",
)  # fmt: skip
@click.option("--texts", type=click.IntRange(min=1), help="Only the first so many of a family.")
@click.option(
    "--threshold", type=click.FloatRange(min=0, min_open=True), default=2.0, show_default=True,
    help="Points from which a score counts as moved; part of the plan.",
)  # fmt: skip
@click.option("--controls/--no-controls", default=True, help="Harmless prose of the same length.")
@click.option("--neutralise", is_flag=True, help="Score neutralised copies of the attacked too.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many responses.")
@click.option("--column", "columns", multiple=True, metavar="OURS=THEIRS", help="A column's name.")
@click.option("--out", metavar="DIR", help="Folder. Default: runs/attack-…")
@click.option("--json", "json_file", metavar="FILE", help="Write every number there too.")
@click.option(
    "--max-cost", type=click.FloatRange(min=0), metavar="USD",
    help="Stop asking before this much is spent.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print calls, tokens and a cost range; send nothing.")
@click.option("--resume", is_flag=True, help="Demand that the folder exists already.")
@click.option("--quiet", "-q", is_flag=True, help="No progress line, no report.")
@panel_options
def attack(
    *,
    responses: str | None,
    corpus: tuple[str, ...],
    families: tuple[str, ...],
    only_list: bool,
    placements: tuple[str, ...],
    texts: int | None,
    threshold: float,
    controls: bool,
    neutralise: bool,
    columns: tuple[str, ...],
    json_file: str | None,
    dry_run: bool,
    quiet: bool,
    max_cost: float | None,
    **options: Any,
) -> int:
    """Try an injection corpus on your own panel and measure how far scores move.

    Each response is scored clean, with each attack text at each place, and with harmless prose
    of the same length there. The report gives score shift, success rate, benign shift and the
    detectors' false alarms by family, place, persona and model.
    """
    from ..attacking import AttackJob, AttackPlan

    if only_list:
        return _list(corpus)
    places: dict[str, Any] = {"placements": names_in(placements)} if placements else {}
    plan = AttackPlan(
        threshold=threshold, texts=texts, controls=controls, neutralise=neutralise, **places
    )
    with panel_from(**{name: options.pop(name) for name in PANEL_NAMES}) as panel:
        from .progress import StageLine

        with StageLine(quiet=quiet or dry_run) as line:
            job = AttackJob(
                panel.spec, responses, families=names_in(families) or None, corpus=corpus,
                plan=plan,
                columns=columns_from(columns), max_cost=max_cost, on_progress=line.update,
                **options,
            )  # fmt: skip
            return _run(job, json_file, max_cost=max_cost, dry_run=dry_run, quiet=quiet)


@click.command(context_settings={"max_content_width": 80})
@click.argument("responses")
@click.option(
    "--threshold", type=click.FloatRange(min=0, min_open=True), default=2.0, show_default=True,
    help="Points of difference from which a response is marked.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), help="Only the first so many responses.")
@click.option("--column", "columns", multiple=True, metavar="OURS=THEIRS", help="A column's name.")
@click.option("--out", metavar="DIR", help="Folder. Default: runs/rescore-…")
@click.option("--json", "json_file", metavar="FILE", help="Write every number there too.")
@click.option(
    "--max-cost", type=click.FloatRange(min=0), metavar="USD",
    help="Stop asking before this much is spent.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print calls, tokens and a cost range; send nothing.")
@click.option("--resume", is_flag=True, help="Demand that the folder exists already.")
@click.option("--quiet", "-q", is_flag=True, help="No progress line, no report.")
@panel_options
def rescore(
    responses: str,
    *,
    columns: tuple[str, ...],
    json_file: str | None,
    dry_run: bool,
    quiet: bool,
    max_cost: float | None,
    **options: Any,
) -> int:
    """Score flagged RESPONSES again with the flagged passages taken out.

    An audit: the difference says what instruction-like text did to each score, and no score of
    another run is changed.
    """
    from ..attacking import RescoreJob

    with panel_from(**{name: options.pop(name) for name in PANEL_NAMES}) as panel:
        from .progress import StageLine

        with StageLine(quiet=quiet or dry_run) as line:
            job = RescoreJob(
                panel.spec, responses, columns=columns_from(columns), max_cost=max_cost,
                on_progress=line.update, **options,
            )  # fmt: skip
            return _run(job, json_file, max_cost=max_cost, dry_run=dry_run, quiet=quiet)


def _list(corpus: tuple[str, ...]) -> int:
    from ..attacking import load_families
    from .display import console, table, visible

    rows = table("", ["family", "texts", "places", "what"], left=1)
    for family in load_families(None, corpus):
        rows.add_row(
            visible(family.id, width=18),
            str(len(family.texts)),
            ", ".join(family.placements),
            visible(family.label, width=30),
        )
    console().print(rows)
    return 0


def _run(
    job: AttackJob | RescoreJob,
    json_file: str | None,
    *,
    max_cost: float | None,
    dry_run: bool,
    quiet: bool,
) -> int:
    from .display import show_notices
    from .jobs import run_staged

    if not quiet:
        show_notices(job.notices)
        if job.is_demonstration:
            click.echo(
                "DEMONSTRATION: the embedded judge offline/lexical scores. It counts features of\n"
                "the text and is no language model; name models with --models.",
                err=True,
            )
    if dry_run:
        return _show_estimate(job, max_cost)
    return run_staged(job, json_file, f"{job.kind}.json", quiet=quiet)


def _show_estimate(job: AttackJob | RescoreJob, max_cost: float | None) -> int:
    if next(job.response_rows(), None) is None:
        click.echo("No response has a hit of a detector: nobody would be asked.")
        return 0
    from .jobs import show_estimate

    show_estimate(job.estimate(), max_cost)
    return 0
