"""`areopagus personas` and `areopagus rubrics`: list, show, start and check the files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import click

from ..catalogue import Catalogue
from ..errors import InputError, InputFault
from ..formats import units
from ..judges.offline.lexical import measure, score
from ..persona_review.config import ReviewConfig
from ..personas import Persona
from ..progress import ProgressLine
from ..records.types import OVERALL
from ..rubrics import Rubric
from .display import Group, printable
from .humans import human_options, reading_from
from .options import (
    chosen,
    config_options,
    json_option,
    panel_from,
    panel_options,
    quiet_option,
    report_options,
)
from .results import Output, listing, write_shown

_NEW_FILES = click.option(
    "--dir", "folder", default=".", metavar="DIR", help="Folder for the file."
)


@click.group(cls=Group)
def rubrics() -> None:
    """List, show, start and check rubric files."""


@rubrics.command("list")
@json_option
def list_rubric_files(json_file: str | None) -> None:
    """List the rubrics that can be named."""
    from ..rubrics import list_rubrics, load_rubric

    rows = []
    for item in list_rubrics():
        rubric = load_rubric(item.name)
        scale = f"{rubric.scale.low}–{rubric.scale.high}"
        rows.append((rubric.id, str(len(rubric.dimensions)), scale, rubric.label))
    _show(json_file, "rubrics", "rubric", ["rubric", "dimensions", "scale", "label"], rows)


@rubrics.command("show")
@click.argument("name")
@json_option
def show_rubric(name: str, json_file: str | None) -> None:
    """Show rubric NAME (or FILE) as a judge reads it."""
    from ..judges.prompt import rubric_text
    from ..judges.templates import load_template
    from ..rubrics import load_rubric

    rubric = load_rubric(name)
    text = rubric_text(rubric, load_template())
    if _talks(json_file, "rubric", f"Rubric {rubric.id}.", ["text"], [(text,)]):
        click.echo(printable(text))


@rubrics.command("check")
@click.argument("files", nargs=-1, required=True)
@json_option
def check_rubrics(files: tuple[str, ...], json_file: str | None) -> None:
    """Check rubric FILES; every fault is reported."""
    from ..rubrics import load_rubric

    faults: list[InputFault] = []
    rows: list[tuple[str, ...]] = []
    for path in files:
        try:
            rubric = load_rubric(path if "/" in path else f"./{path}")
        except InputError as error:
            faults.extend(error.faults)
        else:
            scale = f"{rubric.scale.low}–{rubric.scale.high}"
            dimensions = str(len(rubric.dimensions))
            rows.append((rubric.id, dimensions, scale, rubric.sha256[:12], path))
    heads = ["rubric", "dimensions", "scale", "sha256", "file"]
    _show(json_file, "rubrics", "rubric in order", heads, rows)
    if faults:
        raise InputError(faults)


@rubrics.command("new")
@click.argument("name")
@_NEW_FILES
def new_rubric(name: str, folder: str) -> None:
    """Write a commented scaffold NAME.yaml to fill in.

    The JSON Schema by which an editor checks it is put beside it, where there is none yet.
    """
    from ..rubrics import RUBRICS

    _start(RUBRICS, name, folder)


def _start(catalogue: Catalogue[Any], name: str, folder: str) -> None:
    """Writes a new file of this kind, and says what comes next."""
    shown = printable(str(catalogue.write_new(name, folder)))
    check = f"areopagus {catalogue.kind}s check {shlex.quote(shown)}"
    click.echo(f"Wrote {shown}. Fill it in, then: {check}")


def _show(
    json_file: str | None,
    kind: str,
    unit: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    remarks: Sequence[tuple[str, str]] = (),
) -> None:
    """Shows a table of files, with remarks below it."""
    from ..reports.document import Column, Table

    first, *rest = unit.split(" ", 1)
    told = " ".join((units(len(rows), first), *rest)) + "."
    table = Table("", kind, [Column(head, "id") for head in heads], rows)
    Output(json_file).show(listing(kind, [told], [table], remarks=remarks))


def _talks(
    json_file: str | None,
    kind: str,
    told: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> bool:
    """Writes texts where --json says; whether they are to be printed too, letter for letter."""
    from ..reports.document import Column, Table

    if json_file is not None:
        table = Table("", kind, [Column(head, "wide") for head in heads], rows)
        write_shown(json_file, listing(kind, [told], [table]))
    return Output(json_file).talks


def check_examples(persona: Persona, rubric: Rubric) -> Iterator[tuple[bool, str]]:
    """Of every expected band of every example: whether the baseline's score meets it, in words."""
    for number, example in enumerate(persona.examples or (), start=1):
        found = score(
            measure(example.prompt, example.response),
            dimensions=[(d.id, d.offline) for d in rubric.dimensions],
            low=rubric.scale.low,
            high=rubric.scale.high,
            lexicon=persona.lexicon or {},
        )
        for criterion, (low, high) in example.expect.items():
            value = found.overall if criterion == OVERALL else found.scores.get(criterion)
            is_met = value is not None and low <= value <= high
            got = "the rubric has no such dimension" if value is None else f"got {value}"
            told = f"example {number}, {criterion}: expected {low:g} to {high:g}, {got}"
            yield is_met, f"{told}: {'met' if is_met else 'missed'}"


_FOLDERS = click.option(
    "--personas", "folders", multiple=True, metavar="DIR", help="Further folders; repeatable."
)
_SAMPLE_PROMPT = "What does a society owe to people whose work it no longer needs?"
_SAMPLE_RESPONSE = "(the response to be judged stands here)"


@click.group(cls=Group)
def personas() -> None:
    """List, show, start and check persona files."""


@personas.command("list")
@_FOLDERS
@json_option
def list_them(folders: tuple[str, ...], json_file: str | None) -> None:
    """List the personas that a panel would have, and where each comes from."""
    from ..personas import list_personas, load_personas

    found = {item.name: item for item in list_personas(folders)}
    chosen = load_personas(None, folders)
    rows = [(persona.id, persona.axis, persona.label) for persona in chosen]
    remarks = []
    for persona in chosen:
        item = found.get(persona.id)
        if item is not None and not item.is_builtin:
            hides = " (hides the built-in one)" if item.hides_builtin else ""
            remarks.append(("", f"{persona.id} from {item.path}{hides}"))
    _show(json_file, "personas", "persona", ["persona", "axis", "label"], rows, remarks)


@personas.command("show")
@click.argument("name")
@click.option("--prompt", default=_SAMPLE_PROMPT, help="A prompt to show the messages with.")
@click.option("--response", default=_SAMPLE_RESPONSE, help="A response to show them with.")
@json_option
@panel_options
def show(name: str, *, prompt: str, response: str, json_file: str | None, **options: Any) -> None:
    """Show the exact messages that a judge with persona NAME (or FILE) would get.

    The marker's digits are zeros here; in a run they are drawn from the judged texts with a
    secret of the ledger.
    """
    options["persona_names"] = (name,)
    panel = panel_from(options)
    persona = panel.personas[0]
    messages = panel.messages(persona.id, prompt, response)
    rows = [(message["role"], message["content"]) for message in messages]
    told = f"What a judge with persona {persona.id} would get."
    if not _talks(json_file, "messages", told, ["role", "text"], rows):
        return
    for message in messages:
        click.secho(f"--- {message['role']} ---", bold=True)
        click.echo(printable(message["content"]))


@personas.command("new")
@click.argument("name")
@_NEW_FILES
def new(name: str, folder: str) -> None:
    """Write a commented scaffold NAME.yaml to fill in.

    The JSON Schema by which an editor checks it is put beside it, where there is none yet.
    """
    from ..personas import PERSONAS

    _start(PERSONAS, name, folder)


@personas.command("check")
@click.argument("files", nargs=-1, required=True)
@click.option("--rubric", default="critical_thinking", metavar="NAME|FILE")
@json_option
def check(files: tuple[str, ...], rubric: str, json_file: str | None) -> int:
    """Check persona FILES; where one has example responses, score them offline.

    Every fault of every file is reported. Example responses are scored by the embedded baseline
    against the bands that the file expects; they are never shown to a judge.
    """
    from ..personas import read_persona_files
    from ..rubrics import load_rubric

    chosen = load_rubric(rubric)
    missed = 0
    rows: list[tuple[str, ...]] = []
    remarks: list[tuple[str, str]] = []
    for path, persona in zip(files, read_persona_files(files), strict=True):
        rows.append((persona.id, persona.axis, persona.sha256[:12], path))
        for is_met, told in check_examples(persona, chosen):
            missed += not is_met
            remarks.append((f"{persona.id}:", told))
    heads = ["persona", "axis", "sha256", "file"]
    _show(json_file, "personas", "persona in order", heads, rows, remarks)
    if missed:
        click.echo(
            f"{missed} expected bands missed by the embedded baseline, which counts features of "
            "the text and knows nothing of its meaning.",
            err=True,
        )
        return 3
    return 0


@personas.command("review")
@click.argument("run")
@click.argument("humans")
@config_options(ReviewConfig)
@report_options
@quiet_option
@human_options
def review(
    run: str, humans: str, *, full: bool, json_file: str | None, quiet: bool, **given: Any
) -> None:
    """Say where the personas of RUN depart from the people in the file HUMANS.

    By criterion and respondent, beyond what the other personas depart, with the texts of the
    responses on which they stand farthest from people. Nobody is asked.
    """
    config = chosen(given, ReviewConfig.model_fields)
    with ProgressLine(quiet=quiet):
        from ..persona_review import review_persona

        found = review_persona(run, reading_from(humans, **given), **config)
        document, estimates = found.document(), found.estimates
    place = printable(str(found.path))
    if Output(json_file, quiet, full).show(document, estimates, place=found.path):
        click.echo(f"\n{place}: report.html · estimates.csv")
        click.echo(f"More: areopagus report {place} --full")
