"""A program that uses litellm, httpx and logging itself, and finds everything as it was."""

from __future__ import annotations

import json
import subprocess
import sys

from areopagus.testing import ProviderServer, by_hash

HOST = """
import asyncio, builtins, json, logging, os, sys, warnings

base = sys.argv[1]
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # the host's own choice
import aiohttp, httpx, litellm, openai
from litellm.litellm_core_utils import exception_mapping_utils
from litellm.llms.custom_httpx import aiohttp_transport, http_handler

litellm.drop_params = True
litellm.num_retries = 2
litellm.headers = {"x-host": "1"}
litellm.api_base = "http://127.0.0.1:9/never"
litellm.api_key = "the-hosts-own-key"
heard = []


class Handler(logging.Handler):
    def emit(self, record):
        heard.append(record.getMessage())


logging.getLogger().addHandler(Handler())
logging.getLogger().setLevel(logging.INFO)
logging.getLogger("httpx").setLevel(logging.DEBUG)
logging.getLogger("LiteLLM").setLevel(logging.WARNING)
warnings.filterwarnings("error", category=FutureWarning, module="of_the_host")


def simple(value):
    if isinstance(value, (str, int, float, bool, type(None))):
        return repr(value)
    if isinstance(value, (list, dict, set, tuple)):
        return f"{type(value).__name__} {len(value)} {id(value)}"
    return f"{type(value).__name__} {id(value)}"


def members(owner):
    return {name: id(value) for name, value in vars(owner).items() if callable(value)}


def picture():
    classes = [
        httpx.Client, httpx.AsyncClient, httpx.HTTPTransport, httpx.AsyncHTTPTransport,
        aiohttp.ClientSession, aiohttp.TCPConnector, openai.AsyncOpenAI,
        http_handler.AsyncHTTPHandler, http_handler.HTTPHandler,
        aiohttp_transport.LiteLLMAiohttpTransport, exception_mapping_utils,
        litellm.ModelResponse, litellm.main, litellm.utils, litellm.cost_calculator,
    ]
    names = [None, *sorted(logging.root.manager.loggerDict)]
    loggers = [logging.getLogger(name) for name in names]
    return {
        # Its private names are its own bookkeeping of what it has loaded late, but for listeners.
        "litellm": {n: simple(v) for n, v in vars(litellm).items()
                    if not n.startswith("_") or n.endswith("_callback")},
        "prices": json.dumps(litellm.model_cost, sort_keys=True, default=str),
        "classes": {f"{owner!r} {name}": found for owner in classes
                    for name, found in members(owner).items()},
        "environment": dict(os.environ),
        "loggers": {l.name: (l.level, l.disabled, [id(h) for h in l.handlers],
                             [id(f) for f in l.filters]) for l in loggers},
        "warnings": [str(f) for f in warnings.filters],
        "print": id(builtins.print),
        "hooks": (id(sys.excepthook), id(sys.displayhook), id(sys.stdout)),
    }


async def own_call():
    async with httpx.AsyncClient() as client:
        return (await client.get(base + "/nothing")).status_code


asyncio.run(own_call())
before = picture()
from areopagus import Panel

with Panel(models=[{"model": sys.argv[2], "api_base": base, "temperature": 0.5}],
           personas=["historian"]) as panel:
    verdict = panel.score("What is owed?", "Nothing beyond what was promised.")
assert verdict.n_scored == 1, verdict
status = asyncio.run(own_call())
after = picture()
changed = []
for kind, was in before.items():
    now = after[kind]
    if isinstance(was, dict):
        # What a first use of litellm loads lazily is new there, and nothing that stood there goes.
        keys = was if kind in ("litellm", "classes", "loggers") else {**was, **now}
        for name in keys:
            if was.get(name) != now.get(name):
                changed.append((kind, name, str(was.get(name))[:300], str(now.get(name))[:300]))
    elif kind == "warnings":
        # Libraries that are loaded (numpy, scipy) put their own before those of others.
        if [one for one in now if one in was] != was:
            changed.append((kind, was, now))
    elif was != now:
        changed.append((kind, str(was)[:200], str(now)[:200]))
print(json.dumps({"changed": changed, "status": status}))
"""


def test_the_host_finds_everything_as_it_was() -> None:
    with ProviderServer(by_hash(1, 10)) as server:
        for model, base in (
            ("openai/gpt-4o-mini", server.openai_base),
            ("ollama_chat/llama3", server.ollama_base),
        ):
            server.reset()
            done = subprocess.run(
                [sys.executable, "-c", HOST, base, model],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            [said] = done.stdout.splitlines()  # nothing of ours, or of litellm's, is printed
            found = json.loads(said)
            assert found["changed"] == []
            judged = [asked for asked in server.requests if asked.params]
            assert len(judged) >= 1
            for asked in judged:
                assert "x-host" not in asked.headers
                assert "the-hosts-own-key" not in str(asked.headers)
