"""What was matched and what was not, counted and named; and what these data cannot say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.preferences import Preferences
from ..aggregation.ratings import Ratings
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
    (ids of judged responses), "pool" (the column by which raters were pooled),
    "has_unnamed_raters" (whether ids of raters are places, not persons), "missing" (code and
    rows of ratings that are not there), "left_out" (on reading: reason and rows), "notices" (what
    was assumed).
    """
    labels = dataset.labels
    given: tuple[Ratings | Preferences, ...] = (*dataset.ratings, *dataset.preferences)
    parts = [one.response for one in dataset.ratings] + _compared(dataset)
    parts += [one.item for one in labels.people]
    rated = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))
    raters = {
        names[code]
        for names, of_kind in (
            (dataset.rater_ids, [one.rater for one in given]),
            (labels.rater_ids, [one.rater for one in labels.people]),
        )
        for part in of_kind
        for code in np.unique(part).tolist()
    }
    items, report = dataset.calibration, dataset.match
    found = misfits_of(dataset)
    judged = {dataset.responses.ids[k] for k in rated.tolist()}
    unrated = [one for one in (report.unrated_responses if report else ()) if one not in judged]
    counts = {
        "n_raters": len(raters),
        "n_prompts": len(np.unique(dataset.responses.prompt[rated])),
        "n_responses": len(rated),
        "n_ratings": sum(len(one) for one in dataset.ratings),
        "n_labels": sum(len(one) for one in labels.people),
        "n_preferences": sum(len(one) for one in dataset.preferences),
        "n_preferences_left_out": dataset.n_preferences_left_out,
        "n_item_ratings": sum(len(one) for one in items.ratings) if items else 0,
        "n_missing": reading.n_missing if reading else 0,
        "n_repeated": dataset.n_repeated + labels.n_repeated,
        "n_without_match": dataset.n_without_match + labels.n_without_match,
        "n_out_of_range": report.n_out_of_range if report else 0,
        "n_unrated": len(unrated),
    }
    out.add_all(TABLE, counts)
    _add_panel(out, dataset, target, rated)
    exclusions = reading.exclusions if reading else ()
    for one in exclusions:
        out.add(TABLE, "n_left_out", one.n, factor="reason", group=one.reason)
    missing = reading.missing_by_code() if reading else {}
    for code, (n, _) in missing.items():
        out.add(TABLE, "n_missing_by_code", n, factor="code", group=code)
    return {
        "misfits": [[one.said, one.shown(SHOWN)] for one in found],
        "unrated": list(unrated[:SHOWN]),
        "pool": reading.pool if reading else None,
        "has_unnamed_raters": dataset.has_unnamed_raters,
        "missing": [[code, misfits.rows_said(lines, n)] for code, (n, lines) in missing.items()],
        "left_out": [[one.reason, misfits.rows_said(one.lines, one.n)] for one in exclusions],
        "notices": [
            *(reading.notices if reading else ()),
            *filter(None, [reading.unread() if reading else None]),
            *dataset.notices,
        ],
    }


def _compared(dataset: Dataset) -> list[npt.NDArray[np.int64]]:
    return [side for one in dataset.preferences for side in (one.first, one.second)]


def misfits_of(dataset: Dataset) -> list[misfits.Misfit]:
    """Returns what does not fit, of the file and between file and run, by kind."""
    report = dataset.match
    if report is None:
        alone = (misfits.repeated(dataset.n_repeated, ()), *dataset.labels.misfits)
        return [one for one in alone if one.n]
    gone = {one.id for one in report.unmatched_ratings}
    # those of responses that the run does not have are among the unmatched already
    repeated = [one for one in report.repeated if one.response_id not in gone]
    found = (
        misfits.unmatched(dataset.n_without_match, report.unmatched_ratings),
        misfits.repeated(dataset.n_repeated, repeated),
        misfits.off_scale(report.n_out_of_range, report.out_of_range),
        misfits.unknown_raters(misfits.joined(report.unknown_raters)),
        misfits.other_prompts(report.other_prompts),
        *dataset.labels.misfits,
    )
    return [one for one in found if one.n]


def _add_panel(
    out: Estimates, dataset: Dataset, target: Target | None, rated: npt.NDArray[np.int64]
) -> None:
    """Adds the panel's side: its size, judgments by status, and responses scored and rated."""
    panel = dataset.panel
    if panel is None:
        if dataset.labels.judge_ids:
            out.add(TABLE, "n_judges", len(dataset.labels.judge_ids))
        return
    P, M, T = panel.shape
    score, plain, is_unbalanced = panel.mean(target.criterion if target is not None else None)
    both = np.isfinite(score) & np.isin(np.arange(len(score)), rated)
    if target is not None:
        both = target.both
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
        "n_rated": of(len(rated), len(score), "judged responses that people rated"),
        "n_both": of(int(both.sum()), len(score), "judged responses both rated and scored"),
        "n_prompts_both": len(np.unique(dataset.responses.prompt[both])),
    }
    if (unbalanced := is_unbalanced & np.isfinite(score)).any():
        n_unbalanced = int(unbalanced.sum())
        figures["n_unbalanced"] = of(
            n_unbalanced, n_scored, "scored responses on which a judge is missing"
        )
        figures["moved"] = Estimate(
            float(np.abs(score - plain)[unbalanced].mean()), n=n_unbalanced, unit="response",
            method="mean size of the step from the plain mean of the judges that are there to the "
            "additive fit, on those responses",
            reason="a description of these scores: no interval",
        )  # fmt: skip
    out.add_all(TABLE, figures)
    known = [name for name in (*STATUSES, *panel.status) if name in panel.status]
    for name in dict.fromkeys(known):
        out.add(TABLE, "n_judgments", int(panel.status[name].sum()), factor="status", group=name)


def limitations(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """Yields what cannot be said for want of data, by the shape of these, with its reason."""
    responses, panel = dataset.responses, dataset.panel
    given: tuple[Ratings | Preferences, ...] = (*dataset.ratings, *dataset.preferences)
    rated = {int(code) for one in given for code in np.unique(one.prompt)}
    for labels in dataset.labels.people:
        rated |= {int(code) for code in np.unique(responses.prompt[labels.item])}
    if len(rated) < MIN_UNITS:
        yield (
            "intervals and tests over prompts",
            (
                f"{len(rated)} prompts: at least {MIN_UNITS} are needed (with five, the smallest "
                "two-sided sign-flip p is .0625)"
            ),
        )
    if dataset.ratings and all(one.n_responses == one.n_prompts for one in dataset.ratings):
        yield (
            "the order of responses to one prompt",
            (
                "one response a prompt was rated: agreement is that over prompts, and no plan of a "
                "panel rests on it"
            ),
        )
    kinds = {one.kind for one in dataset.ratings}
    if kinds == {"rank"} or (dataset.preferences and not kinds):
        gave = " and ".join([*(["ranks"] if kinds else []), *(["preferences"] if dataset.preferences
                                                              else [])])  # fmt: skip
        yield (
            "levels: severity of raters, a map to people's scale, means, conformal widths",
            f"people gave {gave}, which hold an order and no level",
        )
    of_all = [one.rater for one in (*given, *dataset.labels.people)]
    if max((len(np.unique(raters)) for raters in of_all), default=0) < 2:
        yield "agreement between people", "one rater"
    if given and not responses.has_both_sources:
        yield (
            "whether agreement is only recognition of people and models",
            "the sources of the responses are not known, or there is one only",
        )
    if not any(responses.domain):
        yield "figures by domain", "no domain column"
    if panel is None:
        return
    P, M, T = panel.shape
    if M == 1:
        yield "how other models would judge", "one model: what it shares with itself is not error"
    elif M < 5:
        yield (
            "the variance between models",
            f"{M} models: read figures for other models as for these only",
        )
    if P == 1:
        yield "what personas add", "one persona, or none"
    if T == 1:
        yield "a judge's own re-ask noise", "no repeats: it is not told from its interactions"
    if not np.isfinite(responses.length).any():
        yield "whether length sways judges", "the lengths of the responses are not known"
