"""How many prompts and raters a study needs for a wanted interval, or a wanted power."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ..aggregation.estimate import Estimate
from ..errors import InputError, InputFault
from ..experiment.config import faults_of
from ..formats import number
from ..records.estimates import Estimates
from .measured import Assumed, Assumptions, assumptions_from
from .settings import Goal, PlanConfig

if TYPE_CHECKING:
    from ..reports.document import Document

TAU_WORLDS = 20_000

_MEASURES: dict[Goal, tuple[str, str]] = {
    "difference": ("half_width", "half-width of the mean difference of two sides"),
    "agreement": ("half_width", "half-width of the panel's mean tau with people"),
    "alt-test": ("power", "power of the alt-test"),
}


@dataclass(frozen=True, slots=True)
class Design:
    """One design and what it brings.

    Attributes:
        prompts: of the study.
        per_prompt: raters of a prompt.
        found: expected half-width of the interval, or power; `se` is its Monte Carlo error, 0 for
            a closed form; `verdict` says whether it "does" or "falls short".
    """

    prompts: int
    per_prompt: int
    found: Estimate

    @property
    def pages(self) -> int:
        """Pages that are rated: prompts x raters."""
        return self.prompts * self.per_prompt

    @property
    def does(self) -> bool:
        """Whether what is wanted is reached."""
        return self.found.verdict == "does"


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The designs compared, and the cheapest that does.

    Attributes:
        config: what is wanted.
        designs: all designs, by prompts, then raters.
        cheapest: of those that do the one with the fewest rated pages, then the fewest prompts; for
            the two intervals with the exact number of prompts. None where none does.
        assumptions: what it rests on.
        notes: sentences for the reader.
    """

    config: PlanConfig
    designs: tuple[Design, ...]
    cheapest: Design | None
    assumptions: tuple[Assumed, ...]
    notes: tuple[str, ...]

    @property
    def estimates(self) -> Estimates:
        """Every figure: tables `designs`, `cheapest` and `assumptions`."""
        found = Estimates()
        measure = _MEASURES[self.config.goal][0]
        best = [self.cheapest] if self.cheapest is not None else []
        for table, designs in (("designs", self.designs), ("cheapest", best)):
            for one in designs:
                keys = {"group": f"{one.prompts} prompts", "detail": f"{one.per_prompt} raters"}
                found.add(table, measure, one.found, **keys)
                found.add(table, "prompts", one.prompts, **keys)
                found.add(table, "per_prompt", one.per_prompt, **keys)
                found.add(table, "pages", one.pages, **keys)
        for known in self.assumptions:
            value = Estimate(known.value, method=known.origin, unit="")
            found.add("assumptions", known.name, value, detail=known.meaning)
        found.add("wanted", measure, self.config.wanted)
        return found

    def document(self) -> Document:
        """The answer, what it rests on, and all designs."""
        from ..reports.document import Column, Document, Section, Table

        config = self.config
        what = _MEASURES[config.goal][1]
        is_power = config.goal == "alt-test"
        wish = f"{'at least' if is_power else 'at most'} {config.wanted:g}"
        best = self.cheapest
        headline = (
            f"None of these designs does: a {what} of {wish} was wanted."
            if best is None
            else f"Fewest rated pages: {best.prompts} prompts x {best.per_prompt} raters = "
            f"{best.pages} pages, for a {what} of {number(best.found.value, 3)}; {wish} was wanted."
        )
        raters = sorted({one.per_prompt for one in self.designs})
        cells = {(one.prompts, one.per_prompt): one for one in self.designs}
        error = max((one.found.se for one in self.designs if one.found.se > 0), default=0.0)
        drawn = f"; Monte Carlo error at most {number(error, 3)}, seed {config.seed}"
        method = self.designs[0].found.method + (drawn if error else "")
        method = method[0].upper() + method[1:]
        level = "" if is_power else f", {config.level:.0%} interval"
        table = Table(
            caption=f"Expected {what}{level}, by prompts and raters a prompt. * does. {method}.",
            label="Designs",
            columns=[Column("prompts", "count"), *(Column(f"{one} raters") for one in raters)],
            rows=[
                [prompts, *(_cell(cells[prompts, one]) for one in raters)]
                for prompts in sorted({one.prompts for one in self.designs})
            ],
        )
        return Document(
            title="Plan of a human study",
            kind="study plan",
            headline=[headline],
            trust=[
                (one.name, f"{one.value:.3g}: {one.meaning} ({one.origin})")
                for one in self.assumptions
            ],
            notices=self.notes,
            sections=[Section("designs", "Designs", [table], audience="summary")],
        )


def _cell(design: Design) -> str:
    return f"{number(design.found.value, 3)}{' *' if design.does else ''}"


def plan_study(
    goal: str, wanted: float, *, calibration: str | Path | None = None, **options: Any
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
        goal: "difference", "agreement" or "alt-test".
        wanted: half-width, in points of the scale (SDs where `sd` is neither stated nor measured)
            or in tau; power for the alt-test.
        calibration: the folder of an earlier calibration, or a file of its numbers.
        options: further fields of `PlanConfig`, such as sd, icc, prompts or seed.

    Raises:
        InputError: with every fault.
    """
    faults: list[InputFault] = []
    config: PlanConfig | None = None
    try:
        config = PlanConfig.model_validate({"goal": goal, "wanted": wanted, **options})
    except ValidationError as error:
        faults += faults_of(error)
    stated = {name: options.get(name) for name in ("sd", "icc", "panel_r", "between_sd")}
    try:
        known = assumptions_from(calibration, ratings=options.get("ratings"), **stated)
    except InputError as error:
        raise InputError([*faults, *error.faults], hint=error.hint) from error
    if config is None:
        raise InputError(faults)
    if config.goal == "alt-test":
        designs = list(_power_designs(config, known))
        enough = [one for one in designs if one.does]
    else:
        designs, enough = _interval_designs(config, known)
    names = {"difference": ("sd", "icc", "between_sd")}.get(config.goal, ("icc", "panel_r"))
    return StudyPlan(
        config=config,
        designs=tuple(sorted(designs, key=lambda one: (one.prompts, one.per_prompt))),
        cheapest=min(enough, key=lambda one: (one.pages, one.prompts), default=None),
        assumptions=tuple(one for one in known.listed if one.name in names),
        notes=tuple(_notes(config, known)),
    )


def _interval_designs(config: PlanConfig, known: Assumptions) -> tuple[list[Design], list[Design]]:
    """The grid, and for each number of raters the design that just does."""
    from ..aggregation.study_design import (
        difference_spread,
        fewest_prompts,
        half_width,
        tau_spread,
    )

    method = "closed form"
    if config.goal == "agreement":
        method = f"closed form around an SD from {TAU_WORLDS:,} simulated prompts"
    designs: list[Design] = []
    exact: list[Design] = []
    for raters in config.per_prompt:
        if config.goal == "agreement":
            _, spread, error = tau_spread(
                config.responses, raters, icc=known.icc, panel_r=known.panel_r, worlds=TAU_WORLDS,
                seed=config.seed,
            )  # fmt: skip
        else:
            error = 0.0
            spread = difference_spread(
                known.sd, known.icc, known.between_sd, raters=raters, per_side=config.per_side
            )

        fewest = fewest_prompts(spread, config.wanted, level=config.level)
        for prompts in (*config.prompts, fewest):
            if prompts is None:
                continue
            value = half_width(prompts, spread, level=config.level)
            found = Estimate(
                value, n=prompts, level=config.level, method=method,
                se=half_width(prompts, error, level=config.level),
                verdict="does" if value <= config.wanted else "falls short",
            )  # fmt: skip
            designs.append(Design(prompts, raters, found))
        if fewest is not None:
            exact.append(designs.pop())
    return designs, exact


def _power_designs(config: PlanConfig, known: Assumptions) -> Iterator[Design]:
    from ..aggregation.study_design import alt_test_power

    for prompts in config.prompts:
        for mine in config.per_prompt:
            found = Estimate(
                math.nan, n=prompts, method=f"{config.worlds} simulated studies a design",
                verdict="falls short", reason="no rater has six prompts, or a prompt one rater",
            )  # fmt: skip
            power = math.nan
            if config.raters is None or config.raters >= mine:
                power = alt_test_power(
                    prompts, config.responses, config.raters or mine, mine, icc=known.icc,
                    panel_r=known.panel_r, epsilon=config.epsilon, worlds=config.worlds,
                    seed=config.seed,
                )  # fmt: skip
            if not math.isnan(power):
                error = math.sqrt(power * (1 - power) / config.worlds)
                verdict = "does" if power >= config.wanted else "falls short"
                found = replace(found, value=power, se=error, verdict=verdict, reason=None)
            yield Design(prompts, mine, found)


def _notes(config: PlanConfig, known: Assumptions) -> Iterator[str]:
    yield "calibration items come on top: nothing of this is estimated from them"
    origins = {one.name: one.origin for one in known.listed}
    if config.goal == "difference":
        if origins["sd"].startswith("assumed"):
            yield "no `sd` is given: half-widths are in SDs of one rating within a prompt"
        if "panel's judges" in origins["sd"]:
            yield (
                "sd is that of the panel's judges, and people may spread more or less: "
                "`ratings` measures people's own"
            )
        if origins["between_sd"].startswith("assumed"):
            yield "the true difference is taken to be the same on all prompts (`between_sd`)"
        return
    yield "normal scores without ties; real scores tie, which costs some precision"
    if config.goal == "alt-test":
        yield f"epsilon {config.epsilon:g}: what a person's work costs; .2 is for experts"
        if config.raters is None:
            yield "every rater rates every prompt (`raters` for more people)"
