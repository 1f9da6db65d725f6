"""Charts of every kind: drawn for any name and shape, the same each time, nan left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from areopagus.errors import StoreError
from areopagus.reports.chart_style import folded_name, new_figure, save, short_name
from areopagus.reports.charts import draw
from areopagus.reports.document import Chart, ChartKind

pytestmark = pytest.mark.pictures

NAMES = ["a$b^c\\frac{", "日本語\u202eevil\x07\nline <script>", "provider/" + "long-" * 20 + "end"]
KINDS: tuple[ChartKind, ...] = ("forest", "heatmap", "bars", "strip", "line")


def words_of(path: Path) -> str:
    """All text of an SVG, which is read as XML."""
    return " ".join(ET.parse(path).getroot().itertext())


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


@pytest.mark.parametrize("kind", KINDS)
def test_any_name_is_drawn_and_hidden_characters_are_codes(tmp_path: Path, kind: ChartKind) -> None:
    svg = draw(tmp_path / "x", chart(kind))
    assert svg.stat().st_size > 2000
    said = words_of(svg)
    assert "a$b" in said
    assert "\u202e" not in said
    assert "script" not in {node.tag.split("}")[-1] for node in ET.parse(svg).getroot().iter()}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_chart_is_the_same_bytes(tmp_path: Path, kind: ChartKind) -> None:
    first, second = (draw(tmp_path / name, chart(kind)) for name in "ab")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_measured_is_still_a_picture(tmp_path: Path, kind: ChartKind) -> None:
    nothing = np.full((2, 2), np.nan)
    empty = chart(
        kind, rows=["x", "y"], columns=["k", "l"], values=nothing, low=nothing, high=nothing,
        points=[[], []], x=(1, 2),
    )  # fmt: skip
    assert "x" in words_of(draw(tmp_path / "a", empty))


def test_facets_stand_side_by_side_under_their_titles(tmp_path: Path) -> None:
    table = np.arange(8.0).reshape(2, 2, 2)
    faceted = chart(
        "bars", rows=["p", "q"], columns=["k", "l"], values=table, low=None, high=None,
        facets=["first", "second"],
    )  # fmt: skip
    said = words_of(draw(tmp_path / "a", faceted))
    assert "first" in said
    assert "second" in said


def test_numbers_signs_and_marks_stand_in_the_cells(tmp_path: Path) -> None:
    heat = chart(
        "heatmap", rows=["agree"], columns=["depth", "breadth", "mean"],
        values=[[1.25, -0.004, np.nan]], marks=[["*", "", ""]], is_diverging=True,
    )  # fmt: skip
    said = words_of(draw(tmp_path / "h", heat))
    assert "+1.25*" in said
    assert " 0.00 " in f" {said} "  # rounded away is no minus nought
    assert "–" in said


def test_a_picture_of_stand_ins_says_so_itself(tmp_path: Path) -> None:
    told = "DEMONSTRATION: embedded stand-ins took part"
    assert told in words_of(draw(tmp_path / "a", chart("forest"), is_demonstration=True))
    assert told not in words_of(draw(tmp_path / "b", chart("forest")))


def test_a_marker_at_an_end_of_the_scale_is_drawn_whole(tmp_path: Path) -> None:
    ends = chart(
        "forest", rows=["high", "low"], columns=["one"], values=[[10.0], [1.0]], low=None, high=None
    )
    svg = "{http://www.w3.org/2000/svg}"
    groups = ET.parse(draw(tmp_path / "ends", ends)).getroot().iter(f"{svg}g")
    clipped = [group for group in groups if group.get("clip-path") and group.findall(f"{svg}use")]
    assert clipped == []


def test_names_are_cut_in_their_middle_and_folded_at_words() -> None:
    assert short_name("provider/model-2025-05-01", 13) == "provider…5-01"
    assert folded_name("pluralistic_engagement", 14) == "pluralistic\nengagement"
    assert folded_name("extraordinarily_long", 8) == "extraor-\ndi… long"
    # Names differ at their ends: they are cut in the middle.
    assert folded_name("criterion last, less first", 14) == "criterion\nlast,…ss first"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="the figure cannot be written"):
        save(new_figure(2, 2), tmp_path / "file" / "x")
