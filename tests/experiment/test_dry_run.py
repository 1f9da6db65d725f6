"""What a job would cost: right before, in the middle and after a run, and never too little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from areopagus import Panel, ProviderError
from areopagus.judges.models.request import Request
from areopagus.testing import Fault, ProviderServer, ScriptedBackend, by_hash, flaky

GOOD = {
    "conceptual_clarity": 7,
    "evidential_grounding": 6,
    "contextual_relevance": 8,
    "pluralistic_engagement": 5,
    "argumentative_soundness": 6,
    "abstained": False,
}


def rows(n: int = 6) -> list[dict[str, str]]:
    return [
        {
            "response_id": f"r{i}",
            "prompt_text": f"What is owed in case {i}?",
            "response_text": f"In case {i} much is owed, because promises bind.",
            "respondent_id": "anna",
            "prompt_id": f"p{i}",
        }
        for i in range(n)
    ]


def test_planned_stored_and_calls_before_in_the_middle_and_after(tmp_path: Path) -> None:
    backends = [ScriptedBackend(GOOD, name="scripted/a"), ScriptedBackend(GOOD, name="scripted/b")]
    with Panel(backends) as panel:
        before = panel.estimate(rows())
        assert [(b.planned, b.stored, b.calls) for b in before.stages] == [(60, 0, 60)] * 2
        assert (before.n_responses, before.n_screened, before.calls) == (6, 0, 120)
        panel.score_many(rows()[:2], tmp_path / "part")
        middle = panel.estimate(rows())
        assert [(b.planned, b.stored, b.calls) for b in middle.stages] == [(60, 20, 40)] * 2
        panel.score_many(rows(), tmp_path / "run")
        after = panel.estimate(rows())
        assert [(b.planned, b.stored, b.calls) for b in after.stages] == [(60, 60, 0)] * 2
        assert after.likely_usd == after.most_usd == 0
        assert panel.estimate(rows(), limit=3).n_responses == 3
    assert len(backends[0].requests) == 60  # an estimate sends nothing


def test_screened_responses_are_planned_and_cost_nothing() -> None:
    material = rows(3)
    material[1]["response_text"] = ""
    with Panel(ScriptedBackend(GOOD)) as panel:
        found = panel.estimate(material)
    (item,) = found.stages
    assert (found.n_screened, item.planned, item.stored, item.calls) == (1, 30, 0, 20)


def test_an_unknown_price_stays_unknown_and_a_known_one_beside_it_is_told() -> None:
    models = [
        ScriptedBackend(GOOD, name="scripted/free", cost_usd=0.01),
        ScriptedBackend(GOOD, name="scripted/unknown", cost_usd=None),
    ]
    with Panel(models) as panel:
        found = panel.estimate(rows())
    assert found.likely_usd is None
    assert found.most_usd is None
    known, unknown = found.stages
    assert known.most_usd is not None
    assert known.most_usd >= (known.likely_usd or 0) > 0
    assert unknown.likely_usd is unknown.most_usd is None


def test_a_backend_that_nobody_asks_any_more_makes_nothing_unknown(tmp_path: Path) -> None:
    with Panel(ScriptedBackend(GOOD, cost_usd=None)) as panel:
        panel.score_many(rows(), tmp_path / "run")
        assert panel.estimate(rows()).most_usd == 0


@pytest.mark.parametrize("max_tokens", [1, 16, 400, 16_000])
@pytest.mark.parametrize("rationale", ["none", "before"])
def test_the_likely_cost_is_never_above_the_most(max_tokens: int, rationale: Any) -> None:
    model = {
        "model": "openai/judge",
        "api_base": "http://127.0.0.1:9/v1",
        "max_tokens": max_tokens,
        "prices": {"input": 1.0, "output": 100.0, "cache_write": 1.25},
    }
    with Panel(model, rationale=rationale) as panel:
        found = panel.estimate(
            [*rows(), {**rows()[0], "response_id": "ja", "response_text": "日" * 500}]
        )
    (item,) = found.stages
    assert item.output_tokens <= item.calls * max_tokens
    assert found.likely_usd is not None
    assert found.most_usd is not None
    assert 0 < found.likely_usd <= found.most_usd


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_most_is_never_below_what_a_run_costs(tmp_path: Path, share: float) -> None:
    # A reply that cannot be read is asked for once more: the most has room for that.
    judge = flaky(by_hash(1, 10), [Fault.MISSING_KEY, Fault.CUT_BY_LENGTH], share)
    with ProviderServer(judge) as server:
        model = {
            "model": "openai/judge",
            "api_base": server.openai_base,
            "max_tokens": 60,
            "prices": {"input": 3.0, "output": 15.0},
        }
        with Panel(model) as panel:
            found = panel.estimate(rows(3))
            run = panel.score_many(rows(3), tmp_path / "run")
    cost = run.record["sessions"][-1]["spent_usd"]
    assert found.calls == 30
    assert found.most_usd is not None
    assert 0 < cost <= found.most_usd
    assert cost == pytest.approx(run.record["cost"]["replies_usd"])
    if share == 1.0:
        assert run.counts["unreadable"] == 30


def test_what_was_assumed_about_the_responses_is_told() -> None:
    bare = [{"response_id": "a", "prompt_text": "Why?", "response_text": "So."}]
    with Panel(ScriptedBackend(GOOD)) as panel:
        assert any("respondent_id" in notice for notice in panel.estimate(bare).notices)
        assert panel.estimate(rows()).notices == ()


def test_a_response_given_twice_shares_its_calls(tmp_path: Path) -> None:
    same = [
        {**row, **{k: rows()[0][k] for k in ("prompt_text", "response_text")}} for row in rows()
    ]
    backend = ScriptedBackend(GOOD, cost_usd=0.01)
    with Panel(backend) as panel:
        (item,) = panel.estimate(same).stages
        assert (item.planned, item.stored, item.calls) == (60, 50, 10)
        panel.score_many(same, tmp_path / "run")
    assert len(backend.requests) == 10


def test_a_repair_that_is_still_to_be_paid_is_counted(tmp_path: Path) -> None:
    is_down = [True]

    def judge(request: Request) -> str | dict[str, Any]:
        if request.purpose == "judge":
            return "no vote"
        if is_down:
            raise ProviderError("bad_request", "down")
        return GOOD

    backend = ScriptedBackend(judge, cost_usd=0.01)
    ledger = tmp_path / "ledger.sqlite"
    with Panel(backend, ledger=ledger) as panel:
        assert panel.score_many(rows(2), tmp_path / "run").n_scored == 0
        found = panel.estimate(rows(2))
        (item,) = found.stages
        assert (item.planned, item.stored, item.calls) == (20, 0, 20)
        assert found.most_usd is not None
    is_down.clear()
    sent = len(backend.requests)
    with Panel(backend, ledger=ledger) as panel:
        run = panel.score_many(rows(2), tmp_path / "run")
        assert run.n_scored == 20
        assert len(backend.requests) - sent == 20
        assert 0 < run.record["sessions"][-1]["spent_usd"] <= found.most_usd
        (item,) = panel.estimate(rows(2)).stages
        assert (item.stored, item.calls, item.most_usd) == (20, 0, 0)
