"""A soak: whole runs against endpoints that fail in every way, killed again and again.

Run: python benchmarks/soak.py --kills 100 --responses 120 --seed 1
Short form: python benchmarks/soak.py --kills 6 --responses 30
Continuous integration runs the parts named in tests/test_soak.py on 12 responses: every fault, all
in one run ("together"), which this command has in a run of each besides ("faults"); the slow ones;
and the rest without kills and signals, which have tests of their own.

Every part prints its figures and ends with "holds" or with what does not hold; the exit code is 1
where anything does not. Checked everywhere: each planned judgment has exactly one typed status, no
stored reply is paid again, what is repeated after a kill was in flight and is counted, the process
ends by itself with the right exit code, and no traceback is shown.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from areopagus import Run
from areopagus.records.tables import read_judgments
from areopagus.testing import (
    ENVELOPE_FAULTS,
    HTTP_FAULTS,
    TEXT_FAULTS,
    TRANSIENT_FAULTS,
    TRANSPORT_FAULTS,
    Fault,
    ProviderServer,
    by_hash,
    flaky,
    per_model,
    reserved_port,
)

IN_FLIGHT = 16
# Of three backends: beside what is in flight, half as many that are noted and not sent, or answered
# and not stored.
MOST_LOST = 3 * (IN_FLIGHT + IN_FLIGHT // 2)
JUDGES = 30
SLOW_FAULTS = {Fault.HANG, Fault.TRICKLE}
"""They hold a slot until the time-out; one part has them alone, so that a soak ends."""

COMMAND = "from areopagus.cli.main import main\nmain()\n"
JUMPING_CLOCK = """\
import random, time
_true, _chance = time.time, random.Random(1)
time.time = lambda: _true() + _chance.choice((0, 0, 3600, -3600, 86400, -86400))
"""
LITTLE_ROOM = """\
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
"""

SETTINGS = """\
models:
  - model: openai/judge-a
    api_base: {openai}
    concurrency: {limit}
    timeout_s: {timeout}
  - model: anthropic/judge-b
    api_base: {anthropic}
    concurrency: {limit}
    timeout_s: {timeout}
  - model: ollama_chat/judge-c
    api_base: {ollama}
    concurrency: {limit}
    timeout_s: {timeout}
"""


def start_command(
    given: Sequence[str],
    folder: Path,
    home: Path,
    *,
    first: str = "",
) -> subprocess.Popen[str]:
    """Starts `areopagus` in a process; tests may put another start in the place of this one.

    Args:
        given: its arguments.
        folder: where it works.
        home: its AREOPAGUS_HOME.
        first: Python that the process runs before.
    """
    return subprocess.Popen(
        [sys.executable, "-c", first + COMMAND, *given],
        cwd=folder,
        env={**os.environ, "AREOPAGUS_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )


class Soak:
    """One place with responses, and what was found wrong so far."""

    def __init__(
        self, folder: Path, responses: int, chance: random.Random, *, judges: int = JUDGES
    ) -> None:
        self.folder = folder
        self.responses = responses
        self.planned = responses * judges
        self.chance = chance
        self.wrong: list[str] = []
        with (folder / "responses.jsonl").open("w", encoding="utf-8") as file:
            for i in range(responses):
                row = {
                    "response_id": f"r{i:05}",
                    "prompt_id": f"p{i % 20}",
                    "prompt_text": f"What is owed in case {i % 20}?",
                    "response_text": f"In case {i} much is owed, because promises bind.",
                    "respondent_id": f"writer-{i % 5}",
                }
                file.write(json.dumps(row) + "\n")

    def settings(self, server: ProviderServer, *, timeout: float = 60.0) -> None:
        """Writes the panel that asks this server over three protocols."""
        text = SETTINGS.format(
            openai=server.openai_base, anthropic=server.anthropic_base, ollama=server.ollama_base,
            limit=IN_FLIGHT, timeout=timeout,
        )  # fmt: skip
        (self.folder / "panel.yaml").write_text(text)

    def start(self, out: str, home: str, **options: Any) -> subprocess.Popen[str]:
        """Starts a run; options as those of `start_command`."""
        given = ("score", "responses.jsonl", "--panel", "panel.yaml", "--out", out, "--quiet")
        return start_command(given, self.folder, self.folder / home, **options)

    def finish(self, process: subprocess.Popen[str], seconds: float = 600) -> tuple[int, str]:
        """Exit code and stderr of a run that must end by itself."""
        try:
            _, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fault(f"a run did not end by itself within {seconds:.0f} s")
            return -1, ""
        if "Traceback" in errors or "a defect of areopagus" in errors:
            self.fault(f"a run shows a defect: {errors[-400:]}")
        return process.returncode, errors

    def fault(self, what: str) -> None:
        """Notes that something does not hold."""
        self.wrong.append(what)
        print(f"  DOES NOT HOLD: {what}")

    def expect(self, holds: bool, what: str) -> None:
        """Notes what does not hold."""
        if not holds:
            self.fault(what)

    def tables(self, out: str) -> tuple[bytes, list[dict[str, Any]]]:
        """What two runs of the same votes have in common: everything."""
        run = Run(self.folder / out)
        return (run.path / "scores.csv").read_bytes(), list(read_judgments(run.path))

    def check_votes(self, out: str) -> Counter[str]:
        """Statuses of a run, each planned judgment having exactly one."""
        run = Run(self.folder / out)
        rows = list(read_judgments(run.path))
        keys = {(r["response_id"], r["persona"], r["model"], r["repeat"]) for r in rows}
        self.expect(len(rows) == self.planned, f"{len(rows)} votes of {self.planned} planned")
        self.expect(len(keys) == len(rows), "a judgment has two votes")
        self.expect(sum(run.counts.values()) == self.planned, "the counts do not sum to planned")
        for row in rows:
            if row["status"] in ("failed", "unreadable", "refused") and not row["reason"]:
                self.fault(f"a vote {row['status']} without a reason")
                break
        return Counter(row["status"] for row in rows)

    def repeats(self, home: str) -> int:
        """Calls that the ledger counted as sent again because they were in flight at a kill."""
        with contextlib.closing(sqlite3.connect(self.folder / home / "ledger.sqlite")) as file:
            ((repeats, left),) = file.execute(
                "SELECT coalesce(sum(repeats), 0), (SELECT count(*) FROM intents) FROM calls"
            )
        self.expect(left == 0, f"{left} calls are noted as in flight after the end")
        return int(repeats)


def killed(soak: Soak, kills: int) -> None:
    """kill -9 at random instants, with transient faults all the while; job after job."""
    print(f"\nkill -9, {kills} times at random instants, a tenth of the attempts failing")
    with ProviderServer(by_hash(1, 10), delay_s=0.0, record=False) as calm:
        soak.settings(calm)
        calm_code, _ = soak.finish(soak.start("calm", "calm"))
    soak.expect(calm_code == 0, f"the faultless run ended with {calm_code}")
    quick = sorted(TRANSIENT_FAULTS - SLOW_FAULTS)
    judge = flaky(by_hash(1, 10), quick, 0.1, soak.chance.randrange(2**31), first_attempts=2)
    done = jobs = repeats = 0
    began = time.monotonic()
    with ProviderServer(judge, delay_s=0.02, retry_after_s=0.05, record=False) as server:
        soak.settings(server)
        while done < kills:
            name = f"killed{jobs}"
            done += _kill_and_kill(soak, server, name, kills - done)
            code, _ = soak.finish(soak.start(name, name))
            soak.expect(code == 0, f"the last run of a job ended with {code}, not 0")
            soak.check_votes(name)
            same = _same_votes(soak, name, "calm")
            soak.expect(same, "the tables differ from those of a faultless run")
            repeats += soak.repeats(name)
            jobs += 1
        paid, sent = server.counts.by_status.get(200, 0), server.counts.total
    print(
        f"  {done} kills in {time.monotonic() - began:.0f} s over {jobs} jobs; "
        f"{jobs * soak.planned} judgments, {sent} requests, {paid} answered with 200 (broken "
        f"bodies included); {repeats} calls repeated because they were in flight at a kill "
        f"({repeats / max(done, 1):.1f} a kill, {3 * IN_FLIGHT} at most in flight)"
    )
    soak.expect(repeats <= done * MOST_LOST, "more was repeated than was on its way")


def _kill_and_kill(soak: Soak, server: ProviderServer, name: str, most: int) -> int:
    """Starts a job again and again and kills it, until it comes to its end; how many kills."""
    done = 0
    share = soak.planned / 60
    while done < most:
        process = soak.start(name, name)
        goal = server.counts.answered + soak.chance.uniform(0, 2 * share)
        pause = soak.chance.uniform(0.0, 0.3)
        while process.poll() is None and server.counts.answered < goal:
            time.sleep(0.002)
        if process.poll() is not None:
            process.communicate()
            break
        time.sleep(pause * soak.chance.random())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done += 1
    return done


def _same_votes(soak: Soak, first: str, second: str) -> bool:
    """Whether two runs hold the same scores, wherever the replies came from."""
    drop = ("ledger_key", "cost_usd")

    def votes(out: str) -> list[dict[str, Any]]:
        return [{k: v for k, v in row.items() if k not in drop} for row in soak.tables(out)[1]]

    return votes(first) == votes(second)


def rerun_is_free(soak: Soak) -> None:
    """A finished run asks nothing again."""
    print("\na rerun of what is there")
    with ProviderServer(by_hash(1, 10), record=False) as server:
        soak.settings(server)
        soak.finish(soak.start("free", "free"))
        before = server.counts.total
        code, _ = soak.finish(soak.start("free", "free"))
        again = server.counts.total - before
    soak.expect(code == 0 and again == 0, f"{again} requests were sent again, exit code {code}")
    print(f"  {before} requests the first time, {again} the second")


def every_fault(soak: Soak) -> None:
    """Every fault for a share of the calls, for good: a typed vote each, and exit code 3."""
    print("\nevery fault for good, one at a time, in half of the calls")
    seen: Counter[str] = Counter()
    faults = sorted(HTTP_FAULTS | ENVELOPE_FAULTS | TEXT_FAULTS | TRANSPORT_FAULTS - SLOW_FAULTS)
    small = Soak(_subfolder(soak.folder, "faults"), 2, soak.chance)
    for fault in faults:
        judge = flaky(by_hash(1, 10), [fault], 0.5, 7)
        with ProviderServer(judge, retry_after_s=0.02, record=False) as server:
            small.settings(server, timeout=5.0)
            text = (small.folder / "panel.yaml").read_text()
            text = text.replace(
                "    timeout_s", "    max_attempts: 2\n    max_wait_s: 1\n    timeout_s"
            )
            (small.folder / "panel.yaml").write_text(text)
            process = small.start(f"out-{fault}", f"home-{fault}")
            code, errors = small.finish(process, 120)
        small.expect(code in (0, 3), f"{fault}: exit code {code}: {errors[:300]}")
        if code not in (0, 3):
            continue
        counts = small.check_votes(f"out-{fault}")
        troubled = sum(counts[name] for name in ("failed", "unreadable", "refused"))
        small.expect((code == 3) == (troubled > 0), f"{fault}: exit code {code}, {dict(counts)}")
        seen.update(counts)
    soak.wrong += small.wrong
    print(f"  {len(faults)} faults; votes by status: {dict(seen)}")


def all_faults_together(soak: Soak) -> None:
    """Every fault in one run: a model each, for good, in half of its calls."""
    print("\nevery fault in one run, each in half of the calls of its own model")
    faults = sorted(HTTP_FAULTS | ENVELOPE_FAULTS | TEXT_FAULTS | TRANSPORT_FAULTS)
    small = Soak(_subfolder(soak.folder, "together"), 4, soak.chance, judges=len(faults))
    judge = per_model({fault: flaky(by_hash(1, 10), [fault], 0.5, 7) for fault in faults})
    with ProviderServer(judge, retry_after_s=0.02, record=False) as server:
        protocols = (
            ("openai", server.openai_base),
            ("anthropic", server.anthropic_base),
            ("ollama_chat", server.ollama_base),
        )
        lines = ["models:"]
        for number, fault in enumerate(faults):
            prefix, base = protocols[number % len(protocols)]
            lines += [
                f"  - model: {prefix}/{fault}",
                f"    api_base: {base}",
                "    timeout_s: 2",
                "    max_attempts: 2",
                "    max_wait_s: 1",
            ]
        lines.append("personas: [historian]")
        (small.folder / "panel.yaml").write_text("\n".join(lines) + "\n")
        code, errors = small.finish(small.start("out", "home"), 120)
        small.expect(code == 3, f"exit code {code}, not 3: {errors[-300:]}")
        if code in (0, 3):
            counts = small.check_votes("out")
            print(f"  {len(faults)} faults, exit code {code}; votes by status: {dict(counts)}")
            small.expect(counts["scored"] > 0, "nothing was scored")
            sent = set(server.counts.by_model)
            small.expect(sent == set(faults), f"not asked: {sorted(set(faults) - sent)}")
    soak.wrong += small.wrong


def slow_faults(soak: Soak) -> None:
    """An endpoint that hangs, and one that sends a byte a second: the time-out ends both."""
    print("\nan endpoint that hangs, and one that sends one byte a second")
    small = Soak(_subfolder(soak.folder, "slow"), 2, soak.chance)
    for fault in sorted(SLOW_FAULTS):
        judge = flaky(by_hash(1, 10), [fault], 0.3, 3, first_attempts=1)
        with ProviderServer(judge, record=False) as server:
            small.settings(server, timeout=2.0)
            began = time.monotonic()
            code, _ = small.finish(small.start(f"out-{fault}", f"home-{fault}"), 180)
        counts = small.check_votes(f"out-{fault}")
        print(f"  {fault}: {dict(counts)}, exit code {code}, {time.monotonic() - began:.0f} s")
        small.expect(code == 0, f"{fault}: exit code {code}")
    soak.wrong += small.wrong


def dies_and_returns(soak: Soak) -> None:
    """An endpoint that dies in the middle and comes back."""
    print("\nan endpoint that dies and returns")
    with (
        reserved_port() as port,
        ProviderServer(by_hash(1, 10), port=port, delay_s=0.01, record=False) as server,
    ):
        soak.settings(server)
        process = soak.start("returned", "returned")
        while server.counts.answered < soak.planned / 3 and process.poll() is None:
            time.sleep(0.005)
        server.stop()
        time.sleep(1.0)
        server.start()
        code, _ = soak.finish(process)
        first = soak.check_votes("returned")
        again, _ = soak.finish(soak.start("returned", "returned"))
    counts = soak.check_votes("returned")
    print(f"  at once: {dict(first)}, exit code {code}; after a rerun: {dict(counts)}, {again}")
    soak.expect(code in (0, 3), f"exit code {code}")
    soak.expect(again == 0 and counts["scored"] == soak.planned, f"the rerun: {dict(counts)}")


def clock_jumps(soak: Soak) -> None:
    """The wall clock jumps by hours, back and forth, while a run is at work."""
    print("\na wall clock that jumps by up to a day")
    with ProviderServer(by_hash(1, 10), record=False) as server:
        soak.settings(server)
        code, errors = soak.finish(soak.start("clock", "clock", first=JUMPING_CLOCK))
    if code not in (0, 3):
        soak.fault(f"exit code {code}: {errors[-300:]}")
        return
    counts = soak.check_votes("clock")
    print(f"  {dict(counts)}, exit code {code}")
    soak.expect(code == 0 and counts["scored"] == soak.planned, "the run did not finish")


def no_such_host(soak: Soak) -> None:
    """A name that no DNS knows is told before anything is spent."""
    print("\na host that does not exist")
    (soak.folder / "panel.yaml").write_text(
        "models:\n  - {model: openai/a, api_base: 'http://no-such-host.invalid/v1'}\n"
    )
    code, errors = soak.finish(soak.start("nowhere", "nowhere"), 60)
    soak.expect(code == 2 and "cannot be reached" in errors, f"exit code {code}: {errors[-200:]}")
    print(f"  exit code {code}")


def disk_full(soak: Soak) -> None:
    """Files may not grow beyond a limit: the ledger, then the tables, cannot be written."""
    print("\na disk that is full (a limit on the size of files)")
    with ProviderServer(by_hash(1, 10), delay_s=0.005, record=False) as server:
        soak.settings(server)
        code, errors = soak.finish(soak.start("full", "full", first=LITTLE_ROOM))
        stopped_at = server.counts.answered
        soak.expect(code == 2, f"exit code {code}, not 2")
        soak.expect("cannot be" in errors or "full" in errors, f"it says: {errors[-300:]}")
        again, _ = soak.finish(soak.start("full", "full"))
        paid = server.counts.answered
    counts = soak.check_votes("full")
    repeats = soak.repeats("full")
    print(
        f"  stopped after {stopped_at} answers, exit code {code}; with room again {dict(counts)}, "
        f"exit code {again}; {paid - soak.planned} answers paid twice, {repeats} counted as in "
        "flight or not stored"
    )
    soak.expect(again == 0 and counts["scored"] == soak.planned, "the rerun did not finish")
    soak.expect(paid - soak.planned <= MOST_LOST, "more was paid twice than was on its way")


def locked_ledger(soak: Soak) -> None:
    """Another process holds the ledger for a few seconds."""
    print("\na ledger that another process has locked for 3 s")
    with ProviderServer(by_hash(1, 10), record=False) as server:
        soak.settings(server)
        process = soak.start("locked", "locked")
        path = soak.folder / "locked" / "ledger.sqlite"
        while not path.exists() or server.counts.answered < 20:
            if process.poll() is not None:
                break
            time.sleep(0.01)
        with contextlib.closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(3.0)
            other.execute("ROLLBACK")
        code, _ = soak.finish(process)
        again, _ = soak.finish(soak.start("locked", "locked"))
    counts = soak.check_votes("locked")
    print(f"  exit code {code}, then {again}; {dict(counts)}")
    soak.expect(code in (0, 2), f"exit code {code}")
    soak.expect(again == 0 and counts["scored"] == soak.planned, "the rerun did not finish")


def truncated_ledger(soak: Soak) -> None:
    """The ledger's file, and its log, cut off by a crash."""
    print("\na ledger cut off by a crash")
    with ProviderServer(by_hash(1, 10), delay_s=0.005, record=False) as server:
        soak.settings(server)
        process = soak.start("cut", "cut")
        while server.counts.answered < soak.planned / 2 and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        log = soak.folder / "cut" / "ledger.sqlite-wal"
        if log.exists():
            with log.open("r+b") as file:
                file.truncate(max(0, log.stat().st_size - 5000))
        code, _ = soak.finish(soak.start("cut", "cut"))
        counts = soak.check_votes("cut")
        soak.expect(code == 0 and counts["scored"] == soak.planned, f"log cut: exit code {code}")
        main = soak.folder / "cut" / "ledger.sqlite"
        with main.open("r+b") as file:
            file.truncate(main.stat().st_size // 2)
        broken, errors = soak.finish(soak.start("cut", "cut"), 120)
    print(
        f"  log cut: exit code {code}; file cut in half: exit code {broken}: {errors.strip()[:90]}"
    )
    soak.expect(broken == 2, f"a damaged ledger ends with {broken}, not 2")


def signals(soak: Soak) -> None:
    """SIGINT and SIGTERM let the calls in flight end, and keep them."""
    print("\nSIGINT and SIGTERM")
    for number, wanted in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        name = number.name.lower()
        with ProviderServer(by_hash(1, 10), delay_s=0.05, record=False) as server:
            soak.settings(server)
            process = soak.start(name, name)
            while server.counts.answered < soak.planned / 4 and process.poll() is None:
                time.sleep(0.005)
            process.send_signal(number)
            code, _ = soak.finish(process, 60)
            stored = Run(soak.folder / name).n_scored
            answered = server.counts.answered
            soak.expect(code == wanted, f"{number.name}: exit code {code}, not {wanted}")
            soak.expect(stored == answered, f"{number.name}: {answered} paid, {stored} kept")
            again, _ = soak.finish(soak.start(name, name))
            paid = server.counts.answered
        soak.expect(again == 0 and paid == soak.planned, f"{number.name}: {paid} paid in all")
        print(
            f"  {number.name}: exit code {code}, {stored} of {answered} answers kept; then {again}"
        )


def _subfolder(folder: Path, name: str) -> Path:
    place = folder / name
    place.mkdir()
    return place


PARTS: dict[str, Callable[[Soak], None]] = {
    "rerun": rerun_is_free,
    "faults": every_fault,
    "together": all_faults_together,
    "slow": slow_faults,
    "returns": dies_and_returns,
    "clock": clock_jumps,
    "dns": no_such_host,
    "disk": disk_full,
    "locked": locked_ledger,
    "truncated": truncated_ledger,
    "signals": signals,
}


def main() -> None:
    """Reads the options and runs the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--responses", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["kills", *PARTS], action="append")
    options = parser.parse_args()
    # A shell lets what runs in the background ignore SIGINT, and so would the runs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chance = random.Random(options.seed)
    began = time.monotonic()
    wrong: list[str] = []
    for name in options.only or ["kills", *PARTS]:
        with tempfile.TemporaryDirectory() as folder:
            size = options.responses if name == "kills" else min(options.responses, 30)
            soak = Soak(Path(folder), size, chance)
            if name == "kills":
                killed(soak, options.kills)
            else:
                PARTS[name](soak)
            print("  holds" if not soak.wrong else f"  {len(soak.wrong)} things do not hold")
            wrong += soak.wrong
    print(f"\n{time.monotonic() - began:.0f} s; {len(wrong)} things do not hold")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
