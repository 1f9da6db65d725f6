"""Variance components of Brennan's designs, and of panels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from areopagus.aggregation.decision_study import best_designs, d_study, smallest_designs
from areopagus.aggregation.generalizability import (
    PANEL_EFFECTS,
    RESIDUAL,
    crossed,
    g_study,
    level_bounds,
    panel_cells,
    panel_g_study,
)

NAN = float("nan")
ILLUSTRATION = {"r:q": 0.64, "rP": 0.06, "rM": 0.30, RESIDUAL: 0.25}
# Brennan (2001), Generalizability Theory: synthetic data set 1, persons x items
PERSONS_BY_ITEMS = [
    "101000000000", "111001000000", "111110000000", "110110010000", "111110100000",
    "111011100000", "111111100000", "111101111100", "111111111110", "111111111111",
]  # fmt: skip


def test_persons_by_items_of_brennan_give_his_components_and_coefficients() -> None:
    scores = np.array([[int(mark) for mark in row] for row in PERSONS_BY_ITEMS], float)
    person, item = np.indices(scores.shape)
    study = g_study(scores.ravel(), {"r:q": person.ravel(), "P": item.ravel()})
    assert study.components["r:q"] == pytest.approx(0.0574, abs=5e-5)
    assert study.components["P"] == pytest.approx(0.0754, abs=5e-5)
    assert study.components[RESIDUAL] == pytest.approx(0.1269, abs=5e-5)
    published = {12: (0.844, 0.773), 5: (0.693, 0.586), 10: (0.819, 0.740), 20: (0.901, 0.850)}
    for items, (rho, phi) in published.items():
        found = d_study(study, personas=items, models=1)
        # his table rounds the components first: one unit of the last digit
        assert (found.e_rho2, found.phi) == pytest.approx((rho, phi), abs=1.6e-3)


def test_persons_items_and_occasions_of_brennan_give_his_components() -> None:
    # Brennan (2001), synthetic data set 3: 10 persons, 2 occasions x 4 items
    rows = [
        "26752555", "45676757", "55465455", "59865776", "43564564",
        "44476478", "26652775", "34456664", "05455553", "68766886",
    ]  # fmt: skip
    scores = np.array([[int(mark) for mark in row] for row in rows], float).reshape(10, 2, 4)
    p, o, i = (index.ravel() for index in np.indices(scores.shape))
    study = g_study(
        scores.ravel(),
        {"p": p, "i": i, "o": o, "pi": crossed(p, i), "po": crossed(p, o), "io": crossed(i, o)},
    )
    expected = [0.5528, 0.4417, 0.0074, 0.5750, 0.1009, 0.1565, 0.9352]
    assert list(study.components.values()) == pytest.approx(expected, abs=5e-5)


def test_a_table_with_missing_cells_gives_brennans_components() -> None:
    # Brennan (2001), section 7: 12 persons x 6 items, x missing
    rows = ["111101", "101111", "x11100", "0xx101", "1x010x", "111101",
            "0x1x00", "0x1111", "1101x0", "x000x0", "111111", "x0x001"]  # fmt: skip
    scores = np.array([[NAN if mark == "x" else int(mark) for mark in row] for row in rows])
    person, item = np.indices(scores.shape)
    study = g_study(scores.ravel(), {"p": person.ravel(), "i": item.ravel()})
    assert study.n == 59
    assert list(study.components.values()) == pytest.approx([0.0473, 0.0117, 0.1840], abs=5e-5)


def test_ragged_components_agree_with_an_explicit_expectation_matrix() -> None:
    rng = np.random.default_rng(7)
    p, i, n = rng.integers(0, 6, 40), rng.integers(0, 4, 40), 40
    y = rng.normal(size=40)
    same = [(p[:, None] == p).astype(float), (i[:, None] == i).astype(float), np.eye(n)]
    forms = [v / v.sum(axis=1, keepdims=True) - 1 / n for v in same]
    system = [[np.trace(form @ v) for v in same] for form in forms]
    expected = np.linalg.solve(system, [y @ form @ y for form in forms])
    study = g_study(y, {"p": p, "i": i})
    assert list(study.components.values()) == pytest.approx(expected)


def test_brennans_unbalanced_nested_design_gives_his_components() -> None:
    # Brennan (2001), synthetic data set 4: 8 persons x (items in 3 categories of 2, 4, 2)
    rows = ["45335457", "21231446", "24476587", "13545545",
            "33675789", "12564456", "35686778", "01120478"]  # fmt: skip
    scores = np.array([[int(mark) for mark in row] for row in rows], float)
    p, item = (index.ravel() for index in np.indices(scores.shape))
    h = np.array([0, 0, 1, 1, 1, 1, 2, 2])[item]
    study = g_study(scores.ravel(), {"p": p, "h": h, "i:h": item, "ph": crossed(p, h)})
    expected = [1.2014, 2.9161, 0.2946, 0.9913, 0.8429]
    # .99143 here: his table works from rounded figures in this place
    assert list(study.components.values()) == pytest.approx(expected, abs=1.5e-4)


def planted(seed: int, *, repeats: int = 1, missing: float = 0.0) -> tuple[np.ndarray, list[int]]:
    rng = np.random.default_rng(seed)
    prompts, each, personas, models = 30, 4, 6, 5
    q = np.repeat(np.arange(prompts), each)
    r = rng.normal(0, 0.8, prompts * each)
    scores = (
        6
        + rng.normal(0, 0.7, prompts)[q][:, None, None, None]
        + r[:, None, None, None]
        + rng.normal(0, 0.6, (1, personas, 1, 1))
        + rng.normal(0, 0.5, (1, 1, models, 1))
        + rng.normal(0, 0.5, (len(q), 1, models, 1))
        + rng.normal(0, 0.4, (len(q), personas, models, 1))
        + rng.normal(0, 0.3, (len(q), personas, models, repeats))
    )
    scores[rng.random(scores.shape) < missing] = NAN
    return scores, q.tolist()


def test_planted_panel_components_are_recovered_with_a_third_missing() -> None:
    found = []
    for seed in range(8):
        scores, prompt = planted(seed, repeats=2, missing=0.35)
        found.append(panel_g_study(scores, prompt=prompt, jackknife=False).components)
    mean = {name: np.mean([one[name] for one in found]) for name in found[0]}
    assert list(mean) == [*PANEL_EFFECTS, RESIDUAL]
    assert mean["r:q"] == pytest.approx(0.64, abs=0.07)
    assert mean["q"] == pytest.approx(0.49, abs=0.15)
    assert mean["rM"] == pytest.approx(0.25, abs=0.03)
    assert mean["rPM"] == pytest.approx(0.16, abs=0.01)
    assert mean[RESIDUAL] == pytest.approx(0.09, abs=0.01)
    assert mean["rP"] == pytest.approx(0, abs=0.02)


def test_scores_of_which_none_is_known_hold_no_effect() -> None:
    cells = panel_cells(np.full((8, 3, 2), NAN), [0, 0, 1, 1, 2, 2, 3, 3])
    assert (len(cells.y), cells.effects, cells.replicated, cells.design) == (0, {}, False, None)


def test_effects_that_the_data_cannot_hold_are_left_out() -> None:
    scores, prompt = planted(1)
    assert "rPM" not in panel_g_study(scores, prompt=prompt, jackknife=False).components
    one_model = panel_g_study(scores[:, :, :1], prompt=prompt, jackknife=False)
    assert list(one_model.components) == ["q", "r:q", "P", "qP", RESIDUAL]
    one_response = panel_g_study(scores[::4], prompt=prompt[::4], jackknife=False)
    assert list(one_response.components) == ["q", "P", "M", "PM", "qP", "qM", RESIDUAL]


def test_negative_estimates_stand_and_are_flagged() -> None:
    # y = +-1 in a pattern of pure interaction: row and column means are all zero
    # T_row = T_column = 0, so s2_row = (0 - s2_e) / 2 with s2_e = 4
    study = g_study([1, -1, -1, 1], {"row": [0, 0, 1, 1], "column": [0, 1, 0, 1]})
    assert study.components["row"] == pytest.approx(-2)
    assert study.components[RESIDUAL] == pytest.approx(4)
    assert study.negative == ("row", "column")


def test_effects_with_the_same_cells_are_undefined_with_the_reason() -> None:
    study = g_study([1, 2, 3, 5], {"a": [0, 0, 1, 1], "b": ["x", "x", "y", "y"]})
    assert np.isnan(list(study.components.values())).all()
    assert study.reason is not None


def test_the_jackknife_covers_components_between_responses_only() -> None:
    scores, prompt = planted(2)
    study = panel_g_study(scores, prompt=prompt)
    assert {"P", "M", "PM"}.isdisjoint(study.intervals)
    interval = study.intervals["r:q"]
    assert interval.low < study.components["r:q"] < interval.high
    few = panel_g_study(scores[:20], prompt=prompt[:20])
    assert few.intervals["r:q"].reason == "fewer than 6 prompts"


def test_few_levels_are_named_and_their_bounds_are_the_chi_square_ones() -> None:
    scores, prompt = planted(3)
    assert panel_g_study(scores[:, :, :3], prompt=prompt, jackknife=False).few_levels == ("M",)
    assert level_bounds(3) == pytest.approx((0.27, 39.5), abs=0.01)
    assert level_bounds(10) == pytest.approx((0.47, 3.33), abs=0.01)


@pytest.mark.parametrize(
    ("personas", "models", "expected"),
    [(10, 3, 0.847), (5, 6, 0.900), (2, 15, 0.915), (1, 10, 0.845), (100, 3, 0.862)],
)
def test_the_decision_study_gives_the_reference_coefficients(
    personas: int, models: int, expected: float
) -> None:
    # the reference was worked from components of which two digits are given: hence .003
    found = d_study(ILLUSTRATION, personas=personas, models=models)
    assert found.e_rho2 == pytest.approx(expected, abs=3e-3)
    error = 0.06 / personas + 0.30 / models + 0.25 / (personas * models)
    assert found.e_rho2 == pytest.approx(0.64 / (0.64 + error))


def test_the_best_design_beats_every_other_of_its_budget() -> None:
    (best,) = best_designs(ILLUSTRATION, [30])
    others = [
        d_study(ILLUSTRATION, personas=p, models=m).relative_error
        for p in range(1, 31)
        for m in range(1, 21)
        if p * m <= 30
    ]
    assert best.design.relative_error == min(others)
    assert best.design.repeats == 1


def test_absolute_error_adds_what_cancels_within_a_prompt() -> None:
    full = {**ILLUSTRATION, "P": 0.5, "M": 0.4, "qP": 0.1, "qM": 0.2, "PM": 0.3, "q": 1.0}
    within = d_study(full, personas=10, models=2)
    wide = d_study(full, personas=10, models=2, target="response")
    added = 0.05 + 0.2 + 0.015 + 0.01 + 0.1
    assert within.absolute_error == pytest.approx(within.relative_error + added)
    assert wide.relative_error == pytest.approx(within.relative_error + 0.01 + 0.1)
    assert wide.universe == pytest.approx(1.64)


def test_the_cheapest_design_is_found_among_all() -> None:
    components = {**ILLUSTRATION, "P": 0.2, "M": 0.4}
    most = (6, 4, 2)
    for criterion, field in (("relative", "relative_error"), ("absolute", "absolute_error")):
        for wanted in (0.7, 0.5, 0.4):
            (found,) = smallest_designs(components, [wanted], most=most, criterion=criterion)  # type: ignore[arg-type]
            calls = [
                p * m * r
                for p in range(1, 7)
                for m in range(1, 5)
                for r in range(1, 3)
                if math.sqrt(getattr(d_study(components, personas=p, models=m, repeats=r), field))
                <= wanted
            ]
            assert (found.design.calls if found.design else None) == min(calls, default=None)


def test_a_design_by_hand_and_one_out_of_reach() -> None:
    # One persona and two models: (.06 + .15 + .125) = .335, its root .579.
    reached, not_reached = smallest_designs(ILLUSTRATION, [0.58, 0.01], most=(5, 5, 1))
    assert reached.design is not None
    assert (reached.design.personas, reached.design.models) == (1, 2)
    assert not_reached.design is None
