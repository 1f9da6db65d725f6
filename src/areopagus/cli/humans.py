"""`areopagus humans`: what was understood of a file of human judgments, and its comments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, InputFault, fault_lines
from ..experiment.config import HumansConfig
from ..formats import listed_all, units
from ..progress import READING, ProgressLine
from .display import Group, NarrowCommand, in_options, printable
from .options import chosen, config_options, json_option, quiet_option, report_options
from .results import Output, listing

if TYPE_CHECKING:
    from ..records.humans import HumanColumns, HumanReading, Look
    from ..records.humans.match import Scale
    from ..records.humans.misfits import Misfit
    from ..reports.document import Document, Table

_PLACES = 20
"""So many places of each kind are printed; all are counted."""

_COLUMNS = 60

human_options = config_options(HumansConfig)
"""Adds the options for reading human judgments; see `reading_from`."""


def reading_from(path: str, *, dimensions: Collection[str] = (), **options: Any) -> HumanReading:
    """The judgments of a file, as the options say.

    Args:
        path: the file.
        dimensions: names that its criteria may have, beside those of the built-in rubric.
        options: of `human_options`.

    Raises:
        InputError: a file that cannot be understood, or options that do not fit.
    """

    return _read(*_look(path, options, dimensions))


def _look(
    path: str, options: dict[str, Any], dimensions: Collection[str] = ()
) -> tuple[Look, HumansConfig]:
    """What the file is taken for, and the options, which are taken out of a command's."""
    from ..records.humans import LAYOUTS, look_at

    config = HumansConfig.checked(**chosen(options, HumansConfig.model_fields))
    scale_from(config.scale)  # what is wrong with options is no fault of the file
    if config.layout not in LAYOUTS:
        raise InputError([InputFault("--layout", f"must be one of {', '.join(LAYOUTS)}")])
    look = look_at(
        path,
        column_map(config),
        layout=config.layout,
        source_map=config.source_map,
        criteria=config.criteria or None,
        dimensions={*_dimensions(), *dimensions},
    )
    return look, config


def _read(look: Look, config: HumansConfig) -> HumanReading:
    from ..records.humans import read_look

    reading = read_look(look, roster=config.roster, scale=scale_from(config.scale))
    return _only(reading, config.raters) if config.raters else reading


def column_map(config: HumansConfig) -> HumanColumns:
    """The column map that is given, and what the options say beside it."""
    from ..records.humans import read_column_map

    given = read_column_map(config.columns).with_columns(config.column or {})
    more: dict[str, Any] = {"missing": (*given.missing, *config.missing)}
    if config.pool is not None:
        more["pool"] = config.pool
    if config.unnamed_raters:
        more["raters"] = "places"
    return given.model_copy(update=more)


def _dimensions() -> tuple[str, ...]:
    """The dimensions of the built-in rubric, which a file's criteria may be named for."""
    from ..rubrics import load_rubric

    return load_rubric().dimension_ids


@click.group(cls=Group)
def humans() -> None:
    """Look into files of human judgments."""


@humans.command("inspect", cls=NarrowCommand)
@click.argument("file")
@click.option("--run", metavar="RUN", help="Also match FILE to this run, as calibrate would.")
@json_option
@human_options
def inspect(file: str, *, run: str | None, json_file: str | None, **options: Any) -> int:
    """Show what is understood of FILE before anything is computed.

    Exit code 2 where rows cannot be read, scores are off the --scale, ratings are given
    twice, raters are not on the --roster, or FILE does not fit the --run.
    """
    look: Look | None = None
    is_sound = False
    with ProgressLine() as line:
        line.do(READING)
        try:
            look, config = _look(file, options, _criteria(run))
            reading = _read(look, config)
            join = _join(run, reading)
        except InputError as error:
            if look is None:
                raise
            document = unread_document(look, error)
        else:
            document = reading_document(look, join.reading, join)
            is_sound = not (reading.n_faults or join.faults or join.misfits)
    Output(json_file).show(document)
    return 0 if is_sound else 2


@dataclass(frozen=True, slots=True)
class _Join:
    """What came of matching a file to a run.

    Attributes:
        run: the run, None where none was given; or rows of the file cannot be read.
        reading: the judgments, with the ids that the run has.
        misfits: what does not fit; without a run, in the file itself.
        faults: why the run cannot be calibrated with the file; `hint`: how to fix that.
        n_compared: judgments of responses that the run has, repeats left out.
    """

    run: str | None
    reading: HumanReading
    misfits: Sequence[Misfit] = ()
    faults: tuple[str, ...] = ()
    hint: str = ""
    n_compared: int = 0


def _criteria(run: str | None) -> tuple[str, ...]:
    if run is None:
        return ()
    from ..calibration.reading import criteria_of

    return criteria_of(run)


def _join(run: str | None, reading: HumanReading) -> _Join:
    """Matches a file to a run by the code that calibrate has for it."""
    if run is None or reading.n_faults:
        return _Join(None, reading, reading.misfits())
    from ..calibration.matched import misfits_of
    from ..calibration.reading import panel_dataset, texts_of

    try:
        dataset, matched, _ = panel_dataset(run, reading, texts=texts_of(None, run))
    except InputError as error:
        lines = tuple(fault_lines(error.faults))
        return _Join(run, reading, reading.misfits(), lines, hint=error.hint or "")
    parts = (dataset.ratings, dataset.preferences, dataset.labels.people)
    n_compared = sum(len(part) for kind in parts for part in kind)
    return _Join(run, matched or reading, misfits_of(dataset), n_compared=n_compared)


@humans.command("map", cls=NarrowCommand)
@click.option("--draft", "file", metavar="FILE", required=True, help="The file of judgments.")
@click.option("--out", metavar="MAP.yaml", help="Where it goes. Default: stdout.")
@human_options
def draft_map(file: str, *, out: str | None, **options: Any) -> int:
    """Write a column map of FILE as it is understood, to be corrected.

    A comment in each line says what the column holds. Read with its unchanged map, a file
    gives the same. Exit code 2 where FILE cannot be read yet: the map then says what lacks.
    """
    from ..records.humans.draft import draft
    from ..records.run_folder import replaced

    look, config = _look(file, options)
    reading = None
    with suppress(InputError):
        reading = _read(look, config)
    text = draft(look, reading)
    if out is None:
        click.echo(text, nl=False)
    else:
        with replaced(Path(out)) as part:
            part.write_text(text, encoding="utf-8")
        click.echo(f"Wrote {out}", err=True)
    return 2 if reading is None or reading.n_faults else 0


@humans.command("check", cls=NarrowCommand)
@click.argument("job")
@click.argument("labels", nargs=-1, required=True, metavar="LABELS…")
@report_options
@quiet_option
def check(
    job: str, labels: tuple[str, ...], *, full: bool, json_file: str | None, quiet: bool
) -> int:
    """Check what models read in the folder JOB by people's LABELS.

    JOB is an audit, a stress test, an attack or a construction of prompts made with --for-people N.
    LABELS is its for_people.csv with the last column filled in, a file a person, or tables with
    item_id, rater_id and label. Its report then has the agreement, and the rates by people's
    labels.
    """
    from ..any_report import check_readings

    with ProgressLine(quiet=quiet) as line:
        line.do(READING)
        run = check_readings(job, *labels)
        document = run.checks_document()
    if Output(json_file, quiet, full).show(document, run.estimates, place=run.path):
        place = printable(str(run.path))
        click.echo(f"\n{place}: report.html · estimates.csv, table checks")
    return 0


@humans.command("comments", cls=NarrowCommand)
@click.argument("file")
@click.option("--out", metavar="FILE.csv", required=True, help="Where the justifications go.")
@click.option("--responses", metavar="FILE", help="The responses rated: adds the questions' texts.")
@json_option
@quiet_option
@human_options
def comments(
    file: str,
    *,
    out: str,
    responses: str | None,
    json_file: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Make a table of responses of what raters wrote in FILE, to be scored.

    A panel scores it like any responses; `areopagus calibrate --inferred RUN` compares
    what the panel inferred with what the raters had given.
    """

    from ..records.humans.comments import COMMENT_COLUMNS, justifications
    from ..records.run_folder import csv_table

    if options.get("pool"):
        raise InputError([InputFault("--pool", "a comment is that of one rater: leave it out")])
    with ProgressLine(quiet=quiet) as line:
        line.do(READING)
        reading = reading_from(file, **options).require_sound()
        found = justifications(reading.table, questions=_questions(responses))
        with csv_table(out, COMMENT_COLUMNS) as lines:
            for row in found.rows:
                lines.write([row[name] for name in COMMENT_COLUMNS])
    raters = units(len({row["rater_id"] for row in found.rows}), "rater")
    rated = units(len({row["rated_response_id"] for row in found.rows}), "response")
    told = f"{units(len(found.rows), 'justification')} by {raters} of {rated}."
    remarks = []
    if found.n_without:
        remarks.append(("Without a word:", f"{found.n_without:,} of rater and response"))
    if found.n_shared:
        alike = "and no label says which is meant: they can only be scored alike"
        remarks.append((f"{found.n_shared:,}", f"stand for several responses, {alike}"))
    if Output(json_file, quiet).show(listing("comments", [told], remarks=remarks), place=out):
        click.echo(f"Wrote {printable(out)}", err=True)


def _questions(responses: str | None) -> dict[str, str]:
    if responses is None:
        return {}
    from ..records.readers.responses import ResponseSource

    source = ResponseSource(responses)
    try:
        return {row.prompt_id: row.prompt_text for row in source.rows()}
    finally:
        source.close()


def unread_document(look: Look, error: InputError) -> Document:
    """Why nothing of a file can be read yet, and what its columns hold."""
    bare = [fault if fault.field else replace(fault, where="") for fault in error.faults]
    faults = [_with_options(line) for line in fault_lines(bare)]
    n = units(len(faults), "thing")
    said = [("To fix:", _with_options(error.hint.partition("\n")[2]))] if error.hint else []
    return listing(
        "human_reading",
        [f"Cannot be read yet: {n} to fix.", *_taken_for(look)],
        [_places(f"{n} to fix", faults[:_PLACES]), _columns_table(look)],
        remarks=[*said, ("A map to fill in:", f"areopagus humans map --draft {look.path}")],
    )


def reading_document(look: Look, reading: HumanReading, join: _Join) -> Document:
    """The answer, what decided it, and every row that does not count or fit, with its reason."""
    from ..records.humans.misfits import rows_said
    from ..records.humans.reading import TEXT_HINT

    said: list[tuple[str, str]] = []
    if others := [*(f"layout {name}" for name in look.other_layouts), *look.plan.could_be]:
        said.append(("It could also be:", f"{'; '.join(others)}, if a column map says so."))
    if len(reading.calibration):
        kept = units(len(reading.calibration), "rating")
        said.append(("Calibration items, kept apart:", kept))
    if reading.n_missing:
        codes = [
            f"{n:,} × {code} ({rows_said(lines, n)})"
            for code, (n, lines) in reading.missing_by_code().items()
        ]
        said.append(("Missing ratings:", ", ".join(codes)))
    if fewer := _fewer(reading):
        said.append(("Not everybody rated as much:", fewer))
    for exclusion in reading.exclusions:
        where = f" ({rows_said(exclusion.lines, exclusion.n)})" if exclusion.lines else ""
        said.append(("Left out:", f"{exclusion.n:,} × {exclusion.reason}{where}"))
    if reading.scale is None and not reading.table.is_rank.all():
        said.append(("", "No --scale was given: scores were not checked against one."))
    if join.hint:
        said.append(("To fix:", _with_options(" ".join(join.hint.split()))))
    tables = []
    if reading.n_faults or join.faults:
        faults = [_with_options(line) for line in (*fault_lines(reading.faults), *join.faults)]
        n = _n_faults(reading) + len(join.faults)
        more = [f"and {n - _PLACES:,} more"] if n > _PLACES else []
        tables.append(_places(f"{units(n, 'thing')} to fix", [*faults[:_PLACES], *more]))
        if any("must be a number" in fault.message for fault in reading.faults):
            said.append(("To fix:", _with_options(" ".join(TEXT_HINT.split()))))
    tables += [_places(misfit.said, misfit.shown(_PLACES)) for misfit in join.misfits]
    tables += [_criteria_table(reading), _columns_table(look)]
    return listing(
        "human_reading",
        [*_answer(look, reading, join), *_taken_for(look)],
        tables,
        remarks=said,
        notices=reading.notices,
    )


def _n_faults(reading: HumanReading) -> int:
    """How many faults there are; those that say the same count once."""
    return len(fault_lines(reading.faults)) + reading.n_faults - len(reading.faults)


def _answer(look: Look, reading: HumanReading, join: _Join) -> list[str]:
    """What the file holds, what of it does not count, and whether a run can be calibrated."""
    n_low = int((reading.table.is_rank & (reading.table.value < 1)).sum())
    n = _n_faults(reading) + (n_low > 0)
    if n:
        return [f"Cannot be read yet: {units(n, 'thing')} to fix."]
    tables = (("rating", reading.table), ("label", reading.labels),
              ("preference", reading.preferences))  # fmt: skip
    held = [units(len(table), name) for name, table in tables if len(table)]
    if not held:
        return ["Holds no judgment: nothing can be calibrated against it."]
    who = {name for _, table in tables for name in table.rater_id.used()}
    rated = {name for _, table in tables[:2] for name in table.response_id.used()}
    pairs = reading.preferences
    rated |= {*pairs.response_a.used(), *pairs.response_b.used()}
    prompts = {name for _, table in tables for name in table.prompt_id.used()}
    pool = "pool" if look.plan.pool is not None else "rater"
    of = units(len(rated), "response")
    if prompts:
        of += f" to {units(len(prompts), 'prompt')}"
    by = "unnamed raters" if reading.has_unnamed_raters else units(len(who), pool)
    sentence = f"{listed_all(held)} by {by} of {of}"
    if len(who) < 2:
        sentence += f" (agreement needs a second {pool})"
    wrong = [f"{misfit.said}." for misfit in join.misfits]
    if join.run is None:
        return [f"{sentence}.", *wrong, "Not tried: whether a run has these responses (--run RUN)."]
    if join.faults:
        return [f"{sentence}.", *wrong, f"They cannot be compared with {join.run} yet."]
    if not wrong:
        return [f"{sentence}: ready for calibrate with {join.run}."]
    n = sum(len(table) for _, table in tables)
    return [
        f"{sentence}.",
        *wrong,
        f"{join.n_compared:,} of {n:,} can be compared with {join.run}.",
    ]


def _taken_for(look: Look) -> list[str]:
    """What the file is taken for, and why."""
    by = f": {look.known_by}" if look.known_by else ""
    told = [f"{look.path}: layout {look.layout}{by}."]
    if look.plan.why:
        told.append(f"Shape {look.plan.shape}: {look.plan.why}.")
    return told


def _fewer(reading: HumanReading) -> str:
    """Raters with fewer ratings than others; nothing where all have as many."""
    import numpy as np

    raters = reading.table.rater_id
    counts = np.bincount(raters.codes, minlength=len(raters.names))
    used = counts[counts > 0]
    if not len(used) or used.min() == used.max():
        return ""
    most = int(used.max())
    few = [
        f"{raters.names[k]} {counts[k]:,}" for k in np.flatnonzero((counts > 0) & (counts < most))
    ]
    if len(few) > _PLACES:
        return f"from {used.min():,} to {most:,} ratings a rater"
    return f"{', '.join(few)}; the others {most:,}"


def _criteria_table(reading: HumanReading) -> Table:
    import numpy as np

    from ..reports.document import Column, Table

    table, labels = reading.table, reading.labels
    missing: dict[str, int] = {}
    for one in reading.missing:
        missing[one.criterion] = missing.get(one.criterion, 0) + one.n
    rows: list[tuple[Any, ...]] = []
    names = table.criterion.texts()
    for name in dict.fromkeys((*table.criterion.used(), *labels.criterion.used(), *missing)):
        n_missing, n_before = missing.get(name, 0), len(rows)
        for is_rank, kind in ((False, "score"), (True, "rank, 1 = best")):
            values = table.value[(names == name) & (table.is_rank == is_rank)]
            if len(values):
                low, high = float(np.nanmin(values)), float(np.nanmax(values))
                mean = float(np.nanmean(values))
                rows.append((name, kind, len(values), n_missing, low, high, mean))
                n_missing = 0  # of a criterion, and told once
        if n := len(labels.where("criterion", name)):
            rows.append((name, "label", n, n_missing, None, None, None))
        elif len(rows) == n_before:
            n = len(reading.preferences.where("criterion", name))
            kind = "preference" if n else "nothing"
            rows.append((name, kind, n, n_missing, None, None, None))
    columns = [Column("criterion", "id"), Column("kind", "id"), Column("judgments", "count")]
    columns.append(Column("missing", "count"))
    columns += [Column(head, "number") for head in ("lowest", "highest")]
    columns.append(Column("mean", "number", digits=3))
    return Table("", "Criteria", columns, rows)


def _columns_table(look: Look) -> Table:
    """Every column: what it is read as, and what it holds."""
    from ..records.humans.reading import columns_used
    from ..reports.document import Column, Table

    read_as: dict[str, list[str]] = {}
    for ours, theirs in columns_used(look.plan):
        read_as.setdefault(theirs, []).append(ours)
    reason = {one.column: one.reason for one in look.plan.unread}
    rows = [
        (
            f"{name} → {' and '.join(read_as[name])}" if name in read_as else f"{name} (not read)",
            _with_options(reason.get(name) or profile.holds()),
        )
        for name, profile in look.profiles.items()
    ]
    left = len(rows) - _COLUMNS
    title = "Columns" if left <= 0 else f"The first {_COLUMNS} of {len(rows):,} columns"
    heads = [Column("column", "id"), Column("holds", "wide")]
    return Table(title, title, heads, rows[:_COLUMNS])


def _with_options(text: str) -> str:
    """A library's sentence, in which arguments are named as options of this command."""
    return in_options(text, click.get_current_context().command)


def _places(title: str, places: Iterable[str]) -> Table:
    from ..reports.document import Column, Table

    return Table(title, title, [Column("place")], [(place,) for place in places])


def scale_from(given: Sequence[str]) -> Scale | None:
    """The scales of `--scale`: one for all, or by criterion.

    Raises:
        InputError: with each that is none, and each criterion that is named twice.
    """
    from ..records.humans.match import REST, read_scale

    found: dict[str, tuple[float, float]] = {}
    faults: list[InputFault] = []
    for text in given:
        name, equals, ends = text.rpartition("=")
        criterion = name if equals else REST
        if criterion in found:
            told = f"{name} is named twice" if equals else "is given twice without a criterion"
            faults.append(InputFault(f"--scale {text}", told))
            continue
        try:
            found[criterion] = read_scale(ends)
        except ValueError as error:
            faults.append(InputFault("--scale", f"{error}, got {text!r}"))
    if faults:
        raise InputError(faults)
    return found[REST] if found.keys() == {REST} else found or None


def _only(reading: HumanReading, patterns: Sequence[str]) -> HumanReading:
    from fnmatch import fnmatchcase

    from ..records.humans import Exclusion

    tables = (reading.table, reading.labels, reading.preferences)
    known = list(dict.fromkeys(name for one in tables for name in one.rater_id.used()))
    names = [name for name in known if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if not names:
        there = ", ".join(known[:8])
        raise InputError([InputFault("--raters", f"no rater has such a name; there are {there} …")])
    kept: Any = [one.where("rater_id", *names) for one in tables]
    left = sum(map(len, tables)) - sum(map(len, kept))
    table, labels, preferences = kept
    dropped = Exclusion("rater not chosen by --raters", left, ())
    exclusions = (*reading.exclusions, dropped) if left else reading.exclusions
    return replace(
        reading, table=table, labels=labels, preferences=preferences, exclusions=exclusions
    )
