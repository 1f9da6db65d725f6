"""The same panel of thirty calls a response, by us, by hand, and by other libraries.

    python benchmarks/peers.py [--responses N] [--rounds N] [--peer NAME=PYTHON …]

A provider on loopback, on a processor of its own, answers after 20 ms. Each system has 64 calls in
flight and judges the same responses in a process of its own; printed are medians of CPU
milliseconds a call and their ratio to ours, calls a second, peak memory and seconds to import, and
below them our ratios to the best peer and to plain litellm. A peer is measured with the interpreter
of an environment that it is installed in:

    python -m venv /tmp/openevals && /tmp/openevals/bin/pip install openevals openai
    python benchmarks/peers.py --peer openevals=/tmp/openevals/bin/python

Peers: autorubric, deepeval, inspect, openevals, pydantic_evals (with pydantic-ai-slim[openai]) and
verdict. Each is given an asynchronous OpenAI client or its own way to one, no retries, no limit of
its own on the rate, and no reporting.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from loopback import provider

AT_ONCE = 64
OURS_AND_BARE = ("areopagus", "by hand", "plain litellm")
PRICED = "openai/gpt-4o-mini"
"""A model that litellm knows: for another one it prints advice at every call."""
FIRST_CALL = "areopagus, with what its first call loads"
ENVIRONMENT = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""Without it litellm looks for its price list on the network, which would count as its import."""
CALLS = 30
WORDS = "Promises bind because people plan on them, and a plan that fails has a price. "
RUBRIC = "Judge how well the response thinks, by the rubric that follows. " + WORDS * 40
Call = Callable[[str], Awaitable[Any]]


def response(number: int) -> str:
    """What is judged."""
    return f"In case {number} much is owed. {WORDS * 20}"


async def by_hand(base: str) -> Call:
    """asyncio and httpx, as one would write it."""
    import httpx

    limits = httpx.Limits(max_connections=AT_ONCE)
    client = httpx.AsyncClient(limits=limits, timeout=60)
    properties = {"overall": {"type": "integer", "minimum": 1, "maximum": 10}}
    schema = {"type": "object", "properties": properties, "required": ["overall"]}
    form = {"type": "json_schema", "json_schema": {"name": "vote", "schema": schema}}

    async def call(text: str) -> Any:
        said = [{"role": "system", "content": RUBRIC}, {"role": "user", "content": text}]
        body = {"model": "judge", "messages": said, "response_format": form}
        answer = await client.post(f"{base}/chat/completions", json=body)
        return json.loads(answer.json()["choices"][0]["message"]["content"])["overall"]

    return call


async def plain_litellm(base: str) -> Call:
    """`litellm.acompletion` and nothing else."""
    import litellm

    async def call(text: str) -> Any:
        messages = [{"role": "system", "content": RUBRIC}, {"role": "user", "content": text}]
        answer = await litellm.acompletion(
            PRICED, messages=messages, api_base=base, api_key="none", max_retries=0
        )
        return answer.choices[0].message.content

    return call


def openai_client(base: str) -> Any:
    """The client that peers are given."""
    import openai

    return openai.AsyncOpenAI(base_url=base, api_key="none", max_retries=0)


async def openevals(base: str) -> Call:
    """openevals' judge with an OpenAI client."""
    from openevals.llm import create_async_llm_as_judge  # type: ignore[import-not-found]

    judge = create_async_llm_as_judge(
        prompt=RUBRIC + "\n{outputs}",
        judge=openai_client(base),
        model="judge",
        continuous=True,
        use_reasoning=False,
    )

    async def call(text: str) -> Any:
        return await judge(outputs=text)

    return call


async def autorubric(base: str) -> Call:
    """autorubric's grader with one criterion, so that it makes one call a response."""
    from autorubric import LLMConfig, Rubric  # type: ignore[import-not-found]
    from autorubric.graders import CriterionGrader  # type: ignore[import-not-found]

    config = LLMConfig(model=PRICED, api_base=base, api_key="none", max_retries=1)
    grader = CriterionGrader(judge_model_config=config)
    rubric = Rubric.from_dict([{"weight": 1.0, "requirement": RUBRIC}])

    async def call(text: str) -> Any:
        grade = await rubric.grade(to_grade=text, grader=grader)
        if grade.report[0].error:
            raise RuntimeError(grade.report[0].error)
        return grade.score

    return call


async def pydantic_evals(base: str) -> Call:
    """The judge behind pydantic-evals' `LLMJudge`."""
    from pydantic_ai.models.openai import OpenAIChatModel  # type: ignore[import-not-found]
    from pydantic_ai.providers.openai import OpenAIProvider  # type: ignore[import-not-found]
    from pydantic_evals.evaluators.llm_as_a_judge import (  # type: ignore[import-not-found]
        judge_output,
    )

    provider = OpenAIProvider(openai_client=openai_client(base))
    # The server knows JSON Schemas, and of OpenAI's protocol no tools.
    profile = {"default_structured_output_mode": "native", "supports_json_schema_output": True}
    model = OpenAIChatModel("judge", provider=provider, profile=profile)

    async def call(text: str) -> Any:
        return (await judge_output(text, RUBRIC, model)).score

    return call


async def deepeval(base: str) -> Call:
    """deepeval's G-Eval with given steps, so that it makes one call a measurement."""
    os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_DISABLE_PROGRESS_BAR": "YES"}
    from deepeval.metrics import GEval  # type: ignore[import-not-found]
    from deepeval.models import DeepEvalBaseLLM  # type: ignore[import-not-found]
    from deepeval.test_case import (  # type: ignore[import-not-found]
        LLMTestCase,
        SingleTurnParams,
    )

    client = openai_client(base)

    class Local(DeepEvalBaseLLM):  # type: ignore[misc]
        def load_model(self) -> Any:
            return client

        def get_model_name(self) -> str:
            return "judge"

        def generate(self, prompt: str, schema: Any = None) -> Any:
            raise NotImplementedError

        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            said = [{"role": "user", "content": prompt}]
            answer = await client.chat.completions.create(model="judge", messages=said)
            return '{"score": 7, "reason": "because"}' if answer else ""

    local = Local()

    async def call(text: str) -> Any:
        metric = GEval(
            name="thinking",
            evaluation_steps=[RUBRIC],
            evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT],
            model=local,
            async_mode=True,
        )
        case = LLMTestCase(input="What is owed?", actual_output=text)
        return await metric.a_measure(case, _show_indicator=False)

    return call


async def inspect(base: str) -> Call:
    """inspect-ai's model call, which its graders make."""
    from inspect_ai.model import (  # type: ignore[import-not-found]
        ChatMessageSystem,
        ChatMessageUser,
        GenerateConfig,
        get_model,
    )

    config = GenerateConfig(max_connections=AT_ONCE, max_retries=0)
    model = get_model(
        "openai/judge", base_url=base, api_key="none", config=config, responses_api=False
    )

    async def call(text: str) -> Any:
        said = [ChatMessageSystem(content=RUBRIC), ChatMessageUser(content=text)]
        return (await model.generate(said)).completion

    return call


PEERS: dict[str, Callable[[str], Awaitable[Call]]] = {
    "by hand": by_hand,
    "plain litellm": plain_litellm,
    "autorubric": autorubric,
    "pydantic_evals": pydantic_evals,
    "openevals": openevals,
    "deepeval": deepeval,
    "inspect": inspect,
}


IMPORTS = {
    "areopagus": "import areopagus",
    FIRST_CALL: "from areopagus.judges.models.litellm_setup import litellm_module as l; l()",
    "by hand": "import httpx",
    "plain litellm": "import litellm",
    "autorubric": "from autorubric import Rubric; from autorubric.graders import CriterionGrader",
    "pydantic_evals": "from pydantic_ai.models.openai import OpenAIChatModel; "
    "from pydantic_evals.evaluators import LLMJudge",
    "openevals": "import openai; from openevals.llm import create_async_llm_as_judge",
    "deepeval": "import openai; from deepeval.metrics import GEval",
    "inspect": "import openai; from inspect_ai.model import get_model",
    "verdict": "from verdict import Pipeline; from verdict.common.judge import JudgeUnit",
}
"""What each system imports for the work that is measured here."""


def verdict(base: str, responses: int) -> tuple[float, float]:
    """verdict's judge, thirty times in a layer; its own threads, its own limit of the rate off."""
    from verdict import Layer, Pipeline  # type: ignore[import-not-found]
    from verdict.common.judge import JudgeUnit  # type: ignore[import-not-found]
    from verdict.model import vLLMModel  # type: ignore[import-not-found]
    from verdict.schema import Schema  # type: ignore[import-not-found]
    from verdict.util import ratelimit  # type: ignore[import-not-found]

    ratelimit.disable()
    model = vLLMModel("judge", api_base=base, api_key="none")
    judge = JudgeUnit().prompt(RUBRIC + "\n{source.text}").via(model, retries=1)
    pipeline = Pipeline() >> Layer(judge, repeat=CALLS)
    pipeline.run_from_list([Schema.of(text=response(0))], max_workers=AT_ONCE)
    told = [Schema.of(text=response(number)) for number in range(responses)]
    cpu, wall = time.process_time(), time.perf_counter()
    pipeline.run_from_list(told, max_workers=AT_ONCE)
    return time.process_time() - cpu, time.perf_counter() - wall


async def panel(system: str, base: str, responses: int) -> tuple[float, float]:
    """CPU and wall seconds for all calls, after some to warm up."""
    call = await PEERS[system](base)
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with slots:
            await call(response(number))

    await asyncio.gather(*(one(number) for number in range(CALLS)))
    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(one(n) for n in range(responses) for _ in range(CALLS)))
    return time.process_time() - cpu, time.perf_counter() - wall


def ours(base: str, responses: int) -> tuple[float, float]:
    """The same by the panel: graph, ledger and aggregation included."""
    sys.path.insert(0, str(Path(__file__).parent))
    from panel_speed import measure

    found = measure("auto", AT_ONCE, base, responses)
    return found["cpu_ms"] * CALLS * responses / 1e3, found["wall_s"]


def main() -> None:
    """Prints a line a system."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--responses", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--one", nargs=2, metavar=("SYSTEM", "BASE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        system, base = options.one
        if system == "areopagus":
            cpu, wall = ours(base, options.responses)
        elif system == "verdict":
            cpu, wall = verdict(base, options.responses)
        else:
            cpu, wall = asyncio.run(panel(system, base, options.responses))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print("\n" + json.dumps({"cpu": cpu, "wall": wall, "peak": peak}), flush=True)
        return
    systems = dict.fromkeys(("areopagus", "by hand", "plain litellm"), sys.executable)
    systems |= dict(item.split("=", 1) for item in options.peer)
    compare(systems, options.responses, options.rounds)


def compare(systems: dict[str, str], responses: int, rounds: int) -> None:
    """Prints the lines; the systems take turns, so that a busy moment hits all."""
    found: dict[str, list[dict[str, float]]] = {system: [] for system in systems}
    failed: dict[str, str] = {}
    first_calls: list[float] = []
    with provider("--delay", "0.02") as bases:
        for _ in range(rounds):
            for system, python in systems.items():
                if system not in failed:
                    told = _alone(system, python, bases["openai"], responses)
                    if isinstance(told, str):
                        failed[system] = told
                        continue
                    told["import"] = import_seconds(system, python)
                    if system == "areopagus":
                        first_calls.append(import_seconds(FIRST_CALL, python))
                    found[system].append(told)
    calls = CALLS * responses
    print(f"{responses} responses x {CALLS} calls, {AT_ONCE} in flight, medians of {rounds} rounds")
    print(f"{'':14}{'CPU ms a call':>14}{'to ours':>9}{'calls/s':>9}{'peak MB':>9}{'import s':>10}")
    medians = {
        system: {name: statistics.median(each[name] for each in told) for name in told[0]}
        for system, told in found.items()
        if told and system not in failed
    }
    for system, told in medians.items():
        ratio = told["cpu"] / medians["areopagus"]["cpu"] if "areopagus" in medians else 0.0
        print(
            f"{system:14}{1e3 * told['cpu'] / calls:14.2f}{ratio:9.1f}"
            f"{calls / told['wall']:9.0f}{told['peak']:9.0f}"
            f"{told['import']:10.2f}"
        )
    cost = {system: median["cpu"] for system, median in medians.items()}
    if ours := cost.get("areopagus"):
        rivals = {system: cpu for system, cpu in cost.items() if system not in OURS_AND_BARE}
        if rivals:
            best = min(rivals, key=lambda system: rivals[system])
            print(f"areopagus takes {ours / rivals[best]:.2f} of the best peer's time ({best})")
        if "plain litellm" in cost:
            print(f"areopagus takes {ours / cost['plain litellm']:.2f} of plain litellm's time")
    if first_calls:
        print(f"{FIRST_CALL}: {statistics.median(first_calls):.2f} s to import")
    for system, reason in failed.items():
        print(f"{system:14} did not run: {reason}")


def import_seconds(system: str, python: str) -> float:
    """Wall seconds of its imports, in a process of its own."""
    line = (
        f"import time; at = time.perf_counter(); {IMPORTS[system]}; print(time.perf_counter() - at)"
    )
    done = subprocess.run(
        [python, "-c", line], check=True, capture_output=True, text=True, env=ENVIRONMENT
    )
    return float(done.stdout.split()[-1])


def _alone(system: str, python: str, base: str, responses: int) -> dict[str, float] | str:
    """What a process of its own measured, or the last line of why it could not."""
    # Absolute, since the process runs in a folder of its own: a peer writes logs where it stands.
    command = [str(Path(python).absolute()), str(Path(__file__).absolute())]
    command += ["--one", system, base, "--responses", str(responses)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, cwd=folder, env=ENVIRONMENT
        )
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return lines[-1][:200] if lines else f"exit code {done.returncode}"
    told: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return told


if __name__ == "__main__":
    main()
