"""Calibration items: which response is the weak one, who put it last, and how much is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from areopagus.calibration import AgreementReport, agreement
from areopagus.calibration.calibration_items import ALL_ALIKE


def study(path: Path, rows: list[str], *, header: str = "") -> AgreementReport:
    """The agreement of a file with three usual ratings and the given calibration items."""
    lines = [f"rater_id,prompt_id,response_id,item_type{header},overall"]
    commas = "," * header.count(",")
    lines += [f"{who},p,p{r},standard{commas},{r + 3}" for who in "abc" for r in range(3)]
    path.write_text("\n".join([*lines, *rows]) + "\n")
    return agreement(path)


def test_raters_who_tie_everything_put_nothing_last(tmp_path: Path) -> None:
    scores = {"a": (2, 5, 6), "b": (7, 5, 6), "c": (4, 4, 4)}
    rows = [
        f"{who},cal,{name},quality_floor,{value}"
        for who, values in scores.items()
        for name, value in zip(("weak_x", "y", "z"), values, strict=True)
    ]
    (item,) = study(tmp_path / "h.csv", rows).people.items
    # a puts it last, b does not, c has no last
    assert item.floor_last.value == 0.5
    assert (item.floor_last.n, item.n_tied) == (2, 1)


def test_where_all_tie_the_share_is_undefined_not_one(tmp_path: Path) -> None:
    rows = [f"{who},cal,{name},quality_floor,4" for who in "abc" for name in ("weak_x", "y", "z")]
    report = study(tmp_path / "h.csv", rows)
    (item,) = report.people.items
    assert not item.floor_last.is_defined
    assert item.floor_last.reason == "every rater ties all responses"
    assert (item.lowest, item.n_tied) == (ALL_ALIKE, 3)
    assert "put the weak one last: undefined: every rater ties" in "\n".join(report.text())


@pytest.mark.parametrize("column", ["item_role", "response_role"])
def test_a_column_says_which_response_is_weak_and_wins_over_words(
    tmp_path: Path, column: str
) -> None:
    roles = {"weak_ties_theory": "usual", "plain": "weak", "other": ""}
    rows = [
        f"{who},cal,{name},extra,{roles[name]},{value}"
        for who in "abc"
        for name, value in (("weak_ties_theory", 6), ("plain", 2), ("other", 5))
    ]
    (item,) = study(tmp_path / "h.csv", rows, header=f",{column}").people.items
    assert (item.role, item.floor_response) == ("quality floor", "plain")
    assert item.floor_last.value == 1.0


def test_many_items_are_summed_up_in_the_terminal_and_all_stand_in_the_json(
    tmp_path: Path,
) -> None:
    rows = [
        f"{who},cal{k},{name}{k},quality_floor,{value}"
        for k in range(26)
        for who in "abc"
        for name, value in (("weak_", 2 + k % 2), ("y", 5), ("z", 7))
    ]
    report = study(tmp_path / "h.csv", rows)
    text = report.text()
    assert len(text) < 90
    (line,) = [line for line in text if line.strip().startswith("overall, score; quality floor")]
    assert line.split()[-4:] == ["26", "1.000", "1.000", "undef."]
    assert len(report.to_json()["people"]["items"]) == 26
