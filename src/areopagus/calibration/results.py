"""Means of respondents and differences between them: as the panel says, and on people's scale.

Beside what the panel's scores say stands what people would have said, by one of three ways:

    prediction-powered   the rated prompts are a random sample: what the panel misses on them is put
                         right (`aggregation.prediction_powered`), with an interval over prompts
    people alone         every prompt is rated: people's own mean, with its interval
    map                  nobody rated these prompts, or they were chosen: the panel's scores through
                         the map that was earned, without an interval, since nothing here shows that
                         the responses are like those that it was fitted to. A map puts levels
                         right; a respondent whom the panel favours stays favoured

A judge that moved since does no harm to the first two: people's ratings are held against the scores
of the run that is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..aggregation.effects import Contrast, Effect, Scores, effects
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import MIN_UNITS, mean_by_prompt, t_interval
from ..aggregation.jackknife import cut_to_range
from ..aggregation.prediction_powered import MeanOverPrompts, ppi_over_prompts
from ..formats import units
from ..records.estimates import Estimates
from .dataset import COMPOSITE
from .later_panel import LaterPanel
from .saved import SavedCalibration

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST_SIDES = 20
"""Respondents of which every pair is compared; with more, none."""
EVERYBODY = "all responses"
UNNAMED = "unnamed"
"""Respondents where nobody says who wrote: of all responses, of some."""

RANDOM = "random"
"""How rated prompts were taken, where they are a random sample."""

HOLDS_IF_ALIKE = (
    "the map holds if these responses are like the calibrated ones, and a respondent whom the "
    "panel favours stays favoured"
)


@dataclass(frozen=True, slots=True)
class Sampled:
    """What people rated of a run.

    Attributes:
        refused: why nothing is corrected with people's ratings of this run; None where it is.
        n_rated, n_prompts: prompts with ratings, of those of the run that were calibrated.
        n_new: prompts that were not: no sample stands for them.
        n_raters: raters of these prompts.
        n_unpaired: prompts and pairs on which no rater rated both sides: there the difference is
            that of the means of different raters.
    """

    refused: str | None
    n_rated: int = 0
    n_prompts: int = 0
    n_new: int = 0
    n_raters: int = 0
    n_unpaired: int = 0


def add_results(
    out: Estimates,
    saved: SavedCalibration,
    later: LaterPanel,
    different: Sequence[str],
    *,
    is_other: bool,
) -> Sampled:
    """Adds means and differences, raw and corrected, and returns what people rated of the run.

    "means"       by respondent: `mean` as the panel says it, `corrected`, `people alone` (of the
                  rated prompts), `weight` (how far the panel is listened to, 0 to 1)
    "comparison"  by respondent and baseline: `difference` as in `compare` (this panel, such
                  judges), `corrected`, `people alone`, `weight`; decided over all pairs in each

    A respondent's prompt is the mean over its responses; people's difference on a prompt is that of
    the raters who rated both sides there.

    Args:
        out: takes the figures.
        saved: the calibration.
        later: what it is applied to.
        different: ids of responses whose text is another than the calibrated one.
        is_other: whether the panel is another than the calibrated one.
    """
    criterion = saved.level_criterion
    score = later.panel.ensemble(criterion)
    prompt = np.unique(later.units, return_inverse=True)[1].reshape(-1).astype(np.int64)
    who = _respondents(saved, later)
    sides = list(dict.fromkeys(who))
    side = np.array([sides.index(name) for name in who], dtype=np.int64)
    people = _People.of(saved.people, later.ids, set(different), prompt, side)
    sampled = _sampled(people, saved, is_other=is_other)
    mapped = None
    if saved.map_x and not is_other and criterion == saved.criterion:
        mapped = np.where(np.isfinite(score), np.interp(score, saved.map_x, saved.map_y), np.nan)
    n_prompts = int(prompt.max(initial=-1)) + 1

    def by_prompt(values: Floats, mine: npt.NDArray[np.bool_]) -> Floats:
        return mean_by_prompt(values[mine], prompt[mine], n_prompts)

    def corrected(
        of_people: Floats, of_panel: Floats, of_map: Floats | None, tests: int | None = None
    ) -> MeanOverPrompts:
        why = sampled.refused
        if why is None and np.isnan(of_people[np.isfinite(of_panel)]).any():
            why = _not_random(saved.rated)
        if why is None:
            return ppi_over_prompts(of_people, of_panel, level=saved.level, tests=tests)
        none = undefined(why)
        if of_map is None or not np.isfinite(of_map).any():
            return MeanOverPrompts(none, none, np.nan)
        known = of_map[np.isfinite(of_map)]
        told = Estimate(
            float(known.mean()), n=len(known), method=f"mean over prompts, {saved.map_name} map",
            level=saved.level, reason=HOLDS_IF_ALIKE, universe="this panel",
        )  # fmt: skip
        return MeanOverPrompts(told, none, np.nan)

    means: dict[int, tuple[Estimate, MeanOverPrompts]] = {}
    for code in range(len(sides)):
        mine = side == code
        raw = t_interval(by_prompt(score, mine), level=saved.level)
        raw = cut_to_range(raw, later.scale)
        raw = replace(raw, n_planned=len(np.unique(prompt[mine])), universe="this panel")
        found = corrected(
            by_prompt(people.score, mine),
            by_prompt(score, mine & people.is_calibrated),
            None if mapped is None else by_prompt(mapped, mine),
        )
        means[code] = raw, found
    # the highest on people's scale first, where all are known on it
    on_people = all(found.mean.is_defined for _, found in means.values())
    ahead = {c: (one.mean if on_people else raw).value for c, (raw, one) in means.items()}
    order = sorted(means, key=lambda c: (-np.nan_to_num(ahead[c], nan=-np.inf), sides[c]))
    keys = {"criterion": criterion or COMPOSITE}
    for code in order:
        raw, found = means[code]
        figures = {"mean": raw, **_figures(found)}
        out.add_all("means", figures, respondent=sides[code], **keys)
    if len(sides) > MOST_SIDES:
        return sampled
    pairs = [(a, b) for k, a in enumerate(order) for b in order[k + 1 :]]
    each = _raw_differences(later, criterion, side, prompt, pairs, saved.level)
    there: list[MeanOverPrompts] = []
    n_unpaired = 0
    for (a, b), difference in zip(pairs, each, strict=True):
        of_panel = np.full(n_prompts, np.nan)
        of_panel[difference.units] = difference.by_unit
        is_known = [
            np.bincount(prompt[(side == one) & people.is_calibrated], minlength=n_prompts) > 0
            for one in (a, b)
        ]
        of_panel[~(is_known[0] & is_known[1])] = np.nan
        of_people, unpaired = people.difference(a, b, n_prompts)
        n_unpaired += unpaired
        of_map = None
        if mapped is not None:
            of_map = by_prompt(mapped, side == a) - by_prompt(mapped, side == b)
        there.append(corrected(of_people, of_panel, of_map, len(pairs)))
    for (a, b), difference, found in zip(pairs, each, there, strict=True):
        at = {"respondent": sides[a], "baseline": sides[b], **keys}
        out.add("comparison", "difference", difference.this_panel, **at)
        out.add("comparison", "difference", difference.such_judges, **at)
        out.add_all("comparison", _figures(found), **at)
    return replace(sampled, n_unpaired=n_unpaired if sampled.refused is None else 0)


def _respondents(saved: SavedCalibration, later: LaterPanel) -> list[str]:
    """Who wrote each response; of stored judgments, as the calibration names them."""
    names = list(later.respondents)
    if not any(names) and saved.people is not None:
        known = saved.people.dropna(subset=["respondent"])
        writers = dict(zip(known["response_id"], known["respondent"], strict=True))
        if all(name in writers for name in later.ids):
            names = [str(writers[name]) for name in later.ids]
    return [name or (UNNAMED if any(names) else EVERYBODY) for name in names]


def _figures(found: MeanOverPrompts) -> dict[str, Estimate | float | None]:
    return {
        "corrected": found.mean,
        "people alone": found.people_alone if found.people_alone.is_defined else None,
        "weight": found.weight,
    }


def _sampled(people: _People, saved: SavedCalibration, *, is_other: bool) -> Sampled:
    """What people rated of the run, and whether that corrects anything."""
    calibrated = np.unique(people.prompt[people.is_calibrated])
    is_rated = np.isfinite(people.score)
    rated = np.unique(people.prompt[is_rated])
    n_all = len(np.unique(people.prompt))
    found = Sampled(
        None, len(rated), len(calibrated), n_all - len(calibrated), len(np.unique(people.rater))
    )
    why = None
    if is_other:
        why = "another panel was calibrated"
    elif saved.people is None:
        why = "the calibration keeps no ratings by people: make it anew"
    elif not len(saved.people):
        why = "people gave no scores: ranks, preferences and labels hold no level"
    elif not len(rated):
        why = "people rated no response of this run"
    elif len(rated) < MIN_UNITS:
        why = f"people rated {units(len(rated), 'prompt')} of this run: {MIN_UNITS} are needed"
    elif len(rated) < len(calibrated):
        why = _not_random(saved.rated)
    return replace(found, refused=why)


def _not_random(rated: str | None) -> str | None:
    """Why rated prompts do not stand for the others; None for a random sample."""
    if rated is None:
        return (
            "nobody said how the rated prompts were taken: calibrate with `rated` random, "
            "if they were drawn at random"
        )
    return None if rated == RANDOM else "the rated prompts were chosen, not drawn at random"


@dataclass(frozen=True, slots=True)
class _People:
    """People's ratings of the responses of a run.

    Attributes:
        is_calibrated: shape (R,), whether the response is one of the calibrated run, with its text.
        score: shape (R,), people's mean; nan where nobody rated.
        prompt, side: shape (R,), codes.
        response, rater, value: shape (ratings,).
    """

    is_calibrated: npt.NDArray[np.bool_]
    score: Floats
    prompt: Integers
    side: Integers
    response: Integers
    rater: Integers
    value: Floats

    @classmethod
    def of(
        cls,
        table: pd.DataFrame | None,
        ids: Sequence[str],
        different: set[str],
        prompt: Integers,
        side: Integers,
    ) -> _People:
        import pandas as pd

        place = {name: at for at, name in enumerate(ids) if name not in different}
        at = np.zeros(0, dtype=np.int64)
        value, rater = np.zeros(0), np.zeros(0, dtype=np.int64)
        if table is not None and len(table):
            at = table["response_id"].map(place).fillna(-1).to_numpy().astype(np.int64)
            value = table["score"].to_numpy(np.float64)
            rater = pd.factorize(table["rater"])[0].astype(np.int64)
        is_calibrated = np.zeros(len(ids), dtype=bool)
        is_calibrated[at[at >= 0]] = True
        kept = (at >= 0) & np.isfinite(value)
        at, rater, value = at[kept], rater[kept], value[kept]
        return cls(
            is_calibrated, mean_by_prompt(value, at, len(ids)), prompt, side, at, rater, value
        )

    def difference(self, a: int, b: int, n_prompts: int) -> tuple[Floats, int]:
        """People's difference of two sides on each prompt, and on how many by different raters."""
        width = int(self.rater.max(initial=0)) + 1
        found = []
        for one in (a, b):
            mine = self.side[self.response] == one
            key = self.prompt[self.response[mine]] * width + self.rater[mine]
            keys, at = np.unique(key, return_inverse=True)
            found.append((keys, mean_by_prompt(self.value[mine], at.reshape(-1), len(keys))))
        shared, left, right = np.intersect1d(found[0][0], found[1][0], return_indices=True)
        paired = found[0][1][left] - found[1][1][right]
        both = mean_by_prompt(paired, shared // width, n_prompts)
        means = [
            mean_by_prompt(self.score[self.side == one], self.prompt[self.side == one], n_prompts)
            for one in (a, b)
        ]
        plain = means[0] - means[1]
        is_unpaired = np.isnan(both) & np.isfinite(plain)
        return np.where(is_unpaired, plain, both), int(is_unpaired.sum())


def _raw_differences(
    later: LaterPanel,
    criterion: str | None,
    side: Integers,
    prompt: Integers,
    pairs: Sequence[tuple[int, int]],
    level: float,
) -> list[Effect]:
    """What `compare` says of the pairs, on one criterion; units are codes of prompts."""
    table = later.panel.by_judge(criterion)
    n, n_personas, n_models = table.shape
    values = np.where(later.is_declined[:, None], np.nan, table.reshape(n, -1))
    n_judges = n_personas * n_models
    # which judges a stopping rule spared is not known by judge: those that are there were wanted
    is_full = later.panel.n_planned >= n_judges
    rows = np.lexsort((side, prompt))  # units are coded in order of appearance: by prompt
    scores = Scores.of(
        {
            "side": np.repeat(side[rows], n_judges),
            "prompt": np.repeat(prompt[rows], n_judges),
            "persona": np.tile(np.repeat(np.arange(n_personas), n_models), n),
            "model": np.tile(np.arange(n_models), n_personas * n),
            "score": values[rows].reshape(-1),
        },
        arm="side", unit="prompt", persona="persona", model="model", columns=("score",),
        wanted=(np.isfinite(values) | is_full[:, None])[rows].reshape(-1),
    )  # fmt: skip
    contrasts = [Contrast({str(a): 1.0, str(b): -1.0}, "score", family="pairs") for a, b in pairs]
    return effects(scores, contrasts, scale=later.scale, level=level)
