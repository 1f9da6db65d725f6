"""pydantic-evals: its data sets evaluated with the panel as a judge."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools import needs, programs_of

needs("pydantic_evals")

from pydantic_evals import Case, Dataset  # noqa: E402

from areopagus import Panel  # noqa: E402
from areopagus.errors import ProviderError  # noqa: E402
from areopagus.integrations.evaluator import PanelEvaluator  # noqa: E402
from areopagus.integrations.pydantic_evals import PanelJudge  # noqa: E402
from areopagus.testing import ScriptedBackend  # noqa: E402

ANSWERS = {"Should voting be compulsory?": "Perhaps.", "What is fair?": "UNREAD", "Why?": ""}

Cases = Dataset[str, str, Any]


@pytest.fixture
def evaluator(tmp_path: Path) -> Iterator[PanelEvaluator]:
    def answer(request: Any) -> Any:
        is_unread = "UNREAD" in str(request.messages)
        return ProviderError("bad_request", "no") if is_unread else {"overall": 7}

    panel = Panel(ScriptedBackend(answer), mode="holistic", ledger=tmp_path / "ledger.sqlite")
    with PanelEvaluator(panel, out=tmp_path / "run") as opened:
        yield opened


def cases(judge: PanelJudge) -> Cases:
    made = [Case(name=question, inputs=question) for question in ANSWERS]
    return Cases(name="questions", cases=made, evaluators=[judge])


def test_a_data_set_is_evaluated_with_it(evaluator: PanelEvaluator) -> None:
    report = cases(PanelJudge(evaluator)).evaluate_sync(ANSWERS.__getitem__, progress=False)
    scored, inconclusive, screened = (
        next(case for case in report.cases if case.name == question) for question in ANSWERS
    )
    assert {name: one.value for name, one in scored.scores.items()} == {
        "composite": 7, "overall": 7
    }  # fmt: skip
    assert "10 scored of 10 planned judgments" in (scored.scores["composite"].reason or "")
    for case, status in (
        (scored, "scored"),
        (inconclusive, "inconclusive"),
        (screened, "screened"),
    ):
        assert case.labels["panel"].value == status
        assert not case.evaluator_failures
        assert not case.assertions
    assert inconclusive.scores == screened.scores == {}
    assert "no judgment was scored" in (inconclusive.labels["panel"].reason or "")
    # Its own summary: the mean is over what was scored, and the labels say which share that is.
    averages = report.averages()
    assert averages is not None
    assert averages.scores == {"composite": 7, "overall": 7}
    assert averages.labels["panel"]["scored"] == pytest.approx(1 / 3)


def test_a_text_that_is_not_found_is_a_failure_and_no_score(evaluator: PanelEvaluator) -> None:
    report = cases(PanelJudge(evaluator)).evaluate_sync(lambda _: {"x": 3}, progress=False)  # type: ignore[arg-type, return-value]
    for case in report.cases:
        assert case.scores == {}
        (failure,) = case.evaluator_failures
        assert "output: must be text" in failure.error_message


def test_a_data_set_with_it_is_written_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panel.yaml").write_text("models: [offline/lexical]\npersonas: [historian]\n")
    made = cases(PanelJudge("panel.yaml", max_cost=2, out="run", prefix="panel_"))
    made.cases[0].evaluators.append(PanelJudge("panel.yaml", max_cost=2, out="run"))
    made.to_file(tmp_path / "cases.yaml")
    read = Cases.from_file(tmp_path / "cases.yaml", custom_evaluator_types=[PanelJudge])
    (judge,) = read.evaluators
    (of_case,) = read.cases[0].evaluators
    assert isinstance(judge, PanelJudge)
    assert isinstance(of_case, PanelJudge)
    assert judge == made.evaluators[0]
    assert judge.evaluator is of_case.evaluator, "one panel, one cap"
    report = read.evaluate_sync(ANSWERS.__getitem__, progress=False)
    assert not report.failures
    first = next(case for case in report.cases if case.name == "Should voting be compulsory?")
    assert set(first.labels) == {"panel", "panel_panel"}
    judge.evaluator.close()


@pytest.mark.parametrize("program", programs_of("evaluators", "pydantic_evals"))
def test_the_programs_of_the_page_run(program: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert list((tmp_path / "runs").glob("*/report.html"))
