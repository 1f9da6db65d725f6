"""A construction of prompts in a process of its own, so that it can be killed while it runs."""

from __future__ import annotations

import multiprocessing
import multiprocessing.process
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.prompting import PromptRun, construct_prompts

# Forked from a process that has loaded litellm: loading it takes longer than all the rest.
_FORKS = multiprocessing.get_context("forkserver")
_PRELOADED = ["litellm", "areopagus.graphs.prompt_construction", "areopagus.prompting"]


def perform(options: Mapping[str, Any]) -> PromptRun:
    """The construction; what the child runs, and what an undisturbed run is made with."""
    return construct_prompts(**options)


def killed_at(reached: Callable[[], bool], options: Mapping[str, Any], *, limit_s: float) -> None:
    """Starts the construction in a child and sends it SIGKILL once `reached` says so."""
    litellm_module()  # what keeps it from the network stands in the environment of the fork
    _FORKS.set_forkserver_preload(_PRELOADED)
    child: multiprocessing.process.BaseProcess = _FORKS.Process(target=perform, args=(options,))
    child.start()
    deadline = time.monotonic() + limit_s
    while not reached() and time.monotonic() < deadline:
        assert child.is_alive(), "it ended before it could be killed"
        time.sleep(0.002)
    child.kill()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
