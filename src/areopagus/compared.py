"""Differences between the sides of one run, or of several: who is compared over what.

Within a run the sides are respondents, judge models, personas, or the values of a column of the
input; between runs they are the runs, or their respondents. What is paired, over which judges, and
how it is tested stands in `aggregation.differences`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .aggregation.common_judges import MOST_ABSTAINED
from .aggregation.differences import (
    SMALLEST_WORTH_TELLING,
    BothUniverses,
    Difference,
    Side,
    in_both_universes,
    paired_differences,
    sides_of,
)
from .aggregation.estimate import Estimate
from .aggregation.ranking import plackett_luce
from .aggregation.rater_severity import AdditiveFit
from .errors import InputError, InputFault
from .records.estimates import Estimates
from .records.judgments import JudgmentTable, read_judgment_table
from .records.prompt_units import units_of_runs
from .records.run_folder import SCORES_FILE
from .records.tables import score_header
from .records.types import NOT_WANTED

COMPOSITE: Final = "composite"
MOST_SIDES: Final = 20
"""Sides of which every pair is compared; with more, those with a named baseline."""
FEWEST_RANKED: Final = 4
"""Sides from which on a ranking is fitted."""
MOST_RUNS: Final = 12

Rows = Sequence[Mapping[str, str]]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Judged:
    """One run's judgments and what they are of.

    Attributes:
        name: of the run.
        table: its judgments.
        rows: of scores.csv, by response.
        scale: the lowest and the highest score.
    """

    name: str
    table: JudgmentTable
    rows: Mapping[str, Mapping[str, str]]
    scale: tuple[float, float]

    @property
    def is_scored(self) -> npt.NDArray[np.bool_]:
        """Shape (responses,): whether the panel has a mean of it."""
        return np.array([bool(one) for one in self.of_responses("composite")], dtype=bool)

    @property
    def is_declined(self) -> npt.NDArray[np.bool_]:
        """Shape (responses,): whether most judges say that it declined (`MOST_ABSTAINED`)."""
        shares = [float(one or 0) for one in self.of_responses("share_abstained")]
        return np.array(shares, dtype=np.float64) > MOST_ABSTAINED

    def of_responses(self, column: str) -> list[str]:
        """The column of scores.csv, by response of the table."""
        return [self.rows[name].get(column) or "" for name in self.table.response_ids]


def judged(name: str, folder: Path, record: Mapping[str, Any], scores: Rows) -> Judged:
    """The judgments of a run folder.

    Raises:
        InputError: its table cannot be read.
    """
    criteria = tuple(record["identity"]["criteria"])
    return Judged(
        name,
        read_judgment_table(folder, criteria),
        {row["response_id"]: row for row in scores},
        scale_of(record),
    )


def scale_of(record: Mapping[str, Any]) -> tuple[float, float]:
    """The lowest and the highest score of a panel run, of the content of its run.json."""
    low, high = record["identity"]["scale"]
    return float(low), float(high)


@dataclass(frozen=True)
class Compared:
    """What a comparison found.

    Attributes:
        by: what the sides are: "respondent", "run", "model", "persona", or a column.
        sides: their names, the highest adjusted mean first.
        baseline: whom the others are held against, or None where nobody was named and they are
            too many for every pair.
        criteria: of the columns of a difference, "composite" first.
        pairs: (side, baseline) to the differences, one a column.
        by_model: (side, baseline, judge model) to the difference of the composite that this model
            alone makes.
        ranking: side to its log worth; empty with few sides.
        orders: (side, baseline) to tau-b between their composites, where the sides are runs.
        margin: points inside which a difference does not matter, or None.
        prompts: names of the prompts, to which those of a difference point.
    """

    by: str
    sides: tuple[str, ...]
    baseline: str | None
    criteria: tuple[str, ...]
    pairs: Mapping[tuple[str, str], Sequence[Difference]]
    by_model: Mapping[tuple[str, str, str], Estimate]
    ranking: Mapping[str, Estimate]
    orders: Mapping[tuple[str, str], Estimate]
    margin: float | None
    prompts: Sequence[str] = field(repr=False)

    def add_to(self, found: Estimates) -> None:
        """Adds the tables `comparison`, `comparison by model` and `ranking`."""
        factor = "" if self.by == "respondent" else self.by
        for (side, baseline), differences in self.pairs.items():
            for criterion, one in zip(self.criteria, differences, strict=True):
                keys = {
                    "respondent": side, "baseline": baseline, "criterion": criterion,
                    "factor": factor,
                }  # fmt: skip
                found.add("comparison", "difference", one.this_panel, **keys)
                found.add("comparison", "difference", one.such_judges, **keys)
                found.add("comparison", "prompts won", one.won, **keys)
                found.add("comparison", "prompts tied", one.tied, **keys)
                found.add("comparison", "equivalence", one.equivalence, **keys)
                if criterion == COMPOSITE:
                    unit = "prompt" if self.by == "respondent" else "response"
                    pairs = replace(one.pairs, unit=unit)
                    found.add("comparison", "pairs scored", pairs, **keys)
                    found.add("comparison", "scored here alone", one.only_first, **keys)
                    found.add("comparison", "scored in the baseline alone", one.only_second, **keys)
                    found.add("comparison", "scored share", one.scored, **keys)
                if one.prompts_needed is not None:
                    smallest = self.margin or SMALLEST_WORTH_TELLING
                    needed = Estimate(
                        one.prompts_needed, unit="prompt", method=f"prompts that tell {smallest:g}"
                    )
                    found.add("comparison", "prompts needed", needed, **keys)
                if one.n_unbalanced:
                    found.add("comparison", "unbalanced prompts", one.n_unbalanced, **keys)
                    found.add("comparison", "moved", one.moved, **keys)
        for (side, baseline, model), alone in self.by_model.items():
            found.add(
                "comparison by model", "difference", alone, respondent=side, baseline=baseline,
                model=model, criterion=COMPOSITE, factor=factor,
            )  # fmt: skip
        for (side, baseline), tau in self.orders.items():
            found.add(
                "comparison", "tau", tau, respondent=side, baseline=baseline, criterion=COMPOSITE,
                factor=factor,
            )  # fmt: skip
        for side, worth in self.ranking.items():
            found.add("ranking", "log worth", worth, respondent=side, factor=factor)


def compared(
    runs: Sequence[Judged],
    *,
    by: str | None = None,
    baseline: str | None = None,
    margin: float | None = None,
) -> Compared:
    """Compares the sides of runs of one panel.

    Args:
        runs: one, or several of the same panel.
        by: what the sides are; respondents of one run, and of several runs the runs where they
            have respondents in common, else all their respondents.
        baseline: the side that all others are held against, and no other pair; without it every
            pair is compared and the best side is the baseline (of runs, the first).
        margin: points inside which a difference does not matter.

    Raises:
        InputError: no such column or side, fewer than two sides, or a margin not above 0.
    """
    faults = []
    if margin is not None and not margin > 0:
        faults.append(InputFault("margin", f"must be above 0, got {margin:g}"))
    by = by or _default_by(runs)
    rows = _rows_of(runs, by)
    if len(rows.sides) < 2:
        told = f"{by} {rows.sides[0]} is the only one" if rows.sides else f"there is no {by}"
        faults.append(InputFault(runs[0].name, f"nothing to compare: {told}"))
    elif baseline is not None and baseline not in rows.sides:
        faults.append(
            InputFault("baseline", f"must be one of {', '.join(rows.sides)}, got {baseline!r}")
        )
    if faults:
        raise InputError(faults)
    low, high = runs[0].scale
    return _compared(rows, by, baseline, margin, most=high - low)


def means_of_respondents(run: Judged) -> dict[tuple[str, str], BothUniverses]:
    """(respondent, criterion) to the mean over prompts with its interval in both universes.

    A prompt is a mean over the respondent's responses to it. No test belongs to a mean: that it is
    not 0 says nothing on a scale from 1. Limits are not cut at the ends of the scale here.
    """
    rows = _rows_of([run], "respondent")
    persona, model = _facets(rows)
    found = {}
    for code, name in enumerate(rows.sides):
        mine = (rows.side == code) & rows.has_mean & np.isfinite(rows.values[:, 0])
        totals, counts = _by_prompt(rows, mine)
        each = in_both_universes(totals, counts, persona, model, bounds=(-math.inf, math.inf))
        for criterion, one in zip(rows.criteria, each, strict=True):
            found[name, criterion] = replace(
                one, this_panel=_untested(one.this_panel), such_judges=_untested(one.such_judges)
            )
    return found


def _untested(mean: Estimate) -> Estimate:
    return replace(mean, p=math.nan, p_method=None)


def prompt_scores(run: Judged) -> tuple[tuple[str, ...], Floats]:
    """(respondents, composites of shape (prompts, respondents)), freed from missing judges."""
    rows = _rows_of([run], "respondent")
    return rows.sides, _prompt_scores(rows).T


@dataclass(frozen=True)
class _Rows:
    """Judgments in rows, coded for `sides_of`; shapes are (judgments,).

    `has_mean` is whether the panel has a mean of the response: a mean needs the quorum, and a
    comparison does not.
    """

    values: Floats
    has_mean: npt.NDArray[np.bool_]
    wanted: npt.NDArray[np.bool_]
    side: Integers
    item: Integers
    judge: Integers
    sides: tuple[str, ...]
    prompt_of: Integers
    prompts: tuple[str, ...]
    judges: tuple[tuple[str, str], ...]
    criteria: tuple[str, ...]
    is_ordered: bool


def _default_by(runs: Sequence[Judged]) -> str:
    if len(runs) == 1:
        return "respondent"
    shared = set.intersection(*({*run.of_responses("respondent_id")} for run in runs))
    return "run" if shared else "respondent"


def _rows_of(runs: Sequence[Judged], by: str) -> _Rows:
    """Codes every judgment of the runs."""
    sides: dict[str, int] = {}
    items: dict[tuple[str, ...], int] = {}
    prompts: dict[str, int] = {}
    judges: dict[tuple[str, str], int] = {}
    prompt_of: list[int] = []
    criteria = _shared_criteria(runs)
    parts: list[tuple[Any, ...]] = []
    units = units_of_runs([run.rows.values() for run in runs])
    is_crossed = by not in ("respondent", "run", "model", "persona") and _is_crossed(
        runs, by, units
    )
    for run, unit_of in zip(runs, units, strict=True):
        table = run.table
        _require_column(run, by)
        prompt = [unit_of[name] for name in run.of_responses("prompt_id")]
        who = run.of_responses("respondent_id")
        of_response = {
            "respondent": who,
            "run": [run.name] * len(who),
        }.get(by) or ([""] * len(who) if by in ("model", "persona") else run.of_responses(by))
        keys: list[tuple[str, ...]] = []
        for k, name in enumerate(table.response_ids):
            if by in ("model", "persona"):
                keys.append((run.name, name))
            elif by == "run" or is_crossed:
                keys.append((prompt[k], who[k]))
            else:
                keys.append((prompt[k],))
        item_of_response = np.empty(len(keys), dtype=np.int64)
        for k, key in enumerate(keys):
            code = items.setdefault(key, len(items))
            if code == len(prompt_of):
                prompt_of.append(prompts.setdefault(prompt[k], len(prompts)))
            item_of_response[k] = code
        pairs = [
            judges.setdefault(
                (
                    "" if by == "persona" else persona,
                    "" if by == "model" else model,
                ),
                len(judges),
            )
            for persona in table.persona.names
            for model in table.model.names
        ]
        judge = np.array(pairs, dtype=np.int64)[
            table.persona.codes.astype(np.int64) * table.model.n + table.model.codes
        ]
        if by in ("model", "persona"):
            coded = table.model if by == "model" else table.persona
            own = np.array([sides.setdefault(name, len(sides)) for name in coded.names])
            side = own[coded.codes].astype(np.int64)
        else:
            own = np.array([sides.setdefault(name, len(sides)) for name in of_response])
            side = own[table.response].astype(np.int64)
        spared = np.isin(
            table.reason.codes,
            [k for k, name in enumerate(table.reason.names) if name in NOT_WANTED],
        )
        columns = [0, *(1 + table.criteria.index(name) for name in criteria)]
        values = table.values[:, columns]
        values[run.is_declined[table.response]] = np.nan
        has_mean = run.is_scored[table.response]
        parts.append((values, has_mean, ~spared, side, item_of_response[table.response], judge))
    values, has_mean, wanted, side, item, judge = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return _Rows(
        values, has_mean, wanted, side, item, judge,
        sides=tuple(sides),
        prompt_of=np.array(prompt_of, dtype=np.int64),
        prompts=tuple(prompts),
        judges=tuple(judges),
        criteria=(COMPOSITE, *criteria),
        is_ordered=by == "run",
    )  # fmt: skip


def _shared_criteria(runs: Sequence[Judged]) -> tuple[str, ...]:
    """Those that all runs have; none where there is one, which is the composite."""
    first, *others = (run.table.criteria for run in runs)
    shared = tuple(name for name in first if all(name in other for other in others))
    return shared if len(first) > 1 else ()


def _require_column(run: Judged, by: str) -> None:
    if by in ("respondent", "run", "model", "persona"):
        return
    names = next(iter(run.rows.values()), {})
    if by in names:
        return
    table = run.table
    own = score_header(table.criteria, table.persona.names, table.model.names, table.axis.names)
    carried = [name for name in names if name not in own]
    raise InputError(
        [
            InputFault(
                f"{run.name}/{SCORES_FILE}",
                "by must be respondent, model, persona or a column that the input carried "
                f"({', '.join(carried) or 'it carried none'}), got {by!r}",
            )
        ]
    )


def _is_crossed(runs: Sequence[Judged], column: str, units: Sequence[Mapping[str, str]]) -> bool:
    """Whether a respondent has several values of the column on one prompt."""
    found: dict[tuple[str, str], set[str]] = {}
    for run, unit_of in zip(runs, units, strict=True):
        for row in run.rows.values():
            place = unit_of[row["prompt_id"]], row["respondent_id"]
            found.setdefault(place, set()).add(row.get(column) or "")
    return any(len(values) > 1 for values in found.values())


def _compared(
    rows: _Rows, by: str, baseline: str | None, margin: float | None, *, most: float
) -> Compared:
    sides, whole = (
        sides_of(
            values, rows.wanted, side=rows.side, item=rows.item, judge=rows.judge,
            n_sides=len(rows.sides), n_judges=len(rows.judges),
        )
        for values in (rows.values, np.where(rows.has_mean[:, None], rows.values, np.nan))
    )  # fmt: skip
    scores = _prompt_scores(rows)
    with np.errstate(invalid="ignore"):
        means = np.array([np.nanmean(one) if np.isfinite(one).any() else -np.inf for one in scores])
    order = list(range(len(sides)))
    if not rows.is_ordered:
        order.sort(key=lambda side: (-means[side], rows.sides[side]))
    held = order[0] if baseline is None else rows.sides.index(baseline)
    if baseline is not None:
        pairs = [(side, held) for side in order if side != held]
    elif len(order) <= MOST_SIDES:
        pairs = [(b, a) for k, a in enumerate(order) for b in order[k + 1 :]]
    else:
        pairs = []
    persona, model = _facets(rows)
    options: dict[str, Any] = {"prompt_of": rows.prompt_of, "most": most}
    found = paired_differences(sides, pairs, persona=persona, model=model, margin=margin, **options)
    names = rows.sides
    by_model: dict[tuple[str, str, str], Estimate] = {}
    for name in dict.fromkeys(one for _, one in rows.judges if one):
        mine = [k for k, (_, one) in enumerate(rows.judges) if one == name]
        alone = [
            replace(
                one, totals=one.totals[:, mine, :1], counts=one.counts[:, mine],
                wanted=one.wanted[:, mine],
            )
            for one in sides
        ]  # fmt: skip
        shown = [pair for pair in pairs if held in pair]
        each = paired_differences(alone, shown, persona=persona[mine], model=model[mine], **options)
        for (a, b), (one,) in zip(shown, each, strict=True):
            by_model[names[a], names[b], name] = one.this_panel
    return Compared(
        by=by,
        sides=tuple(names[side] for side in order),
        baseline=names[held] if baseline is not None or pairs else None,
        criteria=rows.criteria,
        pairs={(names[a], names[b]): each for (a, b), each in zip(pairs, found, strict=True)},
        by_model=by_model,
        ranking=_ranking([names[side] for side in order], scores[order]),
        orders={
            (names[a], names[b]): _order(whole[a], whole[b])
            for a, b in (pairs if by == "run" else ())
        },
        margin=margin,
        prompts=rows.prompts,
    )


def _order(first: Side, second: Side) -> Estimate:
    """Tau-b between the plain composites of two sides over what both have."""
    from .aggregation.kendall import kendall_tau_b

    _, left, right = np.intersect1d(first.items, second.items, return_indices=True)
    n = [one.counts[at].sum(axis=1) for one, at in ((first, left), (second, right))]
    both = (n[0] > 0) & (n[1] > 0)
    values = [
        one.totals[at][both][:, :, 0].sum(axis=1) / count[both]
        for one, at, count in ((first, left, n[0]), (second, right, n[1]))
    ]
    tau = kendall_tau_b(*values) if both.sum() > 1 else math.nan
    reason = None if math.isfinite(tau) else "one of them gives all the same score, or too few"
    return Estimate(tau, n=int(both.sum()), unit="pair", method="description: tau-b", reason=reason)


def _facets(rows: _Rows) -> tuple[Integers, Integers]:
    """Codes of the persona and of the model of each judge."""
    both = (
        np.unique([one[k] for one in rows.judges], return_inverse=True)[1].reshape(-1)
        for k in (0, 1)
    )
    persona, model = (one.astype(np.int64) for one in both)
    return persona, model


def _by_prompt(rows: _Rows, mask: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Totals (prompts, judges, columns) and counts (prompts, judges) of some judgments."""
    n_judges = len(rows.judges)
    shape = len(rows.prompts), n_judges
    cell = rows.prompt_of[rows.item[mask]] * n_judges + rows.judge[mask]
    size = shape[0] * n_judges
    totals: Floats = np.stack(
        [
            np.bincount(cell, column, size).astype(np.float64).reshape(shape)
            for column in rows.values[mask].T
        ],
        axis=2,
    )
    return totals, np.bincount(cell, minlength=size).astype(np.float64).reshape(shape)


def _prompt_scores(rows: _Rows) -> Floats:
    """Shape (sides, prompts): composites freed from which judges were there; nan without any."""
    n_prompts, n_sides, n_judges = len(rows.prompts), len(rows.sides), len(rows.judges)
    known = rows.has_mean & np.isfinite(rows.values[:, 0])
    place = rows.side[known] * n_prompts + rows.prompt_of[rows.item[known]]
    places, row = np.unique(place, return_inverse=True)
    cell = row.reshape(-1) * n_judges + rows.judge[known]
    size = len(places) * n_judges
    totals = np.bincount(cell, rows.values[known, 0], size).astype(np.float64)
    counts = np.bincount(cell, minlength=size).astype(np.float64).reshape(len(places), n_judges)
    totals = totals.reshape(len(places), n_judges, 1)
    fit = AdditiveFit(n_judges, 1)
    fit.add(totals, counts)
    scores: Floats = np.full(n_sides * n_prompts, np.nan)
    if len(places):
        plain = totals[:, :, 0].sum(axis=1) / counts.sum(axis=1)
        scores[places] = plain + fit.moved(counts)[:, 0]
    return scores.reshape(n_sides, n_prompts)


def _ranking(names: Sequence[str], scores: Floats) -> dict[str, Estimate]:
    """Log worths by a model of paired wins in which each prompt ranks the sides it has.

    Bradley-Terry's, with ties as in Davidson's, over more than two at once.
    """
    if len(names) < FEWEST_RANKED:
        return {}
    several = np.isfinite(scores).sum(axis=0) > 1
    ranks = -np.round(scores[:, several].T, 9)
    n = int(several.sum())
    method = "Plackett-Luce with ties, prompts rank the sides"
    try:
        fit = plackett_luce(ranks)
    except ValueError as error:
        return {name: Estimate(np.nan, n=n, method=method, reason=str(error)) for name in names}
    found = {}
    for name, worth, spread in zip(names, fit.log_worth, fit.standard_errors, strict=True):
        reach = 1.959964 * float(spread)
        found[name] = Estimate(
            float(worth), float(worth) - reach, float(worth) + reach, n, "prompt", method,
            reason=fit.reason, se=float(spread), universe="this panel",
        )  # fmt: skip
    return found


def compared_instruments(
    names: Sequence[str],
    scores: Sequence[Rows],
    different: Sequence[set[str]],
    *,
    scale: tuple[float, float],
    margin: float | None = None,
) -> Compared:
    """Compares runs of different panels, each a judge of its own: the first is the baseline.

    Args:
        names, scores, different: see `_rows_of_instruments`.
        scale: the lowest and the highest score, of all of them.
        margin: points inside which a difference does not matter.
    """
    rows, most = _rows_of_instruments(names, scores, different), scale[1] - scale[0]
    found = _compared(rows, "run", names[0], margin, most=most)
    why = "each panel counts as one judge"
    pairs = {
        at: [replace(one, such_judges=replace(one.such_judges, reason=why)) for one in row]
        for at, row in found.pairs.items()
    }
    return replace(found, pairs=pairs)


def _rows_of_instruments(
    names: Sequence[str], scores: Sequence[Rows], different: Sequence[set[str]]
) -> _Rows:
    """Composites and criteria of runs of different panels, each a judge of its own.

    Paired by response where prompt and respondent are the same too; where the first run and another
    share none, by respondent and prompt.

    Args:
        names: of the runs.
        scores: rows of each run's scores.csv.
        different: of each run, ids of responses whose text is not that of the first run.
    """
    places = [
        [(unit_of[row["prompt_id"]], row["respondent_id"]) for row in rows]
        for rows, unit_of in zip(scores, units_of_runs(scores), strict=True)
    ]
    first = {row["response_id"]: place for row, place in zip(scores[0], places[0], strict=True)}
    shares = [
        any(first.get(row["response_id"]) == place for row, place in zip(rows, mine, strict=True))
        for rows, mine in zip(scores, places, strict=True)
    ]
    by_response = all(shares)
    criteria = [name for name in _criteria_of(scores[0]) if all(name in rows[0] for rows in scores)]
    items: dict[tuple[str, ...], int] = {}
    prompts: dict[str, int] = {}
    prompt_of: list[int] = []
    found: list[tuple[list[float], int, int]] = []
    for code, (rows, changed, mine) in enumerate(zip(scores, different, places, strict=True)):
        for row, place in zip(rows, mine, strict=True):
            if row["response_id"] in changed or not row["composite"]:
                continue
            key = (row["response_id"], *place) if by_response else place
            item = items.setdefault(key, len(items))
            if item == len(prompt_of):
                prompt_of.append(prompts.setdefault(place[0], len(prompts)))
            values = [float(row[name] or "nan") for name in (COMPOSITE, *criteria)]
            found.append((values, code, item))
    n = len(found)
    scored = np.array([one for one, _, _ in found], dtype=np.float64)
    return _Rows(
        scored.reshape(n, 1 + len(criteria)), np.ones(n, dtype=bool), np.ones(n, dtype=bool),
        np.array([one for _, one, _ in found], dtype=np.int64),
        np.array([one for _, _, one in found], dtype=np.int64), np.zeros(n, dtype=np.int64),
        sides=tuple(names), prompt_of=np.array(prompt_of, dtype=np.int64),
        prompts=tuple(prompts), judges=(("", ""),), criteria=(COMPOSITE, *criteria),
        is_ordered=True,
    )  # fmt: skip


def _criteria_of(rows: Rows) -> list[str]:
    """Criteria are the columns that have limits of their own."""
    names = rows[0] if rows else {}
    found = [name for name in names if f"{name}_low" in names and name != COMPOSITE]
    return found if len(found) > 1 else []
