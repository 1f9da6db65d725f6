"""The design of a panel run among its estimates, and in one sentence.

Rows of the table "design": a count for each number of `aggregation.design.Design`, and for each
model or persona that fell out ("factor", "group") its judgments scored of those asked for.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.design import Design, FellOut, Target
from ..aggregation.estimate import Estimate
from ..formats import count, listed, units
from .estimates import Estimates, estimates_by, select

if TYPE_CHECKING:
    import pandas as pd

TABLE: Final = "design"


def add_design(out: Estimates, design: Design) -> None:
    """Adds the rows of the table "design"."""
    for field in fields(Design):
        if field.name != "fell_out":
            out.add(TABLE, field.name, float(getattr(design, field.name)))
    for one in design.fell_out:
        scored = Estimate(
            one.n_scored, n=one.n_scored, n_planned=one.n_asked, unit="judgment", method="count",
            level=math.nan,
        )  # fmt: skip
        out.add(TABLE, "judgments", scored, factor=one.factor, group=one.name)


def stored_design(estimates: pd.DataFrame) -> Design | None:
    """The design that `add_design` has added; None where there is none."""
    whole: dict[str, Any] = {}
    fell_out = []
    for at, found in estimates_by(select(estimates, TABLE), ["factor", "group"]):
        if at["group"] is None:
            whole = {name: int(one.value) for name, one in found.items()}
            continue
        one = found["judgments"]
        factor: Any = at["factor"]
        fell_out.append(FellOut(factor, at["group"], one.n, one.n_planned or 0))
    if not whole:
        return None
    for name in ("is_paired", "is_replicated"):
        whole[name] = bool(whole[name])
    return Design(**whole, fell_out=tuple(fell_out))


def design_sentence(design: Design) -> str:
    """The design, without a full stop where it stands alone, and what it does not allow."""
    limits = [
        *(["Response and prompt cannot be told apart."] if design.target == "response" else []),
        *_limits_of_judges(design),
        *_missing(design),
    ]
    told = f"{_responses(design)}, {_judges(design)}"
    return " ".join([f"{told}.", *limits]) if limits else told


def _responses(design: Design) -> str:
    prompts = units(design.prompts, "prompt")
    if design.prompts == 1:
        return f"one prompt with {units(design.responses, 'response')}"
    if design.most_responses == 1:
        who = units(design.respondents, "respondent")
        apart = f" ({who}, who share no prompt)" if design.respondents > 1 else ""
        return f"{prompts} with one response each{apart}"
    if design.is_paired:
        return f"{prompts}, each answered by {units(design.respondents, 'respondent')}"
    if design.fewest_responses == design.most_responses:
        return f"{prompts} with {units(design.most_responses, 'response')} each"
    few, most = count(design.fewest_responses), count(design.most_responses)
    return f"{prompts} with {few} to {most} responses ({count(design.responses)} in all)"


def _judges(design: Design) -> str:
    often = f"asked {count(design.repeats)} times" if design.repeats > 1 else ""
    if design.judges == 1:
        return f"judged by one judge, {often or 'asked once'}"
    personas, models = units(design.personas, "persona"), units(design.models, "model")
    size = f"{personas} × {models}"
    if design.personas == 1:
        size = f"one persona on {models}"
    elif design.models == 1:
        size = f"{personas} on one model"
    elif design.judges < design.personas * design.models:
        size = f"{personas} on {models}, not crossed"
    if often:
        size = f"{size}, each {often}"
    if not design.is_incomplete:
        return f"all judged by {'' if design.personas == 1 else 'the same '}{size}"
    each = count(design.most_asked)
    if design.fewest_asked < design.most_asked:
        each = f"{count(design.fewest_asked)} to {each}"
    kind = "judgment" if design.repeats > 1 else "judge"
    return f"each judged by {each} of {units(design.judges * design.repeats, kind)} ({size})"


def _limits_of_judges(design: Design) -> list[str]:
    if design.is_confounded:
        return ["The error of a judge and the response cannot be told apart."]
    if design.judges == 1:
        return ["These intervals hold for this judge only."]
    alone = [name for name, n in (("model", design.models), ("persona", design.personas)) if n == 1]
    return [f"These intervals hold for this {name} only." for name in alone]


def _missing(design: Design) -> list[str]:
    named = [
        f"{one.factor} {one.name} scored {count(one.n_scored)} of {count(one.n_asked)}"
        for one in design.fell_out
    ]
    return [f"UNBALANCED: {listed(named, 3)}."] if named else []


def order_of(target: Target) -> str:
    """Whose order a reliability or a standard error speaks of."""
    one = target == "response_within_prompt"
    return "responses to one prompt" if one else "responses to different prompts"
