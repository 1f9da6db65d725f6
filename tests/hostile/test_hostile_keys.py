"""Keys are planted and every byte that a run leaves is searched for them."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as parquet
import pytest
from hostile_texts import VOTE
from processes import areopagus

from areopagus.testing import Fault, ProviderServer, ServedReply, ServedRequest

OPENAI_KEY = "canary_Qm7/openai+9x2Lk5Wp8Zr4Tn6Vb1"
OWN_KEY = "canaryOwn5Hd8Jf2Ks9Lq3Wz7Xc4Vb6Nm"
ANTHROPIC_KEY = "sk-ant-canary-0a1b2c3d4e5f6a7b8c9d"
KEYS = (OPENAI_KEY, OWN_KEY, ANTHROPIC_KEY)

SCRIPT = """
import asyncio, json, logging, sys, traceback
logging.basicConfig(level=logging.DEBUG)
from areopagus import Panel
from areopagus.attacks import attack
base = json.loads(sys.argv[1])
models = [
    {"model": "openai/judge", "api_base": base["openai"], "name": "ours",
     "api_key_env": "CANARY_JUDGE_LOGIN"},
    {"model": "openai/refused", "api_base": base["refusing"], "name": "refused",
     "api_key_env": "CANARY_JUDGE_LOGIN"},
    {"model": "anthropic/judge", "api_base": base["anthropic"], "name": "claude",
     "api_key_env": "ANTHROPIC_API_KEY"},
    {"model": "openai/gone", "api_base": base["openai"], "name": "gone",
     "api_key_env": "OPENAI_API_KEY"},
]
rows = [
    {"response_id": f"r{i}", "prompt_text": "Why?", "response_text": f"Because of {i}."}
    for i in range(12)
]
for model in models:
    model["max_attempts"] = 2
with Panel(models, personas=["historian", "ethicist"], ledger="ledger.sqlite") as panel:
    run = panel.score_many(rows, "run")
    print(run.counts)
    print(panel, panel.settings, [backend.spec for backend in panel.backends])
    try:
        raise RuntimeError(panel.spec.describe())
    except RuntimeError:
        traceback.print_exc()
    attack(rows, panel=panel, families=["authority"], limit=1, out="attack")
"""


def leaks(content: bytes) -> list[str]:
    """The keys in some bytes: as they are, in base64, in a URL, in JSON."""
    found = []
    for key in KEYS:
        forms = {
            key.encode(),
            base64.b64encode(key.encode()).rstrip(b"="),
            quote(key, safe="").encode(),
            json.dumps(key)[1:-1].encode(),
            key[4:-4].encode(),
        }
        if any(form in content for form in forms):
            found.append(key)
    return found


def unpacked(path: Path) -> bytes:
    """A file's bytes, and those inside of what it packs."""
    content = path.read_bytes()
    if path.suffix == ".parquet":
        return content + repr(parquet.read_table(path).to_pylist()).encode()
    if content.startswith(b"SQLite format 3"):
        with sqlite3.connect(path) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
            for (name,) in tables.fetchall():
                for row in connection.execute(f'SELECT * FROM "{name}"'):
                    for cell in row:
                        content += _open(cell)
        connection.close()
    return content


def _open(cell: object) -> bytes:
    if isinstance(cell, bytes):
        for form in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
            try:
                return cell + zlib.decompress(cell, form)
            except zlib.error:
                continue
        return cell
    return str(cell).encode("utf-8", "replace")


def faulty(request: ServedRequest) -> ServedReply:
    """A provider that says every key it was ever sent, in all its kinds of error."""
    said = f"bad key {OPENAI_KEY} or {OWN_KEY}; header x-api-key: {ANTHROPIC_KEY}"
    if request.model == "gone":
        return ServedReply(said, status=(404, 500, 400, 403)[request.n % 4])
    turn = int(request.key[:2], 16) % 6
    if turn == 0:
        return ServedReply(said, status=500, headers={"x-debug": said})
    if turn == 1:
        return ServedReply(said, status=400)
    if turn == 2 and request.attempt == 1:
        return ServedReply(VOTE, fault=Fault.RATE_LIMIT)
    if turn == 3:
        return ServedReply(None, body=f'{{"error": "{said}"'.encode())
    if turn == 4:  # an answer in good form; an endpoint knows the keys that were sent to it
        own = ANTHROPIC_KEY if request.protocol == "anthropic" else OWN_KEY
        return ServedReply(f"You sent {own}.", model=own, refusal=own if request.n % 2 else None)
    return ServedReply(VOTE)


@pytest.mark.long
def test_no_byte_of_a_run_full_of_failures_holds_a_key(tmp_path: Path) -> None:
    with (
        ProviderServer(faulty, retry_after_s=0.01) as server,
        ProviderServer(faulty, api_key="another") as refusing,
    ):
        bases = {
            "openai": server.openai_base,
            "anthropic": server.anthropic_base,
            "refusing": refusing.openai_base,
        }
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, json.dumps(bases)],
            cwd=tmp_path,
            capture_output=True,
            timeout=240,
            env={
                **os.environ,
                "AREOPAGUS_HOME": str(tmp_path / "home"),
                "AREOPAGUS_DEBUG": "1",
                "LITELLM_LOG": "DEBUG",
                "OPENAI_API_KEY": OPENAI_KEY,
                "CANARY_JUDGE_LOGIN": OWN_KEY,  # named as anything but a key
                "ANTHROPIC_API_KEY": ANTHROPIC_KEY,
            },
        )
        assert done.returncode == 0, done.stderr[-3000:].decode()
        # The keys did travel, and the refusing server did echo one.
        assert server.counts.total > 20
        assert refusing.counts.by_status[401] >= 1
    assert b"'failed'" in done.stdout
    assert leaks(done.stdout) == []
    assert leaks(done.stderr) == []
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"run.json", "judgments.parquet", "ledger.sqlite"}
    found = {str(path): leaks(unpacked(path)) for path in files}
    assert {name: keys for name, keys in found.items() if keys} == {}


def test_a_planted_key_is_found_by_the_search(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (?)", (zlib.compress(OWN_KEY.encode()),))
    connection.close()
    assert leaks(unpacked(tmp_path / "a.sqlite")) == [OWN_KEY]
    assert leaks(base64.b64encode(OPENAI_KEY.encode())) == [OPENAI_KEY]


def test_a_key_written_where_its_name_belongs_is_refused_and_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "panel.yaml"
    path.write_text(
        f'models:\n  - model: openai/judge\n    api_key_env: "{ANTHROPIC_KEY}"\n', encoding="utf-8"
    )
    done = areopagus("score", "x.csv", "--panel", path, folder=tmp_path)
    assert done.returncode == 2
    assert leaks((done.stdout + done.stderr).encode()) == []
