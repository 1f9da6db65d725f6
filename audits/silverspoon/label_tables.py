"""Agreement of answers with gold labels, with intervals whose unit is the scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...aggregation.agreement import label_agreement
from ...aggregation.estimate import Estimate, undefined
from ...aggregation.intervals import variance_degrees

Floats = NDArray[np.float64]

FEWEST_UNITS = 6
"""Below so many scenarios there is no interval."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a model's answers agree with one group's gold labels.

    Attributes:
        acc, ckc, jsc, dsc, mcc: the paper's five figures under its names: accuracy, Cohen's kappa,
            and what it calls Jaccard and Dice, which are accuracy again (a / (2 − a), and a), and
            Matthews' coefficient.
        jaccard_p1, jaccard_other, dice_p1, dice_other: the textbook forms, of the set of scenarios
            that each says P1 (the other) is wrong in.
        always_p1: the accuracy of whoever always answers that P1 is wrong.
        table: counts, rows gold (P1, other), columns answers.
        n_missing: answers without a label (both, neither, unreadable) and labels without an answer.
    """

    acc: Estimate
    ckc: Estimate
    jsc: Estimate
    dsc: Estimate
    mcc: Estimate
    jaccard_p1: Estimate
    jaccard_other: Estimate
    dice_p1: Estimate
    dice_other: Estimate
    always_p1: Estimate
    table: tuple[tuple[int, int], tuple[int, int]]
    n_missing: int


def agreement(
    gold: Sequence[int | None], answers: Sequence[int | None], bases: Sequence[Hashable]
) -> Agreement:
    """Returns every figure of one labeling against another.

    Args:
        gold: 0, 1 or None, one an answer.
        answers: likewise.
        bases: what answers to versions of one scenario, to both orders, and repeats have in
            common: the unit of the intervals.
    """
    found = label_agreement(gold, answers)
    pairs = [
        (g, a, base)
        for g, a, base in zip(gold, answers, bases, strict=True)
        if g is not None and a is not None
    ]
    tables = unit_tables(
        [g for g, _, _ in pairs], [a for _, a, _ in pairs], [base for _, _, base in pairs]
    )
    whole = tables.sum(axis=0)

    def number(value: float, name: str, statistic: Callable[[Floats], Floats]) -> Estimate:
        return jackknife(value, tables, statistic, name)

    jaccard = dict(zip(found.labels, found.jaccard, strict=True))
    dice = dict(zip(found.labels, found.dice, strict=True))
    return Agreement(
        acc=number(found.accuracy, "ACC", accuracy_of),
        ckc=number(found.kappa, "Cohen's kappa", kappa_of),
        jsc=number(found.paper_jaccard, "JSC of the paper: ACC / (2 - ACC)", paper_jaccard_of),
        dsc=number(found.paper_dice, "DSC of the paper: ACC", accuracy_of),
        mcc=number(found.mcc, "Matthews correlation", mcc_of),
        jaccard_p1=_set_number(jaccard.get(0, math.nan), tables, "Jaccard of P1 is wrong"),
        jaccard_other=_set_number(jaccard.get(1, math.nan), tables, "Jaccard of the other"),
        dice_p1=_set_number(dice.get(0, math.nan), tables, "Dice of P1 is wrong"),
        dice_other=_set_number(dice.get(1, math.nan), tables, "Dice of the other"),
        always_p1=number(
            float(whole[0].sum() / whole.sum()) if whole.sum() else math.nan,
            "share of gold labels P1",
            lambda t: t[..., 0, :].sum(axis=-1) / t.sum(axis=(-1, -2)),
        ),
        table=(
            (int(whole[0, 0]), int(whole[0, 1])),
            (int(whole[1, 0]), int(whole[1, 1])),
        ),
        n_missing=found.n_missing,
    )


def unit_tables(gold: Sequence[int], answers: Sequence[int], bases: Sequence[Hashable]) -> Floats:
    """Counts by unit, shape (units, 2, 2): rows gold, columns answers."""
    place: dict[Hashable, int] = {}
    codes = [place.setdefault(base, len(place)) for base in bases]
    found = np.zeros((len(place), 2, 2))
    np.add.at(found, (codes, list(gold), list(answers)), 1)
    return found


def jackknife(
    value: float, tables: Floats, statistic: Callable[[Floats], Floats], name: str
) -> Estimate:
    """Returns a figure with its delete-one-scenario jackknife t interval.

    SE² = (G − 1) / G Σ (θ_(−g) − mean)²; limits θ ± t_df SE, with df = G − 1 at most: fewer where a
    few scenarios make most of the SE (`variance_degrees` of the θ_(−g)), as those do in which a
    model blames the other where it hardly ever does. With G − 1 the interval of kappa then holds
    the truth in .93 of 60 scenarios.

    Args:
        value: the figure over everything.
        tables: counts by unit, (units, 2, 2).
        statistic: counts (…, 2, 2) to the figure.
        name: what it is.
    """
    n = len(tables)
    method = f"{name}; 95% jackknife over scenarios"
    if not math.isfinite(value):
        reason = "no answer with a gold label" if not n else "one side gives a single label"
        return undefined(reason, unit="scenario", method=name, n=n)
    if n < FEWEST_UNITS:
        reason = f"an interval needs {FEWEST_UNITS} scenarios, there are {n}"
        return Estimate(value, n=n, unit="scenario", method=name, reason=reason)
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = statistic(tables.sum(axis=0) - tables)
    if not np.isfinite(left_out).all():
        reason = "undefined where one scenario is left out"
        return Estimate(value, n=n, unit="scenario", method=name, reason=reason)
    error = math.sqrt((n - 1) / n * float(((left_out - left_out.mean()) ** 2).sum()))
    if error == 0:
        reason = "every scenario counts alike: its spread cannot be told"
        return Estimate(value, n=n, unit="scenario", method=name, reason=reason)
    reach = float(special.stdtrit(variance_degrees(left_out), 0.975)) * error
    return Estimate(
        value, n=n, unit="scenario", method=method, low=value - reach, high=value + reach
    )


def accuracy_of(tables: Floats) -> Floats:
    """Share on the diagonal."""
    found: Floats = (tables[..., 0, 0] + tables[..., 1, 1]) / tables.sum(axis=(-1, -2))
    return found


def paper_jaccard_of(tables: Floats) -> Floats:
    """The paper's JSC, a / (2 − a)."""
    accuracy = accuracy_of(tables)
    return accuracy / (2 - accuracy)


def is_varied(tables: Floats) -> bool:
    """Whether both sides give both labels, over all units; else kappa and MCC are undefined."""
    whole = tables.sum(axis=0)
    return bool(whole.sum(axis=0).all() and whole.sum(axis=1).all())


def kappa_of(tables: Floats) -> Floats:
    """Cohen's kappa; nan where both give one and the same label only.

    Where one side gives a single label the formula makes 0. That is no figure of a whole table
    (see `is_varied`), but the limit that the jackknife needs where one scenario is left out.
    """
    n = tables.sum(axis=(-1, -2))
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    by_chance = (rows * columns).sum(axis=-1) / n**2
    found: Floats = (accuracy_of(tables) - by_chance) / (1 - by_chance)
    return found


def mcc_of(tables: Floats) -> Floats:
    """Matthews correlation, of two labels phi; nan where a margin is empty."""
    a, b = tables[..., 0, 0], tables[..., 0, 1]
    c, d = tables[..., 1, 0], tables[..., 1, 1]
    product = (a + b) * (c + d) * (a + c) * (b + d)
    found: Floats = (a * d - b * c) / np.sqrt(product)
    return found


def balanced_of(tables: Floats) -> Floats:
    """Mean over the two gold labels of the share of answers that are equal to it."""
    rows = tables.sum(axis=-1)
    found: Floats = (tables[..., 0, 0] / rows[..., 0] + tables[..., 1, 1] / rows[..., 1]) / 2
    return found


def _set_number(value: float, tables: Floats, name: str) -> Estimate:
    if not math.isfinite(value):
        return undefined("neither gives this label", unit="scenario", method=name, n=len(tables))
    return Estimate(value, n=len(tables), unit="scenario", method=name)
