"""The purest cases: judges that know the source only, that say one thing, or that draw lots."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calibration_worlds import called, figure, summary

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.jackknife import cut_to_range, jackknife, ratio, verdict_limits
from areopagus.calibration import Calibration, calibrate
from areopagus.records.estimates import estimates_of

Judge = Callable[[float, str, np.random.Generator], float]


def points(value: float) -> int:
    return int(np.clip(round(value), 1, 10))


def source(_: float, who: str, __: np.random.Generator) -> float:
    return 8 if who == "model" else 4


def constant(_: float, __: str, ___: np.random.Generator) -> float:
    return 6


def lots(_: float, __: str, rng: np.random.Generator) -> float:
    return float(rng.integers(1, 11))


def good(truth: float, _: str, rng: np.random.Generator) -> float:
    return points(truth + rng.normal())


def written(folder: Path, judges: list[Judge], *, n_prompts: int = 12, n_models: int = 1) -> Any:
    """A table of judgments and one of ratings: two people and two models answer each prompt."""
    rng = np.random.default_rng(5)
    judged, rated = [], []
    for g in range(n_prompts):
        for r in range(4):
            who = "human" if r < 2 else "model"
            truth = rng.normal(4.5, 1.3) + 2 * (who == "model")
            name = f"p{g}r{r}"
            rated += [[f"h{k}", f"p{g}", name, who, points(truth + rng.normal())] for k in range(3)]
            judged += [
                [f"p{g}", name, f"persona{k // n_models}", f"model{k % n_models}",
                 judge(truth, who, rng)]
                for k, judge in enumerate(judges)
            ]  # fmt: skip
    files = folder / "judgments.csv", folder / "humans.csv"
    headers = (
        ["prompt_id", "response_id", "persona", "model", "score"],
        ["rater_id", "prompt_id", "response_id", "source", "score"],
    )
    for path, header, rows in zip(files, headers, (judged, rated), strict=True):
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
    return files


FIRST = "persona0 x model0"


def at_chance(found: Calibration) -> list[str]:
    return [name for name, verdict in called(found, "judges", "accuracy", "group").items()
            if verdict == "not shown above chance" and " x " in name]  # fmt: skip


def source_only(found: Calibration) -> list[str]:
    return [name for name in called(found, "judges", "within", "group") if " x " in name]


def is_confounded(found: Calibration) -> bool:
    return figure(found, "panel", "beyond_source").verdict == "source confound"


@pytest.fixture(scope="module")
def source_panel(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    return calibrate(*written(tmp_path_factory.mktemp("source"), [source] * 3))


@pytest.fixture(scope="module")
def constant_panel(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    folder = tmp_path_factory.mktemp("constant")
    return calibrate(*written(folder, [constant] * 4, n_models=2))


@pytest.fixture(scope="module")
def random_panel(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    folder = tmp_path_factory.mktemp("lots")
    return calibrate(*written(folder, [lots] * 2, n_prompts=20, n_models=2))


def test_a_judge_that_scores_the_source_and_one_that_is_constant_are_named(
    tmp_path: Path,
) -> None:
    found = calibrate(*written(tmp_path, [source, constant, good, good, good]))
    assert source_only(found) == [FIRST]
    within = figure(found, "judges", "within", group=FIRST)
    # half of every within-source pair, in every prompt: there is nothing for a jackknife to see
    assert within.value == 0.5
    assert not within.has_interval
    assert "the value stands for its interval" in (within.reason or "")
    assert at_chance(found) == ["persona1 x model0"]
    assert figure(found, "judges", "accuracy", group="persona1 x model0").value == 0.5
    assert not is_confounded(found)


def test_a_panel_of_such_judges_is_a_source_confound_or_at_chance(
    source_panel: Calibration, constant_panel: Calibration
) -> None:
    assert is_confounded(source_panel)
    assert len(source_only(source_panel)) == 3
    assert "Source confound: the panel tells people from models" in source_panel.text
    assert len(at_chance(constant_panel)) == 4
    assert source_only(constant_panel) == []
    assert not is_confounded(constant_panel)


def test_with_five_prompts_nobody_is_named(tmp_path: Path) -> None:
    found = calibrate(*written(tmp_path, [source, constant, good], n_prompts=5))
    assert (at_chance(found), source_only(found)) == ([], [])
    assert not is_confounded(found)
    assert "5 prompts rated and scored: an interval needs 6." in summary(found)


def test_what_stands_for_an_interval() -> None:
    same = ratio(np.ones(6), np.full(6, 2.0), method="share")
    assert verdict_limits(same) == (0.5, 0.5)
    assert all(map(math.isnan, verdict_limits(ratio(np.ones(5), np.full(5, 2.0), method="share"))))
    described = Estimate(
        0.5, n=80, unit="response", method="spread", reason="a description: no interval"
    )
    assert all(map(math.isnan, verdict_limits(described)))


def test_a_panel_of_equal_judgments_has_no_design(constant_panel: Calibration) -> None:
    why = "no variance component is positive: the judgments do not differ"
    rows = constant_panel.estimates
    assert not ((rows["table"] == "designs") & (rows["measure"] == "calls")).any()
    assert figure(constant_panel, "designs", "e_rho2").reason == why
    assert figure(constant_panel, "size", "worth").reason == why
    assert "undefined: no variance component is positive" in " ".join(constant_panel.text.split())
    assert "undefined: None" not in constant_panel.text


def test_a_map_that_only_states_peoples_mean_is_not_adopted(
    constant_panel: Calibration, random_panel: Calibration
) -> None:
    for found in (constant_panel, random_panel):
        assert called(found, "maps", "error", "group") == {"as is": "adopted"}
        assert not (found.estimates["table"] == "map knots").any()
        assert "keep the scores" not in found.text
    # lots are further from people than people's mean is: the line falls to that mean and gains
    assert figure(random_panel, "maps", "gain", group="line").p_adjusted < 0.05
    errors = [figure(random_panel, "maps", "error", group=name).value for name in ("line", "as is")]
    assert errors[0] < errors[1]
    over_mean = figure(random_panel, "maps", "gain_over_mean", group="line")
    assert over_mean.p > 0.05 or over_mean.value < 0
    assert "people's mean" in random_panel.record["map_note"]
    errors = [figure(constant_panel, "maps", "error", group=n).value for n in ("line", "mean")]
    assert errors[0] == pytest.approx(errors[1])
    assert figure(constant_panel, "maps", "gain_over_mean", group="line").value == pytest.approx(0)


def test_a_map_that_holds_order_is_still_adopted(tmp_path: Path) -> None:
    def low(truth: float, who: str, rng: np.random.Generator) -> float:
        return good(truth, who, rng) / 2

    found = calibrate(*written(tmp_path, [low] * 4, n_prompts=24))
    assert called(found, "maps", "error", "group") == {"line": "adopted"}
    assert figure(found, "maps", "gain_over_mean", group="line").p < 0.001
    # the p of two sides says on which side it is
    assert figure(found, "maps", "gain", group="line").value > 0
    errors = [figure(found, "maps", "error", group=name).value for name in ("isotonic", "line")]
    gain = figure(found, "maps", "gain", group="isotonic").value
    assert (errors[0] > errors[1]) == (gain < 0)


def test_what_has_no_value_or_no_interval_says_why(
    source_panel: Calibration,
    constant_panel: Calibration,
    random_panel: Calibration,
    planted_report: Calibration,
    few_report: Calibration,
    ranks_report: Calibration,
) -> None:
    of_rules = (source_panel, constant_panel, random_panel)
    for report in (*of_rules, planted_report, few_report, ranks_report):
        for one in estimates_of(report.estimates):
            if not one.is_defined:
                assert one.reason, one
            if one.method != "count" and one.level == one.level:
                assert one.has_interval or one.reason or one.unit == "", one


def test_no_limit_leaves_the_range_of_its_figure(
    source_panel: Calibration, random_panel: Calibration, planted_report: Calibration
) -> None:
    shares = ("accuracy", "share of", "Kendall's W")
    correlations = ("tau", "ICC", "alpha", "AC2")
    for report in (source_panel, random_panel, planted_report):
        for number in estimates_of(report.estimates):
            if not number.has_interval or " less " in number.method:
                continue
            if any(word in number.method for word in shares):
                assert number.low >= 0
            if any(word in number.method for word in (*shares, *correlations)):
                assert -1 <= number.low <= number.high <= 1, number


def test_a_limit_is_cut_where_the_figure_ends_and_the_method_says_so() -> None:
    # six prompts, of which one is wrong: 5/6, and t limits beyond 1
    found = ratio(np.array([1.0, 1, 1, 1, 1, 0]), np.ones(6), method="accuracy")
    left_out = np.array([4 / 5] * 5 + [1.0])
    plain = jackknife(5 / 6, left_out, n=6, method="accuracy")
    assert plain.high > 1 > plain.low == found.low
    assert found.high == 1
    assert found.method == f"{plain.method}; cut at 1, where the range of the figure ends"
    assert cut_to_range(plain, (-2, 2)) is plain
