"""What is posted beside traces is what the servers' own packages post."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import needs
from tracked_run import made_run, server

needs("langfuse")
needs("langfuse", "phoenix.client")

from langfuse.api import LangfuseAPI  # noqa: E402
from langfuse.api.scores import CreateScoreRequest  # noqa: E402
from phoenix.client import Client  # noqa: E402

from areopagus.integrations.track import track  # noqa: E402
from areopagus.run import Run  # noqa: E402


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return made_run(tmp_path_factory.mktemp("clients"))


def test_phoenix_is_asked_as_its_client_asks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOENIX_API_KEY", "phoenix-key-1234")
    with server() as received:
        received.answer = lambda body: (200, {"data": [{"id": "x"} for _ in body["data"]]})
        track(run, f"phoenix:{received.address}")
        ours = received.requests.pop()
        client = Client(base_url=received.address, api_key="phoenix-key-1234")
        client.spans.log_span_annotations(span_annotations=ours[2]["data"], sync=True)
        theirs = received.requests.pop()
    assert ours[0] == theirs[0]
    assert ours[2] == theirs[2]
    assert ours[1]["authorization"] == theirs[1]["authorization"]
    assert ours[1]["content-type"] == theirs[1]["content-type"]


def test_phoenix_is_asked_about_traces_as_its_client_asks(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in run.path.glob("*.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    scores = (tmp_path / "scores.csv").read_text("utf-8")
    (tmp_path / "scores.csv").write_text(scores.replace(",000000000000000", ",").replace(
        "span_id", "old_span_id"
    ))  # fmt: skip
    with server() as received:
        received.answer = lambda body: (200, {"data": [{"id": "x"} for _ in body["data"]]})
        track(tmp_path, f"phoenix:{received.address}")
        ours = received.requests.pop()
        client = Client(base_url=received.address)
        client.traces.log_trace_annotations(trace_annotations=ours[2]["data"], sync=True)
        theirs = received.requests.pop()
    assert ours[0] == theirs[0] == "/v1/trace_annotations?sync=true"
    assert ours[2] == theirs[2]


def test_langfuse_is_asked_as_its_client_asks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk-lf-2")
    with server() as received:
        received.answer = lambda body: (202, {"message": "Accepted"})
        track(run, f"langfuse:{received.address}")
        ours = received.requests.pop()
        client = LangfuseAPI(base_url=received.address, username="pk-lf-1", password="sk-lf-2")
        client.scores.create(request=[CreateScoreRequest.model_validate(one) for one in ours[2]])
        theirs = received.requests.pop()
    assert ours[0] == theirs[0]
    assert ours[1]["authorization"] == theirs[1]["authorization"]
    for one, other in zip(ours[2], theirs[2], strict=True):
        # Theirs writes the same time in another of the forms of ISO 8601.
        assert one.pop("timestamp")[:19] == other.pop("timestamp")[:19]
        assert one == other
