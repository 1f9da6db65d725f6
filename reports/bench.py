"""The judges in the report: tables by model, persona and axis, and the persona-by-model map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .numbers import words
from .tally import GroupMeans, Mean, Tally

SHADES: Final = 8
"""Steps of the map's shading."""

NARROWEST_RANGE: Final = 0.1
"""Least range of the shading, as a share of the scale: noise must not look like a pattern."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One model, persona or axis.

    Attributes:
        name, note: its id, and what is known of it beside (a persona's label and axis).
        n_responses: responses of which it scored at least one judgment.
        means: composite, then one a criterion; None where it scored nothing.
        others: how many judgments were not scored, by status.
        group: its counts.
    """

    name: str
    note: str
    n_responses: int
    means: tuple[float | None, ...]
    others: str
    group: GroupMeans


@dataclass(frozen=True, slots=True)
class Cell:
    """One persona on one model: mean composite, responses behind it, shade (0 to SHADES - 1)."""

    mean: float | None
    n: int
    shade: int | None


@dataclass(frozen=True, slots=True)
class PanelMap:
    """Mean composite by persona (lines, with their axis) and model (columns).

    Attributes:
        low, high: the range over which the shading runs.
    """

    models: tuple[str, ...]
    lines: tuple[tuple[str, str, tuple[Cell, ...]], ...]
    low: float | None
    high: float | None


def group_rows(
    groups: Mapping[str, GroupMeans], notes: Mapping[str, str], *, single: bool
) -> list[GroupRow]:
    """The groups as table lines, in their order of appearance.

    Args:
        single: whether the one criterion and the composite are the same, so that one is shown.
    """
    return [
        GroupRow(
            name=name,
            note=notes.get(name, ""),
            n_responses=group.means[0].n,
            means=tuple(mean.value for mean in group.means[: 1 if single else None]),
            others=", ".join(
                f"{number} {words(status)}"
                for status, number in group.counts.items()
                if number and status != "scored"
            )
            or "none",
            group=group,
        )
        for name, group in groups.items()
    ]


def panel_map(tally: Tally, axes: Mapping[str, str], scale: tuple[float, float]) -> PanelMap:
    """The map of the tally's cells."""
    models = tuple(tally.by_model)
    values = [mean.value for mean in tally.cells.values() if mean.value is not None]
    low, high = _range(values, scale)
    lines = []
    for persona in tally.by_persona:
        means = (tally.cells.get((persona, model), Mean()) for model in models)
        lines.append(
            (persona, axes.get(persona, ""), tuple(_cell(mean, low, high) for mean in means))
        )
    return PanelMap(models, tuple(lines), low, high)


def persona_notes(personas: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Persona id to its label and axis."""
    return {str(p["id"]): f"{p.get('label', '')} ({p.get('axis', '')})" for p in personas}


def _range(
    values: Sequence[float], scale: tuple[float, float]
) -> tuple[float | None, float | None]:
    if not values:
        return None, None
    low, high = min(values), max(values)
    missing = NARROWEST_RANGE * (scale[1] - scale[0]) - (high - low)
    if missing > 0:
        low, high = low - missing / 2, high + missing / 2
    return low, high


def _cell(mean: Mean, low: float | None, high: float | None) -> Cell:
    value = mean.value
    if value is None or low is None or high is None:
        return Cell(None, mean.n, None)
    share = (value - low) / (high - low)
    return Cell(value, mean.n, min(SHADES - 1, max(0, int(share * SHADES))))
