"""Asymmetry, contrasts, comparison of targets, and the profile drawn from them."""

import math

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation import (
    Degradation,
    degradation,
    holm,
    sign_flip_test,
)
from areopagus.aggregation.vulnerability import holm_over_families, profile_tests
from areopagus.stress_test.profile import profile_sentences, sentence

NAN = math.nan
FRAMINGS = ["empirical_i", "empirical_friend", "emotion_agree", "emotion_disagree"]
DIMENSIONS = ["clarity", "grounding", "pluralistic_engagement"]


def study(deltas=0.0, *, seed=0, prompts=20, sd=0.3, **options) -> Degradation:
    """Targets with these mean deltas, shape (targets, 4, 3) or less."""
    rng = np.random.default_rng(seed)
    planted = np.asarray(deltas, dtype=float)
    targets = planted.shape[0] if planted.ndim == 3 else 1
    scores = 6 + sd * rng.normal(size=(targets, 5, prompts, 3))
    scores[:, 1:] -= np.broadcast_to(planted, (targets, 4, 3))[:, :, None, :]
    options.setdefault("scores", scores)
    return degradation(
        targets=[f"t{k}" for k in range(targets)],
        conditions=["baseline", *FRAMINGS],
        dimensions=DIMENSIONS,
        **options,
    )


def kinds(found: Degradation, target: str = "t0") -> set[str]:
    return {finding.kind for finding in found.findings if finding.target == target}


def test_asymmetry_is_the_paired_difference_of_the_two_framings() -> None:
    rng = np.random.default_rng(1)
    scores = 6 + rng.normal(size=(2, 5, 12, 3)).clip(-3, 3)
    found = study(np.zeros((2, 4, 3)), scores=scores)
    declared = [row for row in found.asymmetries if row.is_declared]
    assert [(row.target, row.estimate.family) for row in declared] == [
        (target, "2 declared asymmetries") for target in ("t0", "t1")
    ]
    p_values = []
    for t, row in enumerate(declared):
        # delta_agree - delta_disagree = S_disagree - S_agree, whatever the baseline.
        values = scores[t, 4, :, 2] - scores[t, 3, :, 2]
        assert row.estimate.value == pytest.approx(values.mean())
        limits = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
        assert (row.estimate.low, row.estimate.high) == pytest.approx(limits)
        p_values.append(sign_flip_test(values).p)
        assert row.estimate.p == p_values[-1]
    assert [row.estimate.p_adjusted for row in declared] == holm(p_values).tolist()
    others = [row for row in found.asymmetries if not row.is_declared]
    assert [row.estimate.family for row in others] == ["4 further asymmetries"] * 4
    assert [r.estimate.p_adjusted for r in others] == holm([r.estimate.p for r in others]).tolist()


def test_a_missing_framing_or_dimension_is_said() -> None:
    found = study(asymmetry=("praise", "blame"))
    assert (found.asymmetries, found.asymmetry_reason) == ((), "no condition named praise or blame")
    undeclared = study(asymmetry_dimension="humour")
    assert len(undeclared.asymmetries) == 3
    assert "no dimension named humour" in str(undeclared.asymmetry_reason)
    assert not any(row.is_declared for row in undeclared.asymmetries)


def test_targets_are_compared_on_the_same_prompts() -> None:
    rng = np.random.default_rng(2)
    scores = 6 + 0.5 * rng.normal(size=(3, 5, 12, 3))
    scores[0, 1:] -= 0.8
    scores[2, 0, 0, 0] = NAN
    found = study(np.zeros((3, 4, 3)), scores=scores)
    means = [row for row in found.comparisons if row.dimension is None]
    overall = [row for row in means if row.condition is None]
    assert [(row.first, row.second) for row in overall] == [
        ("t0", "t1"),
        ("t0", "t2"),
        ("t1", "t2"),
    ]
    whole = (scores[:, :1] - scores[:, 1:]).mean(axis=(1, 3))
    values = whole[0] - whole[1]
    assert overall[0].estimate.value == pytest.approx(values.mean())
    assert overall[0].estimate.p == sign_flip_test(values).p
    assert (overall[0].estimate.n, overall[1].estimate.n) == (12, 11)
    assert [r.estimate.p_adjusted for r in overall] == holm(
        [r.estimate.p for r in overall]
    ).tolist()
    by_condition = [row for row in means if row.condition is not None]
    assert len(by_condition) == 12
    assert {row.estimate.family for row in by_condition} == {"12 comparisons of targets"}
    one = next(r for r in by_condition if (r.first, r.condition) == ("t0", "emotion_agree"))
    columns = (scores[:, 0] - scores[:, 3]).mean(axis=2)
    assert one.estimate.value == pytest.approx((columns[0] - columns[1]).mean())
    assert study().comparisons == ()


def test_contrasts_by_hand() -> None:
    scores = 6 + 0.5 * np.random.default_rng(4).normal(size=(1, 5, 12, 3))
    found = study(scores=scores)
    deltas = scores[0, :1] - scores[0, 1:]
    by_name = {(c.kind, c.first): c for c in found.contrasts}
    # Four conditions, three dimensions, two named pairs: one Holm family.
    assert len(found.contrasts) == 9
    assert {c.estimate.family for c in found.contrasts} == {"9 contrasts of t0"}
    assert [c.estimate.p_adjusted for c in found.contrasts] == holm(
        [c.estimate.p for c in found.contrasts]
    ).tolist()
    friend = by_name["framing", ("empirical_i",)]
    assert friend.second == ("empirical_friend",)
    assert friend.estimate.value == pytest.approx((deltas[0] - deltas[1]).mean())
    agree = by_name["condition", ("emotion_agree",)]
    assert agree.estimate.value == pytest.approx(
        (deltas[2] - deltas[[0, 1, 3]].mean(axis=0)).mean()
    )
    clarity = by_name["dimension", ("clarity",)]
    assert clarity.estimate.value == pytest.approx(deltas[..., 0].mean() - deltas[..., 1:].mean())
    felt = by_name["framing", ("emotion_agree", "emotion_disagree")]
    assert felt.estimate.value == pytest.approx(deltas[2:].mean() - deltas[:2].mean())


def test_two_conditions_are_contrasted_once() -> None:
    scores = 6 + 0.5 * np.random.default_rng(4).normal(size=(1, 3, 12, 1))
    found = degradation(
        scores, targets=["t"], conditions=["baseline", "empirical_i", "empirical_friend"],
        dimensions=["d"],
    )  # fmt: skip
    assert [(c.kind, c.first, c.second) for c in found.contrasts] == [
        ("condition", ("empirical_i",), ("empirical_friend",))
    ]
    scores[0, 2] -= 1.5
    found = degradation(
        scores, targets=["t"], conditions=["baseline", "empirical_i", "empirical_friend"],
        dimensions=["d"],
    )  # fmt: skip
    dominant = next(f for f in found.findings if f.kind == "condition_dominates")
    assert (dominant.subject, dominant.against) == (("empirical_friend",), ("empirical_i",))
    assert dominant.estimate.value > 0
    alone = degradation(
        scores[:, :2], targets=["t"], conditions=["baseline", "v"], dimensions=["d"]
    )
    assert alone.contrasts == ()


def test_weakness_under_emotional_agreement_is_found_with_its_cells() -> None:
    deltas = np.zeros((1, 4, 3))
    deltas[0, 2] = [1.0, 0.9, 1.3]
    found = study(deltas)
    assert kinds(found) == {"degrades", "condition_dominates", "asymmetry"}
    dominant = next(f for f in found.findings if f.kind == "condition_dominates")
    assert dominant.subject == ("emotion_agree",)
    assert {cell.verdict for cell in dominant.cells} == {"changed"}
    assert {cell.condition for cell in dominant.cells} == {"emotion_agree"}
    sentences = profile_sentences("t0", found.findings)
    assert sentences[0].startswith("Under agreement, scores fall: clarity by ")
    for cell in found.findings[0].cells:
        assert (
            f"by {cell.delta.value:.2f} [{cell.delta.low:.2f}, {cell.delta.high:.2f}]"
            in sentences[0]
        )
    assert any("than under disagreement" in one for one in sentences)
    assert profile_sentences("other", found.findings) == ()


def test_one_strong_framing_does_not_blame_its_group() -> None:
    deltas = np.zeros((1, 4, 3))
    deltas[0, 2] = 1.5
    group = ("emotion_agree", "emotion_disagree")
    found = study(deltas)
    contrast = next(c for c in found.contrasts if c.first == group)
    assert contrast.estimate.p_adjusted < 0.01
    assert "framing_contrast" not in kinds(found)
    deltas[0, 3] = 1.2
    both = next(f for f in study(deltas).findings if f.kind == "framing_contrast")
    assert both.subject == group
    assert "points more than “I” and “my friend” (20 prompts, p over all tests" in sentence(both)


def test_social_distance_and_a_weak_dimension_are_found() -> None:
    deltas = np.zeros((1, 4, 3))
    deltas[0, 0] = 0.8
    near = next(f for f in study(deltas).findings if f.kind == "framing_contrast")
    assert (near.subject, near.against) == (("empirical_i",), ("empirical_friend",))
    # The other way round the friend is named, and the sign of the interval turns with it.
    far = next(f for f in study(deltas[:, [1, 0, 2, 3]]).findings if f.kind == "framing_contrast")
    assert (far.subject, far.against) == (("empirical_friend",), ("empirical_i",))
    assert 0 < far.estimate.low < far.estimate.value < far.estimate.high
    weak = np.zeros((1, 4, 3))
    weak[0, :, 0] = 0.7
    found = study(weak)
    dimension = next(f for f in found.findings if f.kind == "dimension_dominates")
    assert dimension.subject == ("clarity",)
    assert "points further than grounding and pluralistic engagement" in sentence(dimension)


def test_improvement_is_no_weakness() -> None:
    deltas = np.zeros((1, 4, 3))
    deltas[0, 3] = -1.0
    found = study(deltas)
    assert "improves" in kinds(found)
    assert not kinds(found) & {"degrades", "condition_dominates", "dimension_dominates"}
    better = next(f for f in found.findings if f.kind == "improves")
    assert "scores rise" in sentence(better)
    assert "by -" not in sentence(better)


def test_the_profile_of_noise_is_mostly_empty() -> None:
    found = [study(seed=seed, prompts=12) for seed in range(20)]
    empty = sum(one.findings[0].kind == "none" for one in found)
    # At most .05 each for cells, mean cells and asymmetry: Binomial(20, .85) has SD 1.6.
    assert empty >= 20 * 0.85 - 3 * 1.6


def test_two_families_by_hand() -> None:
    # Weights 1/2 each for the two cells, 1 for the single test; p/w: .01/.5 = .02, .04/.5 = .08,
    # .03/1 = .03. In this order the weight that is left is 2, 1.5, .5, so that the adjusted p are
    # .02 x 2 = .04, .03 x 1.5 = .045, max(.045, .08 x .5) = .045.
    cells, single = holm_over_families([[0.01, 0.04], [0.03]])
    assert cells == pytest.approx([0.04, 0.045])
    assert single == pytest.approx([0.045])


def test_what_has_no_p_value_takes_no_weight_and_keeps_none() -> None:
    with_nan, single = holm_over_families([[0.01, math.nan], [0.03]])
    assert with_nan[0] == pytest.approx(0.02)
    assert math.isnan(with_nan[1])
    assert single == pytest.approx([0.03])
    empty, nothing = holm_over_families([[], [math.nan]])
    assert empty.size == 0
    assert np.isnan(nothing).all()
    assert holm_over_families([]) == []


def test_over_noise_all_families_together_err_in_at_most_alpha() -> None:
    worlds = 4000
    # Twenty cells, their four means and one more test: correlated, as those of a study are.
    z = np.random.default_rng(3).normal(size=(worlds, 4, 5))
    tests = (z.reshape(worlds, 20), z.sum(axis=2) / 5**0.5, (z[:, 2, 3:4] - z[:, 3, 3:4]) / 2**0.5)
    p_values = [2 * stats.norm.sf(abs(one)) for one in tests]
    errors = by_family = 0
    for families in zip(*p_values, strict=True):
        found = holm_over_families(families)
        errors += min(float(one.min()) for one in found) <= 0.05
        by_family += any(float(one.min()) * one.size <= 0.05 for one in families)
    # Monte Carlo error .0034; each family by itself at .05 errs in more than twice as many.
    assert errors / worlds <= 0.05 + 2 * 0.0034
    assert by_family / worlds > 0.09


def test_a_sentence_must_hold_over_all_tests_together() -> None:
    rng = np.random.default_rng(5)
    for seed in range(40):
        scores = 6 + 0.8 * rng.normal(size=(1, 5, 14, 3))
        scores[:, 3] -= 0.75
        found = degradation(
            scores, targets=["t"], conditions=["baseline", *FRAMINGS], dimensions=DIMENSIONS,
            seed=seed, flips=499,
        )  # fmt: skip
        tests = profile_tests(
            ["t"], cells=found.cells, contrasts=found.contrasts, asymmetries=found.asymmetries,
            abstentions=(),
        )  # fmt: skip
        assert tests.n_families == 4
        changed = [cell for cell in found.cells if cell.verdict == "changed"]
        alone = [cell for cell in changed if tests.p_of(cell) > 0.05]
        said = {
            id(c) for f in found.findings if f.kind in ("degrades", "improves") for c in f.cells
        }
        assert not said & {id(cell) for cell in alone}
        assert all(tests.p_of(cell) >= cell.delta.p_adjusted for cell in changed)
        if alone and len(alone) == len(changed):
            (nothing,) = [f for f in found.findings if f.kind == "none"] or [None]
            if nothing is not None:
                assert sentence(nothing).startswith(
                    f"Over all {tests.n_tests} tests together no change can be shown; by the Holm "
                    "p of their own family "
                )
                return
    raise AssertionError("no study of forty had a cell that is changed in its own family alone")
