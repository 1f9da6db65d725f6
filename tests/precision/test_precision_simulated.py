"""The stopping rule on simulated panels: a small form of `benchmarks/simulate.py precision`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areopagus.graphs.stopping import STATED_COVERAGE


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    return importlib.import_module("simulations.stopping")


def means(stopping: Any, order: str) -> dict[str, float]:
    """The means of the outcomes over eight worlds of the usual panel, half width .5."""
    rng = np.random.default_rng(1)
    worlds = [stopping.precision(rng, order, stopping.USUAL, 0.5) for _ in range(8)]
    return {name: float(np.nanmean([world[name] for world in worlds])) for name in worlds[0]}


def test_the_stated_coverage_is_kept_where_judges_are_asked_in_balance(stopping: Any) -> None:
    outcomes = means(stopping, "balanced")
    # 320 responses at .978: a share below .95 is five errors away
    assert outcomes["holds"] >= STATED_COVERAGE
    assert outcomes["within"] >= 0.97
    assert 9 < outcomes["asked"] < 12
    # What a run says of reliability is near what it is, and rather too little than too much.
    assert outcomes["stated part"] < outcomes["stated"]
    assert outcomes["true part"] == pytest.approx(outcomes["stated part"], abs=0.1)


def test_models_asked_one_after_the_other_would_break_it(stopping: Any) -> None:
    assert means(stopping, "by model")["holds"] < 0.75
