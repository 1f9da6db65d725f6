"""A view in a real browser: listed, compared, read, followed until it ends, and as files."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chromium import Tab, find_chromium
from view_world import BROKEN, COPIES, EXAMPLES

from areopagus import Panel
from areopagus.testing import ProviderServer, by_hash
from areopagus.view import write_view
from areopagus.view.app import ViewApp
from areopagus.view.serving import run_view

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine"),
]

PATHS = "[...document.querySelectorAll('.run h2')].map((one) => one.textContent)"
READY = "document.documentElement?.dataset.ready !== undefined"
READ = "!document.body.innerText.includes('reading …')"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which a folder's view is served by a thread."""
    app, told = ViewApp(folder), threading.Event()
    found: list[str] = []
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def started(url: str) -> None:
        found.append(url)
        told.set()

    async def serve() -> None:
        stop = asyncio.Event()
        loops.append((asyncio.get_running_loop(), stop))
        await run_view(app, port=0, started=started, stop=stop)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert told.wait(30)
        yield found[0]
    finally:
        loop, stop = loops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        app.close()


def opened(tab: Tab, url: str) -> None:
    tab.go(url)
    tab.wait_for(READY)
    tab.wait_for(READ, timeout_s=120)


def choose(tab: Tab, label: str, value: str) -> None:
    """Sets the choice under a label of the tools."""
    tab.run(
        f"(() => {{ const select = [...document.querySelectorAll('#tools label')]"
        f".find((one) => one.firstChild.textContent === '{label}').querySelector('select');"
        f"select.value = '{value}';"
        "select.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )


def box(path: str) -> str:
    """The box that puts a run up for comparison."""
    return f"#runs [data-id] input[aria-label='compare {path}']"


def test_over_twenty_runs_are_listed_chosen_compared_and_read(world_once: Path, tab: Tab) -> None:
    tab.fresh()
    with served(world_once) as url:
        opened(tab, url)
        paths = tab.run(PATHS)
        assert len(paths) > 20
        assert {"pilot", "pressed", "attacked", "audits/socioeval", "pilot/calibration"} <= set(
            paths
        )
        assert "pressed/panel" not in paths
        assert "parts of larger jobs are not shown" in tab.run(
            "document.getElementById('told').textContent"
        )
        # A name is text, whatever it looks like, and hidden characters are codes.
        assert any(path.startswith("<img src=x onerror=alert(1)> U+202E") for path in paths)
        assert tab.run("document.querySelectorAll('main img, main script').length") == 0
        text = tab.run("document.querySelector('main').innerText")
        assert "alder scores higher" in text
        for reason in BROKEN.values():
            assert reason in text

        choose(tab, "kind", "audit")
        assert sorted(tab.run(PATHS)) == ["audits/samaritan", "audits/socioeval"]
        choose(tab, "kind", "")
        choose(tab, "state", "budget")
        assert tab.run(PATHS) == [
            "series/run-11",
            "series/run-08",
            "series/run-05",
            "series/run-02",
        ]
        choose(tab, "order", "oldest")
        assert tab.run(PATHS)[0] == "series/run-02"
        choose(tab, "state", "")
        tab.type("#tools input[type=search]", "series")
        assert len(tab.run(PATHS)) == COPIES
        tab.run("document.querySelector('#tools input[type=search]').value = ''")
        tab.click("#tools input[type=checkbox]")
        assert "pressed/panel" in tab.run(PATHS)
        choose(tab, "order", "newest")

        for width in (1280, 390):
            tab.resize(width)
            assert tab.run("document.documentElement.scrollWidth") <= width
        tab.resize(1280)
        tab.pictures("view-list")
        tab.click(box("pilot"))
        assert "choose a second run" in tab.run("document.getElementById('compare').innerText")
        tab.click(box("six-judges"))
        tab.click("#compare-link")
        tab.wait_for(f"location.href.includes('/compare/') && {READY}", timeout_s=120)
        assert "Comparison of 2 runs" in tab.run("document.body.innerText")

        # Back, into a run, to an answer with its judges' reasons, and home again.
        tab.click("nav a")
        tab.wait_for(f"location.href.endsWith('/index.html') && {READY}")
        tab.run(
            "[...document.querySelectorAll('.run h2 a')]"
            ".find((one) => one.textContent === 'pilot').click()"
        )
        tab.wait_for(f"location.href.includes('/runs/') && {READY}", timeout_s=120)
        tab.run("document.querySelector('.excerpts h3 a').click()")
        tab.wait_for("document.querySelector('dialog[open] .answer .judges li p')")
        assert tab.run("document.querySelectorAll('dialog .answer').length") == 4
        assert tab.complaints == []
        here = url.rsplit("/", 2)[0]
        assert all(one.startswith(f"{here}/") for one in tab.requests.values())


@pytest.mark.long
def test_a_run_at_work_is_followed_until_it_ends(
    tmp_path: Path, tab: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("areopagus.experiment.run_record.AUTOSAVE_S", 0.2)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    runs = tmp_path / "runs"
    runs.mkdir()
    tab.fresh()
    with ProviderServer(by_hash(1, 10), delay_s=0.6) as server, served(runs) as url:
        tab.go(url)
        tab.wait_for(READY)
        assert "No run is here" in tab.run("document.getElementById('told').textContent")
        models = [
            {
                "model": "openai/slow",
                "api_base": server.openai_base,
                "concurrency": 2,
            }
        ]
        with Panel(
            models=models, personas=["historian", "ethicist"], ledger=tmp_path / "l"
        ) as panel:
            job = threading.Thread(
                target=lambda: panel.score_many(EXAMPLES / "responses.csv", out=runs / "now")
            )
            job.start()
            seen: set[int] = set()
            done = "document.querySelector('[data-progress]')?.dataset.progress"
            tab.wait_for(
                "document.querySelector('.run[data-state=running] progress')", timeout_s=60
            )
            tab.pictures("view-live")
            while job.is_alive():
                if (found := tab.run(done)) is not None:
                    seen.add(int(found))
                job.join(0.1)
        assert len(seen) > 1, seen  # it was seen to go on
        tab.wait_for(
            "document.querySelector('.run[data-state=complete] .answer-line')", timeout_s=60
        )
        assert tab.run("document.querySelectorAll('.run progress').length") == 0
        assert tab.complaints == []
    # The server ends: the page says so, and keeps what it has.
    tab.wait_for(
        "document.getElementById('told').textContent.includes('not there any more')", timeout_s=30
    )
    assert tab.run(PATHS) == ["now"]


@pytest.mark.long
def test_written_files_are_the_same_without_a_server(
    world_once: Path, tab: Tab, tmp_path: Path
) -> None:
    made = write_view(world_once / "series", tmp_path / "site", compare=[("run-00", "run-01")])
    tab.fresh(width=390)
    tab.open(made.folder / "index.html")
    assert len(tab.run(PATHS)) == COPIES
    assert tab.run("document.documentElement.scrollWidth") <= 390
    tab.click(box("run-00"))
    tab.click(box("run-02"))
    assert "hold no comparison of the two" in tab.run(
        "document.getElementById('compare').innerText"
    )
    tab.click(box("run-02"))
    tab.click(box("run-01"))
    tab.click("#compare-link")
    tab.wait_for(f"location.href.includes('/compare/') && {READY}")
    assert "Comparison of 2 runs" in tab.run("document.body.innerText")
    tab.click("nav a")
    tab.wait_for(f"location.href.endsWith('/index.html') && {READY}")
    tab.click(".run h2 a")
    tab.wait_for(f"location.href.includes('/runs/') && {READY}")
    tab.run("location.hash = '#prompts/0'")
    tab.wait_for("document.querySelector('dialog[open] .answer .markdown')")
    assert tab.complaints == []
    assert tab.requests == {}  # nothing but files
