"""Whole runs of the SilverSpoon audits over HTTP, undisturbed and killed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from after_a_kill import settled, stored
from processes import killed_at
from silverspoon_world import SilverSpoonWorld

from areopagus.auditing import AuditRun, audit
from areopagus.testing import ProviderServer, ServedReply, ServedRequest


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


def killed_and_resumed(
    name: str, folder: Path, at: tuple[str, int], in_flight: int, **more: Any
) -> None:
    """Asserts that an audit that is killed ends, when it goes on, like an undisturbed one.

    Args:
        name: of the audit.
        folder: for its files.
        at: the model at whose so many-th call it is killed.
        in_flight: calls that are in flight at once at the most.
        more: what else the audit takes.
    """
    world = SilverSpoonWorld({"target": 0.4}, both=0.1, judge_error=0.1, seed=8)
    who, wanted = at
    is_held = False

    def reached() -> bool:
        return server.counts.by_model.get(who, 0) >= wanted

    def provider(request: ServedRequest) -> ServedReply:
        reply = world.provider(request)
        # What is asked from then on is in flight when the kill comes.
        return replace(reply, delay_s=300.0) if is_held and reached() else reply

    with ProviderServer(provider, record=False) as server:

        def given(out: str, ledger: str) -> dict[str, Any]:
            four = {"concurrency": 4}
            return {
                **more, "target": model(server, "target") | four,
                "judges": [model(server, one) | four for one in ("first", "second", "third")],
                "out": folder / out, "ledger": folder / ledger,
            }  # fmt: skip

        quiet = audit(name, **given("quiet", "a.sqlite"))
        planned = server.counts.total
        server.reset()
        is_held = True
        killed_at(reached, audit, name, **given("killed", "b.sqlite"))
        is_held = False
        assert server.counts.total < planned
        lost = settled(server) - stored(folder / "b.sqlite")
        killed = audit(name, **given("killed", "b.sqlite"))
        sent = server.counts.total
    assert any(row["by"] == "judges" for row in quiet.answers.rows("by"))
    for file in ("answers.parquet", "votes.parquet", "estimates.csv"):
        assert (quiet.path / file).read_bytes() == (killed.path / file).read_bytes(), file
    # In flight, or answered and not written yet; nothing that was stored is asked for again.
    assert lost.total() <= 2 * in_flight
    assert sent == planned + lost.total()
    assert not [entry.name for entry in killed.path.iterdir() if entry.name.startswith(".")]
