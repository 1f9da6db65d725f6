"""How throughput grows with the nodes of a Ray cluster, and where it does not.

    python benchmarks/ray_nodes.py [--nodes 1 2 3] [--responses N] [--rounds N] [--quota 0.12]
        [--ledger URL]

Nodes are processes of this machine on loopback addresses of their own. Two cases:

endpoint    the endpoint answers 16 calls at once, after 200 ms: 80 calls a second, whoever asks.
processor   the endpoint answers at once. With --quota each node gets that share of a core (cgroups
            version 1, as root), so that several nodes fit on a machine with few cores; without,
            all of them, the driver, the ledger's server and the endpoint share what there is.

Calls a second are those at the endpoint between the first quarter and nine tenths of a run: what
starting costs is told apart; printed are medians over the rounds, and the slowest and fastest.
Each case also has one process here without Ray, for comparison.
Without --ledger a private PostgreSQL server is started, with the programs of this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEAD = "127.0.0.2"
_CGROUPS = Path("/sys/fs/cgroup/cpu")
_PERIOD_US = 100_000


@dataclass(frozen=True)
class Case:
    """One kind of endpoint, and what the panel allows itself."""

    name: str
    delay_s: float
    at_once: int
    concurrency: int


CASES = (Case("endpoint", 0.2, 16, 64), Case("processor", 0.0, 4096, 256))


def serve(delay_s: float, at_once: int) -> None:
    """An endpoint in a process of its own: prints its address, then the times of all requests."""
    from areopagus.testing import ProviderServer

    with ProviderServer(delay_s=delay_s, max_concurrent=at_once, when_full="queue") as server:
        print(server.openai_base, flush=True)
        for line in sys.stdin:
            if line == "count\n":
                print(server.counts.total, flush=True)
            else:
                print(*(f"{request.time:.4f}" for request in server.requests), flush=True)
                server.reset()


class Endpoint:
    """The other end of `serve`."""

    def __init__(self, case: Case) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve", str(case.delay_s), str(case.at_once)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._asking = threading.Lock()
        self.address = self._read()

    def total(self) -> int:
        """Requests so far."""
        with self._asking:
            self._write("count\n")
            return int(self._read())

    def times(self) -> list[float]:
        """When the requests arrived; forgets them."""
        with self._asking:
            self._write("times\n")
            return [float(word) for word in self._read().split()]

    def close(self) -> None:
        """Ends it."""
        self._process.terminate()
        self._process.wait()

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


class Nodes:
    """A head without processors, and nodes with one each."""

    def __init__(self, quota: float | None) -> None:
        from ray.cluster_utils import Cluster

        self._quota = quota
        self._groups: list[Path] = []
        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 0,
                "node_ip_address": HEAD,
                "include_dashboard": False,
                "object_store_memory": 80_000_000,
            },
        )
        self.address: str = self._cluster.address
        self.number = 0

    def add(self) -> None:
        """One more node."""
        self.number += 1
        node = self._cluster.add_node(
            num_cpus=1,
            node_ip_address=f"127.0.0.{self.number + 2}",
            object_store_memory=80_000_000,
        )
        if self._quota is not None:
            group = _CGROUPS / f"areopagus-{os.getpid()}-{self.number}"
            group.mkdir()
            self._groups.append(group)
            for infos in node.all_processes.values():
                for info in infos:
                    (group / "cgroup.procs").write_text(str(info.process.pid))

    def slow_down(self, slow: bool) -> None:
        """Puts the quota on or takes it off: starting is not what is measured."""
        quota = int(_PERIOD_US * self._quota) if slow and self._quota is not None else -1
        for group in self._groups:
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota))

    def close(self) -> None:
        """Ends all of them."""
        self.slow_down(False)
        self._cluster.shutdown()
        for group in self._groups:
            with contextlib.suppress(OSError):
                group.rmdir()


def rows(number: int) -> list[dict[str, str]]:
    """Responses of some hundred words, all different."""
    text = "On the one hand this, on the other hand that, and a source for either. " * 20
    return [
        {
            "response_id": f"r{n}",
            "prompt_text": "Was the reform just?",
            "response_text": f"{n}. {text}",
        }
        for n in range(number)
    ]


def steady(times: list[float]) -> float:
    """Calls a second between the first quarter and nine tenths."""
    ordered = sorted(times)
    first, last = len(ordered) // 4, 9 * len(ordered) // 10
    return (last - first) / (ordered[last] - ordered[first])


def run(
    case: Case, endpoint: Endpoint, ledger: str, responses: int, nodes: Nodes | None
) -> tuple[float, float, float]:
    """Calls a second, seconds before the first call, and seconds in all."""
    from areopagus import Panel
    from areopagus.engines import RayEngine
    from areopagus.experiment.config import ScoreConfig
    from areopagus.experiment.job import run_job
    from areopagus.experiment.score import ScoreJob
    from areopagus.records.readers.responses import ResponseSource

    model = {
        "model": "hosted_vllm/bench",
        "api_base": endpoint.address,
        "concurrency": case.concurrency,
        "structured": "json_schema",
    }
    engine = None if nodes is None else RayEngine(nodes.address, driver_ip=HEAD)
    began, over = time.time(), threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            if nodes is not None and endpoint.total() > 20:
                nodes.slow_down(True)
                return

    watching = threading.Thread(target=watch)
    with tempfile.TemporaryDirectory() as folder, Panel(model, ledger=ledger) as panel:
        watching.start()
        config = ScoreConfig(out=folder)
        job = ScoreJob(panel.spec, ResponseSource(rows(responses)), config, engine=engine)
        done = run_job(job)
        over.set()
        watching.join()
        if nodes is not None:
            nodes.slow_down(False)
        assert done.counts["scored"] == 10 * responses
    ended, times = time.time(), endpoint.times()
    return steady(times), times[0] - began, ended - began


@contextlib.contextmanager
def ledger_server(given: str | None) -> Iterator[Any]:
    """A function that gives the address of a new ledger."""
    number = 0

    def new() -> str:
        nonlocal number
        number += 1
        schema = f"bench_{os.getpid()}_{number}"
        base = given if given is not None else server.address().split("?")[0]
        return f"{base}{'&' if '?' in base else '?'}schema={schema}"

    if given is not None:
        yield new
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from postgres_server import PASSWORD, PostgresServer, missing

    from areopagus.records.ledger.address import without_password

    reason = missing()
    if reason is not None:
        raise SystemExit(f"{reason}: name a server with --ledger")
    os.environ["PGPASSWORD"] = PASSWORD
    server = PostgresServer()
    try:
        server.start()
        yield lambda: without_password(new())
    finally:
        server.remove()


def main() -> None:
    """Prints a line for each case and number of nodes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--responses", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", choices=[case.name for case in CASES], help="only this one")
    parser.add_argument("--quota", type=float, help="cores a node")
    parser.add_argument("--ledger", help="address of a PostgreSQL ledger")
    parser.add_argument("--serve", type=float, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve[0], int(given.serve[1]))
        return
    os.environ |= {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    with ledger_server(given.ledger) as new_ledger:
        head = f"{'limit':<11}{'nodes':>7}{'calls/s':>10}{'from':>8}{'to':>8}{'ratio':>8}"
        print(f"{head}{'start s':>9}{'all s':>8}")
        for case in [case for case in CASES if given.case in (None, case.name)]:
            endpoint = Endpoint(case)
            nodes = Nodes(given.quota)
            try:
                rounds = range(given.rounds)
                alone = [run(case, endpoint, new_ledger(), given.responses, None) for _ in rounds]
                show(case, "none", alone, None)
                first: float | None = None
                for number in sorted(given.nodes):
                    while nodes.number < number:
                        nodes.add()
                    found = [
                        run(case, endpoint, new_ledger(), given.responses, nodes) for _ in rounds
                    ]
                    first = first or statistics.median(each[0] for each in found)
                    show(case, str(number), found, first)
            finally:
                nodes.close()
                endpoint.close()


def show(
    case: Case, nodes: str, found: list[tuple[float, float, float]], first: float | None
) -> None:
    """One line."""
    rates = [each[0] for each in found]
    rate, start, whole = (statistics.median(column) for column in zip(*found, strict=True))
    ratio = f"{rate / first:8.2f}" if first else f"{'–':>8}"
    print(
        f"{case.name:<11}{nodes:>7}{rate:10.1f}{min(rates):8.1f}{max(rates):8.1f}{ratio}"
        f"{start:9.1f}{whole:8.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
