"""Means of one value a unit, one or many over the same units: interval, tests, equivalence.

A cell is whatever has one value a unit: a group less its control, a framing less the baseline, one
model less another. The unit (scenario, template, prompt) is what is independent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from .equivalence import tost, tost_from_error
from .estimate import Estimate, undefined
from .intervals import MIN_UNITS, refusal, t_interval
from .multiplicity import holm
from .sign_flips import SignFlips, sign_flip_tests, skewness_adjusted_flips
from .welch_james import contrast_of_means, welch_james

Floats = npt.NDArray[np.float64]

MeanTest = Literal["t", "sign flips", "skewness-adjusted flips"]
"""Two-sided tests of a mean of 0: paired t, signs of the mean, signs of Hall's statistic."""

EffectVerdict = Literal["differs", "differs within margin", "equivalent", "undecided", "undefined"]

DRAWS_A_CELL: Final = 40
"""Sign vectors are drawn for each cell of a matrix at least: Holm's correction of the smallest p
that they allow then stays below .025."""


NOTHING = "no prompt has the scores that this figure needs"


@dataclass(frozen=True, slots=True)
class Effect:
    """The mean of one cell.

    Attributes:
        mean: with its t interval, p and adjusted p of the test that decides, and the verdict.
        tests: each test asked for to the same mean with that test's p; no interval.
        equivalence: the mean with the interval whose lying inside the margin is the test (90% for
            tests at .05), and p of the two one-sided tests; None without a margin.
    """

    mean: Estimate
    tests: Mapping[MeanTest, Estimate]
    equivalence: Estimate | None = None


def mean_effects(
    values: npt.ArrayLike,
    *,
    unit: str = "prompt",
    of: str = "",
    tests: Sequence[MeanTest] = ("skewness-adjusted flips",),
    families: Sequence[str] | None = None,
    margin: float | None = None,
    margin_families: Sequence[str] | None = None,
    level: float = 0.95,
    flips: int = 9_999,
    seed: int = 0,
) -> tuple[Effect, ...]:
    """Returns the mean of every column with its interval, tests, and what they decide.

    Adjusted p-values are Holm's within a family. A cell *differs* where the adjusted p of the last
    test of `tests` is at most 1 − level, and is *equivalent* where that of the two one-sided tests
    is; both can hold ("differs within margin"), or neither ("undecided").

    Measured, any of 12 true nulls: see `skewness_adjusted_flips`, the default. A t test and the
    signs of a mean reject too often where a few units carry the mean.

    Args:
        values: shape (units, cells); nan is missing, a cell uses the units that it has.
        unit: what one row is.
        of: the estimator, for `method`: "group minus control, by scenario".
        tests: which; the last decides.
        families: one name a cell; the cells of one name are adjusted together. None: all.
        margin: of equivalence, on both sides, above 0.
        margin_families: the same for the tests of equivalence. None: as `families`.
        level: of the intervals; 1 − the size of the tests.
        flips: sign vectors beyond 30 units (14 where skewness-adjusted); more with many cells.
        seed: of those.

    Returns:
        One effect a column, in order. Below six units there is no interval and no test of
        equivalence. Where all units of a cell have one value, there is no t: the interval is
        missing, and the test of equivalence is decided by the value, p being 0 or 1.

    Raises:
        ValueError: not two-dimensional, an unknown test, or not one family a cell.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"values must be (units, cells), got shape {table.shape}")
    if not tests or set(tests) - set(get_args(MeanTest)):
        raise ValueError(f"tests must be some of {', '.join(get_args(MeanTest))}, got {tests}")
    n_cells = table.shape[1]
    family = _families(families, n_cells)
    means = [t_interval(table[:, cell], level=level, unit=unit) for cell in range(n_cells)]
    means = [one.of(of) if of else one for one in means]
    draws = max(flips, DRAWS_A_CELL * n_cells)
    found: dict[MeanTest, list[Estimate]] = {}
    for test in tests:
        p, names = _tested(table, test, unit, draws, seed)
        bare = [
            Estimate(
                one.value, n=one.n, unit=unit, method=of, se=one.se, p=at, p_method=name,
                reason=None if one.is_defined else one.reason,
            )
            for one, at, name in zip(means, p, names, strict=True)
        ]  # fmt: skip
        found[test] = adjusted_by_holm(bare, family)
    decided = found[tests[-1]]
    same: list[Estimate] | list[None] = [None] * n_cells
    if margin is not None:
        raw = [_equivalence(table[:, cell], margin, unit, level) for cell in range(n_cells)]
        within = family if margin_families is None else _families(margin_families, n_cells)
        same = adjusted_by_holm(raw, within)
    return tuple(
        Effect(
            replace(
                means[cell],
                p=decided[cell].p,
                p_adjusted=decided[cell].p_adjusted,
                p_method=decided[cell].p_method,
                family=decided[cell].family,
                verdict=effect_verdict(decided[cell], same[cell], alpha=1 - level),
            ),
            {test: found[test][cell] for test in tests},
            same[cell],
        )
        for cell in range(n_cells)
    )


def separate_effects(
    pairs: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]],
    *,
    unit: str = "prompt",
    of: str = "",
    families: Sequence[str] | None = None,
    margin: float | None = None,
    margin_families: Sequence[str] | None = None,
) -> tuple[Effect, ...]:
    """Returns the difference of two means over separate units, pair by pair: Welch's t.

    As `mean_effects`, for groups that have no unit in common: the difference with its 95% interval
    by Welch and Satterthwaite's degrees of freedom, and what the adjusted p decides. Equivalence is
    two one-sided Welch tests at .05.

    Args:
        pairs: values of the group and of what it is compared with, one a unit; nan is missing.
        unit, of, families, margin, margin_families: as in `mean_effects`.

    Returns:
        One effect a pair, n counting the units of both. Below six units no limits and no test of
        equivalence, no p where neither side varies.
    """
    means = [contrast_of_means(pair, (1.0, -1.0), unit=unit, outcome=of) for pair in pairs]
    means = adjusted_by_holm(means, _families(families, len(pairs)))
    same: list[Estimate] | list[None] = [None] * len(pairs)
    if margin is not None:
        raw = []
        for pair, mean in zip(pairs, means, strict=True):
            test = welch_james(pair, (1.0, -1.0))
            error = test.error if mean.n >= MIN_UNITS else math.nan
            found = tost_from_error(test.estimate, error, test.df_rest, margin)
            raw.append(Estimate(
                found.value, found.low, found.high, mean.n, unit,
                f"Welch t interval over {unit}s, margin ±{margin:g}", 0.9,
                found.reason and (mean.reason or found.reason),
                p=found.p, p_method=f"two one-sided Welch t, margin ±{margin:g}",
            ))  # fmt: skip
        same = adjusted_by_holm(raw, _families(margin_families or families, len(pairs)))
    return tuple(
        Effect(replace(mean, verdict=effect_verdict(mean, other)), {}, other)
        for mean, other in zip(means, same, strict=True)
    )


def adjusted_by_holm(estimates: Sequence[Estimate], families: Sequence[str]) -> list[Estimate]:
    """The estimates with Holm's adjustment of their p within each family, and its name.

    A p that is nan stays so and counts for nothing.

    Args:
        estimates: with their p.
        families: one name an estimate.
    """
    found = list(estimates)
    for family in dict.fromkeys(families):
        places = [at for at, name in enumerate(families) if name == family]
        adjusted = holm([estimates[at].p for at in places])
        for at, p in zip(places, adjusted, strict=True):
            found[at] = replace(estimates[at], p_adjusted=float(p), family=family)
    return found


def effect_verdict(
    difference: Estimate, equivalence: Estimate | None = None, *, alpha: float = 0.05
) -> EffectVerdict:
    """What a test of a difference and one of equivalence say together, by their adjusted p."""
    is_equivalent = equivalence is not None and equivalence.p_adjusted <= alpha * _ROUNDING
    if difference.p_adjusted <= alpha * _ROUNDING:
        return "differs within margin" if is_equivalent else "differs"
    if is_equivalent:
        return "equivalent"
    return "undefined" if math.isnan(difference.p_adjusted) else "undecided"


def consistent(found: Estimate, *, null: float = 0.0) -> Estimate:
    """The same, without a difference that its own interval does not bear out.

    Tests and intervals are not made of the same statistic, and a verdict must not contradict the
    figure beside it. This only takes verdicts away, so errors stay as rare as they are. Where all
    units have one value there is no interval, and p decides; below six units nothing is shown.

    Args:
        found: with its verdict, as `effect_verdict` words it.
        null: what stands for no difference.
    """
    if found.verdict not in DIFFERS or not (found.covers(null) or found.n < MIN_UNITS):
        return found
    is_alike = found.verdict == "differs within margin"
    return replace(found, verdict="equivalent" if is_alike else "undecided")


DIFFERS: Final = ("differs", "differs within margin")
"""Verdicts that say that there is a difference."""

_ROUNDING: Final = 1 + 1e-9
"""1 − .95 is a little less than .05; a p of .05 is significant."""


def _families(names: Sequence[str] | None, n_cells: int) -> list[str]:
    if names is None:
        return [f"{n_cells} cells"] * n_cells
    if len(names) != n_cells:
        raise ValueError(f"{len(names)} families for {n_cells} cells")
    return list(names)


def _tested(
    table: Floats, test: MeanTest, unit: str, flips: int, seed: int
) -> tuple[list[float], list[str]]:
    """p and the name of the test, cell by cell."""
    if test == "t":
        return _t_tests(table, unit)
    found: SignFlips = (sign_flip_tests if test == "sign flips" else skewness_adjusted_flips)(
        table, flips=flips, seed=seed
    )
    name = f"sign flips of {unit}s"
    if test == "skewness-adjusted flips":
        name += ", t without its skewness"
    return found.p_value.tolist(), [f"{name}, {method}" for method in found.method]


def _t_tests(table: Floats, unit: str) -> tuple[list[float], list[str]]:
    """Of the paired t test; nan below two values or where they do not vary."""
    p_values, names = [], []
    for column in table.T:
        known = column[~np.isnan(column)]
        t, p = t_test(known)
        found = "" if math.isnan(p) else f", t = {t:.2f}, df = {known.size - 1}"
        p_values.append(p)
        names.append(f"paired t over {unit}s{found}")
    return p_values, names


def t_test(known: Floats) -> tuple[float, float]:
    """t and its two-sided p; nan below two values or where they do not vary."""
    n = known.size
    mean = float(known.mean()) if n else math.nan
    error = float(known.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if not error > 1e-12 * max(abs(mean), 1e-3):
        return math.nan, math.nan
    t = mean / error
    return t, 2 * float(stdtr(n - 1, -abs(t)))


def _equivalence(column: Floats, margin: float, unit: str, level: float) -> Estimate:
    known = column[~np.isnan(column)]
    found = tost(known, margin, level=level)
    bare = replace(
        found, unit=unit, method=f"t interval over {unit}s, margin ±{margin:g}", reason=None,
        p_method=f"two one-sided t over {unit}s, margin ±{margin:g}", verdict=None,
    )  # fmt: skip
    if reason := refusal(found.value, known.size, unit):
        return replace(bare, low=math.nan, high=math.nan, p=math.nan, reason=reason)
    if found.has_interval:
        return bare
    mean = float(known.mean())
    same = f"{bare.method}; the same value for every {unit}"
    return replace(bare, low=mean, high=mean, p=float(abs(mean) >= margin), method=same)


def mean_by_prompt(values: Floats, prompts: npt.NDArray[np.int64], n_prompts: int) -> Floats:
    """Mean of the values of each prompt, nan left out; nan for a prompt without a value.

    Args:
        values: shape (rows, judges) or (rows,).
        prompts: shape (rows,), the code of each row's prompt.
        n_prompts: how many there are.
    """
    flat = values[:, None] if values.ndim == 1 else values
    known = ~np.isnan(flat)
    sums = np.bincount(prompts, np.where(known, flat, 0.0).sum(axis=1), n_prompts)
    counts = np.bincount(prompts, known.sum(axis=1), n_prompts)
    means: Floats = np.divide(sums, counts, out=np.full(n_prompts, np.nan), where=counts > 0)
    return means


def mean_over_prompts(values: Floats, *, level: float, what: str) -> Estimate:
    """The mean of one value a prompt, nan left out, with its t interval.

    Args:
        values: shape (prompts,).
        level: nominal coverage.
        what: the figure, for its method.
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return undefined(NOTHING, method=what)
    return t_interval(known, level=level).of(what)


def share_over_prompts(values: Floats, *, level: float, what: str) -> Estimate:
    """The mean of one share a prompt, nan left out.

    Where every prompt's share is 0 or 1, a prompt is one trial and the interval is Wilson's; else
    it is the t interval, kept within [0, 1].

    Args:
        values, level, what: as in `mean_over_prompts`.
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return undefined(NOTHING, method=what)
    if np.isin(known, (0.0, 1.0)).all():
        from .proportions import wilson

        return wilson(int(known.sum()), known.size, level=level, unit="prompt").of(what)
    found = t_interval(known, level=level).of(what)
    if not found.has_interval:
        return found
    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def mean_p_value(values: Floats) -> tuple[float, str]:
    """Two-sided p of a mean of 0 over prompts, and how it was found.

    t over prompts; where the values do not vary, which leaves no t, the exact sign-flip test,
    whose smallest p is 2 / 2^n. nan below two prompts.
    """
    known = values[~np.isnan(values)]
    if known.size < 2:
        return math.nan, "none"
    _, p = t_test(known)
    if not math.isnan(p):
        return p, "t"
    tests = sign_flip_tests(known[:, None])
    return float(tests.p_value[0]), f"sign flips, {tests.method[0]}"


def deviation_of(values: Floats) -> float:
    """Returns the standard deviation of the values that are there; nan below two."""
    known = values[~np.isnan(values)]
    return float(known.std(ddof=1)) if known.size > 1 else math.nan
