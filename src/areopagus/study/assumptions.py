"""What a plan rests on: figures of an earlier calibration, or stated assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError, InputFault
from .measured import Measured, of_calibration, of_ratings

DEFAULT_ICC = 0.4
DEFAULT_PANEL_R = 0.8


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
    sd: float | None = None,
    icc: float | None = None,
    panel_r: float | None = None,
    between_sd: float | None = None,
) -> Assumptions:
    """Returns the assumptions of a plan: what is stated, else what was measured, else a default.

    Raters' own scores come before a calibration's numbers, since those hold the spread of the
    panel's judges and not that of people: see `measured`.

    Args:
        calibration: the folder of a calibration, its numbers.json or calibration.json, or a file
            of `calibrate --json` or `agreement --json`.
        ratings: people's ratings as `calibrate` reads them.
        sd, icc, panel_r, between_sd: stated figures.

    Raises:
        InputError: with every fault: a file that is none, figures out of range.
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
    listed: list[Assumed] = []

    def take(
        name: str, stated: float | None, default: float, low: float, high: float, meaning: str
    ) -> float:
        found = [one[name] for one in measured if name in one]
        there = next((one for one in found if one.is_there), None)
        if stated is not None:
            value, origin = stated, "stated"
        elif there is not None:
            value, origin = there.value, f"measured: {there.source}"
        else:
            value, origin = default, "; ".join(["assumed", *(one.source for one in found)])
        if not low < value <= high and not (value == low == 0.0):
            rule = f"must be above {low:g} and at most {high:g}, got {value:g}"
            faults.append(InputFault(f"--{name.replace('_', '-')}", rule))
        listed.append(Assumed(name, value, meaning, origin))
        return value

    found = Assumptions(
        sd=take("sd", sd, 1.0, 0.0, 1e6, "SD of one rating within a prompt"),
        icc=take("icc", icc, DEFAULT_ICC, 0.0, 0.999, "correlation of two raters in a prompt"),
        panel_r=take("panel_r", panel_r, DEFAULT_PANEL_R, 0.0, 1.0,
                     "correlation of panel and truth in a prompt"),
        between_sd=take("between_sd", between_sd, 0.0, 0.0, 1e6,
                        "SD over prompts of the true difference"),
        listed=(),
    )  # fmt: skip
    if faults:
        raise InputError(faults, hint=hint)
    return Assumptions(found.sd, found.icc, found.panel_r, found.between_sd, tuple(listed))
