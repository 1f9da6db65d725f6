"""The server of a study in a process of its own, which can be killed and started again."""

from __future__ import annotations

import multiprocessing
from contextlib import ExitStack
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from processes import forked

from areopagus.study import serve_study
from areopagus.testing import reserved_port


class StudyServer:
    """Serves a folder while it is used in `with`; at the same port each time it is started."""

    process: BaseProcess
    port: int

    def __init__(self, folder: Path) -> None:
        self.folder, self._held = folder, ExitStack()

    def __enter__(self) -> StudyServer:
        self.port = self._held.enter_context(reserved_port())
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._held.close()

    def start(self) -> None:
        """Starts the process, and waits until it answers."""
        here, there = multiprocessing.Pipe(duplex=False)
        self.process = forked(_serve, self.folder, self.port, there)
        there.close()
        with here:
            here.recv()

    def kill(self) -> None:
        """Ends the process by SIGKILL, unless it has ended."""
        self.process.kill()
        self.process.join()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"


def _serve(folder: Path, port: int, told: Connection) -> None:
    serve_study(folder, port=port, started=lambda address: told.send(address.port))
