"""A trial for each test, and one whole stress test that several tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stress_world import StressTrial, StressWorld

from areopagus.stress_test import StressRun
from areopagus.testing import ProviderServer

WORLD = StressWorld(
    {"emotion_agree": {"pluralistic_engagement": 2.0}}, n_prompts=12, delta_sd=0.2, prompt_sd=0.5
)


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[StressTrial]:
    """Three prompts: what is counted needs no more."""
    world = StressWorld(WORLD.deltas, n_prompts=3)
    with ProviderServer(world.provider()) as server:
        yield StressTrial(tmp_path, world, server)


@pytest.fixture(scope="session")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StressTrial, StressRun]]:
    """A study of the planted world, with nothing wrong in it."""
    with ProviderServer(WORLD.provider()) as server:
        trial = StressTrial(tmp_path_factory.mktemp("study"), WORLD, server)
        yield trial, trial.stress()
