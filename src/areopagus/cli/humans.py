"""`areopagus humans`: what was understood of a file of human judgments, and its comments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, InputFault
from ..experiment.config import HumansConfig
from ..formats import units
from ..progress import READING, ProgressLine
from .display import Group, NarrowCommand, printable
from .options import chosen, config_options, json_option, quiet_option
from .results import Output, listing

if TYPE_CHECKING:
    from ..records.humans import HumanReading
    from ..records.humans.misfits import Misfit
    from ..reports.document import Document, Table

_PLACES = 20
"""So many places of each kind are printed; all are counted."""

human_options = config_options(HumansConfig)
"""Adds the options for reading human judgments; see `reading_from`."""


def reading_from(path: str, **options: Any) -> HumanReading:
    """The judgments of a file, as the options say.

    Raises:
        InputError: a file that cannot be understood, or options that do not fit.
    """
    from ..records.humans import LAYOUTS, read_humans

    config = HumansConfig.checked(**chosen(options, HumansConfig.model_fields))
    if config.layout not in LAYOUTS:
        raise InputError([InputFault("--layout", f"must be one of {', '.join(LAYOUTS)}")])
    reading = read_humans(
        path,
        layout=config.layout,
        columns=config.columns,
        source_map=config.source_map,
        roster=config.roster,
        scale=_scale(config.scale),
        criteria=config.criteria or None,
    )
    return _only(reading, config.raters) if config.raters else reading


@click.group(cls=Group)
def humans() -> None:
    """Look into files of human judgments."""


@humans.command("inspect", cls=NarrowCommand)
@click.argument("file")
@json_option
@human_options
def inspect(file: str, *, json_file: str | None, **options: Any) -> int:
    """Show what is understood of FILE before anything is computed.

    Exit code 2 where rows cannot be read, scores are off the --scale, ratings are given
    twice, or raters are not on the --roster.
    """
    with ProgressLine() as line:
        line.do(READING)
        reading = reading_from(file, **options)
        found = reading.misfits()
    Output(json_file).show(reading_document(reading, found))
    return 2 if reading.n_faults or found else 0


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


def reading_document(reading: HumanReading, found: tuple[Misfit, ...]) -> Document:
    """Layout, columns, counts, and every row that does not count or fit, with its reason."""
    import numpy as np

    from ..records.humans.misfits import rows_said
    from ..reports.document import Column, Table

    shared = reading.table
    counted = (
        f"{units(len(shared), 'rating')} by {units(len(shared.rater_id.used()), 'rater')} of "
        f"{units(len(shared.response_id.used()), 'response')} to "
        f"{units(len(shared.prompt_id.used()), 'prompt')}."
    )
    rows = []
    names = shared.criterion.texts()
    for name in shared.criterion.used():
        for is_rank, kind in ((False, "score"), (True, "rank, 1 = best")):
            values = shared.value[(names == name) & (shared.is_rank == is_rank)]
            if len(values):
                low, high = float(np.nanmin(values)), float(np.nanmax(values))
                rows.append((name, kind, len(values), low, high, float(np.nanmean(values))))
    columns = [Column("criterion", "id"), Column("kind", "id"), Column("ratings", "count")]
    columns += [Column(head, "number") for head in ("lowest", "highest")]
    columns.append(Column("mean", "number", digits=3))
    used = ", ".join(f"{theirs} → {ours}" for ours, theirs in reading.columns_used)
    said = [("Columns used:", used)]
    for label, given in (
        ("Taken for criteria because they hold numbers only:", reading.columns_sampled),
        ("Ignored:", reading.columns_ignored),
    ):
        if given:
            said.append((label, ", ".join(given)))
    if len(reading.calibration):
        kept = units(len(reading.calibration), "rating")
        said.append(("Calibration items, kept apart:", kept))
    if reading.n_missing:
        said.append(("Empty rating cells:", f"{reading.n_missing:,}"))
    for exclusion in reading.exclusions:
        where = f" ({rows_said(exclusion.lines, exclusion.n)})" if exclusion.lines else ""
        said.append(("Left out:", f"{exclusion.n:,} × {exclusion.reason}{where}"))
    if reading.scale is None and not shared.is_rank.all():
        said.append(("", "No --scale was given: scores were not checked against one."))
    tables = [Table("", "Criteria", columns, rows)]
    tables += [_places(misfit.said, misfit.shown(_PLACES)) for misfit in found]
    if reading.n_faults:
        faults = [str(fault) for fault in reading.faults[:_PLACES]]
        if reading.n_faults > _PLACES:
            faults.append(f"and {reading.n_faults - _PLACES:,} more")
        tables.append(_places(units(reading.n_faults, "fault"), faults))
    return listing(
        "human_reading",
        [f"{reading.path}: layout {reading.layout}, {reading.shape}.", counted],
        tables,
        remarks=said,
        notices=reading.notices,
    )


def _places(title: str, places: Iterable[str]) -> Table:
    from ..reports.document import Column, Table

    return Table(title, title, [Column("place")], [(place,) for place in places])


def _scale(text: str | tuple[float, float] | None) -> tuple[float, float] | None:
    if not isinstance(text, str):
        return text
    low, colon, high = text.partition(":")
    try:
        ends = (float(low), float(high)) if colon else None
    except ValueError:
        ends = None
    if ends is None or not ends[0] < ends[1]:
        raise InputError([InputFault("--scale", f"must be LOW:HIGH, such as 1:10, got {text!r}")])
    return ends


def _only(reading: HumanReading, patterns: Sequence[str]) -> HumanReading:
    from dataclasses import replace
    from fnmatch import fnmatchcase

    from ..records.humans import Exclusion

    shared = reading.table
    names = [
        name
        for name in shared.rater_id.used()
        if any(fnmatchcase(str(name), pattern) for pattern in patterns)
    ]
    if not names:
        known = ", ".join(map(str, shared.rater_id.used()[:8]))
        raise InputError([InputFault("--raters", f"no rater has such a name; there are {known} …")])
    kept = shared.where("rater_id", *names)
    left = len(shared) - len(kept)
    dropped = Exclusion("rater not chosen by --raters", left, ())
    exclusions = (*reading.exclusions, dropped) if left else reading.exclusions
    return replace(reading, table=kept, exclusions=exclusions)
