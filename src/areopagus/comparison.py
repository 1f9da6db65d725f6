"""Who scores higher and by how much: sides of panel runs, compared by the engine of `aggregation`.

    long_table(runs, by)     a row a judgment: side, prompt, item, judge, scores
    contrasts_of(sides, …)   every pair of sides, or each against a baseline
    compared(runs, …)        both, decided

Within a run the sides are respondents, judge models, personas, or the values of a column of the
input; between runs they are the runs, or their respondents.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from .aggregation.effects import FEWEST_JUDGES, MOST_ABSTAINED, Contrast, Effect, Scores, effects
from .aggregation.estimate import Estimate
from .aggregation.proportions import wilson
from .aggregation.rater_severity import AdditiveFit
from .aggregation.rules import decided
from .errors import InputError, InputFault
from .formats import units
from .records.estimates import Estimates
from .records.judgments import JudgmentTable, read_judgment_table
from .records.prompt_units import shared_texts_told, units_of_runs
from .records.run_folder import RUN_FORMAT, SCORES_FILE, panel_of, run_identity_hash
from .records.tables import read_texts, score_header
from .records.types import NOT_WANTED
from .shown import Shown

if TYPE_CHECKING:
    import pandas as pd

    from .reports.document import Document

COMPOSITE: Final = "composite"
MOST_SIDES: Final = 20
"""Sides of which every pair is compared; of more, each with a named baseline."""
MOST_RUNS: Final = 12
JUDGES: Final = ("model", "persona")
"""Sides that judge: they are compared on the same response."""

Rows = Sequence[Mapping[str, str]]
Floats = npt.NDArray[np.float64]


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
        return np.array([bool(text) for text in self.of_responses(COMPOSITE)], dtype=bool)

    @property
    def is_declined(self) -> npt.NDArray[np.bool_]:
        """Shape (responses,): whether most judges say that it declined (`MOST_ABSTAINED`)."""
        shares = [float(text or 0) for text in self.of_responses("share_abstained")]
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


# The long table and its contrasts -----------------------------------------------------------------


def long_table(runs: Sequence[Judged], by: str) -> pd.DataFrame:
    """Returns a row a judgment of runs of one panel.

    Columns: `side`; `prompt`, one for what the runs share; `item`, what sides have in common within
    a prompt; `persona` and `model` of the judge, "" where they are the side; `is_wanted`, whether
    the judge was to be asked; `has_mean`, whether the panel has a mean of the response, which needs
    the quorum that a comparison does not; then `composite` and, of several, the criteria that all
    runs have, nan where nothing was scored or the response declined.

    Raises:
        InputError: the input carried no such column.
    """
    import pandas as pd

    criteria = _shared_criteria(runs)
    prompts = units_of_runs([run.rows.values() for run in runs])
    for run in runs:
        _require_column(run, by)
    is_crossed = by not in (*JUDGES, "respondent", "run") and _is_crossed(runs, by, prompts)
    parts = []
    for run, unit_of in zip(runs, prompts, strict=True):
        table = run.table
        names = {
            factor: np.array(coded.names, dtype=object)[coded.codes]
            for factor, coded in (("persona", table.persona), ("model", table.model))
        }

        def by_row(values: Sequence[str], of: JudgmentTable = table) -> npt.NDArray[Any]:
            return np.array(values, dtype=object)[of.response]

        respondent = by_row(run.of_responses("respondent_id"))
        side, item = respondent, by_row([""] * table.n_responses)
        if by in JUDGES:
            side, names[by] = names[by], np.full(len(table.response), "", dtype=object)
            item = by_row([f"{run.name}: {name}" for name in table.response_ids])
        elif by == "run":
            side, item = np.full(len(respondent), run.name, dtype=object), respondent
        elif by != "respondent":
            side, item = by_row(run.of_responses(by)), respondent if is_crossed else item
        spared = [k for k, name in enumerate(table.reason.names) if name in NOT_WANTED]
        values = table.values[:, [0, *(1 + table.criteria.index(name) for name in criteria)]]
        values[run.is_declined[table.response]] = np.nan
        parts.append(
            pd.DataFrame(
                {
                    "side": side,
                    "prompt": by_row([unit_of[name] for name in run.of_responses("prompt_id")]),
                    "item": item,
                    **names,
                    "is_wanted": ~np.isin(table.reason.codes, spared),
                    "has_mean": run.is_scored[table.response],
                    **dict(zip((COMPOSITE, *criteria), values.T, strict=True)),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def instruments_table(
    names: Sequence[str], scores: Sequence[Rows], different: Sequence[set[str]]
) -> pd.DataFrame:
    """Returns a row a response of runs of different panels, each of which is one judge.

    Paired by response where prompt and respondent are the same too; where the first run and another
    share none, by respondent and prompt.

    Args:
        names: of the runs.
        scores: rows of each run's scores.csv.
        different: of each run, ids of responses whose text is not that of the first run.
    """
    import pandas as pd

    places = [
        [(unit_of[row["prompt_id"]], row["respondent_id"]) for row in rows]
        for rows, unit_of in zip(scores, units_of_runs(scores), strict=True)
    ]
    first = {row["response_id"]: place for row, place in zip(scores[0], places[0], strict=True)}
    by_response = all(
        any(first.get(row["response_id"]) == place for row, place in zip(rows, mine, strict=True))
        for rows, mine in zip(scores, places, strict=True)
    )
    criteria = [name for name in _criteria_of(scores[0]) if all(name in rows[0] for rows in scores)]
    columns = ("side", "prompt", "item", "has_mean", COMPOSITE, *criteria)
    found = [
        (name, place[0], f"{row['response_id']}: {place[1]}" if by_response else place[1], True,
         *(float(row[column] or "nan") for column in (COMPOSITE, *criteria)))
        for name, rows, changed, mine in zip(names, scores, different, places, strict=True)
        for row, place in zip(rows, mine, strict=True)
        if row["response_id"] not in changed and row[COMPOSITE]
    ]  # fmt: skip
    return pd.DataFrame(found, columns=list(columns))


def scores_of(table: pd.DataFrame, *, means: bool = False) -> Scores:
    """Returns the long table for the engine.

    Args:
        table: of `long_table` or `instruments_table`.
        means: whether only responses count of which the panel has a mean.
    """
    columns = [COMPOSITE, *list(table.columns)[list(table.columns).index(COMPOSITE) + 1 :]]
    judges = {"persona": "persona", "model": "model"} if "persona" in table else {}
    rows = {str(name): column for name, column in table.items()}
    scores = Scores.of(
        rows, arm="side", unit="prompt", item="item", columns=columns,
        wanted=table.get("is_wanted"), **judges,
    )  # fmt: skip
    if not means:
        return scores
    kept = table["has_mean"].to_numpy(dtype=bool)[:, None]
    return replace(scores, values=np.where(kept, scores.values, np.nan))


def contrasts_of(
    sides: Sequence[str],
    criteria: Sequence[str],
    *,
    by: str,
    baseline: str | None = None,
    margin: float | None = None,
) -> list[Contrast]:
    """Returns the differences of every pair of sides, or of each from the baseline.

    Args:
        sides: the highest first.
        criteria: columns, the composite first: a family of its own.
        by: what the sides are.
        baseline: whom all others are compared with, in no other pair.
        margin: within which a difference is alike.
    """
    if baseline is not None:
        pairs = [(side, baseline) for side in sides if side != baseline]
    elif len(sides) <= MOST_SIDES:
        pairs = [(low, high) for k, high in enumerate(sides) for low in sides[k + 1 :]]
    else:
        pairs = []
    return [
        Contrast(
            {side: 1.0, other: -1.0},
            criterion,
            {
                "respondent": side, "baseline": other, "criterion": criterion,
                "factor": "" if by == "respondent" else by,
            },
            family="pairs" if criterion == COMPOSITE else "pairs and criteria",
            margin=margin,
        )
        for side, other in pairs
        for criterion in criteria
    ]  # fmt: skip


def default_by(runs: Sequence[Judged]) -> str:
    """What the sides are where nobody says so."""
    if len(runs) == 1:
        return "respondent"
    shared = set.intersection(*({*run.of_responses("respondent_id")} for run in runs))
    return "run" if shared else "respondent"


def _shared_criteria(runs: Sequence[Judged]) -> tuple[str, ...]:
    """Those that all runs have; none where there is one, which is the composite."""
    first, *others = (run.table.criteria for run in runs)
    shared = tuple(name for name in first if all(name in other for other in others))
    return shared if len(first) > 1 else ()


def _criteria_of(rows: Rows) -> list[str]:
    """Criteria are the columns of scores.csv that have limits of their own."""
    names = rows[0] if rows else {}
    found = [name for name in names if f"{name}_low" in names and name != COMPOSITE]
    return found if len(found) > 1 else []


def _require_column(run: Judged, by: str) -> None:
    names = next(iter(run.rows.values()), {})
    if by in (*JUDGES, "respondent", "run") or by in names:
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


def _is_crossed(runs: Sequence[Judged], column: str, prompts: Sequence[Mapping[str, str]]) -> bool:
    """Whether a respondent has several values of the column on one prompt."""
    values: dict[tuple[str, str], set[str]] = {}
    for run, unit_of in zip(runs, prompts, strict=True):
        for row in run.rows.values():
            place = unit_of[row["prompt_id"]], row["respondent_id"]
            values.setdefault(place, set()).add(row.get(column) or "")
    return any(len(several) > 1 for several in values.values())


# What a comparison comes to -----------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """What a comparison comes to.

    Attributes:
        by: what the sides are: "respondent", "run", "model", "persona", or a column.
        sides: their names, the highest adjusted mean first; runs in their order.
        baseline: whom the others are shown against, or None where they are too many for every pair
            and nobody was named.
        criteria: of the differences, "composite" first.
        effects: (side, baseline, criterion) to the difference.
        scored: (side, baseline) to the share of pairs that the side has a score of, less that of
            the baseline.
        by_model: (side, baseline, judge model) to the difference of the composite that this model
            alone makes.
        has_judges: whether judges are known one by one: different panels are one judge each.
        orders: (side, baseline) to tau-b between their composites, where the sides are runs.
        prompts: names of the units of the differences.
    """

    by: str
    sides: tuple[str, ...]
    baseline: str | None
    criteria: tuple[str, ...]
    effects: Mapping[tuple[str, str, str], Effect]
    scored: Mapping[tuple[str, str], Estimate]
    by_model: Mapping[tuple[str, str, str], Estimate]
    has_judges: bool
    orders: Mapping[tuple[str, str], Estimate]
    prompts: Sequence[str] = field(repr=False)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(side, baseline) of every pair that was compared."""
        return list(dict.fromkeys((side, other) for side, other, _ in self.effects))

    def add_to(self, out: Estimates) -> None:
        """Adds the tables `comparison` and `comparison by model`."""
        factor = "" if self.by == "respondent" else self.by
        for effect in self.effects.values():
            self._add_effect(out, effect)
        for (side, baseline, model), alone in self.by_model.items():
            out.add(
                "comparison by model", "difference", alone, respondent=side, baseline=baseline,
                model=model, criterion=COMPOSITE, factor=factor,
            )  # fmt: skip
        for (side, baseline), tau in self.orders.items():
            out.add(
                "comparison", "tau", tau, respondent=side, baseline=baseline, criterion=COMPOSITE,
                factor=factor,
            )  # fmt: skip

    def _add_effect(self, out: Estimates, effect: Effect) -> None:
        keys, values, matched = effect.contrast.keys, effect.by_unit, effect.matched
        out.add("comparison", "difference", effect.this_panel, **keys)
        if self.has_judges:
            out.add("comparison", "difference", effect.such_judges, **keys)
        n, is_tied = len(values), np.abs(values) < 1e-9
        if n:
            for measure, mask in (("won", (values > 0) & ~is_tied), ("tied", is_tied)):
                share = wilson(int(mask.sum()), n, level=effect.this_panel.level, unit="prompt")
                share = replace(share, n_planned=effect.this_panel.n_planned, universe="this panel")
                out.add("comparison", f"prompts {measure}", share, **keys)
        if keys["criterion"] != COMPOSITE:
            return
        side, baseline = effect.contrast.arms
        pairs = Estimate(
            matched.n_kept, n=matched.n_kept, n_planned=matched.n_planned, method="count",
            unit="prompt" if self.by == "respondent" else "response", reason=matched.reason,
        )  # fmt: skip
        out.add("comparison", "pairs scored", pairs, **keys)
        out.add("comparison", "scored here alone", matched.only[side], **keys)
        out.add("comparison", "scored in the baseline alone", matched.only[baseline], **keys)
        out.add("comparison", "scored share", self.scored[side, baseline], **keys)
        out.add("comparison", "bounds", effect.bounds, **keys)
        if matched.n_one_sided:
            out.add("comparison", "one-sided judgments", matched.n_one_sided, **keys)
            out.add("comparison", "moved", effect.moved, **keys)

    def by_prompt(self) -> dict[tuple[str, str], dict[str, float]]:
        """(side, baseline) to the difference of composites on each prompt."""
        return {
            (side, other): dict(
                zip(
                    (self.prompts[int(k)] for k in effect.units),
                    map(float, effect.by_unit),
                    strict=True,
                )
            )
            for (side, other, criterion), effect in self.effects.items()
            if criterion == COMPOSITE and other == self.baseline
        }


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
        baseline: the side that all others are compared with, and no other pair; without it every
            pair is compared and the best side is the baseline (of runs, the first).
        margin: points within which sides are alike.

    Raises:
        InputError: no such column or side, fewer than two sides, or a margin not above 0.
    """
    by = by or default_by(runs)
    return _compared(long_table(runs, by), by, baseline, margin, runs[0].scale, runs[0].name)


def _compared(
    table: pd.DataFrame,
    by: str,
    baseline: str | None,
    margin: float | None,
    scale: tuple[float, float],
    name: str,
) -> Compared:
    scores = scores_of(table)
    faults = []
    if margin is not None and not margin > 0:
        faults.append(InputFault("margin", f"must be above 0, got {margin:g}"))
    if len(scores.arms) < 2:
        only = f"{by} {scores.arms[0]} is the only one" if scores.arms else f"there is no {by}"
        faults.append(InputFault(name, f"nothing to compare: {only}"))
    elif baseline is not None and baseline not in scores.arms:
        faults.append(
            InputFault("baseline", f"must be one of {', '.join(scores.arms)}, got {baseline!r}")
        )
    if faults:
        raise InputError(faults)
    with_mean = scores_of(table, means=True)
    by_side = dict(zip(scores.arms, _prompt_scores(with_mean), strict=True))
    sides = list(scores.arms)
    if by != "run":
        means = {
            side: np.nanmean(values) if np.isfinite(values).any() else -math.inf
            for side, values in by_side.items()
        }
        sides.sort(key=lambda side: (-means[side], side))
    contrasts = contrasts_of(sides, scores.columns, by=by, baseline=baseline, margin=margin)
    each = effects(scores, contrasts, scale=scale)
    held = (sides[0] if contrasts else None) if baseline is None else baseline
    models = dict.fromkeys(table["model"]) if "model" in table else {}
    by_model: dict[tuple[str, str, str], Estimate] = {}
    shown = [one for one in contrasts if held in one.arms and one.columns == COMPOSITE]
    for model in models:
        alone = scores_of(table[table["model"] == model]) if model else None
        if alone is None or alone.persona.size == 0:
            continue
        for effect in effects(
            alone, [one for one in shown if set(one.arms) <= set(alone.arms)], scale=scale
        ):
            side, other = effect.contrast.arms
            by_model[side, other, model] = effect.this_panel
    return Compared(
        by=by,
        sides=tuple(sides),
        baseline=held,
        criteria=scores.columns,
        effects={(*one.arms, one.keys["criterion"]): effect  # type: ignore[misc]
                 for one, effect in zip(contrasts, each, strict=True)},
        scored={
            (one.keys["respondent"], one.keys["baseline"]): _scored(scores, *one.arms)
            for one in contrasts
            if one.columns == COMPOSITE
        },
        by_model=by_model,
        has_judges="model" in table,
        orders={
            (side, other): _order(with_mean, side, other)
            for side, other in (one.arms for one in contrasts
                                if by == "run" and one.columns == COMPOSITE)
        },
        prompts=scores.units,
    )  # fmt: skip


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
        names, scores, different: see `instruments_table`.
        scale: the lowest and the highest score, of all of them.
        margin: points within which they are alike.
    """
    table = instruments_table(names, scores, different)
    return _compared(table, "run", names[0], margin, scale, names[0])


def means_of_respondents(run: Judged) -> dict[tuple[str, str], Effect]:
    """(respondent, criterion) to the mean over prompts, in both universes; decides nothing.

    A prompt is a mean over the respondent's responses to it. Limits are not cut at the ends of the
    scale here.
    """
    scores = scores_of(long_table([run], "respondent"), means=True)
    contrasts = [
        Contrast({side: 1.0}, criterion) for side in scores.arms for criterion in scores.columns
    ]
    return {
        (side, str(one.contrast.columns)): one
        for one in effects(scores, contrasts)
        for side in one.contrast.arms
    }


def prompt_scores(run: Judged) -> tuple[tuple[str, ...], Floats]:
    """(respondents, composites of shape (prompts, respondents)), freed from missing judges."""
    scores = scores_of(long_table([run], "respondent"), means=True)
    return scores.arms, _prompt_scores(scores).T


def _prompt_scores(scores: Scores) -> Floats:
    """Shape (sides, prompts): composites freed from which judges were there; nan without any."""
    n_prompts, n_judges = len(scores.units), len(scores.persona)
    shape = len(scores.arms) * n_prompts, n_judges
    totals, counts = np.zeros(shape), np.zeros(shape)
    for place, side in enumerate(scores.sides.values()):
        row = place * n_prompts + scores.unit_of[side.items]
        np.add.at(totals, row, side.totals[:, :, 0])
        np.add.at(counts, row, side.counts)
    has = counts.sum(axis=1) > 0
    fit = AdditiveFit(n_judges, 1)
    fit.add(totals[has][:, :, None], counts[has])
    values: Floats = np.full(shape[0], np.nan)
    if has.any():
        values[has] = totals[has].sum(axis=1) / counts[has].sum(axis=1)
        values[has] += fit.moved(counts[has])[:, 0]
    # Rounded: what ties must not depend on the order in which judges are summed.
    return np.round(values, 9).reshape(len(scores.arms), n_prompts)


def _scored(scores: Scores, first: str, second: str) -> Estimate:
    """The share of pairs that enough judges scored on the first side, less that on the second."""
    sides = [scores.sides[first], scores.sides[second]]
    items = np.intersect1d(sides[0].items, sides[1].items)
    at = [side.at(items) for side in sides]
    enough = np.clip((at[0].wanted & at[1].wanted).sum(axis=1), 1, FEWEST_JUDGES)
    is_scored = [((side.counts > 0).sum(axis=1) >= enough) * 1.0 for side in at]
    prompts, of_item = np.unique(scores.unit_of[items], return_inverse=True)
    n = np.bincount(of_item.reshape(-1), minlength=len(prompts))
    shares = np.bincount(of_item.reshape(-1), is_scored[0] - is_scored[1], len(prompts)) / n
    (share,) = decided(shares[:, None], of="share of pairs with a score", bounds=(-1.0, 1.0))
    return replace(share, needed=None)


def _order(scores: Scores, first: str, second: str) -> Estimate:
    """Tau-b between the plain composites of two sides over what both have."""
    from .aggregation.kendall import kendall_tau_b

    sides = [scores.sides[first], scores.sides[second]]
    items = np.intersect1d(sides[0].items, sides[1].items)
    at = [side.at(items) for side in sides]
    n = [side.counts.sum(axis=1) for side in at]
    both = (n[0] > 0) & (n[1] > 0)
    values = [
        side.totals[both][:, :, 0].sum(axis=1) / count[both]
        for side, count in zip(at, n, strict=True)
    ]
    tau = kendall_tau_b(*np.round(values, 9)) if both.sum() > 1 else math.nan
    reason = None if math.isfinite(tau) else "one of them gives all the same score, or too few"
    return Estimate(tau, n=int(both.sum()), unit="pair", method="description: tau-b", reason=reason)


# Runs ---------------------------------------------------------------------------------------------


class JudgedRun(Protocol):
    """What a comparison needs of a panel run: `areopagus.Run` is one."""

    @property
    def path(self) -> Path:
        """Its folder."""
        ...

    @property
    def record(self) -> dict[str, Any]:
        """The content of run.json."""
        ...

    @property
    def tables_folder(self) -> Path:
        """Where its tables are read: an excerpt of a very long run."""
        ...

    @property
    def part(self) -> str | None:
        """What these hold of a very long run; None where it is all."""
        ...

    @property
    def score_rows(self) -> list[dict[str, str]]:
        """The rows of scores.csv."""
        ...


class Comparison(Shown):
    """What `compare` says of panel runs, as figures and as a document.

    Attributes:
        runs: the runs, in the order given.
        names: of the runs, told apart.
        is_one_panel: whether one panel judged all of them.
        result: what was compared.
        record: what a folder's run.json holds of it.
    """

    def __init__(
        self,
        runs: Sequence[JudgedRun],
        *,
        by: str | None = None,
        baseline: str | None = None,
        margin: float | None = None,
    ) -> None:
        """Reads the runs and compares; see `areopagus.compare`."""
        from .calibrated import people_sentence
        from .reports.comparison import stored_comparison
        from .reports.weak_models import add_model_scores, weak_models

        if not 1 <= len(runs) <= MOST_RUNS:
            raise InputError(f"a comparison takes 1 to {MOST_RUNS} runs, got {len(runs)}")
        self.runs = tuple(runs)
        self.names = _names([run.path for run in self.runs])
        self._require_one_scale()
        identities = [panel_of(run.record["identity"]) for run in self.runs]
        self.is_one_panel = all(one == identities[0] for one in identities)
        different = [set[str]() for _ in self.runs]
        tables = [
            judged(name, run.tables_folder, run.record, run.score_rows)
            for name, run in zip(self.names, self.runs, strict=True)
        ]
        weak: dict[str, str] = {}
        for one in tables:
            scores = Estimates()
            add_model_scores(scores, one.table)
            weak |= weak_models(scores.frame())
        if self.is_one_panel:
            by = by or default_by(tables)
            if len(tables) > 1 and by == "run" and baseline is None:
                baseline = self.names[0]
            self.result = compared(tables, by=by, baseline=baseline, margin=margin)
        else:
            self._require_runs_as_sides(by, baseline)
            different = [different_texts(self.runs[0], run) for run in self.runs]
            self.result = compared_instruments(
                self.names, [run.score_rows for run in self.runs], different,
                scale=scale_of(self.runs[0].record), margin=margin,
            )  # fmt: skip
        by_name = dict(zip(self.names, self.runs, strict=True))
        self.record: dict[str, Any] = {
            "kind": "comparison",
            "format": RUN_FORMAT,
            "state": "complete",
            "of": "panel",
            "identity": {
                "runs": [run_identity_hash(run.record["identity"]) for run in self.runs],
                "by": self.result.by, "baseline": baseline, "margin": margin,
            },
            **stored_comparison(
                by_name,
                people={name: people_sentence(run.path) for name, run in by_name.items()},
                by_prompt=self.result.by_prompt(), criteria=self.result.criteria, margin=margin,
                is_one_panel=self.is_one_panel, weak=weak,
                notices=list(self._notices(different)),
            ),
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"{type(self).__name__}({' '.join(self.document().headline[:1])})"

    def _require_one_scale(self) -> None:
        scales = {tuple(run.record["identity"]["scale"]) for run in self.runs}
        if len(scales) > 1:
            each = ", ".join(f"{low:g} to {high:g}" for low, high in sorted(scales))
            raise InputError(
                [InputFault(str(self.runs[0].path), f"the runs have different scales: {each}")]
            )

    def _require_runs_as_sides(self, by: str | None, baseline: str | None) -> None:
        faults = []
        why = "the runs were judged by different panels, so that only whole runs are compared"
        if by not in (None, "run"):
            faults.append(InputFault("by", f"must be left out: {why}"))
        if baseline not in (None, self.names[0]):
            faults.append(InputFault("baseline", f"must be the first run, {self.names[0]}: {why}"))
        if faults:
            raise InputError(faults)

    @cached_property
    def estimates(self) -> pd.DataFrame:
        """Every figure: the tables `comparison` and `comparison by model`."""
        rows = Estimates()
        self.result.add_to(rows)
        return rows.frame()

    def document(self) -> Document:
        """What is shown: who scores higher, the differences, what differs between the runs."""
        from .reports.comparison import comparison_document

        return comparison_document(self.record, self.estimates)

    def _notices(self, different: Sequence[set[str]]) -> Iterator[str]:
        prompts = units_of_runs([run.score_rows for run in self.runs])
        several = len(self.runs) > 1
        for name, unit_of in zip(self.names, prompts, strict=True):
            if shared := shared_texts_told(unit_of):
                yield f"{name}: {shared}" if several else shared
            paired = {unit for one, unit in unit_of.items() if one not in prompts[0]}
            if n := len(paired.intersection(prompts[0].values())):
                yield f"{name}: {units(n, 'prompt')} paired by the text, under another id."
        for name, run in zip(self.names, self.runs, strict=True):
            if run.part:
                yield f"{name} is long: what is compared is of {run.part}."
        for name, changed in zip(self.names, different, strict=True):
            if changed:
                yield (
                    "Responses with the same id and another text, which are not paired: "
                    f"{len(changed):,} in {name}."
                )

    def write(self, out: str | Path, *, figures: bool = True) -> Shown:
        """Writes a folder of results with its report, as every job does, and returns it.

        Args:
            out: the folder; one that holds another comparison is refused.
            figures: whether the report has pictures.

        Raises:
            InputError: the folder holds something else.
            StoreError: it cannot be written.
        """
        # A folder of results is a run of its kind, which stands above all panels.
        kind: Any = import_module(".changes.run", __package__)
        run: Shown = kind.write_comparison(out, self.record, self.estimates, figures=figures)
        return run

    def write_report(self, out: str | Path, *, figures: bool = True) -> Path:
        """Writes the page, its pictures beside it, and returns its path.

        Raises:
            StoreError: it cannot be written.
        """
        from .reports.html import write_page

        return write_page(out, self.document(), figures=figures)


def _names(paths: Sequence[Path]) -> list[str]:
    names = [path.resolve().name for path in paths]
    return [
        name if names.count(name) == 1 else f"{name} ({place + 1})"
        for place, name in enumerate(names)
    ]


def different_texts(first: JudgedRun, other: JudgedRun) -> set[str]:
    """The ids under which the two judged different texts."""
    hashes = [run.record["identity"].get("responses_sha256") for run in (first, other)]
    if hashes[0] == hashes[1]:
        return set()
    ids = [row["response_id"] for row in first.score_rows]
    here, there = read_texts(first.path, ids), read_texts(other.path, ids)
    return {name for name, text in here.items() if name in there and there[name] != text}
