"""The purest cases: judges that know the source only, that say one thing, or that draw lots."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areopagus.aggregation.estimate import Estimate
from areopagus.calibration import Calibration, agreement, calibrate
from areopagus.calibration.judges_table import JudgeRow
from areopagus.calibration.leave_out import cut_to_range, jackknife, ratio, verdict_limits
from areopagus.calibration.rater_severity import severity_table
from areopagus.calibration.ratings import make_ratings
from areopagus.calibration.unsaid import numbers_in

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


def judges_of(found: Calibration) -> list[JudgeRow]:
    return [row for row in found.judges.rows if row.kind == "judge"]


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


def test_a_judge_that_scores_the_source_alone_is_named(tmp_path: Path) -> None:
    found = calibrate(*written(tmp_path, [source, good, good, good]))
    assert found.judges.source_only == ("persona0 x model0",)
    row = judges_of(found)[0]
    # half of every within-source pair, in every prompt: there is nothing for a jackknife to see
    assert row.within.value == 0.5
    assert not row.within.has_interval
    assert "the value stands for its interval" in (row.within.reason or "")
    assert not found.panel.source_confound


def test_a_panel_of_such_judges_is_a_source_confound(source_panel: Calibration) -> None:
    assert source_panel.panel.source_confound
    assert len(source_panel.judges.source_only) == 3
    assert "SOURCE CONFOUND" in "\n".join(source_panel.text())


def test_a_constant_judge_and_a_constant_panel_are_useless(
    constant_panel: Calibration, tmp_path: Path
) -> None:
    found = calibrate(*written(tmp_path, [constant, good, good, good]))
    assert found.judges.useless == ("persona0 x model0",)
    assert judges_of(found)[0].accuracy.value == 0.5
    assert len(constant_panel.judges.useless) == 4
    assert constant_panel.judges.source_only == ()
    assert not constant_panel.panel.source_confound


def test_with_five_prompts_nobody_is_named(tmp_path: Path) -> None:
    found = calibrate(*written(tmp_path, [source, constant, good], n_prompts=5))
    assert (found.judges.useless, found.judges.source_only) == ((), ())
    assert not found.panel.source_confound


def test_what_stands_for_an_interval() -> None:
    same = ratio(np.ones(6), np.full(6, 2.0), method="share")
    assert verdict_limits(same) == (0.5, 0.5)
    assert all(map(math.isnan, verdict_limits(ratio(np.ones(5), np.full(5, 2.0), method="share"))))
    described = Estimate(
        0.5, n=80, unit="response", method="spread", reason="a description: no interval"
    )
    assert all(map(math.isnan, verdict_limits(described)))


def test_a_panel_of_equal_judgments_has_no_design(constant_panel: Calibration) -> None:
    size = constant_panel.how_many
    assert size.reason == "no variance component is positive: the judgments do not differ"
    assert (size.this_panel, size.designs, size.needed) == (None, (), ())
    assert size.effective.reason == size.reason
    text = "\n".join(constant_panel.text())
    assert "designs: undefined: no variance component is positive" in text
    assert "undefined: None" not in text


def test_a_map_that_only_states_peoples_mean_is_not_adopted(
    constant_panel: Calibration, random_panel: Calibration
) -> None:
    for found in (constant_panel, random_panel):
        score_map = found.corrections.score_map
        assert (score_map.adopted, score_map.x, score_map.y) == ("as is", (), ())
        text = "\n".join(found.text())
        assert "ADOPT" not in text
        assert "keep the scores as they are" in text
    # lots are further from people than people's mean is: the line falls to that mean and gains
    random_map = random_panel.corrections.score_map
    assert random_map.p["line"].value < 0.05
    assert random_map.error["line"].value < random_map.error["as is"].value
    over_mean = random_map.p["line over mean"]
    assert over_mean.value > 0.05 or "error LARGER" in over_mean.method
    assert "people's mean" in (random_map.note or "")
    constant_map = constant_panel.corrections.score_map
    assert constant_map.error["line"].value == pytest.approx(constant_map.error["mean"].value)
    assert "error as large" in constant_map.p["line over mean"].method


def test_a_map_that_holds_order_is_still_adopted(tmp_path: Path) -> None:
    def low(truth: float, who: str, rng: np.random.Generator) -> float:
        return good(truth, who, rng) / 2

    found = calibrate(*written(tmp_path, [low] * 4, n_prompts=24)).corrections.score_map
    assert found.adopted == "line"
    assert found.p["line over mean"].value < 0.001
    # the p of two sides says on which side it is
    assert "error smaller" in found.p["line"].method
    larger = found.error["isotonic"].value > found.error["line"].value
    assert ("error LARGER" in found.p["isotonic"].method) == larger


def nulls_without_reason(tree: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every null of a calibration's JSON that nothing says the reason of."""
    if isinstance(tree, list):
        for place, one in enumerate(tree):
            yield from nulls_without_reason(one, (*path, str(place)))
        return
    if not isinstance(tree, dict):
        return
    for key, value in tree.items():
        here = ".".join((*path, key))
        if value is None and key not in TEXTS:
            given = tree.get(f"{key}_reason") or tree.get("reason")
            beside = tree.get(REASON_BESIDE.get(key, ""), {})
            if not (given or beside.get("reason")):
                yield here
        if key == "references" and tree["note"]:
            continue  # what a constant judge gets: the note of the test says why not
        if isinstance(value, list) and None in value:
            yield here
        yield from nulls_without_reason(value, (*path, key))


TEXTS = frozenset(
    {
        "reason", "note", "shrinkage_reason", "alt_tests_reason", "group_means_reason",
        "source_preferred", "main_target", "levels_from", "errors_from", "panel",
    }
)  # fmt: skip
"""What is a sentence or a name, and null where there is nothing to say."""

REASON_BESIDE = {
    "chance_w": "w", "mean_raters": "w", "top_one_chance": "top_one", "p": "deviation",
    "weight": "prediction_powered",
}  # fmt: skip
"""Plain figures whose reason stands at the number that they belong to."""


def test_every_null_of_the_json_has_a_reason(
    source_panel: Calibration,
    constant_panel: Calibration,
    random_panel: Calibration,
    planted_report: Calibration,
    make_world: Callable[..., Any],
) -> None:
    few = make_world(3)
    reports: list[Any] = [source_panel, constant_panel, random_panel, planted_report]
    reports += [calibrate(*few), agreement(few.humans)]
    ranks = make_world(12, as_ranks=True)
    reports.append(calibrate(*ranks))
    for report in reports:
        tree = report.to_json()
        assert list(nulls_without_reason(tree)) == []
        for number in numbers_in(report):
            assert number.has_interval or number.reason, number


def test_no_limit_leaves_the_range_of_its_figure(
    source_panel: Calibration, random_panel: Calibration, planted_report: Calibration
) -> None:
    shares = ("accuracy", "share of", "Kendall's W")
    correlations = ("tau", "ICC", "alpha", "AC2")
    for report in (source_panel, random_panel, planted_report):
        for number in numbers_in(report):
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


def test_deviation_and_shrunk_severity_have_one_origin() -> None:
    """Four usual raters and one harsh by two points, on ten prompts."""
    rng = np.random.default_rng(4)
    truth = rng.normal(6, 1, size=40)
    own = np.array([0.05, 0.05, -0.05, -0.05, -2.0])
    values = truth + own[:, None] + rng.normal(scale=0.4, size=(5, 40))
    rater, response = np.repeat(np.arange(5), 40), np.tile(np.arange(40), 5)
    ratings, _ = make_ratings("overall", "score", rater, response, response // 4, values.ravel())
    rows = severity_table(ratings, tuple("abcde")).raters
    assert [row.rater for row in rows if row.verdict == "harsh"] == ["e"]
    for row in rows:
        # hardly shrunk with forty ratings each; zero over all five would be .4 higher
        assert row.shrunk.value == pytest.approx(row.deviation.value, abs=0.06), row.rater
        assert "usual raters" in row.shrunk.method


def test_raters_of_groups_that_never_met_are_measured_within_theirs() -> None:
    rng = np.random.default_rng(6)
    rater, response, values = [], [], []
    for group, level in ((0, 0.0), (1, 3.0)):
        for k, own in enumerate((0.5, -0.5, 0.0)):
            for r in range(30):
                rater.append(3 * group + k)
                response.append(30 * group + r)
                values.append(5 + level + own + rng.normal(scale=0.3))
    codes = np.array(response)
    ratings, _ = make_ratings(
        "overall", "score", np.array(rater), codes, codes // 3, np.array(values)
    )
    found = {row.rater: row for row in severity_table(ratings, tuple("abcdef")).raters}
    for one, other in zip("abc", "def", strict=True):
        assert found[one].shrunk.value == pytest.approx(found[other].shrunk.value, abs=0.25)
        assert found[one].shrunk.value == pytest.approx(found[one].deviation.value, abs=0.25)
