"""The benchmarks, which take too long to run here, still find what they measure."""

from __future__ import annotations

import ast
import importlib
import json
from pathlib import Path

import pytest

from areopagus.aggregation.estimate import Estimate, undefined
from areopagus.aggregation.telling_apart import LIKE_CHANCE, PERSONAS
from areopagus.records.estimates import Estimates
from areopagus.reports.weak_models import weak_models, weak_models_line, with_weak_models

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(BENCHMARKS.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_what_a_benchmark_imports_of_the_package_is_there(script: Path) -> None:
    missing = []
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("areopagus"):
            module = importlib.import_module(node.module or "")
            for name in (each.name for each in node.names):
                if not hasattr(module, name):
                    try:
                        importlib.import_module(f"{node.module}.{name}")
                    except ModuleNotFoundError:
                        missing.append(f"line {node.lineno}: {node.module}.{name}")
    assert missing == []


def test_the_page_about_weak_judges_shows_what_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    weak_judge = importlib.import_module("weak_judge")
    results = json.loads(weak_judge.RESULTS.read_text(encoding="utf-8"))
    page = weak_judge.PAGE.read_text(encoding="utf-8")
    assert weak_judge.with_results(page, results) == page
    assert f"It scored {results['responses']} of the" in page
    weak, *others = results["judges"].values()
    assert (weak["is_named"], weak["tau_baseline"], weak["tau_people"]) == ("yes", 0, 0)
    assert "undecided" in weak["calibrated"][0]
    for judge in others:
        assert (judge["is_named"], judge["tau_baseline"], judge["tau_people"]) == ("no", 1, 1)
        assert "at least half as good as one more person" in judge["calibrated"][0]
    # What is printed is what today's code makes of the figures.
    ratio = Estimate(weak["f"], method=PERSONAS, p=weak["p"], verdict=LIKE_CHANCE)
    estimates = Estimates()
    for measure, figure in (("most frequent score", undefined("")), ("between responses", ratio)):
        estimates.add("model scores", measure, figure, model="openai/smollm2")
    why = weak_models(estimates.frame())
    printed = " ".join(" ".join(results["printed"]).split())
    assert with_weak_models([""], why, 1)[0] in printed
    assert "caution " + weak_models_line(why)[0][1] in printed
