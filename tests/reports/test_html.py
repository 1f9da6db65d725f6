"""The frame that every page shares: parts, names, policy, drawings put into it, packed rows."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from areopagus.aggregation.estimate import Estimate
from areopagus.reports import (
    Cell,
    Chart,
    Column,
    Document,
    Entry,
    Paragraph,
    Points,
    Records,
    Section,
    Table,
    Tile,
    Tiles,
    View,
    write_html,
)
from areopagus.reports.packing import ChunkedStream, packed, rounded

ATTACK = "<img src=x onerror=alert(1)>{{ 7 * 7 }}\u202e"


def page(*parts: Any, **changes: Any) -> Document:
    given: dict[str, Any] = {"title": "A page", "kind": "stress"} | changes
    return Document(sections=[Section("first", "First", parts)], **given)


def written(path: Path, given: Document) -> str:
    return write_html(path / "page.html", given, charts=path / "figures").read_text(
        encoding="utf-8"
    )


def test_every_part_escapes_what_it_is_given(tmp_path: Path) -> None:
    records = Records(
        name="rows",
        caption=ATTACK,
        label=ATTACK,
        columns=[Column(ATTACK, "id"), Column("n", "number")],
        rows=[[ATTACK, 1.0]],
        view=View(["Text"], ["judge"], [[ATTACK]], [ATTACK], (1, 10), [Entry([ATTACK], [[3]])]),
    )
    source = written(
        tmp_path,
        page(
            Paragraph(ATTACK),
            Paragraph(ATTACK, "notice"),
            Paragraph(ATTACK, "heading"),
            Points([(ATTACK, ATTACK)]),
            Tiles([Tile(ATTACK, ATTACK, ATTACK)]),
            Table(ATTACK, ATTACK, [Column(ATTACK)], [[Cell(ATTACK, note=ATTACK)]], [[ATTACK]]),
            Chart("forest", "attack", ATTACK, ATTACK, [ATTACK], [ATTACK], [[1.0]]),
            records,
            title=ATTACK,
            lead=(ATTACK, ATTACK),
            state=ATTACK,
            notices=[ATTACK],
            is_demonstration=True,
            demonstration=ATTACK,
        ),
    )
    body = source[: source.index('<script type="text/plain"')]
    assert "<img" not in body
    assert "{{ 7 * 7 }}" in body
    assert "\u202e" not in source
    assert body.count("&lt;img src=x onerror=alert(1)&gt;") > 15


def test_numbers_dashes_shades_and_links_of_a_table(tmp_path: Path) -> None:
    table = Table(
        "Deltas.",
        "Deltas",
        [Column("framing"), Column("delta", "number"), Column("n", "count")],
        [
            [Cell("agree", record=("rows", 3)), Cell(-0.456, shade=7, is_bold=True), 12345],
            ["disagree", None, None],
            ["nothing", float("nan"), "few"],
        ],
    )
    source = written(tmp_path, page(table))
    lines = re.findall(r"<tr>(.*?)</tr>", source, flags=re.DOTALL)
    assert '<a href="#rows/3">' in lines[1]
    assert '<td class="n bold s7" data-v="-0.456">−0.46</td>' in lines[1]
    assert '<td class="n" data-v="12345">12,345</td>' in lines[1]
    assert lines[2].count(">–</td>") == 2
    assert '<td class="n">–</td>' in lines[3]
    assert "few" in lines[3]


def test_demonstration_stands_first_and_state_and_notices_are_told(tmp_path: Path) -> None:
    source = written(
        tmp_path,
        page(Paragraph("x"), is_demonstration=True, state="stopped", notices=["Read this first."]),
    )
    assert source.index("DEMONSTRATION</strong>") < source.index("<h1>")
    assert "<title>DEMONSTRATION · A page · Areopagus</title>" in source
    assert "Read this first." in source
    assert '<a href="#first"><bdi class="text">First</bdi></a>' in source


def test_a_section_in_which_nothing_stands_is_left_out() -> None:
    told = Section("told", "Told", [Paragraph("x")])
    assert Document("t", "stress", [Section("none", "None", []), told]).sections == [told]
    bare = Table("Who took part.", "Models", [Column("name", "id")], [])
    rest = [Section("bare", "Bare", [bare]), Section("why", "Why", [replace(bare, notes=["none"])])]
    (left,) = Document("t", "stress", rest).sections
    assert list(left.parts) == [Points([("", "None.")])]


def test_a_table_whose_every_figure_is_missing_becomes_its_reasons_and_a_list_of_names_stays() -> (
    None
):
    columns = [Column("model", "id"), Column("mean", "estimate"), Column("n", "text")]
    rows = [[name, Cell(Estimate(math.nan)), "0 of 2"] for name in "ab"]
    none = Table("Means.", "Means", columns, rows[:1], rows[1:], notes=["no mean: nothing came"])
    names = Table("Who took part.", "Models", columns[:1], [["a"], ["b"]])
    sections = [
        Section("why", "Why", [none, names]), Section("no", "No", [replace(none, notes=[])]),
        Section("some", "Some", [replace(none, rows=[*rows, ["c", Cell(Estimate(0.0)), ""]])]),
    ]  # fmt: skip
    why, some = Document("t", "panel", sections).sections
    assert list(why.parts) == [Points([("", "No mean: nothing came.")]), names]
    assert len(some.parts[0].rows) == 3


def test_names_must_differ(tmp_path: Path) -> None:
    table = Records("first", "c", "l", [Column("a", "id")], [["x"]])
    with pytest.raises(ValueError, match="names of sections and records must differ"):
        write_html(tmp_path / "page.html", page(table))
    bad = Document(
        title="t", kind="stress", sections=[Section('x" onclick="', "X", [Paragraph("x")])]
    )
    with pytest.raises(ValueError, match="letters, digits and hyphens"):
        write_html(tmp_path / "page.html", bad)
    assert list(tmp_path.iterdir()) == []


def test_without_pictures_their_place_is_said(tmp_path: Path) -> None:
    bare = page(Chart("bars", "means", "Scores", "Bars.", ["a"]))
    source = write_html(tmp_path / "page.html", bare).read_text(encoding="utf-8")
    assert "no picture; the tables hold the same numbers" in source


def test_streams_cut_by_size_keep_the_first_whole_chunks() -> None:
    stream = ChunkedStream()
    for k in range(10):
        stream.add([k] * 50, 150_000)  # three to a chunk
    stream.finish()
    assert stream.starts == [0, 3, 6, 9]
    assert stream.n_kept == stream.n_items == 10
    sizes = [len(text) for _, text in stream.chunks]
    cut = stream.limited(sizes[0] + sizes[1] + 1)
    assert (cut.starts, cut.n_kept, cut.n_items) == ([0, 3], 6, 10)
    assert stream.limited(0).n_kept == 0
    assert stream.limited(10**9).n_kept == 10
    bounded = ChunkedStream(most_chars=sizes[0] + 1)
    for k in range(10):
        bounded.add([k] * 50, 150_000)
    bounded.finish()
    assert (bounded.n_kept, bounded.n_items) == (3, 10)


def test_packed_data_are_the_same_for_the_same_value_and_plain_characters() -> None:
    value = {"a": ["</script>", "\u202e", None, 1.5]}
    assert packed(value) == packed(value)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", packed(value))
    assert rounded([1.0, 2.34567, None, float("nan"), float("inf"), -0.5]) == [
        1,
        2.3457,
        None,
        None,
        None,
        -0.5,
    ]
