"""report.html: read from a run folder, written beside its tables."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import InputError, InputFault
from ..records.run_folder import FIGURES_FOLDER, REPORT_FILE, RUN_FILE, read_run_file
from ..records.tables import read_scores
from .excerpt import excerpt_step, write_excerpt
from .html import write_html
from .panel import panel_page


def write_report(
    folder: str | Path,
    *,
    out: str | Path | None = None,
    figures: bool = True,
    is_stage: bool = False,
) -> Path:
    """The path of a panel run's report, written anew, at once or not at all.

    One self-contained page: its own style, script and data, nothing loaded from elsewhere.
    Everything in it that a model or a user wrote is escaped, and hidden characters are shown as
    marked codes. Of more than 50,000 responses or 1.5 million judgments it reads every so many, and
    says so; counts, cost and the scorecard are those of the whole run all the same.

    Its pictures are also put into the folder's figures/ as PNG and SVG.

    Args:
        folder: a run folder with run.json, scores.csv, judgments.parquet and, for the texts of
            the responses, texts.parquet.
        out: the file to write; report.html in the folder when left out.
        figures: whether to draw pictures; without them the report is written much faster, and
            says why it has none.
        is_stage: whether the folder is part of a larger job, whose report holds the pictures.

    Raises:
        InputError: the folder holds no panel run, or its files cannot be read.
        StoreError: the report cannot be written; a report that was there before stays.
    """
    folder = Path(folder)
    record = read_run_file(folder)
    kind = record.get("kind")
    if kind != "panel":
        raise InputError(
            [InputFault(str(folder / RUN_FILE), f"must be 'panel', got {kind!r}", "kind")]
        )
    drawn = folder / FIGURES_FOLDER if figures else None
    without = "" if drawn else _why_none(is_stage=is_stage)
    target = out or folder / REPORT_FILE
    try:
        step = excerpt_step(record)
        if step == 1:
            rows = read_scores(folder)
            page = panel_page(record, rows, folder, figures=drawn, without=without)
            return write_html(target, page)
        # The page reads some of it only while it is written.
        with TemporaryDirectory(prefix="areopagus-report-") as name:
            excerpt = Path(name)
            write_excerpt(folder, excerpt, step=step)
            rows = read_scores(excerpt)
            page = panel_page(record, rows, excerpt, figures=drawn, without=without, step=step)
            return write_html(target, page)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        # Our own files lack nothing of this: they were cut, edited or mixed by somebody.
        raise InputError(
            [InputFault(str(folder), f"run.json and its tables do not fit together: {error!r}")]
        ) from error


def _why_none(*, is_stage: bool) -> str:
    if is_stage:
        return (
            "No pictures: this panel run is a stage of a larger job, whose own report holds the "
            "figures. The command areopagus report on this folder draws those of the panel."
        )
    return "No pictures: this report was asked for without; the tables hold the same numbers."
