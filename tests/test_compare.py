"""Who scores higher: one run end to end, with a model that stops, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import areopagus
from areopagus import InputError, Panel, ProviderError, Run
from areopagus.cli.main import cli
from areopagus.judges.models.request import Request
from areopagus.records.estimates import estimate_at, select
from areopagus.testing import ScriptedBackend

CRITERIA = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)


def responses(n: int = 12, **levels: int) -> list[dict[str, Any]]:
    """Each respondent answers each prompt; its level stands in the text, for the judges to see."""
    return [
        {
            "response_id": f"{who}-{k}",
            "prompt_id": f"p{k}",
            "prompt_text": f"What is owed in case {k}?",
            "response_text": f"level={level + (k % 3)} in case {k} of {who}",
            "respondent_id": who,
            "half": "first" if k < n // 2 else "second",
        }
        for k in range(n)
        for who, level in levels.items()
    ]


def judge(harsh: int = 0, *, quota: int | None = None) -> Callable[[Request], Any]:
    """Scores the level in the text, less its severity; without a quota left it is refused."""
    asked = 0

    def answer(request: Request) -> Any:
        nonlocal asked
        asked += 1
        if quota is not None and asked > quota:
            raise ProviderError("quota", "no credit is left")
        text = "".join(str(message["content"]) for message in request.messages)
        level = int(text.split("level=")[1][0])
        noise = int(request.key()[:2], 16) % 2
        return dict.fromkeys(CRITERIA, max(1, level - harsh + noise)) | {"abstained": False}

    return answer


def scored(path: Path, rows: list[dict[str, Any]], *, quota: int | None = None) -> Run:
    backends = [
        ScriptedBackend(judge(), name="scripted/mild"),
        ScriptedBackend(judge(1), name="scripted/strict"),
        ScriptedBackend(judge(4, quota=quota), name="scripted/harsh"),
    ]
    with Panel(backends) as panel:
        return panel.score_many(rows, path)


def text_of(run: Run) -> str:
    return " ".join(" ".join(run.document().headline).split())


def test_a_run_says_first_who_scores_higher(tmp_path: Path) -> None:
    run = scored(tmp_path / "run", responses(alder=6, birch=5, cedar=5))
    assert text_of(run).startswith("alder scores higher than ")
    assert "not told apart" not in run.document().headline[0]
    trust = dict(run.document().trust)
    assert trust["direction"] == "3 of 3 models agree on all 2 directions"
    rows = select(run.estimates, "comparison", criterion="composite")
    rows = rows[rows["measure"] == "difference"]
    assert rows["universe"].tolist()[:2] == ["this panel", "such judges"]
    assert set(rows["baseline"]) == {"alder", "birch"} or set(rows["baseline"]) == {
        "alder",
        "cedar",
    }


def test_a_model_out_of_quota_is_no_finding_about_a_respondent(tmp_path: Path) -> None:
    # Equal respondents, one after the other in the file; the harsh model stops after a third.
    rows = responses(24, first=6, second=6)
    rows.sort(key=lambda row: str(row["respondent_id"]))
    run = scored(tmp_path / "run", rows, quota=160)
    assert run.counts["failed"] + run.counts["not_asked"] == 480 - 160
    document = run.document()
    told = " ".join(document.headline)
    assert "not told apart" in told or "score the same" in told
    trust = dict(document.trust)
    assert "scripted/harsh on" in trust["unbalanced"]
    means = {
        who: estimate_at(run.estimates, "respondent", "mean", respondent=who, criterion="composite")
        for who in ("first", "second")
    }
    assert means["first"] is not None
    assert means["second"] is not None
    assert means["first"].value == pytest.approx(means["second"].value, abs=0.1)
    # The plain means are far apart: that is what would have been called.
    plain = run.scores.groupby("respondent_id")["composite"].mean()
    assert abs(plain["first"] - plain["second"]) > 0.7
    marked = run.scores["unbalanced"].fillna("")
    assert (marked == "scripted/harsh").sum() == 48 - 16
    assert [one.n_unbalanced for one in run.respondents] == [8, 24]


def test_runs_of_one_panel_are_compared_by_prompt(tmp_path: Path) -> None:
    before = scored(tmp_path / "before", responses(alder=5))
    after = scored(tmp_path / "after", responses(alder=6))
    found = areopagus.compare(before, after)
    assert found.document().headline[0].startswith("after scores higher than before: +1.")
    assert found.is_one_panel
    assert before.compare(after).found.sides == ("before", "after")
    gate = areopagus.gate(before.path, after.path)
    assert (gate.outcome, gate.exit_code) == ("worse", 5)
    assert areopagus.gate(after, before).exit_code == 0


def test_models_personas_and_columns_are_sides_too(tmp_path: Path) -> None:
    run = scored(tmp_path / "run", responses(alder=6, birch=5))
    by_model = run.compare(by="model")
    assert by_model.found.sides == ("scripted/mild", "scripted/strict", "scripted/harsh")
    assert by_model.document().headline[0].startswith("scripted/mild scores higher than ")
    assert len(run.compare(by="persona").found.sides) == 10
    # Each prompt stands in one half: nothing can be paired.
    assert "no prompt has judges" in run.compare(by="half").document().headline[0]
    with pytest.raises(InputError, match=r"carried \(half\), got 'theme'"):
        run.compare(by="theme")


def test_a_named_baseline_leaves_the_other_pairs_out(tmp_path: Path) -> None:
    run = scored(tmp_path / "run", responses(alder=6, birch=5, cedar=4))
    found = run.compare(baseline="cedar", margin=0.5)
    assert set(found.found.pairs) == {("alder", "cedar"), ("birch", "cedar")}
    assert found.document().headline[0].startswith("alder (+")
    every = run.compare()
    assert len(every.found.pairs) == 3


def test_the_command_prints_the_answer_and_gates(tmp_path: Path) -> None:
    before = scored(tmp_path / "before", responses(alder=6, birch=5)).path
    after = scored(tmp_path / "after", responses(alder=5, birch=4)).path
    done = CliRunner().invoke(cli, ["compare", str(before), "--json", str(tmp_path / "found.json")])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("alder scores higher than birch: +")
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert found["headline"][0].startswith("alder scores higher")
    assert {row["table"] for row in found["estimates"]} >= {"comparison", "comparison by model"}
    page = tmp_path / "page.html"
    done = CliRunner().invoke(cli, ["compare", str(before), str(after), "--out", str(page)])
    assert done.exit_code == 0, done.output
    assert page.exists()
    done = CliRunner().invoke(
        cli, ["gate", str(after), "--baseline", str(before)], standalone_mode=False
    )
    assert done.return_value == 5, done.output
    assert "after is worse than before" in " ".join(done.output.split())
    done = CliRunner().invoke(
        cli, ["gate", str(after), "--baseline", str(before), "--json", "-"], standalone_mode=False
    )
    assert done.return_value == 5
    found = json.loads(done.stdout)
    rows = {row["measure"]: row for row in found["estimates"]}
    assert rows["difference"]["verdict"] == "worse"
    assert rows["margin"]["value"] == 0.2
