"""`areopagus attack` and `areopagus rescore`."""

from __future__ import annotations

from typing import Any

import click

from .options import (
    dry_run_options,
    input_options,
    json_option,
    names_in,
    panel_from,
    panel_options,
)


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
@input_options
@json_option
@dry_run_options
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
    json_file: str | None,
    dry_run: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Try an injection corpus on your own panel and measure how far scores move.

    Each response is scored clean, with each attack text at each place, and with harmless prose
    of the same length there. The report gives score shift, success rate, benign shift and the
    detectors' false alarms by family, place, persona and model.
    """
    from ..attacking import AttackJob, AttackPlan
    from .jobs import Manner, carry_out

    if only_list:
        return _list(corpus)
    places: dict[str, Any] = {"placements": names_in(placements)} if placements else {}
    plan = AttackPlan(
        threshold=threshold, texts=texts, controls=controls, neutralise=neutralise, **places
    )
    with panel_from(options) as panel:
        return carry_out(
            lambda line: AttackJob(
                panel.spec,
                responses,
                families=names_in(families) or None,
                corpus=corpus,
                plan=plan,
                on_progress=line.update,
                **options,
            ),
            Manner(dry_run, quiet, json_file=json_file, numbers="attack.json"),
        )


@click.command(context_settings={"max_content_width": 80})
@click.argument("responses")
@click.option(
    "--threshold", type=click.FloatRange(min=0, min_open=True), default=2.0, show_default=True,
    help="Points of difference from which a response is marked.",
)  # fmt: skip
@input_options
@json_option
@dry_run_options
@panel_options
def rescore(
    responses: str,
    *,
    json_file: str | None,
    dry_run: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Score flagged RESPONSES again with the flagged passages taken out.

    An audit: the difference says what instruction-like text did to each score, and no score of
    another run is changed.
    """
    from ..attacking import RescoreJob
    from .jobs import Manner, carry_out

    with panel_from(options) as panel:
        return carry_out(
            lambda line: RescoreJob(panel.spec, responses, on_progress=line.update, **options),
            Manner(dry_run, quiet, json_file=json_file, numbers="rescore.json"),
        )


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
