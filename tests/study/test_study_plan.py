"""Planning against hand calculations, the estimators it plans for, and published figures."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.study_design import (
    alt_test_power,
    difference_spread,
    half_width,
    tau_spread,
)
from areopagus.errors import InputError
from areopagus.records.estimates import Estimates, json_rows, write_estimates
from areopagus.study import assumptions_from, plan_study


def test_the_half_width_of_a_difference_by_hand() -> None:
    # sd 2, icc .25, 3 raters, one response a side, SD 1 between prompts:
    # 2 x 4 x (.25 + .75 / 3) + 1 = 5; 16 prompts: t(15) = 2.13145; 2.13145 x sqrt(5 / 16) = 1.19151
    spread = difference_spread(2, 0.25, 1, raters=3, per_side=1)
    assert spread == pytest.approx(math.sqrt(5))
    assert half_width(16, spread, level=0.95) == pytest.approx(1.19151, abs=1e-5)
    made = plan_study("difference", 1.2, sd=2, icc=0.25, between_sd=1, prompts=(16,),
                      per_prompt=(3,))  # fmt: skip
    assert made.designs[0].found.value == pytest.approx(1.19151, abs=1e-5)
    assert made.designs[0].does
    assert made.cheapest is not None
    assert made.cheapest.prompts == 16
    fewer = half_width(15, spread, level=0.95)
    assert fewer > 1.2


def test_the_half_width_of_a_difference_covers_as_promised() -> None:
    """Simulated studies: the interval of the planned width covers at 95% (2,000, MC error .005)."""
    rng = np.random.default_rng(1)
    prompts, raters, sd, icc, worlds = 20, 3, 1.5, 0.4, 2000
    truth = math.sqrt(icc) * sd * rng.normal(size=(worlds, prompts, 1, 2))
    noise = math.sqrt(1 - icc) * sd * rng.normal(size=(worlds, prompts, raters, 2))
    rater = 3 * rng.normal(size=(worlds, prompts, raters, 1))  # severity: it must cancel
    means = (truth + noise + rater).mean(axis=2)
    difference = means[..., 0] - means[..., 1]
    widths = stats.t.ppf(0.975, prompts - 1) * difference.std(axis=1, ddof=1) / math.sqrt(prompts)
    spread = difference_spread(sd, icc, 0.0, raters=raters, per_side=1)
    planned = half_width(prompts, spread, level=0.95)
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
    from areopagus.aggregation.alternative_annotator import alt_test

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
    assert made.designs[0].found.reason
    assert "None of these designs does" in " ".join(made.document().headline)


@pytest.mark.parametrize("goal", ["difference", "agreement"])
def test_the_cheapest_design_just_does(goal: str) -> None:
    made = plan_study(goal, 0.15, sd=1.0, icc=0.4, panel_r=0.8)
    best = made.cheapest
    assert best is not None
    assert best.found.value <= 0.15
    rows = [one for one in made.designs if one.per_prompt == best.per_prompt]
    spread = rows[0].found.value / half_width(rows[0].prompts, 1.0, level=0.95)
    assert half_width(best.prompts - 1, spread, level=0.95) > 0.15


def test_more_prompts_and_more_raters_never_widen_an_interval() -> None:
    cells = {(one.prompts, one.per_prompt): one.found.value
             for one in plan_study("agreement", 0.1).designs}  # fmt: skip
    for (prompts, raters), value in cells.items():
        assert all(other <= value + 1e-3 for (p, r), other in cells.items()
                   if p >= prompts and r >= raters)  # fmt: skip


def test_one_seed_gives_one_plan() -> None:
    given: dict[str, Any] = {"prompts": (12,), "per_prompt": (3,), "worlds": 100}
    assert plan_study("alt-test", 0.8, seed=3, **given) == plan_study(
        "alt-test", 0.8, seed=3, **given
    )


def people(out: Estimates, name: str, kind: str = "score", *, tau: float) -> None:
    """What a calibration says of people on one criterion: 40 ratings of 10 responses."""
    keys = {"criterion": name, "detail": kind}
    figures = {"tau": Estimate(tau), "n_ratings": 40, "n_responses": 10}
    out.add_all("people", figures, **keys)


def panel(out: Estimates, name: str, kind: str = "score", *, tau: float, ceiling: float) -> None:
    """What it says of the panel on one criterion."""
    figures = {"tau": Estimate(tau), "ceiling": Estimate(ceiling)}
    out.add_all("panel", figures, criterion=name, detail=kind)


def written(path: Path, out: Estimates, kind: str = "calibration") -> Path:
    """A file of calibrate --json."""
    path.write_text(json.dumps({"kind": kind, "estimates": json_rows(out.frame())}))
    return path


SPREAD = {"q": 9.0, "r:q": 1.0, "P": 4.0, "qP": 7.0, "rP": 0.5, "rM": -3.0, "residual": 0.75}


@pytest.fixture
def found() -> Estimates:
    """Ranks that agree well, and variance components."""
    out = Estimates()
    people(out, "overall", "rank", tau=0.9)
    for name, value in SPREAD.items():
        out.add("components", "variance", Estimate(value), factor="component", group=name)
    return out


def test_a_calibration_gives_the_figures_of_its_scores_not_of_its_ranks(
    tmp_path: Path, found: Estimates
) -> None:
    # sd: 1 + .5 + 0 + .75 = 2.25 = 1.5²; q, P, qP cancel within a prompt, rM is negative.
    # People's mean over criteria, 4 raters a response, icc .45399 (tau .3): reliability 4 x .45399
    # / (1 + 3 x .45399) = .76885, ceiling 2/pi asin(sqrt(.76885)) = .68069; tau .5: .70711 /
    # .87684 = .80643
    for name in ("depth", "clarity"):
        people(found, name, tau=0.2)
    panel(found, "overall", "rank", tau=0.1, ceiling=0.97)
    panel(found, "composite", tau=0.5, ceiling=0.68069)
    panel(found, "depth", tau=0.2, ceiling=0.9)
    file = written(tmp_path / "c.json", found)
    known = assumptions_from(file)
    assert known.sd == pytest.approx(1.5)
    assert known.icc == pytest.approx(0.45399, abs=1e-4)
    assert known.panel_r == pytest.approx(0.80643, abs=1e-4)
    assert known.between_sd == 0.0
    origins = {one.name: one.origin for one in known.listed}
    assert origins["sd"].startswith("measured: single scores of the panel's judges")
    assert "r:q + rP + rM + residual" in origins["sd"]
    assert "composite, score" in origins["icc"]
    assert "composite, score" in origins["panel_r"]
    assert origins["between_sd"] == "assumed; a calibration's estimates do not hold it"
    assert assumptions_from(file, icc=0.2).icc == 0.2
    notes = " ".join(plan_study("difference", 0.5, calibration=file).notes)
    assert "panel's judges" in notes
    assert "no `sd`" not in notes


def test_one_scored_criterion_has_the_icc_of_its_raters_tau(
    tmp_path: Path, found: Estimates
) -> None:
    people(found, "overall", tau=0.2)
    panel(found, "overall", tau=0.4, ceiling=0.7)
    known = assumptions_from(written(tmp_path / "c.json", found))
    assert known.icc == pytest.approx(math.sin(0.1 * math.pi))
    assert "tau of pairs of raters, overall, score" in known.listed[1].origin


def test_a_panel_on_one_response_a_prompt_has_no_correlation_within_prompts(
    tmp_path: Path, found: Estimates
) -> None:
    panel(found, "overall", tau=0.4, ceiling=0.7)
    counts = {"n_responses": 30, "n_prompts": 30}
    found.add_all("panel", counts, criterion="overall", detail="score")
    known = assumptions_from(written(tmp_path / "c.json", found))
    assert "a prompt has one response there" in known.listed[2].origin


def test_where_nobody_scored_ranks_are_what_there_is(tmp_path: Path, found: Estimates) -> None:
    panel(found, "overall", "rank", tau=0.5, ceiling=0.9)
    known = assumptions_from(written(tmp_path / "c.json", found))
    assert known.icc == pytest.approx(math.sin(0.45 * math.pi))
    assert "overall, rank" in known.listed[1].origin


def test_a_panel_that_disagrees_is_not_passed_off_as_an_unknown_one(tmp_path: Path) -> None:
    out = Estimates()
    people(out, "overall", tau=0.2)
    panel(out, "overall", tau=-0.08, ceiling=0.7)
    known = assumptions_from(written(tmp_path / "c.json", out))
    origins = {one.name: one.origin for one in known.listed}
    assert origins["panel_r"].startswith("assumed; the panel's tau there is -0.08")
    assert origins["sd"] == "assumed; no variance components of the panel there"


@pytest.mark.parametrize("named", ["run.json", "", ".."])
def test_the_folder_of_a_calibration_and_its_run_will_do(tmp_path: Path, named: str) -> None:
    folder, out = tmp_path / "calibration", Estimates()
    folder.mkdir()
    people(out, "overall", tau=0.2)
    write_estimates(folder, out)
    (folder / "run.json").write_text('{"format": 1, "kind": "calibration"}')
    assert assumptions_from(folder / named).icc == pytest.approx(math.sin(0.1 * math.pi))


def test_an_agreement_file_gives_what_it_has(tmp_path: Path) -> None:
    out = Estimates()
    people(out, "overall", "rank", tau=math.nan)
    listed = assumptions_from(written(tmp_path / "a.json", out, "agreement")).listed
    assert [one.origin.partition(";")[0] for one in listed] == ["assumed"] * 4
    people(out, "overall", "rank", tau=0.9)
    for name, tau in (("a", 1 / 3), ("b", 1.0)):
        people(out, name, tau=tau)
    known = assumptions_from(written(tmp_path / "a.json", out, "agreement"))
    assert known.icc == pytest.approx((0.5 + 0.999) / 2)  # sin(pi / 6) = .5


def rating_rows(
    *, prompts: int, raters: int, sides: dict[str, int], between: float, seed: int
) -> list[dict[str, Any]]:
    """Scores with response SD 1.2, residual SD .9, models 1 higher, harsh and mild raters."""
    rng = np.random.default_rng(seed)
    rows = []
    for q in range(prompts):
        level, gap = 3 * rng.normal(), 1 + between * rng.normal()
        quality = {
            f"q{q}-{side}{n}": (side, level + (gap if side == "model" else 0) + 1.2 * rng.normal())
            for side, count in sides.items()
            for n in range(count)
        }
        for rater in range(raters):
            severity = 2 * rng.normal()
            for name, (side, value) in quality.items():
                score = value + severity + 0.9 * rng.normal()
                rows.append({"rater_id": f"r{rater}", "prompt_id": f"q{q}", "response_id": name,
                             "criterion": "overall", "kind": "score", "value": f"{score:.5f}",
                             "source": side})  # fmt: skip
    return rows


def ratings_file(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


def test_people_s_own_components_come_out_as_they_went_in(tmp_path: Path) -> None:
    """300 prompts: sd² = 1.44 + .81 = 2.25, icc = .64, between .8; MC errors .03, .02, .09."""
    rows = rating_rows(prompts=300, raters=3, sides={"human": 3, "model": 2}, between=0.8, seed=6)
    known = assumptions_from(ratings=ratings_file(tmp_path / "r.csv", rows))
    assert known.sd == pytest.approx(1.5, abs=0.1)
    assert known.icc == pytest.approx(0.64, abs=0.06)
    assert known.between_sd == pytest.approx(0.8, abs=0.25)
    told = [one.origin for one in known.listed]
    assert [one.partition(":")[0] for one in told] == ["measured"] * 2 + ["assumed", "measured"]
    assert "people's overall scores" in told[0]


def test_people_s_components_of_a_whole_table_are_those_of_its_analysis_of_variance(
    tmp_path: Path,
) -> None:
    rows = rating_rows(prompts=12, raters=4, sides={"human": 5}, between=0.0, seed=2)
    known = assumptions_from(ratings=ratings_file(tmp_path / "r.csv", rows))
    y = np.array([float(row["value"]) for row in rows]).reshape(12, 4, 5)
    of_response = y.mean(axis=1) - y.mean(axis=(1, 2))[:, None]
    rest = y - y.mean(axis=1)[:, None, :] - y.mean(axis=2)[:, :, None] \
        + y.mean(axis=(1, 2))[:, None, None]  # fmt: skip
    residual = (rest**2).sum() / (12 * 3 * 4)
    response = (4 * (of_response**2).sum() / (12 * 4) - residual) / 4
    assert known.sd == pytest.approx(math.sqrt(response + residual))
    assert known.icc == pytest.approx(response / (response + residual))
    assert "not of two sources" in known.listed[3].origin


def test_people_s_own_scores_come_before_a_calibration_and_options_before_both(
    tmp_path: Path, found: Estimates
) -> None:
    rows = rating_rows(prompts=12, raters=3, sides={"human": 2, "model": 2}, between=0.5, seed=3)
    ratings = ratings_file(tmp_path / "r.csv", rows)
    people(found, "overall", tau=0.2)
    panel(found, "overall", tau=0.4, ceiling=0.7)
    file = written(tmp_path / "c.json", found)
    own = assumptions_from(ratings=ratings)
    both = assumptions_from(file, ratings=ratings, between_sd=0.25)
    assert (both.sd, both.icc) == (own.sd, own.icc)
    assert both.panel_r == assumptions_from(file).panel_r != own.panel_r
    assert both.between_sd == 0.25
    notes = " ".join(plan_study("difference", 0.5, calibration=file, ratings=ratings).notes)
    assert "panel's judges" not in notes


def test_ranks_alone_and_scores_that_never_vary_give_no_spread(tmp_path: Path) -> None:
    rows = rating_rows(prompts=8, raters=3, sides={"human": 3}, between=0.0, seed=3)
    flat = ratings_file(tmp_path / "f.csv", [{**row, "value": "5"} for row in rows])
    told = [one.origin for one in assumptions_from(ratings=flat).listed]
    assert all(one.startswith("assumed; people's overall scores: ") for one in [*told[:2], told[3]])
    ranks = [{**row, "kind": "rank", "value": "1"} for row in rows]
    with pytest.raises(InputError, match="holds no scores"):
        assumptions_from(ratings=ratings_file(tmp_path / "k.csv", ranks))


@pytest.mark.parametrize(
    ("content", "told", "hints"),
    [
        ("{", "cannot be read", ()), ("[]", "other JSON", ()),
        ('{"kind": "stress"}', "got stress", ()),
        ('{"kind": "calibration"}', "must be a calibration", ("RUN/calibration", "--json")),
        ('{"kind": "saved calibration"}', "must be a calibration", ("RUN/calibration", "--json")),
    ],
)  # fmt: skip
def test_other_files_are_refused_with_what_to_name(
    tmp_path: Path, content: str, told: str, hints: tuple[str, ...]
) -> None:
    file = tmp_path / "c.json"
    file.write_text(content)
    with pytest.raises(InputError, match=told) as caught:
        assumptions_from(file)
    assert all(name in (caught.value.hint or "") for name in hints)


def test_every_fault_of_a_plan_is_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        plan_study("certainty", -1, sd=-2, icc=1.5, panel_r=2, responses=1, per_side=0,
                   prompts=(3,), per_prompt=(), raters=1, epsilon=1, level=2, worlds=1)  # fmt: skip
    told = str(caught.value)
    for name in (
        "goal", "wanted", "sd", "icc", "panel_r", "responses", "per_side", "prompts", "per_prompt",
        "raters", "epsilon", "level", "worlds",
    ):  # fmt: skip
        assert name in told, name
