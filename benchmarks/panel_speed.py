"""A panel of thirty judges at work: wall time against the ideal, CPU a judgment, memory.

    python benchmarks/panel_speed.py [--responses N] [--rounds N] [--only WORDS] [--latency S]

A provider on loopback, on a processor of its own, answers after 200 ms (`--latency`) or at once.
Everything is included: graph, prompts, calls, reading, ledger, aggregation. Each line is the median
of some rounds, every round a process of its own; the cases take turns. Ideal is calls x latency /
calls in flight; the number in flight starts at an eighth and doubles each round of answers, which
alone costs 0.4 s.

`graph alone` takes votes from nowhere: what stands around a judgment. `translated` is a panel as it
comes: each call is litellm's translation around one POST over connections of our own.
`litellm.acompletion` is the same panel with `lane: litellm`, which sends each call through
litellm's own function over the same connections: `openai/` models by OpenAI's library,
`hosted_vllm/` ones ("vllm") by litellm's own handler. `plain litellm` makes the same calls through
litellm with nothing around them; `plain httpx` likewise, as one would write it by hand. `bare wire`
is what no client can better: connections of which each sends the same bytes again once it has read
an answer, all of them from the first moment (`bare_wire.py`). What is between it and the ideal is
the doing of the wire, the provider and the machine.

`goal ms` is the processor time in the milliseconds of the machine where the goals were set (0.7 a
judgment, 1.6 through `litellm.acompletion`): there a plain call of litellm took 3.5, with 64 in
flight and answered at once. Such calls are measured at the start of every round, since a machine
may be half as fast in one hour as in the next.

How near a panel comes to the ideal depends on how much of the time between two answers its work
takes. `--latency goal` gives a machine the share that it has there: answers after 200 ms of that
machine's, as many times longer here as the plain calls at the start of the round took. Where both
the work and the wait are twice as long, their ratio to the ideal is the same.

`ledger us` is the processor time of the thread that writes the ledger, microseconds a judgment;
`nothing stored` is `translated` with a ledger that takes everything and writes nothing. What is
between the two is all that storing costs: that thread, what is handed to it, and how both disturb
each other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from loopback import provider

from areopagus import Panel
from areopagus.async_runner import run_sync
from areopagus.experiment.engine import score_rows
from areopagus.judges.judge import Judge
from areopagus.judges.models.client import Client
from areopagus.records.ledger.writer import LedgerWriter
from areopagus.records.types import Judgment, Sample
from areopagus.testing import ScriptedBackend

GOALS_LITELLM_MS = 3.5
LATENCY_S = 0.2
REPEATS = 3  # ten personas, three askings: thirty judgments a response
MODEL = "openai/judge"
OTHER_MODEL = "hosted_vllm/judge"
WORDS = "Promises bind because people plan on them, and a plan that fails has a price. "
Case = tuple[str, str, int, float | None]
"""Name, what is run (and of which model), calls in flight, seconds to an answer.

Without seconds: `LATENCY_S` of the machine where the goals were set.
"""
Medians = dict[Case, dict[str, float]]
RULER: Case = ("plain litellm, at once", "plain-litellm", 64, 0.0)
RULER_RESPONSES = 60


def all_cases(latency_s: float | None) -> tuple[Case, ...]:
    """What can be measured, with a provider that takes so long."""
    wait = f"{1e3 * LATENCY_S:.0f} goal ms" if latency_s is None else f"{1e3 * latency_s:.0f} ms"
    return (
        ("graph alone", "graph", 64, 0.0),
        ("translated, at once", "auto", 64, 0.0),
        ("nothing stored, at once", "unstored", 64, 0.0),
        ("litellm.acompletion, at once", "litellm", 64, 0.0),
        RULER,
        ("litellm.acompletion, vllm", f"litellm:{OTHER_MODEL}", 64, 0.0),
        ("plain litellm, vllm", f"plain-litellm:{OTHER_MODEL}", 64, 0.0),
        ("plain httpx, at once", "plain-httpx", 64, 0.0),
        (f"translated, {wait}", "auto", 128, latency_s),
        (f"nothing stored, {wait}", "unstored", 128, latency_s),
        (f"translated, {wait}", "auto", 256, latency_s),
        (f"nothing stored, {wait}", "unstored", 256, latency_s),
        (f"litellm.acompletion, {wait}", "litellm", 128, latency_s),
        (f"litellm.acompletion, {wait}", "litellm", 256, latency_s),
        (f"plain litellm, {wait}", "plain-litellm", 128, latency_s),
        (f"bare wire, {wait}", "bare-wire", 128, latency_s),
        (f"bare wire, {wait}", "bare-wire", 256, latency_s),
    )


def rows(count: int) -> Iterator[Sample]:
    """Responses of some 1,600 characters, made as they are needed."""
    for number in range(count):
        text = f"In case {number} much is owed. {WORDS * 20}".strip()
        prompt = f"What is owed in case {number}?"
        yield Sample(f"r{number}", f"p{number}", "writer", prompt, text, line=number)


async def judge_all(panel: Panel, count: int) -> int:
    """Judgments scored."""
    client = Client(panel.ledger)
    return sum(
        [
            one.verdict.n_scored
            async for one in score_rows(rows(count), panel=panel.spec, client=client)
        ]
    )


def panel_at(kind: str, base: str, in_flight: int, folder: str) -> Panel:
    """The panel of a case."""
    ledger = Path(folder) / "ledger.sqlite"
    if kind == "graph":
        votes_from_nowhere()
        return Panel(ScriptedBackend({}, concurrency=in_flight), repeats=REPEATS, ledger=ledger)
    if kind == "unstored":
        store_nothing()
        kind = "auto"
    lane, _, model = kind.partition(":")
    spec = {"model": model or MODEL, "api_base": base, "lane": lane, "concurrency": in_flight}
    spec |= {"structured": "json_schema", "prices": {"input": 1, "output": 2}}
    return Panel(spec, repeats=REPEATS, ledger=ledger)


def votes_from_nowhere() -> None:
    """Lets judges vote without asking anybody."""
    scores: dict[str, float] = {}

    async def vote(self: Judge, client: Client, sample: Any, **named: Any) -> Judgment:
        scores.update(dict.fromkeys(self.judge_prompt.schema.criteria, 7.0))
        return self.judgment(sample, named["repeat"], "scored", scores=scores)

    Judge.vote = vote  # type: ignore[method-assign]


def store_nothing() -> None:
    """Lets ledgers take everything at once and write none of it."""

    def write(
        self: LedgerWriter, kind: str, row: Any, *, soon: bool = False
    ) -> asyncio.Future[tuple[int, ...]]:
        stored: asyncio.Future[tuple[int, ...]] = asyncio.get_running_loop().create_future()
        stored.set_result(())
        return stored

    LedgerWriter.write = write  # type: ignore[method-assign]


def ledger_s() -> float:
    """Processor time of the thread that writes the ledger, seconds."""
    [thread] = [one for one in threading.enumerate() if one.name.startswith("areopagus-ledger")]
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))


async def plain(kind: str, base: str, count: int, in_flight: int) -> int:
    """The same calls with nothing around them; how many were answered."""
    from call_speed import plain_httpx, plain_litellm

    if kind == "plain-httpx":
        call = await plain_httpx("judge", base)
    else:
        call = await plain_litellm(kind.partition(":")[2] or MODEL, base)
    slots = asyncio.Semaphore(in_flight)

    async def one(number: int) -> None:
        async with slots:
            await call(number)

    calls = 30 * count
    for start in range(0, calls, 3000):
        await asyncio.gather(*(one(number) for number in range(start, min(start + 3000, calls))))
    return calls


async def bare(base: str, count: int, in_flight: int) -> int:
    """As many calls, made by connections alone; how many were answered."""
    from bare_wire import BareWire

    calls = 30 * count
    await BareWire(base, calls).run(in_flight)
    return calls


def measure(kind: str, in_flight: int, base: str, count: int) -> dict[str, float]:
    """One round in this process."""
    written = 0.0
    with tempfile.TemporaryDirectory() as folder:
        if kind == "bare-wire":
            cpu, wall = time.process_time(), time.perf_counter()
            scored = run_sync(bare(base, count, in_flight))
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        elif kind.startswith("plain"):
            # One loop for both: litellm keeps a pool of connections of the first it meets.
            with asyncio.Runner() as runner:
                runner.run(plain(kind, base, 5, in_flight))  # loads what is loaded late
                cpu, wall = time.process_time(), time.perf_counter()
                scored = runner.run(plain(kind, base, count, in_flight))
                cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        else:
            with panel_at(kind, base, in_flight, folder) as panel:
                panel.score("To load what is loaded late?", WORDS)
                written = ledger_s()
                cpu, wall = time.process_time(), time.perf_counter()
                scored = run_sync(judge_all(panel, count))
                cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
                written = ledger_s() - written
    if scored != 30 * count:
        raise RuntimeError(f"{scored} of {30 * count} judgments")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "cpu_ms": 1e3 * cpu / scored,
        "ledger_us": 1e6 * written / scored,
        "wall_s": wall,
        "peak_mb": peak,
    }


def main() -> None:
    """Prints a line a case."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--responses", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only", nargs="+", default=[""], help="cases whose name holds one of these"
    )
    parser.add_argument(
        "--latency",
        type=seconds,
        default=LATENCY_S,
        help=f"seconds to an answer; goal: {LATENCY_S} of the machine where the goals were set",
    )
    parser.add_argument("--one", nargs=3, metavar=("KIND", "N", "BASE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        kind, in_flight, base = options.one
        print(json.dumps(measure(kind, int(in_flight), base, options.responses)), flush=True)
        return
    known = all_cases(options.latency)
    names = ", ".join(dict.fromkeys(case[0] for case in known))
    for word in options.only:
        if not any(word in case[0] for case in known):
            parser.error(f"--only {word!r}: no case's name holds this; there are {names}")
    cases = [case for case in known if any(word in case[0] for word in options.only)]
    report(cases, rounds(cases, options.rounds, options.responses), options)


def seconds(text: str) -> float | None:
    """The value of `--latency`; None for that of the goals."""
    if text == "goal":
        return None
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: seconds above 0, or goal")
    return found


def rounds(cases: Sequence[Case], count: int, responses: int) -> Medians:
    """The medians of so many rounds of each case, and of the ruler."""
    found: dict[Case, list[dict[str, float]]] = {}
    for _ in range(count):
        ruler_ms = GOALS_LITELLM_MS
        for case in dict.fromkeys((RULER, *cases)):
            many = responses if case in cases else min(responses, RULER_RESPONSES)
            told = one_round(case, many, ruler_ms)
            if case == RULER:
                ruler_ms = told["cpu_ms"]
            found.setdefault(case, []).append(told)
    return {
        case: {name: statistics.median(each[name] for each in told) for name in told[0]}
        for case, told in found.items()
    }


def one_round(case: Case, responses: int, ruler_ms: float) -> dict[str, float]:
    """What a process of its own measures where a plain call of litellm took so long just before."""
    _, kind, in_flight, delay_s = case
    if delay_s is None:
        delay_s = LATENCY_S * ruler_ms / GOALS_LITELLM_MS
    with provider("--delay", str(delay_s)) as bases:
        command = [sys.executable, __file__, "--one", kind, str(in_flight), bases["openai"]]
        command += ["--responses", str(responses)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    ideal_s = 30 * responses * delay_s / in_flight
    ratio = told["wall_s"] / ideal_s if ideal_s else math.nan
    return told | {"latency_ms": 1e3 * delay_s, "to_ideal": ratio}


def report(cases: Sequence[Case], medians: Medians, options: argparse.Namespace) -> None:
    """Prints the table."""
    ruler = medians[RULER]["cpu_ms"]
    print(
        f"{options.responses} responses x 30 judgments, medians of {options.rounds} rounds; "
        f"a plain call of litellm: {ruler:.2f} ms"
    )
    print(
        f"{'':34}{'in flight':>10}{'wait ms':>8}{'CPU ms':>8}{'goal ms':>8}{'/litellm':>9}"
        f"{'/httpx':>8}{'ledger us':>10}{'calls/s':>8}{'wall s':>8}{'to ideal':>9}{'peak MB':>8}"
    )
    calls = 30 * options.responses
    for case in cases:
        name, _, in_flight, _ = case
        told = medians[case]
        against = "" if math.isnan(told["to_ideal"]) else f"{told['to_ideal']:.3f}"
        at_goal = f"{told['cpu_ms'] * GOALS_LITELLM_MS / ruler:.3f}"
        print(
            f"{name:34}{in_flight:10}{told['latency_ms']:8.0f}{told['cpu_ms']:8.3f}{at_goal:>8}"
            f"{to_plain(medians, case, 'litellm'):>9}{to_plain(medians, case, 'httpx'):>8}"
            f"{told['ledger_us']:10.0f}"
            f"{calls / told['wall_s']:8.0f}{told['wall_s']:8.2f}{against:>9}{told['peak_mb']:8.0f}"
        )


def to_plain(medians: Medians, case: Case, road: str) -> str:
    """The CPU of a panel's case to that of the calls alone by this road; "" where none was made."""
    _, kind, _, delay_s = case
    lane, _, model = kind.partition(":")
    plain = f"plain-{road}:{model}" if model else f"plain-{road}"
    others = [
        found["cpu_ms"]
        for (_, what, _, delay), found in medians.items()
        if what == plain and delay == delay_s
    ]
    if lane not in ("auto", "litellm") or not others:
        return ""
    return f"{medians[case]['cpu_ms'] / others[0]:.2f}"


if __name__ == "__main__":
    main()
