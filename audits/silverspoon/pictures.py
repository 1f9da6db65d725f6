"""The pictures of SilverSpoon: sides taken, incomes and sentiments by group, words by group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...reports.chart_style import (
    BLUE,
    GREEN,
    GREY,
    HATCHES,
    MARKERS,
    ORANGE,
    PALETTE,
    SKY,
    new_figure,
    save,
    short_name,
    style,
)
from .figures import SilverSpoonFigures
from .groups_estimate import CITY_LABELS
from .groups_figures import GroupFigures
from .judgement_figures import JudgementFigures
from .lines_groups import group_name
from .narratives import NarrativeFigures
from .professions import ProfessionFigures
from .sentiment import SENTIMENTS
from .words import GroupWords

_MOST_MODELS = 6
_MOST_BY_TOPIC = 9
_MOST_WORDS = 10
Pictures = list[tuple[str, str]]

_SIDES = (
    "Sides with P1. Share of answers that hold the other to be wrong, among those that settle on "
    "one, with 95% intervals."
)
_INCOME = (
    "Share of high income by gender and race, in rich cities (circles) and poor ones (squares), "
    "with 95% intervals over names."
)
_WORDS = "z of the log-odds with a prior; solid bars hold after Holm's correction."


def draw(folder: Path, figures: SilverSpoonFigures) -> Sequence[tuple[str, str]]:
    """Draws all pictures; name and caption of each."""
    with style():
        if figures.judgement is not None:
            return _judgement(folder, figures.judgement)
        if figures.professions is not None:
            return _professions(folder, figures.professions)
        return _narratives(folder, figures.narratives) if figures.narratives is not None else []


def _judgement(folder: Path, figures: JudgementFigures) -> Pictures:
    models = figures.models
    if not models:
        return []
    figure = new_figure(6.5, 1.2 + 0.32 * len(models))
    axes = figure.subplots()
    for place, model in enumerate(models):
        _point(axes, model.supports, place, BLUE)
    _names(axes, [model.target for model in models])
    axes.set_xlim(-0.01, 1.01)
    axes.set_xlabel("share of answers that blame the other")
    save(figure, folder / "sides_with_p1")
    found: Pictures = [("sides_with_p1", _SIDES)]
    if figures.topics:
        found.append(_by_topic(folder / "topics", figures))
    return found


def _by_topic(path: Path, figures: JudgementFigures) -> tuple[str, str]:
    topics = list(dict.fromkeys((one.topic, one.label) for one in figures.topics))
    models = [model.target for model in figures.models][:_MOST_BY_TOPIC]
    figure = new_figure(6.5, 1.5 + 0.42 * len(topics))
    axes = figure.subplots()
    for number, target in enumerate(models):
        shares = {one.topic: one.supports.value for one in figures.topics if one.target == target}
        places = [at + 0.09 * (number - (len(models) - 1) / 2) for at in range(len(topics))]
        axes.plot(
            [shares.get(topic, float("nan")) for topic, _ in topics], places,
            MARKERS[number], color=PALETTE[1:][number], markersize=5,
            label=short_name(target, 24), linestyle="",
        )  # fmt: skip
    _names(axes, [label for _, label in topics])
    axes.set_xlim(-0.03, 1.03)
    axes.set_xlabel("share of answers that blame the other")
    figure.legend(loc="outside upper center", ncols=3, fontsize=8)
    save(figure, path)
    caption = "Sides with P1 by topic and model."
    left_out = len(figures.models) - len(models)
    return path.name, caption + (f" {left_out} more models are not drawn." if left_out else "")


def _professions(folder: Path, figures: ProfessionFigures) -> Pictures:
    found: Pictures = []
    for number, model in enumerate(figures.models[:_MOST_MODELS]):
        path = folder / f"income_{number}"
        _rich_and_poor(path, model.groups, "high", "share of professions of high income")
        found.append(
            (path.name, f"Professions guessed by {short_name(model.target, 40)}. {_INCOME}")
        )
    return found


def _rich_and_poor(path: Path, groups: GroupFigures, category: str, label: str) -> None:
    cells = [one for one in groups.cells if one.gender and one.race and one.city]
    names = list(dict.fromkeys(group_name(one.gender, one.race, "") for one in cells))
    figure = new_figure(6.5, 1.3 + 0.42 * len(names))
    axes = figure.subplots()
    for city, offset, marker, colour in (("high", -0.13, "o", BLUE), ("low", 0.13, "s", ORANGE)):
        for one in cells:
            if one.city == city:
                place = names.index(group_name(one.gender, one.race, "")) + offset
                _point(axes, one.shares[category], place, colour, marker)
        axes.plot([], [], marker, color=colour, label=f"{CITY_LABELS[city]} cities")
    _names(axes, names)
    axes.set_xlim(-0.01, 1.01)
    axes.set_xlabel(label)
    figure.legend(loc="outside upper center", ncols=2, fontsize=8)
    save(figure, path)


def _narratives(folder: Path, figures: NarrativeFigures) -> Pictures:
    found: Pictures = []
    for number, model in enumerate(figures.models[:_MOST_MODELS]):
        name = short_name(model.target, 40)
        for groups, whose in ((model.library, figures.library), (model.panel, "judges")):
            if groups is None:
                continue
            path = folder / f"sentiment_{whose.split()[0].lower()}_{number}"
            _sentiment(path, groups)
            found.append(
                (path.name, f"Sentiment of stories by {name}, by {whose}: shares by group.")
            )
        if any(one.distinct for one in model.words):
            for kind in ("race", "gender", "city"):
                groups_here = [one for one in model.words if _kind(one) == kind]
                chosen = [one for one in groups_here if one.distinct]
                path = folder / f"words_{kind}_{number}"
                if chosen:
                    _words(path, chosen)
                    caption = f"Most distinctive words in stories by {name}, by {kind}. {_WORDS}"
                    none = [
                        group_name(one.gender, one.race, one.city)
                        for one in groups_here
                        if not one.distinct
                    ]
                    if none:
                        caption += f" No word stands out for: {', '.join(none)}."
                    found.append((path.name, caption))
    return found


def _sentiment(path: Path, groups: GroupFigures) -> None:
    cells = [one for one in groups.cells if one.gender and one.race and one.city]
    figure = new_figure(6.5, 1.5 + 0.26 * len(cells))
    axes = figure.subplots()
    colours = {"negative": ORANGE, "neutral": SKY, "positive": GREEN}
    left = [0.0] * len(cells)
    for number, name in enumerate(SENTIMENTS):
        shares = [one.shares[name].value if one.n_answers else 0.0 for one in cells]
        axes.barh(
            range(len(cells)), shares, left=left, color=colours[name], hatch=HATCHES[number],
            edgecolor="white", linewidth=0.4, label=name, height=0.7,
        )  # fmt: skip
        left = [a + b for a, b in zip(left, shares, strict=True)]
    _names(axes, [group_name(one.gender, one.race, one.city) for one in cells])
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of stories")
    figure.legend(loc="outside upper center", ncols=3, fontsize=8)
    save(figure, path)


def _words(path: Path, groups: Sequence[GroupWords]) -> None:
    columns = min(2, len(groups))
    rows = -(-len(groups) // columns)
    figure = new_figure(6.5, 0.4 + 2.3 * rows)
    panels = figure.subplots(rows, columns, squeeze=False)
    widest = max(one.distinct[0].z for one in groups)
    for panel in panels.ravel()[len(groups) :]:
        panel.set_axis_off()
    for panel, group in zip(panels.ravel(), groups, strict=False):
        words = group.distinct[:_MOST_WORDS]
        bars = panel.barh(
            range(len(words)), [word.z for word in words], color=BLUE, edgecolor=BLUE, height=0.7
        )
        for bar, word in zip(bars, words, strict=True):
            bar.set_fill(word.p_holm <= 0.05)
        _names(panel, [word.word for word in words])
        panel.set_xlim(0, 1.05 * widest)
        panel.set_ylim(_MOST_WORDS - 0.5, -0.5)
        panel.set_title(group_name(group.gender, group.race, group.city))
        panel.set_xlabel("z")
    save(figure, path)


def _kind(one: GroupWords) -> str:
    kinds = [
        kind
        for kind, value in (("gender", one.gender), ("race", one.race), ("city", one.city))
        if value
    ]
    return kinds[0] if len(kinds) == 1 else ""


def _point(axes: Any, number: Any, place: float, colour: str, marker: str = "o") -> None:
    if not number.is_defined:
        axes.plot([0], [place], "x", color=GREY)
        return
    if number.has_interval:
        axes.plot([number.low, number.high], [place] * 2, color=colour, linewidth=1.4)
    axes.plot([number.value], [place], marker, color=colour, markersize=5)


def _names(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [short_name(name, 34) for name in names])
    axes.invert_yaxis()
