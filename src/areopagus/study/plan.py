"""How many prompts and raters a study needs for a wanted interval, or a wanted power."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ..errors import InputError, InputFault
from .assumptions import Assumed, Assumptions, assumptions_from

Goal = Literal["difference", "agreement", "alt-test"]
GOALS: tuple[Goal, ...] = get_args(Goal)

PROMPTS = (9, 15, 20, 30, 45, 60, 90, 120)
PER_PROMPT = (3, 5, 8, 10)
FEWEST_PROMPTS = 6
"""With fewer prompts the project gives no interval."""

MOST_PROMPTS = 100_000
TAU_WORLDS = 20_000
POWER_WORLDS = 400


@dataclass(frozen=True, slots=True)
class PlanCell:
    """One design and what it brings.

    Attributes:
        prompts: of the study.
        per_prompt: raters of a prompt.
        ratings: pages that are rated: prompts x raters.
        value: expected half-width of the interval, or power; nan where undefined.
        mc_error: Monte Carlo standard error of the value; 0 for a closed form.
        meets: whether the wanted value is reached.
    """

    prompts: int
    per_prompt: int
    ratings: int
    value: float
    mc_error: float
    meets: bool


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The designs compared, and the cheapest that does.

    Attributes:
        goal: what is wanted: "difference", "agreement" or "alt-test".
        wanted: half-width, or power.
        level: of the interval.
        cells: all designs, by prompts, then raters.
        cheapest: of those that do the one with the fewest rated pages, then the fewest prompts; for
            the two intervals with the exact number of prompts. None where none does.
        assumptions: what it rests on.
        method: how the values were got.
        seed: of everything drawn.
        notes: sentences for the reader.
    """

    goal: Goal
    wanted: float
    level: float
    cells: tuple[PlanCell, ...]
    cheapest: PlanCell | None
    assumptions: tuple[Assumed, ...]
    method: str
    seed: int
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns the fields as JSON-like values, null for what is undefined."""
        content = asdict(self)
        for cell in (*content["cells"], *([content["cheapest"]] if self.cheapest else [])):
            if not math.isfinite(cell["value"]):
                cell["value"] = None
        return content


def plan_study(
    goal: str,
    wanted: float,
    *,
    calibration: str | Path | None = None,
    ratings: str | Path | None = None,
    sd: float | None = None,
    icc: float | None = None,
    panel_r: float | None = None,
    between_sd: float | None = None,
    responses: int = 6,
    per_side: int = 1,
    prompts: Sequence[int] = PROMPTS,
    per_prompt: Sequence[int] = PER_PROMPT,
    raters: int | None = None,
    epsilon: float = 0.2,
    level: float = 0.95,
    worlds: int = POWER_WORLDS,
    seed: int = 0,
) -> StudyPlan:
    """Returns how many prompts and raters reach what is wanted.

    "difference": half-width of the t interval over prompts for the mean difference of two sides
    (two models, or people and models) rated on the same pages; what a rater or a prompt adds to all
    responses cancels. In closed form, with Q prompts, m raters and n responses a side and prompt:

        h = t(Q - 1) sqrt((2 sd² (icc + (1 - icc) / m) / n + between_sd²) / Q)

    "agreement": half-width of the t interval for the mean over prompts of tau-b between panel and
    the raters' mean; the SD of a prompt's tau is simulated, the rest is in closed form.
    "alt-test": probability that the panel passes the rank alt-test; simulated.

    Args:
        goal: one of `GOALS`.
        wanted: half-width, in points of the scale (SDs where `sd` is neither stated nor measured)
            or in tau; power for the alt-test.
        calibration: the folder of an earlier calibration, or a file of its numbers.
        ratings: people's ratings of an earlier study, as `calibrate` reads them.
        sd, icc, panel_r, between_sd: see `assumptions_from`.
        responses: of a page.
        per_side: responses of each side on a page.
        prompts, per_prompt: the designs to compare.
        raters: in all, for the alt-test; by default each design's raters rate every prompt.
        epsilon: of the alt-test.
        level: of the interval.
        worlds: simulated studies for a power.
        seed: of everything drawn.

    Raises:
        InputError: with every fault.
    """
    faults = _faults(goal, wanted, responses, per_side, prompts, per_prompt, raters, epsilon,
                     level, worlds)  # fmt: skip
    try:
        known = assumptions_from(
            calibration, ratings=ratings, sd=sd, icc=icc, panel_r=panel_r, between_sd=between_sd
        )
    except InputError as error:
        raise InputError([*faults, *error.faults], hint=error.hint) from error
    if faults:
        raise InputError(faults)
    chosen: Goal = next(one for one in GOALS if one == goal)
    if chosen == "alt-test":
        cells = _power_cells(known, wanted, responses, prompts, per_prompt, raters, epsilon,
                             worlds, seed)  # fmt: skip
        doing = [cell for cell in cells if cell.meets]
        method = f"{worlds} simulated studies a design"
    else:
        cells, exact = _interval_cells(chosen, known, wanted, responses, per_side, prompts,
                                       per_prompt, level, seed)  # fmt: skip
        doing = exact
        method = "closed form"
        if chosen == "agreement":
            method = f"closed form around an SD from {TAU_WORLDS:,} simulated prompts"
    cheapest = min(doing, key=lambda cell: (cell.ratings, cell.prompts), default=None)
    names = {"difference": ("sd", "icc", "between_sd")}.get(chosen, ("icc", "panel_r"))
    return StudyPlan(
        goal=chosen,
        wanted=wanted,
        level=level,
        cells=tuple(cells),
        cheapest=cheapest,
        assumptions=tuple(one for one in known.listed if one.name in names),
        method=method,
        seed=seed,
        notes=_notes(chosen, known, epsilon, raters),
    )


def half_width(prompts: int, spread: float, *, level: float) -> float:
    """Returns t(Q - 1) x SD / sqrt(Q): the half-width of a mean over prompts.

    Args:
        prompts: Q, 2 or more.
        spread: SD over prompts of what is averaged.
        level: of the interval.
    """
    from scipy import stats

    return float(stats.t.ppf((1 + level) / 2, prompts - 1)) * spread / math.sqrt(prompts)


def difference_spread(known: Assumptions, *, per_prompt: int, per_side: int) -> float:
    """Returns the SD over prompts of the difference of two sides; see `plan_study`."""
    rated = 2 * known.sd**2 * (known.icc + (1 - known.icc) / per_prompt) / per_side
    return math.sqrt(rated + known.between_sd**2)


def _interval_cells(
    goal: Goal,
    known: Assumptions,
    wanted: float,
    responses: int,
    per_side: int,
    prompts: Sequence[int],
    per_prompt: Sequence[int],
    level: float,
    seed: int,
) -> tuple[list[PlanCell], list[PlanCell]]:
    """The grid, and for each number of raters the design that just does."""
    from .simulated import tau_spread

    cells: list[PlanCell] = []
    exact: list[PlanCell] = []
    for raters in per_prompt:
        if goal == "agreement":
            _, spread, error = tau_spread(
                responses, raters, icc=known.icc, panel_r=known.panel_r, worlds=TAU_WORLDS,
                seed=seed,
            )  # fmt: skip
        else:
            spread = difference_spread(known, per_prompt=raters, per_side=per_side)
            error = 0.0

        def cell(
            count: int, raters: int = raters, spread: float = spread, error: float = error
        ) -> PlanCell:
            value = half_width(count, spread, level=level)
            scaled = half_width(count, error, level=level)
            return PlanCell(count, raters, count * raters, value, scaled, value <= wanted)

        cells += [cell(count) for count in prompts]
        enough = _fewest(spread, wanted, level)
        if enough is not None:
            exact.append(cell(enough))
    cells.sort(key=lambda one: (one.prompts, one.per_prompt))
    return cells, exact


def _fewest(spread: float, wanted: float, level: float) -> int | None:
    """The fewest prompts whose half-width is at most what is wanted; None beyond `MOST_PROMPTS`."""
    low, high = FEWEST_PROMPTS, FEWEST_PROMPTS
    while half_width(high, spread, level=level) > wanted:
        low, high = high, 2 * high
        if high > MOST_PROMPTS:
            return None
    while low < high:
        middle = (low + high) // 2
        if half_width(middle, spread, level=level) <= wanted:
            high = middle
        else:
            low = middle + 1
    return high


def _power_cells(
    known: Assumptions,
    wanted: float,
    responses: int,
    prompts: Sequence[int],
    per_prompt: Sequence[int],
    raters: int | None,
    epsilon: float,
    worlds: int,
    seed: int,
) -> list[PlanCell]:
    from .simulated import alt_test_power

    cells: list[PlanCell] = []
    for count in sorted(prompts):
        for mine in sorted(per_prompt):
            power = math.nan
            if raters is None or raters >= mine:
                power = alt_test_power(
                    count, responses, raters or mine, mine, icc=known.icc, panel_r=known.panel_r,
                    epsilon=epsilon, worlds=worlds, seed=seed,
                )  # fmt: skip
            error = math.sqrt(power * (1 - power) / worlds)
            cells.append(PlanCell(count, mine, count * mine, power, error, power >= wanted))
    return cells


def _notes(goal: Goal, known: Assumptions, epsilon: float, raters: int | None) -> tuple[str, ...]:
    notes = ["calibration items come on top: nothing of this is estimated from them"]
    origins = {one.name: one.origin for one in known.listed}
    if goal == "difference" and origins["sd"].startswith("assumed"):
        notes.append("no --sd: half-widths are in SDs of one rating within a prompt")
    if goal == "difference" and "panel's judges" in origins["sd"]:
        notes.append(
            "sd is that of the panel's judges, and people may spread more or less: --ratings FILE "
            "measures people's own"
        )
    if goal == "difference" and origins["between_sd"].startswith("assumed"):
        notes.append("the true difference is taken to be the same on all prompts (--between-sd)")
    if goal != "difference":
        notes.append("normal scores without ties; real scores tie, which costs some precision")
    if goal == "alt-test":
        notes.append(f"epsilon {epsilon:g}: what a person's work costs; .2 is for experts")
        if raters is None:
            notes.append("every rater rates every prompt (--raters for more people)")
    return tuple(notes)


def _faults(
    goal: str,
    wanted: float,
    responses: int,
    per_side: int,
    prompts: Sequence[int],
    per_prompt: Sequence[int],
    raters: int | None,
    epsilon: float,
    level: float,
    worlds: int,
) -> list[InputFault]:
    faults: list[InputFault] = []

    def fault(name: str, is_wrong: bool, rule: str, value: object) -> None:
        if is_wrong:
            faults.append(InputFault(name, f"must be {rule}, got {value}"))

    fault("goal", goal not in GOALS, f"one of {', '.join(GOALS)}", repr(goal))
    if goal == "alt-test":
        fault("--power", not 0 < wanted < 1, "above 0 and below 1", wanted)
    else:
        fault("--half-width", not 0 < wanted < math.inf, "above 0", wanted)
    fault("--responses", not 2 <= responses <= 26, "from 2 to 26", responses)
    fault("--per-side", not 1 <= per_side <= responses // 2, "from 1 to half a page", per_side)
    most = MOST_PROMPTS
    wrong = [count for count in prompts if not FEWEST_PROMPTS <= count <= most]
    fault("--prompts", bool(wrong) or not prompts, f"from {FEWEST_PROMPTS} to {most:,}", wrong)
    wrong = [count for count in per_prompt if not 1 <= count <= 1000]
    fault("--per-prompt", bool(wrong) or not per_prompt, "from 1 to 1,000", wrong)
    fault("--raters", raters is not None and not 2 <= raters <= 2000, "from 2 to 2,000", raters)
    fault("--epsilon", not 0 <= epsilon < 1, "from 0 to below 1", epsilon)
    fault("--level", not 0.5 <= level < 1, "from .5 to below 1", level)
    fault("--worlds", not 50 <= worlds <= 1_000_000, "from 50 to 1,000,000", worlds)
    return faults
