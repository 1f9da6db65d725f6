"""Sessions of a ledger: tells a process that was killed from one that is still at work.

A call that was begun and has no outcome was either cut off (its process is gone, and the call may
have been paid for nothing) or is still under way elsewhere. A session row names its process; a
process is recognised by its id together with its start time, because ids are used again.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

_LINUX, _WINDOWS = (sys.platform.startswith(name) for name in ("linux", "win32"))

HEARTBEAT_S = 30.0
"""How often a session that is open for writing says that it is alive."""

SILENCE_S = 600.0
"""After this silence a session whose process cannot be looked up counts as dead."""


class Process(NamedTuple):
    """One process of one machine.

    Attributes:
        host: machine name, and on Linux boot id and process namespace: two containers that share
            a name do not share their process ids.
        pid: process id.
        started: when the process started, in the system's own notation; "" where unknown.
    """

    host: str
    pid: int
    started: str


def this_process() -> Process:
    """The running process."""
    pid = os.getpid()
    return Process(host=_host(), pid=pid, started=_start_of(pid) or "")


def is_dead(process: Process, heartbeat_at: float) -> bool:
    """Whether nobody will bring the outcome of the calls of a session that was not ended.

    True when its process is gone from this machine, or, where it cannot be looked up (another
    machine), after `SILENCE_S` without a heartbeat.

    Args:
        process: of the session.
        heartbeat_at: when it last said that it is alive, in seconds since the epoch.
    """
    if process.host == _host():
        alive = _is_running(process)
        if alive is not None:
            return not alive
    return time.time() - heartbeat_at > SILENCE_S


def _is_running(process: Process) -> bool | None:
    """Whether the process is there; None where the system does not say."""
    if _WINDOWS:
        return None  # os.kill(pid, 0) would end the process there
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # there, and somebody else's
    started = _start_of(process.pid)
    if started is None:
        return False  # gone meanwhile, or a zombie waiting for its parent
    return not (started and process.started) or started == process.started


def _host() -> str:
    """Machine name, with boot id and process namespace where the system has them."""
    parts = [platform.node() or "unknown"]
    if _LINUX:
        try:
            boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
            space = str(Path("/proc/self/ns/pid").readlink())
        except OSError:
            return parts[0]
        parts += [boot, space.removeprefix("pid:[").removesuffix("]")]
    return "/".join(parts)


def _start_of(pid: int) -> str | None:
    """When a process started; "" where the system does not say, None for one that has ended."""
    if _LINUX:
        try:
            raw = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None if Path("/proc/self/stat").exists() else ""
        except OSError:
            return ""
        # The second field is the program's name in brackets and may hold blanks and brackets.
        state, *rest = raw.rpartition(")")[2].split()
        return None if state in "ZX" else rest[18]
    if _WINDOWS:
        return ""
    try:
        listed = subprocess.run(  # noqa: S603  (a fixed command; the only argument is a number)
            ["/bin/ps", "-o", "lstart=", "-p", str(pid)],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return " ".join(listed.stdout.split()) or None
