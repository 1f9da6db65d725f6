"""Designs are detected, and the standard errors and plans of each are the right ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from areopagus.aggregation.decision_study import (
    asked_study,
    best_designs,
    crossed_layout,
    d_study,
    layout_of,
)
from areopagus.aggregation.design import CONFOUNDED, FellOut, design_of
from areopagus.aggregation.generalizability import RESIDUAL, panel_g_study
from areopagus.aggregation.judge_worth import (
    effective_judges_from_components,
    worth_of_components,
    worth_of_layout,
)
from areopagus.aggregation.rater_severity import severity

REFERENCE = {"q": 1.0, "P": 0.2, "M": 0.3, "qP": 0.06, "qM": 0.30, RESIDUAL: 0.25}
"""One response a prompt; ten personas on three models: .006 + .1 + .00833 = .338 squared."""


def crossed(prompts: int, each: int, personas: int = 10, models: int = 3) -> dict[str, Any]:
    """Labels of a panel whose every judge judges every response."""
    q, k, p, m = (i.ravel() for i in np.indices((prompts, each, personas, models)))
    return {"prompt": q, "response": q * each + k, "persona": p, "model": m}


def panel(
    seed: int, prompts: int, each: int, personas: int, models: int, repeats: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, what they measure, and prompts; variances as in the benchmark of the designs."""
    rng = np.random.default_rng(seed)
    q = np.repeat(np.arange(prompts), each)
    n = len(q)

    def normal(variance: float, *shape: int) -> np.ndarray:
        return rng.normal(scale=math.sqrt(variance), size=shape)

    measured = normal(0.36, prompts)[q] + normal(0.64, n)
    scores = (
        6
        + measured[:, None, None]
        + normal(0.2, 1, personas, 1)
        + normal(0.3, 1, 1, models)
        + normal(0.02, prompts, personas, 1)[q]
        + normal(0.10, prompts, 1, models)[q]
        + normal(0.04, n, personas, 1)
        + normal(0.20, n, 1, models)
        + normal(0.15, n, personas, models)
    )
    return scores[..., None] + normal(0.10, n, personas, models, repeats), measured, q


def test_what_is_there_is_counted() -> None:
    found = design_of(**crossed(5, 4))
    assert (found.prompts, found.responses, found.sharing) == (5, 20, 20)
    assert (found.judges, found.personas, found.models, found.repeats) == (30, 10, 3, 1)
    assert (found.fewest_asked, found.most_asked, found.asked, found.scored) == (30, 30, 600, 600)
    assert found.target == "response_within_prompt"
    assert not (found.is_incomplete)
    assert not (found.is_confounded)
    assert not (found.fell_out)


def test_labels_of_any_kind_and_order_give_the_same_design() -> None:
    given = crossed(6, 3, 4, 2)
    order = np.random.default_rng(0).permutation(len(given["prompt"]))
    named = {name: [f"{name} {code}" for code in codes[order]] for name, codes in given.items()}
    far = {name: codes * 10**9 - 5 for name, codes in given.items()}
    assert design_of(**named) == design_of(**far) == design_of(**given)


def test_one_response_a_prompt_is_told_where_few_share_theirs() -> None:
    one = crossed(40, 1)
    assert design_of(**one).target == "response"
    # three of the forty prompts asked about twice
    prompt = np.where(one["prompt"] < 3, one["prompt"] + 3, one["prompt"])
    found = design_of(**{**one, "prompt": prompt})
    assert (found.prompts, found.sharing, found.target) == (37, 6, "response")


def test_a_rotation_is_told_from_a_model_that_fell_out() -> None:
    given = crossed(30, 2, 2, 3)
    turn = (given["model"] + given["response"]) % 3 < 2
    rotation = design_of(**{name: codes[turn] for name, codes in given.items()})
    assert rotation.is_incomplete
    assert (rotation.fewest_asked, rotation.most_asked, rotation.fell_out) == (4, 4, ())
    # a stopping rule: the others were planned and not wanted
    assert design_of(**given, asked=turn) == rotation
    # model 1 answers 20 of 60 responses, both personas: 40 of 120; the others 120 of 120
    there = (given["model"] != 1) | (given["response"] < 20)
    out = design_of(**given, scored=there, model_names=["soft", "harsh", "mild"])
    assert not out.is_incomplete
    assert out.fell_out == (FellOut("model", "harsh", 40, 120),)
    # a run that ended halfway lacks as much of every model
    half = design_of(**given, scored=given["response"] < 30)
    assert half.fell_out == ()


def test_respondents_are_paired_where_each_answered_every_prompt_once() -> None:
    given = crossed(5, 2, 2, 1)
    who = given["response"] % 2
    assert design_of(**given, respondent=who).is_paired
    missing = given["response"] != 3
    fewer = {name: codes[missing] for name, codes in given.items()}
    assert not design_of(**fewer, respondent=who[missing]).is_paired


def test_repeats_count_where_a_judge_was_scored_twice() -> None:
    given = crossed(4, 2, 2, 2)
    twice = {name: np.tile(codes, 2) for name, codes in given.items()}
    repeat = np.repeat([0, 1], len(given["prompt"]))
    assert design_of(**twice, repeat=repeat).is_replicated
    # the second asking made up for the first, which failed
    once = np.where(repeat == 0, twice["response"] < 4, twice["response"] >= 4)
    found = design_of(**twice, repeat=repeat, scored=once)
    assert (found.repeats, found.is_replicated) == (2, False)


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        design_of([1, 2], [1], [1], [1])
    with pytest.raises(ValueError, match="at least 1"):
        design_of([], [], [], [])


# ------------------------------------------------------------------ one response a prompt


def test_what_a_judge_makes_of_a_prompt_is_error_with_one_response_a_prompt() -> None:
    found = d_study(REFERENCE, personas=10, models=3)
    assert found.target == "response"
    assert math.sqrt(found.relative_error) == pytest.approx(0.338, abs=5e-4)
    # of one model .06 / 30 + .30 + .25 / 30 = .3103; of fifteen .03 + .02 + .00833 = .0583
    for personas, models, error in ((30, 1, 0.557), (2, 15, 0.2415)):
        one = d_study(REFERENCE, personas=personas, models=models)
        assert math.sqrt(one.relative_error) == pytest.approx(error, abs=5e-4)
    (best,) = best_designs(REFERENCE, [30])
    assert (best.design.personas, best.design.models) in {(2, 15), (3, 10)}  # they are equal


def test_thirty_judges_of_one_response_a_prompt_are_worth_five() -> None:
    # one judgment errs by .06 + .30 + .25 = .61, the mean of thirty by .1143
    found = effective_judges_from_components(REFERENCE, personas=10, models=3)
    assert found == pytest.approx(0.61 / 0.114333, rel=1e-4)


def test_the_standard_error_of_500_prompts_and_30_judges_is_the_true_one() -> None:
    """Proof 3 of the issue, in eight worlds; 400 stand in benchmarks/simulate.py designs."""
    said, true, plans = [], [], []
    for seed in range(8):
        scores, measured, q = panel(seed, 500, 1, 10, 3)
        study = panel_g_study(scores, prompt=q, jackknife=False)
        said.append(asked_study(study, scores, q).relative_error)
        true.append(np.var(scores.mean(axis=(1, 2, 3)) - measured, ddof=1))
        plans.append(best_designs(study, [30])[0].design)
    assert math.sqrt(np.mean(said)) == pytest.approx(math.sqrt(np.mean(true)), rel=0.1)
    # the best two designs of thirty calls are equal: .06 / P + .30 / M with P M = 30
    assert {(one.personas, one.models) for one in plans} <= {(2, 15), (3, 10)}


# ------------------------------------------------------------------ one model, persona, judge


@pytest.mark.parametrize(("personas", "models"), [(10, 1), (1, 10)])
def test_one_model_or_persona_speaks_of_itself(personas: int, models: int) -> None:
    said, true = [], []
    for seed in range(6):
        scores, measured, q = panel(seed, 100, 4, personas, models)
        study = panel_g_study(scores, prompt=q, jackknife=False)
        assert {"P", "M"} & set(study.components) == {"P" if models == 1 else "M"}
        said.append(asked_study(study, scores, q).relative_error)
        error = scores.mean(axis=(1, 2, 3)) - measured
        within = error - (np.bincount(q, error) / 4)[q]
        true.append((within**2).sum() / 300)
    # against the truth of all models it says too little, which the design's sentence says
    assert np.mean(said) < np.mean(true)
    of_facet = 0.04 if models == 1 else 0.20
    assert np.mean(said) == pytest.approx((of_facet + 0.25) / 10, rel=0.05)


def test_one_judge_without_repeats_has_no_standard_error() -> None:
    for prompts, each in ((100, 4), (400, 1)):
        scores, _, q = panel(1, prompts, each, 1, 1)
        study = panel_g_study(scores, prompt=q)
        assert study.reason == CONFOUNDED
        assert math.isnan(study.components[RESIDUAL])
        with pytest.raises(ValueError, match="defined components"):
            asked_study(study, scores, q)


def test_one_judge_of_a_rotation_a_response_is_confounded_as_well() -> None:
    scores, _, q = panel(2, 60, 3, 4, 2)
    chosen = np.random.default_rng(3).integers(0, 8, len(q))
    flat = scores.reshape(len(q), 8)
    flat[np.arange(8) != chosen[:, None]] = np.nan
    assert panel_g_study(flat.reshape(len(q), 4, 2), prompt=q).reason == CONFOUNDED


def test_one_judge_asked_again_has_the_noise_of_asking() -> None:
    scores, _, q = panel(4, 100, 4, 1, 1, repeats=3)
    study = panel_g_study(scores, prompt=q, jackknife=False)
    found = asked_study(study, scores, q)
    assert found.relative_error == pytest.approx(0.10 / 3, rel=0.15)
    # and more repeats shrink it, though rPM is no component of one judge
    more = d_study(study, personas=1, models=1, repeats=6)
    assert more.relative_error == pytest.approx(found.relative_error / 2)


# ------------------------------------------------------------------ rotations, ragged panels


def test_a_complete_panel_has_the_layout_of_its_numbers() -> None:
    for each, repeats in ((4, 1), (4, 2), (1, 1), (1, 2)):
        scores, _, q = panel(5, 24, each, 5, 3, repeats)
        study = panel_g_study(scores, prompt=q, jackknife=False)
        found = layout_of(scores, q, study)
        whole = crossed_layout(
            5, 3, repeats, target=found.target, is_replicated=study.replicated
        )  # fmt: skip
        assert found.target == ("response" if each == 1 else "response_within_prompt")
        assert found.judgments == 15 * repeats
        assert found.own == pytest.approx(whole.own)
        assert found.common == pytest.approx(whole.common)


def test_the_layout_of_a_rotation_by_hand() -> None:
    # One prompt, three responses, two personas on two models. The first is judged by (0, 0) and
    # (0, 1), the second by (1, 0) and (1, 1), the third by all four.
    # Personas: shares (1, 0), (0, 1), (.5, .5): squares 1, 1, .5, mean 5/6; products of pairs
    # 0, .5, .5, mean 1/3. Models: (.5, .5) throughout: 1/2 and 1/2.
    # Judges: squares .5, .5, .25, mean 5/12; products 0, .25, .25, mean 1/6.
    scores = np.full((3, 2, 2), np.nan)
    scores[0, 0], scores[1, 1], scores[2] = 5.0, 6.0, 7.0
    study = panel_g_study(scores, prompt=[0, 0, 0], jackknife=False)
    found = layout_of(scores, [0, 0, 0], study)
    own = {"P": 5 / 6, "M": 1 / 2, "PM": 5 / 12, RESIDUAL: 5 / 12}
    common = {"P": 1 / 3, "M": 1 / 2, "PM": 1 / 6, RESIDUAL: 0}
    assert {name: found.own[name] for name in own} == pytest.approx(own)
    assert {name: found.common[name] for name in own} == pytest.approx(common)
    assert found.own["rP"] == found.own["qP"] == pytest.approx(5 / 6)
    assert (found.common["rP"], found.common["qP"]) == (0, pytest.approx(1 / 3))
    assert found.judgments == pytest.approx(8 / 3)
    # s2_P alone: one judgment errs by (1 - .4), the mean by 5/6 - 1/3: worth 1.2
    assert worth_of_layout({"P": 1.0}, found) == pytest.approx(1.2)


def test_judges_that_differ_bring_in_how_harsh_they_are() -> None:
    said, plain, true = [], [], []
    for seed in range(8):
        scores, measured, q = panel(seed, 60, 4, 10, 3)
        rng = np.random.default_rng(100 + seed)
        flat = scores.reshape(len(q), 30)
        for row in flat:
            row[rng.permutation(30)[6:]] = np.nan
        ragged = flat.reshape(len(q), 10, 3)
        study = panel_g_study(ragged, prompt=q, jackknife=False)
        said.append(asked_study(study, ragged, q).relative_error)
        plain.append(d_study(study, personas=10, models=3).relative_error)
        error = np.nanmean(flat, axis=1) - measured
        true.append(((error - (np.bincount(q, error) / 4)[q]) ** 2).sum() / 180)
    assert math.sqrt(np.mean(said)) == pytest.approx(math.sqrt(np.mean(true)), rel=0.1)
    assert np.mean(plain) < 0.6 * np.mean(true)
    study = panel_g_study(ragged, prompt=q)
    worth = worth_of_components(study, layout_of(ragged, q, study), 60, 0.95)
    assert 1 < worth.value < 6
    assert "how harsh each judge is" in (worth.reason or "")
    fitted = worth_of_components(study, layout_of(ragged, q, study, is_adjusted=True), 60, 0.95)
    assert fitted.has_interval


def test_an_additive_fit_takes_out_how_harsh_they_are() -> None:
    said, true = [], []
    for seed in range(8):
        scores, measured, q = panel(seed, 60, 4, 10, 3)
        scores[np.random.default_rng(seed).permutation(len(q))[80:], :, 0] = np.nan
        study = panel_g_study(scores, prompt=q, jackknife=False)
        said.append(asked_study(study, scores, q, is_adjusted=True).relative_error)
        assert said[-1] <= asked_study(study, scores, q).relative_error
        flat = scores.reshape(len(q), 30)
        response, judge = np.nonzero(np.isfinite(flat))
        error = severity(flat[response, judge], response, judge).adjusted - measured
        true.append(((error - (np.bincount(q, error) / 4)[q]) ** 2).sum() / 180)
    assert math.sqrt(np.mean(said)) == pytest.approx(math.sqrt(np.mean(true)), rel=0.1)
