"""The many-facet model of people through files: who is named, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from calibration_worlds import Files, called, figure, summary, write_table

from areopagus.calibration import Agreement, Calibration, agreement, calibrate
from areopagus.calibration.facets import TABLE
from areopagus.records.estimates import select
from areopagus.reports.document import Section, Table

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


def test_agreement_says_who_uses_half_the_scale_and_who_is_erratic(
    found: Agreement,
) -> None:
    assert called(found, TABLE, "range_use", "rater") == {"half": "narrow"}
    assert called(found, TABLE, "consistency", "rater") == {"odd": "erratic"}
    assert figure(found, TABLE, "range_use", rater="half").covers(0.5)
    line = summary(found)
    assert "scale use" in line
    assert "uses part of the others' range: half (" in line
    assert "erratic: odd" in line


def test_every_figure_has_its_unit_and_interval_or_its_reason(found: Agreement) -> None:
    rows = select(found.estimates, TABLE)
    for name in ("range_use", "consistency"):
        mine = rows[rows["measure"] == name]
        assert (mine["low"] < mine["value"]).all(), name
        assert (mine["n"] == 40).all()
        assert mine["method"].str.contains("sandwich").all()
    assert set(rows["measure"]) == {
        "range_use", "consistency", "n_ratings", "n_responses", "n_prompts",
    }  # fmt: skip


def test_the_report_names_them_with_their_figures(found: Agreement) -> None:
    (table,) = [one for one in section(found).parts if isinstance(one, Table)]
    called = {str(row[0]): row[-1] for row in table.rows}
    assert called == {"ada": "", "ben": "", "half": "narrow", "odd": "erratic", "severe": ""}
    assert "Fitted: 800 ratings of 160 responses to 40 prompts." in " ".join(found.text.split())


def test_the_model_is_fitted_on_request_only(people: Path, planted_report: Calibration) -> None:
    for report in (agreement(people, scale=(1, 7)), planted_report):
        assert not len(select(report.estimates, TABLE))
        assert "facets" not in [one.name for one in report.document().sections]
        assert "scale use" not in summary(report)


def test_who_gives_one_value_is_not_fitted_and_judges_are_not_either(planted: Files) -> None:
    report = calibrate(*planted, scale=(1, 10), ruler=True)
    assert "Not fitted: h4: one value throughout." in " ".join(report.text.split())
    rows = select(report.estimates, TABLE)
    assert set(rows["rater"].dropna()) == {f"h{k}" for k in range(5)}


def test_with_a_half_point_it_says_why_nothing_is_fitted(tmp_path: Path) -> None:
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


def test_ranks_have_no_section(make_world: Callable[..., Files]) -> None:
    report = calibrate(*make_world(6, as_ranks=True), ruler=True)
    assert not len(select(report.estimates, TABLE))
    assert "facets" not in [s.name for s in report.document().sections]


def test_three_prompts_name_nobody(make_world: Callable[..., Files]) -> None:
    found = calibrate(*make_world(3), scale=(1, 10), ruler=True)
    rows = select(found.estimates, TABLE)
    assert rows["verdict"].isna().all()
    assert "scale use" not in summary(found)
