"""What every test starts from: a home of its own, no keys, no network beyond this machine."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import processes
import pytest
from chromium import Chromium, Tab, find_chromium
from hypothesis import settings
from postgres_server import PostgresServer, missing

from areopagus.async_runner import new_loop

try:
    import uvloop
except ImportError:  # the extra `fast` is not installed: asyncio's loop goes through `socket`
    uvloop = None  # type: ignore[assignment]

# Many tests start Python, and each process of the suite reads all tests: what one has compiled
# serves the others, also where the shell has switched that off.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Matrices of tests are small. Threads of the linear algebra would wait for each other's cores, as
# several processes of tests share them: tests then take up to eight times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# As in a command (`own_process`): to look through all that is loaded for garbage again and again
# takes a tenth of the suite's time.
gc.set_threshold(20_000)

# An example may take its time where others use the machine.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

# A shell lets what it runs in the background ignore SIGINT, and every process started from there.
# Those that the tests interrupt must not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Three processes on two cores: while one waits for what it starts, the others work.

    Each more reads all tests and loads the libraries once more: a quarter of a minute.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (cores or 1) + 1


@pytest.hookimpl(trylast=True)  # what is deselected is gone by then
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each process has its share of the long tests, and has it first; what is costly, one has.

    A process is given the tests in one piece, as many as each of the others, and others take from
    its end: long tests that all stand in one piece, or at an end, leave the other cores idle. What
    takes seconds to start (a browser; a process to fork others from) is started once, as all tests
    that use it stand in one piece.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    firsts: list[list[pytest.Item]] = [[] for _ in range(workers)]
    costly: dict[str, list[pytest.Item]] = {"forks": [], "browser": []}
    long, short = [], []
    for item in items:
        needed = _costly(item)
        (costly[needed] if needed else long if _is_long(item) else short).append(item)
    for place, group in enumerate(costly.values()):
        firsts[place % workers] += sorted(group, key=_is_long, reverse=True)
    for number, item in enumerate(long):
        firsts[-1 - number % max(1, workers - len(costly))].append(item)
    ordered: list[pytest.Item] = []
    for place, first in enumerate(firsts):
        size = (len(items) - len(ordered)) // (workers - place)
        taken = max(0, size - len(first))
        ordered += first + short[:taken]
        del short[:taken]
    items[:] = ordered + short


def _costly(item: pytest.Item) -> str:
    """What a test uses that takes seconds to start, in each process that does."""
    module = getattr(item, "module", None)
    used = () if module is None else vars(module).values()
    if any(getattr(one, "__module__", "") in _FORKING and one not in _HARMLESS for one in used):
        return "forks"
    return "browser" if "chromium" in getattr(item, "fixturenames", ()) else ""


def _is_long(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) is not None for name in ("slow", "long"))


_FORKING = ("processes", "study_process")
_HARMLESS = (processes.Finished, processes.until)


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Coroutines are tested on the loop of a run, those marked `both_loops` on asyncio's too."""
    own: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"own": new_loop}
    if item.get_closest_marker("both_loops"):
        own["asyncio"] = asyncio.new_event_loop
    return own


_LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0", "")


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's ledger, personas and keys are never touched."""
    monkeypatch.setenv("AREOPAGUS_HOME", str(tmp_path_factory.mktemp("home")))
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL")) or name.startswith("LANGSMITH"):
            monkeypatch.delenv(name)


def _guarded_loop() -> type[asyncio.AbstractEventLoop]:
    """uvloop's loop, which looks names up and connects without Python's `socket`."""

    class GuardedLoop(uvloop.Loop):
        async def getaddrinfo(self, host: Any, *rest: Any, **named: Any) -> Any:
            _refuse(host)
            return await super().getaddrinfo(host, *rest, **named)

        async def create_connection(
            self, protocol_factory: Any, host: Any = None, *rest: Any, **named: Any
        ) -> Any:
            _refuse(host)
            return await super().create_connection(protocol_factory, host, *rest, **named)

    return GuardedLoop


@pytest.fixture(autouse=True, scope="session")
def _loopback_only() -> Iterator[None]:
    """A connection or look-up beyond this machine fails the test that makes it."""
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            _refuse(address[0])
        connect(self, address)

    def guarded_look_up(host: Any, *rest: Any, **named: Any) -> Any:
        _refuse(host)
        return look_up(host, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket, "getaddrinfo", guarded_look_up)
        if uvloop is not None:
            patch.setattr(uvloop, "new_event_loop", _guarded_loop())
        yield


@pytest.fixture(autouse=True)
def _no_report_unread(request: pytest.FixtureRequest) -> None:
    """Jobs write their report only for tests that read it: it takes as long as a small job."""
    parts = request.path.relative_to(Path(__file__).parent).parts
    if "report" not in request.keywords and parts[0] not in _READ_REPORTS:
        request.getfixturevalue("no_report")


_READ_REPORTS = (
    *("hostile", "integrations", "reports", "view"),
    *("test_docs.py", "test_figures.py", "test_imported.py", "test_soak.py"),
)
"""Folders and modules of tests that read reports; other tests that do are marked `report`."""


@pytest.fixture
def no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs end without their report, which takes longer than all the rest."""
    monkeypatch.setattr(
        "areopagus.run.JobRun.write_report", lambda run, *_, **__: run.path / "report.html"
    )


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running server; the test is skipped, saying why, where there can be none."""
    pytest.importorskip("pg8000", reason="the driver is missing: pip install 'areopagus[postgres]'")
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """The browser; the test is skipped where there is none."""
    if find_chromium() is None:
        pytest.skip("no Chromium on this machine")
    with Chromium() as opened:
        yield opened


@pytest.fixture
def tab(chromium: Chromium) -> Iterator[Tab]:
    """A new tab of the one browser."""
    opened = chromium.tab()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def examples() -> Path:
    """The examples of the repository."""
    return Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real material beside the checkout; the test is skipped where it is absent."""
    path = Path(__file__).parents[2] / "shared" / "data"
    if not path.is_dir():
        pytest.skip("the shared data is not beside this checkout")
    return path


def _refuse(host: Any) -> None:
    name = host.decode() if isinstance(host, bytes) else str(host or "")
    if not name.startswith(_LOOPBACK[:-1]) and name not in _LOOPBACK and ".invalid" not in name:
        raise AssertionError(f"a test reached for {name}")
