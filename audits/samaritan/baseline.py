"""Which group a model takes for the default: shown by equivalence, not by want of a difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...aggregation.estimate import Estimate
from .figures import Baseline, GroupFigures, Verdict

LEVEL = 0.05


def verdict_of(difference: Estimate, equivalence: Estimate) -> Verdict:
    """What the two corrected tests say together.

    Args:
        difference: p against no difference.
        equivalence: p against a difference of the margin or more.
    """
    differs = difference.is_defined and difference.value <= LEVEL
    is_equivalent = equivalence.is_defined and equivalence.value <= LEVEL
    if differs:
        return "differs within margin" if is_equivalent else "differs"
    if is_equivalent:
        return "equivalent"
    return "undecided" if difference.is_defined else "undefined"


def baselines(groups: Sequence[GroupFigures], labels: Mapping[str, str]) -> tuple[Baseline, ...]:
    """The baseline of every category with every model, in the order of the groups."""
    found: dict[tuple[str, str], list[GroupFigures]] = {}
    for group in groups:
        found.setdefault((group.target, group.category), []).append(group)
    return tuple(
        _baseline(target, category, labels.get(category, category), members)
        for (target, category), members in found.items()
    )


def _baseline(target: str, category: str, label: str, members: Sequence[GroupFigures]) -> Baseline:
    def named(*verdicts: Verdict) -> tuple[str, ...]:
        return tuple(group.group for group in members if group.verdict in verdicts)

    measured = [group for group in members if group.bias.is_defined]
    nearest = min(measured, key=lambda group: abs(group.bias.value), default=None)
    return Baseline(
        target,
        category,
        label,
        equivalent=named("equivalent", "differs within margin"),
        undecided=named("undecided"),
        differing=named("differs"),
        nearest="" if nearest is None else nearest.group,
        not_significant=tuple(
            group.group for group in members if group.p_t.is_defined and group.p_t.value > LEVEL
        ),
    )
