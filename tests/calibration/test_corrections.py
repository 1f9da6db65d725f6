"""Corrections where people gave a rank and a score in one row: levels come from the scores."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calibration_worlds import called, figure

from areopagus.calibration import Calibration, calibrate, load
from areopagus.calibration.dataset import with_levels

DIMENSIONS = ("conceptual_clarity", "evidential_grounding")


def written(
    folder: Path, *, columns: tuple[str, ...] = ("rank", "score"), as_criterion: str = "score"
) -> tuple[Path, Path]:
    """The paper's layout: a rank and a score in every row; a panel that scores two points low."""
    rng = np.random.default_rng(11)
    judged: list[list[Any]] = []
    rated: list[list[Any]] = []
    for g in range(14):
        truth = rng.normal(6, 1.2, size=4) + np.array([0, 0, 1, 1])
        for r in range(4):
            for p in range(3):
                for m in range(2):
                    given = np.clip(np.round(truth[r] - 2 + rng.normal()), 1, 10)
                    judged.append([f"q{g}", f"q{g}r{r}", f"persona{p}", f"model{m}", int(given)])
        for k in range(4):
            seen = truth + rng.normal(scale=0.8, size=4)
            ranks = np.argsort(np.argsort(-seen)) + 1
            for r in range(4):
                row = {
                    "rank": int(ranks[r]),
                    "score": int(np.clip(round(seen[r]), 1, 10)),
                    **{d: int(np.clip(round(seen[r] + rng.normal()), 1, 10)) for d in DIMENSIONS},
                }
                source = "human" if r < 2 else "model"
                rated.append([f"q{g}", f"q{g}r{r}", "standard", source, f"h{k}",
                              *(row[name] for name in columns)])  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    judgments, humans = folder / "judgments.csv", folder / "humans.csv"
    header = ["prompt_id", "response_id", "persona", "model", as_criterion]
    with judgments.open("w", newline="") as file:
        csv.writer(file).writerows([header, *judged])
    header = ["prompt_id", "true_id", "item_type", "true_source", "judge_id", *columns]
    with humans.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rated])
    return judgments, humans


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    return calibrate(*written(tmp_path_factory.mktemp("both")), level=0.9)


def test_order_is_compared_with_ranks_and_level_with_scores(both: Calibration) -> None:
    assert (both.record["target"]["kind"], both.record["levels"]["kind"]) == ("rank", "score")
    assert "People's level: overall (scores), for maps, means and widths." in both.text
    assert "an order holds no level" not in both.text


def test_the_scores_beside_the_ranks_give_the_corrections_they_give_alone(
    both: Calibration, tmp_path: Path
) -> None:
    alone = calibrate(*written(tmp_path, columns=("score",)), level=0.9)
    assert alone.record["target"]["kind"] == "score"
    for table in ("maps", "map knots", "conformal"):
        found, other = (
            one.estimates[one.estimates["table"] == table].reset_index(drop=True)
            for one in (both, alone)
        )
        assert found.equals(other), table
    for one in (both, alone):
        assert called(one, "maps", "error", "group") == {"line": "adopted"}
    # the weights follow the order, which the ranks hold
    taus = [figure(one, "weights", "agreement", group="equal").value for one in (both, alone)]
    assert taus[0] != taus[1]


def test_the_map_is_kept_for_the_panels_composite(both: Calibration) -> None:
    saved = load(both)
    assert saved.map_name == "line"
    assert len(saved.map_x) == len(saved.map_y) == 2
    assert saved.half_width == figure(both, "conformal", "half_width").value


def test_a_width_has_the_level_of_the_page_or_says_what_it_lacks(
    both: Calibration, tmp_path: Path
) -> None:
    width = figure(both, "conformal", "half_width")
    assert (width.level, width.n) == (0.9, 14)
    assert "misses out of 10 folds of prompts, over 5 divisions into folds" in width.method
    assert "in 90% of cases (14 prompts; misses out of" in " ".join(both.text.split())
    found = calibrate(*written(tmp_path, columns=("score",)))
    none = figure(found, "conformal", "half_width")
    assert none.reason == "14 prompts, of which 19 are needed for 95%"
    assert "14 prompts, of which 19 are needed for 95%" in " ".join(found.text.split())


def test_ranks_alone_hold_no_level(tmp_path: Path) -> None:
    found = calibrate(*written(tmp_path, columns=("rank",)))
    assert found.record["levels"] is None
    reason = figure(found, "maps", "error").reason
    assert reason == "people gave ranks: an order holds no level"


def test_a_map_of_another_criterion_is_not_applied(tmp_path: Path) -> None:
    # people ranked overall and scored one dimension: its map is not the composite's
    dimension = DIMENSIONS[0]
    found = calibrate(*written(tmp_path, columns=("rank", dimension), as_criterion=dimension))
    assert found.record["target"]["criterion"] == "overall"
    assert found.record["levels"]["criterion"] == dimension
    saved = load(found)
    assert (saved.map_name, saved.map_x) == ("as is", ())
    assert np.isnan(saved.half_width)


def test_without_targets_there_are_no_levels() -> None:
    assert with_levels(()) is None
