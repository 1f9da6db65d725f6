"""What litellm's public settings do to the processor time of one call through it.

    python benchmarks/litellm_settings.py [--calls N] [--at-once N] [--rounds N] [--models …]

Plain `litellm.acompletion` against a provider on loopback, under one setting after the other, each
in a process of its own, and our backend's way through litellm's own call beside it: it prices and
records nothing where nobody listens. Medians over the rounds, and their ratio to litellm as it
comes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
from typing import Any

from loopback import provider

MODELS = ("openai/judge", "hosted_vllm/judge", "aiohttp_openai/judge")
SETTINGS = (
    "as it comes",
    "httpx transport",
    "model registered",
    "messages not logged",
    "registered, not logged",
    "litellm's handler",
    "our own call",
    "ours, litellm's handler",
)
HANDLER = "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"
"""litellm's switch that sends `openai/` calls by its own handler, not by OpenAI's library. That one
is experimental by name, and sends no header that names an organisation or a project."""


def set_up(setting: str, model: str) -> None:
    """Puts one setting into litellm."""
    import litellm

    if setting == "httpx transport":
        litellm.disable_aiohttp_transport = True
    if "registered" in setting:
        entry: dict[str, Any] = {"litellm_provider": model.partition("/")[0], "mode": "chat"}
        prices = dict.fromkeys(("input_cost_per_token", "output_cost_per_token"), 0.0)
        litellm.register_model({model: {**entry, **prices}})
    if "not logged" in setting:
        litellm.turn_off_message_logging = True
        litellm.disable_streaming_logging = True
        litellm.suppress_debug_info = True


async def measured(setting: str, model: str, base: str, calls: int, at_once: int) -> float:
    """CPU milliseconds a call."""
    import os

    from call_speed import measure

    if "litellm's handler" in setting:
        os.environ[HANDLER] = "True"
    if setting.startswith("our"):
        found = await measure("lane: litellm", model, base, calls, at_once)
    else:
        # Before the first import, or litellm fetches its lists.
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] = "True"
        set_up(setting, model)
        found = await measure("litellm", model, base, calls, at_once)
    return found["cpu_ms"]


def main() -> None:
    """Prints a line a model and setting."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(asyncio.run(measured(*options.one, options.calls, options.at_once))))
        return
    print(f"{'model':24}{'setting':26}{'CPU ms':>8}{'to litellm as it comes':>24}")
    with provider() as bases:
        for model in options.models:
            compare(model, bases["openai"], options)


def compare(model: str, base: str, options: argparse.Namespace) -> None:
    """Prints the lines of one model; the settings take turns, so that a busy moment hits all."""
    settings = [s for s in SETTINGS if "handler" not in s or model.startswith("openai/")]
    found: dict[str, list[float]] = {setting: [] for setting in settings}
    for _ in range(options.rounds):
        for setting in settings:
            command = [sys.executable, __file__, "--one", setting, model, base]
            command += ["--calls", str(options.calls), "--at-once", str(options.at_once)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found[setting].append(float(done.stdout.splitlines()[-1]))
    usual = statistics.median(found["as it comes"])
    for setting, rounds in found.items():
        median = statistics.median(rounds)
        print(f"{model:24}{setting:26}{median:8.2f}{median / usual:24.2f}", flush=True)


if __name__ == "__main__":
    main()
