"""`areopagus attack` and `areopagus rescore`."""

from __future__ import annotations

from typing import Any

import click

from ..attacks.config import AttackConfig, RescoreConfig
from .display import Command
from .options import (
    chosen,
    config_from,
    config_options,
    dry_run_options,
    panel_from,
    panel_options,
    report_options,
)
from .results import Output, listing


@click.command(cls=Command)
@click.option(
    "--responses", metavar="FILE", help="Responses to attack. Left out: eight built-in ones."
)
@click.option("--list", "only_list", is_flag=True, help="List the families and exit.")
@config_options(AttackConfig)
@report_options
@dry_run_options
@panel_options
def attack(
    *,
    responses: str | None,
    only_list: bool,
    full: bool,
    json_file: str | None,
    dry_run: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Try an injection corpus on your own panel and measure how far scores move.

    Each response is scored clean, with each attack text at each place, and with harmless prose
    of the same length there. The report gives score shift, success rate, benign shift and the
    detectors' false alarms by family, place, model and criterion.
    """
    from ..attacks import AttackJob
    from .jobs import Manner, carry_out

    config = config_from(given, AttackConfig)
    if only_list:
        return _list(config, Output(json_file))
    with panel_from(given) as panel:
        return carry_out(
            lambda line: AttackJob(panel.spec, responses, config, on_progress=line.update),
            Manner(dry_run, quiet, full=full, json_file=json_file),
        )


@click.command(cls=Command)
@click.argument("responses")
@config_options(RescoreConfig)
@report_options
@dry_run_options
@panel_options
def rescore(
    responses: str, *, full: bool, json_file: str | None, dry_run: bool, quiet: bool, **given: Any
) -> int:
    """Score flagged RESPONSES again with the flagged passages taken out.

    An audit: the difference says what instruction-like text did to each score, and no score of
    another run is changed.
    """
    from ..attacks import RescoreJob
    from .jobs import Manner, carry_out

    config = RescoreConfig.checked(**chosen(given, RescoreConfig.model_fields))
    with panel_from(given) as panel:
        return carry_out(
            lambda line: RescoreJob(panel.spec, responses, config, on_progress=line.update),
            Manner(dry_run, quiet, full=full, json_file=json_file),
        )


def _list(config: AttackConfig, output: Output) -> int:
    from ..formats import units
    from ..reports.document import Column, Table

    families = config.load_families()
    rows = [(f.id, f.asks, str(len(f.texts)), ", ".join(f.placements), f.label) for f in families]
    columns = [Column(name, "id") for name in ("family", "asks for", "texts", "places", "what")]
    told = f"{units(len(rows), 'family', 'families')} of attack texts."
    output.show(listing("families", [told], [Table("", "Families", columns, rows)]))
    return 0
