"""What the commands of `areopagus study` print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import BaseModel

from ..errors import InputError, InputFault
from ..formats import units
from ..progress import READING, ProgressLine
from ..records.estimates import ESTIMATES_CSV
from ..records.run_folder import REPORT_FILE
from ..study.settings import (
    BuildOptions,
    LabelSettings,
    PlanConfig,
    PlanWish,
    RatingSettings,
    WritingSettings,
)
from .display import Group, NarrowCommand, printable, say
from .options import chosen, config_options, json_option, quiet_option, report_options
from .results import Output, listing

if TYPE_CHECKING:
    from ..reports.document import Document
    from ..study import Address, BuiltStudy


def built_document(built: BuiltStudy) -> Document:
    """What was built."""
    fewest, most = built.per_rater
    each = f"{most}" if fewest == most else f"{fewest} to {most}"
    who = "writer" if built.kind == "writing" else "rater"
    pages = (
        f"{units(built.n_raters, who)}, {units(built.n_prompts, 'prompt')} "
        f"({units(built.n_calibration, 'calibration item')}), {units(built.n_packets, 'page')}, "
        f"{each} a person."
    )
    remarks = []
    if built.kind == "rating":
        told = ", ".join(f"{kind} in {n}" for kind, n in built.changes.items()) or "nothing"
        shown = f"{units(built.n_responses, 'response')}; form brought into line: {told}"
        remarks.append(("Shown:", shown))
    kept = built.folder / "organiser"
    remarks.append(("", f"What unblinds stays in {kept}, personal links too."))
    headline = [f"Built {built.folder}, a {built.kind} study.", pages]
    return listing("study", headline, remarks=remarks, notices=built.notices)


_FOLDER = click.argument("study", metavar="STUDY")


@click.group(cls=Group)
def study() -> None:
    """Collect human judgments: blinded packets, a rating page, and the way back.

    build makes a study, serve lets people rate (or write) in a browser, export
    gives packets to other tools, status says how far raters are, collect brings
    ratings back for calibrate, and plan says how many prompts and raters are
    needed.
    """


@study.command(cls=NarrowCommand)
@click.argument("responses", nargs=-1, metavar="[FILE]...")
@config_options(BuildOptions, only=("raters", "out"), required=("raters", "out"))
@config_options(BuildOptions, only=("task", "human", "model", "weak", "all_models"))
@config_options(RatingSettings)
@config_options(WritingSettings, only=("minutes", "words"))
@config_options(LabelSettings, only=("question", "category", "golds", "criterion"))
@config_options(BuildOptions, only=("rubric", "seed", "url"))
@json_option
@quiet_option
def build(
    responses: tuple[str, ...], *, json_file: str | None, quiet: bool, **options: Any
) -> None:
    """Build a study from responses, or from prompts to write to or to label.

    Each FILE has response_id, prompt_id, prompt_text, response_text,
    respondent_id and source (human, model or weak). Files given by --human,
    --model and --weak need no source.
    """
    from ..study import build_labelling, build_study, build_writing

    given = chosen(options, BuildOptions.model_fields)
    # 0 equals False, and is a setting: no pause, no limit, no people.
    settings = {
        n: value
        for n, value in options.items()
        if value is not None and value is not False and value != ()
    }
    if (file := settings.get("instructions")) is not None:
        settings["instructions"] = _text_of(file)
    raters = given.pop("raters")
    people = int(raters) if raters.isdecimal() and len(raters) < 10 else raters
    task = given.pop("task", "rate")
    own: dict[str, type[BaseModel]] = {
        "rate": RatingSettings,
        "write": WritingSettings,
        "label": LabelSettings,
    }
    others = {name for one in own.values() for name in one.model_fields}
    foreign = others - set(own[task].model_fields)
    if task != "rate":
        foreign |= {"human", "model", "weak", "all_models", "rubric"}
    _refuse(f"--task {task}", given | settings, sorted(foreign))
    if task == "rate":
        make = partial(build_study, list(responses), raters=people)
    else:
        if len(responses) != 1:
            raise InputError(f"--task {task} needs one FILE of prompts, got {len(responses)}")
        if task == "write":
            make = partial(build_writing, responses[0], writers=people)
        else:
            make = partial(build_labelling, responses[0], raters=people)
    with ProgressLine(quiet=quiet) as line:
        line.do("building the study")
        built = make(settings=settings, **given)
    if Output(json_file, quiet).show(built_document(built), place=built.folder):
        say(f"Next: areopagus study serve {built.folder}")


@study.command()
@_FOLDER
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to serve on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option("--store", metavar="FILE", help="Where saves go. Default: STUDY/ratings.sqlite.")
@click.option("--log", is_flag=True, help="Show each request: code, page and outcome, no links.")
def serve(study: str, *, host: str, port: int, store: str | None, log: bool) -> None:
    """Serve STUDY to raters until interrupted.

    Only STUDY/packets is read: a machine that serves needs nothing else. Other
    machines reach it only with --host; links are secrets, so let them come
    through a proxy that speaks https.
    """
    from ..study import serve_study

    if log:
        _log_requests()

    def started(address: Address) -> None:
        click.echo(f"Serving {study} at {address.url}; Ctrl-C ends it, every save is on disk.")
        click.echo(f"Raters use the links in {Path(study) / 'organiser' / 'links.csv'}; where they")
        click.echo("begin otherwise: areopagus study links STUDY --url URL")
        if not address.is_loopback:
            click.echo(
                "Note: other machines can reach this address. Plain http shows the links, which "
                "are secrets, to whoever listens: put a proxy with https before it.",
                err=True,
            )

    serve_study(study, host=host, port=port, store=store, started=started)


@study.command()
@_FOLDER
@click.option("--store", metavar="FILE", help="Default: STUDY/ratings.sqlite.")
@report_options
def status(study: str, *, store: str | None, json_file: str | None, full: bool) -> None:
    """Say who is done, what is missing and whom to look at.

    Reads what the server saved, also while it runs, and writes nothing. --full
    has a line a rater.
    """
    from ..study import study_status

    found = study_status(study, store=store)
    Output(json_file, full=full).show(found.document(), found.estimates)


@study.command()
@_FOLDER
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--out", metavar="DIR", help="Default: STUDY/collected.")
@click.option("--store", metavar="FILE", help="Default: STUDY/ratings.sqlite, if it is there.")
@click.option("--columns", metavar="FILE", help="A column map for files of another layout.")
@report_options
@quiet_option
def collect(
    study: str,
    files: tuple[str, ...],
    *,
    out: str | None,
    store: str | None,
    columns: str | None,
    json_file: str | None,
    full: bool,
    quiet: bool,
) -> None:
    """Bring ratings or written texts home.

    Reads what the server saved, and FILEs that came back from other tools;
    unblinds, checks every rater, and writes ratings.csv, which calibrate reads.
    """
    from ..study import collect_study

    with ProgressLine(quiet=quiet) as line:
        line.do(READING)
        found = collect_study(study, files, out=out, store=store, columns=columns)
        document = found.document()
    if Output(json_file, quiet, full).show(document, found.estimates, place=found.path):
        click.echo(f"Wrote {found.table}, {REPORT_FILE} and {ESTIMATES_CSV} beside it")


@study.command()
@_FOLDER
@click.option(
    "--as",
    "kind",
    required=True,
    type=click.Choice(["csv", "xlsx", "label-studio", "qualtrics", "html"]),
    help="The form of the packets; html is for printing.",
)
@click.option("--out", metavar="DIR", help="Default: STUDY/export-KIND.")
@json_option
@quiet_option
def export(study: str, *, kind: str, out: str | None, json_file: str | None, quiet: bool) -> None:
    """Write blinded packets for other tools.

    One file a rater, named by the rater's code.
    """
    from ..study import export_packets

    with ProgressLine(quiet=quiet) as line:
        line.do("writing the packets")
        written = export_packets(study, kind, out=out)
    told = [f"Wrote {units(len(written.files), 'file')}, one a rater. {written.how}"]
    if Output(json_file, quiet).show(listing("packets", told), place=written.folder):
        click.echo(f"In {printable(str(written.folder))}")
        click.echo(f"Bring answers back with: areopagus study collect {printable(study)} FILE...")


@study.command()
@_FOLDER
@click.option("--url", help="What links begin with from now on.")
@click.option("--renew", metavar="RATER_ID", help="Give this rater a new link; the old one ends.")
@json_option
@quiet_option
def links(
    study: str, *, url: str | None, renew: str | None, json_file: str | None, quiet: bool
) -> None:
    """Write the personal links anew.

    For another address, or for a link that was lost.
    """
    from ..study import renew_links

    file = renew_links(study, url=url, rater=renew)
    told = ["New links, readable for you only."]
    if renew is not None:
        told.append("A running server knows the new link once it is started again.")
    if Output(json_file, quiet).show(listing("links", told), place=file):
        click.echo(f"Wrote {printable(str(file))}")


@study.command()
@click.argument("calibration", required=False, metavar="[CALIBRATION]")
@config_options(PlanWish)
@config_options(PlanConfig, leave=("goal", "wanted"))
@report_options
def plan(
    calibration: str | None,
    *,
    half_width: float | None,
    of: str | None,
    power: float | None,
    json_file: str | None,
    full: bool,
    **options: Any,
) -> None:
    """Say how many prompts and raters a study needs.

    CALIBRATION is the folder that an earlier `calibrate` wrote, or a file of
    `calibrate --json` or `agreement --json`. What an option does not say is
    measured there: icc and panel-r on people's scores, sd from the panel's
    variance components; and in --ratings sd, icc and between-sd of people.
    """
    from ..study import plan_study

    if power is None and half_width is not None:
        goal, wanted = of or PlanWish().of, half_width
    elif half_width is None and power is not None:
        goal, wanted = "alt-test", power
    else:
        raise InputError("say what is wanted: --half-width X or --power P, one of the two")
    options = chosen(options, PlanConfig.model_fields)
    with ProgressLine() as line:
        line.do("comparing the designs")
        made = plan_study(goal, wanted, calibration=calibration, **options)
    Output(json_file, full=full).show(made.document(), made.estimates)


def _refuse(task: str, given: Mapping[str, Any], names: Iterable[str]) -> None:
    faults = [
        InputFault(f"--{name.replace('_', '-')}", f"does not go with {task}")
        for name in names
        if name in given
    ]
    if faults:
        raise InputError(faults)


def _text_of(file: str) -> str:
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([InputFault(file, f"cannot be read: {error}", "--instructions")]) from None
    if not text.strip() or len(text) > 20_000:
        raise InputError([InputFault(file, "must have 1 to 20,000 characters", "--instructions")])
    return text


def _log_requests() -> None:
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("areopagus.study")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
