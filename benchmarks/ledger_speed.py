"""What the ledger costs a call, and what group commits save.

    python benchmarks/ledger_speed.py [--calls N]

CPU microseconds for noting a call and storing its reply (claim + finish), with so many calls under
way at once, against storing them one after the other: one commit a record.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from areopagus.records.ledger import Ledger
from areopagus.records.types import Reply, Usage

REPLY = Reply(
    text='{"conceptual_clarity": 7, "evidential_grounding": 6, "contextual_relevance": 8}',
    finish_reason="stop",
    answered_by="model",
    usage=Usage(input_tokens=2400, output_tokens=60),
    cost_usd=0.0004,
    created_at=1.0,
)
REQUEST = {"params": {"max_tokens": 2048}, "persona": "historian", "rubric_sha256": "0" * 64}


async def store(ledger: Ledger, name: str, calls: int, at_once: int) -> None:
    """Begins and finishes so many calls, so many at once."""
    on_their_way = 0

    async def one(numbers: range) -> None:
        nonlocal on_their_way
        for number in numbers:
            key = f"{name}{number:060}"
            pending_call = await ledger.claim(key, backend="model")
            assert pending_call is not None
            on_their_way += 1
            await asyncio.sleep(0)  # the call
            on_their_way -= 1
            storing = ledger.finish(pending_call, REPLY, purpose="judge", request=REQUEST)
            if not on_their_way:
                ledger.hurry()  # as the client says it
            await storing

    # So many workers: a semaphore that thousands wait at would cost as much as the ledger.
    await asyncio.gather(*(one(range(first, calls, at_once)) for first in range(at_once)))


def measure(folder: Path, calls: int, at_once: int) -> tuple[float, float]:
    """CPU and wall microseconds a call."""
    with Ledger.open(folder / f"{at_once}.sqlite") as ledger:
        asyncio.run(store(ledger, "warm", 64, at_once))
        cpu, wall = time.process_time(), time.perf_counter()
        asyncio.run(store(ledger, "call", calls, at_once))
        return (
            1e6 * (time.process_time() - cpu) / calls,
            1e6 * (time.perf_counter() - wall) / calls,
        )


def main() -> None:
    """Prints a line for each number of calls at once."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=6000)
    calls = parser.parse_args().calls
    with tempfile.TemporaryDirectory() as name:
        alone = measure(Path(name), max(200, calls // 10), 1)
        print(f"{'at once':>8}{'CPU us':>10}{'wall us':>10}{'CPU ratio':>11}{'wall ratio':>12}")
        print(f"{1:8}{alone[0]:10.0f}{alone[1]:10.0f}{1:11.2f}{1:12.2f}")
        for at_once in (8, 16, 30, 256):  # 30: a panel with 128 in flight over 200 ms
            cpu, wall = measure(Path(name), calls, at_once)
            print(
                f"{at_once:8}{cpu:10.0f}{wall:10.0f}{cpu / alone[0]:11.2f}{wall / alone[1]:12.2f}"
            )


if __name__ == "__main__":
    main()
