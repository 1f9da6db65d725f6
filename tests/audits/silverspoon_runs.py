"""Whole runs of the SilverSpoon audits over HTTP, undisturbed and killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from silverspoon_world import SilverSpoonWorld

from areopagus.auditing import AuditRun, audit
from areopagus.testing import ProviderServer


def model(server: ProviderServer, name: str) -> dict[str, Any]:
    return {"model": f"openai/{name}", "name": name, "api_base": server.openai_base}


def audited(
    name: str, world: SilverSpoonWorld, folder: Path, n_judges: int = 3, **more: Any
) -> AuditRun:
    """The run of an audit of all models of a world, with so many of its judges."""
    with ProviderServer(world.provider, record=False) as server:
        return audit(
            name, target=[model(server, target) for target in world.sides_with_p1],
            judges=[model(server, one) for one in ("first", "second", "third")[:n_judges]],
            out=folder / "run", ledger=folder / "l.sqlite", **more,
        )  # fmt: skip
