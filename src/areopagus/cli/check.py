"""`areopagus check`: tries each model of a panel once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..formats import dollars, units
from .display import Command, in_options
from .options import json_option, panel_from, panel_options
from .results import MOST_SAID, Output, listing

if TYPE_CHECKING:
    from ..model_check import ModelCheck
    from ..reports.document import Document


@click.command(cls=Command)
@click.option(
    "--max-cost",
    type=click.FloatRange(min=0),
    metavar="USD",
    help="Most that it may cost; a model without a known price is then not asked. Default: 1, for "
    "the models whose price is known.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print nothing; the exit code tells.")
@json_option
@panel_options
def check(max_cost: float | None, *, quiet: bool, json_file: str | None, **given: Any) -> int:
    """Try each model once: key, address, response format, price, latency.

    A judge's question about an example goes to each model of the panel, as in a run. What it
    costs is said and is in the ledger.

    \b
    Exit codes: 0 all models are ready;
    2 a key, an address, a setting or a price is missing or wrong;
    3 a model was asked and its answer is of no use;
    4 the cost cap does not allow the call.
    """
    from ..async_runner import run_sync
    from ..model_check import check_models, exit_code
    from ..progress import ProgressLine

    with panel_from(given) as panel:
        with ProgressLine(quiet=quiet) as line:
            line.do(f"asking {units(len(panel.backends), 'model')}")
            checks = run_sync(check_models(panel.spec, max_cost=max_cost))
        document = check_document(checks, is_demonstration=panel.spec.is_demonstration)
    Output(json_file, quiet).show(document)
    return exit_code(checks)


def check_document(checks: list[ModelCheck], *, is_demonstration: bool = False) -> Document:
    """The table of models, below the sentence that says which are ready."""
    from ..reports.document import Column, Table

    ready = sum(check.outcome == "ready" for check in checks)
    are = "is" if 1 in (ready, len(checks)) else "are"
    told = f"{ready} of {units(len(checks), 'model')} {are} ready"
    told = "; ".join([told, *(f"{one.model}: {one.problem}" for one in checks if one.problem)])
    shows_logprobs = any(check.gives_logprobs is not None for check in checks)
    columns = [Column("model", "id"), Column("ready"), Column("format")]
    columns += [Column("logprobs")] if shows_logprobs else []
    columns += [Column("price"), Column("seconds", "number")]
    rows = []
    remarks = []
    command = click.get_current_context().command
    for one in checks:
        row: list[Any] = [one.model, "yes" if one.outcome == "ready" else "no", one.response_format]
        if shows_logprobs:
            row.append({True: "yes", False: "no", None: None}[one.gives_logprobs])
        rows.append([*row, one.price_source or "unknown", one.latency_s])
        if one.outcome != "to_set":
            key = f"key from {one.key}" if one.key else "no key sent"
            by = f", answered by {one.answered_by}" if one.answered_by else ""
            remarks.append((f"{one.model}:", f"{key}{by}"))
        if one.said:
            remarks.append((f"{one.model} said:", one.said[:MOST_SAID]))
        if one.to_do:
            remarks.append((f"{one.model}, to do:", in_options(one.to_do, command)))
    headline = [f"{told}.", _cost(checks)]
    if is_demonstration:
        headline.append(
            "The embedded judge is no language model: name one with --models or --panel."
        )
    table = Table("", "Models", columns, rows)
    return listing("check", headline, [table], remarks=remarks)


def _cost(checks: list[ModelCheck]) -> str:
    """What the answers cost, and where they are."""
    calls = sum(one.calls for one in checks)
    if not calls:
        return "No call was answered, and nothing paid."
    known = [one.cost_usd for one in checks if one.cost_usd is not None]
    told = f"{units(calls, 'call')} answered"
    unknown = [one.model for one in checks if one.calls and one.cost_usd is None]
    if any(known) or not unknown:
        told += f", {dollars(sum(known))}"
    if unknown:
        told += f"; what {', '.join(unknown)} cost is unknown"
    return f"{told}; in the ledger."
