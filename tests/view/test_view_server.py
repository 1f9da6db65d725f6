"""The server through HTTP: who may ask, what can be named, and the files that it writes instead."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from in_process import areopagus
from view_world import HOSTILE_NAME, copy

from areopagus.errors import InputError
from areopagus.view import serve_view, write_view
from areopagus.view.app import ViewApp
from areopagus.view.serving import run_view

Client = TestClient[Any, Any]


@pytest.fixture
def app(world_once: Path) -> Any:
    found = ViewApp(world_once)
    yield found
    found.close()


@pytest.fixture
async def client(app: ViewApp) -> AsyncIterator[Client]:
    async with TestClient(TestServer(app.application())) as found:
        yield found


async def listed(client: Client, app: ViewApp) -> list[dict[str, Any]]:
    """The list once every headline is read."""
    while True:
        answer = await client.get(f"/{app.secret}/api/runs")
        runs = (await answer.json())["runs"]
        if all(run["is_read"] or not run["has_page"] for run in runs):
            return list(runs)
        await asyncio.sleep(0.05)


async def test_the_list_comes_again_only_when_it_has_changed(client: Client, app: ViewApp) -> None:
    runs = await listed(client, app)
    assert len(runs) > 20
    first = await (await client.get(f"/{app.secret}/api/runs")).json()
    again = await (await client.get(f"/{app.secret}/api/runs?seen={first['version']}")).json()
    assert again == {"version": first["version"]}


async def test_pages_and_comparisons_are_made_of_the_files(client: Client, app: ViewApp) -> None:
    runs = {run["path"]: run for run in await listed(client, app)}
    page = await client.get(f"/{app.secret}/runs/{runs['pilot']['id']}.html")
    assert page.status == 200
    text = await page.text()
    assert "alder scores higher" in text
    assert 'href="../index.html"' in text
    # The policy of the header is that of the page, and nobody may frame it.
    policy = page.headers["Content-Security-Policy"]
    assert policy.endswith("frame-ancestors 'none'")
    assert policy.split("; frame")[0] in text
    pair = "-".join(runs[path]["id"] for path in ("pilot", "six-judges"))
    compared = await client.get(f"/{app.secret}/compare/{pair}.html")
    assert "Comparison of 2 runs" in await compared.text()
    other = f"{runs['pilot']['id']}-{runs['pressed']['id']}"
    assert (await client.get(f"/{app.secret}/compare/{other}.html")).status == 404


async def test_nothing_but_what_is_listed_can_be_named(client: Client, app: ViewApp) -> None:
    runs = {run["path"]: run for run in await listed(client, app)}
    for path in (
        f"runs/{runs['broken/reaches-out']['id']}.html",
        f"runs/{runs['broken/elsewhere']['id']}.html",
        "runs/000000000000.html",
        "runs/..%2f..%2fledger.sqlite",
        "../ledger.sqlite",
        "pilot/run.json",
        "runs/pilot/run.json",
        "api/runs/x",
    ):
        assert (await client.get(f"/{app.secret}/{path}")).status == 404, path
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = await client.request(method, f"/{app.secret}/api/runs")
        assert answer.status == 405


async def test_only_this_machine_with_the_secret_may_ask(client: Client, app: ViewApp) -> None:
    for secret in ("x", app.secret[:-1], app.secret + "x", "%00", "\u00e9"):
        answer = await client.get(f"/{secret}/api/runs")
        assert answer.status == 404
        assert app.secret not in await answer.text()
    assert (await client.get("/")).status == 404
    place = f"/{app.secret}/api/runs"
    elsewhere = {"Host": "attacker.example:80"}
    assert (await client.get(place, headers=elsewhere)).status == 403
    other_site = {"Sec-Fetch-Site": "cross-site"}
    assert (await client.get(place, headers=other_site)).status == 403
    for host in ("localhost:1", "127.0.0.1", "[::1]:99"):
        assert (await client.get(place, headers={"Host": host})).status == 200


async def test_every_answer_has_the_policy_of_the_study(client: Client, app: ViewApp) -> None:
    for path in ("", "view.js", "view.css", "api/runs", "nothing"):
        answer = await client.get(f"/{app.secret}/{path}")
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Server"] == "areopagus"


async def test_the_log_holds_no_secret(
    client: Client, app: ViewApp, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="areopagus.view"):
        await client.get(f"/{app.secret}/api/runs")
        await client.get("/elsewhere/api/runs")
    assert "/{secret}/api/runs" in caplog.text
    assert app.secret not in caplog.text
    assert "elsewhere" not in caplog.text


async def test_it_is_bound_to_this_machine_alone(world_once: Path) -> None:
    app, stop = ViewApp(world_once), asyncio.Event()
    told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(run_view(app, port=0, started=told.set_result, stop=stop))
    url = await told
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", url)
    port = int(url.split(":")[2].split("/")[0])
    for family, address in ((socket.AF_INET, "127.0.0.2"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as other:
            other.settimeout(1)
            assert other.connect_ex((address, port)) != 0
    stop.set()
    await task
    app.close()


def test_what_is_no_folder_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        serve_view(tmp_path / "nowhere")
    found = areopagus("view", "nowhere", folder=tmp_path)
    assert (found.returncode, "nowhere: is not a folder" in found.stderr) == (2, True)
    found = areopagus("view", "--compare", "a", "b", folder=tmp_path)
    assert (found.returncode, "--static OUT" in found.stderr) == (2, True)


@pytest.fixture
def few(world: Path, tmp_path: Path) -> Path:
    """A folder with few runs: two panels, a broken one, one with texts taken out."""
    folder = tmp_path / "few"
    for name in ("pilot", "six-judges"):
        copy(world / name, folder / name)
    (folder / "six-judges" / "texts.parquet").unlink()
    copy(world / "broken" / "no-figures", folder / HOSTILE_NAME)
    return folder


def test_a_view_is_written_as_files_and_says_what_they_hold(few: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in few.rglob("*")}
    found = areopagus(
        "view", few, "--static", "site", "--compare", "pilot", "six-judges", folder=tmp_path
    )
    assert found.returncode == 0, found.stderr
    assert "4 runs, 3 pages" in found.stdout
    assert "no figures yet" in found.stdout
    assert "\u202e" not in found.stdout
    assert "1 page holds the texts of prompts and responses" in " ".join(found.stdout.split())
    assert all(len(line) <= 80 for line in found.stdout.splitlines())
    site = tmp_path / "site"
    data = json.loads((site / "runs.json").read_text(encoding="utf-8"))
    pages = {run["path"]: site / "runs" / f"{run['id']}.html" for run in data["runs"]}
    assert [path.is_file() for path in pages.values()].count(True) == 3
    assert not pages[HOSTILE_NAME].exists()
    (pair,) = data["comparisons"]
    assert (site / "compare" / f"{pair[0]}-{pair[1]}.html").is_file()
    for path in site.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert str(few) not in text
        umask = os.umask(0)
        os.umask(umask)
        assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    # Only read.
    assert {path: path.stat().st_mtime_ns for path in few.rglob("*")} == before

    # Written again, what is gone from the list is gone from the files.
    (few / "six-judges").rename(tmp_path / "gone")
    again = write_view(few, site)
    assert (again.n_runs, again.n_pages) == (3, 2)
    assert len(list((site / "runs").iterdir())) == 2
    assert not list((site / "compare").iterdir())


def test_files_of_somebody_else_are_not_overwritten(few: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("mine")
    with pytest.raises(InputError, match="holds other files"):
        write_view(few, tmp_path / "site")
    assert (tmp_path / "site" / "index.html").read_text() == "mine"
    with pytest.raises(InputError, match="is no run in the list that can be compared"):
        write_view(few, tmp_path / "other", compare=[("pilot", "nothing")])
    assert not (tmp_path / "other").exists()


def test_a_page_that_cannot_be_made_says_why(few: Path, tmp_path: Path) -> None:
    (few / "pilot" / "judgments.parquet").unlink()
    made = write_view(few, tmp_path / "site")
    data = json.loads((made.folder / "runs.json").read_text(encoding="utf-8"))
    (pilot,) = [run for run in data["runs"] if run["path"] == "pilot"]
    text = (made.folder / "runs" / f"{pilot['id']}.html").read_text(encoding="utf-8")
    assert "pilot cannot be shown" in text
    assert "judgments.parquet" in text
