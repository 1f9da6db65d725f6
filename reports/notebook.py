"""What a notebook shows of a result: about a screen of its document, in one piece of HTML.

The answer, why it can be trusted, the first picture and the first table of the summary; all text
is escaped, and there is no script and nothing that is loaded. `plot` and `to_pandas` of every
result (`Shown`) come from here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..aggregation.estimate import Estimate
from ..formats import UNDEFINED, estimate, interval, units
from ..progress import doing, heard
from ..records.estimates import Estimates
from ..records.types import Verdict
from ..shown import Picture
from .charts import draw, standalone
from .document import Cell, Chart, Column, Document, Part, Scalar, Section, Table
from .visible import visible, visible_plain

MOST_ROWS: Final = 8
"""Rows of the table that are shown; `to_pandas` has all."""
MOST_COLUMNS: Final = 7
MOST_TRUST: Final = 6

_FRAME: Final = (
    "max-width:46rem;padding:.6rem .8rem;border:1px solid #d9dde3;border-radius:4px;"
    "background:#fff;color:#1c1e21;--paper:#fff;font:14px/1.45 system-ui,sans-serif"
)
"""Light on every theme, as the pictures are."""
_SOFT: Final = "color:#5d6470"
_CELL: Final = "padding:.1rem .7rem .1rem 0;border:0;background:none;color:inherit;"


def html_of(result: Any) -> str:
    """What a notebook shows of a result."""
    with heard():  # of a long run it takes seconds
        doing("reading the results")
        return _html(result, document_of(result))


def _html(result: Any, document: Document) -> str:
    parts = [f'<p style="margin:0 0 .2rem"><b>{visible(one, most=400)}</b></p>'
             for one in document.headline or [document.title]]  # fmt: skip
    if document.is_demonstration:
        told = visible(f"DEMONSTRATION: {document.demonstration}", most=400)
        parts.insert(0, f'<p style="margin:0 0 .4rem">{told}</p>')
    trust = document.trust[:MOST_TRUST]
    if trust:
        rows = "".join(
            f'<tr style="background:none"><td style="{_CELL}{_SOFT};text-align:left">'
            f'{visible(word)}</td><td style="{_CELL}text-align:left">'
            f"{visible(sentence, most=300)}</td></tr>"
            for word, sentence in trust
        )
        parts.append(f'<table style="margin:.4rem 0;border:0;font:inherit">{rows}</table>')
    first = _first(document, Chart)
    if first is not None:
        svg = standalone(draw(first, is_demonstration=document.is_demonstration))
        sized = svg.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)
        parts.append(f'<div style="margin:.4rem 0">{sized}</div>')
    table = _first(document, Table)
    if table is not None:
        parts.append(_table(table))
    if foot := " · ".join(filter(None, (document.state, _place(result)))):
        parts.append(f'<p style="margin:.3rem 0 0;{_SOFT}">{visible(foot, most=300)}</p>')
    return f'<div style="{_FRAME}">{"".join(parts)}</div>'


def picture_of(result: Any, name: str | None) -> Picture:
    """The picture of that name, or the first one.

    Raises:
        ValueError: there is none of that name, or none at all.
    """
    document = document_of(result)
    charts = {part.name: part for part in _parts(document) if isinstance(part, Chart)}
    if not charts:
        raise ValueError(f"{visible_plain(document.title, most=80)}: it has no picture")
    chart = charts.get(name) if name is not None else _first(document, Chart)
    if chart is None:
        raise ValueError(f"no picture is called {name!r}; there are {', '.join(charts)}")
    return Picture(standalone(draw(chart, is_demonstration=document.is_demonstration)))


def frame_of(result: Any) -> Any:
    """Its figures as a DataFrame."""
    if isinstance(result, Verdict):
        return _verdict_estimates(result).frame()
    if isinstance(result, Estimate):
        found = Estimates()
        found.add("estimate", "value", result)
        return found.frame()
    found = result.estimates
    return found.frame() if isinstance(found, Estimates) else found


def document_of(result: Any) -> Document:
    """The description of a result."""
    if isinstance(result, Verdict):
        return verdict_document(result)
    if isinstance(result, Estimate):
        return estimate_document(result)
    made: Document = result.document()
    return made


def verdict_document(verdict: Verdict) -> Document:
    """What is shown of the panel's word on one response."""
    counts = ", ".join(
        f"{number} {status.replace('_', ' ')}"
        for status, number in verdict.counts.items()
        if number and status != "scored"
    )
    coverage = f"{verdict.n_scored} of {units(verdict.n_planned, 'judgment')} scored"
    trust = [("coverage", f"{coverage}; {counts}" if counts else coverage)]
    if verdict.composite is not None:
        trust.append(("judges", f"disagreement between them: {verdict.disagreement}"))
        if verdict.interval is None and verdict.interval_reason:
            trust.append(("interval", f"none: {verdict.interval_reason}"))
    if verdict.flags:
        trust.append(("flags", ", ".join(verdict.flags)))
    rows = [("composite", _of_criterion(verdict, "composite"))] + [
        (name, _of_criterion(verdict, name)) for name in verdict.dimensions
    ]
    means = {"persona": verdict.by_persona, "model": verdict.by_model}
    return Document(
        title=f"Verdict on {verdict.response_id}",
        kind="verdict",
        headline=[f"{verdict.response_id}: {_said(verdict, rows[0][1])}."],
        is_demonstration=any(one.model.startswith("offline/") for one in verdict.judgments),
        trust=trust,
        sections=[
            Section(
                "criteria",
                "By criterion",
                [
                    _forest("criteria", "Panel means", rows),
                    Table(
                        "Means of the judges that scored, with the interval over personas and "
                        "models.", "Panel means",
                        [Column("criterion"), Column("mean", "estimate")],
                        [(name.replace("_", " "), found) for name, found in rows],
                        is_short=True,
                    ),
                ],
                "summary",
            ),
            *(
                Section(
                    f"{what}s",
                    f"By {what}",
                    [_forest(f"{what}s", f"Mean composite of each {what}", [
                        (name, _plain(value)) for name, value in found.items()
                    ])],
                )
                for what, found in means.items()
            ),
        ],
    )  # fmt: skip


def estimate_document(found: Estimate) -> Document:
    """What is shown of one figure."""
    n = units(found.n, found.unit) if found.unit else ""
    planned = f" of {found.n_planned} planned" if found.n_planned is not None and n else ""
    level = f"{found.level:.0%} interval" if found.has_interval else ""
    told = ", ".join(filter(None, (estimate(found), level, n + planned)))
    rows: list[tuple[str, str | None]] = [
        ("method", found.method),
        ("judges", found.universe),
        ("test", found.p_method),
        ("verdict", found.verdict),
        ("missing", found.reason),
    ]
    return Document(
        title="Estimate",
        kind="estimate",
        headline=[told],
        trust=[(word, text) for word, text in rows if text],
        sections=[
            Section("value", "Value", [_forest("value", "Estimate", [("", found)])], "detail")
        ],
    )


def _said(verdict: Verdict, composite: Estimate) -> str:
    if verdict.composite is None:
        return f"{verdict.status}, {verdict.reason}"
    return f"{estimate(composite)} in the mean over criteria"


def _of_criterion(verdict: Verdict, name: str) -> Estimate:
    is_whole = name == "composite"
    value = verdict.composite if is_whole else verdict.dimensions[name]
    limits = verdict.interval if is_whole else verdict.dimension_intervals.get(name)
    low, high = limits or (float("nan"), float("nan"))
    return Estimate(
        float("nan") if value is None else value, low, high,
        n=verdict.n_scored, n_planned=verdict.n_planned, unit="judgment",
        method=verdict.interval_method or "mean",
        reason=verdict.reason if value is None else verdict.interval_reason if not limits else None,
    )  # fmt: skip


def _verdict_estimates(verdict: Verdict) -> Estimates:
    out = Estimates()
    for name in ("composite", *verdict.dimensions):
        out.add("verdict", "mean", _of_criterion(verdict, name), criterion=name)
    for persona, value in verdict.by_persona.items():
        out.add("persona", "mean", _plain(value), persona=persona, criterion="composite")
    for model, value in verdict.by_model.items():
        out.add("model", "mean", _plain(value), model=model, criterion="composite")
    return out


def _plain(value: float | None) -> Estimate:
    return Estimate(float("nan") if value is None else value, unit="judgment", method="mean")


def _forest(name: str, title: str, rows: list[tuple[str, Estimate]]) -> Chart:
    found = [one for _, one in rows]
    return Chart(
        "forest", name, title, "", [label for label, _ in rows],
        values=[[one.value] for one in found],
        low=[[one.low] for one in found],
        high=[[one.high] for one in found],
    )  # fmt: skip


def _parts(document: Document) -> Iterator[Part]:
    for section in document.sections:
        yield from section.parts


def _first(document: Document, kind: type[Any]) -> Any:
    """The first part of a kind: of the summary, or, of a drawing, wherever it stands."""
    summary = [s for s in document.sections if s.audience == "summary"]
    for section in summary if kind is Table else [*summary, *document.sections]:
        for part in section.parts:
            if isinstance(part, kind):
                return part
    return None


def _table(table: Table) -> str:
    columns = table.columns[:MOST_COLUMNS]
    rows = [*table.rows, *table.foot]
    side = ["right" if column.is_numeric else "left" for column in columns]
    head = "".join(
        f'<th style="{_CELL}text-align:{at};{_SOFT}">{visible(column.title)}</th>'
        for column, at in zip(columns, side, strict=True)
    )
    body = "".join(
        '<tr style="background:none">'
        + "".join(
            f'<td style="{_CELL}text-align:{at};vertical-align:top">{_cell(cell, column)}</td>'
            for cell, column, at in zip(row, columns, side, strict=False)
        )
        + "</tr>"
        for row in rows[:MOST_ROWS]
    )
    left = len(rows) - MOST_ROWS
    more = f'<p style="margin:0;{_SOFT}">… and {units(left, "more row")}</p>' if left > 0 else ""
    return (
        f'<div style="overflow-x:auto"><table style="border:0;margin:.2rem 0;font:inherit">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}"
    )


def _cell(given: Scalar | Cell, column: Column) -> str:
    cell = given if isinstance(given, Cell) else Cell(given)
    value, note = cell.value, cell.note
    if isinstance(value, Estimate) and value.has_interval and not note:
        note = interval(value.low, value.high, column.digits, is_signed=column.is_signed)
    text = column.shown(value)
    if text is None:
        text = "" if value is None else str(value)
    beside = f' <span style="{_SOFT};white-space:nowrap">{visible(note)}</span>' if note else ""
    return f"{visible(text or UNDEFINED)}{beside}"


def _place(result: Any) -> str:
    path = getattr(result, "path", None)
    return "" if path is None else str(path)
