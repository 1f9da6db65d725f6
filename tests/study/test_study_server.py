"""The server through HTTP: what it gives, what it takes, and what never gets lost."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import logging
import os
import re
import signal
import sqlite3
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer
from study_data import MODELS_PROMPT, secrets_of, study_rows
from study_process import StudyServer

from areopagus import web_server
from areopagus.errors import InputError, StoreError
from areopagus.study import (
    BuiltStudy,
    RatingSettings,
    WritingSettings,
    build_study,
    build_writing,
    open_app,
    serve_study,
)
from areopagus.study import app as study_app
from areopagus.study.serving import run_app
from areopagus.web_server import HEADERS

Client = TestClient[Any, Any]


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Rater:
    """One rater's requests."""

    def __init__(self, client: Client, secret: str) -> None:
        self.client = client
        self.headers = {"Authorization": f"Bearer {secret}"}

    async def ask(self, method: str, path: str, **given: Any) -> tuple[int, Any]:
        headers = {**self.headers, **given.pop("headers", {})}
        async with self.client.request(method, path, headers=headers, **given) as response:
            return response.status, await response.json()

    async def get(self, path: str) -> Any:
        status, found = await self.ask("GET", path)
        assert status == 200, found
        return found

    async def save(self, number: int, **given: Any) -> tuple[int, Any]:
        page = await self.get(f"/api/pages/{number}")
        body = {
            "revision": page["revision"], "save_id": os.urandom(6).hex(), "scores": page["scores"],
            "comment": page["comment"], "done": False, "active_ms": 0,
        }  # fmt: skip
        return await self.ask("PUT", f"/api/pages/{number}", json={**body, **given})


def full(page: dict[str, Any], dimensions: list[str], base: int = 5) -> dict[str, dict[str, int]]:
    """Scores for all responses of a page."""
    return {
        one["label"]: dict.fromkeys(dimensions, 1 + (base + place) % 10)
        for place, one in enumerate(page["responses"])
    }


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def client(built: BuiltStudy, clock: Clock) -> AsyncIterator[Client]:
    # Without the organiser's folder: a machine that serves has none.
    (built.folder / "organiser").rename(built.folder.parent / "organiser")
    app = open_app(built.folder, clock=clock)
    async with TestClient(TestServer(app.application())) as found:
        yield found
    app.close()


@pytest.fixture
def rater(client: Client, built: BuiltStudy) -> Rater:
    return Rater(client, secrets_of(built.folder.parent)["rater-01"])


@pytest.fixture
def other(client: Client, built: BuiltStudy) -> Rater:
    return Rater(client, secrets_of(built.folder.parent)["rater-02"])


async def dimensions(rater: Rater) -> list[str]:
    return [one["id"] for one in (await rater.get("/api/study"))["rubric"]["dimensions"]]


async def test_a_rater_sees_rubric_pages_and_sittings(rater: Rater) -> None:
    study = await rater.get("/api/study")
    assert study["kind"] == "rating"
    assert [page["number"] for page in study["pages"]] == list(range(1, 9))
    assert [page["session"] for page in study["pages"]] == [1] * 5 + [2] * 3
    assert [page["state"] for page in study["pages"]] == ["new"] * 5 + ["later"] * 3
    rubric = study["rubric"]
    assert (rubric["low"], rubric["high"], len(rubric["dimensions"])) == (1, 10, 5)
    assert rubric["dimensions"][0]["anchors"][0]["score"] == 2


async def test_a_save_comes_back_as_it_was_and_can_be_taken_back(
    rater: Rater, other: Rater, clock: Clock
) -> None:
    page = await rater.get("/api/pages/1")
    clock.now += 60
    scores = {"A": {"conceptual_clarity": 7}, "B": {"conceptual_clarity": 3}}
    status, reply = await rater.save(1, scores=scores, comment="= A is <b>clear</b>")
    assert (status, reply["revision"], reply["done"]) == (200, 1, False)
    again = await rater.get("/api/pages/1")
    assert again["comment"] == "= A is <b>clear</b>"
    assert again["scores"]["A"] == {"conceptual_clarity": 7}
    assert again["scores"]["C"] == {}
    assert again["responses"] == page["responses"]
    assert (await rater.get("/api/study"))["pages"][0]["state"] == "started"
    # One rater cannot reach into another's pages.
    theirs = await other.get("/api/pages/1")
    assert (theirs["scores"]["A"], theirs["comment"]) == ({}, "")
    await rater.save(1, scores={"A": {"conceptual_clarity": None}})
    assert (await rater.get("/api/pages/1"))["scores"]["A"] == {}


async def test_a_page_is_done_only_with_all_scores(rater: Rater) -> None:
    names = await dimensions(rater)
    page = await rater.get("/api/pages/1")
    scores = full(page, names)
    del scores["C"][names[2]]
    status, reply = await rater.save(1, scores=scores, done=True)
    assert status == 422
    assert reply["faults"] == [f"scores.C.{names[2]}: is missing"]
    status, reply = await rater.save(1, scores=full(page, names), done=True)
    assert (status, reply["done"]) == (200, True)
    assert reply["study"]["pages"][0]["state"] == "done"


async def test_an_order_and_reasons_that_are_asked_for_are_held_to(tmp_path: Path) -> None:
    rows = study_rows(prompts=1, calibration=False)
    built = build_study(
        [rows], raters=2, out=tmp_path / "s",
        settings={"per_packet": 3, "humans": 1, "rank": True,
                  "justify": ("overall", "conceptual_clarity"), "justify_chars": 10},
    )  # fmt: skip
    app = open_app(built.folder)
    async with TestClient(TestServer(app.application())) as client:
        rater = Rater(client, secrets_of(built.folder)["rater-01"])
        study = await rater.get("/api/study")
        assert (study["rank"], study["justify_chars"]) == (True, 10)
        assert study["justify"] == ["overall", "conceptual_clarity"]
        names = await dimensions(rater)
        page = await rater.get("/api/pages/1")
        assert (page["places"], page["feedback"]) == ({}, {})
        assert page["reasons"] == {"conceptual_clarity": ""}
        whole = {"scores": full(page, names), "done": True}
        status, reply = await rater.save(1, **whole, reasons={"conceptual_clarity": "  short   "})
        assert status == 422
        assert reply["faults"] == [
            "places: are missing",
            "reasons.overall: must have at least 10 characters",
            "reasons.conceptual_clarity: must have at least 10 characters",
        ]
        for places in ({"A": 1, "B": 2}, {"A": 1, "B": 2, "C": 2, "D": 4}, {"A": 1, "B": 1, "C": 2},
                       {"A": 0, "B": 2, "C": 3}):  # fmt: skip
            assert (await rater.save(1, places=places))[0] == 422, places
        assert (await rater.save(1, reasons={"charm": "not asked for"}))[0] == 422
        given = {"comment": "C says the most", "reasons": {"conceptual_clarity": "B is confused"},
                 "places": {"A": 1, "B": 3, "C": 1}}  # fmt: skip
        assert (await rater.save(1, **whole, **given))[0] == 200
        page = await rater.get("/api/pages/1")
        assert {name: page[name] for name in given} == given
    app.close()


async def test_an_order_that_nobody_asked_for_is_refused(rater: Rater) -> None:
    page = await rater.get("/api/pages/1")
    places = {one["label"]: 1 + at for at, one in enumerate(page["responses"])}
    assert (await rater.save(1, places=places))[0] == 422
    assert (await rater.save(1, feedback={"offensive": "", "other": ""}))[0] == 422
    assert (await rater.save(1, feedback={"offensive": ""}))[0] == 200
    assert (await rater.get("/api/pages/1"))["feedback"] == {"offensive": ""}


NO_RATINGS: list[dict[str, Any]] = [
    *({"scores": {"A": {"conceptual_clarity": score}}} for score in (11, 0, 5.0, "5", True)),
    {"scores": {"A": {"charm": 5}}},
    {"scores": {"G": {"conceptual_clarity": 5}}},
    {"scores": []},
    {"comment": "x" * 20_001},
    {"comment": None},
    {"revision": -1},
    {"active_ms": -5},
    {"save_id": ""},
    {"extra": 1},
]


async def test_what_is_no_rating_changes_nothing(rater: Rater) -> None:
    await rater.save(1, scores={"A": {"conceptual_clarity": 7}})
    for change in NO_RATINGS:
        status, reply = await rater.save(1, **change)
        assert status == 422, (change, reply)
        assert reply["faults"], change
        page = await rater.get("/api/pages/1")
        assert (page["scores"]["A"], page["revision"]) == ({"conceptual_clarity": 7}, 1), change


async def test_bodies_that_are_no_json_are_refused(rater: Rater) -> None:
    path = "/api/pages/1"
    json_type = {"Content-Type": "application/json"}
    for body in (b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000):
        status, _ = await rater.ask("PUT", path, data=body, headers=json_type)
        assert status == 422
    status, _ = await rater.ask("PUT", path, data=b"{}", headers={"Content-Type": "text/plain"})
    assert status == 415
    status, _ = await rater.ask("PUT", path, data=io.BytesIO(b" " * 2_000_000), headers=json_type)
    assert status == 413


def stored(folder: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(folder / "ratings.sqlite")) as base:
        return [value for (value,) in base.execute(query)]


async def test_a_save_sent_again_counts_once_and_one_from_an_old_window_not_at_all(
    rater: Rater, built: BuiltStudy, clock: Clock
) -> None:
    await rater.get("/api/pages/1")
    clock.now += 30
    body = {"revision": 0, "save_id": "same", "active_ms": 10**9,
            "scores": {"A": {"conceptual_clarity": 7}}}  # fmt: skip
    first, again = await rater.save(1, **body), await rater.save(1, **body)
    assert first[0] == again[0] == 200
    assert first[1]["revision"] == again[1]["revision"] == 1
    # Active time is no more than has passed.
    assert stored(built.folder, "SELECT active_ms FROM pages") == [35_000]
    status, reply = await rater.save(1, revision=0, scores={"A": {"conceptual_clarity": 1}})
    assert status == 409
    assert reply["page"]["scores"]["A"] == {"conceptual_clarity": 7}


async def test_every_save_is_kept(rater: Rater, built: BuiltStudy) -> None:
    for score in (3, 4, 5):
        await rater.save(1, scores={"A": {"conceptual_clarity": score}})
    bodies = [json.loads(body) for body in stored(built.folder, "SELECT body FROM saves")]
    assert [body["scores"]["A"]["conceptual_clarity"] for body in bodies] == [3, 4, 5]


async def test_the_next_sitting_opens_after_the_pause(tmp_path: Path, clock: Clock) -> None:
    made = build_study(
        [study_rows()],
        raters=2,
        out=tmp_path / "s",
        all_models=[MODELS_PROMPT],
        settings=RatingSettings(per_session=2, pause_minutes=30),
        seed=1,
    )
    app = open_app(made.folder, clock=clock)
    async with TestClient(TestServer(app.application())) as client:
        rater = Rater(client, secrets_of(made.folder)["rater-01"])
        names = await dimensions(rater)
        assert (await rater.ask("GET", "/api/pages/3"))[0] == 403
        for number in (1, 2):
            page = await rater.get(f"/api/pages/{number}")
            await rater.save(number, scores=full(page, names), done=True)
        study = await rater.get("/api/study")
        assert (study["session"], study["opens_in_s"]) == (2, 1800)
        assert (await rater.ask("GET", "/api/pages/3"))[0] == 403
        status, _ = await rater.ask("PUT", "/api/pages/3", json={})
        assert status == 403
        clock.now += 1799
        assert (await rater.ask("GET", "/api/pages/3"))[0] == 403
        clock.now += 2
        assert (await rater.get("/api/study"))["opens_in_s"] == 0
        await rater.get("/api/pages/3")
        assert (await rater.ask("GET", "/api/pages/5"))[0] == 403
        # Taking up an earlier page again does not close the sitting that was begun.
        page = await rater.get("/api/pages/1")
        await rater.save(1, scores=full(page, names, 2), done=True)
        await rater.get("/api/pages/3")
    app.close()


# Writing


@pytest.fixture
async def writer(tmp_path: Path, clock: Clock) -> AsyncIterator[Rater]:
    prompts = [{"prompt_id": f"q{n}", "prompt_text": f"Why is it so, case {n}?"} for n in range(3)]
    made = build_writing(prompts, writers=1, out=tmp_path / "w", seed=3,
                         settings=WritingSettings(minutes=30, pause_minutes=0))  # fmt: skip
    app = open_app(made.folder, clock=clock)
    async with TestClient(TestServer(app.application())) as client:
        yield Rater(client, secrets_of(made.folder)["writer-01"])
    app.close()


async def write(writer: Rater, text: str, *, done: bool = False, **given: Any) -> tuple[int, Any]:
    page = await writer.get("/api/pages/1")
    body = {"revision": page["revision"], "save_id": os.urandom(6).hex(), "text": text,
            "done": done, "active_ms": 0, "pasted_chars": 0}  # fmt: skip
    return await writer.ask("PUT", "/api/pages/1", json={**body, **given})


async def test_the_question_is_shown_when_the_clock_starts(writer: Rater, clock: Clock) -> None:
    page = await writer.get("/api/pages/1")
    assert (page["prompt"], page["started"], page["seconds_left"]) == (None, False, None)
    assert (await write(writer, "early"))[0] == 409
    status, page = await writer.ask("POST", "/api/pages/1/start")
    assert status == 200
    assert page["prompt"].startswith("Why is it so")
    assert page["seconds_left"] == 1800
    clock.now += 600
    _, page = await writer.ask("POST", "/api/pages/1/start")
    assert page["seconds_left"] == 1200  # starting again does not turn the clock back


async def test_what_is_there_when_the_time_is_over_counts(writer: Rater, clock: Clock) -> None:
    await writer.ask("POST", "/api/pages/1/start")
    clock.now += 1790
    assert (await write(writer, "Because of this."))[0] == 200
    clock.now += 25  # 15 s late: the network's
    assert (await write(writer, "Because of this and that."))[0] == 200
    clock.now += 10
    status, reply = await write(writer, "Because of much more.")
    assert status == 409
    assert reply["page"]["text"] == "Because of this and that."
    assert reply["page"]["done"] is True
    assert (await writer.get("/api/study"))["pages"][0]["state"] == "done"


async def test_what_is_handed_in_stays(writer: Rater) -> None:
    await writer.ask("POST", "/api/pages/1/start")
    # Half a surrogate pair is stored as text, or refused.
    assert (await write(writer, "a \ud800 b"))[0] in (200, 422)
    await writer.get("/api/pages/1")
    assert (await write(writer, "   ", done=True))[0] == 422
    assert (await write(writer, "Done.", done=True))[0] == 200
    assert (await write(writer, "Changed."))[0] == 409
    assert (await writer.get("/api/pages/1"))["text"] == "Done."


# What is not there, and who may not ask


async def test_no_link_and_a_wrong_one_get_the_same_answer(client: Client, rater: Rater) -> None:
    answers = set()
    for headers in (
        {}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer "},
        {"Authorization": rater.headers["Authorization"].replace("Bearer", "Basic")},
        {"Authorization": rater.headers["Authorization"] + "x"},
        {"Cookie": rater.headers["Authorization"]},
    ):  # fmt: skip
        async with client.get("/api/study", headers=headers) as response:
            answers.add((response.status, await response.text()))
    assert answers == {(401, '{"error": "this link is not known"}')}
    # One of bytes that are no text arrives with surrogates, and ended in a traceback and a 500.
    reader, writing = await asyncio.open_connection(client.host, client.port)
    writing.write(
        b"GET /api/study HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        b"Authorization: Bearer \xff\xfe\r\n\r\n"
    )
    answer = await reader.read()
    writing.close()
    await writing.wait_closed()
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert answer.endswith(b'{"error": "this link is not known"}')


NOWHERE = (
    "/api/pages/9", "/api/pages/0", "/api/pages/01", "/api/pages/-1", "/api/pages/1e0",
    "/api/pages/%2e%2e", "/api", "/packets/packets.jsonl", "/../organiser/source_map.csv",
    "/%2e%2e/organiser/source_map.csv", "/ratings.sqlite", "/web/study.js", "/study.js/",
)  # fmt: skip


async def test_there_is_nothing_else_and_other_methods_and_sites_are_refused(rater: Rater) -> None:
    for path in NOWHERE:
        assert (await rater.ask("GET", path))[0] == 404, path
    for method in ("POST", "DELETE", "PATCH"):
        assert (await rater.ask(method, "/api/pages/1"))[0] == 405
    assert (await rater.ask("POST", "/api/pages/1/start"))[0] == 404
    for site in ("cross-site", "same-site"):
        status, _ = await rater.ask("GET", "/api/study", headers={"Sec-Fetch-Site": site})
        assert status == 403


async def test_every_answer_has_the_strict_headers(client: Client, rater: Rater) -> None:
    for path in ("/", "/study.js", "/study.css", "/api/study", "/api/pages/1", "/nowhere"):
        async with client.get(path, headers=rater.headers) as response:
            policy = response.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert response.headers["Cache-Control"] == "no-store"
            assert response.headers["Referrer-Policy"] == "no-referrer"
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            assert response.headers["Server"] == "areopagus"
            for name in ("ETag", "Last-Modified", "Set-Cookie", "Access-Control-Allow-Origin"):
                assert name not in response.headers


async def test_the_page_has_no_inline_script_and_nothing_from_elsewhere(client: Client) -> None:
    for path in ("/", "/study.css", "/study.js", "/rating.js", "/writing.js", "/saving.js"):
        async with client.get(path) as response:
            text = await response.text()
        assert not re.search(r"https?://|//[a-z]+\.", text.replace("// ", "")), path
        if path == "/":
            assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", text)
        if path.endswith(".js"):
            assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", text)


async def test_logs_hold_no_secret(
    client: Client, rater: Rater, caplog: pytest.LogCaptureFixture
) -> None:
    secret = rater.headers["Authorization"].split()[1]
    with caplog.at_level(logging.DEBUG):
        await rater.save(1, scores={"A": {"conceptual_clarity": 7}})
        await rater.ask("GET", f"/{secret}")
        await rater.ask("GET", f"/api/pages/{secret}")
        await rater.ask("PUT", "/api/pages/1", data=b"{")
    # aiohttp's own access log is the test server's; `serve_study` has none.
    ours = [one.getMessage() for one in caplog.records if one.name.startswith("areopagus")]
    assert any(one.startswith("r01 PUT /api/pages/{number} 200") for one in ours)
    assert any("(no such page) 404" in one for one in ours)
    assert not any(secret in one for one in ours)


# What aiohttp refuses before the handlers are asked


@asynccontextmanager
async def running(built: BuiltStudy) -> AsyncIterator[int]:
    """The study as `serve_study` runs it, and its port."""
    stop, bound = asyncio.Event(), asyncio.get_running_loop().create_future()
    served_study = run_app(
        open_app(built.folder), host="127.0.0.1", port=0, stop=stop,
        started=lambda address: bound.set_result(address.port),
    )  # fmt: skip
    task = asyncio.create_task(served_study)
    try:
        yield await bound
    finally:
        stop.set()
        await task


async def sent(port: int, request: bytes) -> tuple[int, dict[str, str], Any]:
    """The answer to these very bytes: status, headers, body."""
    reader, writing = await asyncio.open_connection("127.0.0.1", port)
    writing.write(request)
    answer = await asyncio.wait_for(reader.read(), 10)
    writing.close()
    await writing.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    return int(first.split()[1]), dict(line.split(": ", 1) for line in lines), json.loads(body)


END = b"Host: x\r\nConnection: close\r\n"
REFUSED = {
    "a control in the link": (b"GET /api/study HTTP/1.1\r\n" + END + b"A: @\x01\r\n\r\n", 400),
    "a query of bytes": (b"GET /@?\xe2\x80\x8b HTTP/1.1\r\n" + END + b"\r\n", 400),
    "no method": (b"GE\x1b[2JT /@ HTTP/1.1\r\n" + END + b"\r\n", 400),
    "no version": (b"GET /@ HTTP/9.9\r\n\r\n", 400),
    "no header": (b"GET / HTTP/1.1\r\n" + END + b"Bad @\r\n\r\n", 400),
    "a long line": (b"GET /@" + b"a" * 20_000 + b" HTTP/1.1\r\n" + END + b"\r\n", 400),
    "no address": (b"GET http://[@/x HTTP/1.1\r\n" + END + b"\r\n", 400),
    "an expectation": (b"GET /api/study HTTP/1.1\r\n" + END + b"Expect: @<b>\r\n\r\n", 417),
    "an expectation nowhere": (b"GET /@ HTTP/1.1\r\n" + END + b"Expect: @<b>\r\n\r\n", 417),
    "an expectation by no method": (b"DELETE / HTTP/1.1\r\n" + END + b"Expect: @\r\n\r\n", 417),
}


async def test_what_is_refused_unread_is_neither_echoed_nor_logged(
    built: BuiltStudy, caplog: pytest.LogCaptureFixture
) -> None:
    secret = secrets_of(built.folder)["rater-01"]
    words = {400: "the request cannot be read", 417: "Expectation Failed"}
    async with running(built) as port:
        for name, (request, wanted) in REFUSED.items():
            caplog.clear()
            with caplog.at_level(logging.DEBUG):
                status, headers, body = await sent(port, request.replace(b"@", secret.encode()))
                await asyncio.sleep(0)
            assert (status, body) == (wanted, {"error": words[wanted]}), name
            assert HEADERS.items() <= headers.items(), name
            assert headers["Content-Type"] == "application/json; charset=utf-8", name
            assert {record.name for record in caplog.records} <= {"areopagus.study", "asyncio"}
            (line,) = [one for one in caplog.records if one.name == "areopagus.study"]
            assert "\n" not in line.getMessage(), name
            assert str(wanted) in line.getMessage(), name
            assert all(record.exc_info is None for record in caplog.records), name
            assert secret not in caplog.text, name


def a_save(secret: str, headers: bytes, body: bytes = b"", *, length: int | None = None) -> bytes:
    """The bytes of a request that saves the first page."""
    announced = len(body) if length is None else length
    return (
        b"PUT /api/pages/1 HTTP/1.1\r\n" + END + b"Authorization: Bearer " + secret.encode()
        + b"\r\nContent-Type: application/json\r\n" + headers
        + b"Content-Length: %d\r\n\r\n" % announced + body
    )  # fmt: skip


async def test_a_packed_body_is_refused_unread(
    built: BuiltStudy, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = secrets_of(built.folder)["rater-01"]
    # 64 MiB in 64 KiB: whoever unpacks it is seen.
    packed = gzip.compress(bytes(1 << 26))
    monkeypatch.setattr(zlib, "decompressobj", None)
    async with running(built) as port:
        for coding, body in ((b"gzip", packed), (b"deflate", b"abc"), (b"br", b""), (b"GZip", b"")):
            caplog.clear()
            with caplog.at_level(logging.DEBUG):
                status, headers, answer = await sent(
                    port, a_save(secret, b"Content-Encoding: " + coding + b"\r\n", body)
                )
            assert (status, answer) == (415, {"error": "packed bodies are not taken"})
            assert HEADERS.items() <= headers.items()
            assert "- PUT (not read) 415" in caplog.text
        # It is refused before it has come, and no link is needed to be told.
        status, _, _ = await sent(port, a_save("x", b"Content-Encoding: gzip\r\n", length=1 << 19))
        assert status == 415
        status, _, _ = await sent(port, a_save(secret, b"Content-Encoding: identity\r\n", b"{}"))
        assert status == 422


async def test_a_body_too_large_is_refused_by_its_word_and_by_its_length(built: BuiltStudy) -> None:
    secret = secrets_of(built.folder)["rater-01"]
    most = study_app.MOST_BODY_BYTES
    async with running(built) as port:
        status, headers, answer = await sent(port, a_save(secret, b"", b"{", length=most + 1))
        assert (status, answer) == (413, {"error": "the body is too large"})
        assert HEADERS.items() <= headers.items()
        # Of a body in pieces nobody knows the length before.
        piece = b"%x\r\n" % 65536 + b" " * 65536 + b"\r\n"
        head = a_save(secret, b"Transfer-Encoding: chunked\r\n").replace(
            b"Content-Length: 0\r\n", b""
        )
        status, _, _ = await sent(port, head + piece * (2 + most // 65536))
        assert status == 413


async def test_half_a_request_is_given_up_and_others_are_served_meanwhile(
    built: BuiltStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_server, "BODY_S", 0.5)
    monkeypatch.setattr(web_server, "LINGER_S", 0.2)
    secret = secrets_of(built.folder)["rater-01"]
    halves = {
        "body": a_save(secret, b"", b"{", length=500),
        "head": b"PUT /api/pages/1 HTTP/1.1\r\nHost: x\r\nAuthorizat",
        "nothing": b"",
    }
    async with running(built) as port:
        began = time.monotonic()
        waiting: dict[str, asyncio.Task[bytes]] = {}
        for name, half in halves.items():
            reader, writing = await asyncio.open_connection("127.0.0.1", port)
            writing.write(half)
            waiting[name] = asyncio.create_task(_all_of(reader, writing, half[-1:]))
        status, _, _ = await sent(port, a_save(secret, b"", b"{}"))
        assert status == 422
        answers = {name: await asyncio.wait_for(task, 10) for name, task in waiting.items()}
        assert time.monotonic() - began > 0.4
    assert answers["body"].startswith(b"HTTP/1.1 408 ")
    assert b'{"error": "the body has not come in time"}' in answers["body"]
    assert answers["head"] == answers["nothing"] == b""


async def _all_of(
    reader: asyncio.StreamReader, writing: asyncio.StreamWriter, byte: bytes
) -> bytes:
    """What the server sends until it closes; a byte is sent to it now and then meanwhile."""
    found = bytearray()
    while True:
        try:
            writing.write(byte)
            part = await asyncio.wait_for(reader.read(1000), 0.1)
        except TimeoutError:
            continue
        except ConnectionError:
            part = b""
        if not part:
            break
        found += part
    writing.close()
    return bytes(found)


async def test_a_rater_who_breaks_off_a_save_is_no_defect(
    built: BuiltStudy, caplog: pytest.LogCaptureFixture
) -> None:
    secret = secrets_of(built.folder)["rater-01"].encode()
    with caplog.at_level(logging.INFO, logger="areopagus.study"):
        async with running(built) as port:
            _, writing = await asyncio.open_connection("127.0.0.1", port)
            writing.write(
                b"PUT /api/pages/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + secret
                + b"\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"
            )  # fmt: skip
            await writing.drain()
            await asyncio.sleep(0.1)
            writing.transport.abort()
            await asyncio.sleep(0.1)
    assert "r01 PUT /api/pages/{number} 400" in caplog.text
    assert "defect" not in caplog.text
    assert all(record.exc_info is None for record in caplog.records)


async def test_a_body_that_is_announced_is_waited_for(built: BuiltStudy) -> None:
    request = b"PUT /api/pages/1 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
    async with running(built) as port:
        reader, writing = await asyncio.open_connection("127.0.0.1", port)
        writing.write(request + b"Content-Length: 2\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writing.write(b"{}")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 401 ")
        writing.close()
        await writing.wait_closed()


# The store


def test_a_store_of_another_study_is_refused(tmp_path: Path) -> None:
    rows = study_rows(prompts=1, calibration=False)
    one = build_study([rows], raters=2, out=tmp_path / "a").folder
    two = build_study([rows], raters=2, out=tmp_path / "b").folder
    open_app(one).close()
    with pytest.raises(InputError, match="another study"):
        open_app(two, store=one / "ratings.sqlite")
    (tmp_path / "text").write_text("no store at all, " * 100)
    with pytest.raises(InputError, match="not a store"):
        open_app(two, store=tmp_path / "text")
    with pytest.raises(StoreError, match="cannot be opened"):
        open_app(two, store=tmp_path / "nowhere" / "ratings.sqlite")
    with pytest.raises(InputError, match="is not a study"):
        open_app(tmp_path)


async def test_no_answered_save_is_lost_when_the_server_is_killed(built: BuiltStudy) -> None:
    """Six raters save as fast as they can; the process is killed in the middle of it, twice."""
    links = secrets_of(built.folder)
    answered: dict[str, int] = dict.fromkeys(links, 0)
    for round_ in range(2):
        is_over = asyncio.Event()

        async def rate(
            client: aiohttp.ClientSession, url: str, name: str, secret: str,
            is_over: asyncio.Event = is_over,
        ) -> None:  # fmt: skip
            headers = {"Authorization": f"Bearer {secret}"}
            while not is_over.is_set():
                revision = answered[name]
                body = {
                    "revision": revision, "save_id": f"{name}{revision}", "comment": str(revision),
                    "scores": {"A": {"conceptual_clarity": 1 + revision % 10}}, "done": False,
                    "active_ms": 1,
                }  # fmt: skip
                try:
                    async with client.put(f"{url}/api/pages/1", json=body, headers=headers) as got:
                        if got.status == 200:
                            answered[name] = (await got.json())["revision"]
                except aiohttp.ClientError:
                    return

        with StudyServer(built.folder) as server:
            async with aiohttp.ClientSession() as client:
                tasks = [
                    asyncio.create_task(rate(client, server.url, *link)) for link in links.items()
                ]
                before = sum(answered.values())
                while sum(answered.values()) < before + 60:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                server.kill()
                is_over.set()
                await asyncio.gather(*tasks)
        with closing(sqlite3.connect(built.folder / "ratings.sqlite")) as base:
            assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            found = {
                f"rater-{rater[1:]}": (revision, comment)
                for rater, revision, comment in base.execute(
                    "SELECT rater, revision, comment FROM pages"
                )
            }
        for name, revision in answered.items():
            stored, comment = found[name]
            assert stored >= revision > 0, (round_, name)
            assert comment == str(stored - 1)
            answered[name] = stored


def test_an_interrupt_ends_the_server_at_once_and_well(built: BuiltStudy) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        with StudyServer(built.folder) as server:
            with pytest.raises(InputError, match="cannot be served"):
                serve_study(built.folder, port=server.port)  # in use
            os.kill(server.process.pid or 0, number)
            server.process.join(60)
            assert server.process.exitcode == 0


@pytest.mark.both_loops
async def test_a_loop_that_served_leaves_the_process_its_signals(built: BuiltStudy) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    loop = asyncio.get_running_loop()
    heard: list[bool] = []

    def interrupt(_: object) -> None:
        heard.append(signal.getsignal(signal.SIGTERM) != before[1])
        loop.call_later(0.05, os.kill, os.getpid(), signal.SIGTERM)

    await run_app(open_app(built.folder), host="127.0.0.1", port=0, started=interrupt)
    assert heard == [True]
    assert signal.getsignal(signal.SIGTERM) == before[1] == signal.SIG_DFL
    # The runner's own handler is not put back; what ends a program at Ctrl-C is.
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_store_and_its_companions_are_for_their_owner_only(built: BuiltStudy) -> None:
    mask = os.umask(0)
    try:
        app = open_app(built.folder)
    finally:
        os.umask(mask)
    files = list(built.folder.glob("ratings.sqlite*"))
    assert len(files) >= 2
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    app.close()
