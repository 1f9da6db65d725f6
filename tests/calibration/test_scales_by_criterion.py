"""People's criteria on scales that differ, from each other and from the panel's."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from calibration_worlds import figure, write_table

from areopagus import InputError
from areopagus.aggregation.ratings import make_ratings
from areopagus.calibration import agreement, calibrate
from areopagus.calibration.dataset import composite_of
from areopagus.calibration.reading import Screened
from areopagus.records.humans import read_humans

CRITERIA = ("clarity", "depth")
RELEASED = ["prompt_id", "true_id", "blinded_label", "item_type", "true_source", "model", "rank",
            "score", "judge_id"]  # fmt: skip


def study(folder: Path, n_prompts: int = 12) -> tuple[Path, list[list[Any]]]:
    """Judgments of three models on two criteria, and people's: rater, prompt, response, scores."""
    rng = random.Random(4)
    judged, rated = [], []
    for p in range(n_prompts):
        level = [rng.gauss(5.5, 1.5) for _ in range(4)]

        def score(k: int, error: float, level: list[float] = level) -> int:
            return min(10, max(1, round(level[k] + rng.gauss(0, error))))

        for k in range(4):
            ids = [f"p{p}", f"p{p}r{k}"]
            judged += [[*ids, f"m{m}", score(k, 0.8), score(k, 0.8)] for m in range(3)]
            rated += [[f"h{h}", *ids, score(k, 1.0), score(k, 1.0)] for h in range(4)]
    path = write_table(
        folder / "judges.csv", ["prompt_id", "response_id", "judge", *CRITERIA], judged
    )
    return path, rated


def people(path: Path, rated: list[list[Any]], **lines: tuple[float, float]) -> Path:
    """The ratings, with criteria as a straight line of what was given: (factor, offset)."""
    rows = []
    for *ids, clarity, depth in rated:
        given = dict(zip(CRITERIA, (clarity, depth), strict=True))
        on = {name: lines.get(name, (1, 0)) for name in CRITERIA}
        rows.append([*ids, *(on[name][0] * given[name] + on[name][1] for name in CRITERIA)])
    return write_table(path, ["rater_id", "prompt_id", "response_id", *CRITERIA], rows)


def rows(found: Any, *but: str) -> pd.DataFrame:
    frame: pd.DataFrame = found.estimates
    kept = ~frame["table"].isin(but)
    return frame[kept].reset_index(drop=True)


def test_figures_do_not_depend_on_the_scales_that_people_used(tmp_path: Path) -> None:
    judged, rated = study(tmp_path)
    same = read_humans(people(tmp_path / "a.csv", rated), scale=(1, 10))
    # depth from 1 to 10 written as 10 to 100, clarity as 0 to 4.5
    other = read_humans(
        people(tmp_path / "b.csv", rated, depth=(10, 0), clarity=(0.5, -0.5)),
        scale={"clarity": (0, 4.5), "depth": (10, 100)},
    )
    panel = read_scaled(judged)
    plain, scaled = (calibrate(panel, one, ruler=True) for one in (same, other))
    # raters' severities are in points of their own scale, and so are ranges; one ruler is fitted
    # where all criteria have one scale; the rest is equal
    mine, theirs = (rows(one, "raters", "paper", "many facets") for one in (plain, scaled))
    own = mine["measure"].isin(["ac2"])  # whole categories or the values in use
    pd.testing.assert_frame_equal(
        mine[~own].drop(columns="method"), theirs[~own].drop(columns="method"),
        rtol=1e-7, atol=1e-9,
    )  # fmt: skip
    told = " ".join(scaled.record["matched"]["notices"])
    assert "criteria are on different scales (clarity 0 to 4.5, depth 10 to 100)" in told
    assert "carried in a straight line to the panel's scale (1 to 10)" in told
    assert not any("carried" in one for one in plain.record["matched"]["notices"])
    assert scaled.record["scale"] == {"clarity": [0, 4.5], "depth": [10, 100]}


def read_scaled(path: Path) -> Any:
    from areopagus.records.humans import read_judgments

    return read_judgments(path, scale=(1, 10))


def test_only_the_criterion_that_nobody_stated_is_held_to_the_panels_scale(tmp_path: Path) -> None:
    judged, rated = study(tmp_path)
    path = people(tmp_path / "h.csv", rated, depth=(10, 0))
    with pytest.raises(InputError, match="depth: must be from 1 to 10 as the panel's scores"):
        calibrate(read_scaled(judged), path)
    with pytest.raises(InputError, match="depth: must be from 1 to 10 as the panel's scores"):
        calibrate(read_scaled(judged), path, scale={"clarity": (1, 10)})
    found = calibrate(read_scaled(judged), path, scale={"depth": (10, 100)})
    assert found.record["scale"] == {"clarity": [1, 10], "depth": [10, 100]}
    assert figure(found, "matched", "n_out_of_range").value == 0


def test_a_composite_of_unlike_scales_is_the_mean_of_units_and_none_without_a_scale() -> None:
    one, none = np.ones(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    code = np.arange(2)
    clarity = make_ratings("clarity", "score", none, code, one, np.array([1.0, 5.0]))[0]
    depth = make_ratings("depth", "score", none, code, one, np.array([100.0, 0.0]))[0]
    both = (clarity, depth)
    # (0 + 1) / 2 and (1 + 0) / 2
    found = composite_of(both, {"clarity": (1, 5), "depth": (0, 100)})
    assert found is not None
    assert found.value.tolist() == [0.5, 0.5]
    assert composite_of(both, {"clarity": (1, 5)}) is None
    plain = composite_of(both)
    assert plain is not None
    assert plain.value.tolist() == [50.5, 2.5]


def test_agreement_does_not_pool_criteria_whose_scales_are_not_known(tmp_path: Path) -> None:
    _, rated = study(tmp_path)
    path = people(tmp_path / "h.csv", rated, depth=(10, 0))
    found = agreement(path, scale={"depth": (10, 100)})
    pooled = figure(found, "people", "alpha_interval", criterion="all", detail="score")
    assert not pooled.is_defined
    assert pooled.reason == "criteria are on different scales, and one of these is not known"
    told = " ".join(found.record["matched"]["notices"])
    assert "no scale is known of clarity (1 to 10): scores were not checked" in told
    known = agreement(path, scale={"depth": (10, 100), "clarity": (1, 10)})
    plain = agreement(people(tmp_path / "p.csv", rated), scale=(1, 10))
    alphas = [
        figure(one, "people", "alpha_interval", criterion="all", detail="score").value
        for one in (known, plain)
    ]
    assert alphas[0] == pytest.approx(alphas[1])


@pytest.mark.parametrize("has_parts", [True, False])
def test_the_released_layout_is_calibrated_with_its_score_on_a_scale_of_its_own(
    has_parts: bool, tmp_path: Path
) -> None:
    """The score is the sum of five dimensions of 1 to 10, and the panel's scale is 1 to 10."""
    rng = random.Random(2)
    dimensions = ["d1", "d2", "d3", "d4", "d5"]
    judged, rated = [], []
    for p in range(8):
        level = [rng.gauss(5.5, 1.5) for _ in range(4)]
        for m in range(3):
            judged += [
                [f"p{p}", f"p{p}r{k}", f"m{m}", *(rating(rng, level[k]) for _ in dimensions)]
                for k in range(4)
            ]
        for h in range(4):
            given = [[rating(rng, level[k]) for _ in dimensions] for k in range(4)]
            for k, parts in enumerate(given):
                rank = 1 + sum(sum(other) > sum(parts) for other in given)
                row = [f"p{p}", f"p{p}r{k}", "ABCD"[k], "standard", "llm", "m", rank, sum(parts)]
                rated.append([*row, f"h{h}", *(parts if has_parts else [])])
    judges = write_table(
        tmp_path / "j.csv", ["prompt_id", "response_id", "judge", *dimensions], judged
    )
    header = [*RELEASED, *(dimensions if has_parts else [])]
    path = write_table(tmp_path / "h.csv", header, rated)
    reading = read_humans(path)
    assert reading.layout == "scrub"
    assert agreement(path).estimates is not None
    found = calibrate(read_scaled(judges), path)
    counts = [figure(found, "matched", n).value for n in ("n_ratings", "n_out_of_range")]
    assert counts == [8 * 4 * 4 * (7 if has_parts else 2), 0]
    told = " ".join(found.record["matched"]["notices"])
    error = figure(found, "maps", "error", group="as is", criterion="overall").value
    if has_parts:
        assert "overall is the sum of d1, d2, d3, d4 and d5" in told
        assert "people's scores (overall 5 to 50) are carried" in told
        # carried, a sum of five is their mean: as near to the panel as people are
        assert error < 1.5
    else:
        assert "no scale is known: scores were not checked" in told
        assert error > 10
    # the order is what it is on any scale
    assert figure(found, "panel", "tau", criterion="overall", detail="score").value > 0.3


def rating(rng: random.Random, level: float) -> int:
    return min(10, max(1, round(level + rng.gauss(0, 1))))


def test_missing_values_stand_in_the_report_by_code_with_their_rows(tmp_path: Path) -> None:
    judged, rated = study(tmp_path)
    path = people(tmp_path / "h.csv", rated)
    with path.open(newline="") as file:
        cells = list(csv.reader(file))
    for row, code in ((5, "NA"), (7, "NA"), (9, "-99")):
        cells[row][-1] = code
    write_table(path, cells[0], cells[1:])  # type: ignore[arg-type]
    found = calibrate(judged, path)
    assert figure(found, "matched", "n_missing").value == 3
    by_code = {
        code: figure(found, "matched", "n_missing_by_code", group=code).value
        for code in ("NA", "-99")
    }
    assert by_code == {"NA": 2, "-99": 1}
    text = " ".join(found.text.split())
    assert "3 missing ratings: 2 × NA (rows 6, 8), 1 × -99 (row 10)." in text
    assert figure(found, "people", "n_ratings", criterion="depth").value == len(rated) - 3


def test_a_scale_that_a_bare_table_is_given_is_checked_by_criterion(tmp_path: Path) -> None:
    _, rated = study(tmp_path)
    table = read_humans(people(tmp_path / "h.csv", rated)).table
    screened = Screened.of(None, stated={"depth": (1, 3)})
    left = screened.kept(table)
    n_off = int((table.where("criterion", "depth").value > 3).sum())
    assert n_off > 0
    assert len(left) == len(table) - n_off


def test_the_design_of_pooled_raters_is_that_of_pools(tmp_path: Path) -> None:
    _, rated = study(tmp_path)
    path = write_table(
        tmp_path / "h.csv",
        ["rater_id", "prompt_id", "response_id", "panel", *CRITERIA],
        [[*ids, "odd" if int(ids[0][1]) % 2 else "even", *given] for *ids, given in split(rated)],
    )
    found = agreement(read_humans(path, columns={"pool": "panel"}, scale=(1, 10)))
    assert figure(found, "matched", "n_raters").value == 2
    text = " ".join(str(found).split())
    assert (
        "2 pools of raters (by panel) x 12 prompts x 4 responses. Every pool rated every response."
        in text
    )
    assert "Agreement is that of pools, not of single raters" in " ".join(found.text.split())


def split(rated: list[list[Any]]) -> list[list[Any]]:
    return [[*row[:3], row[3:]] for row in rated]
