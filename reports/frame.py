"""A page of any kind of result: one self-contained HTML file in this project's frame.

    write_page(folder / "report.html", Page(
        title="Stress test of 3 models", kind="stress", is_demonstration=False,
        lead=("1,180 scored of 1,200 planned", "judgments on 80 responses."),
        sections=[Section("scorecard", "Scorecard", [
            Figure(folder / "figures/scorecard.svg", "Scores by condition", "Bars are …"),
            Table("Deltas by framing.", "Deltas", [Column("framing"), Column("delta", "number")],
                  [["emotion agree", Cell(0.42, note="0.10 to 0.74", is_bold=True)]]),
        ])]))

The page carries its style, its script and its data. Its policy lets nothing else act: style and
script are named by their hashes, nothing is loaded, no markup is made from text. Without script the
tables and figures stand; long tables (`Records`) then say where their rows are to be had.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..records.run_folder import replaced
from .inline_svg import inline_svg
from .narrow import fold_of
from .numbers import UNDEFINED, count, p_shown, shown
from .parts import Cell, Column, Figure, Records, Section
from .records_data import MOST_PACKED_CHARS, PackedRecords, pack_records
from .visible import breakable, visible, visible_plain

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

DEMONSTRATION: Final = (
    "An embedded stand-in is among the judges: a scorer of text features, not a language model. "
    "These numbers show how the tool works. They say nothing about the quality of anybody's "
    "answers."
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes:
        title: its heading.
        kind: "panel", "stress", "calibration", "audit", "comparison": which result it shows.
        sections: in order; the contents list them.
        lead: its first sentence, as (what stands in bold, the rest).
        state: how it ended, a sentence with its full stop, or "".
        notices: framed sentences above the contents: what a reader must know first.
        is_demonstration: whether an embedded stand-in had a part in it.
        demonstration: what the banner then says.
    """

    title: str
    kind: str
    sections: Sequence[Section]
    lead: tuple[str, str] = ("", "")
    state: str = ""
    notices: Sequence[str] = ()
    is_demonstration: bool = False
    demonstration: str = DEMONSTRATION

    def without_figures(self) -> Page:
        """The same page without its figures; sections that hold nothing else go as well."""
        kept = [
            replace(section, parts=[p for p in section.parts if not isinstance(p, Figure)])
            for section in self.sections
        ]
        return replace(self, sections=[section for section in kept if section.parts])


def write_page(path: str | Path, page: Page) -> Path:
    """Writes the page, at once or not at all, and returns its path.

    Raises:
        ValueError: two sections or records have the same name, or one is no name.
        InputError: a figure's file is no SVG.
        StoreError: it cannot be written; a page that was there before stays.
    """
    path = Path(path)
    names = [section.name for section in page.sections]
    long_tables = [p for section in page.sections for p in section.parts if isinstance(p, Records)]
    names += [table.name for table in long_tables]
    if wrong := [name for name in names if not re.fullmatch("[a-z][a-z0-9-]*", name)]:
        raise ValueError(f"names must be of small letters, digits and hyphens, got {wrong}")
    if len(set(names)) < len(names):
        raise ValueError(f"names of sections and records must differ, got {names}")
    with replaced(path) as part, part.open("w", encoding="utf-8", errors="replace") as handle:
        for piece in _pieces(page, long_tables):
            handle.write(piece)
    return path


def _pieces(page: Page, long_tables: Sequence[Records]) -> Iterator[str]:
    environment = _environment()
    share = MOST_PACKED_CHARS // max(1, len(long_tables))
    data: dict[str, PackedRecords] = {
        table.name: pack_records(table, most_chars=share) for table in long_tables
    }
    style, script = _source("frame.css"), _script()
    keys = iter(range(1, 1_000_000))

    def drawing(figure: Figure) -> Markup | None:
        if not figure.path.is_file():
            return None
        described = figure.described or f"{figure.title}. {figure.caption}"
        label = visible_plain(described, most=600)
        return inline_svg(figure.path, key=f"figure{next(keys)}", label=label)

    yield from environment.get_template("frame.html.j2").generate(
        page=page,
        style=_raw(style),
        script=_raw(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        data=data,
        drawing=drawing,
    )


def _script() -> str:
    """The page's script: its files in a function of their own, so that nothing is global."""
    names = ("page_text.js", "page_sorting.js", "page_records.js", "page_start.js")
    return "(() => {\n" + "\n".join(_source(name) for name in names) + "})();"


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _raw(source: str) -> Markup:
    from markupsafe import Markup

    return Markup(source)  # noqa: S704  our own style and script


def _cell(given: Any, column: Column) -> tuple[Cell, str, str, str]:
    """A cell, its text ("" for text that has to be escaped), its sorting value, its classes."""
    cell = given if isinstance(given, Cell) else Cell(given)
    names = {"wide": "w", "id": "id", "time": "time", "text": ""}.get(column.kind, "n")
    names += " bold" if cell.is_bold else ""
    names += "" if cell.shade is None else f" s{cell.shade}"
    if not column.is_numeric or isinstance(cell.value, str):
        return cell, "", "", names.strip()
    if cell.value is None:
        return cell, UNDEFINED, "", names.strip()
    if column.kind == "count":
        return cell, count(cell.value), str(cell.value), names.strip()
    text = p_shown(cell.value) if column.kind == "p" else shown(cell.value, column.digits)
    order = "" if text == UNDEFINED else repr(float(cell.value))
    return cell, text, order, names.strip()


@lru_cache(maxsize=8)
def _source(name: str) -> str:
    from importlib.resources import files

    return files(__name__.rpartition(".")[0]).joinpath(name).read_text(encoding="utf-8")


def _environment() -> jinja2.Environment:
    import jinja2

    def source(name: str) -> str | None:
        try:
            return _source(name)
        except FileNotFoundError:
            return None

    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FunctionLoader(source),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        visible=visible, visible_plain=visible_plain, breakable=breakable, count=count
    )
    environment.globals.update(
        cell_of=_cell, fold_of=fold_of, kind_of=lambda part: type(part).__name__
    )
    return environment
