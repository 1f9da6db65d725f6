"""The stopping rule on simulated panels: a small form of `benchmarks/precision_rule.py`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areopagus.graphs.stopping import STATED_COVERAGE


@pytest.fixture
def rule(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    import precision_rule

    yield precision_rule
    sys.modules.pop("precision_rule")


def test_the_stated_coverage_is_kept_where_judges_are_asked_in_balance(rule: Any) -> None:
    found = rule.simulate(rule.SHAPES["usual, 10 x 3"], 0.5, 8, 1, rule.balanced)
    # 320 responses at .978: a share below .95 is five errors away
    assert np.mean(found.holds) >= STATED_COVERAGE
    assert np.mean(found.within) >= 0.97
    assert 9 < np.mean(found.asked) < 12
    # What a run says of reliability is near what it is, and rather too little than too much.
    stated, true = np.mean(found.stated, axis=0), np.mean(found.true, axis=0)
    assert stated[1] < stated[0]
    assert true[1] == pytest.approx(stated[1], abs=0.1)


def test_models_asked_one_after_the_other_would_break_it(rule: Any) -> None:
    found = rule.simulate(rule.SHAPES["usual, 10 x 3"], 0.5, 8, 1, rule.by_model)
    assert np.mean(found.holds) < 0.75
