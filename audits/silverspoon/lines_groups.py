"""Text of what is told by gender, race and city: professions and narratives."""

from __future__ import annotations

from collections.abc import Sequence

from ...aggregation.estimate import Estimate
from ...number import cell, heading, item, plain, show, table
from .groups_estimate import CITY_LABELS
from .groups_figures import CellFigures, GroupFigures
from .narratives import NarrativeFigures, NarrativeModel
from .professions import ProfessionFigures
from .sentiment import SENTIMENTS, THRESHOLD
from .words import GroupWords

_SHOWN_WORDS = 8
_MOST_PAIRS = 45


def profession_lines(figures: ProfessionFigures) -> list[str]:
    """The report of profession prediction."""
    found: list[str] = []
    for model in figures.models:
        counts = ", ".join(f"{number:,} {_words(name)}" for name, number in model.counts.items())
        found += heading(f"Professions guessed by {model.target}")
        found += item("income", counts)
        if model.by_list is not None:
            found += item("decided by the list of occupations", f"{plain(100 * model.by_list, 1)}%")
        rows = [
            [_named(one), _answered(one), cell(one.shares["high"], digits=3),
             plain(one.shares["low"].value, 3)]
            for one in _full(model.groups)
        ]  # fmt: skip
        found += table(["gender, race, cities", "answers", "high income", "low"], rows)
        found += _note("Shares among answers with an income; intervals have the name as the unit.")
        found += _tests(model.groups, digits=3)
        found += ["", "  Named most often"]
        for one in model.common:
            said = ", ".join(f"{name} {number}" for name, number in one.occupations[:6])
            found += item(f"{one.race} {one.gender}", said or "none", indent=4)
    return found + _between(figures)


def narrative_lines(figures: NarrativeFigures) -> list[str]:
    """The report of the narratives."""
    found: list[str] = []
    for model in figures.models:
        counts = ", ".join(f"{number:,} {_words(name)}" for name, number in model.counts.items())
        found += heading(f"Stories by {model.target}")
        found += item("stories", counts)
        if model.words_mean is not None:
            found += item("mean length", f"{plain(model.words_mean, 0)} words")
        if model.library is not None:
            found += ["", f"  Sentiment by {figures.library}"]
            found += _sentiment(model.library)
            found += _note(
                "Mean compound score of a story's sentences, in [-1, 1]; negative up to "
                f"-{THRESHOLD}, positive from {THRESHOLD} on, as VADER's authors have it. Names "
                "and places are taken out before."
            )
            found += _tests(model.library, digits=3)
        if model.panel is not None:
            found += ["", "  Sentiment by the judges"]
            found += _sentiment(model.panel)
            found += _tests(model.panel, digits=3)
        found += _agreement(model)
        found += _vocabulary(model.words)
    return found + _between(figures)


def small(number: Estimate) -> str:
    """A p-value for a table."""
    if not number.is_defined:
        return "–"
    return "<.0001" if number.value < 0.0001 else f"{number.value:.4f}".removeprefix("0")


def _between(figures: ProfessionFigures | NarrativeFigures) -> list[str]:
    """The paper's table over all models, and how models differ."""
    if not figures.pairs:
        return []
    found = heading("All models: means of their shares, as in the paper")
    kinds = list(figures.average[0].shares) if figures.average else []
    rows = [
        [
            group_name(one.gender, one.race, one.city),
            *(
                "–" if one.shares[kind] is None else plain(one.shares[kind] or 0.0, 3)
                for kind in kinds
            ),
        ]
        for one in figures.average
    ]
    found += table(["gender, race, cities", *kinds], rows)
    found += heading("Do the models differ?")
    rows = [
        [f"{one.a} – {one.b}: {one.measure}", cell(one.difference, digits=3), small(one.p),
         small(one.p_holm)]
        for one in figures.pairs[:_MOST_PAIRS]
    ]  # fmt: skip
    found += table(["pair", "difference", "p", "Holm"], rows)
    if len(figures.pairs) > _MOST_PAIRS:
        found += _note(f"{len(figures.pairs) - _MOST_PAIRS} more stand in audit.json.")
    return found + _note("On the same names, with the name as the unit.")


def _sentiment(groups: GroupFigures) -> list[str]:
    rows = [
        [_named(one), _answered(one), *(plain(one.shares[name].value, 2) for name in SENTIMENTS),
         cell(one.mean, digits=3)]
        for one in _full(groups)
    ]  # fmt: skip
    return table(["gender, race, cities", "n", "neg.", "neutr.", "pos.", "mean score"], rows)


def _tests(groups: GroupFigures, *, digits: int) -> list[str]:
    found = ["", f"  Tests of {groups.outcome}, over names"]
    rows = [
        [one.name, plain(one.statistic, 2), f"{one.df}, {plain(one.df_rest, 1)}", small(one.p),
         small(one.p_holm)]
        for one in groups.effects
    ]  # fmt: skip
    found += table(["effect", "F", "df", "p", "Holm"], rows)
    reasons = {one.p.reason for one in groups.effects if not one.p.is_defined}
    for reason in sorted(reason or "" for reason in reasons):
        found += _note(f"undefined: {reason}")
    found += ["", "  Differences, every group weighing alike"]
    rows = [
        [f"{one.name}, {one.within}" if one.within else one.name, cell(one.gap, digits=digits)]
        for one in groups.gaps
    ]
    return found + table(["", "difference"], rows)


def _agreement(model: NarrativeModel) -> list[str]:
    if not model.same.is_defined:
        return []
    return [
        "",
        *item("library and judges say the same", show(model.same)),
        *item("Cohen's kappa", show(model.kappa)),
    ]


def _vocabulary(words: Sequence[GroupWords]) -> list[str]:
    if not words:
        return []
    found = ["", "  Most distinctive words (log-odds with prior, names that use it)"]
    for one in words:
        if sum(bool(part) for part in (one.gender, one.race, one.city)) > 1:
            continue
        said = ", ".join(
            f"{word.word} {word.here}:{word.there}{'*' if word.p_holm <= 0.05 else ''}"
            for word in one.distinct[:_SHOWN_WORDS]
        )
        found += item(
            f"{group_name(one.gender, one.race, one.city)} ({one.n_here} names against "
            f"{one.n_there})",
            said or "none",
            indent=4,
        )
    return found + _note(
        "Every word counts once a name. * p at most .05, by Holm over all words of the group. "
        "Groups of gender, race and city, and the commonest words, stand in audit.json."
    )


def group_name(gender: str, race: str, city: str) -> str:
    """A group in words."""
    parts = [part for part in (race, gender) if part]
    if city:
        parts.append(f"{CITY_LABELS[city]} cities")
    return " ".join(parts) or "all"


def _full(groups: GroupFigures) -> list[CellFigures]:
    """Cells of gender, race and city, then races, genders, cities, and all."""
    return [
        one
        for one in groups.cells
        if (one.gender and one.race and one.city) or sum(map(bool, _place(one))) <= 1
    ]


def _place(one: CellFigures) -> tuple[str, str, str]:
    return one.gender, one.race, one.city


def _named(one: CellFigures) -> str:
    return group_name(*_place(one))


def _answered(one: CellFigures) -> str:
    if one.n_answers == one.n_planned:
        return f"{one.n_answers:,}"
    return f"{one.n_answers:,}/{one.n_planned:,}"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _note(text: str) -> list[str]:
    return item("", text)
