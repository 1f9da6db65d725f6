"""A run on a cluster as seen from outside: its signals, its money, its command line, its errors."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from loopback_cluster import HEAD, KEY, KEY_VARIABLE, LoopbackCluster, model
from postgres_server import PostgresServer

from areopagus import Panel, Run
from areopagus.engines import RayEngine
from areopagus.engines import ray as ray_engine
from areopagus.engines.cluster import demand_token
from areopagus.engines.worker import RunSpec, Worker, cut, score_shard
from areopagus.errors import InputError
from areopagus.experiment.config import ScoreConfig
from areopagus.experiment.job import run_job
from areopagus.experiment.score import ScoreJob
from areopagus.records.ledger import Ledger
from areopagus.records.ledger.address import without_password
from areopagus.records.readers.responses import ResponseSource
from areopagus.records.tables import read_judgments
from areopagus.testing import ProviderServer

pytestmark = [
    # Ray's own modules use what is deprecated, and leave files to the interpreter.
    pytest.mark.filterwarnings("ignore"),
]
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is missing: pip install 'areopagus[ray]'"
)


def rows(number: int) -> list[dict[str, str]]:
    return [
        {
            "response_id": f"r{n}",
            "prompt_id": f"p{n}",
            "prompt_text": f"Is it just? {n}",
            "respondent_id": "m",
            "response_text": f"Perhaps {n}, because of what came before.",
        }
        for n in range(number)
    ]


@needs_ray
@pytest.mark.slow
def test_sigterm_lets_a_run_end_in_good_order_however_long_that_takes(tmp_path: Path) -> None:
    with (tmp_path / "responses.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows(30))
    # Longer than the three seconds after which the handler of Ray's core aborts a process.
    with ProviderServer(delay_s=6.0) as provider:
        (tmp_path / "panel.yaml").write_text(
            f"models:\n  - {{model: openai/a, api_base: {provider.openai_base}, concurrency: 4}}\n"
        )
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "areopagus", "score", "responses.jsonl", "--quiet"),
                *("--panel", "panel.yaml", "--out", "run", "--engine", "ray"),
            ],
            cwd=tmp_path,
            env={**os.environ, "AREOPAGUS_HOME": str(tmp_path / "home")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 120
        while provider.counts.total < 4:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.01)
        told = time.monotonic()
        process.send_signal(signal.SIGTERM)
        printed, errors = process.communicate(timeout=120)
        took = time.monotonic() - told
        answered = provider.counts.answered
    assert process.returncode == 143, errors
    assert took > 3
    assert printed == ""
    assert "areopagus score responses.jsonl" in errors
    assert not any(word in errors for word in ("SIGTERM", "SIGABRT", "Abort", "***"))
    run = Run(tmp_path / "run")
    assert run.state == "interrupted"
    # What was in flight is kept, and the tables have it.
    assert run.n_scored == answered >= 4
    assert sum(row["status"] == "scored" for row in read_judgments(run.path)) == answered


_LISTED = """
from areopagus.engines.cluster import Cluster

cluster = Cluster.connect(None, cpus=1, driver_ip=None)
from ray._private.state import jobs

print(jobs())
cluster.close()
"""


@needs_ray
@pytest.mark.slow
def test_a_password_on_the_command_line_does_not_enter_the_cluster() -> None:
    given = [sys.executable, "-c", _LISTED, "--ledger", "postgresql://me:canary-9c2@db.example/x"]
    listed = subprocess.run(given, capture_output=True, text=True, timeout=120, check=True).stdout
    assert "'Entrypoint': 'areopagus'" in listed
    assert "canary" not in listed


@pytest.mark.slow
def test_the_nodes_get_what_the_client_has_left_of_the_cap(
    cluster: LoopbackCluster, postgres: PostgresServer, tmp_path: Path
) -> None:
    cluster.keep(2)
    priced = {"prices": {"input": 1.0, "output": 1.0}, "max_tokens": 64}
    address = without_password(postgres.address("ray_left"))
    with ProviderServer(api_key=KEY) as provider:
        with Panel(model(provider, **priced), ledger=address) as panel:
            engine = RayEngine(cluster.address, driver_ip=HEAD, responses_per_shard=5)
            config = ScoreConfig(out=tmp_path / "run", max_cost=0.08)
            job = ScoreJob(panel.spec, ResponseSource(rows(30)), config, engine=engine)
            budget = job._budget
            budget.spent = 0.03  # by batches, say
            run = run_job(job)
        assert provider.counts.total > 0
    assert run.state == "budget"
    assert 0.05 < budget.spent + budget.possibly_spent <= 0.08


@pytest.mark.slow
def test_a_defect_in_a_task_is_no_lost_cluster(
    cluster: LoopbackCluster,
    postgres: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(plan: Any, actor: Any, shard: Any) -> None:
        raise ZeroDivisionError(f"asked with {os.environ[KEY_VARIABLE]}")

    monkeypatch.setattr(ray_engine, "score_shard", broken)
    cluster.keep(1)
    with ProviderServer(api_key=KEY) as provider:
        address = without_password(postgres.address("ray_defect"))
        with Panel(model(provider), ledger=address) as panel:
            engine = RayEngine(cluster.address, driver_ip=HEAD, responses_per_shard=5)
            config = ScoreConfig(out=tmp_path / "run")
            job = ScoreJob(panel.spec, ResponseSource(rows(10)), config, engine=engine)
            with pytest.raises(RuntimeError, match="ZeroDivisionError: asked with") as caught:
                run_job(job)
    told = "\n".join([str(caught.value), *caught.value.__notes__])
    assert "in broken" in told
    assert KEY not in told


def test_a_node_tells_of_a_defect_without_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(self: Worker, shard: Any) -> None:
        raise ZeroDivisionError(f"asked with {KEY}")

    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setattr(Worker, "score", broken)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        plan = RunSpec.of(Panel("offline/lexical", ledger=ledger).spec, cap=None)
    source = ResponseSource(rows(1))
    (shard,) = cut(source.rows(), size=1, is_repeated=lambda row: False)
    outcome = score_shard(plan, None, shard)
    assert KEY not in repr(outcome)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: asked with") as caught:
        outcome.get()
    assert "in broken" in "\n".join(caught.value.__notes__)


@pytest.mark.parametrize(("content", "said"), [(None, "cannot be read"), (" \n", "is empty")])
def test_a_token_file_without_a_token_is_told(
    tmp_path: Path, content: str | None, said: str
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    for starts_cluster in (True, False):
        with pytest.raises(InputError, match=f"RAY_AUTH_TOKEN_PATH: names .*token, which {said}"):
            demand_token({"RAY_AUTH_TOKEN_PATH": str(path)}, starts_cluster=starts_cluster)
    demand_token({"RAY_AUTH_TOKEN_PATH": str(path), "RAY_AUTH_TOKEN": "x"}, starts_cluster=False)


_JOINING = """
import sys
from areopagus.engines.cluster import Cluster
from areopagus.errors import InputError

try:
    Cluster.connect(sys.argv[1], cpus=None, driver_ip=sys.argv[2])
except InputError as error:
    sys.exit(f"told: {error}")
"""


@pytest.mark.slow
@pytest.mark.parametrize("token", ["another", ""])
def test_a_token_that_the_cluster_does_not_take_is_told(
    cluster: LoopbackCluster, tmp_path: Path, token: str
) -> None:
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").touch()
    joined = subprocess.run(
        [sys.executable, "-c", _JOINING, cluster.address, HEAD],
        env={**os.environ, "RAY_AUTH_TOKEN": token, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert joined.returncode == 1
    *_, said, hint = joined.stderr.splitlines()
    assert said.startswith(f"told: {cluster.address}: no cluster: ")
    assert "is the token that of the cluster?" in hint
