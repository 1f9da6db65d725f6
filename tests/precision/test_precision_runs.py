"""Runs under a stopping rule: who is asked, what is recorded, and what a later run pays."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from precision_material import CRITERIA, backends, rows, sent, spread

from areopagus import InputError, Panel, ProviderError, Run
from areopagus.errors import InputFault
from areopagus.experiment.engine import judge_sample
from areopagus.graphs.panel import PanelContext, build_panel_graph
from areopagus.graphs.stopping import FIRST_BLOCK, StoppingRule, reached_half_width
from areopagus.judges.models.client import Client
from areopagus.judges.models.request import Request
from areopagus.precision import panel_with_rule, precision_sentences
from areopagus.records.tables import read_judgments, read_scores
from areopagus.testing import ProviderServer, ScriptedBackend, ServedReply, ServedRequest

pytestmark = pytest.mark.usefixtures("no_results")


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[Panel]:
    with Panel(backends(), ledger=tmp_path / "ledger.sqlite") as made:
        yield made


def votes(run: Run) -> list[tuple[Any, ...]]:
    names = ("response_id", "persona", "model", "status", "reason", "detail", "ledger_key")
    return [tuple(vote[name] for name in (*names, *CRITERIA)) for vote in read_judgments(run.path)]


def by_response(run: Run) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for vote in read_judgments(run.path):
        found.setdefault(vote["response_id"], []).append(vote)
    return found


def composites(found: list[dict[str, Any]]) -> list[float]:
    return [sum(v[c] for c in CRITERIA) / 5 for v in found if v["status"] == "scored"]


def test_what_the_rule_did_not_want_is_a_vote_of_its_own_and_no_failure(
    tmp_path: Path, panel: Panel
) -> None:
    given: Any = panel.backends
    run = panel.score_many(rows(), tmp_path / "run", precision=0.5)
    counts = run.counts
    assert (run.state, run.exit_code, run.n_planned) == ("complete", 0, 180)
    assert 6 * FIRST_BLOCK <= counts["scored"] < 125
    assert counts["scored"] + counts["not_asked"] == 180
    assert sent(given) == counts["scored"]
    assert run.record["faults"] == {}
    assert run.record["verdicts"] == {"scored": 6, "inconclusive": 0, "screened": 0}
    spared = [v for v in read_judgments(run.path) if v["status"] == "not_asked"]
    assert {v["reason"] for v in spared} == {"precision"}
    assert "of 30 judgments the whole panel's mean is known to within 0." in spared[0]["detail"]
    for found in by_response(run).values():
        assert len(found) == 30
        assert reached_half_width(30, composites(found), grain=0.2) <= 0.5
    told = run.record["panel"]["precision"]
    assert (told["asked"], told["not_asked"]) == (counts["scored"], counts["not_asked"])
    assert (told["half_width"], told["seed"], told["responses"]["precise"]) == (0.5, 0, 6)
    row = read_scores(run.path)[0]
    assert int(row["n_scored"]) + int(row["n_not_asked"]) == int(row["n_planned"]) == 30
    # A full run in the same folder pays for the rest only.
    whole = panel.score_many(rows(), tmp_path / "run")
    assert sent(given) == whole.n_scored == 180
    assert "precision" not in whole.record["panel"]
    assert len({request.key() for backend in given for request in backend.requests}) == 180


def test_a_narrower_wish_asks_more_and_the_narrowest_everybody(
    tmp_path: Path, panel: Panel
) -> None:
    asked = [
        panel.score_many(rows(), tmp_path / f"{width}", precision=width).n_scored
        for width in (2.0, 0.4, 0.001)
    ]
    assert asked == sorted(asked)
    assert asked[0] == 6 * FIRST_BLOCK
    assert asked[0] < asked[1] < asked[2] == 180


def test_judges_are_asked_in_balance(tmp_path: Path) -> None:
    given = backends()
    with Panel(given, ledger=tmp_path / "ledger.sqlite") as panel:
        run = panel.score_many(rows(10), tmp_path / "run", judges_per_response=6)
    assert {len(backend.requests) for backend in given} == {20}
    personas = Counter(v["persona"] for v in read_judgments(run.path) if v["status"] == "scored")
    assert len(personas) == 10
    for found in by_response(run).values():
        asked = [v for v in found if v["status"] == "scored"]
        assert set(Counter(v["model"] for v in asked).values()) == {2}
        assert set(Counter(v["axis"] for v in asked).values()) == {3}
        assert len({v["persona"] for v in asked}) == 6
        assert {v["detail"] for v in found if v["status"] == "not_asked"} != {None}


def test_the_same_run_again_decides_the_same_and_pays_nothing(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with Panel(backends(), ledger=ledger) as panel:
        first = votes(panel.score_many(rows(), tmp_path / "run", precision=0.4))
    again = backends()
    with Panel(again, ledger=ledger) as panel:
        second = votes(panel.score_many(rows()[::-1], tmp_path / "other", precision=0.4))
        other = panel.score_many(rows(), tmp_path / "seed", precision=0.4, order_seed=1)
    assert sorted(second, key=str) == sorted(first, key=str)
    assert votes(other) != first
    # Another seed asks others; what both ask is paid once.
    assert 0 < sent(again) < other.n_scored


class Locked(ScriptedBackend):
    """A backend whose key is missing."""

    def access_faults(self) -> list[InputFault]:
        return [InputFault(self.spec.name, "the environment variable SOME_KEY is not set")]


def test_a_run_that_the_ledger_decides_needs_no_key(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with Panel(backends(), ledger=ledger) as panel:
        first = votes(panel.score_many(rows(), tmp_path / "run", precision=0.4))
    locked = [Locked(spread(0.7), name=f"scripted/{n}") for n in range(3)]
    with Panel(locked, ledger=ledger) as panel:
        assert votes(panel.score_many(rows(), tmp_path / "again", precision=0.4)) == first
        for further in ({"precision": 0.1}, {"precision": 0.4, "order_seed": 1}, {}):
            with pytest.raises(InputError, match="SOME_KEY"):
                panel.score_many(rows(), tmp_path / "more", **further)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="SOME_KEY"):
            panel.score_many(rows(7), tmp_path / "more", precision=0.4)
        assert panel.ledger.abandoned() == 0
    assert sent(locked) == 0  # type: ignore[arg-type]


def test_a_run_that_is_stopped_goes_on_to_the_same_decisions(tmp_path: Path) -> None:
    ledger = tmp_path / "one.sqlite"
    with Panel(backends(), ledger=tmp_path / "two.sqlite") as panel:
        expected = panel.score_many(rows(), tmp_path / "expected", precision=0.4)
    with Panel(backends(), ledger=ledger) as panel:
        job = panel.job(
            rows(),
            tmp_path / "run",
            precision=0.4,
            on_progress=lambda progress: job.stop() if progress.sent >= 30 else None,
        )
        from areopagus.experiment.job import run_job

        cut = run_job(job)
        assert cut.state == "interrupted"
        assert cut.record["panel"]["precision"]["responses"]["cut_short"] > 0
        assert {v["reason"] for v in read_judgments(cut.path) if v["status"] == "not_asked"} >= {
            "interrupted"
        }
        again = panel.score_many(rows(), tmp_path / "run", precision=0.4, resume=True)
    assert again.state == "complete"
    assert votes(again) == votes(expected)


def test_a_budget_that_is_spent_is_told_from_a_rule_that_has_enough(tmp_path: Path) -> None:
    given = backends(cost_usd=0.01)
    with Panel(given, ledger=tmp_path / "ledger.sqlite") as panel:
        run = panel.score_many(rows(), tmp_path / "run", precision=0.5, max_cost=0.3)
        assert (run.state, run.exit_code) == ("budget", 4)
        reasons = Counter(
            v["reason"] for v in read_judgments(run.path) if v["status"] == "not_asked"
        )
        assert reasons["budget"] > 0
        assert run.record["faults"] == {"not_asked: budget": reasons["budget"]}
        # Whom the rule would have wanted of those is not known, so none is called spared.
        for found in by_response(run).values():
            assert len({v["reason"] for v in found if v["status"] == "not_asked"}) <= 1
        told = run.record["panel"]["precision"]
        assert (told["asked"], told["cut_off"]) == (sent(given), reasons["budget"])
        assert told["asked"] + told["not_asked"] + told["cut_off"] == 180
        assert f"{sent(given)} of 180 judgments were asked for." in precision_sentences(told)[0]
        again = panel.score_many(rows(), tmp_path / "run", precision=0.5)
    assert (again.state, again.exit_code) == ("complete", 0)
    assert {v["reason"] for v in read_judgments(again.path) if v["status"] == "not_asked"} == {
        "precision"
    }


def test_after_the_cap_no_free_backend_is_asked_either(tmp_path: Path) -> None:
    free, *paid = backends(cost_usd=0.0)[:1] + backends(cost_usd=0.01)[1:]
    with Panel([free, *paid], ledger=tmp_path / "ledger.sqlite") as panel:
        run = panel.score_many(rows(12), tmp_path / "run", precision=0.5, max_cost=0.0)
    assert (run.state, run.exit_code) == ("budget", 4)
    assert sent(paid) == 0
    # Those that were on their way when the first paid call found no room; 120 without this rule.
    assert len(free.requests) < 40


def test_a_repair_that_no_cap_can_allow_is_made_up_for(tmp_path: Path) -> None:
    def prose(request: Request) -> Any:
        if request.purpose == "repair":
            raise ProviderError("bad_request", "not again")
        return "I would rather not say."

    unpriced = ScriptedBackend(prose, name="scripted/prose", cost_usd=None)
    ledger = tmp_path / "ledger.sqlite"
    with Panel([unpriced], ledger=ledger) as panel:
        panel.score_many(rows(), tmp_path / "first")
    priced = backends(cost_usd=0.01)[:1]
    with Panel([*priced, unpriced], ledger=ledger) as panel:
        run = panel.score_many(rows(), tmp_path / "run", precision=1.0, max_cost=1000.0)
    assert sent(priced) < 60
    left = [
        v
        for v in read_judgments(run.path)
        if v["status"] == "not_asked" and v["model"] == "scripted/0"
    ]
    assert {v["reason"] for v in left} == {"precision"}


def test_judges_that_fail_are_made_up_for_and_count_against_the_quorum(tmp_path: Path) -> None:
    def dead(request: Request) -> Any:
        raise ProviderError("bad_request", "no such thing")

    given = [*backends()[:2], ScriptedBackend(dead, name="scripted/dead")]
    with Panel(given, ledger=tmp_path / "ledger.sqlite", quorum=0.6) as panel:
        run = panel.score_many(rows(), tmp_path / "run", precision=0.5)
        few = panel.score_many(rows(), tmp_path / "few", judges_per_response=3)
    assert run.exit_code == 3
    for found in by_response(run).values():
        assert len(composites(found)) >= FIRST_BLOCK
    # 2 of 3 asked are scored: above a quorum of .6 of those asked, far below it of all 30.
    assert few.record["verdicts"]["scored"] == 6
    with Panel(given, ledger=tmp_path / "ledger.sqlite", quorum=0.7) as panel:
        strict = panel.score_many(rows(), tmp_path / "strict", judges_per_response=3)
    assert strict.record["verdicts"]["inconclusive"] == 6
    assert read_scores(strict.path)[0]["reason"].startswith(
        "2 of 3 asked judgments scored, below the quorum of 70% (1 failed, 27 not asked)"
    )


def test_screened_responses_are_nobody_s_to_judge(tmp_path: Path, panel: Panel) -> None:
    given = [{**row, "response_text": "" if i == 1 else row["response_text"]}
             for i, row in enumerate(rows(3))]  # fmt: skip
    run = panel.score_many(given, tmp_path / "run", precision=0.5)
    assert run.record["verdicts"]["screened"] == 1
    assert run.record["panel"]["precision"]["responses"]["screened"] == 1
    reasons = Counter(v["reason"] for v in read_judgments(run.path) if v["response_id"] == "r1")
    assert reasons == {"screened": 30}


def test_the_first_calls_of_the_rule_are_the_first_that_arrive_and_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRECISION_TEST_KEY", "sk-0123456789abcdef")

    def judge(request: ServedRequest) -> ServedReply:
        answer = spread(0.7)(_Keyed(request.key))  # type: ignore[arg-type]
        return ServedReply(text=json.dumps(answer))

    with ProviderServer(judge) as server:
        models = [
            {"model": "openai/gpt-4o-mini", "name": name, "api_base": server.openai_base,
             "temperature": temperature, "api_key_env": "PRECISION_TEST_KEY",
             "structured": "json_schema"}
            for name, temperature in (("calm", 0.0), ("warm", 0.5))
        ]  # fmt: skip
        with Panel(models, ledger=tmp_path / "ledger.sqlite") as panel:
            part = panel.score_many(rows(3), tmp_path / "part", precision=0.5)
            asked = len(server.requests)
            whole = panel.score_many(rows(3), tmp_path / "whole")
    assert asked == part.n_scored
    assert 3 * FIRST_BLOCK <= asked < 60
    assert (len(server.requests), whole.n_scored) == (60, 60)
    saved = part.record["panel"]["precision"]["saved"]
    assert saved["calls"] == 60 - asked
    # The rest was paid afterwards: what had been said of it was right to the cent.
    later = whole.record["sessions"][-1]["spent_usd"]
    assert saved["usd"] == pytest.approx(later, rel=0.05)


class _Keyed:
    def __init__(self, key: str) -> None:
        self._key = key

    def key(self) -> str:
        return self._key


async def test_with_a_checkpointer_the_rule_is_the_same(panel: Panel) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    from areopagus.experiment.single import sample_from

    ruled, _ = panel_with_rule(panel.spec, StoppingRule(0.5))
    sample = sample_from("Why?", "Because of this and that.", "r", "p", "w")
    context = PanelContext(sample, ruled, Client(panel.ledger))
    plain = await judge_sample(context)
    config = {"configurable": {"thread_id": "one"}}
    graph = build_panel_graph(InMemorySaver())
    saved = await judge_sample(context, graph=graph, config=config)
    again = await judge_sample(context, graph=graph, config=config)

    def told(verdict: Any) -> list[tuple[Any, ...]]:
        return [(v.persona, v.model, v.status, v.reason, v.scores) for v in verdict.judgments]

    assert told(plain) == told(saved) == told(again)
    assert "not needed" in plain.summary()
    assert plain.n_scored < plain.n_planned == 30


def test_what_makes_no_sense_is_refused_before_anything_is_opened(
    tmp_path: Path, panel: Panel
) -> None:
    with pytest.raises(InputError, match=r"(?s)precision.*judges_per_response"):
        panel.score_many(rows(), tmp_path / "run", precision=-1.0, judges_per_response=0)
    assert not (tmp_path / "run").exists()
