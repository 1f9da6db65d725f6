"""The folder of runs that the tests of this folder look at."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from view_world import make_world


@pytest.fixture(scope="session")
def world_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To be read and copied only; one of the suite's processes makes it."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    with FileLock(place / "view_world.lock"):
        if not (place / "view_world" / "made").exists():
            make_world(place / "view_world")
            (place / "view_world" / "made").touch()
    return place / "view_world" / "runs"


@pytest.fixture
def world(world_once: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(world_once.parent, tmp_path / "world", symlinks=True)
    runs = tmp_path / "world" / "runs"
    for link in [one for one in (runs / "broken").rglob("*") if one.is_symlink()]:
        target = str(link.readlink()).replace(str(world_once.parent), str(tmp_path / "world"))
        link.unlink()
        link.symlink_to(target)
    return runs
