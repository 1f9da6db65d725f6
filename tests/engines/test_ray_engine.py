"""Runs on several nodes give what one process gives, whatever happens to a node."""

from __future__ import annotations

import itertools
import pickle
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest
from loopback_cluster import HEAD, KEY, KEY_VARIABLE, LoopbackCluster, model
from postgres_server import PASSWORD, PostgresServer

from areopagus import Panel, Run
from areopagus.engines import RayEngine
from areopagus.engines import ray as ray_engine
from areopagus.engines.cluster import demand_token
from areopagus.engines.worker import RunSpec, check_node
from areopagus.errors import InputError, StoreError
from areopagus.experiment.config import ScoreConfig
from areopagus.experiment.job import run_job
from areopagus.experiment.score import ScoreJob
from areopagus.graphs.panel_spec import PanelSpec
from areopagus.records.ledger import Ledger
from areopagus.records.ledger.address import without_password
from areopagus.records.ledger.admin import ledger_stats
from areopagus.records.readers.responses import ResponseSource
from areopagus.testing import ProviderServer, ScriptedBackend

pytestmark = [
    # Ray's own modules use what is deprecated, and leave files to the interpreter.
    pytest.mark.filterwarnings("ignore"),
]
_schemas = itertools.count(1)


def rows(number: int) -> list[dict[str, str]]:
    made = [
        {
            "response_id": f"r{n}",
            "prompt_id": f"p{n % 4}",
            "prompt_text": f"Is it just? {n % 4}",
            "respondent_id": f"m{n % 2}",
            "response_text": f"Perhaps {n}, because of what came before.",
        }
        for n in range(number)
    ]
    # The same question about the same text, in neighbouring shards that nodes work on at once.
    for n, respondent in ((3, "m0"), (7, "m1")):
        made[n] |= {
            "prompt_id": "again",
            "prompt_text": "Is it just?",
            "respondent_id": respondent,
            "response_text": "No, and I said so.",
        }
    return made


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    return without_password(postgres.address(f"ray_{next(_schemas)}"))


def score(
    panel: Panel, out: Path, number: int, engine: RayEngine | None, cap: float | None = None
) -> Run:
    config = ScoreConfig(out=out, max_cost=cap)
    job = ScoreJob(panel.spec, ResponseSource(rows(number)), config, engine=engine)
    return run_job(job)


def on(cluster: LoopbackCluster, size: int = 5) -> RayEngine:
    return RayEngine(cluster.address, driver_ip=HEAD, responses_per_shard=size)


def judgments(run: Run) -> list[dict[str, Any]]:
    """All rows of the table, without what differs between any two runs."""
    table = parquet.read_table(run.path / "judgments.parquet")
    clocks = ("latency_s", "created_at", "ledger_key", "from_ledger", "attempts", "calls")
    return table.drop_columns([c for c in table.column_names if c in clocks]).to_pylist()


@pytest.mark.slow
def test_the_result_is_that_of_one_process(
    cluster: LoopbackCluster, address: str, tmp_path: Path
) -> None:
    cluster.keep(2)
    with ProviderServer(api_key=KEY, delay_s=0.02) as provider:
        with Panel(model(provider), ledger=tmp_path / "here.sqlite") as panel:
            here = score(panel, tmp_path / "here", 40, None)
        local_calls = provider.counts.total
        provider.reset()
        with Panel(model(provider), ledger=address) as panel:
            there = score(panel, tmp_path / "there", 40, on(cluster))
            calls, asked = provider.counts, provider.requests
            again = score(panel, tmp_path / "again", 40, on(cluster))
        assert provider.counts.total == calls.total  # a rerun pays for nothing
    twice = [(r.attempt, r.time - asked[0].time, r.prompt[-80:]) for r in asked if r.attempt > 1]
    totals = ledger_stats(address_with_password(address)).backends[0]
    assert there.state == here.state == "complete"
    assert (there.path / "scores.csv").read_bytes() == (here.path / "scores.csv").read_bytes()
    assert judgments(there) == judgments(here)
    assert judgments(again) == judgments(here)
    # Forty responses and ten judges, but one question twice: it is paid once.
    assert calls.total == local_calls == 390, (twice, there.record["sessions"], totals)
    assert calls.peak_in_flight <= 16
    session = there.record["sessions"][-1]
    assert session["calls"]["answered"] == 390
    assert session["calls"]["from_ledger"] == 10
    paid, paid_here = there.record["cost"]["paid"]["online"], here.record["cost"]["paid"]["online"]
    for name in ("replies", "uncached_input_tokens", "output_tokens", "replies_silent_on_cache"):
        assert paid[name] == paid_here[name], name
    assert session["replies"]["ledger"]["replies"] == 10
    assert (totals.calls, totals.duplicates, totals.repeats) == (390, 0, 0)
    for file in (path for path in there.path.rglob("*") if path.is_file()):
        text = file.read_bytes()
        assert KEY.encode() not in text
        assert PASSWORD.encode() not in text


@pytest.mark.slow
def test_a_rule_that_spares_judges_decides_the_same_on_nodes(
    cluster: LoopbackCluster, address: str, tmp_path: Path
) -> None:
    cluster.keep(2)
    with ProviderServer(api_key=KEY) as provider:
        with Panel(model(provider), repeats=3, ledger=tmp_path / "here.sqlite") as panel:
            here = panel.score_many(rows(20), tmp_path / "here", precision=1.0)
        with Panel(model(provider), repeats=3, ledger=address) as panel:
            there = panel.score_many(
                rows(20), tmp_path / "there", precision=1.0, engine=on(cluster)
            )
    assert judgments(there) == judgments(here)
    assert 0 < there.counts["not_asked"] < there.n_planned
    assert there.record["panel"]["precision"] == here.record["panel"]["precision"]


@pytest.mark.slow
def test_a_node_killed_in_mid_run_costs_its_calls_in_flight_and_nothing_else(
    cluster: LoopbackCluster, address: str, tmp_path: Path
) -> None:
    cluster.keep(3)
    with ProviderServer(api_key=KEY, delay_s=0.1) as provider:

        def kill_one() -> None:
            while provider.counts.answered < 200:
                time.sleep(0.01)
            cluster.kill(cluster.nodes[-1])

        killer = threading.Thread(target=kill_one, daemon=True)
        killer.start()
        with Panel(model(provider, concurrency=24), ledger=address) as panel:
            run = score(panel, tmp_path / "run", 60, on(cluster))
        killer.join()
        calls = provider.counts
    assert run.state == "complete"
    assert run.counts["scored"] == 600
    lost = calls.total - 590
    assert 0 <= lost <= 24  # never more than may be in flight
    totals = ledger_stats(address_with_password(address)).backends[0]
    assert (totals.calls, totals.duplicates) == (590, 0)
    # What was sent twice is what was in flight, and it is counted as such.
    assert totals.repeats >= lost
    assert totals.repeats <= 24
    assert ledger_stats(address_with_password(address)).abandoned == 0


@pytest.mark.slow
def test_a_node_that_has_just_died_keeps_no_run_from_beginning(
    cluster: LoopbackCluster, address: str, tmp_path: Path
) -> None:
    cluster.keep(3)
    cluster.kill(cluster.nodes[-1])  # the head does not know yet
    with ProviderServer(api_key=KEY) as provider:
        with Panel(model(provider), ledger=address) as panel:
            run = score(panel, tmp_path / "run", 10, on(cluster))
        assert provider.counts.total == 90
    assert (run.state, run.counts["scored"]) == ("complete", 100)


@pytest.mark.slow
def test_a_rate_limit_holds_over_nodes(
    cluster: LoopbackCluster, address: str, tmp_path: Path
) -> None:
    cluster.keep(2)
    with ProviderServer(api_key=KEY) as provider:
        with Panel(model(provider, rpm=2400, concurrency=8), ledger=address) as panel:
            run = score(panel, tmp_path / "run", 20, on(cluster, size=3))
        asked = provider.requests
        arrivals = [request.time for request in asked]
    assert run.counts["scored"] == 200
    # Forty a second; a second's worth at once where nothing was sent before; and up to eight that
    # were let through and held up on their way.
    for span in (0.5, 1.0, 2.0, 3.0):
        for index, moment in enumerate(arrivals):
            within = sum(1 for other in arrivals[index:] if other - moment < span)
            assert within <= 40 * span + 40 + 8
    totals = ledger_stats(address_with_password(address)).backends[0]
    twice = [request.attempt for request in asked if request.attempt > 1]
    assert len(arrivals) == 190, (run.record["sessions"], totals, twice)
    assert arrivals[-1] - arrivals[0] >= (190 - 40 - 8) / 40


@pytest.mark.slow
def test_a_cost_cap_holds_over_nodes(
    cluster: LoopbackCluster, address: str, tmp_path: Path
) -> None:
    cluster.keep(2)
    priced = {"prices": {"input": 1.0, "output": 1.0}, "max_tokens": 64}
    with ProviderServer(api_key=KEY) as provider:
        with Panel(model(provider, **priced), ledger=address) as panel:
            run = score(panel, tmp_path / "run", 30, on(cluster), cap=0.05)
    session = run.record["sessions"][-1]
    assert run.state == "budget"
    assert 0.02 < session["spent_usd"] + session["possibly_spent_usd"] <= 0.05
    totals = ledger_stats(address_with_password(address)).backends[0]
    assert totals.cost_usd == pytest.approx(session["spent_usd"])
    assert run.counts["scored"] + run.counts["not_asked"] == 300


@pytest.mark.slow
def test_a_stop_reaches_the_nodes_and_what_is_in_flight_is_kept(
    cluster: LoopbackCluster, address: str, tmp_path: Path
) -> None:
    cluster.keep(2)
    with ProviderServer(api_key=KEY, delay_s=0.1) as provider:
        with Panel(model(provider), ledger=address) as panel:
            config = ScoreConfig(out=tmp_path / "run")
            job = ScoreJob(panel.spec, ResponseSource(rows(60)), config, engine=on(cluster))

            def stop_it() -> None:
                while provider.counts.answered < 60:
                    time.sleep(0.01)
                job.stop()

            stopper = threading.Thread(target=stop_it, daemon=True)
            stopper.start()
            run = run_job(job)
            stopper.join()
            calls = provider.counts
            assert run.state == "interrupted"
            known = run.record["sessions"][-1]["calls"]["from_ledger"]
            assert known <= 10  # the repeated question
            assert run.counts["scored"] - known == calls.total == calls.answered < 590
            assert run.counts["scored"] + run.counts["not_asked"] == 600
            finished = score(panel, tmp_path / "run", 60, on(cluster))
        assert finished.state == "complete"
        assert provider.counts.total == 590
    assert ledger_stats(address_with_password(address)).abandoned == 0


@pytest.mark.slow
def test_what_a_node_lacks_is_told_before_anything_is_sent(
    cluster: LoopbackCluster, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.keep(2)
    monkeypatch.setenv("ONLY_AT_THE_DRIVER", "x")
    with ProviderServer() as provider:
        settings = model(provider, api_key_env="ONLY_AT_THE_DRIVER")
        with Panel(settings, ledger=address) as panel:
            with pytest.raises(InputError, match="ONLY_AT_THE_DRIVER") as caught:
                score(panel, tmp_path / "run", 8, on(cluster))
        assert provider.counts.total == 0
    wheres = {fault.where.split(":")[0] for fault in caught.value.faults}
    assert len(wheres) == len(cluster.nodes)  # each node says so
    with Panel(model(provider), ledger=tmp_path / "file.sqlite") as panel:
        with pytest.raises(InputError, match="nodes of a cluster cannot share"):
            score(panel, tmp_path / "other", 8, on(cluster))


@pytest.mark.slow
def test_a_cluster_without_nodes_is_given_up_and_the_same_command_goes_on(
    cluster: LoopbackCluster,
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ray_engine, "_NOBODY_S", 2.0)
    cluster.keep(1)
    with ProviderServer(api_key=KEY, delay_s=0.1) as provider:

        def kill_all() -> None:
            while provider.counts.answered < 60:
                time.sleep(0.01)
            for node in list(cluster.nodes):
                cluster.kill(node)

        killer = threading.Thread(target=kill_all, daemon=True)
        killer.start()
        with Panel(model(provider), ledger=address) as panel:
            with pytest.raises(StoreError, match="no node has been left"):
                score(panel, tmp_path / "run", 40, on(cluster))
            killer.join()
            paid = ledger_stats(address_with_password(address)).backends[0].calls
            cluster.keep(1)
            sent = provider.counts.total
            run = score(panel, tmp_path / "run", 40, on(cluster))
        assert run.state == "complete"
        # A place is free again when its answer is stored, on whatever node.
        assert 60 - 16 <= paid <= sent <= paid + 16
        assert provider.counts.total - sent == 390 - paid
    totals = ledger_stats(address_with_password(address)).backends[0]
    assert (totals.calls, totals.duplicates) == (390, 0)
    assert totals.repeats >= sent - paid


@pytest.mark.slow
def test_without_an_address_the_processors_of_this_machine_share_a_file(
    cluster: LoopbackCluster, tmp_path: Path
) -> None:
    # The cluster is not used: it has put the settings in place before Ray was imported.
    with ProviderServer() as provider:
        settings = {"model": "hosted_vllm/x", "api_base": provider.openai_base}
        with Panel(settings, ledger=tmp_path / "l.sqlite") as panel:
            run = score(panel, tmp_path / "run", 12, RayEngine(processors=1))
    assert run.counts["scored"] == 120
    assert ledger_stats(tmp_path / "l.sqlite").backends[0].calls == 110


def test_a_plan_travels_without_keys_and_comes_back_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    settings = {
        "model": "openai/x",
        "api_base": "http://127.0.0.1:9",
        "api_key_env": KEY_VARIABLE,
        "temperature": 0.5,
    }
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        panel = Panel(settings, mode="holistic", repeats=2, ledger=ledger)
        plan = RunSpec.of(panel.spec, cap=1.0)
        packed = pickle.dumps(plan)
        assert KEY.encode() not in packed
        again: PanelSpec = pickle.loads(packed).panel()
        assert again.identity() == panel.spec.identity()
        assert list(again.judges) == list(panel.spec.judges)
        assert again.backends[0].spec == panel.backends[0].spec
        again.ledger.close()


def test_a_backend_that_is_an_object_does_not_travel(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        panel = Panel(ScriptedBackend({"overall": 7}), ledger=ledger)
        with pytest.raises(InputError, match="object of this process"):
            RunSpec.of(panel.spec, cap=None)


def test_a_node_with_other_versions_refuses(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        plan = RunSpec.of(Panel("offline/lexical", ledger=ledger).spec, cap=None)
    plan.versions["litellm"] = "0.0.1"
    with pytest.raises(InputError, match=r"litellm: is version .* here and 0\.0\.1"):
        plan.panel()


def test_a_node_without_tokens_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        plan = RunSpec.of(Panel("offline/lexical", ledger=ledger).spec, cap=None)
    with pytest.raises(InputError, match="started without tokens"):
        check_node(plan, None).get()


def test_a_cluster_elsewhere_needs_a_token_and_one_here_gets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    environment: dict[str, str] = {}
    with pytest.raises(InputError, match="RAY_AUTH_TOKEN"):
        demand_token(environment, starts_cluster=False)
    demand_token(environment, starts_cluster=True)
    assert environment["RAY_AUTH_MODE"] == "token"
    assert len(environment["RAY_AUTH_TOKEN"]) == 64
    kept = dict(environment)
    demand_token(environment, starts_cluster=False)
    assert environment == kept


def address_with_password(address: str) -> str:
    return address.replace("://ledger@", f"://ledger:{PASSWORD}@")
