"""A headless Chromium driven over its DevTools protocol, as far as these tests need it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def browser_path() -> str | None:
    """The browser of this machine, or None."""
    named = os.environ.get("AREOPAGUS_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


class Tab:
    """One page: `run` evaluates JavaScript in it, `wait` does so until it is true."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, session_id: str) -> None:
        self._socket = socket
        self._session_id = session_id
        self.errors: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.bodies: dict[str, str] = {}

    _numbers = itertools.count(1)

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        await self._socket.send_json(
            {"id": number, "method": method, "params": params, "sessionId": self._session_id}
        )
        found: dict[str, Any] = await asyncio.wait_for(waiting, 30)
        if "error" in found:
            raise RuntimeError(f"{method}: {found['error']}")
        return dict(found.get("result", {}))

    _waiting: dict[int, asyncio.Future[Any]]

    def take(self, event: dict[str, Any]) -> None:
        """One event of the browser."""
        method, params = event.get("method", ""), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(json.dumps(params["args"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(json.dumps(params["entry"])[:500])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params)
        elif method == "Page.javascriptDialogOpening":
            self._dialogs.append(
                asyncio.ensure_future(self.send("Page.handleJavaScriptDialog", accept=True))
            )

    _dialogs: list[asyncio.Future[Any]]

    async def run(self, script: str) -> Any:
        found = await self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True,
            userGesture=True,
        )  # fmt: skip
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"])[:800])
        return found["result"].get("value")

    async def wait(self, script: str, *, seconds: float = 20) -> Any:
        end = asyncio.get_running_loop().time() + seconds
        while True:
            with contextlib.suppress(RuntimeError):
                if found := await self.run(script):
                    return found
            if asyncio.get_running_loop().time() > end:
                shown = await self.run("document.body ? document.body.innerText : ''")
                raise AssertionError(f"never true: {script}\nshown: {str(shown)[:1500]}")
            await asyncio.sleep(0.05)

    async def open(self, url: str) -> None:
        await self.send("Page.navigate", url=url)

    async def reload(self) -> None:
        await self.run("window.isOld = true")
        await self.send("Page.reload")
        await self.wait("window.isOld === undefined && document.readyState === 'complete'")

    async def click(self, selector: str) -> None:
        await self.run(f"document.querySelector({json.dumps(selector)}).click()")

    async def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height,
            deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        await self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    async def picture(self, file: str | Path, *, whole: bool = False) -> None:
        found = await self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        await asyncio.to_thread(Path(file).write_bytes, base64.b64decode(found["data"]))


class Browser:
    """A Chromium with a profile of its own; use it in `async with`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._tabs: dict[str, Tab] = {}
        self._numbers = itertools.count(-1, -1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}

    async def __aenter__(self) -> Browser:
        self._folder = tempfile.mkdtemp(prefix="areopagus-chromium-")
        self._process = await asyncio.create_subprocess_exec(
            self._path, "--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio",
            "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-default-apps", "--disable-extensions",
            "--disable-sync", "--remote-debugging-port=0", "--hide-scrollbars",
            f"--user-data-dir={self._folder}", "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        port_file = Path(self._folder) / "DevToolsActivePort"
        for _ in range(600):
            if port_file.is_file() and port_file.read_text().count("\n") >= 1:
                break
            await asyncio.sleep(0.05)
        port, path = port_file.read_text().split("\n")[:2]
        self._client = aiohttp.ClientSession()
        self._socket = await self._client.ws_connect(f"ws://127.0.0.1:{port}{path}", max_msg_size=0)
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader
        await self._socket.close()
        await self._client.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def tab(self) -> Tab:
        """A new page in a profile of its own: no storage is shared with other tabs."""
        context = await self._send("Target.createBrowserContext")
        made = await self._send(
            "Target.createTarget", url="about:blank",
            browserContextId=context["browserContextId"],
        )  # fmt: skip
        joined = await self._send("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        tab = Tab(self._socket, joined["sessionId"])
        tab._waiting, tab._dialogs = self._waiting, []
        self._tabs[joined["sessionId"]] = tab
        for domain in ("Page", "Runtime", "Log", "Network"):
            await tab.send(f"{domain}.enable")
        return tab

    async def _send(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers) % 10**9 + 10**9
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        await self._socket.send_json({"id": number, "method": method, "params": params})
        found = await asyncio.wait_for(waiting, 30)
        return dict(found["result"])

    async def _read(self) -> None:
        async for message in self._socket:
            found = json.loads(message.data)
            if "id" in found:
                waiting = self._waiting.pop(found["id"], None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(found)
            elif found.get("sessionId") in self._tabs:
                self._tabs[found["sessionId"]].take(found)
