"""What was matched and what was not, counted and named; and what these data cannot say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
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
    (ids of judged responses), "missing" (code and rows of ratings that are not there), "left_out"
    (on reading: reason and rows), "notices" (what was assumed).
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
    missing = reading.missing_by_code() if reading else {}
    for code, (n, _) in missing.items():
        out.add(TABLE, "n_missing_by_code", n, factor="code", group=code)
    return {
        "misfits": [[one.said, one.shown(SHOWN)] for one in found],
        "unrated": list(unrated[:SHOWN]),
        "missing": [[code, misfits.rows_said(lines, n)] for code, (n, lines) in missing.items()],
        "left_out": [[one.reason, misfits.rows_said(one.lines, one.n)] for one in exclusions],
        "notices": [
            *(reading.notices if reading else ()),
            *filter(None, [reading.unread() if reading else None]),
            *dataset.notices,
        ],
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
    score, plain, is_unbalanced = panel.mean(target.criterion if target is not None else None)
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
    rated = {int(code) for one in dataset.ratings for code in np.unique(one.prompt)}
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
    if kinds == {"rank"}:
        yield (
            "levels: severity of raters, a map to people's scale, means, conformal widths",
            "people gave ranks, and ranks hold an order and no level",
        )
    raters = {int(code) for one in dataset.ratings for code in np.unique(one.rater)}
    if len(raters) < 2:
        yield "agreement between people", "one rater"
    if not responses.has_both_sources:
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
