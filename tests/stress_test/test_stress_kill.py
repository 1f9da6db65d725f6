"""kill -9 in every stage of a stress test: nothing stored is asked again, the end is the same."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from after_a_kill import settled, stored, stored_twice
from processes import Command, until
from stress_world import StressWorld
from test_stress_command import COMMAND, write_models, write_prompts

from areopagus.stress_test import StressRun
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

IN_FLIGHT = 8
# Whose calls are counted, and between which shares of them the process is killed: in each of the
# stages rewrite, respond, score and, last, retest.
KILLS = (("rewriter", 0.3, 0.7), ("target", 0.3, 0.7), ("judge", 0.3, 0.7), ("judge", 0.93, 0.97))
WORLD = StressWorld(
    {"emotion_agree": {"pluralistic_engagement": 2.0}}, n_prompts=16, judge_sd=0.0, response_sd=0.0
)


def _start(folder: Path, out: str, home: str) -> Command:
    return Command(*COMMAND, "--out", out, "--quiet", folder=folder, home=folder / home)


def _play(request: ServedRequest) -> ServedReply:
    """The world, with answers that do not tell how often they were asked for."""
    reply = WORLD.provider()(request)
    if request.model != "target" or reply.text is None:
        return reply
    return ServedReply(reply.text.replace(f"version {request.attempt}.", "version 1."))


@pytest.mark.slow
def test_killed_in_every_stage_a_stress_test_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    chance, ledger = random.Random(7), tmp_path / "home-b" / "ledger.sqlite"
    write_prompts(tmp_path, WORLD)
    with ProviderServer(_play, delay_s=0.02) as server:
        write_models(tmp_path, server.openai_base, concurrency=IN_FLIGHT)
        _start(tmp_path, "undisturbed", "home-a").ended()
        planned = Counter(server.counts.by_model)
        server.reset()
        served, held = Counter[str](), Counter[str]()
        for model, low, high in KILLS:
            wanted = chance.uniform(low, high) * planned[model]
            process = _start(tmp_path, "killed", "home-b")
            until(lambda m=model, w=wanted: server.counts.by_model.get(m, 0) >= w)
            process.kill()
            served, before = settled(server), served
            held, kept = stored(ledger), held
            for name in planned:
                # Served in this session and not stored by it: in flight at the kill, answered and
                # not written yet, or asked for although it was stored before.
                lost = served[name] - before[name] - (held[name] - kept[name])
                assert 0 <= lost <= 2 * IN_FLIGHT, name
            assert any(held[name] > kept[name] for name in planned), "nothing was stored"
        _start(tmp_path, "killed", "home-b").ended()
        final = settled(server)
    undisturbed, resumed = StressRun(tmp_path / "undisturbed"), StressRun(tmp_path / "killed")
    tables = ("variants.csv", "responses.csv", "panel/scores.csv", "retest/scores.csv")
    for name in (*tables, "estimates.csv"):
        assert (undisturbed.path / name).read_bytes() == (resumed.path / name).read_bytes(), name
    # The session that ended asked for what was not stored, each once, and for nothing else.
    assert stored(ledger) == planned
    assert {name: final[name] - served[name] for name in planned} == {
        name: planned[name] - held[name] for name in planned
    }
    assert stored_twice(ledger) == 0
