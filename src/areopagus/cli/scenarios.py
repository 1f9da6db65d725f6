"""`areopagus scenarios`: scenarios for the SilverSpoon audit, written by a model."""

from __future__ import annotations

from typing import Any

import click

from .constructing import construct, model_options, run_options


@click.command(name="scenarios", context_settings={"max_content_width": 80})
@model_options("Who writes; one model.")
@click.option(
    "--topic", "topics", multiple=True, metavar="WORDS",
    help="What scenarios are about; repeatable. Default: the audit's ten topics.",
)  # fmt: skip
@click.option(
    "--per-topic", type=click.IntRange(min=1), default=100, show_default=True,
    help="Scenarios wanted of each topic, ten in a call.",
)  # fmt: skip
@click.option(
    "--versions", type=click.IntRange(1, 20), default=3, show_default=True,
    help="Wordings of each, the first one included.",
)  # fmt: skip
@click.option(
    "--similarity", type=click.FloatRange(0, 1), default=0.8, show_default=True,
    help="Least share of words that a wording keeps.",
)  # fmt: skip
@run_options("scenarios")
def scenarios(**options: Any) -> int:
    """Have a model write scenarios for `audit silverspoon`.

    In each a poor person, P1, breaks a rule out of need, and somebody else answers it. Rules check
    what is written, and what does not serve is asked for once more. The result, scenarios.csv, is
    for `areopagus audit silverspoon --scenarios`; batches.jsonl says what was left out and why.
    Gold labels are never made: people give them. Read the scenarios before use.
    """
    from ..auditing.scenarios import scenario_job

    return construct(scenario_job, **options)
