"""One panel for tools that hand over one response at a time."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from areopagus import Panel
from areopagus.errors import InputError, ProviderError
from areopagus.integrations.evaluator import PanelEvaluator
from areopagus.integrations.verdicts import (
    answered_text,
    asked_text,
    comment_on,
    counted,
    scores_of,
    verdict_metadata,
)
from areopagus.run import Run
from areopagus.testing import ScriptedBackend

PROMPT = "Should voting be compulsory?"
RESPONSE = "Turnout is a duty to some, but a forced vote may express nothing at all."


def judged(answers: Any, out: Path, cost_usd: float = 0.0, **settings: Any) -> PanelEvaluator:
    backend = ScriptedBackend(answers, cost_usd=cost_usd)
    panel = Panel(backend, mode="holistic", ledger=out.parent / "ledger.sqlite")
    return PanelEvaluator(panel, out=out, **settings)


def test_a_scored_verdict_has_its_numbers_by_name(tmp_path: Path) -> None:
    with judged({"overall": 6}, tmp_path / "run") as evaluator:
        verdict = evaluator.score(PROMPT, RESPONSE)
    composite, overall = scores_of(verdict)
    assert (composite.name, composite.value, composite.reason) == ("composite", 6.0, None)
    assert (overall.name, overall.value, overall.reason) == ("overall", 6.0, None)
    told = verdict_metadata(verdict, is_demonstration=False)
    assert (told["n_scored"], told["n_planned"]) == (10, 10)
    assert "demonstration" not in told


def test_an_inconclusive_verdict_has_no_number_and_says_why(tmp_path: Path) -> None:
    answers = [*[{"overall": 6}] * 3, ProviderError("bad_request", "no")]
    with judged(answers, tmp_path / "run") as evaluator:
        verdict = evaluator.score(PROMPT, RESPONSE)
    assert verdict.status == "inconclusive"
    assert verdict.n_scored == 3
    assert all(one.value is None and one.interval is None for one in scores_of(verdict))
    assert all(one.reason and one.reason.startswith("inconclusive: ") for one in scores_of(verdict))


def test_an_empty_response_is_screened_and_has_no_number(tmp_path: Path) -> None:
    with PanelEvaluator(out=tmp_path / "run") as evaluator:
        verdict = evaluator.score(PROMPT, "")
    assert [one.value for one in scores_of(verdict)] == [None] * 6
    assert all((one.reason or "").startswith("screened: ") for one in scores_of(verdict))


def test_calls_from_threads_and_from_other_loops_are_rows_of_one_run(tmp_path: Path) -> None:
    answers = [f"{RESPONSE} ({n})" for n in range(6)]

    async def side_by_side() -> None:
        await asyncio.gather(*(evaluator.ascore(PROMPT, text) for text in answers[3:]))

    with PanelEvaluator(out=tmp_path / "run") as evaluator:
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda text: evaluator.score(PROMPT, text), answers[:3]))
        asyncio.run(side_by_side())
        evaluator.score(PROMPT, answers[0])
    scores = Run(tmp_path / "run").scores
    assert len(scores) == 6
    assert scores["prompt_id"].nunique() == 1


def test_what_is_not_closed_is_written_when_the_process_ends(tmp_path: Path) -> None:
    program = (
        "from areopagus.integrations.evaluator import PanelEvaluator\n"
        f"PanelEvaluator(out={str(tmp_path / 'run')!r}).score({PROMPT!r}, {RESPONSE!r})\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert len(Run(tmp_path / "run").scores) == 1
    assert (tmp_path / "run" / "report.html").exists()


def test_a_later_evaluator_goes_on_in_the_folder(tmp_path: Path) -> None:
    for text in (RESPONSE, f"{RESPONSE} Perhaps."):
        with PanelEvaluator(out=tmp_path / "run") as evaluator:
            evaluator.score(PROMPT, text)
    assert len(Run(tmp_path / "run").scores) == 2


def test_all_calls_are_under_one_cap(tmp_path: Path) -> None:
    with judged({"overall": 7}, tmp_path / "run", cost_usd=0.01, max_cost=0.15) as evaluator:
        first, second = (evaluator.score(PROMPT, f"{RESPONSE} {n}") for n in range(2))
        assert 0.1 < evaluator.spent_usd <= 0.15
    assert scores_of(first)[0].value == 7
    assert scores_of(second)[0].value is None
    assert (scores_of(second)[0].reason or "").endswith("not asked because of: budget")


def test_a_comment_has_the_interval_and_counts_or_why_there_is_no_score(tmp_path: Path) -> None:
    spread = [{"overall": score} for score in (5, 6, 7, 5, 6, 7, 5, 6, 7, 6)]
    with judged(spread, tmp_path / "run") as evaluator:
        scored, empty = evaluator.score(PROMPT, RESPONSE), evaluator.score(PROMPT, "")
    told = comment_on(scores_of(scored)[0], scored, is_demonstration=False)
    assert told.startswith("95% [5.")
    assert told.endswith("; 10 scored of 10 planned judgments")
    told = comment_on(scores_of(empty)[0], empty, is_demonstration=True)
    assert told.startswith("no score: screened: empty; DEMONSTRATION: ")


def test_a_verdict_that_lacks_one_model_says_so(tmp_path: Path) -> None:
    models = [
        ScriptedBackend({"overall": 6}, name="scripted/one"),
        ScriptedBackend({"overall": 7}, name="scripted/two"),
        ScriptedBackend({"overall": 5}, name="scripted/three"),
        ScriptedBackend(ProviderError("bad_request", "no"), name="scripted/gone"),
    ]
    panel = Panel(models, mode="holistic", ledger=tmp_path / "ledger.sqlite")
    with PanelEvaluator(panel, out=tmp_path / "run") as evaluator:
        verdict = evaluator.score(PROMPT, RESPONSE)
    assert counted(verdict) == (
        "30 scored of 40 planned judgments (unbalanced: below the quorum for scripted/gone)"
    )


def test_two_evaluators_of_one_panel_have_folders_of_their_own_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    panel = Panel(personas=["historian"])
    first, second = PanelEvaluator(panel), PanelEvaluator(panel)
    for one in (first, second):
        one.score(PROMPT, RESPONSE)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for one in (first, second):
        one.close()
    assert len(list((tmp_path / "runs").glob("evaluator-*/report.html"))) == 2


def test_the_same_settings_are_one_evaluator_where_that_is_wanted(tmp_path: Path) -> None:
    def of(max_cost: float) -> PanelEvaluator:
        return PanelEvaluator.shared(["offline/lexical"], out=tmp_path / "run", max_cost=max_cost)

    assert of(2) is of(2)
    assert of(2) is not of(3)
    assert PanelEvaluator.shared(of(2)) is of(2)
    with pytest.raises(InputError, match="belong to it"):
        PanelEvaluator.of(of(2), max_cost=4)


def test_the_panel_may_be_an_object_a_file_or_models(tmp_path: Path) -> None:
    file = tmp_path / "panel.yaml"
    file.write_text("models: [offline/lexical]\npersonas: [sociologist, historian]\n")
    assert len(PanelEvaluator(file).panel.personas) == 2
    assert len(PanelEvaluator("offline/lexical", personas=["ethicist"]).panel.personas) == 1
    panel = Panel()
    assert PanelEvaluator(panel).panel is panel
    with pytest.raises(InputError, match="personas"):
        PanelEvaluator(panel, personas=["ethicist"])


def test_texts_that_cannot_be_found_are_named_with_what_was_found() -> None:
    with pytest.raises(InputError, match=r"the prompt: must be text.*got a mapping with 'id'"):
        asked_text({"id": 4})
    with pytest.raises(InputError, match=r"the response: must be text.*got NoneType"):
        answered_text(None)
