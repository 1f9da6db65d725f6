"""Each bias of judges by hand, in planted arrays, and where there is none to be had."""

from __future__ import annotations

import math

import numpy as np
import pytest

from areopagus.aggregation.intervals import t_interval
from areopagus.aggregation.jackknife import jackknife_error
from areopagus.aggregation.judge_biases import (
    ByPrompt,
    compared_responses,
    criterion_correlation,
    form_slopes,
    jackknifed,
    mean_correlation,
    own_family_by_prompt,
    place_effects,
    place_weights,
    repeat_spread,
)

NAN = math.nan


def turned_world(places: np.ndarray, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores of two judges with planted effects of places, in the plain order and turned."""
    n = len(places)
    plain = np.tile(np.arange(n) * 10.0 + places, (len(turn), 2, 1))
    turned = np.stack(
        [np.tile(np.arange(n) * 10.0 + places[(np.arange(n) - t) % n], (2, 1)) for t in turn]
    )
    return plain, turned


def test_the_slope_of_places_is_that_which_was_planted_and_no_criterion_is_one() -> None:
    turn = np.array([1, 2, 3, 1])
    plain, turned = turned_world(np.array([0.6, 0.4, 0.2, 0.0]), turn)
    weights = place_weights(turn, 4)
    # Turned by one, each criterion stands three places later or one earlier: 3 (3, −1, −1, −1)/12.
    assert weights[0] == pytest.approx([9 / 12, -3 / 12, -3 / 12, -3 / 12])
    slopes = ((turned - plain) * weights[:, None, :]).sum(axis=2)
    assert slopes == pytest.approx(np.full((4, 2), -0.6))
    # A shift of all criteria is no effect of places.
    assert ((turned + 2 - plain) * weights[:, None, :]).sum(axis=2) == pytest.approx(slopes)


def test_the_effect_of_each_place_is_freed_from_the_criterion_that_stands_there() -> None:
    rng = np.random.default_rng(1)
    turn = 1 + np.arange(12) % 3
    places = np.array([0.9, -0.1, -0.3, -0.5])
    plain, turned = turned_world(places, turn)
    turned = turned + rng.normal(0, 0.01, turned.shape)
    found = place_effects(plain, turned, turn, np.arange(12), 12)
    assert [one.value for one in found] == pytest.approx(places.tolist(), abs=0.02)
    assert all(one.has_interval and one.n == 12 for one in found)
    nobody = place_effects(plain * NAN, turned, turn, np.arange(12), 12)
    assert "no judge scored both orders" in str(nobody[0].reason)


def test_places_that_the_orders_never_compare_have_no_figure() -> None:
    # Of four, a rotation by two sets the first place against the third, and never the second.
    turn = np.full(12, 2)
    plain, turned = turned_world(np.array([3.0, 1.0, -1.0, -3.0]), turn)
    for one in place_effects(plain, turned, turn, np.arange(12), 12):
        assert not one.is_defined
        assert "do not compare every place" in str(one.reason)
    turn[0] = 1  # one response tells them apart, and there is no figure without it
    plain, turned = turned_world(np.array([3.0, 1.0, -1.0, -3.0]), turn)
    found = place_effects(plain, turned, turn, np.arange(12), 12)
    assert [one.value for one in found] == pytest.approx([3.0, 1.0, -1.0, -3.0])
    assert "undefined without one of 1 prompts" in str(found[0].reason)


def test_own_family_is_the_double_difference_of_a_prompt() -> None:
    # Judges of families a and b; responses by a, by b, by nobody's family.
    table = np.array([[7.0, 6.0], [5.0, 6.5], [5.0, 5.5]])
    own = np.array([[True, False], [False, True], [False, False]])
    # ô of a column of a, less that of b: 1, -1, 0 over two, and y of a less y of b: 1, -1.5, -.5;
    # the first's mean is 0, so that δ = (1·1 + 1·1.5) / 2 = 1.25.
    found = own_family_by_prompt(table, own, np.zeros(3, dtype=np.int64), 1)
    assert found == pytest.approx([1.25])
    harsh = table - np.array([[2.0, 0.0]])  # a family's severity is none
    assert own_family_by_prompt(harsh, own, np.zeros(3, dtype=np.int64), 1) == pytest.approx(found)
    for nothing in (table[:1], table[2:]):
        rows = len(nothing)
        one = own_family_by_prompt(nothing, own[:rows], np.zeros(rows, dtype=np.int64), 1)
        assert math.isnan(one[0])


def test_slopes_of_form_are_those_of_least_squares_with_prompt_and_respondent_held() -> None:
    rng = np.random.default_rng(2)
    prompt, who = np.repeat(np.arange(12), 3), np.tile(np.arange(3), 12)
    form = np.stack([rng.normal(8, 1, 36), (rng.random(36) < 0.5).astype(float)], axis=1)
    score = rng.normal(0, 1, 36) + prompt + 2.0 * who + 0.5 * form[:, 0] - 0.3 * form[:, 1]
    dummies = [prompt == k for k in range(12)] + [who == k for k in (1, 2)]
    design = np.column_stack([form, *dummies]).astype(float)
    by_hand = np.linalg.lstsq(design, score, rcond=None)[0][:2]
    found = form_slopes(score, form, prompt, who, 12)
    assert [one.value for one in found] == pytest.approx(by_hand.tolist())
    # Delete-one-prompt jackknife, each fit anew.
    left = []
    for k in range(12):
        kept = prompt != k
        left.append(np.linalg.lstsq(design[kept], score[kept], rcond=None)[0][0])
    # The values of prompts have the slope as mean, and the jackknife's error.
    error = math.sqrt(11 / 12 * ((np.array(left) - np.mean(left)) ** 2).sum())
    mean = t_interval(found[0].values)
    assert (mean.value, mean.se) == pytest.approx((by_hand[0], error))
    assert "prompt and respondent held fixed" in found[0].method
    # Names and order of the codes do not matter.
    again = form_slopes(score[::-1], form[::-1], 11 - prompt[::-1], 2 - who[::-1], 12)
    assert again[0].value == pytest.approx(found[0].value)


@pytest.mark.parametrize(
    ("form", "prompt", "told"),
    [
        ([1, 2, 3, 4], [0, 1, 2, 3], "one response a prompt"),
        ([1, 1, 2, 2], [0, 0, 1, 1], "does not vary between the responses of a prompt"),
        ([1, 2, 1, 2], [0, 0, 1, 1], "does not vary between the responses of a prompt"),
        ([NAN] * 4, [0, 0, 1, 1], "no response has both"),
    ],
)
def test_a_slope_that_cannot_be_told_apart_is_undefined(
    form: list[float], prompt: list[int], told: str
) -> None:
    scores, who = np.array([1.0, 2, 3, 5]), np.array([0, 1, 0, 1])
    (found,) = form_slopes(scores, np.array(form, dtype=float)[:, None], np.array(prompt), who, 4)
    assert math.isnan(found.value)
    assert np.isnan(found.values).all()
    assert told in str(found.reason)


def test_a_slope_counts_the_prompts_whose_responses_differ_in_form() -> None:
    rng = np.random.default_rng(2)
    prompt, who = np.repeat(np.arange(40), 4), np.tile(np.arange(4), 40)
    words = rng.normal(8, 1, 160)
    score = rng.normal(5, 1, 160) + 0.3 * words

    def slopes(seen: int) -> tuple[ByPrompt, ...]:
        is_set = (prompt < seen) & (np.tile([0, 1, 1, 0, 0, 0, 1, 1], 20) == 1)
        return form_slopes(score, np.stack([words, is_set], axis=1), prompt, who, 40)

    length, formatted = slopes(4)
    assert (length.n, length.n_planned) == (40, 40)
    assert (formatted.n, formatted.n_planned) == (4, 40)
    assert np.flatnonzero(~np.isnan(formatted.values)).tolist() == [0, 1, 2, 3]
    assert slopes(12)[1].n == 12


def test_halo_is_what_a_judges_criteria_share_and_the_other_judges_do_not() -> None:
    rng = np.random.default_rng(3)
    quality = rng.normal(0, 2, (200, 1, 1))
    mood = rng.normal(0, 1, (200, 4, 1))
    noise = rng.normal(0, 1, (200, 4, 5))
    harsh = np.array([0.0, 3.0, -2.0, 1.0])[None, :, None]
    without, with_halo = quality + harsh + noise, quality + harsh + mood + noise
    # As scored: 4 / (4 + 1) of the variance is the response's; of what is left, none and one half.
    assert mean_correlation(criterion_correlation(without)) == pytest.approx(0.8, abs=0.04)
    beyond = criterion_correlation(without, beyond_response=True)
    assert mean_correlation(beyond) == pytest.approx(0, abs=0.04)
    halo = criterion_correlation(with_halo, beyond_response=True)
    assert mean_correlation(halo) == pytest.approx(0.5, abs=0.05)
    with_halo[0, 0] = NAN  # a missing judge moves it little
    again = mean_correlation(criterion_correlation(with_halo, beyond_response=True))
    assert again == pytest.approx(mean_correlation(halo), abs=0.01)


def test_correlations_that_nothing_varies_for_are_undefined() -> None:
    constant = np.full((8, 2, 3), 5.0)
    assert math.isnan(mean_correlation(criterion_correlation(constant)))
    one_judge = np.random.default_rng(0).normal(size=(8, 1, 3))
    assert math.isnan(mean_correlation(criterion_correlation(one_judge, beyond_response=True)))
    assert math.isnan(mean_correlation(np.ones((1, 1))))


def test_a_statistic_of_responses_is_the_mean_of_values_with_the_jackknifes_error() -> None:
    values = np.array([1.0, 2, 4, 3, 5, 4, 6, 3])

    def largest(rows: np.ndarray) -> float:
        return float(values[rows].mean() ** 2)

    found = jackknifed(largest, np.arange(8), 8, method="square")
    left = np.array([largest(np.delete(np.arange(8), k)) for k in range(8)])
    mean = t_interval(found.values)
    assert mean.value == pytest.approx(found.value) == pytest.approx(3.5**2)
    assert mean.se == pytest.approx(float(jackknife_error(left)))
    # Of a mean they are the values themselves.
    plain = jackknifed(lambda rows: float(values[rows].mean()), np.arange(8), 8, method="mean")
    assert plain.values == pytest.approx(values)


def test_beyond_fifty_prompts_blocks_of_them_are_left_out() -> None:
    values = np.random.default_rng(0).normal(size=120)
    found = jackknifed(lambda rows: float(values[rows].mean()), np.arange(120), 120, method="mean")
    assert (found.n, int((~np.isnan(found.values)).sum())) == (120, 50)


def test_prompts_that_add_nothing_to_a_statistic_are_not_counted() -> None:
    # Forty prompts of two responses; beyond the first `seen` one judge alone scored, so that
    # nobody says what the response deserves.
    values = np.random.default_rng(0).normal(5, 1, (80, 3, 4))
    prompt = np.repeat(np.arange(40), 2)
    table = values.copy()
    table[prompt >= 8, 1:] = NAN

    def halo(table: np.ndarray) -> ByPrompt:
        codes = prompt[: len(table)]
        return jackknifed(
            lambda places: mean_correlation(
                criterion_correlation(table[places], beyond_response=True)
            ),
            codes, 40, counts=compared_responses(table, beyond_response=True), method="halo",
        )  # fmt: skip

    more = halo(table)
    assert (more.n, more.n_planned) == (8, 40)
    # As if the others had never been asked.
    assert more.values == pytest.approx(halo(values[:16]).values, nan_ok=True)


def test_the_spread_between_askings_and_the_share_that_is_the_same() -> None:
    # One judge, three askings: 5, 5, 7 (squares 8/3 on 2 degrees; 1 pair of 3 equal), 6, 6, none.
    table = np.array([[[5.0, 5, 7]], [[6.0, 6, NAN]]])
    spread, equal = repeat_spread(table, np.array([0, 1]), 2)
    assert spread.value == pytest.approx(math.sqrt((8 / 3) / 3))
    assert equal.value == pytest.approx(2 / 4)
    assert (spread.n, equal.n) == (2, 2)
    none, _ = repeat_spread(table[..., :1], np.array([0, 1]), 2)
    assert "no judge scored a response twice" in str(none.reason)
