"""A run to be sent to tracking tools, and a server that keeps what it is sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from areopagus import Panel
from areopagus.errors import ProviderError
from areopagus.run import Run
from areopagus.testing import ScriptedBackend

SECRET_TEXT = "a lighthouse keeper's diary"
TRACE, SPAN = "ab" * 16, "cd" * 8


def made_run(folder: Path) -> Run:
    """A run of two respondents to two prompts, with one inconclusive and one screened verdict.

    Its rows carry ids of spans, but for one, and a text.
    """

    def answer(request: Any) -> Any:
        told = str(request.messages)
        if "UNREAD" in told:
            return ProviderError("bad_request", "no")
        return {"overall": 8 if "good" in told else 4}

    rows = [
        ("a1", "What is fair?", "a good one", "ann"),
        ("a2", "Why vote?", "another good one", "ann"),
        ("b1", "What is fair?", "a poor one", "ben"),
        ("b2", "Why vote?", "UNREAD", "ben"),
        ("c2", "Why vote?", "", "cal"),
    ]
    columns = ("response_id", "prompt_text", "response_text", "respondent_id")
    extra = {"reference": SECRET_TEXT, "gen_ai_response_id": ""}
    samples: list[dict[str, Any]] = [dict(zip(columns, row, strict=True)) | extra for row in rows]
    for place, sample in enumerate(samples[:-1]):
        sample |= {"trace_id": TRACE, "span_id": f"{place + 1:016x}"}
    samples[-1] |= {"trace_id": "", "span_id": ""}
    samples[0]["gen_ai_response_id"] = "chatcmpl-1"
    panel = Panel(ScriptedBackend(answer), mode="holistic", ledger=folder / "ledger.sqlite")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "write_report", lambda run, **_: run.report_path)
        run = panel.score_many(samples, out=folder / "pilot")
    run.report_path.write_text(f"<p>{SECRET_TEXT}</p>", encoding="utf-8")
    return run


@dataclass
class Received:
    """What a server was sent: (path, headers in small letters, body), and how it answers."""

    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    answer: Callable[[Any], tuple[int, Any]] = lambda body: (200, {"data": []})
    address: str = ""
    location: str = ""


@contextmanager
def server() -> Iterator[Received]:
    """A server on this machine."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received.requests.append((self.path, headers, body))
            status, told = received.answer(body)
            content = json.dumps(told).encode()
            self.send_response(status)
            if received.location:
                self.send_header("location", received.location)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        received.address = f"http://127.0.0.1:{listening.server_port}"
        thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield received
        finally:
            listening.shutdown()
            thread.join()
