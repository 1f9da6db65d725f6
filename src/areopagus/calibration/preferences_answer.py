"""What a calibration, or an agreement, says first of preferences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.jackknife import verdict_limits
from ..formats import count, estimate, listed, number, said, units, words
from ..records.estimates import estimates_by, select
from .people import BELOW_CHANCE
from .preferences import PREFERENCES

if TYPE_CHECKING:
    import pandas as pd

Figures = Mapping[str, Estimate]


def criteria(estimates: pd.DataFrame) -> list[tuple[str, dict[str, Estimate]]]:
    """The criteria by which people compared responses, in words, and their figures."""
    found = estimates_by(select(estimates, PREFERENCES), ["criterion"])
    alone = not (len(select(estimates, "people")) or len(select(estimates, "label people")))
    mark = "" if alone else " (preferences)"
    return [(f"{words(str(keys['criterion']))}{mark}", figures) for keys, figures in found]


def verdict(figures: Figures) -> str | None:
    """What can be said of the panel, in the words of `Answer.by_verdict`; None without a panel."""
    accuracy, kappa = figures.get("accuracy"), figures["kappa"]
    if accuracy is None:
        return None
    if kappa.verdict == BELOW_CHANCE:
        return "refused"
    if not accuracy.is_defined:
        return "undefined"
    if not accuracy.has_interval and accuracy.n < MIN_UNITS:
        return "few"
    if kappa.is_defined and not verdict_limits(kappa)[0] > 0:
        return "noise"
    if not verdict_limits(accuracy)[0] > 0.5:
        return "disagrees" if verdict_limits(accuracy)[1] < 0.5 else "none"
    apart = figures.get("accuracy_difference")
    return (apart.verdict if apart is not None else None) or "agrees"


def verdicts(estimates: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """The verdict on the panel and the criterion, of each that it judged."""
    for name, figures in criteria(estimates):
        said_of = verdict(figures)
        if said_of == "disagrees":
            yield said_of, f"{name} (accuracy {number(figures['accuracy'].value)})"
        elif said_of is not None:
            yield said_of, name


def people_verdicts(estimates: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Whether people agree by each criterion: "against", "shared", "apart" or "unknown"."""
    for name, figures in criteria(estimates):
        kappa = figures["kappa"]
        low = verdict_limits(kappa)[0]
        if kappa.verdict == BELOW_CHANCE:
            yield "against", name
        elif low != low:  # nan: there is no interval
            yield "unknown", name
        else:
            yield ("shared" if low > 0 else "apart"), name


def design(estimates: pd.DataFrame) -> str:
    """How many compared what, where there are preferences."""
    found = criteria(estimates)
    if not found:
        return ""
    figures = found[0][1]
    n = {name: int(figures[name].value) for name in ("n_preferences", "n_pairs")}
    each = number(figures["raters_a_pair"].value, 1)
    pairs = units(n["n_pairs"], "pair")
    return f"{count(n['n_preferences'])} preferences on {pairs} ({each} raters a pair)"


def trust(estimates: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """How far people prefer the same, and the panel with them, by the first criterion."""
    found = criteria(estimates)
    if not found:
        return
    name, figures = next(((k, f) for k, f in found if verdict(f)), found[0])
    on = f" on {name}" if len(found) > 1 else ""
    equal, kappa = figures["equal"], figures["kappa"]
    told = f"preferences: undefined: {said(equal.reason)}"
    if equal.is_defined:
        told = f"equal preferences {estimate(equal)}{on}; beyond chance {estimate(kappa)}"
    yield "people", told
    accuracy = figures.get("accuracy")
    if accuracy is None:
        return
    one, panel, apart, ceiling = (
        figures.get(key)
        for key in ("accuracy_of_one", "accuracy_of_panel", "accuracy_difference", "ceiling")
    )
    if one is None or panel is None or apart is None or not one.is_defined:
        told = estimate(accuracy) if accuracy.is_defined else f"undefined: {said(accuracy.reason)}"
        yield "panel", f"accuracy {told}{on}"
        return
    told = f"accuracy {estimate(panel)}{on}"
    yield "panel", beside_one_person(told, one, apart, ceiling)


def beside_one_person(
    told: str, one: Estimate, difference: Estimate, ceiling: Estimate | None
) -> str:
    """What is told of the panel, with one more person's figure, the ceiling and the difference."""
    most = ""
    if ceiling is not None and ceiling.is_defined:
        most = f", ceiling {number(ceiling.value)}"
    apart = f"difference {estimate(difference, is_signed=True)}"
    return f"{told}; one more person {number(one.value)}{most}; {apart}"


def cautions(estimates: pd.DataFrame) -> Iterator[str]:
    """Why something cannot be told, where it is not told with the ratings."""
    noise = [
        f"{name} (beyond chance {estimate(figures['kappa'])})"
        for name, figures in criteria(estimates)
        if verdict(figures) == "noise"
    ]
    if noise:
        yield (
            f"People are not shown to prefer the same more often than chance on "
            f"{listed(noise, 2)}: nothing can be calibrated against that."
        )


def undefined_reasons(estimates: pd.DataFrame) -> list[tuple[str, str]]:
    """The criteria without an accuracy, and why."""
    return [
        (name, figures["accuracy"].reason or "")
        for name, figures in criteria(estimates)
        if verdict(figures) == "undefined"
    ]
