"""What the commands of `areopagus study` print."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, InputFault
from ..formats import units
from ..records.estimates import ESTIMATES_CSV
from ..records.run_folder import REPORT_FILE
from ..study.settings import PlanConfig, RatingSettings, WritingSettings
from .display import say, show_notices
from .jobs import show_document
from .options import config_options, report_options
from .results import write_json, write_shown

if TYPE_CHECKING:
    from ..study import Address, BuiltStudy


def show_built(built: BuiltStudy) -> None:
    """What was built, and what to do next."""
    fewest, most = built.per_rater
    each = f"{most}" if fewest == most else f"{fewest} to {most}"
    who = "rater" if built.kind == "rating" else "writer"
    say(f"Built {built.folder}, a {built.kind} study", bold=True)
    say(
        f"{units(built.n_raters, who)}, {units(built.n_prompts, 'prompt')} "
        f"({units(built.n_calibration, 'calibration item')}), {units(built.n_packets, 'page')}, "
        f"{each} a person"
    )
    if built.kind == "rating":
        told = ", ".join(f"{kind} in {n}" for kind, n in built.changes.items()) or "nothing"
        say(f"Shown: {units(built.n_responses, 'response')}; form brought into line: {told}")
    say(f"What unblinds stays in {built.folder / 'organiser'}, personal links too.")
    say(f"Next: areopagus study serve {built.folder}")
    show_notices(built.notices)


_FOLDER = click.argument("study", metavar="STUDY")


@click.group()
def study() -> None:
    """Collect human judgments: blinded packets, a rating page, and the way back.

    build makes a study, serve lets people rate (or write) in a browser, export
    gives packets to other tools, collect brings ratings back for calibrate, and
    plan says how many prompts and raters are needed.
    """


@study.command()
@click.argument("responses", nargs=-1, metavar="[FILE]...")
@click.option("--raters", required=True, metavar="N|FILE", help="How many, or a table: rater_id.")
@click.option("--out", required=True, metavar="DIR", help="The folder to make.")
@click.option(
    "--task",
    type=click.Choice(["rate", "write"]),
    default="rate",
    show_default=True,
    help="rate responses, or write them to the prompts of FILE.",
)
@click.option("--human", multiple=True, metavar="FILE", help="Responses by people; repeatable.")
@click.option("--model", multiple=True, metavar="FILE", help="Responses of models; repeatable.")
@click.option("--weak", multiple=True, metavar="FILE", help="Responses made weak on purpose.")
@click.option(
    "--all-models",
    multiple=True,
    metavar="PROMPT_ID",
    help="A calibration item with responses of models only; repeatable.",
)
@config_options(RatingSettings)
@config_options(WritingSettings, only=("minutes", "words"))
@click.option("--rubric", metavar="NAME|FILE", help="Default: critical_thinking.")
@click.option("--seed", type=int, help="Default: drawn. Who knows it can unblind.")
@click.option("--url", help="What links begin with. Default: http://127.0.0.1:8765.")
def build(
    responses: tuple[str, ...],
    *,
    raters: str,
    out: str,
    task: str,
    human: tuple[str, ...],
    model: tuple[str, ...],
    weak: tuple[str, ...],
    all_models: tuple[str, ...],
    rubric: str | None,
    seed: int | None,
    url: str | None,
    **options: Any,
) -> None:
    """Build a study from responses, or from prompts.

    Each FILE has response_id, prompt_id, prompt_text, response_text,
    respondent_id and source (human, model or weak). Files given by --human,
    --model and --weak need no source.
    """
    from ..study import build_study, build_writing

    settings = {name: value for name, value in options.items() if value not in (None, False)}
    if (file := settings.get("instructions")) is not None:
        settings["instructions"] = _text_of(file)
    where = _given(url=url, seed=seed)
    people: int | str = int(raters) if raters.isdecimal() and len(raters) < 10 else raters
    if task == "write":
        of_rating = set(RatingSettings.model_fields) - set(WritingSettings.model_fields)
        _refuse(
            "--task write", human=human, model=model, weak=weak, all_models=all_models,
            rubric=rubric, **{name: settings.get(name) for name in of_rating},
        )  # fmt: skip
        if len(responses) != 1:
            raise InputError("--task write needs one FILE of prompts")
        built = build_writing(responses[0], writers=people, out=out, settings=settings, **where)
    else:
        _refuse("--task rate", minutes=settings.get("minutes"), words=settings.get("words"))
        built = build_study(
            list(responses), raters=people, out=out, human=human, model=model, weak=weak,
            all_models=all_models, settings=settings, **where, **_given(rubric=rubric),
        )  # fmt: skip
    show_built(built)


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
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--out", metavar="DIR", help="Default: STUDY/collected.")
@click.option("--store", metavar="FILE", help="Default: STUDY/ratings.sqlite, if it is there.")
@click.option("--columns", metavar="FILE", help="A column map for files of another layout.")
@report_options
def collect(
    study: str,
    files: tuple[str, ...],
    *,
    out: str | None,
    store: str | None,
    columns: str | None,
    json_file: str | None,
    full: bool,
) -> None:
    """Bring ratings or written texts home.

    Reads what the server saved, and FILEs that came back from other tools;
    unblinds, checks every rater, and writes ratings.csv, which calibrate reads.
    """
    from ..study import collect_study

    found = collect_study(study, files, out=out, store=store, columns=columns)
    show_document(found.document(), full=full)
    click.echo(f"Wrote {found.table}, {REPORT_FILE} and {ESTIMATES_CSV} beside it")
    if json_file is not None:
        write_json(json_file, found)


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
def export(study: str, *, kind: str, out: str | None) -> None:
    """Write blinded packets for other tools.

    One file a rater, named by the rater's code.
    """
    from ..study import export_packets

    written = export_packets(study, kind, out=out)
    click.echo(f"Wrote {len(written.files)} files to {written.folder}")
    click.echo(written.how)
    click.echo(f"Bring answers back with: areopagus study collect {study} FILE...")


@study.command()
@_FOLDER
@click.option("--url", help="What links begin with from now on.")
@click.option("--renew", metavar="RATER_ID", help="Give this rater a new link; the old one ends.")
def links(study: str, *, url: str | None, renew: str | None) -> None:
    """Write the personal links anew.

    For another address, or for a link that was lost.
    """
    from ..study import renew_links

    file = renew_links(study, url=url, rater=renew)
    click.echo(f"Wrote {file} (readable for you only)")
    if renew is not None:
        click.echo("A running server knows the new link once it is started again.")


@study.command()
@click.argument("calibration", required=False, metavar="[CALIBRATION]")
@click.option("--half-width", type=float, help="Wanted half-width of the interval.")
@click.option(
    "--of",
    "goal",
    type=click.Choice(["difference", "agreement"]),
    default="difference",
    show_default=True,
    help="What the interval is of.",
)
@click.option("--power", type=float, help="Wanted power of the alt-test, instead.")
@click.option("--prompts", metavar="N[,N...]", help="Numbers of prompts to compare.")
@click.option("--per-prompt", metavar="N[,N...]", help="Numbers of raters a prompt to compare.")
@config_options(PlanConfig, leave=("goal", "wanted", "prompts", "per_prompt"))
@report_options
def plan(
    calibration: str | None,
    *,
    half_width: float | None,
    goal: str,
    power: float | None,
    prompts: str | None,
    per_prompt: str | None,
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

    if (half_width is None) == (power is None):
        raise InputError("say what is wanted: --half-width X or --power P, one of the two")
    wanted = half_width if half_width is not None else power
    made = plan_study(
        goal if power is None else "alt-test",
        wanted if wanted is not None else math.nan,
        calibration=calibration,
        **_given(prompts=_numbers("--prompts", prompts)),
        **_given(per_prompt=_numbers("--per-prompt", per_prompt)),
        **_given(**options),
    )
    show_document(made.document(), full=full)
    if json_file is not None:
        write_shown(json_file, made.document(), made.estimates.frame())
        click.echo(f"Wrote {json_file}", err=True)


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _refuse(task: str, **options: Any) -> None:
    faults = [
        InputFault(f"--{name.replace('_', '-')}", f"does not go with {task}")
        for name, value in options.items()
        if value not in (None, (), False)
    ]
    if faults:
        raise InputError(faults)


def _text_of(file: str | None) -> str | None:
    if file is None:
        return None
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([InputFault(file, f"cannot be read: {error}", "--instructions")]) from None
    if not text.strip() or len(text) > 20_000:
        raise InputError([InputFault(file, "must have 1 to 20,000 characters", "--instructions")])
    return text


def _numbers(name: str, text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        rule = f"must be whole numbers with commas between, got {text[:60]!r}"
        raise InputError([InputFault(name, rule)]) from None


def _log_requests() -> None:
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("areopagus.study")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
