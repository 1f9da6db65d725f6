"""The benchmarks, which take too long to run here, still find what they measure."""

from __future__ import annotations

import ast
import importlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_figures import NUMBER_WORDS, numerals_outside

from areopagus.aggregation.estimate import Estimate, undefined
from areopagus.aggregation.intervals import MIN_UNITS
from areopagus.aggregation.telling_apart import ALPHA, LIKE_CHANCE, PERSONAS
from areopagus.records.estimates import Estimates
from areopagus.reports.weak_models import weak_models, weak_models_line, with_weak_models

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(BENCHMARKS.rglob("*.py"))


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


def test_every_declared_simulation_gives_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    simulations = importlib.import_module("simulate").SIMULATIONS
    for name, one in simulations.items():
        cell = next(one.cells)
        outcomes = one.world(np.random.default_rng(0), **cell)
        assert outcomes, name
        assert all(isinstance(value, float) for value in outcomes.values()), name


def test_the_page_about_weak_judges_shows_what_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    weak_judge = importlib.import_module("weak_judge")
    results = json.loads(weak_judge.RESULTS.read_text(encoding="utf-8"))
    page = weak_judge.PAGE.read_text(encoding="utf-8")
    assert weak_judge.with_results(page, results) == page
    weak, *others = results["judges"].values()
    assert (weak["is_named"], weak["tau_baseline"], weak["tau_people"]) == ("yes", 0, 0)
    assert "undecided" in weak["calibrated"][0]
    for judge in others:
        assert (judge["is_named"], judge["tau_baseline"], judge["tau_people"]) == ("no", 1, 1)
        assert "at least half as good as one more person" in judge["calibrated"][0]
    pairs, n_named = weak["pairs"], len(weak_judge.PERSONAS)
    assert (pairs * 2, pairs) == (weak["planned"], results["responses"] * n_named)
    examples = pd.read_csv("examples/responses.csv")
    raters = pd.read_csv("examples/humans/ratings.csv")["rater_id"].nunique()
    (name, *_), n_prompts = results["judges"], examples["prompt_id"].nunique()
    assert results["responses"] == examples["respondent_id"].isin(["alder", "cedar"]).sum()
    phrases = (
        f"{name} is a language model with {name.split('-')[1].rstrip('M')} million parameters",
        f"It scored {results['responses']} of the example responses",
        f"as {NUMBER_WORDS[n_named]} personas and twice each",
        f"`cedar`, the worst, to {NUMBER_WORDS[n_prompts]} prompts.",
        f"in {weak['same_status']} of {pairs} pairs, which is chance",
        f"the {NUMBER_WORDS[raters]} invented raters of `examples/humans/ratings.csv`",
        f"fewer than {NUMBER_WORDS[MIN_UNITS]} responses",
        f"a {ALPHA:.0%} level: about one in {NUMBER_WORDS[round(1 / ALPHA)]} models",
        f"runs the {NUMBER_WORDS[len(results['judges'])]} judges",
        f"(tau {weak['tau_baseline']:.0f})", f"(tau {others[0]['tau_baseline']:.0f})",
        "F near 1 means", "1 is full agreement and 0 is chance",
        "*at least half as good as one more person*", "Of two responses to a prompt",
        "Score with at least two personas, twice each.",
    )  # fmt: skip
    assert numerals_outside(page, phrases, r"<!-- weak_judge.py: .*?<!-- end of \w+ -->") == []
    # What is printed is what today's code makes of the figures.
    ratio = Estimate(weak["f"], method=PERSONAS, p=weak["p"], verdict=LIKE_CHANCE)
    estimates = Estimates()
    for measure, figure in (("most frequent score", undefined("")), ("between responses", ratio)):
        estimates.add("model scores", measure, figure, model="openai/smollm2")
    why = weak_models(estimates.frame())
    printed = " ".join(" ".join(results["printed"]).split())
    assert with_weak_models([""], why, 1)[0] in printed
    assert "caution " + weak_models_line(why)[0][1] in printed
