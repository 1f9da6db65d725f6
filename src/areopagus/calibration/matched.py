"""What was matched and what was not: counted in the estimates, named in run.json."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aggregation.estimate import Estimate
from ..records.estimates import Estimates
from ..records.humans import HumanReading, misfits
from ..records.types import STATUSES
from .dataset import Dataset, Target

SHOWN = 1000
"""So many places of a kind, and ids of responses that nobody rated, are named."""

TABLE = "matched"


def add_matched(
    out: Estimates, dataset: Dataset, reading: HumanReading | None, target: Target | None
) -> dict[str, Any]:
    """Adds the table "matched", and returns what was left out by name, for run.json.

    The keys of what is returned: "misfits" (a sentence and its places with their rows), "unrated"
    (ids of judged responses), "left_out" (on reading: reason and rows), "notices" (what was
    assumed).
    """
    raters, prompts, rated = (
        np.unique(np.concatenate(parts)) if parts else np.zeros(0)
        for parts in (
            [one.rater for one in dataset.ratings],
            [one.prompt for one in dataset.ratings],
            [one.response for one in dataset.ratings],
        )
    )
    items, report = dataset.calibration, dataset.match
    found = _misfits(dataset)
    unrated = report.unrated_responses if report else ()
    counts = {
        "n_raters": len(raters),
        "n_prompts": len(prompts),
        "n_responses": len(rated),
        "n_ratings": sum(len(one) for one in dataset.ratings),
        "n_item_ratings": sum(len(one) for one in items.ratings) if items else 0,
        "n_missing": reading.n_missing if reading else 0,
        "n_repeated": dataset.n_repeated,
        "n_without_match": dataset.n_without_match,
        "n_out_of_range": report.n_out_of_range if report else 0,
        "n_unrated": len(unrated),
    }
    out.add_all(TABLE, counts)
    _add_panel(out, dataset, target, len(rated))
    exclusions = reading.exclusions if reading else ()
    for one in exclusions:
        out.add(TABLE, "n_left_out", one.n, factor="reason", group=one.reason)
    return {
        "misfits": [[one.said, one.shown(SHOWN)] for one in found],
        "unrated": list(unrated[:SHOWN]),
        "left_out": [[one.reason, misfits.rows_said(one.lines, one.n)] for one in exclusions],
        "notices": [*(reading.notices if reading else ()), *dataset.notices],
    }


def _misfits(dataset: Dataset) -> list[misfits.Misfit]:
    report = dataset.match
    if report is None:
        return [one for one in (misfits.repeated(dataset.n_repeated, ()),) if one.n]
    gone = {one.id for one in report.unmatched_ratings}
    # those of responses that the run does not have are among the unmatched already
    repeated = [one for one in report.repeated if one.response_id not in gone]
    found = (
        misfits.unmatched(dataset.n_without_match, report.unmatched_ratings),
        misfits.repeated(dataset.n_repeated, repeated),
        misfits.off_scale(report.n_out_of_range, report.out_of_range),
        misfits.unknown_raters(misfits.joined(report.unknown_raters)),
        misfits.other_prompts(report.other_prompts),
    )
    return [one for one in found if one.n]


def _add_panel(out: Estimates, dataset: Dataset, target: Target | None, n_rated: int) -> None:
    """Adds the panel's side: its size, judgments by status, and responses scored and rated."""
    panel = dataset.panel
    if panel is None:
        return
    P, M, T = panel.shape
    score = target.panel if target is not None else panel.ensemble()
    both = target.both if target is not None else np.zeros(len(score), dtype=bool)
    there = np.isfinite(panel.scores).any(axis=(0, 3, 4))
    asked = sum(panel.status.values(), np.zeros_like(there, dtype=np.int64)) > 0
    n_scored = int(np.isfinite(score).sum())

    def of(n: int, planned: int, method: str) -> Estimate:
        return Estimate(n, n=n, n_planned=planned, unit="response", method=method, level=np.nan)

    figures: dict[str, Estimate | float] = {
        "n_judges": int((there | asked).sum()),
        "n_personas": P,
        "n_models": M,
        "n_repeats": T,
        "n_scored": of(n_scored, len(score), "judged responses with a panel score"),
        "n_rated": of(n_rated, len(score), "judged responses that people rated"),
        "n_both": of(int(both.sum()), len(score), "judged responses both rated and scored"),
        "n_prompts_both": len(np.unique(dataset.responses.prompt[both])),
    }
    out.add_all(TABLE, figures)
    known = [name for name in (*STATUSES, *panel.status) if name in panel.status]
    for name in dict.fromkeys(known):
        out.add(TABLE, "n_judgments", int(panel.status[name].sum()), factor="status", group=name)
