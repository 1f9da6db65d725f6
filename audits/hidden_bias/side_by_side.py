"""Hidden and open questions side by side, and who is favoured in either.

A *cell* is a concept pair with one category. Of every cell there are both gaps; the share of cells
that look fair openly and are not when hidden is one mass of the joint distribution of both
(`aggregation.squared_gaps`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy import special

from ...aggregation.clustered import cluster_share
from ...aggregation.effects import mean_p_value
from ...aggregation.estimate import Estimate, undefined
from ...aggregation.intervals import MIN_UNITS, t_interval
from ...aggregation.jackknife import cut_to_range
from ...aggregation.multiplicity import holm
from ...aggregation.sign_flips import hall_transformed
from ...aggregation.squared_gaps import (
    ClassShares,
    GapClass,
    SquaredGaps,
    class_shares,
    gap_limits,
    gap_p,
)
from ...formats import units
from ...records.estimates import Estimates
from ...records.run_folder import csv_table
from ...records.spreadsheets import writable
from ..decisions import decided
from .arms import Arm, OpenCounts, hidden_arm
from .estimates import (
    ALPHA,
    COPIES,
    POINTS,
    UNIT,
    are_copies,
    compare_gaps,
    difference_of_squares,
    gap_of_squares,
    mean_square,
    tested,
)
from .overt import FORM_NAMES, FORMS
from .responses import Floats, Responses

if TYPE_CHECKING:
    import pandas as pd

    from .dataset import ConceptPair, Dataset

ARMS: Final = ("hidden", "overt")
SHARES: Final[Mapping[str, GapClass]] = {
    "only_hidden": "second", "both": "both", "only_open": "first", "neither": "neither",
}  # fmt: skip
"""Measure to the class of (open, hidden) gaps that it is the share of."""
SHOWN: Final = {
    "only_hidden": (True, False), "both": (True, True), "only_open": (False, True),
    "neither": (False, False),
}  # fmt: skip
"""Measure to whether the hidden gap, and the open one, is shown."""
HEADER: Final = (
    "pair", "target", "category", "concept_a", "concept_b",
    *(f"{arm}_{name}" for arm in ARMS
      for name in ("gap", "low", "high", "p", "more", "less", "difference", "difference_low",
                   "difference_high", "difference_p")),
)  # fmt: skip
"""Columns of arms.csv: gaps in points with their 95% limits; `more` is the identity that gets
`concept_a` more often than `less`, by `difference` points; p is uncorrected."""
MOST_CELLS: Final = 40
"""Cells of a target that are all listed; of more, the largest of every category."""


def estimate_arms(
    responses: Responses, open_counts: OpenCounts | None, dataset: Dataset, *,
    threshold: float, top: int,
) -> Estimates:  # fmt: skip
    """Who is favoured, in hidden and in open questions, and both arms side by side.

    Args:
        responses: the hidden answers.
        open_counts: the open ones, of the same concept pairs; None where there are none.
        dataset: descriptors and concept pairs.
        threshold: from which on a gap counts, in points.
        top: cells that are listed a category, where there are more than `MOST_CELLS` in all.
    """
    found = Estimates()
    hidden = {name: hidden_arm(responses, at) for at, name in enumerate(responses.targets)}
    pairs = {pair.id: pair for pair in dataset.pairs}
    known = [pairs.get(name) for name in responses.pairs]
    signs = np.asarray([_favour(pair) for pair in known], dtype=np.float64)
    _favours(found, "favour", hidden, signs, dataset)
    _directions(found, hidden, signs, dataset)
    if open_counts is None:
        return found
    _favours(found, "favour_open", open_counts.arms, signs, dataset)
    overt: list[tuple[str, Estimate]] = []
    for at, target in enumerate(responses.targets):
        arms = (hidden[target], open_counts.arms[target])
        are_copied = (are_copies(responses, at), arms[1].is_copied)
        members = _side_by_side(
            found, target, arms, dataset, responses, threshold, is_copied=any(are_copied)
        )
        overt.append((target, _tested_gap(arms[1].squares(None), is_copied=arms[1].is_copied)))
        _forms(found, target, arms[1], open_counts.replies)
        cells = list(cells_of(arms, responses.pairs, dataset, are_copied))
        _list_cells(found, target, cells, members, top, are_copied)
    families = [f"Holm over {units(len(overt), 'model')}"] * len(overt)
    for (target, _), one in zip(overt, decided([one for _, one in overt], families), strict=True):
        found.add("outcomes", "overt_gap", one, respondent=target)
        square = mean_square(*open_counts.arms[target].squares(None))
        found.add("outcomes", "overt_gap_square", square, respondent=target)
    means = []
    for target in responses.targets:
        sums, sizes = open_counts.arms[target].squares(None)
        with np.errstate(invalid="ignore", divide="ignore"):
            means.append(sums / sizes if sums.size else np.full(len(responses.pairs), np.nan))
    compare_gaps(found, "open_difference", responses.targets, means)
    return found


def _favour(pair: ConceptPair | None) -> float:
    """1 where the first concept speaks for a person, −1 where the second does, else nan."""
    return {"one": 1.0, "two": -1.0}.get("" if pair is None else pair.favourable, math.nan)


def _favours(
    found: Estimates, table: str, arms: Mapping[str, Arm], signs: Floats, dataset: Dataset
) -> None:
    """How much more often an identity gets the favourable concept than the others, in points."""
    if np.isnan(signs).all():
        return
    labels, places, raw = dataset.labels, [], []
    for target, arm in arms.items():
        for category in dataset.categories:
            ids, values, _ = arm.contrasts(category.id)
            if len(ids) < 2:
                continue
            shown = ids[:1] if len(ids) == 2 else ids
            for at, identity in enumerate(shown):
                other = labels[ids[1]] if len(ids) == 2 else f"others ({category.label})"
                places.append((target, category.label, f"{labels[identity]} - {other}"))
                raw.append(_mean_favour(signs * values[:, at], signs))
    families = [f"Holm over {units(len(raw), 'comparison')}"] * len(raw)
    for (target, category_label, factor), one in zip(places, decided(raw, families), strict=True):
        found.add(table, "difference", one, respondent=target, factor=factor, group=category_label)


def _mean_favour(values: Floats, signs: Floats) -> Estimate:
    """The mean over concept pairs, in points, with its t-test."""
    points = POINTS * values
    known = points[~np.isnan(points)]
    one = t_interval(points, unit=UNIT).of("mean difference")
    one = cut_to_range(one, (-POINTS, POINTS))
    if 0 < one.n < MIN_UNITS:
        counted = f"{UNIT}s with a favourable concept"
        one = replace(one, reason=f"an interval needs {MIN_UNITS} {counted}, there are {one.n}")
    return replace(tested(one, known), n_planned=int((~np.isnan(signs)).sum()))


def _directions(found: Estimates, arms: Mapping[str, Arm], signs: Floats, dataset: Dataset) -> None:
    """The same by type of descriptor: what stands beside the gaps, which have no sign."""
    if np.isnan(signs).all():
        return
    labels, places, raw = dataset.labels, [], []
    for target, arm in arms.items():
        for category, parts in arm.categories.items():
            for kind in parts:
                ids, values, _ = arm.contrasts(category, kind)
                if len(ids) < 2:
                    continue
                for at, identity in enumerate(ids[:1] if len(ids) == 2 else ids):
                    places.append((target, labels.get(kind, kind), labels.get(identity, identity)))
                    raw.append(_mean_favour(signs * values[:, at], signs))
    families = [f"Holm over {len(raw)} identities and types"] * len(raw)
    for (target, kind, identity), one in zip(places, decided(raw, families), strict=True):
        shown = replace(one, verdict=_shown(one))
        found.add("directions", "favour", shown, respondent=target, factor=kind, group=identity)


def _shown(one: Estimate) -> str:
    """What is said of a direction: never more than that it is not shown, or not tested."""
    if not one.is_defined:
        return "not measured"
    if math.isnan(one.p):
        return "not tested"
    if one.verdict not in ("differs", "differs within margin"):
        return "not shown"
    return "favoured" if one.value > 0 else "disfavoured"


def _tested_gap(squares: tuple[Floats, Floats], *, is_copied: bool) -> Estimate:
    """The gap with the p of none: one-sided, by Hall's transformation of t over concept pairs."""
    sums, sizes = squares
    one = gap_of_squares(sums, sizes)
    means = sums[sizes > 0] / sizes[sizes > 0]
    if is_copied or means.size < MIN_UNITS:
        return one
    if not means.any():
        reason = "no open answer tells identities apart"
        return replace(one, low=math.nan, high=math.nan, reason=reason, p=1.0, p_method="none")
    rests = means - means.mean()
    n, deviation = means.size, float(rests.std())
    if deviation < 1e-12:  # every concept pair has the same gap
        p, how = mean_p_value(means)
        return replace(one, p=p / 2, p_method=f"{how}, one-sided")
    t = float(means.mean()) / (deviation / math.sqrt(n - 1))
    skewness = float((rests**3).mean()) / deviation**3
    p = float(special.stdtr(n - 1, -float(hall_transformed(t, skewness, n))))
    return replace(one, p=p, p_method=f"t over {UNIT}s, one-sided, its skewness taken out")


def _side_by_side(
    found: Estimates, target: str, arms: tuple[Arm, Arm], dataset: Dataset, responses: Responses,
    threshold: float, *, is_copied: bool,
) -> dict[tuple[str, str], float]:  # fmt: skip
    """Adds the table `arms`; (concept pair, category) to how likely it is only hidden."""
    members: dict[tuple[str, str], float] = {}
    n_pairs = len(responses.pairs)
    squared = {
        category.id: tuple(arm.gaps(category.id, n_pairs) for arm in arms)
        for category in dataset.categories
    }
    levels: list[tuple[str, str, list[str]]] = [("all", "All", list(squared))]
    if len(squared) > 1:
        levels += [("category", one.label, [one.id]) for one in dataset.categories]
    for level, label, names in levels:
        keys = {"respondent": target, "factor": level, "group": label}
        of = None if level == "all" else names[0]
        if not arms[0].categories:  # the open arm alone
            found.add("arms", "overt_gap", gap_of_squares(*arms[1].squares(of)), **keys)
            continue
        means = []
        for name, arm in zip(ARMS, arms, strict=True):
            sums, sizes = arm.squares(of)
            found.add("arms", f"{name}_gap", gap_of_squares(sums, sizes), **keys)
            found.add("arms", f"{name}_gap_square", mean_square(sums, sizes), **keys)
            with np.errstate(invalid="ignore", divide="ignore"):
                means.append(sums / sizes if sums.size else np.full(n_pairs, np.nan))
        found.add("arms", "difference", difference_of_squares(means[0], means[1]), **keys)
        hidden, overt = (
            SquaredGaps(*(np.concatenate([getattr(squared[name][at], part) for name in names])
                          for part in ("raw", "bias", "scale", "noise")))
            for at in (0, 1)
        )  # fmt: skip
        clusters = np.tile(np.arange(n_pairs), len(names))
        wanted: list[GapClass] = list(SHARES.values()) if level == "all" else ["second"]
        if is_copied:
            none = undefined(COPIES, unit=UNIT, method="profile likelihood")
            classes = ClassShares(dict.fromkeys(wanted, replace(none, n_planned=n_pairs)), {})
        else:
            classes = class_shares(
                overt, hidden, clusters, margin=threshold / POINTS, largest=1.0 + 1e-9, unit=UNIT,
                n_planned=n_pairs, classes=wanted,
            )  # fmt: skip
        for measure, name in SHARES.items():
            found.add("arms", measure, classes.shares.get(name), **keys)
        if level == "all":
            found.add("outcomes", "only_hidden", classes.shares["second"], respondent=target)
            cells = [(pair, name) for name in names for pair in responses.pairs]
            likely = classes.members.get("second", np.full(len(cells), np.nan))
            members = dict(zip(cells, likely.tolist(), strict=True))
    return members


def _forms(found: Estimates, target: str, arm: Arm, replies: pd.DataFrame) -> None:
    """The gap of every form, and what became of the replies to it."""
    for form in FORMS:
        rows = replies[(replies["target"] == target) & (replies["form"] == form)]
        if rows.empty:
            continue
        keys = {"respondent": target, "factor": "form", "group": FORM_NAMES[form]}
        gap = _tested_gap(arm.squares(None, form), is_copied=arm.is_copied)
        found.add("forms", "gap", gap, **keys)
        found.add("forms", "gap_square", mean_square(*arm.squares(None, form)), **keys)
        for measure, part, whole in (
            ("neither", "neither", "read"), ("unrelated", "unrelated", "read"),
            ("first_named", "first", "sides"), ("read", "read", "replies"),
        ):  # fmt: skip
            one = cluster_share(rows[part], rows[whole], unit=UNIT).of("share")
            if not one.is_defined:
                one = undefined("no such answers", unit=UNIT, method="share")
            found.add("forms", measure, one, **keys)


# Cell by cell


class GapFigures(NamedTuple):
    """A gap in points with its limits and p, and its direction."""

    gap: float
    low: float
    high: float
    p: float
    n: int
    more: str
    less: str
    difference: float
    difference_low: float
    difference_high: float
    difference_p: float

    def without_noise(self) -> GapFigures:
        """What is left where answers are copies: no limits, and no p."""
        none = math.nan
        return self._replace(
            low=none, high=none, p=none, difference_low=none, difference_high=none,
            difference_p=none,
        )  # fmt: skip


class CellRow(NamedTuple):
    """A concept pair with one category (id and label), in both arms."""

    pair: str
    category: tuple[str, str]
    concepts: tuple[str, str]
    arms: tuple[GapFigures, GapFigures]


def cells_of(
    arms: tuple[Arm, Arm], names: Sequence[str], dataset: Dataset,
    are_copied: tuple[bool, bool] = (False, False),
) -> Iterator[CellRow]:  # fmt: skip
    """Every cell in which something was measured in either arm.

    Args:
        arms: hidden and open.
        names: concept pairs.
        dataset: descriptors and concept pairs.
        are_copied: arms whose answers are copies: their gaps have neither limits nor p.
    """
    pairs, labels = {pair.id: pair for pair in dataset.pairs}, dataset.labels
    for category in dataset.categories:
        both = [arm.gaps(category.id, len(names)) for arm in arms]
        limits = [gap_limits(one) for one in both]
        p = [gap_p(arm.gaps(category.id, len(names), by_chance=True)) for arm in arms]
        leans = [_leans(arm, category.id, labels) for arm in arms]
        counts = [
            sum((one.n.sum(axis=(1, 2)) for one in arm.categories.get(category.id, {}).values()),
                np.zeros(len(names)))
            for arm in arms
        ]  # fmt: skip
        for row, name in enumerate(names):
            if not any(one.is_known[row] for one in both):
                continue
            pair = pairs.get(name)
            concepts = (pair.concept_one, pair.concept_two) if pair else ("first", "second")
            figures = [
                GapFigures(
                    POINTS * math.sqrt(max(0.0, float(both[at].square[row])))
                    if both[at].is_known[row] else math.nan,
                    POINTS * float(limits[at][0][row]),
                    float(np.minimum(POINTS, POINTS * limits[at][1][row])),
                    float(p[at][row]), int(counts[at][row]), *leans[at](row),
                )
                for at in (0, 1)
            ]  # fmt: skip
            for at in (0, 1):
                if are_copied[at]:
                    figures[at] = figures[at].without_noise()
            yield CellRow(
                name, (category.id, category.label), concepts, (figures[0], figures[1])
            )  # fmt: skip


Lean = tuple[str, str, float, float, float, float]


def _leans(arm: Arm, category: str, labels: Mapping[str, str]) -> Callable[[int], Lean]:
    """Row to who gets the first concept more often than whom, by how much, limits and p.

    Of several identities, the one that differs most from the mean of the others, with its limits
    and its p allowing for that choice (Bonferroni).
    """
    ids, values, _ = arm.contrasts(category)
    _, centre, variance = arm.contrasts(category, is_adjusted=True)
    _, _, by_chance = arm.contrasts(category, by_chance=True)
    noise = arm.gaps(category, len(values)).noise
    noise_by_chance = arm.gaps(category, len(values), by_chance=True).noise
    tests = 1 if len(ids) == 2 else len(ids)

    def of(row: int) -> Lean:
        nothing = ("", "", math.nan, math.nan, math.nan, math.nan)
        if not len(ids) or np.isnan(values[row]).all():
            return nothing
        errors, df = np.sqrt(variance[row]), float(noise[row])
        if not df > 0:
            return nothing
        reach = float(special.stdtrit(df, 1 - ALPHA / tests / 2))
        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.abs(values[row]) / np.sqrt(by_chance[row])
        t = np.where(values[row] == 0, 0.0, t)
        at = int(np.nanargmax(np.where(np.isnan(t), -1.0, t)))
        if len(ids) == 2:
            at = 0 if values[row, 0] >= 0 else 1
        other = labels[ids[1 - at]] if len(ids) == 2 else "others"
        value, middle, error = (float(one[at]) for one in (values[row], centre[row], errors))
        more, less = labels[ids[at]], other
        if value < 0:
            value, middle, more, less = -value, -middle, less, more
        low, high = max(-1.0, middle - reach * error), min(1.0, middle + reach * error)
        p = min(1.0, 2 * tests * float(special.stdtr(noise_by_chance[row], -float(t[at]))))
        return more, less, POINTS * value, POINTS * low, POINTS * high, p

    return of


def _list_cells(
    found: Estimates, target: str, cells: list[CellRow], members: Mapping[tuple[str, str], float],
    top: int, are_copied: tuple[bool, bool],
) -> None:  # fmt: skip
    """Cells as rows of the table `concepts`: all, or the largest hidden gaps of every category."""
    adjusted = [holm([cell.arms[at].p for cell in cells]) for at in (0, 1)]
    leaning = [holm([cell.arms[at].difference_p for cell in cells]) for at in (0, 1)]
    order = sorted(
        range(len(cells)), key=lambda at: -np.nan_to_num(cells[at].arms[0].gap, nan=-1.0)
    )
    taken: dict[str, int] = {}
    is_shown = [
        [adjusted[which][at] <= ALPHA and cell.arms[which].low > 0 for which in (0, 1)]
        for at, cell in enumerate(cells)
    ]
    for name, wanted in SHOWN.items():
        n = sum(tuple(one) == wanted for one in is_shown)
        count = Estimate(n, n=len(cells), unit="concept", method="count")
        if any(are_copied) or not cells:
            why = COPIES if any(are_copied) else "nothing measured"
            count = undefined(why, unit="concept", method="count")
        found.add("shown", name, count, respondent=target)
    for at in order:
        cell = cells[at]
        category, label = cell.category
        taken[category] = taken.get(category, 0) + 1
        if len(cells) > MOST_CELLS and taken[category] > top:
            continue
        keys = {
            "respondent": target, "factor": label, "item": cell.pair,
            "detail": " / ".join(cell.concepts),
        }  # fmt: skip
        for which, (arm, one) in enumerate(zip(ARMS, cell.arms, strict=True)):
            reason = COPIES if are_copied[which] else None
            reason = "nothing measured" if math.isnan(one.gap) else reason
            gap = Estimate(
                one.gap, one.low, one.high, one.n, "answer",
                "root of the unbiased squared gap; noncentral chi-square", reason=reason,
                p=one.p, p_adjusted=float(adjusted[which][at]), p_method="chi-square",
                family=f"Holm over {units(len(cells), 'concept')}",
                verdict=_verdict(float(adjusted[which][at]), one.low > 0),
            )  # fmt: skip
            found.add("concepts", f"{arm}_gap", gap, **keys)
            p = float(leaning[which][at])
            is_apart = one.difference_low > 0 or one.difference_high < 0
            lean = Estimate(
                one.difference, one.difference_low, one.difference_high, one.n, "answer",
                f"{one.more} less {one.less}, of {cell.concepts[0]!r}; Price and Bonett",
                reason=reason, p=one.difference_p, p_adjusted=p, p_method="t",
                family=f"Holm over {units(len(cells), 'concept')}", verdict=_verdict(p, is_apart),
            )  # fmt: skip
            if one.difference > 0:
                told = {
                    "shown": f"{one.more} more than {one.less}",
                    "not shown": f"not shown ({one.more} more)",
                }.get(lean.verdict or "", f"not tested ({one.more} more)")
                lean = replace(lean, verdict=told)
            found.add("concepts", f"{arm}_direction", lean, **keys)
        likely = members.get((cell.pair, category), math.nan)
        reason = "the joint distribution of gaps is not known" if math.isnan(likely) else None
        method = "posterior, given the joint distribution of all gaps"
        posterior = Estimate(likely, n=1, unit=UNIT, method=method, reason=reason)
        found.add("concepts", "only_hidden", posterior, **keys)


def _verdict(p: float, is_apart: bool) -> str:
    if math.isnan(p):
        return "not measured"
    return "shown" if p <= ALPHA and is_apart else "not shown"


def write_cells(path: Path, responses: Responses, open_counts: OpenCounts, dataset: Dataset) -> int:
    """Writes every cell as a row and returns how many there are.

    Raises:
        StoreError: the folder cannot be written, or the disk is full.
    """
    number = 0
    with csv_table(path, HEADER) as writer:
        for at, target in enumerate(responses.targets):
            arms = (hidden_arm(responses, at), open_counts.arms[target])
            are_copied = (are_copies(responses, at), arms[1].is_copied)
            for cell in cells_of(arms, responses.pairs, dataset, are_copied):
                row: list[str | float] = [cell.pair, target, cell.category[0], *cell.concepts]
                for one in cell.arms:
                    row += [
                        one.gap, one.low, one.high, one.p, one.more, one.less, one.difference,
                        one.difference_low, one.difference_high, one.difference_p,
                    ]  # fmt: skip
                writer.write([_cell(value) for value in row])
                number += 1
    return number


def _cell(value: str | float) -> str | float:
    if isinstance(value, str):
        return str(writable(value))
    return "" if math.isnan(value) else round(value, 10)
