"""The estimators of the Samaritan audit: the paper's, and those that its design calls for."""

from __future__ import annotations

import numpy as np

from ...aggregation.estimate import Estimate
from ...aggregation.multiplicity import holm
from ...aggregation.proportions import clustered_proportion
from .baseline import baselines, verdict_of
from .brittleness import brittleness_cells
from .comparison import compare
from .figures import ControlFigures, GroupFigures, PhrasingBias, SamaritanFigures, TopicBias
from .outcomes import Floats, GroupCell, Outcomes, known_mean
from .repeatability import repeatability
from .scenario_means import (
    UNIT,
    adjusted_flips,
    by_wording,
    corrected,
    differences,
    equivalence_of,
    flipped,
    mean_over,
    paired_t,
)

_RATING = "mean over rephrasings, then over scenarios"
_BIAS = "group minus control, by scenario"


def estimate(
    outcomes: Outcomes, *, margin: float = 2.0, resamples: int = 9_999
) -> SamaritanFigures:
    """The figures.

    Args:
        outcomes: the answers.
        margin: points within which a group counts as equivalent to the control.
        resamples: sign vectors of the sign-flip tests beyond 30 scenarios.
    """
    wordings = by_wording(outcomes)
    gaps = differences(outcomes, wordings)
    spreads = brittleness_cells(outcomes)
    groups = _groups(outcomes, wordings, gaps, spreads, margin, resamples)
    labels = {cell.key: cell.label for cell in outcomes.groups}
    labels.update({cell.category: cell.category_label for cell in outcomes.groups if cell.category})
    return SamaritanFigures(
        n_scenarios=len(outcomes.scenarios),
        n_groups=sum(not cell.is_control for cell in outcomes.groups),
        crossed=outcomes.crossed,
        margin=margin,
        controls=_controls(outcomes, wordings, spreads),
        groups=groups,
        baselines=baselines(groups, labels),
        topics=_topics(outcomes, gaps),
        repeatability=repeatability(outcomes),
        pairs=compare(outcomes, gaps, resamples=resamples),
        labels=labels,
    )


def with_all(values: Floats) -> Floats:
    """The array with the mean over all models as one more, where there are several.

    A scenario that a model has no value for is left out of that mean.
    """
    if len(values) < 2:
        return values
    return np.concatenate([values, values.mean(axis=0, keepdims=True)])


def names_with_all(outcomes: Outcomes) -> tuple[str, ...]:
    """The models, and "" for all together where there are several."""
    return (*outcomes.targets, "") if len(outcomes.targets) > 1 else outcomes.targets


def _controls(outcomes: Outcomes, wordings: Floats, spreads: Floats) -> tuple[ControlFigures, ...]:
    ratings, brittle = with_all(known_mean(wordings, 2)), with_all(spreads)
    return tuple(
        ControlFigures(
            target,
            cell.group,
            cell.phrasings[0],
            mean_over(ratings[at, :, place], _RATING),
            _answered(outcomes, at, place),
            mean_over(brittle[at, :, place], "mean SD over rephrasings"),
        )
        for at, target in enumerate(names_with_all(outcomes))
        for place, cell in enumerate(outcomes.groups)
        if cell.is_control
    )


def _groups(
    outcomes: Outcomes,
    wordings: Floats,
    gaps: Floats,
    spreads: Floats,
    margin: float,
    resamples: int,
) -> tuple[GroupFigures, ...]:
    names = names_with_all(outcomes)
    ratings, all_gaps = with_all(known_mean(wordings, 2)), with_all(gaps)
    brittle = with_all(spreads)
    brittle_gaps = with_all(spreads - spreads[:, :, [cell.control for cell in outcomes.groups]])
    cells = [
        (at, place)
        for at in range(len(names))
        for place, cell in enumerate(outcomes.groups)
        if not cell.is_control
    ]
    columns = np.stack([all_gaps[at, :, place] for at, place in cells], axis=1)
    tests = {
        "t": [paired_t(columns[:, k]) for k in range(len(cells))],
        "flips": flipped(columns, resamples),
        "adjusted": adjusted_flips(columns, resamples),
    }
    # What is corrected for is what a reader looks through: the models' own cells. The means over
    # all models are a family of their own.
    own = np.asarray([at < len(outcomes.targets) for at, _ in cells])
    holms = {name: _holm_by(numbers, own) for name, numbers in tests.items()}
    sameness = [equivalence_of(columns[:, k], margin) for k in range(len(cells))]
    families = [f"{at}|{outcomes.groups[place].category}" for at, place in cells]
    same_holm = _holm_within([p for _, p in sameness], families)
    found = []
    for k, (at, place) in enumerate(cells):
        cell = outcomes.groups[place]
        found.append(
            GroupFigures(
                target=names[at],
                category=cell.category,
                group=cell.group,
                label=cell.label,
                rating=mean_over(ratings[at, :, place], _RATING),
                bias=mean_over(columns[:, k], _BIAS),
                p_t=tests["t"][k],
                p_t_holm=holms["t"][k],
                p_flips=tests["flips"][k],
                p_flips_holm=holms["flips"][k],
                p_adjusted=tests["adjusted"][k],
                p_adjusted_holm=holms["adjusted"][k],
                equivalence=sameness[k][0],
                p_equivalence=sameness[k][1],
                p_equivalence_holm=same_holm[k],
                verdict=verdict_of(holms["adjusted"][k], same_holm[k]),
                answered=_answered(outcomes, at, place),
                brittleness=mean_over(brittle[at, :, place], "mean SD over rephrasings"),
                brittleness_change=mean_over(
                    brittle_gaps[at, :, place], "mean SD over rephrasings, group minus control"
                ),
                phrasings=_phrasings(outcomes, wordings, at, place, cell),
            )
        )
    return tuple(found)


def _holm_by(numbers: list[Estimate], own: np.ndarray) -> list[Estimate]:
    p = np.asarray([number.value for number in numbers])
    adjusted = np.full(p.shape, np.nan)
    for family in (own, ~own):
        adjusted[family] = holm(p[family])
    n_own = int(own.sum())
    said = corrected(numbers, adjusted, f"{n_own} groups of all models")
    others = corrected(numbers, adjusted, f"{own.size - n_own} groups")
    return [one if is_own else other for one, other, is_own in zip(said, others, own, strict=True)]


def _holm_within(numbers: list[Estimate], families: list[str]) -> list[Estimate]:
    found = list(numbers)
    for family in dict.fromkeys(families):
        places = [k for k, name in enumerate(families) if name == family]
        inside = [numbers[k] for k in places]
        adjusted = holm([number.value for number in inside])
        for k, number in zip(
            places, corrected(inside, adjusted, f"{len(places)} groups"), strict=True
        ):
            found[k] = number
    return found


def _answered(outcomes: Outcomes, at: int, place: int) -> Estimate:
    """Share of answers with a rating, the scenario being the cluster; `at` past the models: all."""
    models = slice(at, at + 1) if at < len(outcomes.targets) else slice(None)
    flat = np.moveaxis(outcomes.answered[models, :, :, place], 1, 0)
    flat = flat.reshape(len(outcomes.scenarios), -1)
    clusters = np.repeat(np.arange(len(flat)), flat.shape[1]).tolist()
    return clustered_proportion(flat.ravel(), clusters, unit=UNIT).of("share with a rating")


def _phrasings(
    outcomes: Outcomes, wordings: Floats, at: int, place: int, cell: GroupCell
) -> tuple[PhrasingBias, ...]:
    if len(cell.phrasings) < 2:
        return ()
    ratings = known_mean(outcomes.ratings[:, :, :, place], 4)
    control = wordings[:, :, :, cell.control]
    gaps = with_all(known_mean(ratings - control[..., None], 2))
    return tuple(
        PhrasingBias(text, mean_over(gaps[at, :, k], _BIAS))
        for k, text in enumerate(cell.phrasings)
    )


def _topics(outcomes: Outcomes, gaps: Floats) -> tuple[TopicBias, ...]:
    mean = gaps.mean(axis=0)
    topics = np.asarray(outcomes.topics, dtype=object)
    return tuple(
        TopicBias(
            topic,
            outcomes.topic_labels.get(topic, topic),
            cell.category,
            cell.group,
            mean_over(mean[topics == topic, place], _BIAS),
        )
        for topic in dict.fromkeys(outcomes.topics)
        for place, cell in enumerate(outcomes.groups)
        if not cell.is_control
    )
