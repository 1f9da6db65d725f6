"""What a plan rests on: figures of an earlier calibration, or stated assumptions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault

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
    sd: float | None = None,
    icc: float | None = None,
    panel_r: float | None = None,
    between_sd: float | None = None,
) -> Assumptions:
    """Returns the assumptions of a plan; what is stated wins over what was measured.

    From the file of `calibrate --json`, on people's first criterion: icc = sin(pi tau / 2) of
    their mean pairwise tau within prompts (normal scores), and panel_r = sin(pi tau / 2) of the
    panel's mean tau with the raters' mean, divided by the square root of that mean's reliability,
    m icc / (1 + (m - 1) icc). A file of `agreement --json` gives the first alone.

    Raises:
        InputError: with every fault: a file that is none, figures out of range.
    """
    measured = _measured(Path(calibration)) if calibration is not None else {}
    faults: list[InputFault] = []
    listed: list[Assumed] = []

    def take(
        name: str, stated: float | None, default: float, low: float, high: float, meaning: str
    ) -> float:
        if stated is not None:
            value, origin = stated, "stated"
        elif name in measured:
            value, origin = measured[name], f"measured: {calibration}"
        else:
            value, origin = default, "assumed"
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
        raise InputError(faults)
    return Assumptions(found.sd, found.icc, found.panel_r, found.between_sd, tuple(listed))


def _measured(path: Path) -> dict[str, float]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError([InputFault(str(path), "there is no such file")]) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind not in ("calibration", "agreement"):
        raise InputError(
            [InputFault(str(path), f"must be a calibration's figures, got {kind or 'other JSON'}")],
            hint="write them with: areopagus calibrate RUN HUMANS --json FILE",
        )
    found: dict[str, float] = {}
    try:
        people = content["people"]["criteria"][0]
        tau = people["pairwise"]["tau"]["value"]
        if tau is not None and tau > 0:
            found["icc"] = min(math.sin(math.pi * tau / 2), 0.999)
        raters = people["n_ratings"] / max(1, people["n_responses"])
        with_panel = _first_tau(content.get("panel"))
    except (KeyError, TypeError, IndexError) as error:
        raise InputError([InputFault(str(path), f"lacks a figure: {error}")]) from error
    if "icc" in found and with_panel is not None and with_panel > 0:
        reliability = raters * found["icc"] / (1 + (raters - 1) * found["icc"])
        seen = math.sin(math.pi * with_panel / 2)
        found["panel_r"] = min(1.0, seen / math.sqrt(reliability))
    return found


def _first_tau(panel: Mapping[str, Any] | None) -> float | None:
    if not panel or not panel["by_target"]:
        return None
    value = panel["by_target"][0]["mean_tau"]["value"]
    return None if value is None else float(value)
