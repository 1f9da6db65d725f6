"""Figures of a calibration that need its numbers alone: agreement, ceiling, severity, alt-test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..aggregation.estimate import Estimate
from ..reports.chart_style import (
    BLUE,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    PURPLE,
    folded_name,
    short_name,
)
from .rater_severity import RaterSeverity
from .result import Calibration

WIDTH: Final = 5.2
"""Inches: with a phone's width its letters are still read."""

MOST_RATERS: Final = 40
"""Lines of the figure of severity; beyond, the ends of each criterion are shown."""


def draw_agreement(calibration: Calibration, figure: Any) -> bool:
    """Draws how far people agree, by criterion: tau, ordinal alpha, ICC of one rater."""
    criteria = calibration.people.criteria
    series = (
        ("pairwise tau", BLUE, [one.pairwise.tau for one in criteria]),
        ("alpha, ordinal", ORANGE, [one.alpha_ordinal for one in criteria]),
        ("ICC of one rater", GREEN, [one.concordance.icc_one for one in criteria]),
    )
    if not any(one.is_defined for _, _, numbers in series for one in numbers):
        return False
    figure.set_size_inches(WIDTH, 1.0 + 0.62 * len(criteria))
    axes = figure.add_subplot()
    for place, (label, colour, numbers) in enumerate(series):
        shift = (place - 1) * 0.24
        _row_of(axes, numbers, shift, colour, MARKERS[place], label, is_open=False)
    _named_rows(axes, [one.name for one in criteria])
    axes.axvline(0, color=GREY, linestyle="--", linewidth=1)
    axes.set_xlabel(f"agreement of people ({calibration.level:.0%} intervals)")
    _legend(figure, axes)
    return True


def draw_ceiling(calibration: Calibration, figure: Any) -> bool:
    """Draws the panel's tau with people beside the ceiling, by what is compared."""
    rows = calibration.panel.by_target
    if not any(one.tau.is_defined for one in rows):
        return False
    figure.set_size_inches(WIDTH, 1.0 + 0.5 * len(rows))
    axes = figure.add_subplot()
    _row_of(axes, [one.tau for one in rows], -0.12, BLUE, "o", "panel", is_open=False)
    _row_of(axes, [one.ceiling for one in rows], 0.12, PURPLE, "D", "ceiling", is_open=True)
    _named_rows(axes, [one.target for one in rows])
    axes.axvline(0, color=GREY, linestyle="--", linewidth=1)
    axes.set_xlabel(f"tau-b within prompts ({calibration.level:.0%} intervals)")
    _legend(figure, axes)
    return True


def draw_severity(calibration: Calibration, figure: Any) -> bool:
    """Draws each rater's deviation with its interval, criterion by criterion."""
    groups = [
        (one.name, [row for row in one.severity.raters if row.deviation.is_defined])
        for one in calibration.people.criteria
    ]
    groups = [(name, sorted(rows, key=_deviation)) for name, rows in groups if rows]
    if not groups:
        return False
    most = max(4, MOST_RATERS // len(groups))
    lines: list[tuple[str, RaterSeverity | None]] = []
    for name, rows in groups:
        lines.append((folded_name(name, 24, most_lines=1), None))
        if len(rows) > most:
            half = most // 2
            between = f"… {len(rows) - 2 * half} between …"
            shown: list[tuple[str, RaterSeverity | None]] = [
                (short_name(row.rater, 24), row) for row in (*rows[:half], *rows[-half:])
            ]
            shown.insert(half, (between, None))
            lines += shown
        else:
            lines += [(short_name(row.rater, 24), row) for row in rows]
    figure.set_size_inches(WIDTH, 0.8 + 0.2 * len(lines))
    axes = figure.add_subplot()
    for place, (_, row) in enumerate(lines):
        if row is None:
            continue
        named = row.verdict in ("harsh", "lenient")
        colour = ORANGE if named else BLUE
        _mark(axes, row.deviation, place, colour, "D" if named else "o", is_open=named)
    axes.axvline(0, color=GREY, linestyle="--", linewidth=1)
    axes.set_yticks(range(len(lines)), [name for name, _ in lines], fontsize=8)
    for label, (_, row) in zip(axes.get_yticklabels(), lines, strict=True):
        if row is None:
            label.set_fontweight("bold")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.set_xlabel("points from the other usual raters: harsh < 0 < lenient")
    return True


def draw_alt_test(calibration: Calibration, figure: Any) -> bool:
    """Draws winning rates of the panel and of the judges it is held against."""
    tests = [one for one in calibration.alt_tests if one.winning_rate.is_defined]
    if not tests:
        return False
    rows: list[tuple[str, float, bool]] = []
    for test in tests:
        rows.append((f"{test.form}: panel", test.winning_rate.value, True))
        rows += [(f"a {name} judge", rate, False) for name, (rate, _) in test.references.items()]
    figure.set_size_inches(WIDTH, 0.8 + 0.22 * len(rows))
    axes = figure.add_subplot()
    for place, (_, rate, is_panel) in enumerate(rows):
        axes.plot(
            rate, place, "o" if is_panel else "s", color=BLUE if is_panel else GREY, markersize=6,
            markerfacecolor=BLUE if is_panel else "white", clip_on=False, zorder=3,
        )  # fmt: skip
    axes.axvline(0.5, color=GREY, linestyle="--", linewidth=1)
    axes.annotate(
        "passes from here", (0.5, 1.0), (3, 2), xycoords=("data", "axes fraction"),
        textcoords="offset points", fontsize=7.5, va="bottom", ha="center",
    )  # fmt: skip
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1)
    axes.set_xlabel("winning rate over raters")
    axes.grid(axis="x", color=GREY, linewidth=0.3)
    axes.set_axisbelow(True)
    return True


def _deviation(row: RaterSeverity) -> float:
    return row.deviation.value


def _row_of(
    axes: Any,
    numbers: Sequence[Estimate],
    shift: float,
    colour: str,
    marker: str,
    label: str,
    *,
    is_open: bool,
) -> None:
    for place, number in enumerate(numbers):
        if number.is_defined:
            _mark(axes, number, place + shift, colour, marker, is_open=is_open)
    face = "white" if is_open else colour
    axes.plot(
        [], [], marker, color=colour, markerfacecolor=face, markersize=5, linestyle="none",
        label=label,
    )  # fmt: skip


def _mark(
    axes: Any, number: Estimate, y: float, colour: str, marker: str, *, is_open: bool
) -> None:
    if number.has_interval:
        axes.plot([number.low, number.high], [y, y], color=colour, linewidth=1.4)
    axes.plot(
        number.value, y, marker, color=colour, markersize=5,
        markerfacecolor="white" if is_open else colour,
    )  # fmt: skip


def _named_rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [folded_name(name, 18) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    for line in range(len(names) - 1):
        axes.axhline(line + 0.5, color=GREY, linewidth=0.4)
    axes.grid(axis="x", color=GREY, linewidth=0.3)
    axes.set_axisbelow(True)


def _legend(figure: Any, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    height = figure.get_figheight()
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - 0.3 / height))
    figure.legend(handles, labels, loc="upper center", ncols=len(labels), fontsize=8)
