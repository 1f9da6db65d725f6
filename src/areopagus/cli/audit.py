"""`areopagus audit NAME`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..experiment.config import AuditConfig
from .display import Command
from .options import (
    chosen,
    click_options,
    config_from,
    config_options,
    dry_run_options,
    json_option,
    ledger_option,
    report_options,
)
from .results import Output, listing

if TYPE_CHECKING:
    from ..auditing import AuditJob
    from ..audits import Audit

_FIRST = ("target", "judges", "responses")
_OPTIONS = (
    config_options(AuditConfig, only=_FIRST),
    click.option("--write-prompts", metavar="FILE", help="Write the prompts as CSV and end."),
    config_options(AuditConfig, leave=_FIRST),
    report_options,
    ledger_option,
    dry_run_options,
)  # fmt: skip


class AuditGroup(click.Group):
    """A group whose commands are the audits; a folder's path is one too."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The built-in names."""
        from ..audits.registry import audit_names

        return list(audit_names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of an audit, with the options that are its own."""
        from ..audits.registry import find_audit

        return _command(find_audit(cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The audits with what they find out."""
        from ..audits.registry import audit_names, find_audit

        with formatter.section("Audits"):
            known = [(name, find_audit(name).definition) for name in audit_names()]
            formatter.write_dl([(name, found.about) for name, found in known])


@click.group(
    cls=AuditGroup,
    invoke_without_command=True,
    context_settings={"max_content_width": 80},
    subcommand_metavar="NAME [OPTIONS]",
)
@click.option("--list", "only_list", is_flag=True, help="List the audits and exit.")
@click.option(
    "--new-language", metavar="CODE", help="Write CODE.yaml, the words of a language, and exit."
)
@json_option
@click.pass_context
def audit(
    ctx: click.Context, *, only_list: bool, new_language: str | None, json_file: str | None
) -> int | None:
    """Audit models for a bias: NAME is one of the audits, or the folder of your own.

    `areopagus audit NAME --help` shows an audit's options.
    """
    if new_language is not None:
        from ..audits.languages import new_language as write

        path = write(new_language)
        click.echo(
            f"{path} holds the English words: translate them, then ask with --language {path}."
        )
        return ctx.exit(0)
    if ctx.invoked_subcommand is not None and not only_list:
        return None
    if not only_list:
        click.echo(ctx.get_help())
        return 0
    from ..audits.registry import audit_names, find_audit
    from ..reports.document import Column, Table

    rows = [(name, find_audit(name).definition.about) for name in audit_names()]
    columns = [Column("audit", "id"), Column("finds out", "id")]
    document = listing("audits", [f"{len(rows)} audits."], [Table("", "Audits", columns, rows)])
    Output(json_file).show(document)
    return ctx.exit(0)


def _command(audit: Audit[Any]) -> click.Command:
    def run(**given: Any) -> int:
        own = chosen(given, audit.options_model.model_fields)
        return _audit(audit, own, config_from(given, AuditConfig), **given)

    said = audit.definition
    about = f"{said.title}.\n\nFinds out {said.about}."
    if said.source:
        about += f"\n\nAfter {said.source}."
    if said.also_in:
        about += f"\n\nIts own material: {', '.join((said.language, *said.also_in))}."
    if said.warning:
        about += f"\n\nWarning: {said.warning}."
    callback: Callable[..., Any] = run
    for option in reversed(_OPTIONS):
        callback = option(callback)
    made = click.command(
        cls=Command,
        name=said.name,
        help=inspect.cleandoc(about),
        context_settings={"max_content_width": 80},
    )(callback)
    made.params = [*click_options(audit.options_model), *made.params]
    return made


def _audit(
    audit: Audit[Any],
    own: dict[str, Any],
    config: AuditConfig,
    *,
    write_prompts: str | None,
    ledger: str | None,
    json_file: str | None,
    full: bool,
    dry_run: bool,
    quiet: bool,
) -> int:
    from ..auditing import AuditJob
    from .jobs import Manner, carry_out

    def prepare(on_progress: Any = None) -> AuditJob:
        return AuditJob(audit, config, options=own, ledger=ledger, on_progress=on_progress)

    if write_prompts is not None:
        return _write_prompts(prepare(), Path(write_prompts))
    manner = Manner(dry_run, quiet, name_with="--target", full=full, json_file=json_file)
    return carry_out(lambda line: prepare(line.update), manner)


def _write_prompts(job: AuditJob, path: Path) -> int:
    from ..formats import units
    from ..records.run_folder import csv_table
    from ..records.spreadsheets import writable
    from .display import printable

    carried = [name for name in job.definition.item_columns if name != "prompt_id"]
    askings: set[int] = set()
    with csv_table(path, ["prompt_id", "prompt_text", *carried]) as writer:
        for item in job.plan.items():
            askings.add(item.repeats * job.plan.repeats)
            cells = [item.item_id, item.prompt, *(item.fields.get(name) for name in carried)]
            writer.write(["" if cell is None else writable(cell) for cell in cells])
    click.echo(
        f"{units(job.plan.n_items, 'prompt')} in {printable(str(path))}. Hand the answers back "
        "with\n"
        "  --responses FILE (item_id, response_text, respondent_id); what `areopagus\n"
        "  respond` writes fits as it is."
    )
    if max(askings) > 1:
        fewest, most = min(askings), max(askings)
        times = f"{most} times" if fewest == most else f"{fewest} to {most} times"
        click.echo(
            f"Each prompt is to be asked {times}: `areopagus respond --repeats {most}`, or\n"
            "  a column repeat that counts from 0."
        )
        if fewest != most:
            click.echo("  What is asked more often than planned is left out.")
    return 0
