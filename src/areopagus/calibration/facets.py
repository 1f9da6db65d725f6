"""Who uses part of the scale, and who is erratic, by the many-facet model: on request, of people.

See `aggregation.many_facet`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.many_facet import ERRATIC, NARROW_RANGE, WIDE, many_facet
from ..formats import estimate, listed, percent, units
from ..records.estimates import Estimates, estimate_at, estimates_by, select
from ..reports.document import Column, Paragraph, Part, Points, Table
from .people import UNNAMED

if TYPE_CHECKING:
    import pandas as pd

    from .dataset import Dataset

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

TABLE: Final = "many facets"

MOST_FITTED: Final = 40_000
"""Ratings that are fitted; of more, those of prompts drawn at random."""


def add_many_facets(
    out: Estimates, dataset: Dataset, *, level: float = 0.95, seed: int = 0
) -> None:
    """Adds the table "many facets": by rater range_use and consistency of `many_facet`.

    Without a rater n_ratings, n_responses and n_prompts that were fitted; or, in "fit", why there
    is nothing.

    Args:
        out: takes the figures.
        dataset: what people rated.
        level: of the intervals.
        seed: of the draw of prompts, where there are more ratings than are fitted.
    """
    scored = [ratings for ratings in dataset.ratings if ratings.kind == "score"]
    if not scored:
        return  # ranks only: there is no scale to speak of
    if dataset.has_unnamed_raters:
        out.add(TABLE, "fit", undefined(UNNAMED))
        return
    ends = {dataset.scale_of(ratings.criterion) for ratings in scored}
    scale = ends.pop()
    if scale is None or ends:
        why = "criteria have scales of their own" if ends else "no scale is known"
        out.add(TABLE, "fit", undefined(why))
        return
    score: Floats = np.concatenate([ratings.value for ratings in scored])
    response, rater, prompt = (
        np.concatenate([getattr(ratings, name) for ratings in scored])
        for name in ("response", "rater", "prompt")
    )
    criterion: Integers = np.repeat(np.arange(len(scored)), [len(ratings) for ratings in scored])
    prompts = np.unique(prompt)
    kept = np.ones(len(score), dtype=bool)
    if len(kept) > MOST_FITTED:
        n = max(1, int(len(prompts) * MOST_FITTED / len(kept)))
        drawn = np.random.default_rng(seed).choice(prompts, size=n, replace=False)
        kept = np.isin(prompt, drawn)
    fit = many_facet(
        score[kept], response[kept], rater[kept], scale=(int(scale[0]), int(scale[1])),
        criterion=criterion[kept], prompt=prompt[kept], level=level,
    )  # fmt: skip
    if fit.reason is not None:
        out.add(TABLE, "fit", undefined(fit.reason))
        return
    n_prompts = len(np.unique(prompt[kept]))
    out.add_all(TABLE, {
        "n_ratings": fit.n_ratings,
        "n_responses": fit.n_responses,
        "n_prompts": Estimate(
            n_prompts, n=n_prompts, n_planned=len(prompts), method="count", level=math.nan
        ),
    })  # fmt: skip
    order = sorted(range(len(fit.raters)), key=lambda k: dataset.rater_ids[fit.raters[k]])
    for k in order:
        figures = {"range_use": fit.range_use[k], "consistency": fit.consistency[k]}
        out.add_all(TABLE, figures, rater=dataset.rater_ids[fit.raters[k]])
    for code, why in fit.left_out:
        out.add(TABLE, "range_use", undefined(why), rater=dataset.rater_ids[code])


# What is shown

_Row = tuple[dict[str, Any], dict[str, Estimate]]


def _raters(estimates: pd.DataFrame) -> list[_Row]:
    """The raters who were fitted."""
    rows = select(estimates, TABLE)
    by_rater = estimates_by(rows[rows["rater"].notna()], ["rater"])
    return [row for row in by_rater if "consistency" in row[1]]


def scale_use(estimates: pd.DataFrame) -> str:
    """Who uses part of the scale and who is erratic, in a line; "" where nobody does."""
    names_by_verdict: dict[str, list[str]] = {}
    for keys, figures in _raters(estimates):
        name, range_use = str(keys["rater"]), figures["range_use"]
        if figures["consistency"].verdict == ERRATIC:
            names_by_verdict.setdefault("erratic", []).append(name)
        if range_use.verdict == NARROW_RANGE:
            share = f"{name} ({percent(range_use.value)})"
            names_by_verdict.setdefault("uses part of the others' range", []).append(share)
        elif range_use.verdict == WIDE:
            names_by_verdict.setdefault("goes to the ends", []).append(name)
    return "; ".join(f"{what}: {listed(names, 3)}" for what, names in names_by_verdict.items())


def facets_parts(estimates: pd.DataFrame) -> Iterator[Part]:
    """The section: who departs from the others, the table, and what was fitted."""
    if not len(select(estimates, TABLE)):
        return
    if (none := estimate_at(estimates, TABLE, "fit")) is not None:
        yield Paragraph(f"Many-facet model not fitted: {none.reason}.")
        return
    raters = _raters(estimates)
    yield Points(list(_sentences(raters)) or [("", "Nobody departs from the others.")])
    yield Table(
        "Share of the range that the others use, and how much scores follow quality beside theirs "
        "(1). Named after Holm's correction.",
        "Raters by the many-facet model",
        [Column("rater", "id"), Column("range", "estimate"), Column("consistency", "estimate"),
         Column("called")],
        [
            [str(keys["rater"]), figures["range_use"], figures["consistency"],
             ", ".join(figure.verdict for figure in figures.values() if figure.verdict)]
            for keys, figures in raters
        ],
        notes=_reasons(raters),
    )  # fmt: skip
    yield Points(list(_notes(estimates)))
    yield Paragraph(MEASURED, "quiet")


MEASURED: Final = (
    "In simulations of five raters and 26 prompts of four responses a rater with half the range "
    "was named in .99 of worlds, an erratic one in .96, somebody else as either in .02 and .00; at "
    "9 prompts in .45 and .35, somebody else in .06 and .00: there a rater who is not named may "
    "still be one."
)

_VERDICTS: Final = {
    ERRATIC: ("Erratic, scores follow quality less and scatter more:", "consistency", " of others"),
    NARROW_RANGE: ("Uses part of the scale:", "range_use", " of the others' range"),
    WIDE: ("Goes to the ends of the scale:", "range_use", " of the others' range"),
}
"""How a verdict is said: the head, the figure, and what that is."""


def _sentences(raters: list[_Row]) -> Iterator[tuple[str, str]]:
    """Who is erratic, and who uses part of the scale: a sentence each."""
    for verdict, (head, measure, text) in _VERDICTS.items():
        mine = [
            f"{keys['rater']} ({estimate(figures[measure])}{text})"
            for keys, figures in raters
            if figures[measure].verdict == verdict
        ]
        if mine:
            yield head, f"{listed(mine, 5)}."


def _reasons(raters: list[_Row]) -> list[str]:
    """Why figures are missing, once each, with for whom where that is not everybody."""
    names_by_reason: dict[str, list[str]] = {}
    for keys, figures in raters:
        if why := figures["range_use"].reason:
            names_by_reason.setdefault(why, []).append(str(keys["rater"]))
    return [
        f"{why}." if len(names) == len(raters) else f"{why}: {listed(names, 5)}."
        for why, names in names_by_reason.items()
    ]


def _notes(estimates: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """What the fit rests on, and who was left out."""
    ratings, responses, prompts = (
        estimate_at(estimates, TABLE, name) for name in ("n_ratings", "n_responses", "n_prompts")
    )
    if ratings is not None and responses is not None and prompts is not None:
        drawn = ""
        if prompts.n_planned is not None and prompts.n_planned > prompts.n:
            drawn = f", drawn at random of {prompts.n_planned:,}"
        of_what = f"{units(int(responses.value), 'response')} to {units(prompts.n, 'prompt')}"
        yield "Fitted:", f"{units(int(ratings.value), 'rating')} of {of_what}{drawn}."
    rows = select(estimates, TABLE, measure="range_use")
    fitted = {str(keys["rater"]) for keys, _ in _raters(estimates)}
    left = rows[~rows["rater"].isin(fitted)]
    for why, mine in left.groupby("reason", sort=False):
        yield "Not fitted:", f"{listed([str(name) for name in mine['rater']], 5)}: {why}."
