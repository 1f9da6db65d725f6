"""The ruler of people and judges through files: who is named, what is refused, what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from calibration_worlds import Files, called, figure, summary, write_table

from areopagus.calibration import Agreement, Calibration, agreement, calibrate
from areopagus.calibration.facets import TABLE
from areopagus.records.estimates import select
from areopagus.reports.document import Chart, Section, Table

STEPS = np.linspace(-2.5, 2.5, 6)


def section(found: Agreement) -> Section:
    (one,) = [s for s in found.document().sections if s.name == "facets"]
    return one


def ratings(
    raters: dict[str, tuple[float, float, float]], *, seed: int = 1, prompts: int = 40
) -> list[list[object]]:
    """Draws scores of 1 to 7; a rater is (severity, thresholds apart, how much quality counts)."""
    rng = np.random.default_rng(seed)
    quality = 1.5 * rng.normal(size=4 * prompts)
    sums, k = np.concatenate([[0.0], np.cumsum(STEPS)]), np.arange(7)
    rows: list[list[object]] = []
    for name, (severity, apart, follows) in raters.items():
        for n, one in enumerate(quality):
            eta = follows * (k * (one - severity) - apart * sums)
            score = int((eta + rng.gumbel(size=7)).argmax()) + 1
            rows.append([f"p{n // 4}", f"p{n // 4}r{n % 4}", name, score])
    return rows


USUAL = (0.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five people: one severe, one who uses half the scale, one erratic."""
    rows = ratings({
        "ada": USUAL, "ben": USUAL, "severe": (1.5, 1.0, 1.0), "half": (0.0, 2.0, 1.0),
        "odd": (0.0, 1.0, 0.2),
    })  # fmt: skip
    header = ["prompt_id", "response_id", "rater_id", "score"]
    return write_table(tmp_path_factory.mktemp("people") / "people.csv", header, rows)


@pytest.fixture(scope="module")
def found(people: Path) -> Agreement:
    return agreement(people, scale=(1, 7), ruler=True)


def test_agreement_says_who_uses_half_the_scale_who_is_erratic_and_who_is_severe(
    found: Agreement,
) -> None:
    assert called(found, TABLE, "range_use", "rater") == {"half": "narrow"}
    assert called(found, TABLE, "consistency", "rater") == {"odd": "erratic"}
    assert called(found, TABLE, "severity", "rater") == {"severe": "severe"}
    assert figure(found, TABLE, "range_use", rater="half").covers(0.5)
    line = summary(found)
    assert "scale use" in line
    assert "uses part of the others' range: half (" in line
    assert "erratic: odd" in line


def test_every_figure_has_its_unit_and_interval_or_its_reason(found: Agreement) -> None:
    rows = select(found.estimates, TABLE)
    for name in ("severity", "range_use", "consistency", "step"):
        mine = rows[rows["measure"] == name]
        assert (mine["low"] < mine["value"]).all(), name
        assert (mine["n"] == 40).all()
        assert mine["method"].str.contains("sandwich").all()
    assert set(rows[rows["measure"] == "step"]["item"]) == {"2", "3", "4", "5", "6", "7"}
    assert len(rows[rows["measure"] == "quality"]) == 160


def test_the_ruler_is_one_picture_with_responses_raters_and_thresholds(found: Agreement) -> None:
    (chart,) = [one for one in section(found).parts if isinstance(one, Chart)]
    assert chart.kind == "forest"
    assert chart.rows[0] == "160 responses"
    assert chart.rows[1] == "person severe (severe)"
    assert {"person odd (erratic)", "person half (narrow)", "person ada"} < set(chart.rows)
    assert list(chart.rows[-6:]) == [f"score {k} or more" for k in range(2, 8)]
    assert chart.low[0][0] < chart.values[0][0] < chart.high[0][0] < chart.high_wide[0][0]


def test_people_and_judges_stand_on_one_ruler(tmp_path: Path, people: Path) -> None:
    rows = ratings({"ada": USUAL, "ben": USUAL, "cy": USUAL, "good": USUAL, "soft": (-1.5, 1, 1),
                    "half": (0.0, 2.2, 1.0)})  # fmt: skip
    persons = [row for row in rows if row[2] in ("ada", "ben", "cy")]
    judged = [[p, r, name, "m", s] for p, r, name, s in rows if name in ("good", "soft", "half")]
    humans = write_table(
        tmp_path / "h.csv", ["prompt_id", "response_id", "rater_id", "score"], persons
    )
    judges = write_table(
        tmp_path / "j.csv", ["prompt_id", "response_id", "persona", "model", "score"], judged
    )
    found = calibrate(judges, humans, scale=(1, 7), ruler_with_judges=True)
    assert called(found, TABLE, "range_use", "group") == {"half x m": "narrow"}
    assert called(found, TABLE, "severity", "group") == {"soft x m": "lenient"}
    assert called(found, TABLE, "consistency", "group") == {}
    one = figure(found, TABLE, "severity", rater="ada")
    other = figure(found, TABLE, "severity", group="soft x m")
    assert one.value - other.value == pytest.approx(1.5, abs=0.4)
    assert figure(found, TABLE, "n_ratings", factor=None).value == 6 * 160
    (table,) = [p for p in section(found).parts if isinstance(p, Table) and "Raters" in p.label]
    assert [row[1] for row in table.rows] == ["person"] * 3 + ["judge"] * 3
    assert "half x m (" in summary(found)
    alone = calibrate(judges, humans, scale=(1, 7), ruler=True)
    assert figure(alone, TABLE, "n_ratings", factor=None).value == 3 * 160
    (table,) = [p for p in section(alone).parts if isinstance(p, Table) and "Raters" in p.label]
    assert [row[1] for row in table.rows] == ["person"] * 3


def test_the_model_is_fitted_on_request_only(people: Path, planted_report: Calibration) -> None:
    for report in (agreement(people, scale=(1, 7)), planted_report):
        assert not len(select(report.estimates, TABLE))
        assert "facets" not in [one.name for one in report.document().sections]
        assert "scale use" not in summary(report)


def test_the_planted_random_judge_is_erratic_and_the_harsh_rater_severe(
    planted: Files,
) -> None:
    report = calibrate(*planted, scale=(1, 10), ruler_with_judges=True)
    erratic = called(report, TABLE, "consistency", "group")
    assert erratic["historian x openai/gpt-4o-mini"] == "erratic"
    assert figure(report, TABLE, "severity", rater="h0").verdict == "severe"
    text = report.text
    assert "Not fitted: h4: one value throughout." in " ".join(text.split())


def test_with_a_half_point_it_says_why_there_is_no_ruler(tmp_path: Path) -> None:
    rows = ratings({"ada": USUAL, "ben": USUAL, "cy": USUAL})
    rows[5][3] = 3.5
    path = write_table(tmp_path / "h.csv", ["prompt_id", "response_id", "rater_id", "score"], rows)
    found = agreement(path, scale=(1, 7), ruler=True)
    why = figure(found, TABLE, "fit").reason
    assert why == "scores are no whole numbers (3.5): a rating scale has categories"
    assert [p.text for p in section(found).parts] == [  # type: ignore[union-attr]
        f"Many-facet model not fitted: {why}."
    ]


def test_without_a_known_scale_nothing_is_fitted(people: Path) -> None:
    assert figure(agreement(people, ruler=True), TABLE, "fit").reason == "no scale is known"


def test_ranks_have_no_ruler_and_no_section(make_world: Callable[..., Files]) -> None:
    report = calibrate(*make_world(6, as_ranks=True), ruler=True)
    assert not len(select(report.estimates, TABLE))
    assert "facets" not in [s.name for s in report.document().sections]


def test_three_prompts_name_nobody(make_world: Callable[..., Files]) -> None:
    found = calibrate(*make_world(3), scale=(1, 10), ruler_with_judges=True)
    rows = select(found.estimates, TABLE)
    assert rows["verdict"].isna().all()
    assert "scale use" not in summary(found)
