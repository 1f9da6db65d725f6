"""kill -9 in every stage of a stress test: nothing stored is asked again, the end is the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from after_a_kill import settled, stored, stored_twice
from processes import killed_at
from stress_world import StressWorld

from areopagus import Panel
from areopagus.stress_test import StressRun, stress
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

IN_FLIGHT = 4
KILLS = (("rewriter", 0.5), ("target", 0.5), ("judge", 0.4), ("judge", 0.95))
"""Whose calls are counted, and after which share of them the process is killed: in each stage."""
WORLD = StressWorld({"emotion_agree": {"pluralistic_engagement": 2.0}}, n_prompts=4, judge_sd=0.0)


def play(request: ServedRequest) -> ServedReply:
    """The world, with answers that do not tell how often they were asked for."""
    reply = WORLD.provider()(request)
    if request.model != "target" or reply.text is None:
        return reply
    return ServedReply(reply.text.replace(f"version {request.attempt}.", "version 1."))


def whole(folder: Path, base: str) -> StressRun:
    """A stress test in a folder, with its ledger there."""

    def model(name: str) -> dict[str, object]:
        return {"model": f"openai/{name}", "api_base": base, "concurrency": IN_FLIGHT}

    with Panel([model("judge")], personas=["historian"], ledger=folder / "l.sqlite") as panel:
        return stress(
            WORLD.prompts(), panel=panel, target=[model("target")],
            rewriters=[model("rewriter"), model("reviewer")], out=folder / "run",
        )  # fmt: skip


@pytest.mark.long
def test_killed_in_every_stage_a_stress_test_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    calm.mkdir()
    killed.mkdir()
    with ProviderServer(play, delay_s=0.01) as server:
        undisturbed = whole(calm, server.openai_base)
        planned = Counter(server.counts.by_model)
        server.reset()
        held = Counter[str]()
        for model, share in KILLS:
            goal = share * planned[model]
            killed_at(
                lambda m=model, n=goal: server.counts.by_model.get(m, 0) >= n,
                whole, killed, server.openai_base,
            )  # fmt: skip
            held, kept = stored(killed / "l.sqlite"), held
            assert sum(held.values()) > sum(kept.values()), "nothing was stored"
            assert held >= kept
        served = settled(server)
        resumed = whole(killed, server.openai_base)
        final = settled(server)
    tables = ("variants.csv", "responses.csv", "panel/scores.csv", "retest/scores.csv")
    for name in (*tables, "estimates.csv"):
        assert (undisturbed.path / name).read_bytes() == (resumed.path / name).read_bytes(), name
    # The session that ended asked for what was not stored, each once, and for nothing else.
    assert stored(killed / "l.sqlite") == planned
    assert {name: final[name] - served[name] for name in planned} == {
        name: planned[name] - held[name] for name in planned
    }
    assert stored_twice(killed / "l.sqlite") == 0
    # Beyond the plan is only what was in flight at a kill.
    assert final.total() <= planned.total() + len(KILLS) * 2 * IN_FLIGHT
