"""Prompts that models answer and the panel judges in one run: one folder, one cap, paid once."""

from __future__ import annotations

import asyncio
import csv
import json
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from after_a_kill import repeated, settled, stored
from click.testing import CliRunner
from processes import Command, until

from areopagus import (
    InputError,
    Panel,
    Run,
    RunInterrupted,
    ascore_prompts,
    respond,
    score_prompts,
)
from areopagus.any_report import write_any_report as write_report
from areopagus.async_runner import run_sync
from areopagus.cli.main import cli
from areopagus.formats import dollars
from areopagus.records.tables import read_scores
from areopagus.scoring import prompt_score_job
from areopagus.testing import Fault, ProviderServer, by_hash, flaky, respondent

PROMPTS = [
    {"prompt_id": f"p{n}", "prompt_text": f"Is it just? {n}", "scenario_id": f"s{n % 3}"}
    for n in range(8)
]
COUNTED = ("complete", 8, 80)


@pytest.fixture
def targets() -> Iterator[ProviderServer]:
    """A provider whose models answer prompts."""
    with ProviderServer(respondent(lambda prompt: f"On {prompt}: it depends.")) as server:
        yield server


@pytest.fixture
def judges() -> Iterator[ProviderServer]:
    """A provider whose models judge."""
    with ProviderServer(by_hash(1, 10)) as server:
        yield server


def model(server: ProviderServer, name: str = "target", **settings: Any) -> dict[str, Any]:
    return {"model": f"openai/{name}", "api_base": server.openai_base, **settings}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_it_gives_what_respond_and_score_give(
    targets: ProviderServer, judges: ProviderServer, tmp_path: Path
) -> None:
    both = [model(targets, "a"), model(targets, "b")]
    with Panel(model(judges, "j")) as panel:
        run = score_prompts(PROMPTS, both, tmp_path / "run", panel=panel, response_repeats=2)
        sent = targets.counts.total, judges.counts.total
        respond(PROMPTS, both, tmp_path / "answers.csv", repeats=2)
        apart = panel.score_many(tmp_path / "answers.csv", tmp_path / "apart")
    assert sent == (32, 80)  # both say the same, twice: it is judged once
    assert (targets.counts.total, judges.counts.total) == sent  # the ledger knows all of it
    assert (run.state, run.n_scored, run.exit_code) == ("complete", 320, 0)
    assert (run.path / "responses.csv").read_bytes() == (tmp_path / "answers.csv").read_bytes()
    assert (run.path / "scores.csv").read_bytes() == (apart.path / "scores.csv").read_bytes()
    assert {row["scenario_id"] for row in read_scores(run.path)} == {"s0", "s1", "s2"}
    answers = run.record["answers"]
    assert answers["counts"]["answered"] == answers["counts"]["planned"] == 32
    assert [s["calls"]["sent"] for s in run.record["sessions"]] == [112]
    assert run.record["cost"]["paid"]["online"]["replies"] == 112


def test_a_rerun_and_the_asynchronous_twin_send_nothing(
    targets: ProviderServer, judges: ProviderServer, tmp_path: Path
) -> None:
    def once() -> tuple[bytes, int, int]:
        run = Run(tmp_path / "run")
        assert (run.state, run.record["responses"]["n"], run.n_scored) == COUNTED
        calls = targets.counts.total, judges.counts.total
        return ((run.path / "scores.csv").read_bytes(), *calls)

    with Panel(model(judges, "j")) as panel:
        score_prompts(PROMPTS, model(targets), tmp_path / "run", panel=panel)
        first = once()
        score_prompts(PROMPTS, model(targets), tmp_path / "run", panel=panel, resume=True)
        assert once() == first
        asyncio.run(
            ascore_prompts(PROMPTS, model(targets), tmp_path / "run", panel=panel, resume=True)
        )
        assert once() == first
        other = [*PROMPTS[:-1], {"prompt_id": "p9", "prompt_text": "Something else?"}]
        with pytest.raises(InputError, match="prompts_sha256"):
            score_prompts(other, model(targets), tmp_path / "run", panel=panel)
        with pytest.raises(InputError, match=r"asked\.words"):
            score_prompts(PROMPTS, model(targets), tmp_path / "run", panel=panel, words=100)
    assert once() == first


def test_an_answer_that_failed_is_screened_and_counted_and_asked_again(
    targets: ProviderServer, judges: ProviderServer, tmp_path: Path
) -> None:
    well = targets.judge
    targets.judge = flaky(well, [Fault.CONTEXT_LENGTH], rate=0.4)
    with Panel(model(judges, "j")) as panel:
        run = score_prompts(PROMPTS, model(targets), tmp_path / "run", panel=panel)
        counts = run.record["answers"]["counts"]
        assert 0 < counts["failed"] < 8
        assert counts["failed"] + counts["answered"] == counts["planned"] == 8
        assert run.counts["scored"] == 10 * counts["answered"]
        assert run.record["verdicts"]["screened"] == counts["failed"]
        assert run.n_planned == 80
        assert (run.state, run.exit_code) == ("complete", 3)
        assert any(f"{counts['failed']} failed" in notice for notice in run.record["notices"])
        assert sum(run.record["answers"]["faults"].values()) == counts["failed"]
        targets.judge = well
        again = score_prompts(PROMPTS, model(targets), tmp_path / "run", panel=panel)
    assert (again.state, again.n_scored, again.exit_code) == ("complete", 80, 0)
    assert judges.counts.total == 80
    assert len(again.record["sessions"]) == 2


@pytest.mark.parametrize("precision", [None, 0.5])
def test_nobody_answers_for_judges_that_cannot_be_asked(
    targets: ProviderServer, tmp_path: Path, precision: float | None
) -> None:
    with ProviderServer() as gone:
        judge = model(gone, "j")
    with Panel(judge) as panel, pytest.raises(InputError, match="cannot be reached"):
        score_prompts(PROMPTS, model(targets), tmp_path / "run", panel=panel, precision=precision)
    assert targets.counts.total == 0
    assert not (tmp_path / "run").exists()


def test_the_cap_is_for_answers_and_judgments_together(
    targets: ProviderServer, judges: ProviderServer, tmp_path: Path
) -> None:
    prices = {"prices": {"input": 1.0, "output": 1.0}, "max_tokens": 64}
    with Panel(model(judges, "j", **prices)) as panel:
        for cap, out in ((0.0001, "answers"), (0.12, "judgments")):
            run = score_prompts(
                PROMPTS, model(targets, **prices), tmp_path / out, panel=panel, max_cost=cap
            )
            (session,) = run.record["sessions"]
            assert session["spent_usd"] + session["possibly_spent_usd"] <= cap
            assert (run.state, run.exit_code) == ("budget", 4)
            counts = run.record["answers"]["counts"]
            assert (counts["not_asked"] > 0) == (out == "answers")
            assert counts["answered"] + counts["not_asked"] == 8
            assert sum(run.counts.values()) == 80
        assert 0 < run.counts["scored"] < 80
        unpriced = model(targets, "unknown")
        with pytest.raises(InputError, match="no known worst price"):
            score_prompts(PROMPTS, unpriced, tmp_path / "x", panel=panel, max_cost=1.0)


def test_a_stop_while_targets_answer_keeps_what_came(
    targets: ProviderServer, judges: ProviderServer, tmp_path: Path
) -> None:
    targets.delay_s = 0.1
    with Panel(model(judges, "j")) as panel:
        job = prompt_score_job(panel.spec, PROMPTS, model(targets, concurrency=2), tmp_path / "run")

        def stop_it() -> None:
            while targets.counts.total < 3:
                time.sleep(0.01)
            job.stop()

        stopper = threading.Thread(target=stop_it, daemon=True)
        stopper.start()
        run = run_sync(job.run())
        stopper.join()
        counts = run.record["answers"]["counts"]
        assert run.state == "interrupted"
        assert 0 < counts["answered"] == targets.counts.total < 8
        assert counts["answered"] + counts["not_asked"] == 8
        assert judges.counts.total == 0
        finished = score_prompts(PROMPTS, model(targets), tmp_path / "run", panel=panel)
    assert (finished.state, finished.n_scored) == ("complete", 80)
    assert (targets.counts.total, judges.counts.total) == (8, 80)


def test_an_interrupt_is_raised_with_the_run(
    targets: ProviderServer, judges: ProviderServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Panel(model(judges, "j")) as panel:
        run = score_prompts(PROMPTS, model(targets), tmp_path / "run", panel=panel)

        def interrupted(work: Coroutine[Any, Any, Run], _: Callable[[], None]) -> tuple[Run, bool]:
            work.close()
            return run, True

        monkeypatch.setattr("areopagus.experiment.job.run_stoppable", interrupted)
        with pytest.raises(RunInterrupted) as caught:
            score_prompts(PROMPTS, model(targets), tmp_path / "run", panel=panel)
    assert caught.value.run is run


@pytest.mark.parametrize(
    ("prompts", "options", "said"),
    [
        (
            [{"prompt_text": "Why?", "response_id": "a", "response_text": "So."}],
            {},
            "has responses already",
        ),
        (PROMPTS, {"response_repeats": 0}, "`repeats`: Input should be greater than or equal to 1"),
        (PROMPTS, {"precision": -1.0}, "precision"),
        ([{"prompt_id": "a", "prompt_text": ""}], {}, "prompt_text"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_sent(
    prompts: Any, options: dict[str, Any], said: str, targets: ProviderServer, tmp_path: Path
) -> None:
    with Panel() as panel, pytest.raises(InputError, match=said):
        score_prompts(prompts, model(targets), tmp_path / "run", panel=panel, **options)
    assert targets.counts.total == 0
    assert not (tmp_path / "run").exists()


def test_somebody_elses_responses_in_the_folder_are_not_overwritten(
    targets: ProviderServer, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "responses.csv").write_text("mine\n1\n", encoding="utf-8")
    with Panel() as panel, pytest.raises(InputError, match="holds other files"):
        score_prompts(PROMPTS, model(targets), tmp_path / "run", panel=panel)
    assert (tmp_path / "run" / "responses.csv").read_text(encoding="utf-8") == "mine\n1\n"
    assert targets.counts.total == 0


def test_fewer_judges_and_the_estimate_speak_of_the_same_calls(
    targets: ProviderServer, judges: ProviderServer, tmp_path: Path
) -> None:
    prices = {"prices": {"input": 1.0, "output": 1.0}, "max_tokens": 64}
    rule = {"judges_per_response": 4}
    with Panel(model(judges, "j", **prices)) as panel:
        target = model(targets, **prices)
        answers, judging = prompt_score_job(panel.spec, PROMPTS, target, **rule).estimate().stages
        assert (answers.planned, answers.calls, judging.calls) == (8, 8, 32)
        assert answers.most_usd is not None
        assert judging.most_usd is not None
        run = score_prompts(PROMPTS, target, tmp_path / "run", panel=panel, **rule)
        spent = sum(session["spent_usd"] for session in run.record["sessions"])
        assert 0 < spent <= answers.most_usd + judging.most_usd
        assert judges.counts.total == 32
        answers, judging = prompt_score_job(panel.spec, PROMPTS, target, **rule).estimate().stages
        assert (answers.stored, answers.calls, judging.calls) == (8, 0, 0)


@pytest.mark.report
def test_the_page_says_who_answered_what(
    targets: ProviderServer, judges: ProviderServer, tmp_path: Path
) -> None:
    (tmp_path / "set.csv").write_text(
        "prompt_id,prompt_text\n" + "".join(f"p{n},Is it just? {n}\n" for n in range(8)),
        encoding="utf-8",
    )
    with Panel(model(judges, "j")) as panel:
        run = score_prompts(
            tmp_path / "set.csv", model(targets, "gpt-x"), tmp_path / "run", panel=panel, words=300
        )
    for page in (run.report_path, write_report(run.path)):
        text = page.read_text(encoding="utf-8")
        assert "openai/gpt-x" in text
        assert "set.csv" in text
        assert "the request to write about 300 words" in text
        assert str(tmp_path) not in text


def write_settings(folder: Path, targets: ProviderServer, judges: ProviderServer) -> None:
    for name, server, said in (("targets", targets, "gpt-x"), ("panel", judges, "j")):
        content = {"models": [model(server, said, concurrency=4)]}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with (folder / "prompts.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in PROMPTS)


@pytest.mark.slow
def test_killed_while_targets_answer_and_while_judges_judge_nothing_is_paid_twice(
    targets: ProviderServer, judges: ProviderServer, tmp_path: Path
) -> None:
    targets.delay_s = judges.delay_s = 0.05
    write_settings(tmp_path, targets, judges)
    given = [
        *("score", "prompts.jsonl", "--targets-file", "targets.yaml", "--panel", "panel.yaml"),
        *("--out", "run", "--quiet"),
    ]
    for server, number in ((targets, 3), (judges, 20)):
        process = Command(*given, folder=tmp_path)
        until(lambda server=server, number=number: server.counts.total >= number)
        process.kill()
        if server is targets:
            unfinished = Run(tmp_path / "run")
            assert (unfinished.state, unfinished.n_planned) == ("running", 80)
            assert unfinished.record["answers"]["counts"]["planned"] == 8
            assert unfinished.record["sessions"][-1]["calls"]["sent"] <= 8
    paid = settled(targets) + settled(judges)
    kept = stored(tmp_path / "home" / "ledger.sqlite")
    Command(*given, folder=tmp_path).ended()
    run = Run(tmp_path / "run")
    assert (run.state, run.n_scored) == ("complete", 80)
    assert run.record["answers"]["counts"]["answered"] == 8
    again = settled(targets) + settled(judges)
    # All that the ledger held was left alone; of the rest, what was in flight at a kill went twice.
    assert again.total() - paid.total() == 88 - kept.total()
    # Four at once, and two that are noted meanwhile: these may be sent before the answers of the
    # four are written. A call counts as repeated once it was noted, sent or not.
    repeats, left = repeated(tmp_path / "home" / "ledger.sqlite")
    assert 88 <= again.total() <= 88 + repeats
    assert repeats <= 2 * (4 + 2)
    assert left == 0


def test_the_command_prints_what_answers_and_judgments_cost_together(
    targets: ProviderServer, judges: ProviderServer, tmp_path: Path
) -> None:
    """The answers are priced and the judgments are free: the last line once printed $0."""
    for name, server, price in (("targets", targets, 1000.0), ("panel", judges, 0.0)):
        prices = {"input": price, "output": price}
        content = {"models": [model(server, name, prices=prices, max_tokens=64)]}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    (tmp_path / "p.csv").write_text(
        "prompt_id,prompt_text\n" + "".join(f"p{n},Is it just? {n}\n" for n in range(2)),
        encoding="utf-8",
    )
    command = [
        *("score", str(tmp_path / "p.csv"), "--out", str(tmp_path / "run")),
        *("--targets-file", str(tmp_path / "targets.yaml")),
        *("--panel", str(tmp_path / "panel.yaml")),
    ]
    printed = " ".join(CliRunner().invoke(cli, command, standalone_mode=False).output.split())
    run = Run(tmp_path / "run")
    spent = run.record["cost"]["paid"]["online"]["cost_usd"]
    assert spent > 0
    assert f"22 calls sent · {dollars(spent)} (" in printed
    # Run again, the command has sent and paid nothing.
    printed = " ".join(CliRunner().invoke(cli, command, standalone_mode=False).output.split())
    assert "0 calls sent, 22 from the ledger · $0" in printed
    assert [one["spent_usd"] for one in Run(tmp_path / "run").record["sessions"]] == [
        pytest.approx(spent), 0.0
    ]  # fmt: skip
