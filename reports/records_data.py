"""The rows of a long table and what its views show, packed for the page's script."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from .document import Records, SideBySide, View
from .packing import ChunkedStream, elements, packed, rounded

MOST_PACKED_CHARS: Final = 22_000_000
"""Packed data that a page carries at most; with everything else it then stays under 25 MB."""


@dataclass(frozen=True, slots=True)
class PackedRecords:
    """What the page holds of a long table.

    Attributes:
        table: its rows by column, heads and places of the chunks, packed.
        chunks: (element id, packed data) of the views.
        n_texts, n_rationales: rows whose texts and rationales are in the page: the first ones.
        cut: which of them, "texts" or "rationales", the page holds of some rows only.
        n: rows.
    """

    table: str
    chunks: tuple[tuple[str, str], ...]
    n_texts: int
    n_rationales: int
    cut: tuple[str, ...]
    n: int


def pack_records(records: Records, *, most_chars: int) -> PackedRecords:
    """The table packed; of its views the scores first, then texts, then rationales, as they fit.

    Args:
        records: whose view's entries are read once.
        most_chars: packed characters allowed; the rows themselves are always kept.
    """
    columns = []
    for place, column in enumerate(records.columns):
        values: list[Any] = [row[place] for row in records.rows]
        if column.is_numeric:
            values = rounded(values)
        columns.append(
            {
                "title": column.title,
                "kind": column.kind,
                "digits": column.digits,
                "minor": column.is_minor,
                "values": values,
            }
        )
    streams: dict[str, ChunkedStream] = {}
    view = records.view
    if isinstance(view, View):
        streams = _view_streams(view, len(records.rows), most_chars)
    # A stream that holds nothing of its kind is empty, and is not cut.
    n_rows = len(records.rows)
    cut = [n for n in ("texts", "rationales") if n in streams and streams[n].is_cut(n_rows)]
    table = packed(
        {
            "label": records.label,
            "file": records.file,
            "columns": columns,
            "filters": list(records.filters),
            "title": records.title,
            "view": _view_heads(view) if isinstance(view, View) else None,
            "beside": _beside(view) if isinstance(view, SideBySide) else None,
            "starts": {name: stream.starts for name, stream in streams.items()},
            "kept": {name: stream.n_kept for name, stream in streams.items()},
            "cut": cut,
        }
    )
    return PackedRecords(
        table=table,
        chunks=tuple(elements(records.name, streams)),
        n_texts=streams["texts"].n_kept if streams else 0,
        n_rationales=streams["rationales"].n_kept if streams else 0,
        cut=tuple(cut),
        n=n_rows,
    )


def _view_heads(view: View) -> dict[str, Any]:
    return {
        "texts": list(view.texts),
        "judgeColumns": list(view.judge_columns),
        "judges": [list(labels) for labels in view.judges],
        "scores": list(view.scores),
        "scale": list(view.scale),
    }


def _beside(view: SideBySide) -> dict[str, Any]:
    return {
        "records": view.records,
        "rows": [list(places) for places in view.rows],
        "named": view.named,
        "value": view.value,
        "low": view.low,
        "high": view.high,
        "hasTexts": view.has_texts,
    }


def _view_streams(view: View, n_rows: int, most_chars: int) -> dict[str, ChunkedStream]:
    scores = ChunkedStream(most_chars)
    texts, rationales = ChunkedStream(most_chars), ChunkedStream(most_chars)
    has_text = has_rationale = False
    for entry in islice(view.entries, n_rows):
        flat = rounded([value for row in entry.scores for value in row])
        remarks = {str(place): text for place, text in entry.remarks.items()}
        given = {str(place): text for place, text in entry.rationales.items()}
        has_text = has_text or any(text is not None for text in entry.texts)
        has_rationale = has_rationale or bool(given)
        scores.add([flat, remarks], 3 * len(flat) + sum(map(len, remarks.values())))
        # Rows without text of their own cost nothing before the first that has one.
        texts.add(list(entry.texts), 20 + sum(len(text or "") for text in entry.texts))
        rationales.add(given, 8 + sum(map(len, given.values())))
    for stream in (scores, texts, rationales):
        stream.finish()
    left = most_chars - scores.packed_chars
    texts = texts.limited(left) if has_text else ChunkedStream()
    left -= texts.packed_chars
    rationales = rationales.limited(left) if has_rationale else ChunkedStream()
    return {"scores": scores, "texts": texts, "rationales": rationales}
