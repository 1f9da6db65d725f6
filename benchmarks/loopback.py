"""The provider of a benchmark: a server on loopback, in a process and on a processor of its own.

A provider is no work of the machine that asks it. Where both moved freely over two processors, a
panel's judgment took 0.75 ms of processor time, and 0.66 where each had its own, in turns within
one hour: an eighth of the figure was the benchmark's own doing.
"""

from __future__ import annotations

import asyncio
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


@contextmanager
def gemini() -> Iterator[str]:
    """The base of a server that gives one fixed answer in Gemini's form, on the first processor.

    `areopagus.testing.server` does not speak that protocol.
    """
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:
                raise RuntimeError("the server says nothing")
            port = int(process.stdout.readline())
            if hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


async def _serve_gemini() -> None:
    part = {"role": "model", "parts": [{"text": '{"overall": 7}'}]}
    counts = {"promptTokenCount": 1200, "candidatesTokenCount": 8, "totalTokenCount": 1208}
    said = {"candidates": [{"content": part, "finishReason": "STOP"}], "usageMetadata": counts}
    body = json.dumps(said).encode()
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    answer = head.encode() + body

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = asked.partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length))
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve_gemini())
