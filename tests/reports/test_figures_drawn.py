"""The pictures: they are drawn for any name and shape, the same each time, and nan is left out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from areopagus.errors import StoreError
from areopagus.reports.chart_style import folded_name, new_figure, save, short_name
from areopagus.reports.panel_figures import (
    draw_agreement,
    draw_differences,
    draw_distribution,
    draw_ranking,
    draw_scorecard,
    draw_two_axes,
)

pytestmark = pytest.mark.pictures

SCALE = (1.0, 10.0)
NAMES = ["a$b^c\\frac{", "日本語\u202eevil\x07\nline <script>", "provider/" + "long-" * 20 + "end"]


def words_of(path: Path) -> str:
    """All text of an SVG, which is read as XML."""
    return " ".join(ET.parse(path).getroot().itertext())


def drawings(folder: Path) -> list[Callable[[], tuple[Path, ...]]]:
    rng = np.random.default_rng(2)
    table = rng.uniform(2, 9, (3, 3))
    table[1, 1] = np.nan
    low, high = table - 0.5, table + 0.5
    low[2], high[2] = np.nan, np.nan
    tau = np.where(np.eye(3) > 0, np.nan, 0.5)
    given: dict[str, Any] = {"mean": table, "low": low, "high": high, "criteria": NAMES}
    return [
        lambda: draw_scorecard(
            folder / "1", respondents=NAMES, is_person=[True, False, False], scale=SCALE, **given
        ),
        lambda: draw_ranking(
            folder / "2", respondents=NAMES, composite=table, rank=table, scale=SCALE
        ),
        lambda: draw_distribution(
            folder / "3", groups=NAMES, values=[[1, 2, 3], [], [np.nan, 5]], scale=SCALE
        ),
        lambda: draw_two_axes(
            folder / "4", x=table[0], y=table[1], names=(NAMES[0], NAMES[1]), scale=SCALE
        ),
        lambda: draw_agreement(folder / "5", names=NAMES, groups=["x", "x", "y"], tau=tau),
        lambda: draw_differences(folder / "6", labels=NAMES, **given),
    ]  # fmt: skip


def test_any_name_is_drawn_and_hidden_characters_are_codes(tmp_path: Path) -> None:
    for draw in drawings(tmp_path):
        png, svg = draw()
        assert png.stat().st_size > 2000
        said = words_of(svg)
        assert "a$b" in said
        assert "\u202e" not in said
        assert "script" not in {node.tag.split("}")[-1] for node in ET.parse(svg).getroot().iter()}


def test_the_same_figure_is_the_same_bytes(tmp_path: Path) -> None:
    for first, second in zip(
        drawings(tmp_path / "a")[4:6], drawings(tmp_path / "b")[4:6], strict=True
    ):
        for one, other in zip(first(), second(), strict=True):
            assert one.read_bytes() == other.read_bytes()


def test_nothing_measured_is_still_a_picture(tmp_path: Path) -> None:
    nothing = np.full((2, 2), np.nan)
    draw_scorecard(
        tmp_path / "a", respondents=["x", "y"], criteria=["k", "l"], mean=nothing, low=nothing,
        high=nothing, is_person=[False, False], scale=SCALE,
    )  # fmt: skip
    draw_ranking(
        tmp_path / "b", respondents=["x", "y"], composite=np.full((2, 3), np.nan),
        rank=np.full((2, 3), np.nan), scale=SCALE,
    )  # fmt: skip
    assert "mean rank" not in words_of(tmp_path / "b.svg")
    draw_two_axes(tmp_path / "c", x=nothing[0], y=nothing[1], names=("p", "q"), scale=SCALE)


def test_names_are_cut_in_their_middle_and_folded_at_words() -> None:
    assert short_name("provider/model-2025-05-01", 13) == "provider…5-01"
    assert folded_name("pluralistic_engagement", 14) == "pluralistic\nengagement"
    assert folded_name("extraordinarily_long", 8) == "extraor-\ndinaril…"
    assert folded_name("one two three four five", 9) == "one two\nthree…"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="the figure cannot be written"):
        save(new_figure(2, 2), tmp_path / "file" / "x")


def test_a_marker_at_an_end_of_the_scale_is_drawn_whole(tmp_path: Path) -> None:
    ends = [[10.0, 1.0]]
    nothing = np.full((1, 2), np.nan)
    drawn = draw_scorecard(
        tmp_path / "ends", respondents=["one"], criteria=["high", "low"], mean=ends, low=nothing,
        high=nothing, is_person=[False], scale=SCALE,
    )  # fmt: skip
    svg = "{http://www.w3.org/2000/svg}"
    groups = ET.parse(drawn[1]).getroot().iter(f"{svg}g")
    clipped = [group for group in groups if group.get("clip-path") and group.findall(f"{svg}use")]
    assert clipped == []


def test_panels_of_a_ranking_share_its_width_when_every_line_has_an_interval(
    tmp_path: Path,
) -> None:
    table = np.array([[5.0, 4.5, 5.5], [4.0, 3.5, 4.5]])
    drawn = draw_ranking(
        tmp_path / "ranking", respondents=["one", "two"], composite=table, rank=table, scale=SCALE
    )
    root = ET.parse(drawn[1]).getroot()
    whole = float(root.attrib["viewBox"].split()[2])
    boxes = [
        [float(x) for x in re.findall(r"[ML] ([\d.]+) ", path.attrib["d"])]
        for group in root.iter("{http://www.w3.org/2000/svg}g")
        if group.get("id", "").startswith("axes")
        for path in group[0]
    ]
    assert [max(x) - min(x) > 0.35 * whole for x in boxes] == [True, True]
