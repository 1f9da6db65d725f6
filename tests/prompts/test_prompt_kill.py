"""kill -9 while prompts are made: nothing stored is asked again, and the end is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from processes import killed_at
from prompt_world import PromptWorld, model

from areopagus.prompts import construct_prompts
from areopagus.testing import ProviderServer

IN_FLIGHT = 4
MODELS = ("alpha", "beta", "gamma")
KILLS = (0.04, 0.3, 0.8)
"""While they write, while they vote, while they compare: shares of all calls."""
WORLD = PromptWorld(
    n=2,
    count=3,
    malformed={("beta", "s0"): (2,)},
    refusing={("alpha", "s1")},
    flaws={("gamma", 2): "judgmental"},
    same={"alpha": (frozenset({1, 3}),)},
)


@pytest.mark.long
def test_killed_again_and_again_a_construction_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    WORLD.write_scenarios(tmp_path / "own.jsonl")
    with ProviderServer(WORLD, delay_s=0.01) as server:

        def options(out: str, ledger: str) -> dict[str, Any]:
            return {
                "scenarios": tmp_path / "own.jsonl",
                "models": [model(server, name) | {"concurrency": IN_FLIGHT} for name in MODELS],
                "per_scenario": 3,
                "cross_pairs": 3,
                "out": tmp_path / out,
                "ledger": tmp_path / ledger,
            }

        calm = construct_prompts(**options("calm", "a.sqlite"))
        planned = server.counts.total
        server.reset()
        for share in KILLS:
            goal = share * planned
            killed_at(
                lambda goal=goal: server.counts.total >= goal,
                construct_prompts,
                **options("killed", "b.sqlite"),
            )
        killed = construct_prompts(**options("killed", "b.sqlite"))
        sent = server.counts.total
    for name in ("prompts.csv", "candidates.csv", "bundles.csv", "votes.csv", "pairs.csv"):
        assert (calm.path / name).read_bytes() == (killed.path / name).read_bytes(), name
    pd.testing.assert_frame_equal(killed.estimates, calm.estimates)
    assert (killed.state, killed.exit_code) == ("complete", 3), "a refusal was planted"
    # What was in flight at a kill may be asked again, and nothing else.
    assert planned <= sent <= planned + len(KILLS) * len(MODELS) * IN_FLIGHT
