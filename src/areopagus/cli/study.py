"""What the commands of `areopagus study` print."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, InputFault
from ..formats import units
from .display import console, number, show_notices, table, visible

if TYPE_CHECKING:
    from ..study import Address, BuiltStudy, Collected, StudyPlan


def show_built(built: BuiltStudy) -> None:
    """What was built, and what to do next."""
    out = console()
    fewest, most = built.per_rater
    each = f"{most}" if fewest == most else f"{fewest} to {most}"
    who = "rater" if built.kind == "rating" else "writer"
    out.print(f"[bold]Built {visible(str(built.folder))}[/bold], a {built.kind} study")
    out.print(
        f"{units(built.n_raters, who)}, {units(built.n_prompts, 'prompt')} "
        f"({units(built.n_calibration, 'calibration item')}), {units(built.n_packets, 'page')}, "
        f"{each} a person"
    )
    if built.kind == "rating":
        told = ", ".join(f"{kind} in {n}" for kind, n in built.changes.items()) or "nothing"
        out.print(f"Shown: {units(built.n_responses, 'response')}; form brought into line: {told}")
    out.print(visible(f"What unblinds stays in {built.folder / 'organiser'}, personal links too."))
    out.print(visible(f"Next: areopagus study serve {built.folder}"))
    show_notices(built.notices)


def show_collected(found: Collected) -> None:
    """What came back, rater by rater, and what to look at."""
    out = console()
    word = "scored whole" if found.kind == "rating" else "handed in"
    out.print(
        f"{found.n_pages_done} of {units(found.n_pages, 'page')} {word}; "
        f"{units(len(found.rows), 'row')}"
    )
    if found.raters:
        names = ["rater", "pages", "scores", "min/page", "weak last", "gap", "alike"]
        rows = table("", names)
        for one in found.raters:
            rows.add_row(
                visible(one.rater_id, width=20),
                f"{one.n_done}/{one.n_pages}",
                f"{one.n_scores}/{one.n_scores_asked}",
                number(one.minutes, 1),
                f"{one.n_floor_seen}/{one.n_floor}" if one.n_floor else "–",
                number(one.all_models_gap, 2),
                "–" if one.alike is None else f"{one.alike:.0%}",
            )
        out.print(rows)
        out.print(
            "weak last: quality-floor pages with the weak response last; gap: models' scores where "
            "only models stand, less elsewhere; alike: pages with all responses equal"
        )
        for one in found.raters:
            if one.flags:
                out.print(visible(f"Look at {one.rater_id}: {'; '.join(one.flags)}"))
    out.print(visible(f"Wrote {found.table}"))
    show_notices(found.notices)


def show_plan(made: StudyPlan) -> None:
    """Assumptions, a table of designs, and the cheapest that does."""
    out = console()
    is_power = made.goal == "alt-test"
    what = {
        "difference": "half-width of the mean difference of two sides",
        "agreement": "half-width of the panel's mean tau with people",
        "alt-test": "power of the alt-test",
    }[made.goal]
    sign = "at least" if is_power else "at most"
    level = "" if is_power else f", {made.level:.0%} interval"
    out.print(f"[bold]Wanted: {what} {sign} {made.wanted:g}{level}[/bold]")
    for one in made.assumptions:
        out.print(f"  {one.name} = {one.value:.3g}: {one.meaning} ({visible(one.origin)})")
    raters = sorted({cell.per_prompt for cell in made.cells})
    rows = table("", ["prompts", *(f"{count} raters" for count in raters)], left=0)
    values = {(cell.prompts, cell.per_prompt): cell for cell in made.cells}
    for prompts in sorted({cell.prompts for cell in made.cells}):
        shown = [str(prompts)]
        for count in raters:
            cell = values[prompts, count]
            text = "–" if math.isnan(cell.value) else f"{cell.value:.3f}"
            shown.append(f"{text}{' *' if cell.meets else '  '}")
        rows.add_row(*shown)
    out.print(rows)
    error = max((cell.mc_error for cell in made.cells if cell.mc_error == cell.mc_error), default=0)
    chance = f"; Monte Carlo error at most {error:.3f}; seed {made.seed}" if error else ""
    out.print(f"* does. Values: {made.method}{chance}")
    best = made.cheapest
    if best is None:
        out.print("[bold]None of these designs does.[/bold]")
    else:
        out.print(
            f"[bold]Fewest rated pages: {best.prompts} prompts x {best.per_prompt} raters = "
            f"{best.ratings} pages[/bold] ({best.value:.3f})"
        )
    for note in made.notes:
        out.print(f"Note: {note}")


_WIDE = {"max_content_width": 80}
_FOLDER = click.argument("study", metavar="STUDY")


@click.group(context_settings=_WIDE)
def study() -> None:
    """Collect human judgments: blinded packets, a rating page, and the way back.

    build makes a study, serve lets people rate (or write) in a browser, export
    gives packets to other tools, collect brings ratings back for calibrate, and
    plan says how many prompts and raters are needed.
    """


@study.command(context_settings=_WIDE)
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
@click.option("--per-packet", type=int, help="Responses a page. Default: 6.")
@click.option("--humans", type=int, help="Of them by people. Default: 3.")
@click.option("--per-prompt", type=int, help="Raters of a prompt. Default: 10, or all if fewer.")
@click.option("--per-session", type=int, help="Most prompts a sitting. Default: 5.")
@click.option("--pause", type=int, metavar="MINUTES", help="Between two sittings. Default: 30.")
@click.option("--minutes", type=int, help="To write a response in; 0: no limit. Default: 30.")
@click.option("--words", type=int, help="Words to aim at when writing. Default: 400.")
@click.option("--fixed-humans", is_flag=True, help="Show all raters the same human responses.")
@click.option("--keep-form", is_flag=True, help="Leave the form of texts as it is: it may tell.")
@click.option("--rubric", metavar="NAME|FILE", help="Default: critical_thinking.")
@click.option("--title", help="Shown to raters.")
@click.option("--instructions", metavar="FILE", help="A text file shown to raters.")
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
    per_packet: int | None,
    humans: int | None,
    per_prompt: int | None,
    per_session: int | None,
    pause: int | None,
    minutes: int | None,
    words: int | None,
    fixed_humans: bool,
    keep_form: bool,
    rubric: str | None,
    title: str | None,
    instructions: str | None,
    seed: int | None,
    url: str | None,
) -> None:
    """Build a study from responses, or from prompts.

    Each FILE has response_id, prompt_id, prompt_text, response_text,
    respondent_id and source (human, model or weak). Files given by --human,
    --model and --weak need no source.
    """
    from ..study import RatingSettings, WritingSettings, build_study, build_writing

    shared = _given(
        per_prompt=per_prompt,
        per_session=per_session,
        pause_minutes=pause,
        title=title,
        instructions=_text_of(instructions),
    )
    where = _given(url=url, seed=seed)
    people: int | str = int(raters) if raters.isdecimal() and len(raters) < 10 else raters
    if task == "write":
        _refuse(
            "--task write", human=human, model=model, weak=weak, all_models=all_models,
            per_packet=per_packet, humans=humans, fixed_humans=fixed_humans, keep_form=keep_form,
            rubric=rubric,
        )  # fmt: skip
        if len(responses) != 1:
            raise InputError("--task write needs one FILE of prompts")
        written = WritingSettings(**shared, **_given(minutes=minutes, words=words))
        built = build_writing(responses[0], writers=people, out=out, settings=written, **where)
    else:
        _refuse("--task rate", minutes=minutes, words=words)
        rated = RatingSettings(
            **shared,
            **_given(per_packet=per_packet, humans=humans),
            rotate=not fixed_humans,
            normal=not keep_form,
        )
        built = build_study(
            list(responses), raters=people, out=out, human=human, model=model, weak=weak,
            all_models=all_models, settings=rated, **where, **_given(rubric=rubric),
        )  # fmt: skip
    show_built(built)


@study.command(context_settings=_WIDE)
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


@study.command(context_settings=_WIDE)
@_FOLDER
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--out", metavar="DIR", help="Default: STUDY/collected.")
@click.option("--store", metavar="FILE", help="Default: STUDY/ratings.sqlite, if it is there.")
@click.option("--columns", metavar="FILE", help="A column map for files of another layout.")
def collect(
    study: str,
    files: tuple[str, ...],
    *,
    out: str | None,
    store: str | None,
    columns: str | None,
) -> None:
    """Bring ratings or written texts home.

    Reads what the server saved, and FILEs that came back from other tools;
    unblinds, checks every rater, and writes ratings.csv, which calibrate reads.
    """
    from ..study import collect_study

    found = collect_study(study, files, out=out, store=store, columns=columns)
    show_collected(found)


@study.command(context_settings=_WIDE)
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


@study.command(context_settings=_WIDE)
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


@study.command(context_settings=_WIDE)
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
@click.option(
    "--ratings", metavar="FILE", help="People's ratings of an earlier study, for sd, icc, between."
)
@click.option("--sd", type=float, help="SD of one rating within a prompt, in points.")
@click.option("--icc", type=float, help="Correlation of two raters within a prompt.")
@click.option("--panel-r", type=float, help="Correlation of panel and truth in a prompt.")
@click.option("--between-sd", type=float, help="SD over prompts of the true difference.")
@click.option("--responses", type=int, default=6, show_default=True, help="Responses a page.")
@click.option("--per-side", type=int, default=1, show_default=True, help="Of each side a page.")
@click.option("--prompts", metavar="N[,N...]", help="Numbers of prompts to compare.")
@click.option("--per-prompt", metavar="N[,N...]", help="Numbers of raters a prompt to compare.")
@click.option("--raters", type=int, help="Raters in all, for the alt-test.")
@click.option("--epsilon", type=float, default=0.2, show_default=True, help="Of the alt-test.")
@click.option("--level", type=float, default=0.95, show_default=True)
@click.option("--worlds", type=int, default=400, show_default=True, help="Simulated studies.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--json", "json_file", metavar="FILE", help="Every number.")
def plan(
    calibration: str | None,
    *,
    half_width: float | None,
    goal: str,
    power: float | None,
    prompts: str | None,
    per_prompt: str | None,
    json_file: str | None,
    **options: Any,
) -> None:
    """Say how many prompts and raters a study needs.

    CALIBRATION is the folder that an earlier `calibrate` wrote, the numbers.json
    or calibration.json in it, or a file of `calibrate --json` or `agreement
    --json`. What an option does not say is measured there: icc and panel-r on
    people's scores, sd from the panel's variance components; and in --ratings
    sd, icc and between-sd of people themselves.
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
        **options,
    )
    show_plan(made)
    if json_file is not None:
        import json

        from ..records.run_folder import replaced

        text = json.dumps(made.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
        with replaced(Path(json_file)) as part:
            part.write_text(text + "\n", encoding="utf-8")
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
