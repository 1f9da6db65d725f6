"""The known layouts, plain tables among them, and which one a file has.

A new one is a `Layout`, and its name in `_KNOWN`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ....errors import InputError, InputFault
from ...readers.dispatch import read_cells, read_rows
from ...readers.rows import Row
from ...readers.statistical import SUFFIXES, variable_labels
from .arena import ARENA
from .argilla import ARGILLA
from .joined import joined
from .judge_tools import JUDGE_LAYOUTS
from .label_studio import LABEL_STUDIO
from .layout import HumanFile, Layout, Opened
from .mturk import MTURK
from .prolific import PROLIFIC
from .surveys import GOOGLE_FORMS, LIMESURVEY, QUALTRICS


def _open_table(file: HumanFile) -> Opened:
    if file.has("submission id", "participant id"):
        message = "is a Prolific roster: it names raters and holds no ratings"
        raise InputError(
            [InputFault(str(file.path), message)],
            hint="give the file of answers, and this one as the roster",
        )
    return Opened(file.rows())


ROWS = Layout(
    "rows", lambda file: True, _open_table, "a plain table, without the columns of any tool"
)
SCRUB = Layout(
    "scrub",
    lambda file: file.has("judge_id", "true_id"),
    _open_table,
    "columns judge_id and true_id",
)

_KNOWN: tuple[Layout, ...] = (
    LABEL_STUDIO, QUALTRICS, LIMESURVEY, MTURK, PROLIFIC, ARGILLA, ARENA, GOOGLE_FORMS, SCRUB, ROWS,
)  # fmt: skip
"""The first that fits a file is taken; the last one fits all."""

LAYOUTS = ("auto", *(layout.name for layout in reversed(_KNOWN)))


def open_human_file(
    path: Path,
    layout: str = "auto",
    *,
    has_header: bool = True,
    format: str | None = None,  # noqa: A002
    faults: list[InputFault],
    join: tuple[Path, str] | None = None,
    for_judges: bool = False,
) -> tuple[Layout, Opened]:
    """Returns the layout of a file (never "auto") and its rows, flattened.

    Args:
        path: the file.
        layout: one of `LAYOUTS`, or of `JUDGE_LAYOUTS`; "auto" goes by the first row.
        has_header: whether the first row names the columns; else they are "1", "2", ….
        format: the file's format where its suffix does not say it.
        faults: takes the faults of format.
        join: a table of items and the column by which it is joined (see `joined`).
        for_judges: whether the file holds stored judgments of models, not of people.

    Raises:
        InputError: for a file that cannot be opened, or that is a roster and not answers.
    """
    if not has_header:
        return ROWS, Opened(_numbered(path, format, faults))
    first = next(iter(read_rows(path, format=format, faults=[])), None)
    file = HumanFile(path, format, faults, {} if first is None else first.values)
    layouts = (*JUDGE_LAYOUTS, ROWS) if for_judges else _KNOWN
    chosen = next(
        one for one in layouts if (one.fits(file) if layout == "auto" else one.name == layout)
    )
    opened = chosen.open(file)
    if path.name.lower().endswith(SUFFIXES):
        opened.titles = variable_labels(path)
    if join is not None:
        opened.rows = joined(opened.rows, path, *join, faults)
    return chosen, opened


def other_layouts(path: Path, chosen: Layout, *, format: str | None = None) -> tuple[str, ...]:  # noqa: A002
    """Returns the names of the other tools' layouts that a file has the columns of."""
    first = next(iter(read_rows(path, format=format, faults=[])), None)
    file = HumanFile(path, format, [], {} if first is None else first.values)
    return tuple(
        one.name for one in _KNOWN if one is not ROWS and one is not chosen and one.fits(file)
    )


def _numbered(path: Path, format: str | None, faults: list[InputFault]) -> Iterator[Row]:  # noqa: A002
    width: int | None = None
    for line, cells in read_cells(path, format=format, faults=faults):
        width = width if width is not None else len(cells)
        if len(cells) != width:
            message = f"must have {width} cells as the first row has, got {len(cells)}"
            faults.append(InputFault(f"{path}:{line}", message))
            continue
        yield Row(line, {str(number): cell for number, cell in enumerate(cells, start=1)})
