"""A program that uses litellm, httpx and logging itself, and finds everything as it was."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from areopagus.judges.models import litellm_calls
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.connections import Answer
from areopagus.testing import ProviderServer, by_hash, protocols

HOST = """
import asyncio, builtins, json, logging, os, sys, warnings

base = sys.argv[1]
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # the host's own choice
import aiohttp, httpx, litellm, openai
from litellm.litellm_core_utils import exception_mapping_utils
from litellm.llms.custom_httpx import aiohttp_transport, http_handler

litellm.drop_params = True
os.environ["OPENAI_ORGANIZATION"] = "the-organization-of-the-environment"
os.environ["AZURE_API_VERSION"] = "2024-10-21"
openai.organization = "the-hosts-own-organization"
cache = litellm.in_memory_llm_clients_cache
cache.set_cache("of-the-host", "a client", loop_bound=False)
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
        "clients": {key: id(client) for key, client in cache.cache_dict.items()},
        "openai": {n: v for n, v in dict(vars(openai)).items()
                   if type(v) in (str, type(None)) and not n.startswith("__")},
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


async def score_all(panel):
    asked = (panel.ascore("What is owed?", f"Whatever was promised to {n}.") for n in range(8))
    return await asyncio.gather(*asked)


asyncio.run(own_call())
before = picture()
from areopagus import Panel

with Panel(models=json.loads(sys.argv[2]), personas=["historian"],
           ledger=sys.argv[3]) as panel:
    verdict = panel.score("What is owed?", "Nothing beyond what was promised.")
    verdicts = asyncio.run(score_all(panel))
assert [one.n_scored for one in (verdict, *verdicts)] == [5] * 9, verdict
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


@pytest.mark.long
def test_the_host_finds_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/openai/deployments/gpt-4o-mini/chat/completions"
    monkeypatch.setitem(protocols.PATHS, path, "openai")
    with ProviderServer(by_hash(1, 10)) as server:
        models = [
            {"model": model, "api_base": base, "name": f"{model} {lane}", "lane": lane}
            for model, base, lane in (
                ("openai/gpt-4o-mini", server.openai_base, "auto"),
                ("ollama_chat/llama3", server.ollama_base, "auto"),
                # By litellm's own call, over the clients that it takes for OpenAI, Azure, others.
                ("openai/gpt-4o", server.openai_base, "litellm"),
                ("azure/gpt-4o-mini", server.base, "auto"),
                ("hosted_vllm/x", server.openai_base, "litellm"),
            )
        ]
        arguments = [server.base, json.dumps(models), str(tmp_path / "ledger.sqlite")]
        done = subprocess.run(
            [sys.executable, "-c", HOST, *arguments],
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
        assert len(judged) >= 5 * 9
        assert {asked.path for asked in judged} == {path, "/v1/chat/completions", "/api/chat"}
        for asked in judged:
            told = str(asked.headers)
            assert "x-host" not in asked.headers
            assert "the-hosts-own" not in told
            assert "the-organization" not in told  # at an address that is not OpenAI's


@pytest.mark.parametrize("model", ["openai/gpt-4o-mini", "text-completion-openai/x", "azure/x"])
async def test_what_litellm_sets_in_openais_library_is_put_back(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import openai

    hosts = {"organization": "the-hosts", "api_type": "azure", "api_version": "of-the-host"}
    for name, value in hosts.items():
        monkeypatch.setattr(openai, name, value)
    monkeypatch.setenv("OPENAI_ORGANIZATION", "of-the-environment")
    seen = []

    async def post(*_: object, **__: object) -> Answer:
        seen.append({name: getattr(openai, name) for name in hosts})
        await asyncio.sleep(0)
        return Answer(400, {}, b"{}")

    monkeypatch.setattr(litellm_calls, "post", post)
    spec = BackendSpec(model=model, api_base="http://127.0.0.1:9", extra={"api_version": "v"})
    messages = [{"role": "user", "content": "Well?"}]
    given = {"model": model, "messages": messages, "api_key": "a-key", "api_base": spec.api_base}
    if model.startswith("azure"):
        given["api_version"] = "2024-10-21"
    ends = await asyncio.gather(
        *(litellm_calls.complete(spec, given) for _ in range(20)),
        litellm_calls.complete(spec, {**given, "messages": None}),  # fails before it is sent
        return_exceptions=True,
    )
    assert len(seen) == 20
    assert all(isinstance(end, Exception) for end in ends)
    assert {name: getattr(openai, name) for name in hosts} == hosts
