"""Many responses: run folders, reruns, changes, faults, budgets, interruptions."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError, Panel, ProviderError, Run, RunInterrupted, StoreError
from areopagus.judges.models.request import Request
from areopagus.records.run_folder import RunFolder
from areopagus.records.tables import read_judgments, read_scores
from areopagus.testing import ScriptedBackend

GOOD = {
    "conceptual_clarity": 7,
    "evidential_grounding": 6,
    "contextual_relevance": 8,
    "pluralistic_engagement": 5,
    "argumentative_soundness": 6,
    "abstained": False,
}


def rows(n: int = 12, prompts: int = 6) -> list[dict[str, Any]]:
    return [
        {
            "response_id": f"r{i}",
            "prompt_id": f"p{i % prompts}",
            "prompt_text": f"What is owed in case {i % prompts}?",
            "response_text": f"In case {i} much is owed, because promises bind.",
            "respondent_id": f"writer-{i // prompts}",
            "wave": i,
        }
        for i in range(n)
    ]


def tables(run: Run) -> tuple[list[dict[str, str]], list[dict[str, Any]]]:
    return read_scores(run.path), list(read_judgments(run.path))


def two_backends(**answers: Any) -> list[ScriptedBackend]:
    return [
        ScriptedBackend(answers.get("first", GOOD), name="scripted/first"),
        ScriptedBackend(answers.get("second", GOOD), name="scripted/second"),
    ]


def test_every_response_is_judged_by_every_persona_on_every_backend(tmp_path: Path) -> None:
    backends = two_backends()
    with Panel(backends) as panel:
        run = panel.score_many(rows(), tmp_path / "run")
    assert run.state == "complete"
    assert (run.n_scored, run.n_planned) == (240, 240)
    assert sum(run.counts.values()) == run.n_planned
    assert [len(backend.requests) for backend in backends] == [120, 120]
    scores, judgments = tables(run)
    assert [row["response_id"] for row in scores] == [f"r{i}" for i in range(12)]
    assert {row["composite"] for row in scores} == {"6.4000"}  # (7 + 6 + 8 + 5 + 6) / 5
    assert [row["wave"] for row in scores] == [str(i) for i in range(12)]
    assert len({(j["response_id"], j["persona"], j["model"]) for j in judgments}) == 240
    assert run.exit_code == 0
    first, second = run.respondents
    assert (first.respondent_id, first.n_prompts) == ("writer-0", 6)
    assert first.composite == pytest.approx(6.4)
    assert second.n_responses == 6


def test_the_same_run_again_makes_no_call_and_gives_the_same_tables(tmp_path: Path) -> None:
    def answer(request: Request) -> dict[str, Any]:
        return {**GOOD, "conceptual_clarity": 1 + int(request.key()[:4], 16) % 10}

    first, again = ScriptedBackend(answer), ScriptedBackend(answer)
    with Panel(first) as panel:
        before = tables(panel.score_many(rows(), tmp_path / "run"))
    with Panel(again) as panel:
        run = panel.score_many(rows(), tmp_path / "run")
    assert tables(run) == before
    assert again.requests == []
    assert [session["calls"]["sent"] for session in run.record["sessions"]] == [120, 0]
    with Panel(again) as panel:
        elsewhere = panel.score_many(rows(), tmp_path / "elsewhere")
    assert tables(elsewhere) == before
    assert again.requests == []


@pytest.mark.report
def test_a_rerun_with_nothing_to_do_estimates_and_draws_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Panel(ScriptedBackend(GOOD)) as panel:
        panel.score_many(rows(), tmp_path / "run")
        made = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()}
        written: list[Run] = []
        monkeypatch.setattr(Run, "write_results", lambda run, **_: written.append(run) or run)
        run = panel.score_many(rows(), tmp_path / "run")
        assert written == []
        assert [session["calls"]["sent"] for session in run.record["sessions"]] == [120, 0]
        changed = {p.name for p, then in made.items() if p.stat().st_mtime_ns != then}
        assert changed == {"run.json"}
        (tmp_path / "run" / "report.html").unlink()
        panel.score_many(rows(), tmp_path / "run")
        assert len(written) == 1


def test_a_changed_persona_asks_for_exactly_its_own_judgments(tmp_path: Path) -> None:
    from areopagus import load_personas

    personas = list(load_personas())
    with Panel(ScriptedBackend(GOOD), personas=personas) as panel:
        panel.score_many(rows(), tmp_path / "one")
    personas[2] = personas[2].model_copy(
        update={"description": personas[2].description + " You also weigh oral history."}
    )
    backend = ScriptedBackend(GOOD)
    with Panel(backend, personas=personas) as panel:
        run = panel.score_many(rows(), tmp_path / "two")
    assert len(backend.requests) == 12
    assert {request.labels["persona"] for request in backend.requests} == {personas[2].id}
    assert run.n_scored == 120


def test_a_persona_dropped_into_a_folder_adds_its_own_calls_alone(
    tmp_path: Path, examples: Path
) -> None:
    with Panel(ScriptedBackend(GOOD)) as panel:
        panel.score_many(rows(), tmp_path / "ten")
    folder = tmp_path / "personas"
    folder.mkdir()
    (folder / "urban_planner.yaml").write_bytes(
        (examples / "personas" / "urban_planner.yaml").read_bytes()
    )
    backend = ScriptedBackend(GOOD)
    with Panel(backend, persona_folders=[folder]) as panel:
        run = panel.score_many(rows(), tmp_path / "eleven")
    assert run.n_planned == 132
    assert len(backend.requests) == 12
    assert {request.labels["persona"] for request in backend.requests} == {"urban_planner"}
    assert "persona_urban_planner" in read_scores(run.path)[0]


@pytest.mark.parametrize(
    ("change", "calls"),
    [
        ({"temperature": 0.5}, 120),
        ({"max_tokens": 100}, 120),
        ({"api_base": "http://127.0.0.1:9"}, 120),
        ({"rpm": 100_000, "concurrency": 3, "timeout_s": 5}, 0),
    ],
)
def test_what_shapes_a_reply_is_asked_anew_and_what_does_not_is_not(
    tmp_path: Path, change: dict[str, Any], calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def reachable(_: object) -> None:
        return None

    monkeypatch.setattr("areopagus.experiment.backends._unreachable", reachable)
    with Panel(ScriptedBackend(GOOD)) as panel:
        panel.score_many(rows(), tmp_path / "one")
    backend = ScriptedBackend(GOOD, **change)
    with Panel(backend) as panel:
        panel.score_many(rows(), tmp_path / "two")
    assert len(backend.requests) == calls


@pytest.mark.parametrize(
    ("option", "calls"),
    [
        ({"order": "persona_first"}, 120),
        ({"anchors": False}, 120),
        ({"rationale": "before"}, 120),
        ({"repeats": 2}, 120),
        ({"quorum": 0.1}, 0),
    ],
)
def test_a_changed_panel_option_asks_for_what_it_changes(
    tmp_path: Path, option: dict[str, Any], calls: int
) -> None:
    def answer(request: Request) -> dict[str, Any]:
        wanted = dict(GOOD)
        return {"rationale": "Because.", **wanted} if "rationale" in str(request.schema) else wanted

    with Panel(ScriptedBackend(answer)) as panel:
        panel.score_many(rows(), tmp_path / "one")
    backend = ScriptedBackend(answer)
    with Panel(backend, **option) as panel:
        run = panel.score_many(rows(), tmp_path / "two")
    assert len(backend.requests) == calls
    assert run.n_scored == run.n_planned


def test_failed_judgments_are_asked_again_and_replies_that_cannot_be_read_are_not(
    tmp_path: Path,
) -> None:
    def shaky(request: Request) -> Any:
        persona = request.labels["persona"]
        if persona == "historian":
            return ProviderError("context_length", "too long")
        return "no idea" if persona == "ethicist" else GOOD

    with Panel(ScriptedBackend(shaky)) as panel:
        run = panel.score_many(rows(4, 4), tmp_path / "run")
    assert run.counts["failed"] == 4
    assert run.counts["unreadable"] == 4
    assert run.exit_code == 3
    assert run.record["faults"] == {"failed: context_length": 4, "unreadable: not_json": 4}
    backend = ScriptedBackend(GOOD)
    with Panel(backend) as panel:
        run = panel.score_many(rows(4, 4), tmp_path / "run")
    assert {request.labels["persona"] for request in backend.requests} == {"historian"}
    assert (run.counts["scored"], run.counts["unreadable"]) == (36, 4)


def test_a_response_below_the_quorum_is_inconclusive_and_has_no_number(tmp_path: Path) -> None:
    def shaky(request: Request) -> Any:
        ill = ("sociologist", "historian", "ethicist", "moral_philosopher")
        return ProviderError("bad_request", "no") if request.labels["persona"] in ill else GOOD

    with Panel(ScriptedBackend(shaky)) as panel:
        run = panel.score_many(rows(2, 2), tmp_path / "run")
    for row in read_scores(run.path):
        assert row["status"] == "inconclusive"
        assert row["composite"] == ""
        assert (row["n_scored"], row["n_planned"], row["n_failed"]) == ("6", "10", "4")
    assert run.total.composite is None


def test_screened_responses_are_counted_and_nobody_is_asked(tmp_path: Path) -> None:
    material = rows(3, 3)
    material[1]["response_text"] = ""
    material[2]["response_text"] = "Thought process:"
    backend = ScriptedBackend(GOOD)
    with Panel(backend) as panel:
        run = panel.score_many(material, tmp_path / "run")
    assert len(backend.requests) == 10
    assert run.counts["not_asked"] == 20
    assert [row["status"] for row in read_scores(run.path)] == ["scored", "screened", "screened"]
    assert [row["flags"] for row in read_scores(run.path)] == ["", "empty", "opener_only"]
    assert run.state == "complete"
    assert run.exit_code == 0


def test_another_run_in_the_folder_is_refused_with_what_differs(tmp_path: Path) -> None:
    with Panel(ScriptedBackend(GOOD)) as panel:
        panel.score_many(rows(), tmp_path / "run")
    before = (tmp_path / "run" / "scores.csv").read_bytes()
    with Panel(ScriptedBackend(GOOD), mode="holistic") as panel:
        with pytest.raises(InputError) as caught:
            panel.score_many(rows(11), tmp_path / "run")
    fields = {fault.field for fault in caught.value.faults}
    assert {"mode", "responses_sha256", "criteria"} <= fields
    assert (tmp_path / "run" / "scores.csv").read_bytes() == before


def test_a_folder_with_somebody_elses_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.docx").write_text("years of work")
    with Panel(ScriptedBackend(GOOD)) as panel, pytest.raises(InputError, match=r"thesis\.docx"):
        panel.score_many(rows(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.docx"]


def test_resume_demands_a_run(tmp_path: Path) -> None:
    with Panel(ScriptedBackend(GOOD)) as panel:
        with pytest.raises(InputError, match="no run to resume"):
            panel.score_many(rows(), tmp_path / "run", resume=True)
        assert not (tmp_path / "run").exists()
        panel.score_many(rows(), tmp_path / "run")
        assert panel.score_many(rows(), tmp_path / "run", resume=True).state == "complete"


def test_two_processes_do_not_work_in_one_folder(tmp_path: Path) -> None:
    with Panel(ScriptedBackend(GOOD)) as panel:
        with closing(RunFolder.open(tmp_path / "run", panel.spec.identity())):
            with pytest.raises(InputError, match="another process"):
                panel.score_many(rows(), tmp_path / "run")


def test_a_read_only_folder_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Panel(ScriptedBackend(GOOD)) as panel:
        with pytest.raises(InputError, match="is a file"):
            panel.score_many(rows(), tmp_path / "file")
        with pytest.raises(StoreError, match="cannot be made"):
            panel.score_many(rows(), tmp_path / "file" / "below")


def test_the_cap_is_never_passed_and_what_is_there_is_kept(tmp_path: Path) -> None:
    backend = ScriptedBackend(GOOD, cost_usd=0.01)
    with Panel(backend) as panel:
        run = panel.score_many(rows(), tmp_path / "run", max_cost=0.305)
    session = run.record["sessions"][-1]
    assert session["spent_usd"] <= 0.305
    # A judgment sets aside its call and its repair: 0.02, of which 0.01 comes back.
    assert len(backend.requests) == 29
    assert run.state == "budget"
    assert run.exit_code == 4
    assert run.counts["scored"] + run.counts["not_asked"] == 120
    assert run.record["faults"] == {"not_asked: budget": 91}
    with Panel(backend) as panel:
        again = panel.score_many(rows(), tmp_path / "run", max_cost=100)
    assert again.n_scored == 120
    assert len(backend.requests) == 120
    assert again.record["cost"]["replies_usd"] == pytest.approx(1.2)


def test_a_cap_without_a_price_is_refused_unless_all_is_paid(tmp_path: Path) -> None:
    unpriced = ScriptedBackend(GOOD, cost_usd=None)
    with Panel(unpriced) as panel:
        with pytest.raises(InputError, match="no known worst price"):
            panel.score_many(rows(), tmp_path / "run", max_cost=1)
        assert unpriced.requests == []
        run = panel.score_many(rows(), tmp_path / "run")
        assert run.record["cost"]["judgments_with_unknown_price"] == 120
        assert run.record["sessions"][-1]["calls_with_unknown_price"] == 120
        assert panel.score_many(rows(), tmp_path / "run", max_cost=1).state == "complete"


def test_an_interrupt_keeps_everything_and_a_rerun_goes_on(tmp_path: Path) -> None:
    class Slow(ScriptedBackend):
        async def send(self, request: Request) -> Any:
            import asyncio

            await asyncio.sleep(0.01)
            return await super().send(request)

    backend = Slow(GOOD, concurrency=4)
    with Panel(backend) as panel:
        job = panel.job(rows(60, 6), tmp_path / "run")
        from areopagus.experiment.job import run_job

        threading.Timer(0.3, job.stop).start()
        run = run_job(job)
    assert run.state == "interrupted"
    assert 0 < run.counts["scored"] < 600
    assert run.counts["scored"] + run.counts["not_asked"] == 600
    assert run.counts["scored"] == len(backend.requests)
    assert set(run.record["faults"]) == {"not_asked: interrupted"}
    with Panel(backend) as panel:
        again = panel.score_many(rows(60, 6), tmp_path / "run")
    assert again.n_scored == 600
    assert len(backend.requests) == 600


def test_a_keyboard_interrupt_carries_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from concurrent.futures import Future

    waited: list[int] = []
    original: Callable[..., Any] = Future.result

    def result(self: Future[Any], timeout: float | None = None) -> Any:
        waited.append(1)
        if len(waited) == 1:
            raise KeyboardInterrupt
        return original(self, timeout)

    with Panel(ScriptedBackend(GOOD)) as panel:
        job = panel.job(rows(), tmp_path / "run")
        monkeypatch.setattr(Future, "result", result)
        from areopagus.experiment.job import run_job

        with pytest.raises(RunInterrupted) as caught:
            run_job(job)
        monkeypatch.undo()
    assert caught.value.run.n_planned == 120


def test_bad_input_is_told_whole_and_nothing_is_spent(tmp_path: Path) -> None:
    path = tmp_path / "responses.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["response_id", "prompt_text", "response_text"])
        writer.writerows(
            [["a", "Why?", "So."], ["a", "Why?", "So."], ["", "Why?", "So."], ["d", " ", "So."]]
        )
    backend = ScriptedBackend(GOOD)
    with Panel(backend) as panel, pytest.raises(InputError) as caught:
        panel.score_many(path, tmp_path / "run")
    assert len(caught.value.faults) == 3
    assert all(str(path) in fault.where for fault in caught.value.faults)
    assert backend.requests == []
    assert not (tmp_path / "run").exists()


def test_a_key_in_the_environment_stands_in_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = "sk-canary-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", canary)

    def tell(request: Request) -> ProviderError:
        from areopagus.judges.models.provider_errors import classify

        return classify(ConnectionError(f"refused with key {canary}"))

    with Panel(ScriptedBackend(tell, max_attempts=1)) as panel:
        run = panel.score_many(rows(2, 2), tmp_path / "run")
        ledger = Path(panel.ledger.path)
    assert run.counts["failed"] == 20
    for path in [*run.path.rglob("*"), *ledger.parent.rglob("*")]:
        if path.is_dir():
            continue
        assert canary.encode() not in path.read_bytes(), path


def test_a_single_integer_mode_follows_its_criterion_to_every_table(tmp_path: Path) -> None:
    for mode in ("holistic", "no_rubric"):
        with Panel(ScriptedBackend("7"), mode=mode) as panel:
            run = panel.score_many(rows(2, 2), tmp_path / mode)
        assert run.record["identity"]["criteria"] == ["overall"]
        assert read_scores(run.path)[0]["overall"] == "7.0000"
        assert next(read_judgments(run.path))["overall"] == 7.0


def test_a_rubric_of_ones_own_follows_to_every_table(tmp_path: Path) -> None:
    path = tmp_path / "brevity.yaml"
    path.write_text(
        "id: brevity\nlabel: Brevity\nversion: '1'\nprovenance: written for a test\n"
        "purpose: The scores say how briefly a response speaks.\nscale: {low: 0, high: 4}\n"
        "dimensions:\n"
        "  - {id: shortness, label: Shortness, definition: Short., question: 'Is it short?'}\n"
        "  - {id: plainness, label: Plainness, definition: Plain., question: 'Is it plain?'}\n"
    )
    answer = {"shortness": 4, "plainness": 0, "abstained": False}
    with Panel(ScriptedBackend(answer), rubric=path) as panel:
        run = panel.score_many(rows(2, 2), tmp_path / "run")
    row = read_scores(run.path)[0]
    assert (row["composite"], row["shortness"], row["plainness"]) == ("2.0000", "4.0000", "0.0000")
    assert json.loads((run.path / "run.json").read_text())["identity"]["scale"] == [0, 4]


async def test_the_asynchronous_twin_runs_in_the_callers_loop(tmp_path: Path) -> None:
    panel = Panel(ScriptedBackend(GOOD))
    run = await panel.ascore_many(rows(2, 2), tmp_path / "run")
    assert run.n_scored == 20
    verdict = await panel.ascore("What is owed?", "Much is owed to those who waited.")
    assert verdict.n_scored == 10
    # The synchronous call works inside a running loop too, as in a notebook.
    again = panel.score("What is owed?", "Much is owed to those who waited.")
    assert again.summary() == verdict.summary()
    assert all(judgment.from_ledger for judgment in again.judgments)
    panel.close()
