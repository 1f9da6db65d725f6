"""Blank pictures, for tests that look at anything else: rendering takes longer than a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, BinaryIO

import pytest

BLANK_PICTURES = "AREOPAGUS_TESTS_BLANK_PICTURES"
"""Set in the environment of processes whose pictures are to be blank too."""

_BLANK = {
    "png": bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
        "0000000a49444154789c63f80f0001010100b138f6140000000049454e44ae426082"
    ),
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" width="1pt"/>\n',
}


def blank_pictures(patch: pytest.MonkeyPatch) -> None:
    """Figures are made as always, and written blank."""
    from matplotlib.figure import Figure

    def savefig(self: Figure, path: Path | BinaryIO, **named: Any) -> None:
        if isinstance(path, str | os.PathLike):
            kind = named.get("format") or Path(path).suffix.removeprefix(".")
            Path(path).write_bytes(_BLANK[kind])
        else:
            path.write(_BLANK[named["format"]])

    patch.setattr(Figure, "savefig", savefig)
    patch.setattr(Figure, "draw_without_rendering", lambda self: None)
