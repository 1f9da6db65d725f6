"""What every result shows of itself: in a notebook, as a DataFrame, as a figure."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

import areopagus
from areopagus import Panel, Run
from areopagus.aggregation.estimate import Estimate, undefined
from areopagus.records.estimates import COLUMNS
from areopagus.reports.document import Chart, Column, Document, Section, Table
from areopagus.shown import Shown

MOST_LINES = 40
"""Of a repr: fewer than a screen has."""
PLANTED = "<script>alert(1)</script>"


class Made(Shown):
    """A result with a document, as any other."""

    path = Path("runs") / PLANTED

    def __init__(self, document: Document) -> None:
        self._document = document

    def document(self) -> Document:
        return self._document


def result(n_rows: int = 3, **more: Any) -> Made:
    rows = [(f"{PLANTED}{k}", Estimate(k / 10, k / 10 - 1, k / 10 + 1, n=9)) for k in range(n_rows)]
    chart = Chart("forest", "means", "Means", "How", [PLANTED], values=[[1.0]], low=[[0.5]],
                  high=[[1.5]])  # fmt: skip
    other = Chart("bars", "bars", "Bars", "How", ["a"], values=[[2.0]])
    table = Table("", "Means", [Column("who", "id"), Column("mean", "estimate")], rows)
    sections = [
        Section("all", "All", [chart, table], "summary"),
        Section("more", "More", [other], "detail"),
    ]
    given = {"headline": [f"First is best {PLANTED}."], "trust": [("judges", PLANTED)], **more}
    return Made(Document("A result", "toy", sections, **given))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("shown")
    rows = [
        {
            "response_id": f"r{n}", "prompt_id": f"p{n // 2}", "respondent_id": f"w{n % 2}",
            "prompt_text": "What is owed?", "response_text": f"In case {n} much is owed.",
        }
        for n in range(4)
    ]  # fmt: skip
    with Panel(ledger=folder / "l.sqlite") as panel:
        return panel.score_many(rows, folder / "run")


def test_a_notebook_shows_answer_trust_picture_and_table_and_nothing_that_acts() -> None:
    shown = result()._repr_html_()
    for wanted in ("First is best", "judges", "<svg", "<table", "0.20", "[−0.80, 1.20]"):
        assert wanted in shown
    assert "<script" not in shown
    assert not re.search(r'\son\w+="|href="(?!#)|src=|url\((?!#)', shown)
    assert shown.count("&lt;script&gt;") >= 3


def test_a_long_table_is_cut_to_a_screen() -> None:
    shown = result(n_rows=100)._repr_html_()
    assert shown.count("<tr") < 12
    assert "… and 92 more rows" in shown


def test_what_a_stand_in_made_says_so_first() -> None:
    shown = result(is_demonstration=True)._repr_html_()
    assert shown.index("DEMONSTRATION") < shown.index("First is best")


def test_plot_draws_the_first_picture_or_the_one_that_is_named(tmp_path: Path) -> None:
    first, second = result().plot(), result().plot("bars")
    assert first.svg != second.svg
    assert first._repr_svg_() == first.svg
    assert first.save(tmp_path / "first.svg").read_text(encoding="utf-8") == first.svg
    assert "var(" not in first.svg  # viewers outside of pages know no variables
    assert len(repr(first)) < 80


def test_an_unknown_picture_is_answered_by_the_names() -> None:
    with pytest.raises(ValueError, match="no picture is called 'mean'; there are means, bars"):
        result().plot("mean")
    with pytest.raises(ValueError, match="it has no picture"):
        Made(Document("Nothing", "toy", [])).plot()


def test_a_run_has_its_tables_by_name(run: Run) -> None:
    assert run.to_pandas("estimates").equals(run.estimates)
    assert len(run.to_pandas()) == 4
    assert len(run.to_pandas("judgments")) == 40
    with pytest.raises(ValueError, match="'estimates'"):
        run.to_pandas("means")  # type: ignore[arg-type]


def test_a_run_says_kind_folder_state_and_answer_in_a_line(run: Run) -> None:
    said = repr(run)
    assert said.startswith(f"Run({str(run.path)!r}, complete, 40 scored of 40 planned. ")
    assert run.document().headline[0][:20] in said
    assert "\n" not in said
    assert len(said) - len(str(run.path)) < 220
    (run.path / "report.txt").unlink()
    assert repr(run).endswith("40 scored of 40 planned.)")
    run.write_report(figures=False)


def test_a_verdict_shows_itself(tmp_path: Path) -> None:
    with Panel(ledger=tmp_path / "l.sqlite") as panel:
        verdict = panel.score("What is owed?", PLANTED + "Much is owed, because promises bind.")
        unscored = panel.score("What is owed?", " ")
    shown = verdict._repr_html_()
    assert "10 of 10 judgments scored" in shown
    assert "DEMONSTRATION" in shown
    assert "conceptual clarity" in shown
    frame = verdict.to_pandas()
    assert list(frame.columns) == list(COLUMNS)
    means = frame[(frame["table"] == "verdict")].set_index("criterion")["value"]
    assert means["composite"] == pytest.approx(verdict.composite)
    assert set(frame.loc[frame["table"] == "persona", "persona"]) == set(verdict.by_persona)
    assert "historian" in verdict.plot("personas").svg
    assert "screened" in unscored._repr_html_()
    assert math.isnan(unscored.to_pandas()["value"].iloc[0])
    for one in (verdict, unscored):
        assert len(repr(one)) < 200


def test_an_estimate_shows_itself() -> None:
    one = Estimate(0.42, 0.3, 0.54, n=30, method="t", universe="judges like these")
    shown = one._repr_html_()
    for wanted in ("0.42 [0.30, 0.54], 95% interval, 30 prompts", "judges like these", "<svg"):
        assert wanted in shown
    assert one.to_pandas()["value"].tolist() == [0.42]
    assert "0.42 [0.30, 0.54]" in one.plot().svg
    assert "fewer than 6 prompts" in undefined("fewer than 6 prompts")._repr_html_()


def test_every_public_result_shows_itself() -> None:
    from areopagus.calibration import Agreement, Calibration, CalibrationRun
    from areopagus.experiment.respond import RespondResult

    names = [name for name in areopagus.__all__ if name.endswith("Run")]
    names += ["Verdict", "Comparison"]
    kinds = [getattr(areopagus, name) for name in names]
    for kind in (*kinds, Agreement, Calibration, CalibrationRun, Estimate, RespondResult):
        assert issubclass(kind, Shown), kind


def test_no_public_object_prints_more_than_a_screen(run: Run, tmp_path: Path) -> None:
    from areopagus import load_personas, load_rubric
    from areopagus.experiment.config import CalibrateConfig

    with Panel(ledger=tmp_path / "l.sqlite") as panel:
        verdict = panel.score("Why?", "Because promises bind.")
        objects = [
            panel, panel.spec, panel.rubric, panel.personas, load_rubric("critical_thinking"),
            load_personas()[0], run, verdict, verdict.judgments[0], panel.ledger,
            panel.session(tmp_path / "session"), panel.backends[0], panel.backends[0].spec,
            Estimate(1.0), CalibrateConfig(), panel.estimate([{
                "response_id": "r", "prompt_text": "Why?", "response_text": "Because.",
            }]), run.total, run.respondents, run.compare(),
        ]  # fmt: skip
        for one in objects:
            said = repr(one)
            assert len(said) <= 80 * MOST_LINES / 2, (type(one), len(said))
            assert len(said.splitlines()) <= MOST_LINES
