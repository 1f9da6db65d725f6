"""Data sets of Hugging Face, read and written with its own libraries; the hub is on loopback."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from processes import areopagus
from tools import needs

from areopagus import Panel, Run
from areopagus.errors import InputError
from areopagus.integrations.hugging_face import from_hub
from areopagus.records.export import export_run
from areopagus.records.readers import ResponseSource

datasets = needs("datasets")
SHA = "a" * 40
ROWS = [
    {"response_id": f"{who}{at}", "prompt_text": f"What of {at}?", "respondent_id": who,
     "response_text": f"{who.capitalize()} thinks that it depends on {at} and on others."}
    for who in ("ann", "bert") for at in range(4)
]  # fmt: skip


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in rows).encode()


CARD = b"""---
configs:
- config_name: answers
  default: true
  data_files:
  - {split: test, path: test.jsonl}
  - {split: train, path: "train/*.jsonl"}
- config_name: broken
  data_files: "broken/*.jsonl"
- config_name: other
  data_files: other.json
---
"""
FILES = {
    "README.md": CARD,
    "test.jsonl": lines(ROWS[:4]),
    "train/a.jsonl": lines(ROWS[4:6]),
    "train/b.jsonl": lines(ROWS[6:]),
    "other.json": b'[{"response_id": 1, "prompt_text": "Why?"}]',
    "broken/a.jsonl": b"no JSON\n",
    "picture.png": b"x" * 1000,
    "answers.py": b"raise SystemExit",
}


class Hub(ThreadingHTTPServer):
    """A hub with one data set, lab/answers; it keeps what it was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[str] = []

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0])
        self.server.asked.append(path)
        if re.fullmatch(rf"/api/datasets/lab/answers(/revision/(v1|main|{SHA}))?", path):
            listed = [{"rfilename": name, "size": len(raw)} for name, raw in FILES.items()]
            about = {"id": "lab/answers", "sha": SHA, "siblings": listed}
            return self.give(json.dumps(about).encode(), {"Content-Type": "application/json"})
        if path == f"/api/datasets/lab/answers/tree/{SHA}":
            listed = [
                {"type": "file", "path": name, "size": len(raw), "oid": "b" * 40}
                for name, raw in FILES.items()
            ]
            return self.give(json.dumps(listed).encode(), {"Content-Type": "application/json"})
        if path.startswith(start := f"/datasets/lab/answers/resolve/{SHA}/"):
            raw = FILES.get(path.removeprefix(start))
            if raw is not None:
                etag = hashlib.sha256(raw).hexdigest()
                return self.give(raw, {"ETag": f'"{etag}"', "X-Repo-Commit": SHA})
        code = "RepoNotFound" if "/gone" in path else "EntryNotFound"
        return self.give(b"{}", {"X-Error-Code": code}, 404)

    def give(self, raw: bytes, headers: dict[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    # Where the library's cache stands is read when it is imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_file_of_a_data_set_is_brought_and_named_by_its_commit(hub: Hub) -> None:
    name, path = from_hub("hf://lab/answers@v1/test.jsonl", endpoint=hub.endpoint)
    assert name == f"hf://lab/answers@{SHA}/test.jsonl"
    assert isinstance(path, Path)
    assert path.read_bytes() == FILES["test.jsonl"]
    assert not [one for one in hub.asked if "train" in one or "picture" in one]


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("/test", ROWS[:4]),
        ("/answers/train", ROWS[4:]),
        ("/other", [{"response_id": 1, "prompt_text": "Why?"}]),
    ],
)
def test_the_rows_of_a_split_are_those_of_its_files(
    hub: Hub, rest: str, expected: list[dict[str, Any]]
) -> None:
    name, rows = from_hub(f"hf://datasets/lab/answers{rest}", endpoint=hub.endpoint)
    assert name == f"hf://lab/answers@{SHA}{rest}"
    assert not isinstance(rows, Path)
    assert [dict(one) for one in rows] == expected
    assert not [one for one in hub.asked if one.endswith((".png", ".py"))]


def test_a_split_that_must_be_named_or_is_not_there_is_said(hub: Hub) -> None:
    for rest in ("", "/validation"):
        with pytest.raises(InputError, match="has the splits test, train: name one, as hf://"):
            from_hub(f"hf://lab/answers{rest}", endpoint=hub.endpoint)


def test_what_the_hub_does_not_give_is_said_in_a_sentence(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"is not on http://127\.0\.0\.1.*HTTP 404.*HF_TOKEN"):
        from_hub("hf://lab/gone", endpoint=hub.endpoint)
    for address in ("hf://lab", "hf://", "hf://lab/../x", "hf://lab/answers/../x"):
        with pytest.raises(InputError, match=r"must be hf://owner/name\[@revision\]"):
            from_hub(address, endpoint=hub.endpoint)
    monkeypatch.setenv("AREOPAGUS_MAX_GB", "0.0000001")
    with pytest.raises(InputError, match=r"AREOPAGUS_MAX_GB.*\s.*name one of its files: test"):
        from_hub("hf://lab/answers/test", endpoint=hub.endpoint)


@pytest.mark.parametrize("named", ["/SECRET", "../SECRET", "x/../../SECRET", "https://a.example/b"])
def test_a_card_that_names_files_elsewhere_is_refused(
    named: str, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = CARD.replace(b"path: test.jsonl", f"path: {named}".encode())
    monkeypatch.setitem(FILES, "README.md", card)
    with pytest.raises(InputError, match=r"README\.md names a file that is not its own"):
        from_hub("hf://lab/answers/test", endpoint=hub.endpoint)


def test_a_hub_that_cannot_be_reached_is_said_and_nothing_else_is_tried() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as closed:
        place = f"127.0.0.1:{closed.server_address[1]}"
    told = rf"http://{place} is not reachable from here .*name its path"
    with pytest.raises(InputError, match=told) as caught:
        from_hub("hf://lab/answers/test", endpoint=f"http://me:secret@{place}")
    assert "secret" not in str(caught.value)


def test_a_file_that_the_library_cannot_read_is_said(hub: Hub) -> None:
    def read() -> list[Any]:
        _, rows = from_hub("hf://lab/answers/broken", endpoint=hub.endpoint)
        assert not isinstance(rows, Path)
        return list(rows)

    with pytest.raises(InputError, match="not readable as a data set"):
        read()


def test_a_split_of_the_hub_that_the_environment_names_is_scored(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(tmp_path / "home"),
        "HF_HUB_OFFLINE": "0",
    }.items():
        monkeypatch.setenv(name, value)
    done = areopagus("score", "hf://lab/answers/test", "--out", "run", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["responses"]["n"] == 4
    assert record["source"] == f"hf://lab/answers@{SHA}/test"


def test_folders_that_the_library_saved_are_read_with_one_split_or_the_split_s_folder(
    tmp_path: Path,
) -> None:
    whole = datasets.Dataset.from_list(ROWS)
    one = datasets.DatasetDict({"test": whole})
    one.save_to_disk(str(tmp_path / "one"))
    two = datasets.DatasetDict({"test": whole, "train": whole.select(range(2))})
    two.save_to_disk(str(tmp_path / "two"))
    for folder, n in (("one", 8), ("two/test", 8), ("two/train", 2)):
        with ResponseSource(tmp_path / folder) as source:
            assert source.check().n_responses == n
    with ResponseSource(tmp_path / "two") as source:
        with pytest.raises(InputError, match="holds the splits test, train: name one, as"):
            source.check()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("scored")
    with Panel(ledger=folder / "ledger.sqlite") as panel:
        return panel.score_many(ROWS, folder / "run", on_progress=False)


@pytest.mark.parametrize("texts", [False, True])
def test_an_export_is_loaded_by_the_library_with_nothing_lost(
    run: Run, tmp_path: Path, texts: bool
) -> None:
    folder = export_run(run.path, "hf", tmp_path / "set", texts=texts).path
    cache = str(tmp_path / "cache")
    assert datasets.get_dataset_config_names(str(folder)) == ["scores", "judgments", "estimates"]
    assert datasets.get_dataset_default_config_name(str(folder)) == "scores"
    found = {
        name: datasets.load_dataset(str(folder), name, split="train", cache_dir=cache).to_pandas()
        for name in ("scores", "judgments", "estimates")
    }
    scores = run.scores.set_index("response_id")
    loaded = found["scores"].set_index("response_id")
    assert loaded["composite"].tolist() == scores["composite"].tolist()
    assert ("response_text" in loaded) is texts
    if texts:
        assert loaded["response_text"].tolist() == [one["response_text"] for one in ROWS]
    assert len(found["judgments"]) == run.record["n_planned"]
    assert found["judgments"]["status"].tolist() == run.judgments["status"].tolist()
    assert found["estimates"]["value"].fillna(-1).tolist() == (
        run.estimates["value"].fillna(-1).tolist()
    )


def test_the_card_is_one_that_the_hub_s_library_reads(run: Run, tmp_path: Path) -> None:
    from huggingface_hub import DatasetCard

    folder = export_run(run.path, "hf", tmp_path / "set").path
    card = DatasetCard.load(folder / "README.md")
    assert card.data.pretty_name == "Scores of run"
    assert "license" not in card.data.to_dict()  # who publishes it chooses
