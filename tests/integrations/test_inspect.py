"""Inspect AI's own programs with the panel in them, and a run's scores in its logs."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tools import needs

needs("inspect_ai")

from inspect_ai.log import read_eval_log  # noqa: E402

from areopagus import Panel  # noqa: E402
from areopagus.errors import InputError  # noqa: E402
from areopagus.integrations.inspect_ai import export_inspect  # noqa: E402
from areopagus.run import Run  # noqa: E402
from areopagus.testing import ProviderServer, ScriptedBackend, ServedReply, constant  # noqa: E402

TASKS = Path(__file__).parent / "inspect_tasks.py"
PROGRAMS = Path(sys.executable).parent
CRITERIA = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)
GOOD = {**dict.fromkeys(CRITERIA, 6), "abstained": False}


def run(folder: Path, *command: str, **environment: str) -> str:
    """What a program prints, on stdout and then on stderr, run in a folder with its own ledger."""
    finished = subprocess.run(
        [str(PROGRAMS / command[0]), *command[1:]],
        cwd=folder,
        env={**os.environ, "AREOPAGUS_HOME": str(folder / "home"), "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout + finished.stderr


def evaluated(folder: Path, task: str, *options: str, **environment: str) -> Path:
    """The log of `inspect eval`."""
    (folder / "tasks.py").write_text(TASKS.read_text())
    where = ("--log-dir", str(folder / "logs"), "--display", "none")
    run(folder, "inspect", "eval", f"tasks.py@{task}", *where, *options, **environment)
    (log,) = (folder / "logs").glob("*.eval")
    return log


def metrics(log: Any, scorer: str = "areopagus_panel") -> dict[str, Any]:
    return {one.name: one for one in log.results.scores if one.scorer == scorer}


def panel_scores(log: Any) -> dict[tuple[Any, int], Any]:
    scores = {(one.id, one.epoch): (one.scores or {}) for one in log.samples}
    return {key: found["areopagus_panel"] for key, found in scores.items() if len(found) > 1}


def test_an_evaluation_is_scored_by_the_embedded_judge(tmp_path: Path) -> None:
    log = read_eval_log(evaluated(tmp_path, "embedded"))
    assert log.status == "success"
    found, scores = metrics(log), panel_scores(log)
    assert set(found) == {"composite", *CRITERIA}
    # 8 samples in 2 epochs: one ends in an error and is not scored, one says nothing.
    assert len(scores) == 14
    assert {key for key, one in scores.items() if one.reason} == {(4, 1), (4, 2)}
    silent = scores[4, 1]
    assert silent.reason == "no_response"
    assert isinstance(silent.value, float)
    assert math.isnan(silent.value)
    assert "screened: empty" in silent.explanation
    for name, one in found.items():
        by_sample: dict[Any, list[float]] = {}
        for (sample, _), score in scores.items():
            if score.reason is None:
                by_sample.setdefault(sample, []).append(score.value[name])
        means = [sum(values) / len(values) for values in by_sample.values()]
        assert one.metrics["mean"].value == pytest.approx(sum(means) / len(means))
        assert (one.scored_samples, one.unscored_samples) == (6, 1)
        assert "stderr" in one.metrics
    first = scores[6, 1]
    assert first.metadata["n_scored"] == first.metadata["n_planned"] == 10
    assert first.metadata["demonstration"]
    assert "DEMONSTRATION" in first.explanation
    rows = Run(tmp_path / "panel").scores
    assert len(rows) == 14
    assert rows["prompt_id"].nunique() == 7


def test_what_the_cost_cap_keeps_from_being_asked_is_unscored(tmp_path: Path) -> None:
    with ProviderServer(constant(GOOD)) as server:
        keys = {"JUDGE_BASE": server.openai_base, "OPENAI_API_KEY": "none"}
        log = read_eval_log(evaluated(tmp_path, "capped", **keys))
        asked = server.counts.total
    scores = panel_scores(log)
    scored = [one for one in scores.values() if one.reason is None]
    left = [one for one in scores.values() if one.reason == "scoring_failed"]
    assert scored
    assert len(scored) + len(left) == 6  # of 8 one has no output and one is empty
    assert left
    assert all("budget" in one.explanation for one in left)
    assert asked >= len(scored)
    assert metrics(log)["composite"].metrics["mean"].value == 6.0
    assert Run(tmp_path / "panel").record["sessions"][-1]["spent_usd"] <= 0.3


def test_models_of_a_role_judge_by_inspects_own_calls(tmp_path: Path) -> None:
    def judge(request: Any) -> Any:
        if any("number 7" in message["content"] for message in request.messages):
            return ServedReply("I would rather not say.")
        return ServedReply(json.dumps(GOOD))

    with ProviderServer(judge) as server:
        keys = {"LOOP_BASE_URL": server.openai_base, "LOOP_API_KEY": "none"}
        role = ("--model-role", "grader=openai-api/loop/judge")
        place = evaluated(tmp_path, "by_role", *role, **keys)
        log = read_eval_log(place)
        asked = server.counts.total
    scores = panel_scores(log)
    assert scores[7, 1].reason == "grader_failed"
    assert scores[7, 1].metadata["counts"]["unreadable"] == 2
    assert scores[6, 1].value == {"composite": 6.0, **dict.fromkeys(CRITERIA, 6.0)}
    assert scores[6, 1].metadata["by_model"] == {"inspect/openai-api/loop/judge": 6.0}
    assert metrics(log)["composite"].metrics["mean"].value == 6.0
    # Inspect counted every call, and each sample's log has its own.
    assert log.stats.role_usage["grader"].output_tokens > 0
    events = [one for sample in log.samples for one in sample.events if one.event == "model"]
    graded = [one for one in events if one.role == "grader"]
    assert len(graded) == asked
    of_sample = next(one for one in log.samples if one.id == 6)
    assert sum(one.event == "model" and one.role == "grader" for one in of_sample.events) == 2


def test_the_cost_cap_holds_for_models_of_a_role_whose_prices_inspect_knows(tmp_path: Path) -> None:
    prices = {"input": 10, "output": 10, "input_cache_write": 12, "input_cache_read": 1}
    (tmp_path / "prices.json").write_text(json.dumps({"openai/gpt-4o-mini": prices}))
    with ProviderServer(constant(json.dumps(GOOD))) as server:
        keys = {"OPENAI_BASE_URL": server.openai_base, "OPENAI_API_KEY": "none"}
        role = ("--model-role", "grader=openai/gpt-4o-mini", "--model-cost-config", "prices.json")
        # Asking all would cost three times as much.
        size = ("-T", "n=40", "-T", "max_cost=0.5")
        log = read_eval_log(evaluated(tmp_path, "by_role", *size, *role, **keys))
    told = [one.explanation for one in panel_scores(log).values()]
    assert any("Not asked because of: budget" in one for one in told)
    spent = Run(tmp_path / "panel").record["sessions"][-1]["spent_usd"]
    assert spent == pytest.approx(log.stats.role_usage["grader"].total_cost)
    assert 0 < spent <= 0.5


def test_inspect_score_finds_the_scorer_by_its_entry_point(tmp_path: Path) -> None:
    log = evaluated(tmp_path, "plain", "-T", "n=4", "-T", "epochs=1")
    out = tmp_path / "scored.eval"
    named = ("--scorer", "areopagus/areopagus_panel", "-S", "personas=historian,ethicist")
    options = ("--action", "append", "--output-file", str(out), "--display", "none")
    run(tmp_path, "inspect", "score", str(log), *named, *options)
    scored = read_eval_log(out)
    assert set(metrics(scored)) == {"composite", *CRITERIA}
    assert metrics(scored, "includes")
    first = scored.samples[0].scores["areopagus_panel"]
    assert first.metadata["n_planned"] == 2


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluation of 150 samples in 2 epochs, and its run by the panel in `run` beside it."""
    folder = tmp_path_factory.mktemp("long")
    log = evaluated(folder, "plain")
    told = run(folder, "areopagus", "score", str(log), "--out", "run")
    assert "2 samples without a response left out (2: it ended in an error)" in told
    return log


def test_a_log_of_300_samples_is_scored_and_written_back_whole(long_log: Path) -> None:
    folder = long_log.parents[1]
    told = run(folder, "areopagus", "export", "run", "--as", "inspect", "--log", str(long_log))
    assert "298 of 298 responses" in told
    before = read_eval_log(long_log)
    after = read_eval_log(folder / "run" / "inspect" / long_log.name)
    assert len(before.samples) == len(after.samples) == 300
    rows = Run(folder / "run").scores.set_index("response_id")
    for old, new in zip(before.samples, after.samples, strict=True):
        added = new.scores.pop("areopagus_panel")
        assert new.scores == (old.scores or {})
        new.scores = old.scores
        n_old = len(old.events)
        new.events = [one for one in new.events if one.uuid in {each.uuid for each in old.events}]
        assert len(new.events) == n_old
        assert new.model_dump_json() == old.model_dump_json()
        if old.error is not None:
            assert added.reason == "scoring_failed"
            continue
        row = rows.loc[f"{old.id}_epoch_{old.epoch}"]
        assert added.metadata["status"] == row["status"]
        if row["status"] == "scored":
            assert added.value["composite"] == row["composite"]
    assert metrics(after, "includes") == metrics(before, "includes")
    assert metrics(after)["composite"].scored_samples == 148
    header = before.model_dump(exclude={"samples", "results", "reductions", "location"})
    later = after.model_dump(exclude={"samples", "results", "reductions", "location"})
    assert later["eval"].pop("scorers")[:1] == header["eval"].pop("scorers")
    assert later == header


def test_texts_of_the_panel_are_those_of_the_samples(long_log: Path) -> None:
    from areopagus.records.tables import read_texts

    wanted = ["talk_epoch_1", "choice/ü 1_epoch_2", "3_epoch_1"]
    texts = read_texts(long_log.parents[1] / "run", wanted)
    assert texts["talk_epoch_1"][0] == (
        "System: You are a historian.\n\nUser: Was the reform of 1832 a revolution?\n\n"
        "Assistant: In part.\n\nUser: Why only in part?"
    )
    assert texts["choice/ü 1_epoch_2"][0] == "Which?\n\nA) duty\nB) right"
    assert "secret" not in texts["3_epoch_1"][1]


def test_a_run_of_another_log_is_refused(long_log: Path, tmp_path: Path) -> None:
    rows = [{"response_id": "6_epoch_1", "prompt_text": "Another?", "response_text": "Yes, it is."}]
    with Panel(ScriptedBackend(GOOD), ledger=tmp_path / "ledger.sqlite") as panel:
        panel.score_many(rows, out=tmp_path / "same_id")
        rows[0]["response_id"] = "x"
        panel.score_many(rows, out=tmp_path / "no_id")
    with pytest.raises(InputError, match="none of its 300 samples was scored"):
        export_inspect(tmp_path / "no_id", tmp_path / "a.eval", log=long_log)
    with pytest.raises(InputError, match="6_epoch_1: has other texts"):
        export_inspect(tmp_path / "same_id", tmp_path / "a.eval", log=long_log)
    assert not (tmp_path / "a.eval").exists()


def test_a_run_that_came_from_no_log_gets_one_for_each_respondent(tmp_path: Path) -> None:
    rows = [
        {
            "response_id": f"{who}{question}{time}",
            "prompt_id": question,
            "prompt_text": f"What of {question}?",
            "response_text": f"{who} says {time}: it depends on whom you ask.",
            "respondent_id": who,
        }
        for who in ("lab/one", "two")
        for question in ("fairness", "merit")
        for time in (1, 2)
    ]
    with Panel(ScriptedBackend(GOOD), ledger=tmp_path / "ledger.sqlite") as panel:
        panel.score_many(rows, out=tmp_path / "run")
    with pytest.raises(InputError, match="give `texts`"):
        export_inspect(tmp_path / "run")
    written = export_inspect(tmp_path / "run", texts=True)
    assert (written.total, written.written) == (8, 8)
    logs = [read_eval_log(one) for one in sorted(written.path.glob("*.eval"))]
    assert [one.eval.model for one in logs] == ["lab/one", "respondent/two"]
    for log in logs:
        assert sorted((one.id, one.epoch) for one in log.samples) == [
            ("fairness", 1),
            ("fairness", 2),
            ("merit", 1),
            ("merit", 2),
        ]
        assert metrics(log)["composite"].metrics["mean"].value == 6.0


def test_the_page_of_the_documentation_does_what_it_says(tmp_path: Path) -> None:
    page = (TASKS.parents[2] / "docs" / "integrations" / "inspect.md").read_text()
    blocks = re.findall(r"<!-- not run: needs Inspect; .*?-->\n```(\w+)\n(.*?)```", page, re.DOTALL)
    assert [language for language, _ in blocks] == ["python", "sh", "sh"]
    (tmp_path / "voting.py").write_text(blocks[0][1])
    # The mock model counts tokens with a vocabulary that litellm has on disk.
    (installed,) = find_spec("litellm").submodule_search_locations
    vocabulary = Path(installed) / "litellm_core_utils" / "tokenizers"
    script = f"set -e\nPATH={PROGRAMS}:$PATH\n" + "".join(text for _, text in blocks[1:])
    (tmp_path / "commands.sh").write_text(script)
    run(tmp_path, "/bin/bash", "commands.sh", TIKTOKEN_CACHE_DIR=str(vocabulary))
    (log,) = (tmp_path / "runs" / "voting" / "inspect").glob("*.eval")
    written = read_eval_log(log)
    assert len(written.samples) == 4
    assert set(written.samples[0].scores) == {"areopagus_panel", "areopagus_panel1"}
