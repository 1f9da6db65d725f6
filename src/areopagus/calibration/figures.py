"""Figures of a calibration as PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..reports.chart_style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    FigureFormat,
    new_figure,
    save,
    short_name,
    style,
)
from .agreement_figures import draw_agreement, draw_alt_test, draw_ceiling, draw_severity
from .judges_table import JudgeRow
from .responses import HUMAN, MODEL, UNKNOWN
from .result import Calibration


def write_figures(
    calibration: Calibration,
    folder: str | Path,
    *,
    formats: Sequence[FigureFormat] = ("png", "svg"),
) -> tuple[Path, ...]:
    """Writes the figures that the data allow and returns their paths.

    scores_and_people: ensemble score against people's mean (rank or score); judges: agreement by
    judge with intervals; designs: expected reliability by calls; reliability: people's mean by
    panel score, for scores only; agreement: people by criterion; ceiling: the panel's tau beside
    the ceiling; severity: raters; alt_test: winning rates.

    Args:
        calibration: what to draw.
        folder: made where it is missing.
        formats: "png", "svg" or both.
    """
    place = Path(folder)
    drawings: dict[str, Callable[[Calibration, Any], bool]] = {
        "scores_and_people": draw_scores,
        "judges": draw_judges,
        "designs": draw_designs,
        "reliability": draw_reliability,
        "agreement": draw_agreement,
        "ceiling": draw_ceiling,
        "severity": draw_severity,
        "alt_test": draw_alt_test,
    }
    written: list[Path] = []
    with style():
        for name, draw in drawings.items():
            figure = new_figure(5.2, 3.6)
            if draw(calibration, figure):
                written += save(figure, place / name, formats=formats)
    return tuple(written)


def draw_scores(calibration: Calibration, figure: Any) -> bool:
    """Draws the ensemble score against people's mean; best is at the top right."""
    target, responses = calibration.target, calibration.material.responses
    if target is None or not target.both.any():
        return False
    axes = figure.add_subplot()
    is_rank = target.ratings.kind == "rank"
    y = -target.human if is_rank else target.human
    marks = ((HUMAN, "people", ORANGE, "o"), (MODEL, "models", BLUE, "^"),
             (UNKNOWN, "source unknown", GREY, "s"))  # fmt: skip
    for source, label, colour, marker in marks:
        mine = target.both & (responses.source == source)
        if mine.any():
            axes.scatter(
                target.panel[mine], y[mine], s=22, c=colour, marker=marker, alpha=0.75,
                linewidths=0.4, edgecolors="white", label=f"{label} ({int(mine.sum())})",
            )  # fmt: skip
    if is_rank:
        axes.invert_yaxis()
    axes.set_xlabel("ensemble score")
    axes.set_ylabel("mean rank by people (1 = best)" if is_rank else "mean score by people")
    tau = calibration.panel.by_target[0].tau
    note = f"tau-b within prompts {tau.value:.2f}" if tau.is_defined else "tau undefined"
    if tau.has_interval:
        note += f" [{tau.low:.2f}, {tau.high:.2f}]"
    axes.set_title(f"{short_name(str(calibration.main_target), 30)}: {note}", fontsize=9)
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - 0.3 / figure.get_figheight()))
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=len(labels), fontsize=8)
    return True


def draw_judges(calibration: Calibration, figure: Any) -> bool:
    """Draws the pair accuracy of every judge with its interval, best on top."""
    rows = [row for row in calibration.judges.of("judge") if row.accuracy.is_defined]
    if not rows:
        return False
    rows.sort(key=lambda row: row.accuracy.value)
    shown = rows if len(rows) <= 60 else rows[:30] + rows[-30:]
    names = [short_name(row.name, 60) for row in shown]
    figure.set_size_inches(4.2 + 0.065 * max(map(len, names)), 1.4 + 0.2 * len(shown))
    axes = figure.add_subplot()
    for place, row in enumerate(shown):
        _draw_row(axes, place, row)
    axes.axvline(0.5, color=GREY, linestyle="--", linewidth=1)
    panel = calibration.panel.by_target[0].accuracy
    sides = ("center", "center")
    if panel.is_defined:
        axes.axvline(panel.value, color=GREEN, linewidth=1.5)
        low, high = axes.get_xlim()
        if abs(panel.value - 0.5) < 0.2 * (high - low):  # centred words would print on each other
            sides = ("right", "left") if panel.value >= 0.5 else ("left", "right")
        _above(axes, panel.value, "panel", GREEN, sides[1])
    _above(axes, 0.5, "chance", GREY, sides[0])
    axes.set_yticks(range(len(shown)), names, fontsize=8)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.set_xlabel(f"pairs ordered as people do, ties 1/2 ({calibration.level:.0%} intervals)")
    if len(shown) < len(rows):
        axes.set_title(f"the best and the worst 30 of {len(rows)} judges", pad=18)
    return True


def _above(axes: Any, at: float, text: str, colour: str, side: str) -> None:
    """Names a line above the axes; "right" and "left" are the word's own edge at the line."""
    shift = {"center": 0, "left": 2, "right": -2}[side]
    axes.annotate(
        text, (at, 1.01), (shift, 0), xycoords=("data", "axes fraction"),
        textcoords="offset points", color=colour, ha=side, va="bottom",
    )  # fmt: skip


def _draw_row(axes: Any, place: int, row: JudgeRow) -> None:
    is_poor = row.is_useless or row.is_source_only
    colour = ORANGE if is_poor else BLUE
    if row.accuracy.has_interval:
        axes.plot([row.accuracy.low, row.accuracy.high], [place, place], color=colour, lw=1.4)
    axes.plot(
        row.accuracy.value, place, "D" if is_poor else "o", color=colour, markersize=5,
        markerfacecolor="white" if is_poor else colour,
    )  # fmt: skip
    said = "useless" if row.is_useless else "source only" if row.is_source_only else ""
    if said:
        right = row.accuracy.high if row.accuracy.has_interval else row.accuracy.value
        axes.annotate(
            said, (right, place), (4, 0), textcoords="offset points", va="center", fontsize=7
        )


def draw_designs(calibration: Calibration, figure: Any) -> bool:
    """Draws the expected reliability of the best design by calls a response."""
    size = calibration.how_many
    known = [one for one in size.designs if np.isfinite(one.e_rho2)]
    if not known:
        return False
    axes = figure.add_subplot()
    calls = [one.calls for one in known]
    axes.plot(
        calls, [one.e_rho2 for one in known], "-o", color=BLUE, markersize=4,
        label="best design (personas x models x repeats)",
    )  # fmt: skip
    last = 0.0
    for one in known:
        if one.calls > 1.8 * last:  # labels of neighbouring designs would overlap
            axes.annotate(
                f"{one.personas}x{one.models}x{one.repeats}", (one.calls, one.e_rho2), (5, -11),
                textcoords="offset points", fontsize=7, ha="left",
            )  # fmt: skip
            last = one.calls
    here = size.this_panel
    if here is not None and np.isfinite(here.e_rho2):
        axes.plot(
            here.calls, here.e_rho2, "*", color=ORANGE, markersize=12,
            label=f"this panel ({here.personas}x{here.models}x{here.repeats})",
        )  # fmt: skip
    axes.set_xscale("log")
    ticks = [1, 2, 5, 10, 20, 50, 100]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("calls a response")
    axes.set_ylabel("generalizability (Erho2), within prompts")
    axes.legend(loc="lower right")
    return True


def draw_reliability(calibration: Calibration, figure: Any) -> bool:
    """Draws people's mean by groups of panel scores, beside the line of equality."""
    target = calibration.levels
    if target is None or target.both.sum() < 10:
        return False
    axes = figure.add_subplot()
    x, y = target.panel[target.both], target.human[target.both]
    groups = min(10, len(x) // 5)
    order = np.argsort(x, kind="stable")
    parts = np.array_split(order, groups)
    at = np.array([x[part].mean() for part in parts])
    mean = np.array([y[part].mean() for part in parts])
    spread = np.array([y[part].std(ddof=1) for part in parts])
    low = min(at.min(), (mean - spread).min())
    high = max(at.max(), (mean + spread).max())
    axes.plot([low, high], [low, high], "--", color=GREY, linewidth=1, label="equal")
    axes.errorbar(
        at, mean, yerr=spread, fmt="o", color=BLUE, markersize=5, linewidth=1, capsize=2,
        label=f"people's mean ± sd in {groups} groups of responses",
    )  # fmt: skip
    score_map = calibration.corrections.score_map
    if score_map.x:
        line = np.linspace(x.min(), x.max(), 200)
        axes.plot(
            line, np.interp(line, score_map.x, score_map.y), "-", color=ORANGE, linewidth=1.5,
            label=f"adopted map: {score_map.adopted}",
        )  # fmt: skip
    axes.set_xlabel("panel score")
    axes.set_ylabel(f"mean score by people ({short_name(target.name, 30)})")
    handles, labels = axes.get_legend_handles_labels()
    strip = 0.12 + 0.2 * len(labels)
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - strip / figure.get_figheight()))
    figure.legend(handles, labels, loc="upper center", fontsize=8)
    return True
