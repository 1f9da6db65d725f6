"""The loopback provider as a process: `python -m areopagus.testing.server`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import ssl
import threading
from collections.abc import Sequence
from pathlib import Path

from .exchange import Fault
from .provider import ProviderServer
from .scripted import by_hash, constant, flaky, respondent


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until SIGINT or SIGTERM; 0.

    The first line on standard output is a JSON object with the bases by protocol, `base` (whose
    `/__counts` tells what was counted, as does POST `/__reset` forget it), `port` and `pid`.
    """
    options = _parser().parse_args(arguments)
    judges = {
        "by_hash": by_hash(options.low, options.high),
        "constant": constant(options.low),
        "respondent": respondent(lambda prompt: f"An answer to: {prompt}"),
    }
    judge = judges[options.judge]
    if options.fault:
        judge = flaky(
            judge,
            options.fault,
            options.fault_rate,
            options.seed,
            first_attempts=options.first_attempts,
        )
    server = ProviderServer(
        judge,
        port=options.port,
        delay_s=options.delay,
        requests_per_minute=options.rpm,
        burst=options.burst,
        max_concurrent=options.max_concurrent,
        when_full=options.when_full,
        retry_after_s=options.retry_after,
        record=False,  # a benchmark's requests would fill the memory
        tls=served_with(options.certificate) if options.certificate else None,
    )
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with server:
        known = {**server.bases, "base": server.base, "port": server.port, "pid": os.getpid()}
        print(json.dumps(known), flush=True)
        ended.wait()
    return 0


def served_with(certificate: Path) -> ssl.SSLContext:
    """TLS of a server that shows this certificate; the file holds its private key too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m areopagus.testing.server",
        description="A provider of models on 127.0.0.1, for benchmarks and kill tests.",
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--certificate", type=Path, metavar="PEM", help="TLS with this certificate and its key"
    )
    parser.add_argument("--delay", type=float, default=0.0, help="seconds to every answer")
    parser.add_argument("--judge", choices=("by_hash", "constant", "respondent"), default="by_hash")
    parser.add_argument("--low", type=int, default=1, help="smallest (or the constant) score")
    parser.add_argument("--high", type=int, default=10)
    parser.add_argument("--rpm", type=float, help="requests a minute, else 429")
    parser.add_argument("--burst", type=int)
    parser.add_argument("--max-concurrent", type=int)
    parser.add_argument("--when-full", choices=("reject", "queue"), default="reject")
    parser.add_argument(
        "--fault", type=Fault, action="append", metavar="NAME", help="may be repeated"
    )
    parser.add_argument("--fault-rate", type=float, default=0.1)
    parser.add_argument("--first-attempts", type=int, help="later attempts never fail")
    parser.add_argument("--retry-after", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
