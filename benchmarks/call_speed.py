"""What one call costs: plain litellm, and our call, which is litellm's translation around one POST.

    python benchmarks/call_speed.py [--calls N] [--at-once N] [--rounds N] [--models …]

A provider on loopback, on a processor of its own, answers at once. Both make the same judge calls,
each in a process of its own, in turns; what is loaded by then is frozen for the garbage collector,
as it is while a panel scores. Printed are medians over the rounds: CPU milliseconds a call, their
ratio to plain litellm, and calls a second. Gemini's answer is a fixed one (`loopback.py`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from loopback import gemini, provider

from areopagus.experiment.engine import less_collection

ROADS = ("plain litellm", "translated")
MODELS = (
    "openai/judge",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash",
    "ollama_chat/judge",
)
PROTOCOLS = {"anthropic": "anthropic", "gemini": "gemini", "ollama_chat": "ollama"}
KEY = "BENCHMARK_API_KEY"
SYSTEM = "Judge the response by the rubric. " * 120
TEXT = "Promises bind because people plan on them. " * 40
SCHEMA = {
    "type": "object",
    "properties": {"overall": {"type": "integer", "minimum": 1, "maximum": 10}},
    "required": ["overall"],
    "additionalProperties": False,
}
Call = Callable[[int], Awaitable[Any]]


def messages(number: int) -> list[dict[str, str]]:
    """What the judge is told of one response."""
    return [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": f"{TEXT}Case {number}."},
    ]


async def plain_httpx(model: str, base: str) -> Call:
    """The same panel call as most people write it by hand."""
    import httpx

    client = httpx.AsyncClient(limits=httpx.Limits(max_connections=None), timeout=60)

    async def call(number: int) -> Any:
        body = {"model": model, "messages": messages(number)}
        response = await client.post(f"{base}/chat/completions", json=body)
        return response.json()["choices"][0]["message"]["content"]

    return call


async def plain_litellm(model: str, base: str) -> Call:
    """litellm as it comes, told only not to look for prices."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] = "True"
    import litellm

    form = {"name": "judgment", "strict": True, "schema": SCHEMA}

    async def call(number: int) -> Any:
        return await litellm.acompletion(
            model=model,
            messages=messages(number),
            api_base=base,
            api_key="none",
            max_tokens=64,
            max_retries=0,
            response_format={"type": "json_schema", "json_schema": form},
        )

    return call


async def translated(model: str, base: str) -> Call:
    """A backend's `send`."""
    from areopagus.judges.models.backend import BackendSpec
    from areopagus.judges.models.litellm_backend import LitellmBackend
    from areopagus.judges.models.request import JsonSchema, Request

    settings = {"model": model, "api_base": base, "max_tokens": 64}
    backend = LitellmBackend(BackendSpec.model_validate(settings | {"api_key_env": KEY}))
    os.environ[KEY] = "none"
    if backend.translation("none") is None:
        raise RuntimeError(f"a call of {model} is not translated")

    async def call(number: int) -> Any:
        request = Request(
            backend=model,
            endpoint=base,
            messages=tuple(messages(number)),
            params=backend.spec.parameters(),
            schema=JsonSchema(SCHEMA),
            structured="json_schema",
        )
        return await backend.send(request)

    return call


async def measure(road: str, model: str, base: str, calls: int, at_once: int) -> dict[str, float]:
    """CPU milliseconds a call and calls a second of one round, after some to warm up."""
    call = await (plain_litellm if road == "plain litellm" else translated)(model, base)
    slots = asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        async with slots:
            await call(number)

    await asyncio.gather(*(one(number) for number in range(100)))
    with less_collection():
        cpu, wall = time.process_time(), time.perf_counter()
        await asyncio.gather(*(one(number) for number in range(calls)))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu_ms": 1e3 * cpu / calls, "per_s": calls / wall}


def main() -> None:
    """Prints a line a road and model."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--one", nargs=3, metavar=("ROAD", "MODEL", "BASE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        road, model, base = options.one
        found = asyncio.run(measure(road, model, base, options.calls, options.at_once))
        print(json.dumps(found), flush=True)
        return
    print(f"{'model':28}{'road':16}{'CPU ms':>8}{'to litellm':>12}{'calls/s':>9}")
    with gemini() as gemini_base, provider() as bases:
        for model in options.models:
            compare(model, bases | {"gemini": gemini_base}, options)


def compare(model: str, bases: dict[str, str], options: argparse.Namespace) -> None:
    """Prints the lines of one model; the roads take turns, so that a busy moment hits all."""
    base = bases[PROTOCOLS.get(model.partition("/")[0], "openai")]
    rounds: dict[str, list[dict[str, float]]] = {road: [] for road in ROADS}
    for _ in range(options.rounds):
        for road in ROADS:
            rounds[road].append(_alone(road, model, base, options))
    medians = {
        road: {name: statistics.median(each[name] for each in found) for name in found[0]}
        for road, found in rounds.items()
    }
    for road, found in medians.items():
        print(
            f"{model:28}{road:16}{found['cpu_ms']:8.2f}"
            f"{found['cpu_ms'] / medians['plain litellm']['cpu_ms']:12.2f}{found['per_s']:9.0f}",
            flush=True,
        )


def _alone(road: str, model: str, base: str, options: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", road, model, base]
    command += ["--calls", str(options.calls), "--at-once", str(options.at_once)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
