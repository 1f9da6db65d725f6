"""`areopagus prompts`: scenarios from sources, prompts from models, a study set from prompts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..experiment.config import InputConfig
from .options import (
    column_option,
    config_options,
    dry_run_options,
    effort_option,
    json_option,
    ledger_option,
    models_from,
    seed_option,
)

if TYPE_CHECKING:
    from ..prompting import Funnel, PromptRun, Sample, Scenario

Command = TypeVar("Command", bound=Callable[..., Any])
_WIDE = {"max_content_width": 80}

_GENERATION_OPTIONS = (
    click.option(
        "--models", "-m", multiple=True, metavar="MODEL[,MODEL…]",
        help="Model that writes, and judges what the others wrote; repeat or separate by commas.",
    ),
    click.option("--models-file", metavar="FILE", help="YAML with these models and settings."),
    click.option(
        "--judge", "judges", multiple=True, metavar="MODEL[,MODEL…]",
        help="Further model that judges and does not write; repeatable.",
    ),
    click.option("--judges-file", metavar="FILE", help="The same for these judges."),
    click.option(
        "--per-scenario", type=click.IntRange(1, 10), default=5, show_default=True,
        help="Prompts wanted of each model for each scenario.",
    ),
    click.option(
        "--filter-judges", type=click.Choice(["others", "all"]), default="others",
        show_default=True,
        help="Who votes on quality: models that did not write the prompt, or all.",
    ),
    click.option(
        "--equivalence", type=click.Choice(["both", "either"]), default="both", show_default=True,
        help="Judges that must call two prompts equivalent.",
    ),
    click.option(
        "--diversity", "diversity_of", type=click.Choice(["generated", "passed", "none"]),
        default="generated", show_default=True, help="Whose pairs are compared.",
    ),
    click.option(
        "--cross-pairs", type=click.IntRange(min=0), default=25, show_default=True,
        help="Most pairs between two models in a scenario.",
    ),
    click.option(
        "--embedding", metavar="MODEL", help="Embedding model for the map; no map without one."
    ),
    click.option("--embedding-file", metavar="FILE", help="YAML with it and its settings."),
    click.option(
        "--projection", type=click.Choice(["pca", "umap"]), default="pca", show_default=True,
        help="Of the map; umap, as in the paper, needs the package umap-learn.",
    ),
    click.option(
        "--technology", metavar="FILE", help="Words about technology of your own (YAML)."
    ),
    effort_option,
    click.option("--level", type=click.FloatRange(0, 1, min_open=True, max_open=True),
                 default=0.95, show_default=True, help="Level of the intervals."),
    seed_option,
    ledger_option,
    config_options(InputConfig, leave=("columns",)),
    dry_run_options,
)  # fmt: skip
_PLAN = (
    "per_scenario", "filter_judges", "equivalence", "diversity_of", "cross_pairs", "level", "seed",
    "projection",
)  # fmt: skip


def _generation_options(command: Command) -> Command:
    for option in reversed(_GENERATION_OPTIONS):
        command = option(command)
    return command


def _scenario_options(command: Command) -> Command:
    for option in (
        click.option("--json", "json_file", metavar="FILE", help="Write funnel or figures there."),
        click.option(
            "--scenarios",
            "table",
            metavar="FILE",
            help="Where to write them. Default: the name of this command with .csv.",
        ),
    ):
        command = option(command)
    return command


@click.group(context_settings=_WIDE)
def prompts() -> None:
    """Construct open-ended prompts from sources, and measure them.

    bbq, hle and concepts make a table of scenarios and print what was left out
    on the way; generate has models write prompts for them, vote on them and
    compare them; sample draws a study set. With --models (or --models-file) the
    first three go on to generate at once.
    """


@prompts.command(context_settings=_WIDE)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_scenario_options
@_generation_options
def bbq(files: tuple[str, ...], **options: Any) -> int:
    """One scenario a category and question of BBQ.

    FILES are BBQ's own (.jsonl, .jsonl.gz). Kept are ambiguous contexts, of them
    negative questions, of them the one with the smallest example_id of each
    category and question_index.

    Warning: BBQ's items state social stereotypes, and so may prompts made of
    them.
    """
    from ..prompting import read_bbq

    rows, funnel = read_bbq(files)
    return _scenarios("bbq", rows, funnel, options)


@prompts.command(context_settings=_WIDE)
@click.argument("file", metavar="FILE")
@click.option("--lists", metavar="FILE", help="Keywords and patterns of your own (YAML).")
@column_option
@_scenario_options
@_generation_options
def hle(file: str, *, lists: str | None, columns: dict[str, str], **options: Any) -> int:
    """Social questions of Humanity's Last Exam.

    FILE is its table. One category, then a keyword of six groups, then none of the exclusion
    patterns. Columns: id, question, category, raw_subject, image. Answers are
    not read.
    """
    from ..prompting import load_hle_filters, read_hle

    rows, funnel = read_hle(file, filters=load_hle_filters(lists), columns=columns)
    return _scenarios("hle", rows, funnel, options)


@prompts.command(context_settings=_WIDE)
@click.argument("file", metavar="FILE")
@_scenario_options
@_generation_options
def concepts(file: str, **options: Any) -> int:
    """Normative concepts with passages you quote.

    FILE is YAML: thematic groups of concepts, each with passages and an
    interpretation. The twelve of the paper, with passages of our own making,
    are in examples/concepts.yaml.
    """
    from ..prompting import read_concepts

    rows, funnel = read_concepts(file)
    return _scenarios("concepts", rows, funnel, options)


@prompts.command(context_settings=_WIDE)
@click.argument("scenarios", metavar="SCENARIOS")
@column_option
@json_option
@_generation_options
def generate(scenarios: str, *, columns: dict[str, str], **options: Any) -> int:
    """Have models write, vote on and compare prompts.

    SCENARIOS needs scenario_id and scenario_text; source and stratum help. Each
    model writes; the others vote; two that wrote neither compare.
    """
    return _generate(scenarios, columns, options)


@prompts.command(context_settings=_WIDE)
@click.argument("source", metavar="RUN|FILE")
@click.option(
    "--per-source", type=click.IntRange(min=1), default=10, show_default=True,
    help="Prompts of each source.",
)  # fmt: skip
@seed_option
@click.option("--out", "table", default="study_set.csv", show_default=True, metavar="FILE")
@column_option
def sample(source: str, *, per_source: int, seed: int, table: str, columns: dict[str, str]) -> int:
    """Draw a study set, balanced over strata and models.

    RUN|FILE is a run folder or a prompt set. A round takes one prompt of each
    stratum, of the model with the fewest so far.
    """
    from ..prompting import sample_prompts, write_sample

    found = sample_prompts(source, per_source, seed=seed, columns=columns)
    write_sample(table, found)
    _show_sample(found, seed)
    click.echo(f"Study set: {table}")
    return 0


def _scenarios(source: str, rows: list[Scenario], funnel: Funnel, options: dict[str, Any]) -> int:
    """Shows the funnel, writes the table, and goes on where models are named."""
    from ..prompting import funnel_lines, write_scenarios
    from .display import printable

    goes_on = bool(options["models"] or options["models_file"])
    table = options.pop("table") or f"{source}.csv"
    json_file = None if goes_on else options.pop("json_file")
    if not options["quiet"]:
        for line in funnel_lines(funnel):
            click.echo(printable(line))
    if json_file is not None:
        _write_json(json_file, funnel.to_json())
    if not rows:
        from ..errors import InputError

        raise InputError("no scenario is left")
    code = 3 if funnel.odd else 0
    if options["dry_run"]:
        click.echo(f"Scenarios: {printable(table)} (a dry run: not written)")
        if not goes_on:
            return code
        with tempfile.TemporaryDirectory() as folder:
            # The same name, so that the job it stands for has the same folder.
            unwritten = str(Path(folder) / Path(table).name)
            write_scenarios(unwritten, rows)
            return max(code, _generate(unwritten, {}, options))
    write_scenarios(table, rows)
    click.echo(f"Scenarios: {printable(table)}")
    return max(code, _generate(table, {}, options)) if goes_on else code


def _generate(scenarios: str, columns: dict[str, str], options: dict[str, Any]) -> int:
    from ..prompting import PromptJob, PromptPlan
    from ..prompting.run import FIGURES_FILE
    from .jobs import Manner, carry_out

    options |= {
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
    plan = PromptPlan(**{name: options.pop(name) for name in _PLAN})
    manner = Manner(
        options.pop("dry_run"),
        options.pop("quiet"),
        json_file=options.pop("json_file"),
        numbers=FIGURES_FILE,
        show=_show,
    )
    return carry_out(
        lambda line: PromptJob(
            scenarios, plan=plan, columns=columns, on_progress=line.update, **options
        ),
        manner,
    )


def _show(run: PromptRun) -> None:
    from .display import printable
    from .jobs import show_text

    show_text(run)
    click.echo(f"Prompts: {printable(str(run.prompts_path))}")


def _show_sample(found: Sample, seed: int) -> None:
    from ..formats import units
    from .display import console, table, visible

    out = console()
    rows = table(f"Study set, seed {seed}", ["source", "stratum", "drawn", "by generator"], left=2)
    strata = found.count("stratum")
    for (source, stratum), n in sorted(strata.items()):
        mine = [
            one.generator
            for one in found.rows
            if (one.source, one.stratum) == (source, stratum) and one.generator
        ]
        by = ", ".join(f"{name} {mine.count(name)}" for name in sorted(set(mine)))
        rows.add_row(visible(source), visible(stratum or "–", width=28), str(n), visible(by or "–"))
    out.print(rows)
    for source, n in found.available.items():
        drawn = sum(one.source == source for one in found.rows)
        reached = sum(1 for name, _ in strata if name == source)
        short = f"; {found.wanted} wanted" if drawn < found.wanted else ""
        out.print(
            f"{visible(source)}: {drawn} of {units(n, 'prompt')}, from {reached} of "
            f"{found.strata[source]} strata{short}"
        )


def _write_json(path: str, content: Any) -> None:
    from ..records.run_folder import replaced

    with replaced(Path(path)) as part:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        part.write_text(text + "\n", encoding="utf-8")
