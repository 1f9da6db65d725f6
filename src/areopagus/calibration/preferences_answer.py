"""What a calibration, or an agreement, says first of preferences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..aggregation.estimate import Estimate
from ..aggregation.jackknife import verdict_limits
from ..aggregation.one_more_person import DISAGREES, verdict_against_people
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
    return [(named(estimates, str(keys["criterion"])), figures) for keys, figures in found]


def named(estimates: pd.DataFrame, criterion: str) -> str:
    """The criterion in words; marked where there are ratings or labels too."""
    alone = not (len(select(estimates, "people")) or len(select(estimates, "label people")))
    return words(criterion) if alone else f"{words(criterion)} (preferences)"


def verdict(figures: Figures) -> str | None:
    """What can be said of the panel, as of ratings; None where it was not compared."""
    if "accuracy" not in figures:
        return None
    return verdict_against_people(
        _accuracy(figures), figures.get("accuracy_of_one"), figures.get("accuracy_difference"),
        chance=0.5, is_constant="only_score" in figures,
    )  # fmt: skip


def _accuracy(figures: Figures) -> Estimate:
    """The panel's accuracy beside one more person, or on all preferences."""
    beside = figures.get("accuracy_of_panel")
    return beside if beside is not None and beside.is_defined else figures["accuracy"]


def verdicts(estimates: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """The verdict on the panel and the criterion, of each that it judged."""
    for name, figures in criteria(estimates):
        panel_verdict = verdict(figures)
        if panel_verdict == DISAGREES:
            yield panel_verdict, f"{name} (accuracy {number(_accuracy(figures).value)})"
        elif panel_verdict is not None:
            yield panel_verdict, name


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
    """How far people prefer the same, by the first criterion."""
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
