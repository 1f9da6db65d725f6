"""A provider on loopback that answers online and in batches, in OpenAI's and Anthropic's way."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from aiohttp import web

from areopagus.testing import ScriptedJudge, by_hash
from areopagus.testing.protocols import read_request, write_reply

LineFault = Literal["error", "expired", "missing", "garbage", "refused", "unreadable"]


@dataclass
class Batch:
    """One batch as the server holds it; bodies are the exact bytes that came."""

    id: str
    kind: Literal["openai", "anthropic"]
    bodies: dict[str, bytes]
    file_id: str = ""
    polls: int = 0
    api_key: str = ""
    headers: dict[str, str] = field(default_factory=dict)


class BatchServer:
    """Runs on a thread of its own from `with` to its end.

    Attributes:
        batches: all that were made, in order.
        online: (path, body) of every call that was not in a batch.
        files: id to content of what was uploaded.
        polls_until_done: looks at a batch before it has ended; `hold` keeps it from ending.
        line_fault: custom id and its number in the batch to what goes wrong with it.
        final: what OpenAI-style batches end as.
        failing_looks, failing_creations: so many of them are answered with 503.
        create_then_break: the next creation is done, and its answer lost.
        refuses: paths that are not there.
        most_open: more open OpenAI-style batches fail for want of room in the queue.
        a_page: most batches in one answer that lists them.
        unlisted: so many lists do not show the batches yet.
        gone_files: ends of the names of result files that are not there any more.
        look_status: kind of batch to the status with which looks at it are answered.
    """

    def __init__(self, judge: ScriptedJudge | None = None) -> None:
        self.judge = judge or by_hash(1, 10)
        self.batches: list[Batch] = []
        self.online: list[tuple[str, bytes]] = []
        self.files: dict[str, bytes] = {}
        self.keys_seen: set[str] = set()
        self.looks: Counter[str] = Counter()
        self.downloads: Counter[str] = Counter()
        self.polls_until_done = 1
        self.hold = threading.Event()
        self.hold.set()
        self.line_fault: Callable[[str, int], LineFault | None] = lambda name, n: None
        self.final = "completed"
        self.failing_looks = 0
        self.failing_creations = 0
        self.create_then_break = False
        self.slow_creation = threading.Event()
        self.refuses: tuple[str, ...] = ()
        self.most_open: int | None = None
        self.a_page = 100
        self.unlisted = 0
        self.gone_files: tuple[str, ...] = ()
        self.look_status: dict[str, int] = {}
        self.port = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = asyncio.Event()
        self._thread: threading.Thread | None = None
        self._n = 0

    @property
    def openai_base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked_in_batches(self) -> list[str]:
        """Every custom id of every batch."""
        return [name for batch in self.batches for name in batch.bodies]

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=2**30)
        app.router.add_post("/v1/chat/completions", self._ask)
        app.router.add_post("/v1/messages", self._ask)
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{id}/content", self._content)
        app.router.add_post("/v1/batches", self._create_openai)
        app.router.add_get("/v1/batches", self._list)
        app.router.add_get("/v1/batches/{id}", self._look)
        app.router.add_post("/v1/messages/batches", self._create_anthropic)
        app.router.add_get("/v1/messages/batches/{id}", self._look)
        app.router.add_get("/v1/messages/batches/{id}/results", self._results)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port).start()
        self.port = runner.addresses[0][1]
        ready.set()
        await self._ended.wait()
        await runner.cleanup()

    async def _ask(self, request: web.Request) -> web.Response:
        body = await request.read()
        self._note_key(request)
        self.online.append((request.path, body))
        return web.Response(body=self._answer(request.path, body), content_type="application/json")

    def _answer(self, path: str, body: bytes) -> bytes:
        protocol: Any = "anthropic" if path.endswith("messages") else "openai"
        self._n += 1
        served = replace(read_request(protocol, path, json.loads(body)), n=self._n)
        return write_reply(served, self.judge(served))

    async def _upload(self, request: web.Request) -> web.Response:
        if "files" in self.refuses:
            return _error(404, "no such path")
        self._note_key(request)
        form = await request.post()
        assert form["purpose"] == "batch"
        file: Any = form["file"]
        name = f"file-{len(self.files)}"
        self.files[name] = file.file.read()
        return web.json_response(
            {
                "id": name,
                "object": "file",
                "bytes": len(self.files[name]),
                "created_at": 0,
                "filename": file.filename,
                "purpose": "batch",
                "status": "processed",
            }
        )

    async def _create_openai(self, request: web.Request) -> web.Response:
        if self.failing_creations > 0:
            self.failing_creations -= 1
            return _error(503, "no room just now")
        asked = await request.json()
        assert asked["endpoint"] == "/v1/chat/completions"
        assert asked["completion_window"] == "24h"
        bodies: dict[str, bytes] = {}
        for line in self.files[asked["input_file_id"]].splitlines():
            found = json.loads(line)
            assert (found["method"], found["url"]) == ("POST", "/v1/chat/completions")
            # The exact bytes: what stands between `"body": ` and the last brace.
            bodies[found["custom_id"]] = line.partition(b'"body": ')[2][:-1]
        batch = self._made("openai", bodies, request, asked["input_file_id"])
        await self._maybe_break(request)
        return web.json_response(self._openai_state(batch))

    async def _create_anthropic(self, request: web.Request) -> web.Response:
        if self.failing_creations > 0:
            self.failing_creations -= 1
            return _error(503, "no room just now")
        raw = await request.read()
        bodies: dict[str, bytes] = {}
        for line in raw.splitlines()[1:-1]:
            text = line.rstrip(b",")
            bodies[json.loads(text)["custom_id"]] = text.partition(b'"params": ')[2][:-1]
        assert len(bodies) == len(json.loads(raw)["requests"])
        batch = self._made("anthropic", bodies, request)
        await self._maybe_break(request)
        return web.json_response(self._anthropic_state(batch))

    def _made(
        self, kind: Any, bodies: dict[str, bytes], request: web.Request, file_id: str = ""
    ) -> Batch:
        self._note_key(request)
        name = f"{'msgbatch' if kind == 'anthropic' else 'batch'}_{len(self.batches)}"
        batch = Batch(name, kind, bodies, file_id, headers=dict(request.headers))
        self.batches.append(batch)
        return batch

    async def _maybe_break(self, request: web.Request) -> None:
        while self.slow_creation.is_set():  # noqa: ASYNC110 - set from another thread
            await asyncio.sleep(0.01)
        if self.create_then_break:
            self.create_then_break = False
            assert request.transport is not None
            request.transport.abort()
            await asyncio.sleep(0.1)

    async def _list(self, request: web.Request) -> web.Response:
        data = [self._openai_state(b) for b in reversed(self.batches) if b.kind == "openai"]
        if self.unlisted > 0:
            self.unlisted -= 1
            data = []
        after = request.query.get("after")
        first = 1 + [state["id"] for state in data].index(after) if after else 0
        last = first + min(self.a_page, int(request.query["limit"]))
        more = len(data) > last
        return web.json_response({"object": "list", "data": data[first:last], "has_more": more})

    async def _look(self, request: web.Request) -> web.Response:
        if self.failing_looks > 0:
            self.failing_looks -= 1
            return _error(503, "not now")
        self._note_key(request)
        name = request.match_info["id"]
        self.looks[name] += 1
        batch = next((batch for batch in self.batches if batch.id == name), None)
        if batch is None:
            return _error(404, "no such batch")
        if (status := self.look_status.get(batch.kind)) is not None:
            return _error(status, "not so", **({"location": "/login"} if status < 400 else {}))
        batch.polls += 1
        state = self._openai_state if batch.kind == "openai" else self._anthropic_state
        return web.json_response(state(batch))

    def _is_done(self, batch: Batch) -> bool:
        return self.hold.is_set() and batch.polls >= self.polls_until_done

    def _is_full(self, batch: Batch) -> bool:
        if self.most_open is None:
            return False
        earlier = self.batches[: self.batches.index(batch)]
        return (
            sum(
                other.polls < self.polls_until_done and other.headers.get("full") == "no"
                for other in earlier
            )
            >= self.most_open
        )

    def _openai_state(self, batch: Batch) -> dict[str, Any]:
        done = self._is_done(batch)
        status = self.final if done else "in_progress"
        state: dict[str, Any] = {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "input_file_id": batch.file_id,
            "completion_window": "24h",
            "status": status,
            "created_at": 0,
            "request_counts": {
                "total": len(batch.bodies),
                "completed": len(batch.bodies) if done else 0,
                "failed": 0,
            },
        }
        if self.most_open is not None and batch.headers.get("full") is None:
            batch.headers["full"] = "yes" if self._is_full(batch) else "no"
        if batch.headers.get("full") == "yes":
            state["status"] = "failed"
            state["errors"] = {
                "object": "list",
                "data": [{"code": "token_limit_exceeded", "message": "too many tokens waiting"}],
            }
        elif status == "failed":
            state["errors"] = {"object": "list", "data": [{"code": "x", "message": "bad file"}]}
        elif done:
            state["output_file_id"] = f"{batch.id}-output"
            state["error_file_id"] = f"{batch.id}-errors"
        return state

    def _anthropic_state(self, batch: Batch) -> dict[str, Any]:
        done = self._is_done(batch)
        number = len(batch.bodies)
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if done else "in_progress",
            "request_counts": {
                "processing": 0 if done else number,
                "succeeded": number if done else 0,
                "errored": 0,
                "canceled": 0,
                "expired": 0,
            },
            "created_at": "2026-01-01T00:00:00Z",
            "expires_at": "2026-01-02T00:00:00Z",
            # An address elsewhere: whoever follows it gives the key away.
            "results_url": "http://elsewhere.invalid/results" if done else None,
        }

    async def _content(self, request: web.Request) -> web.Response:
        self.downloads[request.match_info["id"]] += 1
        name, _, which = request.match_info["id"].rpartition("-")
        if which in self.gone_files:
            return _error(404, "no such file")
        batch = next(batch for batch in self.batches if batch.id == name)
        output, errors = self._openai_lines(batch)
        return web.Response(body=output if which == "output" else errors)

    def _openai_lines(self, batch: Batch) -> tuple[bytes, bytes]:
        output: list[str] = []
        errors: list[str] = []
        for n, (name, body) in enumerate(batch.bodies.items()):
            fault = self.line_fault(name, n)
            line: dict[str, Any] = {"id": f"r{n}", "custom_id": name, "error": None}
            if fault == "missing":
                continue
            if fault == "garbage":
                output.append('{"custom_id": ')
            elif fault == "expired":
                line["response"] = None
                line["error"] = {"code": "batch_expired", "message": "came too late"}
                errors.append(json.dumps(line))
            elif fault == "error":
                said = {"error": {"message": "no such thing", "type": "invalid_request_error"}}
                line["response"] = {"status_code": 400, "request_id": "x", "body": said}
                errors.append(json.dumps(line))
            else:
                answer = json.loads(self._answer("/v1/chat/completions", body))
                if fault == "unreadable":
                    answer["choices"] = 7
                if fault == "refused":
                    answer["choices"][0]["message"] |= {"content": None, "refusal": "I will not."}
                line["response"] = {"status_code": 200, "request_id": "x", "body": answer}
                output.append(json.dumps(line))
        # Results come in no order.
        return "\n".join(reversed(output)).encode(), "\n".join(errors).encode()

    async def _results(self, request: web.Request) -> web.Response:
        self._note_key(request)
        batch = next(b for b in self.batches if b.id == request.match_info["id"])
        lines: list[str] = []
        for n, (name, body) in enumerate(batch.bodies.items()):
            fault = self.line_fault(name, n)
            result: dict[str, Any]
            if fault == "missing":
                continue
            if fault == "garbage":
                lines.append('{"custom_id": ')
                continue
            if fault == "expired":
                result = {"type": "expired"}
            elif fault == "error":
                inner = {"type": "invalid_request_error", "message": "no such thing"}
                result = {"type": "errored", "error": {"type": "error", "error": inner}}
            else:
                message = json.loads(self._answer("/v1/messages", body))
                if fault == "unreadable":
                    message["content"] = 7
                result = {"type": "succeeded", "message": message}
            lines.append(json.dumps({"custom_id": name, "result": result}))
        return web.Response(body="\n".join(reversed(lines)).encode())

    def _note_key(self, request: web.Request) -> None:
        given = request.headers.get("x-api-key") or request.headers.get("authorization", "")
        self.keys_seen.add(given.removeprefix("Bearer "))


def _error(status: int, message: str, **headers: str) -> web.Response:
    body = {"type": "error", "error": {"type": "api_error", "message": message}}
    return web.json_response(body, status=status, headers=headers)
