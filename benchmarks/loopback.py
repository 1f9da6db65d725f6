"""The provider of a benchmark: a server on loopback, in a process and on a processor of its own.

A provider is no work of the machine that asks it. Where both moved freely over two processors, a
panel's judgment took 0.75 ms of processor time, and 0.66 where each had its own, in turns within
one hour: an eighth of the figure was the benchmark's own doing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def provider(*options: str) -> Iterator[dict[str, str]]:
    """Its bases by protocol.

    Within it this process, and whatever it starts, keeps to the other processors. With a single
    processor, or where a system cannot bind to one, all share what there is.

    Args:
        options: those of `python -m areopagus.testing.server`.
    """
    command = [sys.executable, "-m", "areopagus.testing.server", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:
                raise RuntimeError("the server says nothing")
            bases: dict[str, str] = json.loads(process.stdout.readline())
            with _apart_from(process.pid):
                yield bases
        finally:
            process.terminate()


@contextmanager
def _apart_from(process: int) -> Iterator[None]:
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        yield
        return
    everywhere = os.sched_getaffinity(0)
    first = min(everywhere)
    os.sched_setaffinity(process, {first})
    os.sched_setaffinity(0, everywhere - {first})
    try:
        yield
    finally:
        os.sched_setaffinity(0, everywhere)
