"""Headless Chromium for tests, spoken to over the two pipes of its DevTools protocol.

No driver and no socket: messages are JSON, each ended by a zero byte, on file descriptors 3 and 4
of the browser.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

PICTURES = Path(os.environ["AREOPAGUS_PICTURES"]) if "AREOPAGUS_PICTURES" in os.environ else None
"""A folder for screenshots to look at; by default none are taken."""


SMALLEST_LETTERS = """Math.min(99, ...Array.from(
  [...document.querySelectorAll('.drawing text')].filter((one) => one.checkVisibility()),
  (text) => {
  const svg = text.ownerSVGElement;
  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  return parseFloat(getComputedStyle(text).fontSize) * scale;
}))"""
"""CSS pixels of the smallest letters in the page's drawings; 99 where there are none."""


def find_chromium() -> str | None:
    """The browser's path, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if found := shutil.which(name):
            return found
    return None


class Chromium:
    """One browser; use it in `with`, and its tabs for as long."""

    def __init__(self) -> None:
        browser = find_chromium()
        if browser is None:
            raise FileNotFoundError("no Chromium on this machine")
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._profile.name}",
        ]
        # A shell puts the pipes on 3 and 4; the numbers that Python gave them may be these two.
        high_in, high_out = os.dup(to_browser), os.dup(from_browser)
        while min(high_in, high_out) < 10:
            high_in, high_out = os.dup(high_in), os.dup(high_out)
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{high_in} 4>&{high_out}', "chromium", browser, *flags],
            pass_fds=(high_in, high_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for descriptor in (to_browser, from_browser, high_in, high_out):
            os.close(descriptor)
        self._buffer = b""
        self._number = 0
        self._tabs: dict[str, Tab] = {}

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def tab(self) -> Tab:
        """A new tab in a profile of its own: nothing is shared with other tabs."""
        return Tab(self)

    def attach(self, tab: Tab, target: str) -> str:
        """The session in which a tab is spoken to; what it tells goes to the tab."""
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._tabs[session] = tab
        return str(session)

    def detach(self, session: str) -> None:
        """Lets a tab go that is closed."""
        self._tabs.pop(session, None)

    def post(self, method: str, session: str = "", **params: Any) -> int:
        """Sends a call of the protocol; its number."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return self._number

    def send(self, method: str, session: str = "", *, timeout_s: float = 60, **params: Any) -> Any:
        """The result of a call of the protocol."""
        number = self.post(method, session, **params)
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            for answer in self._messages(until - time.monotonic()):
                if answer.get("id") == number:
                    if "error" in answer:
                        raise RuntimeError(f"{method}: {answer['error']}")
                    return answer["result"]
        raise TimeoutError(f"{method}: no answer in {timeout_s} s")

    def _messages(self, timeout_s: float) -> list[dict[str, Any]]:
        ready, _, _ = select.select([self._in], [], [], max(0.0, timeout_s))
        if not ready:
            return []
        read = os.read(self._in, 1 << 20)
        if not read:
            raise ConnectionError("Chromium ended")
        *whole, self._buffer = (self._buffer + read).split(b"\0")
        found = [json.loads(message) for message in whole]
        for message in found:
            if message.get("sessionId") in self._tabs:
                self._tabs[message["sessionId"]].note(message)
        return found


class Tab:
    """A tab of the browser; `fresh` puts a new one in its place.

    Attributes:
        complaints: what the console, the page or its content policy said.
        requests: id to address, of requests to anywhere but files that the page's content policy
            let pass.
    """

    def __init__(self, browser: Chromium) -> None:
        self._browser = browser
        self._context = self._session = ""
        self.fresh()

    def fresh(self, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """A new tab: nothing of the one before is left, neither settings nor complaints."""
        self.close()
        self.complaints: list[str] = []
        self.requests: dict[str, str] = {}
        send = self._browser.send
        self._context = send("Target.createBrowserContext")["browserContextId"]
        made = send("Target.createTarget", url="about:blank", browserContextId=self._context)
        self._session = self._browser.attach(self, made["targetId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def close(self) -> None:
        """Closes it, if it is open."""
        if self._context:
            self._browser.detach(self._session)
            self._browser.send("Target.disposeBrowserContext", browserContextId=self._context)
            self._context = ""

    def send(self, method: str, **params: Any) -> Any:
        """The result of a call of the protocol."""
        return self._browser.send(method, self._session, **params)

    def open(self, path: Path, *, fragment: str = "") -> None:
        """Opens a report and waits until its script is done."""
        self.go(path.as_uri() + fragment)
        self.wait_for("document.documentElement?.dataset.ready !== undefined")

    def go(self, url: str) -> None:
        """Goes to an address."""
        self.send("Page.navigate", url=url)

    def reload(self) -> None:
        """Loads the page again and waits until it is there."""
        self.run("window.isOld = true")
        self.send("Page.reload")
        self.wait_for("window.isOld === undefined && document.readyState === 'complete'")

    def run(self, expression: str) -> Any:
        """The value of an expression in the page; a promise is awaited."""
        answer = self.send(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def wait_for(self, expression: str, *, timeout_s: float = 30) -> None:
        """Waits until the expression is true; one that fails, while a page loads, is not."""
        until = time.monotonic() + timeout_s
        while not self._holds(expression):
            if time.monotonic() > until:
                shown = self.run("document.body ? document.body.innerText : ''")
                raise TimeoutError(f"never true: {expression}\nshown: {str(shown)[:1500]}")
            time.sleep(0.02)

    def _holds(self, expression: str) -> bool:
        with contextlib.suppress(RuntimeError):
            return bool(self.run(f"Boolean({expression})"))
        return False

    def click(self, selector: str) -> None:
        """Clicks on an element."""
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def type(self, selector: str, text: str) -> None:
        """Types into a field as a person does."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.send("Input.insertText", text=text)

    def press(self, key: str) -> None:
        """Presses one key, such as "Escape" or "Enter"."""
        extra = {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowRight": 39}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            given = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
            self.send("Input.dispatchKeyEvent", **given, **(extra if kind == "keyDown" else {}))

    def resize(self, width: int, height: int = 900) -> None:
        """Sets the window's size in CSS pixels."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )

    def pictures(self, name: str) -> None:
        """Writes the page as it stands at three widths into `PICTURES`, where it is set."""
        if PICTURES is None:
            return
        PICTURES.mkdir(parents=True, exist_ok=True)
        for width in (390, 820, 1280):
            self.resize(width, 900)
            height = self.run("document.documentElement.scrollHeight")
            self.resize(width, max(900, min(9000, height)))
            self.screenshot(PICTURES / f"{name}-{width}.png")
        self.resize(1280, 900)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Writes a PNG of what is in sight, or of the whole page."""
        answer = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def note(self, message: dict[str, Any]) -> None:
        """Keeps what an event of the browser tells."""
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.complaints.append(f"console: {params['type']}: {json.dumps(params['args'])[:500]}")
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(f"exception: {json.dumps(params['exceptionDetails'])[:800]}")
        elif method == "Log.entryAdded":
            self.complaints.append(f"log: {json.dumps(params['entry'])[:500]}")
        elif method == "Page.javascriptDialogOpening":
            if params["type"] != "beforeunload":  # which a page asks for that is not saved
                self.complaints.append(f"dialog: {params['message']}")
            self._browser.post("Page.handleJavaScriptDialog", self._session, accept=True)
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "data:image/", "about:")):
                self.requests[params["requestId"]] = url
        elif method == "Network.loadingFailed" and params.get("blockedReason") == "csp":
            self.requests.pop(params["requestId"], None)
