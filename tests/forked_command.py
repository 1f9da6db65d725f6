"""A command in a process of its own that starts soon, to be killed while it runs.

Forked from a process that has loaded litellm: loading it takes longer than all the rest.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

from areopagus.judges.models.litellm_setup import litellm_module

ERRORS = "errors.txt"
_FORKS = multiprocessing.get_context("forkserver")
_PRELOADED = ["litellm", "areopagus.graphs.panel", "areopagus.cli.main", "pyarrow.parquet", "scipy"]


def started(arguments: Sequence[str], folder: Path, home: Path) -> BaseProcess:
    """`areopagus ARGUMENTS` in a folder; what it says of errors goes to `ERRORS` there."""
    litellm_module()  # what keeps it from the network stands in the environment of the fork
    _FORKS.set_forkserver_preload(_PRELOADED)
    process: BaseProcess = _FORKS.Process(target=_run, args=(tuple(arguments), folder, home))
    process.start()
    return process


def ended(process: BaseProcess, folder: Path) -> None:
    """Waits until the command has ended well."""
    process.join(180)
    assert process.exitcode == 0, (folder / ERRORS).read_text(encoding="utf-8")


def killed(process: BaseProcess) -> None:
    """Sends SIGKILL to a command that is at work."""
    assert process.exitcode is None, "it ended before it could be killed"
    process.kill()
    process.join(60)


def _run(arguments: tuple[str, ...], folder: Path, home: Path) -> None:
    from areopagus.cli.main import main

    os.chdir(folder)
    os.environ["AREOPAGUS_HOME"] = str(home)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(folder / ERRORS, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    sys.argv = ["areopagus", *arguments]
    main()
