"""Where people gave a rank and a score in one row, levels are taken from the scores."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areopagus.calibration import Calibration, calibrate, save, write_figures
from areopagus.calibration.material import with_levels

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
    return calibrate(*written(tmp_path_factory.mktemp("both")))


def test_order_is_compared_with_ranks_and_level_with_scores(both: Calibration) -> None:
    assert both.main_target == "overall, rank"
    assert both.corrections.levels_from == both.how_many.errors_from == "overall, score"
    text = "\n".join(both.text())
    assert "people's level, for all that follows: overall, score" in text
    assert "from errors against people (overall, score)" in text
    assert "an order holds no level" not in text


def test_the_scores_beside_the_ranks_give_the_corrections_they_give_alone(
    both: Calibration, tmp_path: Path
) -> None:
    alone = calibrate(*written(tmp_path, columns=("score",)))
    assert alone.main_target == "overall, score"
    for found in (both, alone):
        assert found.corrections.score_map.adopted == "line"
        assert found.corrections.conformal.is_defined
        assert found.how_many.effective_of_errors.is_defined
    assert both.corrections.score_map == alone.corrections.score_map
    assert both.corrections.conformal == alone.corrections.conformal
    assert both.how_many.effective_of_errors == alone.how_many.effective_of_errors
    # the weights follow the order, which the ranks hold
    assert both.corrections.weights.tau != alone.corrections.weights.tau


def test_the_reliability_diagram_is_drawn(both: Calibration, tmp_path: Path) -> None:
    written_files = {path.name for path in write_figures(both, tmp_path, formats=("svg",))}
    assert "reliability.svg" in written_files


def test_the_map_is_saved_for_the_panels_composite(both: Calibration, tmp_path: Path) -> None:
    import json

    saved = json.loads(save(both, tmp_path / "calibration.json").read_text())
    assert saved["map"]["name"] == "line"
    assert saved["conformal_width"]["value"] == both.corrections.conformal.value


def test_ranks_alone_hold_no_level(tmp_path: Path) -> None:
    found = calibrate(*written(tmp_path, columns=("rank",)))
    assert found.corrections.levels_from is None
    assert found.corrections.score_map.reason == "people gave ranks: an order holds no level"
    assert "ranks" in (found.how_many.effective_of_errors.reason or "")


def test_a_map_of_another_criterion_is_not_saved(tmp_path: Path) -> None:
    import json

    # people ranked overall and scored one dimension: its map is not the composite's
    dimension = DIMENSIONS[0]
    files = written(tmp_path, columns=("rank", dimension), as_criterion=dimension)
    found = calibrate(*files)
    assert (found.main_target, found.corrections.levels_from) == (
        "overall, rank", f"{dimension}, score",
    )  # fmt: skip
    saved = json.loads(save(found, tmp_path / "calibration.json").read_text())
    assert (saved["map"]["name"], saved["conformal_width"]) == ("as is", None)


def test_without_targets_there_are_no_levels() -> None:
    assert with_levels(()) is None
