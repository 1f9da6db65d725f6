"""Raters, responses and thresholds on one ruler: the table "many facets" and its picture.

See `aggregation.many_facet`. On request only, and of people alone unless judges are wanted: people
and judges are then fitted together on the responses that people rated, over the criteria that both
scored. Judges of one model share their errors, so that ten of them pull the ruler towards that
model, and other people may then be called strict than among people alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.many_facet import (
    ERRATIC,
    LENIENT,
    NARROW_RANGE,
    SEVERE,
    WIDE,
    ManyFacetFit,
    many_facet,
)
from ..formats import count, estimate, listed, number, percent, units, words
from ..records.estimates import Estimates, estimate_at, estimates_by, select
from ..reports.document import Chart, Column, Paragraph, Part, Points, Table
from .people import UNNAMED

if TYPE_CHECKING:
    import pandas as pd

    from .dataset import Dataset
    from .panel_scores import PanelScores

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

TABLE: Final = "many facets"

PERSON, JUDGE = "person", "judge"

MOST_FITTED: Final = 40_000
"""Ratings that are fitted; of more, those of prompts drawn at random."""

MOST_RESPONSES: Final = 2_000
"""Responses whose quality is kept as a row each; of more, only how they are spread."""

MOST_DRAWN: Final = 10
"""People, and judges, of one picture: half of them the most severe, half the most lenient."""

OWN: Final = ("range_use", "consistency", "infit", "infit_z", "outfit", "outfit_z")
"""Figures of a rater alone, by its own kind."""

_PROVIDER: Final = r"[\w.-]+/"

_QUANTILES: Final = {"q05": 0.05, "q25": 0.25, "q50": 0.5, "q75": 0.75, "q95": 0.95}


@dataclass(frozen=True, slots=True)
class _Scored:
    """Whole scores of people, and of judges, as long arrays.

    Attributes:
        rater: codes; people first, then judges.
        is_judge: shape (N,).
        names: keys of the estimates of each rater.
        criteria: names of the criterion codes.
    """

    score: Floats
    response: Integers
    rater: Integers
    criterion: Integers
    is_judge: npt.NDArray[np.bool_]
    names: tuple[dict[str, str], ...]
    criteria: tuple[str, ...]


def add_many_facets(
    out: Estimates,
    dataset: Dataset,
    *,
    with_judges: bool = False,
    panel_scale: tuple[float, float] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> None:
    """Adds the table "many facets"; the key `factor` says what a row is of.

    person, judge   severity (logits), fair (points that the average response gets), range_use,
                    consistency, infit, outfit, infit_z, outfit_z, n_ratings
    threshold       step: the quality from which on the score `item` is likelier than the one below
    criterion       difficulty
    response        quality of the response `item`; and without an item how qualities are spread
    (none)          spread, reliability, rater_reliability, n_responses, n_ratings, n_extreme,
                    n_prompts; or, in "fit", why there is nothing

    Args:
        out: takes the figures.
        dataset: with a panel, or without.
        with_judges: whether the panel's judges are fitted beside the people.
        panel_scale: lowest and highest score of the panel, where known.
        level: of the intervals.
        seed: of the draw of prompts, where there are more ratings than are fitted.
    """
    scored = _people(dataset)
    if scored is None:
        return  # ranks only: there is no scale to speak of
    if dataset.has_unnamed_raters:
        out.add(TABLE, "fit", undefined(UNNAMED))
        return
    ends = {dataset.scale_of(name) for name in scored.criteria}
    people_scale = ends.pop()
    if people_scale is None or ends:
        why = "criteria have scales of their own" if ends else "no scale is known"
        out.add(TABLE, "fit", undefined(why))
        return
    scales = [people_scale]
    if with_judges and dataset.panel is not None:
        joint = _with_judges(dataset.panel, scored)
        if joint is None:
            out.add(
                TABLE, "judges_left_out",
                undefined("people and panel scored no criterion in common: people alone"),
            )  # fmt: skip
        else:
            scored = joint
            if panel_scale is not None and panel_scale != people_scale:
                scales.append(panel_scale)
    prompts = np.unique(dataset.responses.prompt[scored.response])
    kept = np.ones(len(scored.score), dtype=bool)
    if len(kept) > MOST_FITTED:
        rng = np.random.default_rng(seed)
        n = max(1, int(len(prompts) * MOST_FITTED / len(kept)))
        drawn = rng.choice(prompts, size=n, replace=False)
        kept = np.isin(dataset.responses.prompt[scored.response], drawn)

    def fitted(mine: npt.NDArray[np.bool_], named: list[int] | None = None) -> ManyFacetFit:
        of_side = scored.is_judge.astype(np.int64)[mine] if len(scales) > 1 else None
        return many_facet(
            scored.score[mine],
            scored.response[mine],
            scored.rater[mine],
            scale=[(int(low), int(high)) for low, high in scales],
            criterion=scored.criterion[mine],
            prompt=dataset.responses.prompt[scored.response[mine]],
            rater_scale=of_side,
            named=named,
            level=level,
        )

    # Range and consistency are those among people, and among judges; the ruler is of all.
    sides = [kept & (scored.is_judge == is_judge) for is_judge in (False, True)]
    own = [fitted(side) for side in sides if side.any()]
    fit = own[0]
    if len(own) > 1:
        named = [
            who
            for one in own
            for who, wide, apart in zip(one.raters, one.range_use, one.consistency, strict=True)
            if wide.verdict or apart.verdict
        ]
        fit = fitted(kept, named)
    n_prompts = len(np.unique(dataset.responses.prompt[scored.response[kept]]))
    _add(out, fit, own, scored, dataset, n_prompts=n_prompts, n_planned=len(prompts))


def _people(dataset: Dataset) -> _Scored | None:
    ratings = [one for one in dataset.ratings if one.kind == "score"]
    if not ratings:
        return None
    sizes = [len(one) for one in ratings]
    return _Scored(
        np.concatenate([one.value for one in ratings]),
        np.concatenate([one.response for one in ratings]),
        np.concatenate([one.rater for one in ratings]),
        np.repeat(np.arange(len(ratings)), sizes),
        np.zeros(sum(sizes), dtype=bool),
        tuple({"factor": PERSON, "rater": name} for name in dataset.rater_ids),
        tuple(one.criterion for one in ratings),
    )


def _with_judges(panel: PanelScores, people: _Scored) -> _Scored | None:
    """People and judges over the criteria of both, on the responses that people rated."""
    shared = [name for name in people.criteria if name in panel.criteria]
    if not shared:
        return None
    code_of = {people.criteria.index(name): place for place, name in enumerate(shared)}
    kept = np.isin(people.criterion, list(code_of))
    rated = np.unique(people.response[kept])
    table = panel.scores[rated][..., [panel.criteria.index(name) for name in shared]]
    places = np.nonzero(np.isfinite(table))
    models = len(panel.models)
    first = len(people.names)
    names = [
        {"factor": JUDGE, "group": name}
        | {"persona": panel.personas[k // models], "model": panel.models[k % models]}
        for k, name in enumerate(panel.judge_names())
    ]
    n = len(places[0])
    old = people.criterion[kept]
    return _Scored(
        np.concatenate([people.score[kept], table[places]]),
        np.concatenate([people.response[kept], rated[places[0]]]),
        np.concatenate([people.rater[kept], first + places[1] * models + places[2]]),
        np.concatenate([np.array([code_of[int(c)] for c in old], dtype=np.int64), places[4]]),
        np.concatenate([np.zeros(int(kept.sum()), dtype=bool), np.ones(n, dtype=bool)]),
        (*people.names, *names),
        tuple(shared),
    )


def _own_of(fits: list[ManyFacetFit]) -> dict[int, dict[str, Estimate | float]]:
    """Rater to what a fit among its own kind says of it alone."""
    return {
        who: {name: getattr(fit, name)[k] for name in OWN}
        for fit in fits
        for k, who in enumerate(fit.raters)
    }


def _add(
    out: Estimates,
    fit: ManyFacetFit,
    own: list[ManyFacetFit],
    scored: _Scored,
    dataset: Dataset,
    *,
    n_prompts: int,
    n_planned: int,
) -> None:
    if fit.reason is not None:
        out.add(TABLE, "fit", undefined(fit.reason))
        return
    for measure, value in (
        ("spread", fit.spread), ("reliability", fit.reliability),
        ("rater_reliability", fit.rater_reliability), ("n_ratings", sum(fit.n_ratings)),
        ("n_responses", len(fit.responses)), ("n_extreme", sum(fit.is_extreme)),
        ("has_own_parameters", float(fit.has_own_parameters)),
    ):  # fmt: skip
        out.add(TABLE, measure, float(value))
    out.add(
        TABLE, "n_prompts",
        Estimate(n_prompts, n=n_prompts, n_planned=n_planned, method="count", level=math.nan),
    )  # fmt: skip
    order = sorted(range(len(fit.raters)), key=lambda k: -fit.severity[k].value)
    alone = _own_of(own)
    for k in order:
        who = fit.raters[k]
        none = undefined("not fitted among its own kind")
        apart: dict[str, Estimate | float] = alone.get(who) or dict.fromkeys(OWN, none)
        figures: dict[str, Estimate | float] = {
            "severity": fit.severity[k],
            "fair": fit.fair[k],
            **apart,
            "n_ratings": float(fit.n_ratings[k]),
        }
        out.add_all(TABLE, figures, **scored.names[who])
    for rater, why in fit.left_out:
        out.add(TABLE, "severity", undefined(why), **scored.names[rater])
    for place, one in enumerate(fit.thresholds):
        whose = (PERSON, JUDGE)[place] if len(fit.thresholds) > 1 else ""
        for category, step in zip(one.categories[1:], one.step, strict=True):
            out.add(TABLE, "step", step, factor="threshold", group=whose, item=str(category))
        for category in one.unused:
            none = undefined("nobody gave it: it is no category of the fit")
            out.add(TABLE, "step", none, factor="threshold", group=whose, item=str(category))
    if len(fit.criteria) > 1:
        for code, found in zip(fit.criteria, fit.difficulty, strict=True):
            name = scored.criteria[code]
            out.add(TABLE, "difficulty", found, factor="criterion", criterion=name)
    quality = np.array(fit.quality)
    for name, share in _QUANTILES.items():
        out.add(TABLE, name, float(np.quantile(quality, share)), factor="response")
    if len(quality) <= MOST_RESPONSES:
        for code, value, error in zip(fit.responses, fit.quality, fit.quality_se, strict=True):
            made = Estimate(
                value, value - 1.96 * error, value + 1.96 * error, n=1, unit="response",
                method="posterior mean and 95% posterior interval", se=error,
            )  # fmt: skip
            name = dataset.responses.ids[code]
            out.add(TABLE, "quality", made, factor="response", item=name)


# What is shown

_Row = tuple[dict[str, Any], dict[str, Estimate]]


def _raters(estimates: pd.DataFrame) -> list[_Row]:
    """People, then judges, the most severe first; those who were fitted."""
    rows = select(estimates, TABLE)
    keys = ("factor", "rater", "group")
    return [
        row
        for kind in (PERSON, JUDGE)
        for row in estimates_by(rows[rows["factor"] == kind], keys)
        if row[1]["severity"].is_defined
    ]


def _name(keys: dict[str, Any]) -> str:
    return str(keys["rater"] if keys["factor"] == PERSON else keys["group"])


def _called(found: dict[str, Estimate]) -> list[str]:
    """The verdicts on one rater, the gravest first."""
    given = (found[name].verdict for name in ("consistency", "range_use", "severity"))
    return [one for one in given if one]


def scale_use(estimates: pd.DataFrame) -> str:
    """Who uses half the scale and who is erratic, in a line; "" where nobody does."""
    told: dict[str, list[str]] = {}
    for keys, found in _raters(estimates):
        for called in _called(found):
            if called == NARROW_RANGE:
                share = f"{_name(keys)} ({percent(found['range_use'].value)})"
                told.setdefault("uses part of the others' range", []).append(share)
            elif called in (ERRATIC, WIDE):
                what = "erratic" if called == ERRATIC else "goes to the ends"
                told.setdefault(what, []).append(_name(keys))
    return "; ".join(f"{what}: {listed(names, 3)}" for what, names in told.items())


def facets_parts(estimates: pd.DataFrame) -> Iterator[Part]:
    """The section: who departs from the others, the ruler as a picture, and the tables."""
    rows = select(estimates, TABLE)
    if not len(rows):
        return
    if (none := estimate_at(estimates, TABLE, "fit")) is not None:
        yield Paragraph(f"Many-facet model not fitted: {none.reason}.")
        return
    raters = _raters(estimates)
    yield Points(list(_sentences(raters)) or [("", "Nobody departs from the others.")])
    yield _ruler(estimates, raters)
    yield _rater_table(raters)
    if table := _step_table(estimates):
        yield table
    yield Points(list(_notes(estimates)))
    yield Paragraph(MEASURED, "quiet")


MEASURED: Final = (
    "In simulations of five raters and 26 prompts of four responses a rater with half the range "
    "was named in .99 of worlds, an erratic one in .96, somebody else as either in .02 and .00; at "
    "9 prompts in .45 and .35, somebody else in .06 and .00: there a rater who is not named may "
    "still be one."
)


HALO: Final = (
    "what a rater makes of a response on all of them at once is scatter, which shrinks the ruler: "
    "in simulated worlds of three such criteria severities and thresholds came out at .83 of their "
    "size. The 95% intervals are those of the shrunken ruler, of which they held .94 and .95. "
    "Others were named by mistake in at most .04."
)


def _sentences(raters: list[_Row]) -> Iterator[tuple[str, str]]:
    """Who is erratic, who uses half the scale, who is severe: a sentence each."""
    for verdict, (head, measure, text) in _SAID.items():
        mine = [
            f"{_name(keys)} ({_figure(found[measure], measure)}{text})"
            for keys, found in raters
            if found[measure].verdict == verdict
        ]
        if mine:
            yield head, f"{listed(mine, 5)}."


_SAID: Final = {
    ERRATIC: ("Erratic, scores follow quality less and scatter more:", "consistency", " of others"),
    NARROW_RANGE: ("Uses part of the scale:", "range_use", " of the others' range"),
    WIDE: ("Goes to the ends of the scale:", "range_use", " of the others' range"),
    SEVERE: ("Severe:", "severity", " logits"),
    LENIENT: ("Lenient:", "severity", " logits"),
}
"""How a verdict is said: the head, the figure, and what that is."""


def _figure(found: Estimate, measure: str) -> str:
    return estimate(found, is_signed=measure == "severity")


def _ruler(estimates: pd.DataFrame, raters: list[_Row]) -> Chart:
    """Responses, people, judges and thresholds on one axis of logits."""
    names: list[str] = []
    value: list[float] = []
    ends: list[tuple[float, float, float, float]] = []
    q = {
        name: estimate_at(estimates, TABLE, name, factor="response", item=None)
        for name in _QUANTILES
    }
    at = {name: math.nan if one is None else one.value for name, one in q.items()}
    n = estimate_at(estimates, TABLE, "n_responses", factor=None)
    names.append(f"{count(n.value if n else 0)} responses")
    value.append(at["q50"])
    ends.append((at["q25"], at["q75"], at["q05"], at["q95"]))
    for kind in (PERSON, JUDGE):
        mine = [row for row in raters if row[0]["factor"] == kind]
        half = MOST_DRAWN // 2
        drawn = mine if len(mine) <= MOST_DRAWN else [*mine[:half], *mine[-half:]]
        for keys, found in drawn:
            # providers and further verdicts stand in the table: a name has two short lines here
            called = f" ({_called(found)[0]})" if _called(found) else ""
            names.append(f"{kind} {re.sub(_PROVIDER, '', _name(keys))}{called}")
            one = found["severity"]
            value.append(one.value)
            ends.append((one.low, one.high, math.nan, math.nan))
    for keys, found in _steps(estimates):
        step = found["step"]
        if step.is_defined:
            whose = f" ({keys['group']}s)" if keys["group"] else ""
            names.append(f"score {keys['item']} or more{whose}")
            value.append(step.value)
            ends.append((step.low, step.high, math.nan, math.nan))
    low, high, low_wide, high_wide = ([[one[k]] for one in ends] for k in range(4))
    level = next((found["severity"].level for _, found in raters), 0.95)
    return Chart(
        "forest", "facets", "Responses, raters and thresholds on one ruler",
        "Right is better, and harder to please. Responses: median, middle half, and 90% (pale); "
        "raters: severity; thresholds: the quality from which on the usual rater rather gives "
        f"that score than the one below. With {level:.0%} intervals over prompts.",
        rows=names, values=[[one] for one in value], low=low, high=high, low_wide=low_wide,
        high_wide=high_wide, axis="logits", reference=0.0,
    )  # fmt: skip


def _steps(estimates: pd.DataFrame) -> list[_Row]:
    rows = select(estimates, TABLE, factor="threshold")
    found = list(estimates_by(rows, ("group", "item")))
    return sorted(found, key=lambda row: (row[0]["group"] or "", int(str(row[0]["item"]))))


def _rater_table(raters: list[_Row]) -> Table:
    return Table(
        "Severity in logits above the other usual raters, and the points that the average response "
        "gets; among people, or among judges: share of the range that the others use; how much "
        "scores follow quality beside theirs (1); mean squares of what the others' ratings leave "
        "over, 1 as it should be, with z. Named after Holm's correction.",
        "Raters by the many-facet model",
        [
            Column("who", "id"), Column("is", "id"),
            Column("severity", "estimate", is_signed=True), Column("fair", "number"),
            Column("range", "estimate"), Column("consistency", "estimate"),
            Column("infit", "number"), Column("z", "number", 1), Column("outfit", "number"),
            Column("called"),
        ],
        [
            [
                _name(keys), str(keys["factor"]), found["severity"], found["fair"].value,
                found["range_use"], found["consistency"], found["infit"].value,
                found["infit_z"].value, found["outfit"].value, ", ".join(_called(found)),
            ]
            for keys, found in raters
        ],
        notes=_reasons(raters),
    )  # fmt: skip


def _reasons(raters: list[_Row]) -> list[str]:
    """Why figures are missing, once each, with for whom where that is not everybody."""
    told: dict[str, list[str]] = {}
    for keys, found in raters:
        for name in ("range_use", "severity"):
            if why := found[name].reason:
                told.setdefault(why, []).append(_name(keys))
    return [
        f"{why}." if len(set(names)) == len(raters) else f"{why}: {listed(names, 5)}."
        for why, names in told.items()
    ]


def _step_table(estimates: pd.DataFrame) -> Table | None:
    found = [(keys, one["step"]) for keys, one in _steps(estimates) if one["step"].is_defined]
    if not found:
        return None
    return Table(
        "Quality in logits from which on the usual rater rather gives this score than the next "
        "lower one that is used. Thresholds that do not rise mark a score that hardly anybody "
        "needs.",
        "Thresholds",
        [Column("score", "id"), Column("threshold", "estimate")],
        [
            [f"{keys['item']} ({keys['group']}s)" if keys["group"] else str(keys["item"]), step]
            for keys, step in found
        ],
        is_short=True,
    )


def _notes(estimates: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """What the fit rests on, and what was left out."""

    def of(measure: str) -> Estimate | None:
        return estimate_at(estimates, TABLE, measure, factor=None)

    def value(measure: str) -> float:
        found = of(measure)
        return math.nan if found is None else found.value

    n = of("n_prompts")
    of_all = ""
    if n is not None and n.n_planned is not None and n.n_planned > n.n:
        of_all = f", drawn at random of {n.n_planned:,}"
    ratings, responses = (int(value(f"n_{name}s")) for name in ("rating", "response"))
    of_what = f"{units(responses, 'response')} to {units(0 if n is None else n.n, 'prompt')}"
    yield "Fitted:", f"{units(ratings, 'rating')} of {of_what}{of_all}."
    order, severities, spread = (
        number(value(name)) for name in ("reliability", "rater_reliability", "spread")
    )  # fmt: skip
    told = f"{order} of the responses' order, {severities} of the raters' severities"
    yield "Reliability:", f"{told}; the standard deviation of quality is {spread} logits."
    if value("has_own_parameters"):
        told = "in it each rater has a range and a consistency of its own, for some depart; its"
        yield "The ruler:", f"{told} unit is that of the others."
    if extreme := int(value("n_extreme")):
        told = "got the lowest score from everybody, or the highest: their quality is drawn"
        yield "Extreme:", f"{units(extreme, 'response')} {told} towards the others'."
    unused = [str(keys["item"]) for keys, one in _steps(estimates) if not one["step"].is_defined]
    if unused:
        yield "Given by nobody:", f"{', '.join(unused)}; the model has no such category."
    rows = select(estimates, TABLE)
    left = rows[(rows["measure"] == "severity") & rows["value"].isna()]
    for why, mine in left.groupby("reason", sort=False):
        names = [str(a if isinstance(a, str) else b) for a, b in
                 mine[["rater", "group"]].itertuples(index=False)]  # fmt: skip
        yield "Not fitted:", f"{listed(names, 5)}: {why}."
    if (judges := of("judges_left_out")) is not None:
        yield "Judges:", f"{judges.reason}."
    difficulty = list(estimates_by(select(estimates, TABLE, factor="criterion"), ["criterion"]))
    if difficulty:
        of_each = [f"{words(str(keys['criterion']))} {estimate(one['difficulty'], is_signed=True)}"
                for keys, one in difficulty]  # fmt: skip
        yield "Difficulty of the criteria:", f"{'; '.join(of_each)} logits."
        yield "Several criteria:", HALO
