"""An audit in a process of its own, so that it can be killed while it runs."""

from __future__ import annotations

import multiprocessing
import multiprocessing.process
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from areopagus.auditing import AuditRun, audit
from areopagus.judges.models.litellm_setup import litellm_module

# Forked from a process that has loaded litellm: loading it takes longer than all the rest.
_FORKS = multiprocessing.get_context("forkserver")
_PRELOADED = ["litellm", "areopagus.graphs.adjudication", "areopagus.auditing", "pyarrow.parquet"]


def perform(which: str | Path, options: Mapping[str, Any]) -> AuditRun:
    """The audit; what the child runs, and what an undisturbed run is made with."""
    return audit(which, **options)


def killed_at(
    reached: Callable[[], bool], which: str | Path, options: Mapping[str, Any], *, limit_s: float
) -> None:
    """Starts the audit in a child and sends it SIGKILL once `reached` says so."""
    litellm_module()  # what keeps it from the network stands in the environment of the fork
    _FORKS.set_forkserver_preload(_PRELOADED)
    child: multiprocessing.process.BaseProcess = _FORKS.Process(
        target=perform, args=(which, options)
    )
    child.start()
    deadline = time.monotonic() + limit_s
    while not reached() and time.monotonic() < deadline:
        assert child.is_alive(), "it ended before it could be killed"
        time.sleep(0.002)
    child.kill()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
