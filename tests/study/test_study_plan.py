"""Planning against hand calculations, the estimators it plans for, and published figures."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from areopagus.errors import InputError
from areopagus.study import assumptions_from, plan_study
from areopagus.study.plan import difference_spread, half_width
from areopagus.study.simulated import alt_test_power, tau_spread


def test_the_half_width_of_a_difference_by_hand() -> None:
    # sd 2, icc .25, 3 raters, one response a side, SD 1 between prompts:
    # 2 x 4 x (.25 + .75 / 3) + 1 = 5; 16 prompts: t(15) = 2.13145; 2.13145 x sqrt(5 / 16) = 1.19151
    known = assumptions_from(sd=2, icc=0.25, between_sd=1)
    spread = difference_spread(known, per_prompt=3, per_side=1)
    assert spread == pytest.approx(math.sqrt(5))
    assert half_width(16, spread, level=0.95) == pytest.approx(1.19151, abs=1e-5)
    made = plan_study("difference", 1.2, sd=2, icc=0.25, between_sd=1, prompts=(16,),
                      per_prompt=(3,))  # fmt: skip
    assert made.cells[0].value == pytest.approx(1.19151, abs=1e-5)
    assert made.cells[0].meets
    assert made.cheapest is not None
    assert made.cheapest.prompts == 16
    fewer = half_width(15, spread, level=0.95)
    assert fewer > 1.2


def test_the_half_width_of_a_difference_covers_as_promised() -> None:
    """Simulated studies: the interval of the planned width covers at 95% (2,000, MC error .005)."""
    rng = np.random.default_rng(1)
    prompts, raters, sd, icc, worlds = 20, 3, 1.5, 0.4, 2000
    known = assumptions_from(sd=sd, icc=icc)
    truth = math.sqrt(icc) * sd * rng.normal(size=(worlds, prompts, 1, 2))
    noise = math.sqrt(1 - icc) * sd * rng.normal(size=(worlds, prompts, raters, 2))
    rater = 3 * rng.normal(size=(worlds, prompts, raters, 1))  # severity: it must cancel
    means = (truth + noise + rater).mean(axis=2)
    difference = means[..., 0] - means[..., 1]
    widths = stats.t.ppf(0.975, prompts - 1) * difference.std(axis=1, ddof=1) / math.sqrt(prompts)
    planned = half_width(prompts, difference_spread(known, per_prompt=raters, per_side=1),
                         level=0.95)  # fmt: skip
    assert math.sqrt(np.mean(widths**2)) == pytest.approx(planned, rel=0.02)
    assert (np.abs(difference.mean(axis=1)) <= widths).mean() == pytest.approx(0.95, abs=0.02)


def test_a_panel_that_is_the_truth_and_raters_without_error_agree_wholly() -> None:
    mean, spread, error = tau_spread(5, 3, icc=0.999999, panel_r=1.0, worlds=500, seed=0)
    assert mean > 0.99
    assert spread < 0.05
    assert error < 0.01


def test_the_simulated_tau_is_that_of_normal_scores() -> None:
    # Two normal scores with correlation r have an expected tau of 2/pi asin(r) (Kendall & Gibbons).
    # panel .8 with truth, mean of 4 raters of icc .4: reliability 1.6 / 2.2; r = .8 sqrt(.7272).
    mean, spread, error = tau_spread(6, 4, icc=0.4, panel_r=0.8, worlds=20_000, seed=2)
    expected = 2 / math.pi * math.asin(0.8 * math.sqrt(1.6 / 2.2))
    assert mean == pytest.approx(expected, abs=4 * spread / math.sqrt(20_000))
    assert 0 < error < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("prompts", "published"), [(9, 0.03), (20, 0.06), (40, 0.12), (80, 0.45)])
def test_a_judge_equal_to_a_person_passes_as_rarely_as_is_known(
    prompts: int, published: float
) -> None:
    """The share of passes at epsilon .2 for a judge equal to one of three people of icc .5.

    Reference figures were simulated by another program, of six responses a prompt; both sides
    have Monte Carlo error, here sqrt(p (1 - p) / 600).
    """
    power = alt_test_power(prompts, 6, 3, 3, icc=0.5, panel_r=math.sqrt(0.5), epsilon=0.2,
                           worlds=600, seed=4)  # fmt: skip
    error = math.sqrt(published * (1 - published) / 600)
    assert power == pytest.approx(published, abs=4 * error + 0.03)


def test_power_agrees_with_the_test_it_is_for() -> None:
    """Each simulated study handed to `alt_test` itself: the same share passes."""
    from areopagus.aggregation.alt_test import alt_test

    prompts, k, raters, icc, panel_r, worlds = 12, 4, 3, 0.5, 0.95, 60
    rng = np.random.default_rng(0)
    passed = 0
    for _ in range(worlds):
        quality = rng.normal(size=prompts * k)
        judge = panel_r * quality + math.sqrt(1 - panel_r**2) * rng.normal(size=quality.size)
        table = quality + math.sqrt(1 / icc - 1) * rng.normal(size=(raters, quality.size))
        found = alt_test(
            dict(enumerate(judge)), {r: dict(enumerate(row)) for r, row in enumerate(table)},
            epsilon=0.2, score="rank", groups={i: i // k for i in range(quality.size)},
            references=False, worlds=0,
        )  # fmt: skip
        passed += found.winning_rate >= 0.5
    power = alt_test_power(prompts, k, raters, raters, icc=icc, panel_r=panel_r, epsilon=0.2,
                           worlds=1000, seed=1)  # fmt: skip
    share = passed / worlds
    error = math.sqrt(max(power * (1 - power), 0.01) / worlds)
    assert share == pytest.approx(power, abs=3.5 * error)


def test_power_is_undefined_where_no_rater_has_enough_prompts() -> None:
    assert math.isnan(alt_test_power(9, 6, 12, 3, icc=0.4, panel_r=0.9, epsilon=0.2, worlds=50,
                                     seed=0))  # fmt: skip
    made = plan_study("alt-test", 0.8, prompts=(9,), per_prompt=(3,), raters=12, worlds=50)
    assert made.cheapest is None
    assert made.to_json()["cells"][0]["value"] is None


@pytest.mark.parametrize("goal", ["difference", "agreement"])
def test_the_cheapest_design_just_does(goal: str) -> None:
    made = plan_study(goal, 0.15, sd=1.0, icc=0.4, panel_r=0.8)
    best = made.cheapest
    assert best is not None
    assert best.value <= 0.15
    rows = [cell for cell in made.cells if cell.per_prompt == best.per_prompt]
    spread = rows[0].value / half_width(rows[0].prompts, 1.0, level=0.95)
    assert half_width(best.prompts - 1, spread, level=0.95) > 0.15


def test_more_prompts_and_more_raters_never_widen_an_interval() -> None:
    cells = {(cell.prompts, cell.per_prompt): cell.value
             for cell in plan_study("agreement", 0.1).cells}  # fmt: skip
    for (prompts, raters), value in cells.items():
        assert all(other <= value + 1e-3 for (p, r), other in cells.items()
                   if p >= prompts and r >= raters)  # fmt: skip


def test_one_seed_gives_one_plan() -> None:
    given: dict[str, Any] = {"prompts": (12,), "per_prompt": (3,), "worlds": 100}
    assert plan_study("alt-test", 0.8, seed=3, **given) == plan_study(
        "alt-test", 0.8, seed=3, **given
    )


def test_figures_of_a_calibration_are_turned_into_correlations(tmp_path: Path) -> None:
    # tau .3 of two raters: icc = sin(.15 pi) = .45399; 40 ratings of 10 responses: 4 raters a
    # response, reliability 4 x .45399 / (1 + 3 x .45399) = .76885; tau .5 with the panel: sin(.25
    # pi) = .70711; / sqrt(.76885) = .80643
    file = tmp_path / "c.json"
    content = {
        "format": 1, "kind": "calibration",
        "people": {"criteria": [{"pairwise": {"tau": {"value": 0.3}}, "n_ratings": 40,
                                 "n_responses": 10}]},
        "panel": {"by_target": [{"mean_tau": {"value": 0.5}}]},
    }  # fmt: skip
    file.write_text(json.dumps(content))
    known = assumptions_from(file)
    assert known.icc == pytest.approx(0.45399, abs=1e-5)
    assert known.panel_r == pytest.approx(0.80643, abs=1e-5)
    assert known.sd == 1.0
    assert [one.origin.partition(":")[0] for one in known.listed] == [
        "assumed", "measured", "measured", "assumed",
    ]  # fmt: skip
    assert assumptions_from(file, icc=0.2).icc == 0.2


def test_an_agreement_file_gives_what_it_has(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    people = {"criteria": [{"pairwise": {"tau": {"value": None}}, "n_ratings": 4,
                            "n_responses": 2}]}  # fmt: skip
    file.write_text(json.dumps({"kind": "agreement", "people": people}))
    assert [one.origin for one in assumptions_from(file).listed] == ["assumed"] * 4


@pytest.mark.parametrize(
    ("content", "told"),
    [("{", "cannot be read"), ("[]", "other JSON"), ('{"kind": "saved calibration"}', "saved"),
     ('{"kind": "calibration"}', "lacks a figure")],
)  # fmt: skip
def test_other_files_are_refused(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "c.json"
    file.write_text(content)
    with pytest.raises(InputError, match=told):
        assumptions_from(file)


def test_every_fault_of_a_plan_is_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        plan_study("certainty", -1, sd=-2, icc=1.5, panel_r=2, responses=1, per_side=0,
                   prompts=(3,), per_prompt=(), raters=1, epsilon=1, level=2, worlds=1)  # fmt: skip
    told = str(caught.value)
    for name in (
        "goal",
        "--half-width",
        "--sd",
        "--icc",
        "--panel-r",
        "--responses",
        "--per-side",
        "--prompts",
        "--per-prompt",
        "--raters",
        "--epsilon",
        "--level",
        "--worlds",
    ):
        assert name in told, name
