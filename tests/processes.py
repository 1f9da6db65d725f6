"""Processes that start soon, to be watched, interrupted and killed.

They are forked from one that has loaded what a command needs, which takes longer than all the rest.
A start from nothing is tested where it is the promise: in tests/test_package.py, in
tests/cli/test_commands.py, and by a signal in tests/experiment/test_kill.py.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

_FORKS = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Finished:
    """What has become of a command."""

    returncode: int
    stdout: str
    stderr: str


class Command:
    """`areopagus ARGUMENTS` at work in a folder; in most that a test needs like a `Popen`.

    With `code`, a script that is at work in the place of `areopagus`.
    """

    def __init__(
        self, *arguments: object, folder: Path, home: Path | None = None, code: str | None = None
    ) -> None:
        self._files = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self._files)
        environment = {"AREOPAGUS_HOME": str(home or folder / "home"), "COLUMNS": "80"}
        given = tuple(map(str, arguments))
        self.process = forked(_run, code, given, folder, environment, self._files)

    @property
    def returncode(self) -> int | None:
        """The exit code; None while it is at work."""
        return self.process.exitcode

    def poll(self) -> int | None:
        """The same."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Sends a signal to the command, which must be at work."""
        assert self.returncode is None, f"it has ended: {self.written('stderr')}"
        os.kill(self.process.pid or 0, number)

    def kill(self) -> None:
        """Ends the command, which must be at work, by SIGKILL."""
        killed(self.process)

    def communicate(self, timeout: float = 180) -> tuple[str, str]:
        """What it has written, once it has ended by itself.

        Raises:
            subprocess.TimeoutExpired: it is still at work.
        """
        self.process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("areopagus", timeout)
        return self.written("stdout"), self.written("stderr")

    def finished(self, timeout: float = 180) -> Finished:
        """What has become of it, once it has ended by itself."""
        stdout, stderr = self.communicate(timeout)
        return Finished(self.process.exitcode or 0, stdout, stderr)

    def ended(self) -> None:
        """Waits until it has ended well."""
        done = self.finished()
        assert done.returncode == 0, done.stderr

    def written(self, stream: str) -> str:
        """What it has written so far to "stdout" or "stderr"."""
        file = self._files / stream
        return file.read_bytes().decode() if file.exists() else ""


def areopagus(*arguments: object, folder: Path, home: Path | None = None) -> Finished:
    """What becomes of `areopagus ARGUMENTS`."""
    return Command(*arguments, folder=folder, home=home).finished()


def forked(target: Callable[..., Any], /, *given: Any, **named: Any) -> BaseProcess:
    """A process in which a function is at work, in this environment."""
    _FORKS.set_forkserver_preload(["preloaded"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        patch.setenv("PYTHONUTF8", "1")
        forkserver.ensure_running()
    process: BaseProcess = _FORKS.Process(
        target=_call, args=(dict(os.environ), target, given, named)
    )
    process.start()
    return process


def killed(process: BaseProcess) -> None:
    """Sends SIGKILL to a process that is at work."""
    assert process.exitcode is None, "it ended before it could be killed"
    process.kill()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


def killed_at(
    reached: Callable[[], bool], target: Callable[..., Any], /, *given: Any, **named: Any
) -> None:
    """Starts a function in a process and sends it SIGKILL once `reached` says so."""
    process = forked(target, *given, **named)
    until(lambda: reached() or process.exitcode is not None)
    killed(process)


def until(condition: Callable[[], object], *, limit_s: float = 180) -> None:
    """Waits until a condition holds."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {limit_s} s"
        time.sleep(0.002)


def _call(
    environment: dict[str, str],
    target: Callable[..., Any],
    given: tuple[Any, ...],
    named: Mapping[str, Any],
) -> None:
    # The process that this one is forked from has that of the first test.
    os.environ.clear()
    os.environ.update(environment)
    target(*given, **named)


def _run(
    code: str | None,
    arguments: tuple[str, ...],
    folder: Path,
    environment: dict[str, str],
    written: Path,
) -> None:
    os.chdir(folder)
    os.environ |= environment
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(written / name, os.O_WRONLY | os.O_CREAT), number)
    sys.argv = ["areopagus", *arguments]
    if code is None:
        from areopagus.cli.main import main

        main()
    else:
        exec(compile(code, "script", "exec"), {"__name__": "__main__"})
