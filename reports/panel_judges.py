"""The judges in a panel run's document: their means, what they are worth, how far they agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..aggregation.estimate import Estimate
from ..formats import count, units, words
from .document import SHADES, Cell, Chart, Column, Paragraph, Part, Table
from .panel_answer import PanelView

MOST_IN_MAP: Final = 24
"""Personas in the drawn map of agreement; its table has all."""
NARROWEST_RANGE: Final = 0.1
"""Least range of a shading, as a share of the scale: noise must not look like a pattern."""


def judges_parts(view: PanelView) -> list[Part]:
    notes = {
        str(p["id"]): f"{p.get('label', '')} ({p.get('axis', '')})"
        for p in view.record["panel"]["personas"]
    }
    worth = view.rows("worth")[()]["effective judges"]
    parts: list[Part] = [
        Paragraph(worth_told(worth)),
        Paragraph(
            "Means over responses: each judge group's mean on a response, averaged over the "
            "responses of which it scored something. Groups may have scored different responses; "
            "compare those with the same n. Differences between them are severity as much as "
            "insight."
        ),
    ]
    means = view.rows("judges", "factor", "group", "criterion")
    statuses = view.rows("judges by status", "factor", "group", "detail")
    for factor in ("model", "persona", "axis"):
        rows: list[list[Any]] = []
        for name in dict.fromkeys(group for kind, group, _ in means if kind == factor):
            first = means[factor, name, "composite"]
            others = [
                f"{count(figures['judgments'].value)} {words(status)}"
                for (kind, group, status), figures in statuses.items()
                if (kind, group) == (factor, name)
                and status != "scored"
                and figures["judgments"].value
            ]
            rows.append(
                [
                    Cell(name, note=notes.get(name, "") if factor == "persona" else ""),
                    *(means[factor, name, criterion]["mean"].value for criterion in view.criteria),
                    first["mean"].n,
                    first["judgments"].n,
                    first["judgments"].n_planned,
                    int(first["repaired"].value),
                    ", ".join(others) or "none",
                ]
            )
        parts.append(
            Table(
                caption=f"By {factor}: mean score over n responses, and what became of the planned "
                "judgments. Repaired: a second ask was needed to read the vote.",
                label=f"Means by {factor}",
                columns=[
                    Column(factor, "id"),
                    *(Column(view.heads[name], "number") for name in view.criteria),
                    Column("n responses", "count"),
                    Column("scored", "count"),
                    Column("planned", "count"),
                    Column("repaired", "count"),
                    Column("not scored", "wide"),
                ],
                rows=rows,
            )
        )
    parts.append(_persona_by_model(view))
    return [*parts, *_agreement(view)]


def worth_told(worth: Estimate) -> str:
    """What the judgments of a response are worth, a sentence."""
    many, verb = f"{units(worth.n, 'judgment')} of a response", "is" if worth.n == 1 else "are"
    if not worth.is_defined:
        return f"What the {many} {verb} worth in independent ones is undefined: {worth.reason}."
    return (
        f"The {many} {verb} worth {worth.value:.1f} independent single ones, by the variance "
        "components of this run's composites. An error that all judges share does not show in "
        "it: that takes a calibration against people."
    )


def _persona_by_model(view: PanelView) -> Table:
    found = view.rows("persona by model", "persona", "model")
    personas = list(dict.fromkeys(persona for persona, _ in found))
    models = list(dict.fromkeys(model for _, model in found))
    known = [figures["mean"].value for figures in found.values() if figures["mean"].is_defined]
    shade = _shading(known, view.scale)
    rows: list[list[Any]] = []
    for persona in personas:
        cells = [found[persona, model]["mean"] for model in models]
        rows.append(
            [
                persona,
                view.axis_of.get(persona, ""),
                *(
                    Cell(
                        one.value,
                        note=f"n {count(one.n)}" if one.n else "nothing scored",
                        shade=shade(one.value) if one.is_defined else None,
                    )
                    for one in cells
                ),
            ]
        )
    return Table(
        caption="Persona by model: mean composite over responses, with the number of responses.",
        shade_says="The stronger the shade, the higher.",
        label="Persona by model",
        columns=[Column("persona"), Column("axis", "id"), *(Column(m, "number") for m in models)],
        rows=rows,
        is_map=True,
        is_short=len(models) < 3,
    )


def _shading(known: Sequence[float], scale: tuple[float, float]) -> Callable[[float], int]:
    """A value's shade over the range of them all, at least a tenth of the scale."""
    low, high = (min(known), max(known)) if known else scale
    missing = NARROWEST_RANGE * (scale[1] - scale[0]) - (high - low)
    if missing > 0:
        low, high = low - missing / 2, high + missing / 2
    return lambda value: min(max(int((value - low) / (high - low) * SHADES), 0), SHADES - 1)


def _agreement(view: PanelView) -> list[Part]:
    found = view.rows("agreement", "persona", "baseline")
    names = sorted(
        (persona for persona, other in found if not other),
        key=lambda name: view.axis_of.get(name, ""),
    )
    tau = {key: figures["tau"].value for key, figures in found.items()}
    if len(names) < 2 or all(np.isnan(value) for value in tau.values()):
        return []

    def cell(first: str, second: str) -> float:
        return tau.get((first, second), tau.get((second, first), float("nan")))

    told = (
        "Kendall's tau-b between the personas' mean composites over the responses that both "
        "scored: 1 = the same order, 0 = none, −1 = the reverse. It counts differences between "
        "prompts as well as within them, and says nothing of severity."
    )
    parts: list[Part] = []
    if len(names) <= MOST_IN_MAP:
        parts.append(
            Chart(
                "heatmap",
                "agreement",
                "Agreement of the personas",
                told,
                rows=[words(name) for name in names],
                columns=[words(name) for name in names],
                values=[[cell(a, b) for b in names] for a in names],
                scale=(-1.0, 1.0),
            )
        )
    rows: list[list[Any]] = []
    for first in names:
        cells = [
            Cell(value, shade=None if np.isnan(value) else min(7, max(0, int(8 * value))))
            for value in (cell(first, second) for second in names)
        ]
        rows.append([first, view.axis_of.get(first, ""), tau[first, ""], *cells])
    parts.append(
        Table(
            caption=told if not parts else "The same, with each persona's mean with the others.",
            label="Agreement of the personas",
            columns=[
                Column("persona"),
                Column("axis", "id"),
                Column("mean with others", "number"),
                *(Column(words(name), "number") for name in names),
            ],
            rows=rows,
            is_map=True,
        )
    )
    return parts
