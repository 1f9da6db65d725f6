"""`areopagus track`."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from ..formats import short
from .display import Command
from .options import json_option, quiet_option
from .results import MOST_ROWS, Output, listing


@click.command(cls=Command)
@click.argument("run")
@click.option(
    "--to", required=True, metavar="TOOL",
    help="mlflow:URI, wandb:[ENTITY/]PROJECT, otel, phoenix:URL or langfuse:URL.",
)  # fmt: skip
@click.option(
    "--experiment",
    default="areopagus",
    show_default=True,
    help="MLflow's experiment.",
)
@click.option(
    "--table", "tables", multiple=True, metavar="NAME",
    help="Figures of this table alone, for mlflow and wandb; may be repeated.",
)  # fmt: skip
@click.option(
    "--texts", is_flag=True,
    help="Send the report, what judges wrote and the input's other columns too.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show what would be sent; send nothing.")
@json_option
@quiet_option
def track(
    run: str,
    *,
    to: str,
    experiment: str,
    tables: tuple[str, ...],
    texts: bool,
    dry_run: bool,
    json_file: str | None,
    quiet: bool,
) -> None:
    """Send the results of the folder RUN to a tracking tool.

    MLflow and Weights & Biases get parameters, a metric for each figure, and tables as files.
    OpenTelemetry, Phoenix and Langfuse get the scores of each response, beside the span that its
    row names in trace_id and span_id. Keys are read from the environment.
    """
    from ..integrations.track import track as send
    from ..reports.document import Column, Table

    # This process is our own: what these clients would tell others of it is switched off, and
    # MLflow's does not follow redirects.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_ALLOW_HTTP_REDIRECTS", "false")
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    sent = send(run, to, experiment=experiment, tables=tables, texts=texts, dry_run=dry_run)
    columns = [Column("what"), Column("n", "count")]
    shown = [Table("", "counts", columns, list(sent.counts.items()), is_short=True)]
    if dry_run and sent.samples:
        most = MOST_ROWS if json_file is None else len(sent.samples)
        rows = [(kind, name, short(value, 17)) for kind, name, value in _spread(sent.samples, most)]
        said = f"{len(rows)} of {len(sent.samples):,}" if len(rows) < len(sent.samples) else "All"
        columns = [Column("what"), Column("name"), Column("value")]
        shown.append(Table(f"{said} that would be sent", "what would be sent", columns, rows))
    document = listing("tracking", [sent.answer], shown, remarks=sent.remarks)
    Output(json_file, quiet=quiet).show(document, place=sent.place)


def _spread(samples: Sequence[tuple[str, str, str]], most: int) -> list[tuple[str, str, str]]:
    """As many of each kind, and no more than so many in all."""
    kinds = list(dict.fromkeys(kind for kind, _, _ in samples))
    share = max(1, most // len(kinds))
    found = [one for kind in kinds for one in [s for s in samples if s[0] == kind][:share]]
    return found[:most]
