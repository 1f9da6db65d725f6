"""`areopagus prompts`: scenarios from sources, prompts from models, a study set from prompts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..progress import READING, ProgressLine
from ..prompts.config import PromptsConfig
from .display import Group
from .options import (
    chosen,
    column_option,
    config_options,
    dry_run_options,
    json_option,
    ledger_option,
    model_options,
    models_from,
    quiet_option,
    report_options,
    seed_option,
)
from .results import Output

if TYPE_CHECKING:
    from ..prompts import Funnel, Scenario

Command = TypeVar("Command", bound=Callable[..., Any])

_GENERATION_OPTIONS = (
    model_options(
        "models",
        "Model that writes, and judges what the others wrote; repeat or separate by commas.",
        "--models", "-m",
    ),
    model_options(
        "judges", "Further model that judges and does not write; repeatable.", "--judge",
        file="The same for these judges.",
    ),
    click.option(
        "--embedding", metavar="MODEL", help="Embedding model for the map; no map without one."
    ),
    click.option("--embedding-file", metavar="FILE", help="YAML with it and its settings."),
    config_options(PromptsConfig, leave=("columns",)),
    ledger_option,
    dry_run_options,
    report_options,
)  # fmt: skip


def _generation_options(command: Command) -> Command:
    for option in reversed(_GENERATION_OPTIONS):
        command = option(command)
    return command


_scenarios_option = click.option(
    "--scenarios",
    "table",
    metavar="FILE",
    help="Where to write them. Default: the name of this command with .csv.",
)


@click.group(cls=Group)
def prompts() -> None:
    """Construct open-ended prompts from sources, and measure them.

    bbq, hle and concepts make a table of scenarios and print what was left out
    on the way; generate has models write prompts for them, vote on them and
    compare them; sample draws a study set. With --models (or --models-file) the
    first three go on to generate at once.
    """


@prompts.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_scenarios_option
@_generation_options
def bbq(files: tuple[str, ...], **options: Any) -> int:
    """One scenario a category and question of BBQ.

    FILES are BBQ's own (.jsonl, .jsonl.gz). Kept are ambiguous contexts, of them
    negative questions, of them the one with the smallest example_id of each
    category and question_index.

    Warning: BBQ's items state social stereotypes, and so may prompts made of
    them.
    """
    from ..prompts import read_bbq

    with _reading(options["quiet"]):
        rows, funnel = read_bbq(files)
    return _scenarios("bbq", rows, funnel, options)


@prompts.command()
@click.argument("file", metavar="FILE")
@click.option("--lists", metavar="FILE", help="Keywords and patterns of your own (YAML).")
@column_option
@_scenarios_option
@_generation_options
def hle(file: str, *, lists: str | None, columns: dict[str, str], **options: Any) -> int:
    """Social questions of Humanity's Last Exam.

    FILE is its table. One category, then a keyword of six groups, then none of the exclusion
    patterns. Columns: id, question, category, raw_subject, image. Answers are
    not read.
    """
    from ..prompts import load_hle_filters, read_hle

    with _reading(options["quiet"]):
        rows, funnel = read_hle(file, filters=load_hle_filters(lists), columns=columns)
    return _scenarios("hle", rows, funnel, options)


@prompts.command()
@click.argument("file", metavar="FILE")
@_scenarios_option
@_generation_options
def concepts(file: str, **options: Any) -> int:
    """Normative concepts with passages you quote.

    FILE is YAML: thematic groups of concepts, each with passages and an
    interpretation. The twelve of the paper, with passages of our own making,
    are in examples/concepts.yaml.
    """
    from ..prompts import read_concepts

    with _reading(options["quiet"]):
        rows, funnel = read_concepts(file)
    return _scenarios("concepts", rows, funnel, options)


@prompts.command()
@click.argument("scenarios", metavar="SCENARIOS")
@column_option
@_generation_options
def generate(scenarios: str, *, columns: dict[str, str], **options: Any) -> int:
    """Have models write, vote on and compare prompts.

    SCENARIOS needs scenario_id and scenario_text; source and stratum help. Each
    model writes; the others vote; two that wrote neither compare.
    """
    return _generate(scenarios, columns, options)


@prompts.command()
@click.argument("source", metavar="RUN|FILE")
@click.option(
    "--per-source", type=click.IntRange(min=1), default=10, show_default=True,
    help="Prompts of each source.",
)  # fmt: skip
@seed_option
@click.option("--out", "table", default="study_set.csv", show_default=True, metavar="FILE")
@column_option
@json_option
@quiet_option
def sample(
    source: str,
    *,
    per_source: int,
    seed: int,
    table: str,
    columns: dict[str, str],
    json_file: str | None,
    quiet: bool,
) -> int:
    """Draw a study set, balanced over strata and models.

    RUN|FILE is a run folder or a prompt set. A round takes one prompt of each
    stratum, of the model with the fewest so far.
    """
    from ..prompts import sample_prompts, write_sample

    with _reading(quiet):
        found = sample_prompts(source, per_source, seed=seed, columns=columns)
        write_sample(table, found)
    if Output(json_file, quiet).show(found.document(seed), place=table):
        click.echo(f"\nStudy set: {table}")
    return 0


@contextmanager
def _reading(quiet: bool) -> Iterator[None]:
    with ProgressLine(quiet=quiet) as line:
        line.do(READING)
        yield


def _scenarios(source: str, rows: list[Scenario], funnel: Funnel, options: dict[str, Any]) -> int:
    """Shows the funnel, writes the table, and goes on where models are named."""
    from ..prompts import write_scenarios
    from .display import printable

    goes_on = bool(options["models"] or options["models_file"])
    table = options.pop("table") or f"{source}.csv"
    # Where models go on, they have the last word: the JSON and the folder are of their job.
    wanted = Output(options["json_file"], options["quiet"], options["full"])
    if not goes_on:
        is_written = bool(rows) and not options["dry_run"]
        place = table if is_written else None
        wanted.show(funnel.document(), funnel.estimates(), place=place)
    elif wanted.talks:
        Output(full=wanted.full).show(funnel.document())
    if wanted.talks:
        click.echo()
    if not rows:
        from ..errors import InputError

        raise InputError("no scenario is left")
    code = 3 if funnel.odd else 0
    if options["dry_run"]:
        if wanted.talks:
            click.echo(f"Scenarios: {printable(table)} (a dry run: not written)")
        if not goes_on:
            return code
        with tempfile.TemporaryDirectory() as folder:
            # The same name, so that the job it stands for has the same folder.
            unwritten = str(Path(folder) / Path(table).name)
            write_scenarios(unwritten, rows)
            return max(code, _generate(unwritten, {}, options, funnel))
    write_scenarios(table, rows)
    if wanted.talks:
        click.echo(f"Scenarios: {printable(table)}")
    return max(code, _generate(table, {}, options, funnel)) if goes_on else code


def _generate(
    scenarios: str, columns: dict[str, str], options: dict[str, Any], funnel: Funnel | None = None
) -> int:
    from ..prompts import PromptJob
    from .jobs import Manner, carry_out

    named = {
        name: models_from(options.pop(name), options.pop(f"{name}_file"))
        for name in ("models", "judges")
    }
    if (file := options.pop("embedding_file")) is not None:
        from ..errors import InputError

        if options["embedding"] is not None:
            raise InputError(
                "name the embedding model by --embedding or --embedding-file, not both"
            )
        options["embedding"] = models_from((), file)
    chosen_options = chosen(options, PromptsConfig.model_fields)
    manner = Manner(
        options["dry_run"],
        options["quiet"],
        full=options["full"],
        json_file=options["json_file"],
    )
    return carry_out(
        lambda line: PromptJob(
            scenarios,
            **named,
            embedding=options["embedding"],
            ledger=options["ledger"],
            funnel=funnel,
            on_progress=line.update,
            columns=columns,
            **chosen_options,
        ),
        manner,
    )
