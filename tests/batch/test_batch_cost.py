"""What runs through batches cost, and how the cap holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from batch_material import PERSONAS, batched, models, rows, run_batch
from batch_server import BatchServer

from areopagus import InputError, Panel
from areopagus.batch import BatchSettings, batch_costs
from areopagus.cli.results import cost_lines
from areopagus.records.tables import read_judgments


def test_a_price_that_nobody_states_stays_unknown(server: BatchServer, tmp_path: Path) -> None:
    said: list[str] = []
    priced = models(server, prices={"input": 3.0, "output": 15.0})[:1]
    with Panel(priced, personas=PERSONAS) as panel:
        run = run_batch(panel, tmp_path / "run", said=said)
    assert {vote["cost_usd"] for vote in read_judgments(run.path)} == {None}
    assert any("`discount`" in sentence for sentence in said)
    saved = run.record["cost"]["saved"]
    assert (saved["batch_usd"], saved["batch_reason"]) == (None, "no price is known")
    told = "\n".join(cost_lines(run.record["sessions"][-1]))
    assert "What batches saved is not known: no price is known." in told
    with Panel(priced, personas=PERSONAS, ledger=tmp_path / "other.sqlite") as panel:
        half = run_batch(panel, tmp_path / "half", batch=BatchSettings(poll_s=0.005, discount=0.5))
    for vote in read_judgments(half.path):
        expected = (vote["input_tokens"] * 3.0 + vote["output_tokens"] * 15.0) / 2e6
        assert vote["cost_usd"] == pytest.approx(expected)


def test_what_does_not_fit_under_the_cap_waits_until_a_batch_has_ended(
    server: BatchServer, tmp_path: Path
) -> None:
    small = models(server, max_tokens=200)[:1]
    with Panel(small, personas=PERSONAS) as panel:
        worst = panel.estimate(rows()).most_usd
        assert worst is not None
        # Half of the requests fit at their worst, and they cost far less than that.
        run = run_batch(panel, tmp_path / "run", max_cost=worst / 2)
    sizes = [len(batch.bodies) for batch in server.batches]
    assert len(sizes) > 1
    assert sizes[0] in (5, 6)
    assert sum(sizes) == 12 == len(set(server.asked_in_batches))
    assert server.online == []
    assert run.state == "complete"
    session = json.loads((tmp_path / "run" / "run.json").read_text())["sessions"][-1]
    assert 0 < session["spent_usd"] <= worst / 2


def test_a_cap_for_nothing_submits_nothing(server: BatchServer, tmp_path: Path) -> None:
    run = batched(server, tmp_path / "run", max_cost=0.0)
    only = batched(server, tmp_path / "only", max_cost=0.0, batch=BatchSettings(only=True))
    assert server.batches == []
    assert server.online == []
    assert run.exit_code == only.exit_code == 4


def test_the_dry_run_knows_batch_prices(server: BatchServer, tmp_path: Path) -> None:
    own = {**models(server, prices={"input": 1.0, "output": 1.0})[0], "name": "own"}
    with Panel([*models(server), own, "offline/lexical"], personas=PERSONAS) as panel:
        found = panel.estimate(rows())
        costs = batch_costs(panel.spec, found)
        halved = batch_costs(panel.spec, found, discount=0.5)
    assert set(costs) == {"openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5", "own"}
    likely = {item.backend: item.likely_usd for item in found.stages}
    for name in ("openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5"):
        assert costs[name] == pytest.approx((likely[name] or 0) / 2)
    assert costs["own"] is None
    assert halved["own"] == pytest.approx((likely["own"] or 0) / 2)
    assert server.batches == []


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match=r"(?s)batch_poll.*batch_discount"):
        BatchSettings(poll_s=0.0, discount=1.0)
    assert [round(BatchSettings().pause_after(n)) for n in (0, 1, 2, 50)] == [15, 22, 34, 300]


def test_the_run_says_what_went_into_batches_and_what_that_saved(
    server: BatchServer, tmp_path: Path
) -> None:
    with Panel(models(server)[:1], personas=PERSONAS) as panel:
        run = run_batch(panel, tmp_path / "run")
        again = run_batch(panel, tmp_path / "run")
    assert server.online == []
    session, later = again.record["sessions"]
    calls = session["calls"]
    told = [calls[name] for name in ("sent", "in_batches", "batches", "attempts")]
    assert told == [12, 12, 1, 12]
    # The answers that this run's own batch brought were not paid before by anybody.
    assert (calls["answered"], calls["from_ledger"]) == (12, 0)
    assert later["calls"]["from_ledger"] == 12
    votes = list(read_judgments(run.path))
    # litellm's list for gpt-4o-mini: 0.075 and 0.30 dollars a million tokens in a batch.
    for vote in votes:
        expected = (vote["input_tokens"] * 0.075 + vote["output_tokens"] * 0.30) / 1e6
        assert vote["cost_usd"] == pytest.approx(expected)
    paid = run.record["cost"]["paid"]
    assert paid["online"]["replies"] == session["replies"]["ledger"]["replies"] == 0
    assert paid["batch"]["replies"] == 12
    assert paid["batch"]["output_tokens"] == sum(vote["output_tokens"] for vote in votes)
    assert paid["batch"]["cost_usd"] == pytest.approx(sum(vote["cost_usd"] for vote in votes))
    # litellm's list halves gpt-4o-mini in a batch, and the server caches nothing.
    saved = run.record["cost"]["saved"]
    assert saved["batch_usd"] == pytest.approx(paid["batch"]["cost_usd"])
    assert saved["full_price_usd"] == pytest.approx(2 * paid["batch"]["cost_usd"])
    assert again.record["cost"]["paid"] == paid
    lines = cost_lines(session)
    assert lines[0] == "Calls: 12 calls sent (12 in 1 batch, 0 online), 0 answered by the ledger"
    assert f"Batches saved ${saved['batch_usd']:.4f}." in "\n".join(lines)
    assert cost_lines(later)[0] == "Calls: 0 calls sent, 12 answered by the ledger"
