"""report.html: read from a run folder, written beside its tables."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from ..errors import InputError, InputFault
from ..records.run_folder import FIGURES_FOLDER, REPORT_FILE, RUN_FILE, read_run_file
from ..records.run_tables import read_scores
from .frame import write_page
from .panel import panel_page


def write_report(
    folder: str | Path, *, out: str | Path | None = None, figures: bool = True
) -> Path:
    """The path of a panel run's report, written anew, at once or not at all.

    One self-contained page: its own style, script and data, nothing loaded from elsewhere.
    Everything in it that a model or a user wrote is escaped, and hidden characters are shown as
    marked codes. Its pictures are also put into the folder's figures/ as PNG and SVG; without
    matplotlib there are none, and the page says so.

    Args:
        folder: a run folder with run.json, scores.csv, judgments.parquet and, for the texts of
            the responses, texts.parquet.
        out: the file to write; report.html in the folder when left out.
        figures: whether to draw pictures; without them the report is written much faster.

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
    scores = read_scores(folder)
    drawn = folder / FIGURES_FOLDER if figures and find_spec("matplotlib") else None
    try:
        page = panel_page(record, scores, folder, figures=drawn)
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        # Our own files lack nothing of this: they were cut, edited or mixed by somebody.
        raise InputError(
            [InputFault(str(folder), f"run.json and its tables do not fit together: {error!r}")]
        ) from error
    return write_page(out or folder / REPORT_FILE, page)
