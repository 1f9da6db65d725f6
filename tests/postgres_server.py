"""A PostgreSQL server of the tests' own: on loopback, in a temporary folder, with a password."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

from areopagus.testing import reserved_port

PASSWORD = "canary-pass-7f3"
USER = "ledger"


def missing() -> str | None:
    """Why no server can be started here; None where one can."""
    if programs() is None:
        return "there is no PostgreSQL server (initdb, postgres) on this machine"
    if os.geteuid() == 0 and (shutil.which("runuser") is None or not _has_postgres_user()):
        return "PostgreSQL does not run as root, and there is no user postgres to run it as"
    return None


def programs() -> Path | None:
    """The folder of the newest server's programs."""
    found = [Path(name).parent for name in (shutil.which("initdb"),) if name]
    found += sorted(
        (path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")),
        key=lambda folder: int(folder.parent.name),
        reverse=True,
    )
    return found[0] if found else None


class PostgresServer:
    """Started, stopped and killed at will; keeps its port and its data."""

    def __init__(self) -> None:
        # Not in pytest's folder, which is for its owner only: the server is another user's.
        self.folder = Path(tempfile.mkdtemp(prefix="areopagus-postgres-"))
        self._programs = programs()
        self._data = self.folder / "data"
        self._held = ExitStack()
        self.port = self._held.enter_context(reserved_port())
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
            shutil.chown(secret, "postgres")
        self._call(
            "initdb", "-D", self._data, "-A", "scram-sha-256", "-U", USER,
            f"--pwfile={secret}", "--no-sync", "-E", "UTF8", "--locale=C",
        )  # fmt: skip

    def start(self) -> None:
        """Starts it and waits until it answers."""
        # Its data need not outlive this machine, only the server.
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' "
            "-c fsync=off"
        )
        self._call(
            "pg_ctl", "-D", self._data, "-l", self.folder / "log", "-w", "-o", options, "start"
        )

    def stop(self, how: str = "fast") -> None:
        """Stops it: `fast` in order, `immediate` as if the power failed."""
        self._call("pg_ctl", "-D", self._data, "-w", "-m", how, "stop")

    def remove(self) -> None:
        """Stops it and takes its data away."""
        if (self._data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder)
        self._held.close()

    def address(self, schema: str = "areopagus", *, password: str = PASSWORD) -> str:
        """The address of a ledger in a schema."""
        return f"postgresql://{USER}:{password}@127.0.0.1:{self.port}/postgres?schema={schema}"

    def _call(self, program: str, *arguments: object) -> None:
        assert self._programs is not None
        command = [str(self._programs / program), *map(str, arguments)]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        done = subprocess.run(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr.decode()


def _has_postgres_user() -> bool:
    import pwd

    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return False
    return True
