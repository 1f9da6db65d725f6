"""Charts of every kind: drawn for any name, shape and width, the same each time, nan left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from chromium import Tab, find_chromium

from areopagus.errors import StoreError
from areopagus.reports.charts import (
    PHONE_WIDTH,
    WIDTH,
    draw,
    folded_name,
    save,
    short_name,
    standalone,
)
from areopagus.reports.document import Chart, ChartKind

NAMES = ["a$b^c\\frac{", "日本語\u202eevil\x07\nline <script>", "provider/" + "long-" * 20 + "end"]
KINDS: tuple[ChartKind, ...] = ("forest", "heatmap", "bars", "strip", "line")


def words_of(svg: str) -> str:
    """All text of a drawing, which is read as XML."""
    return " ".join(ET.fromstring(svg).itertext())


def chart(kind: ChartKind, **changes: Any) -> Chart:
    rng = np.random.default_rng(2)
    table = rng.uniform(2, 9, (3, 3))
    table[1, 1] = np.nan
    low, high = table - 0.5, table + 0.5
    low[2], high[2] = np.nan, np.nan
    given: dict[str, Any] = {
        "rows": NAMES,
        "columns": NAMES,
        "values": table,
        "low": low,
        "high": high,
        "points": [[1, 2, 3], [], [np.nan, 5]],
        "x": (1, 2, 3),
        "scale": (1.0, 10.0),
    }
    return Chart(kind, "name", "Title", "Caption.", **(given | changes))


@pytest.mark.parametrize("width", [WIDTH, PHONE_WIDTH])
@pytest.mark.parametrize("kind", KINDS)
def test_any_name_is_drawn_and_hidden_characters_are_codes(kind: ChartKind, width: float) -> None:
    svg = draw(chart(kind), width=width)
    drawn = words_of(svg)
    assert "a$b" in drawn
    assert "\u202e" not in drawn
    tags = {node.tag.split("}")[-1] for node in ET.fromstring(svg).iter()}
    assert tags <= {"svg", "desc", "rect", "line", "path", "text"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_chart_is_the_same_picture(kind: ChartKind) -> None:
    assert draw(chart(kind)) == draw(chart(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_measured_is_still_a_picture_without_a_number(kind: ChartKind) -> None:
    nothing = np.full((2, 2), np.nan)
    empty = chart(
        kind, rows=["x", "y"], columns=["k", "l"], values=nothing, low=nothing, high=nothing,
        points=[[], []], x=(1, 2),
    )  # fmt: skip
    svg = draw(empty)
    assert "x" in words_of(svg)
    assert "nan" not in svg


@pytest.mark.parametrize("kind", ["forest", "bars", "heatmap", "line"])
def test_every_value_is_text_for_who_cannot_see_the_picture(kind: ChartKind) -> None:
    spoken = chart(kind, rows=["depth", "breadth", "mean"], columns=["a", "b", "c"])
    described = next(ET.fromstring(draw(spoken)).iter("{http://www.w3.org/2000/svg}desc")).text
    for value in (spoken.values[0][0], spoken.values[2][1]):
        assert f"{value:.2f}" in str(described)
    assert "depth: " in str(described)


def test_a_row_has_its_value_and_interval_beside_it() -> None:
    forest = chart("forest", rows=["x"], columns=[""], values=[[0.5]], low=[[-0.25]], high=[[1.0]])
    assert "0.50 [−0.25, 1.00]" in words_of(draw(forest))
    signed = replace(forest, is_diverging=True)
    assert "+0.50 [−0.25, +1.00]" in words_of(draw(signed))


def test_facets_stand_under_their_titles_upon_one_axis() -> None:
    table = np.arange(8.0).reshape(2, 2, 2)
    faceted = chart(
        "bars", rows=["p", "q"], columns=["k", "l"], values=table, low=None, high=None,
        facets=["first", "second"], scale=None,
    )  # fmt: skip
    drawn = words_of(draw(faceted))
    assert drawn.index("first") < drawn.index("second")
    assert drawn.count(" 7.0 ") == 2  # the end of the axis of both


def test_numbers_signs_and_marks_stand_in_the_cells() -> None:
    heat = chart(
        "heatmap", rows=["agree"], columns=["depth", "breadth", "mean"],
        values=[[1.25, -0.004, np.nan]], marks=[["*", "", ""]], is_diverging=True,
    )  # fmt: skip
    drawn = words_of(draw(heat))
    assert "+1.25*" in drawn
    assert " 0.00 " in f" {drawn} "  # rounded away is no minus nought
    assert "–" in drawn


def test_a_line_goes_round_the_outermost_points() -> None:
    points = [(0, 0), (2, 0), (2, 2), (0, 2), (1, 1)]
    svg = draw(chart("scatter", rows=["a"], points=[points], is_outlined=True, scale=None))
    rings = [path.get("d") for path in ET.fromstring(svg).iter() if path.get("stroke-width") == "2"]
    assert [ring.count("L") for ring in rings if ring] == [4]  # closed, without the one inside


def test_a_picture_of_stand_ins_says_so_itself() -> None:
    mark = "DEMONSTRATION: embedded stand-ins took part"
    assert mark in words_of(draw(chart("forest"), is_demonstration=True))
    assert mark not in words_of(draw(chart("forest")))


def test_pages_set_the_colours_and_files_have_their_own(tmp_path: Path) -> None:
    svg = draw(chart("forest"))
    assert "var(--ink, #" in svg
    save(tmp_path / "new" / "x.svg", svg)
    source = (tmp_path / "new" / "x.svg").read_text(encoding="utf-8")
    assert "var(" not in source
    assert source == standalone(svg)


def test_names_are_cut_in_their_middle_and_folded_at_words() -> None:
    assert short_name("provider/model-2025-05-01", 13) == "provider…5-01"
    assert folded_name("pluralistic_engagement", 14) == "pluralistic\nengagement"
    assert folded_name("extraordinarily_long", 8) == "extraor-\ndi… long"
    # Names differ at their ends: they are cut in the middle.
    assert folded_name("criterion last, less first", 14) == "criterion\nlast,…ss first"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        save(tmp_path / "file" / "x.svg", draw(chart("forest")))


OVERLAPS = """[...document.querySelectorAll('svg')].flatMap((svg) => {
  const all = [...svg.querySelectorAll('text:not([transform])')];
  const boxes = all.map((text) => text.getBoundingClientRect());
  const frame = svg.getBoundingClientRect();
  const isCut = (a) => a.left < frame.left - 1 || a.right > frame.right + 1;
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top + 2 < b.bottom - 2 && b.top + 2 < a.bottom - 2;
  return all.flatMap((text, k) => [
    ...(isCut(boxes[k]) ? [`cut: ${text.textContent}`] : []),
    ...all.filter((_, n) => n > k && meet(boxes[k], boxes[n]))
      .map((other) => `${text.textContent} | ${other.textContent}`)]);
})"""


@pytest.mark.slow
@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [WIDTH, PHONE_WIDTH])
def test_no_words_of_a_picture_overlap_or_are_cut(tab: Tab, tmp_path: Path, width: float) -> None:
    names = ["conservative social theorist x a model", "provider/" + "long-" * 20, "日本語" * 20]
    drawn = [
        draw(chart(kind, rows=names, columns=names, axis="mean score of a response"), width=width)
        for kind in KINDS
        if kind != "heatmap" or width == WIDTH
    ]
    (tmp_path / "all.html").write_text(f"<!doctype html><meta charset=utf-8>{''.join(drawn)}")
    tab.fresh()
    tab.go((tmp_path / "all.html").as_uri())
    tab.wait_for("document.querySelectorAll('svg').length")
    assert tab.run(OVERLAPS) == []
