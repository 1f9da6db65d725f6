"""What a plan rests on: what is stated, what was measured before, or defaults that are named."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..aggregation.estimate import Estimate
from ..errors import InputError, InputFault
from ..records.estimates import estimates_by, select

if TYPE_CHECKING:
    import pandas as pd


Figures = tuple[dict[str, str | None], dict[str, Estimate]]
"""Keys, and measure to estimate."""

_NAMES: Final = ("criterion", "detail")

WITHIN: Final = ("r:q", "rP", "rM", "rPM", "residual")
"""Components of one judge's single score that tell responses of one prompt apart; what personas
and models add to a whole prompt (P, M, PM, qP, qM) cancels there, and q is the prompt's own."""

MOST_ICC: Final = 0.999


@dataclass(frozen=True, slots=True)
class Measured:
    """One measured figure.

    Attributes:
        value: nan where it was looked for and cannot be had.
        source: from what it was measured, or why it was not.
    """

    value: float
    source: str

    @property
    def is_there(self) -> bool:
        """Whether there is a value."""
        return math.isfinite(self.value)


def of_calibration(path: Path) -> dict[str, Measured]:
    """Returns sd, icc, panel_r and between_sd as the numbers of a calibration give them.

    sd = sqrt(r:q + rP + rM + rPM + residual), negative components as 0: the spread within a prompt
    of one judge's single score. Numbers hold no component of people's scores; see `of_ratings`.

    icc and panel_r rest on people's scores: their overall score, else their mean over the criteria,
    else a criterion, and on ranks only where nobody scored. icc = sin(pi t / 2), t the mean tau of
    pairs of raters (normal scores); without t from the ceiling c of the panel's tau, R = sin(pi c /
    2)² for the reliability of the mean of m raters, icc = R / (m - (m - 1) R). panel_r = sin(pi tau
    / 2) / sqrt(R), within prompts. The figures of `agreement` have no panel: icc is the mean over
    scored criteria.

    Args:
        path: the folder of a calibration, the run whose calibration it is, or a file of
            `calibrate --json` or `agreement --json`.

    Raises:
        InputError: it is none of these, or a figure is missing.
    """
    from ..calibration.calibration import figures_of

    file, _, estimates = figures_of(path)
    try:
        found = _figures(estimates)
    except KeyError as error:
        raise InputError([InputFault(str(file), f"lacks a figure: {error}")]) from error
    return {
        name: Measured(one.value, f"{one.source}; {file}" if one.is_there else one.source)
        for name, one in found.items()
    }


def of_ratings(path: Path) -> dict[str, Measured]:
    """Returns sd, icc and between_sd from variance components of people's own scores.

    Raises:
        InputError: the file cannot be read, or nobody scored.
    """
    from ..aggregation.study_design import rater_spread
    from ..calibration.dataset import composite_of
    from ..calibration.reading import people_dataset
    from ..records.types import OVERALL

    dataset, _ = people_dataset(path)
    scored = [one for one in dataset.ratings if one.kind == "score"]
    whole = next((one for one in scored if one.criterion == OVERALL), composite_of(tuple(scored)))
    ratings = whole if whole is not None else scored[0] if scored else None
    if ratings is None:
        raise InputError([InputFault(str(path), "holds no scores, and ranks have no SD")])
    found = rater_spread(
        ratings.value, prompt=ratings.prompt, response=ratings.response, rater=ratings.rater,
        side=dataset.responses.source[ratings.response],
    )  # fmt: skip
    what = f"people's {ratings.criterion} scores"
    if found.reason is not None:
        nothing = Measured(math.nan, f"{what}: {found.reason}")
        return {"sd": nothing, "icc": nothing, "between_sd": nothing}
    told = f"variance components of {what}; {path}"
    made = {"sd": Measured(found.sd, told), "icc": Measured(min(found.icc, MOST_ICC), told)}
    if not found.icc > 0:
        made["icc"] = Measured(math.nan, f"{what}: nothing in which raters agree")
    if math.isnan(found.between_sd):
        made["between_sd"] = Measured(math.nan, f"{what} are not of two sources on six prompts")
    else:
        told = f"people's responses less models', over {found.n_both} prompts; {path}"
        made["between_sd"] = Measured(found.between_sd, told)
    return made


def _figures(estimates: pd.DataFrame) -> dict[str, Measured]:
    found = {"between_sd": Measured(math.nan, "a calibration's estimates do not hold it")}
    targets = list(estimates_by(select(estimates, "panel"), _NAMES))
    first = (one for one in targets if one[0]["detail"] == "score")
    target = next(first, targets[0] if targets else None)
    found["icc"] = _icc(estimates, target)
    found["panel_r"] = _panel_r(target)
    found["sd"] = _sd(estimates)
    return found


def _sd(estimates: pd.DataFrame) -> Measured:
    parts = {
        str(keys["group"]): figures["variance"].value
        for keys, figures in estimates_by(select(estimates, "components"), ["group"])
    }
    known = {name: parts[name] for name in WITHIN if name in parts}
    if "r:q" not in known or any(math.isnan(value) for value in known.values()):
        return Measured(math.nan, "no variance components of the panel there")
    total = sum(max(value, 0.0) for value in known.values())
    if not total > 0:
        return Measured(math.nan, "the panel's scores do not vary within prompts there")
    names = " + ".join(known)
    return Measured(math.sqrt(total), f"single scores of the panel's judges, sqrt({names})")


def _icc(estimates: pd.DataFrame, target: Figures | None) -> Measured:
    criteria = [
        one for one in estimates_by(select(estimates, "people"), _NAMES) if "n_ratings" in one[1]
    ]
    scored = [one for one in criteria if one[0]["detail"] == "score"]
    mine = [one for one in criteria if target and one[0] == target[0]]
    ceiling = target[1].get("ceiling") if target else None
    if not mine and target and ceiling is not None and ceiling.is_defined:
        counts = [f["n_ratings"].value / f["n_responses"].value for _, f in scored]
        raters = max(round(sum(counts) / len(counts)), 1) if counts else 1
        reliability = _correlation(ceiling.value) ** 2
        value = reliability / (raters - (raters - 1) * reliability)
        if value > 0:
            told = f"tau of pairs of raters, {_name(target)}"
            return Measured(min(value, MOST_ICC), told)
    each = [_icc_of(one) for one in mine or scored or criteria]
    known = [one for one in each if one.is_there]
    if len(known) == 1:
        return known[0]
    if known:
        mean = sum(one.value for one in known) / len(known)
        return Measured(mean, f"mean over {len(known)} criteria: {known[0].source.split(',')[0]}")
    return Measured(math.nan, "raters' agreement is not known or not positive there")


def _icc_of(criterion: Figures) -> Measured:
    """Of one criterion, from the tau of its raters."""
    tau = criterion[1]["tau"].value
    if tau > 0:
        told = f"tau of pairs of raters, {_name(criterion)}"
        return Measured(min(_correlation(tau), MOST_ICC), told)
    return Measured(math.nan, "")


def _panel_r(target: Figures | None) -> Measured:
    if target is None:
        return Measured(math.nan, "no panel there")
    tau, ceiling = target[1].get("tau"), target[1].get("ceiling")
    n_responses, n_prompts = (target[1].get(f"n_{name}s") for name in ("response", "prompt"))
    if n_responses is not None and n_prompts is not None and n_responses.value == n_prompts.value:
        return Measured(math.nan, f"a prompt has one response there, {_name(target)}")
    known = tau is not None and ceiling is not None and tau.is_defined and ceiling.value > 0
    if tau is None or ceiling is None or not known:
        told = f"its tau or its ceiling is not known there, {_name(target)}"
        return Measured(math.nan, told)
    if tau.value <= 0:
        told = f"the panel's tau there is {tau.value:.2f}, {_name(target)}: no plan rests on that"
        return Measured(math.nan, told)
    value = _correlation(tau.value) / _correlation(ceiling.value)
    told = f"the panel's tau over what the raters allow, {_name(target)}"
    return Measured(min(1.0, value), told)


def _name(figures: Figures) -> str:
    return f"{figures[0]['criterion']}, {figures[0]['detail']}"


def _correlation(tau: float) -> float:
    """Of two normal scores with this tau (Kendall & Gibbons 1990)."""
    return math.sin(math.pi * float(tau) / 2)


DEFAULTS: Final = {"sd": 1.0, "icc": 0.4, "panel_r": 0.8, "between_sd": 0.0}
MEANINGS: Final = {
    "sd": "SD of one rating within a prompt",
    "icc": "correlation of two raters in a prompt",
    "panel_r": "correlation of panel and truth in a prompt",
    "between_sd": "SD over prompts of the true difference",
}


@dataclass(frozen=True, slots=True)
class Assumed:
    """One figure that a plan rests on, and where it comes from."""

    name: str
    value: float
    meaning: str
    origin: str


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What is taken for true.

    Attributes:
        sd: standard deviation of one rating of the responses to a prompt; 1 where not known, so
            that differences come out in its units.
        icc: share of that variance in which raters agree: the correlation of two raters within a
            prompt.
        panel_r: correlation of the panel's scores, within a prompt, with what infinitely many
            raters would say.
        between_sd: standard deviation over prompts of the true difference of two sides.
        listed: each of them, for the reader.
    """

    sd: float
    icc: float
    panel_r: float
    between_sd: float
    listed: tuple[Assumed, ...]


def assumptions_from(
    calibration: str | Path | None = None,
    *,
    ratings: str | Path | None = None,
    **stated: float | None,
) -> Assumptions:
    """Returns the assumptions of a plan: what is stated, else what was measured, else a default.

    Raters' own scores come before a calibration's numbers, since those hold the spread of the
    panel's judges and not that of people.

    Args:
        calibration: the folder of a calibration, or a file of `calibrate --json` or
            `agreement --json`.
        ratings: people's ratings as `calibrate` reads them.
        stated: sd, icc, panel_r, between_sd.

    Raises:
        InputError: with every fault of the files.
    """
    faults: list[InputFault] = []
    hint: str | None = None
    measured: list[dict[str, Measured]] = []
    for read, path in ((of_ratings, ratings), (of_calibration, calibration)):
        if path is None:
            continue
        try:
            measured.append(read(Path(path)))
        except InputError as error:
            faults += error.faults
            hint = hint or error.hint
    if faults:
        raise InputError(faults, hint=hint)
    listed: list[Assumed] = []
    for name, default in DEFAULTS.items():
        found = [one[name] for one in measured if name in one]
        there = next((one for one in found if one.is_there), None)
        given = stated.get(name)
        if given is not None:
            value, origin = given, "stated"
        elif there is not None:
            value, origin = there.value, f"measured: {there.source}"
        else:
            value, origin = default, "; ".join(["assumed", *(one.source for one in found)])
        listed.append(Assumed(name, value, MEANINGS[name], origin))
    values = {one.name: one.value for one in listed}
    return Assumptions(**values, listed=tuple(listed))
