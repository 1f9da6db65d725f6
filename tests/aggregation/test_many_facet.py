"""The many-facet rating-scale model: published figures, a likelihood written plainly, plants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize

from areopagus.aggregation.many_facet import ManyFacetFit, many_facet
from areopagus.aggregation.rating_scale import Data, Fit, counted, infit_deviates, maximum

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """Ratings as long arrays."""

    score: Floats
    response: Integers
    rater: Integers
    criterion: Integers
    prompt: Integers

    def fit(self, **options: object) -> ManyFacetFit:
        given: dict[str, object] = {
            "scale": (1, int(self.score.max())), "criterion": self.criterion, "prompt": self.prompt,
        }  # fmt: skip
        return many_facet(self.score, self.response, self.rater, **given | options)  # type: ignore[arg-type]

    def maximum(self) -> tuple[Data, Fit]:
        """Without ranges and consistencies of raters' own."""
        data, start = counted(self.score, self.response, self.rater, self.criterion, self.prompt)
        return data, maximum(data, start, is_extended=False)


def world(
    seed: int,
    *,
    responses: int = 160,
    raters: int = 5,
    steps: Floats | None = None,
    criteria: int = 1,
    severity: dict[int, float] | None = None,
    apart: dict[int, float] | None = None,
    follows: dict[int, float] | None = None,
) -> World:
    """Draws ratings from the model; four responses a prompt."""
    rng = np.random.default_rng(seed)
    tau = np.linspace(-2, 2, 6) if steps is None else steps
    sums, k = np.concatenate([[0.0], np.cumsum(tau)]), np.arange(len(tau) + 1)
    quality = 1.5 * rng.normal(size=responses)
    b, s, a = np.zeros(raters), np.ones(raters), np.ones(raters)
    for array, given in ((b, severity), (s, apart), (a, follows)):
        for who, value in (given or {}).items():
            array[who] = value
    d = np.linspace(-0.5, 0.5, criteria) if criteria > 1 else np.zeros(1)
    place = (quality[:, None] - b)[:, :, None] - d
    eta = a[:, None, None] * (k * place[..., None] - s[:, None, None] * sums)
    score = (eta + rng.gumbel(size=eta.shape)).argmax(axis=-1) + 1.0
    r, j, c = (one.reshape(-1) for one in np.indices(score.shape))
    return World(score.reshape(-1), r, j, c, r // 4)


def values(estimates: tuple[object, ...]) -> Floats:
    return np.array([one.value for one in estimates])  # type: ignore[attr-defined]


# Published: the five items of the Law School Admission Test, section 6, as five raters of two
# categories. Frequencies of the 32 patterns, 00000 to 11111: Bock and Lieberman (1970),
# Psychometrika 35, 179-197.
LSAT6 = (
    3, 6, 2, 11, 1, 1, 3, 4, 1, 8, 0, 16, 0, 3, 2, 15,
    10, 29, 14, 81, 3, 28, 15, 80, 16, 56, 21, 173, 11, 61, 28, 298,
)  # fmt: skip


def test_it_gives_the_published_figures_of_the_law_school_test() -> None:
    # Marginal maximum likelihood, one slope: .755 and intercepts 2.730, .999, .240, 1.306, 2.099
    # (Thissen 1982, Psychometrika 47, 175-186; ltm::rasch gives slope .7551 and difficulties
    # −3.6153, −1.3224, −.3176, −1.7301, −2.7802). Here the slope is the spread of quality, and the
    # odds of a 1 at mean quality, which stands at 0 there, are the intercepts.
    rows = [[int(bit) for bit in f"{k:05b}"] for k, n in enumerate(LSAT6) for _ in range(n)]
    table = np.array(rows, dtype=float)
    assert len(table) == 1000
    response, item = (one.ravel() for one in np.indices(table.shape))
    made = World(table.ravel(), response, item, np.zeros_like(item), response)
    data, fit = made.maximum()
    mean, log_spread = fit.parameters[data.n_fixed - 2 : data.n_fixed]
    assert np.exp(log_spread) == pytest.approx(0.7551, abs=5e-5)
    difficulty = 0.7551 * np.array([-3.6153, -1.3224, -0.3176, -1.7301, -2.7802])
    assert mean - fit.parameters[:5] == pytest.approx(-difficulty, abs=5e-4)
    # two categories have no range
    assert all(one.reason is not None for one in made.fit(scale=(0, 1)).range_use)


# Published, several categories: 75 children (a row each) on 24 activities, disliked, neither or
# liked (0, 1, 2). Wright and Masters (1982), Rating Scale Analysis, p. 18, without the twelfth
# activity, which nobody disliked.
LIKING = """
    121110201222021122021020 222222222222222222222222 221101101222122122121111
    101001012212111122021111 101010100111001122111110 101121101111010122101210
    222002220222222222222222 221002102222020122022022 011010011212001121120211
    210001012221121122011021 222001110222220222022022 010022010120011021000101
    121100010211121122111000 211002021202100022000120 111111111111111112211111
    222112112222222222122022 222202222222222222222122 222202102222221222122022
    222101100222211122020022 110001000212212122020022 111101111212111122021011
    121111111222121122121121 221111211222121222122122 122101210222110122021022
    222112022222221222122022 111111111111111111111111 111001110112111022120221
    221110200212121022012011 100010100110000022110200 100000000212000022012100
    221101111221011122121111 121001001122110121022021 221202121222220222022021
    222212222222222222222122 111021101112111122011111 111020100112111122011111
    121001001212111122012021 221102111222121122222121 222102211222122222122022
    222101102222221222122022 222222222222222222222122 212101111212221122011021
    222011202222121222022021 121002101222211022011021 222102222222222222222022
    220002000222000222122010 111022011222111022010000 222102222222221222122022
    110011010110112111111210 222212122222222222122122 121002102222221122021022
    111111111111111122111111 010010101010011021010000 111102112112112122021011
    101001001112112222111110 222101201222222222122022 222002202222222222022022
    122101012222221222021021 222102112222221222022222 122111112222121122121021
    211101002212111122011022 222000002222220222020000 121101012222122222122010
    221002211222121222122011 121121100222012122121200 120101001222120222022021
    121100100122121222121012 120001010210120022001010 121001012222122222021021
    222202201222122222022021 220122200120022220222201 100100010001010021200201
    201201012220201102202022 222002200222222222022012 120011011212221022020010
"""

# Wind and Hua (2022), Rasch Measurement Theory Analysis in R, chapter 4: the activities' places by
# marginal maximum likelihood (TAM 3.5-19) and by conditional maximum likelihood (eRm).
LIKING_MARGINAL = np.array([
    -1.2015284, -1.5014688, -0.4257925, 0.8293456, 1.4462409, -0.5300855, 0.2223229, 0.7544627,
    -0.1521268, -2.2524651, -1.7396848, -2.0656730, -0.4257925, -1.2840308, -0.2542312, -0.6714525,
    -3.8798397, -3.2259328, 0.9055610, -1.6414355, -0.7433856, 1.2271822, -1.1211428, -0.3225898,
])  # fmt: skip
LIKING_CONDITIONAL = np.array([
    -0.450837954, -0.747716237, 0.318637705, 1.578076249, 2.209910144, 0.214960484, 0.965680071,
    1.502096325, 0.591198710, -1.490900062, -0.983450547, -1.306083786, 0.318637700, -0.532510932,
    0.489411243, 0.074568234, -3.103553567, -2.454966823, 1.655551546, -0.886223768, 0.003185124,
    1.984230774, -0.371230973, 0.421330341,
])  # fmt: skip


def test_it_gives_the_published_figures_of_three_categories() -> None:
    table = np.array([[int(one) for one in row] for row in LIKING.split()], dtype=float)
    assert table.shape == (75, 24)
    child, activity = (one.ravel() for one in np.indices(table.shape))
    data, fit = World(table.ravel(), child, activity, np.zeros_like(child), child).maximum()
    steps, place = fit.parameters[data.steps], fit.parameters[:24]
    mean, log_spread = fit.parameters[data.n_fixed - 2 : data.n_fixed]
    # TAM sums over 21 nodes of its own: it agrees to its numeric error.
    assert steps == pytest.approx([-0.7845489, 0.7845489], abs=1e-3)
    assert np.exp(log_spread) == pytest.approx(1.114, abs=1e-3)
    first, second = fit.weights @ fit.z, fit.weights @ fit.z**2
    reliability = first.var(ddof=1) / (first.var(ddof=1) + (second - first**2).mean())
    assert reliability == pytest.approx(0.896, abs=2e-3)
    assert mean == pytest.approx(0.05232 - LIKING_MARGINAL.mean(), abs=1e-3)
    assert place == pytest.approx(LIKING_MARGINAL - LIKING_MARGINAL.mean(), abs=1e-3)
    # Conditional likelihood supposes no distribution of quality.
    assert steps[1] == pytest.approx(1.566148493 / 2, abs=3e-3)
    assert place == pytest.approx(LIKING_CONDITIONAL, abs=0.03)


# An own likelihood, written from the formula, cell by cell, over Gauss-Hermite nodes.


def plain_log_likelihood(
    made: World, raters: int, criteria: int, top: int, packed: Floats
) -> Floats:
    """Of each response: severities and difficulties but the last, steps but the last, mean, SD."""
    parts = np.split(packed, np.cumsum([raters - 1, criteria - 1, top - 2, 1]))
    b, d, tau = (np.append(one, -one.sum()) for one in parts[:3])
    mean, spread = parts[3][0], np.exp(parts[4][0])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    joint = np.log(weights / weights.sum())[:, None] + np.zeros(int(made.response.max()) + 1)
    for y, r, j, c in zip(made.score, made.response, made.rater, made.criterion, strict=True):
        place = mean + spread * nodes - b[j] - d[c]
        eta = [np.zeros_like(place)]
        for step in tau:
            eta.append(eta[-1] + place - step)
        joint[:, r] += eta[int(y) - 1] - np.logaddexp.reduce(eta)
    found: Floats = np.logaddexp.reduce(joint)
    return found


@pytest.fixture(scope="module")
def small() -> tuple[World, Floats]:
    """48 responses, three raters who missed some, two criteria, four categories; the maximum."""
    made = world(2, responses=48, raters=3, steps=np.array([-1.0, 0.2, 0.8]), criteria=2,
                 severity={0: 0.2})  # fmt: skip
    kept = np.random.default_rng(1).random(len(made.score)) < 0.8
    r, j, c, g = (one[kept] for one in (made.response, made.rater, made.criterion, made.prompt))
    made = World(made.score[kept], r, j, c, g)
    found = optimize.minimize(
        lambda x: -plain_log_likelihood(made, 3, 2, 4, x).sum(), np.zeros(7), method="BFGS",
        options={"gtol": 1e-4},
    )  # fmt: skip
    return made, found.x


def test_it_reaches_the_maximum_of_a_likelihood_written_plainly(
    small: tuple[World, Floats],
) -> None:
    made, best = small
    data, fit = made.maximum()
    assert fit.parameters[:3] == pytest.approx(np.append(best[:2], -best[:2].sum()), abs=1e-3)
    assert fit.parameters[3:5] == pytest.approx([best[2], -best[2]], abs=1e-3)
    step = np.append(best[3:5], -best[3:5].sum())
    assert fit.parameters[data.steps] == pytest.approx(step, abs=1e-3)
    assert fit.parameters[data.n_fixed - 1] == pytest.approx(best[6], abs=1e-3)


def test_its_standard_errors_are_those_of_the_sandwich_over_prompts(
    small: tuple[World, Floats],
) -> None:
    # Hessian and scores of the plain likelihood by numeric differences, summed by prompt.
    made, best = small

    def by_prompt(x: Floats) -> Floats:
        sums = np.zeros(12)
        np.add.at(sums, np.arange(48) // 4, plain_log_likelihood(made, 3, 2, 4, x))
        return sums

    n, h = len(best), 1e-3
    unit = np.eye(n) * h
    scores = np.array([(by_prompt(best + e) - by_prompt(best - e)) / (2 * h) for e in unit]).T
    hessian = np.array([
        [
            (by_prompt(best + e + f) - by_prompt(best + e - f) - by_prompt(best - e + f)
             + by_prompt(best - e - f)).sum() / (4 * h * h)
            for f in unit
        ]
        for e in unit
    ])  # fmt: skip
    bread = np.linalg.inv(-hessian)
    covariance = bread @ scores.T @ scores @ bread * 12 / 11
    _, fit = made.maximum()
    errors = np.sqrt(np.diag(fit.covariance))
    assert errors[3] == pytest.approx(np.sqrt(covariance[2, 2]), rel=1e-3)
    assert errors[5] == pytest.approx(np.sqrt(covariance[3, 3]), rel=1e-3)
    assert made.fit().n_prompts == 12


def test_mean_squares_are_those_of_what_the_other_raters_predict(
    small: tuple[World, Floats],
) -> None:
    # By hand: rater 2's ratings, each against the posterior of quality given everybody else's.
    made, best = small
    b, d = np.append(best[:2], -best[:2].sum()), np.array([best[2], -best[2]])
    tau = np.append(best[3:5], -best[3:5].sum())
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)

    def probabilities(j: int, c: int) -> Floats:
        place = best[5] + np.exp(best[6]) * nodes - b[j] - d[c]
        eta = np.stack([k * place - tau[:k].sum() for k in range(4)])
        found: Floats = np.exp(eta - np.logaddexp.reduce(eta))
        return found

    squares, variances, spreads = [], [], []
    for r in np.unique(made.response[made.rater == 2]):
        mine = made.response == r
        posterior = weights.copy()
        for y, j, c in zip(*(one[mine & (made.rater != 2)] for one in
                             (made.score, made.rater, made.criterion)), strict=True):  # fmt: skip
            posterior = posterior * probabilities(j, c)[int(y) - 1]
        posterior /= posterior.sum()
        for y, c in zip(*(one[mine & (made.rater == 2)] for one in
                          (made.score, made.criterion)), strict=True):  # fmt: skip
            p = probabilities(2, c) @ posterior
            mean = p @ np.arange(4)
            squares.append((y - 1 - mean) ** 2)
            variances.append(p @ np.arange(4) ** 2 - mean**2)
            spreads.append(p @ (np.arange(4) - mean) ** 4 - variances[-1] ** 2)
    infit, q = sum(squares) / sum(variances), np.sqrt(sum(spreads)) / sum(variances)
    # Wilson and Hilferty
    deviate = (infit ** (1 / 3) - 1) * 3 / q + q / 3
    assert infit_deviates(*made.maximum())[2] == pytest.approx(deviate, abs=0.02)


def test_planted_parameters_come_back() -> None:
    steps = np.array([-2.2, -1.5, 0.1, 1.0, 2.6])
    made = world(3, responses=1200, steps=steps, severity={1: 1.0})
    data, fit = made.maximum()
    assert fit.parameters[1] == pytest.approx(0.8, abs=0.15)  # 1 less the mean of five
    assert fit.parameters[data.steps] == pytest.approx(steps - steps.mean(), abs=0.2)
    assert np.exp(fit.parameters[data.n_fixed - 1]) == pytest.approx(1.5, abs=0.1)
    assert np.abs(infit_deviates(data, fit)).max() < 3
    # whoever is severe is neither narrow nor erratic
    named = made.fit()
    assert not any(one.verdict for one in (*named.range_use, *named.consistency))


def test_who_uses_half_the_scale_and_who_is_erratic_is_named_and_nobody_else() -> None:
    fit = world(4, apart={1: 2.0}, follows={2: 0.2}, severity={0: 1.2}, responses=240).fit()
    assert [one.verdict for one in fit.range_use] == [None, "narrow", None, None, None]
    assert [one.verdict for one in fit.consistency] == [None, None, "erratic", None, None]
    assert fit.range_use[1].covers(0.5)
    assert fit.consistency[2].covers(0.2)


def test_a_rater_who_counts_from_the_other_end_is_erratic_with_a_consistency_below_nought() -> None:
    made = world(5, responses=200)
    score = np.where(made.rater == 3, 8 - made.score, made.score)
    fit = World(score, made.response, made.rater, made.criterion, made.prompt).fit()
    assert fit.consistency[3].high < 0
    assert fit.consistency[3].verdict == "erratic"
    assert not fit.range_use[3].is_defined
    assert "follow quality too little" in (fit.range_use[3].reason or "")


def test_names_and_order_of_the_rows_change_nothing() -> None:
    made = world(6, responses=80, severity={0: 0.7})
    fit = made.fit()
    order = np.random.default_rng(0).permutation(len(made.score))
    turned = World(
        made.score[order], 500 - made.response[order], 9 - made.rater[order],
        made.criterion[order] + 3, 70 - made.prompt[order],
    ).fit()  # fmt: skip
    assert turned.raters == (5, 6, 7, 8, 9)
    assert values(turned.range_use)[::-1] == pytest.approx(values(fit.range_use), abs=1e-4)
    assert values(turned.consistency)[::-1] == pytest.approx(values(fit.consistency), abs=1e-4)


def test_a_score_that_nobody_gave_is_no_category() -> None:
    made = world(7, responses=80)
    score = np.where(made.score >= 4, made.score + 1, made.score)  # 4 of 1 to 8 is never given
    gapped = many_facet(score, made.response, made.rater, scale=(0, 9), prompt=made.prompt)
    plain = made.fit()
    assert values(gapped.range_use) == pytest.approx(values(plain.range_use), abs=1e-6)


def test_responses_with_the_highest_score_from_everybody_have_a_quality() -> None:
    made = world(8, responses=80)
    score = np.where(made.response == 0, 7.0, np.where(made.response == 1, 1.0, made.score))
    _, fit = World(score, made.response, made.rater, made.criterion, made.prompt).maximum()
    quality = fit.weights @ fit.z  # in its standard deviations
    assert quality[1] == quality.min()
    assert quality[0] == quality.max()
    assert np.abs(quality).max() < 5


def test_raters_who_share_no_response_are_not_compared() -> None:
    one, two = world(9, responses=80), world(10, responses=40, raters=2)
    fit = many_facet(
        np.concatenate([one.score, two.score]),
        np.concatenate([one.response, 80 + two.response]),
        np.concatenate([one.rater, 5 + two.rater]),
        scale=(1, 7),
    )
    assert fit.raters == (0, 1, 2, 3, 4)
    why = "shares no response with the raters compared here"
    assert fit.left_out == ((5, why), (6, why))
    # one who rated alone, and one with a single value
    alone = many_facet(
        np.concatenate([one.score, [3.0, 4.0], np.full(80, 5.0)]),
        np.concatenate([one.response, [200, 201], np.arange(80)]),
        np.concatenate([one.rater, [7, 7], np.full(80, 8)]),
        scale=(1, 7),
    )
    assert dict(alone.left_out) == {
        7: "shares no response with another rater", 8: "one value throughout",
    }  # fmt: skip
    assert values(alone.range_use) == pytest.approx(values(fit.range_use), abs=1e-6)


@pytest.mark.parametrize(
    ("score", "scale", "why"),
    [
        ([1, 2.5, 3, 4], (1, 5), "scores are no whole numbers (2.5)"),
        ([1, 2, 3, 6], (1, 5), "scores off the known scale (6)"),
        ([2, 2, 2, 2], (1, 5), "no two raters who vary share a response"),
    ],
)
def test_what_is_no_rating_scale_is_refused_with_the_reason(
    score: list[float], scale: tuple[int, int], why: str
) -> None:
    fit = many_facet(score, [0, 1, 0, 1], [0, 0, 1, 1], scale=scale)
    assert fit.reason is not None
    assert fit.reason.startswith(why)
    assert fit.raters == ()


def test_a_slider_of_a_hundred_points_is_refused() -> None:
    score = np.arange(100.0)
    response = np.repeat(np.arange(50), 2)
    fit = many_facet(score, response, np.tile([0, 1], 50), scale=(0, 100))
    assert fit.reason == "more than 21 different scores: no rating scale"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_raters_who_share_nothing_are_not_fitted(seed: int) -> None:
    score = np.random.default_rng(seed).integers(1, 6, size=600).astype(float)
    response, rater = np.divmod(np.arange(600), 3)
    fit = many_facet(score, response, rater, scale=(1, 5))
    assert fit.reason is not None
    assert fit.reason.startswith("raters share too little of their order (reliability 0.")


def test_with_five_prompts_there_are_figures_and_no_intervals() -> None:
    fit = world(11, responses=20).fit()
    assert fit.n_prompts == 5
    for one in fit.consistency:
        assert one.is_defined
        assert not one.has_interval
        assert one.verdict is None
        assert one.reason == "5 prompts: an interval needs at least 6"


def test_columns_that_do_not_fit_raise() -> None:
    with pytest.raises(ValueError, match="one response and rater a score"):
        many_facet([1, 2], [0], [0, 1], scale=(1, 5))
