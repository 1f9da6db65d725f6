"""A document as a page: one self-contained HTML file, the same frame for every kind of result.

    write_html(folder / "report.html", document, charts=folder / "figures")

The page carries its style, its script and its data. Its policy lets nothing else act: style and
script are named by their hashes, nothing is loaded, no markup is made from text. Without script the
tables and figures stand; long tables (`Records`) then say where their rows are to be had.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..aggregation.estimate import Estimate
from ..formats import UNDEFINED, count, interval
from ..records.run_folder import replaced
from .charts import PHONE_WIDTH, draw, fits_phone, save
from .document import Cell, Chart, Column, Document, Records, View
from .narrow import fold_of
from .records_data import MOST_PACKED_CHARS, PackedRecords, pack_records
from .visible import breakable, visible, visible_plain

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup


def write_page(out: str | Path, document: Document, *, figures: bool = True) -> Path:
    """Writes a page that has no folder of its own, its pictures beside it, and returns its path.

    Raises:
        StoreError: it cannot be written.
    """
    path = Path(out)
    drawn = path.with_name(f"{path.stem}_figures") if figures else None
    return write_html(path, document, charts=drawn)


def write_html(
    path: str | Path, document: Document, *, charts: Path | None = None, home: str = ""
) -> Path:
    """Writes the page, at once or not at all, and returns its path.

    Args:
        path: of the file.
        document: what it shows.
        charts: the folder into which its charts are written as well, as SVG; None = none are
            drawn, and the page says so in their place.
        home: relative address of a page that lists this one among others; "" where there is none.

    Raises:
        ValueError: two sections or records have the same name, or one is no name.
        StoreError: it cannot be written; a page that was there before stays.
    """
    path = Path(path)
    names = [section.name for section in document.sections]
    long_tables = [p for s in document.sections for p in s.parts if isinstance(p, Records)]
    names += [table.name for table in long_tables]
    if wrong := [name for name in names if not re.fullmatch("[a-z][a-z0-9-]*", name)]:
        raise ValueError(f"names must be of small letters, digits and hyphens, got {wrong}")
    if len(set(names)) < len(names):
        raise ValueError(f"names of sections and records must differ, got {names}")
    if not path.parent.exists():
        path.parent.mkdir(mode=0o700, parents=True)
    with replaced(path) as part, part.open("w", encoding="utf-8", errors="replace") as handle:
        for piece in _pieces(document, long_tables, charts, home):
            handle.write(piece)
    return path


def _pieces(
    document: Document, long_tables: Sequence[Records], charts: Path | None, home: str
) -> Iterator[str]:
    environment = _environment()
    with_views = [table for table in long_tables if isinstance(table.view, View)]
    share = MOST_PACKED_CHARS // max(1, len(with_views))
    data: dict[str, PackedRecords] = {
        table.name: pack_records(table, most_chars=share) for table in long_tables
    }
    style, script = page_style(), _script()

    def drawing(chart: Chart) -> Markup | None:
        if charts is None:
            return None
        is_demonstration = document.is_demonstration
        svg = draw(chart, is_demonstration=is_demonstration)
        save(charts / f"{chart.name}.svg", svg)
        if not fits_phone(chart):
            return _raw(svg)
        # On a phone nothing of the picture lies beyond an edge.
        phone = draw(chart, is_demonstration=is_demonstration, width=PHONE_WIDTH, css_class="phone")
        return _raw(svg.replace('class="wide"', 'class="wide roomy"', 1) + phone)

    yield from environment.get_template("html.html.j2").generate(
        page=document,
        style=_raw(style),
        script=_raw(script),
        policy=_raw(content_policy(style, script)),
        home=home,
        data=data,
        drawing=drawing,
    )


def page_style() -> str:
    """The style of every page."""
    return _source("html.css")


def page_policy() -> str:
    """The content policy of every page that `write_html` writes."""
    return content_policy(page_style(), _script())


def content_policy(style: str, script: str) -> str:
    """The policy of a page that carries its style and script, named by their hashes."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def text_script() -> str:
    """What a script of another page needs to put text into it safely: `make`, `visible`, …"""
    return _source("page_text.js")


def _script() -> str:
    """The page's script: its files in a function of their own, so that nothing is global."""
    names = (
        "page_text.js", "page_markdown.js", "page_sorting.js", "page_beside.js",
        "page_records.js", "page_start.js",
    )  # fmt: skip
    return "(() => {\n" + "\n".join(_source(name) for name in names) + "})();"


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _raw(source: str) -> Markup:
    from markupsafe import Markup

    return Markup(source)  # noqa: S704  our own style, script and drawings


def _cell(given: Any, column: Column) -> tuple[Cell, str, str, str]:
    """A cell, its text ("" for text that has to be escaped), its sorting value, its classes."""
    cell = given if isinstance(given, Cell) else Cell(given)
    names = {"wide": "w", "id": "id", "time": "time", "text": ""}.get(column.kind, "n")
    names += " bold" if cell.is_bold else ""
    names += "" if cell.shade is None else f" s{cell.shade}"
    text = column.shown(cell.value)
    if text is None:
        return cell, "", "", names.strip()
    value = cell.value
    if isinstance(value, Estimate):
        if value.has_interval and not cell.note:
            limits = interval(value.low, value.high, column.digits, is_signed=column.is_signed)
            cell = replace(cell, note=limits)
        value = value.value
    order = "" if text == UNDEFINED else repr(value if column.kind == "count" else float(value))  # type: ignore[arg-type]
    return cell, text, order, names.strip()


@lru_cache(maxsize=8)
def _source(name: str) -> str:
    from importlib.resources import files

    return files(__name__.rpartition(".")[0]).joinpath(name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
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
