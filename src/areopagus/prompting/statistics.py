"""The table of a prompt set: yield, pass rate, coverage and diversity by generator and source."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..aggregation.estimate import Estimate
from ..aggregation.proportions import wilson
from ..graphs.prompt_construction import (
    BUNDLE_STATUSES,
    QUALITY_OUTCOMES,
    Bundle,
    Constructed,
    PromptQuality,
    PromptRef,
)
from ..graphs.prompt_writing import CRITERIA, FLAWS
from .bounded_means import BoundedMean, clustered_rate
from .diversity import Diversity, diversities
from .plan import PromptPlan

ENDED = ("complete", "partial", "refused", "unreadable")
"""Bundles that say something of the model: the others failed on the way, or were not asked for."""


@dataclass(frozen=True, slots=True)
class GeneratorFigures:
    """One generator on the scenarios of one source, or of all.

    Attributes:
        source: None for all sources.
        generator: name.
        scenarios: planned ones.
        statuses: bundles by status.
        wanted: prompts wanted of the bundles that came to an end.
        usable: prompts in them that can be used.
        quality: usable prompts by what their votes come to.
        yield_rate: usable prompts of those wanted.
        pass_rate: passed prompts of those whose votes decide.
        coverage: share of scenarios with every prompt wanted, of those whose bundle came to an end.
        coverage_passed: share of scenarios in which every prompt wanted has passed, of those in
            which every usable prompt is decided.
        criteria: criterion to votes that name it as missing or as a flaw, of `votes` votes read.
        votes: votes read.
    """

    source: str | None
    generator: str
    scenarios: int
    statuses: Mapping[str, int]
    wanted: int
    usable: int
    quality: Mapping[str, int]
    yield_rate: BoundedMean
    pass_rate: BoundedMean
    coverage: Estimate
    coverage_passed: Estimate
    criteria: Mapping[str, int] = field(default_factory=dict)
    votes: int = 0


@dataclass(frozen=True, slots=True)
class PromptFigures:
    """Everything that is measured of a prompt set.

    Attributes:
        generators: one a source and generator, then one a generator over all sources.
        diversity: (source, None for all sources) and the diversity within and across generators.
        gaps: refusals: source, stratum, scenario and generator, in order.
    """

    generators: tuple[GeneratorFigures, ...]
    diversity: tuple[tuple[str | None, Diversity], ...]
    gaps: tuple[tuple[str, str, str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values, with null where a figure is undefined."""
        return {
            "generators": [_generator_json(item) for item in self.generators],
            "diversity": [_diversity_json(source, item) for source, item in self.diversity],
            "coverage_gaps": [
                dict(zip(("source", "stratum", "scenario_id", "generator"), gap, strict=True))
                for gap in self.gaps
            ],
        }


@dataclass(frozen=True, slots=True)
class Placed:
    """A scenario's outcome and where the scenario belongs."""

    source: str
    stratum: str
    outcome: Constructed


def measure(placed: Sequence[Placed], generators: Sequence[str], plan: PromptPlan) -> PromptFigures:
    """All figures.

    Args:
        placed: every scenario, in order.
        generators: names, in order.
        plan: what was decided beforehand.
    """
    sources = list(dict.fromkeys(item.source for item in placed))
    groups: list[tuple[str | None, list[Placed]]] = [
        (source, [item for item in placed if item.source == source]) for source in sources
    ]
    if len(groups) != 1:
        groups.append((None, list(placed)))
    known = {item.outcome.scenario_id: item.outcome.qualities() for item in placed}
    rows = [
        _generator_figures(source, name, items, known, plan)
        for source, items in groups
        for name in generators
    ]
    spread: list[tuple[str | None, Diversity]] = []
    if plan.diversity_of != "none":
        for source, items in groups:
            outcomes = [item.outcome for item in items]
            found = diversities(outcomes, generators, plan.equivalence, level=plan.level)
            spread += [(source, one) for one in found]
    gaps = [
        (item.source, item.stratum, item.outcome.scenario_id, bundle.generator)
        for item in placed
        for bundle in item.outcome.bundles
        if bundle.status == "refused"
    ]
    return PromptFigures(tuple(rows), tuple(spread), tuple(gaps))


def _generator_figures(
    source: str | None,
    name: str,
    items: Sequence[Placed],
    known: Mapping[str, Mapping[PromptRef, PromptQuality]],
    plan: PromptPlan,
) -> GeneratorFigures:
    statuses: Counter[str] = Counter(dict.fromkeys(BUNDLE_STATUSES, 0))
    outcomes: Counter[str] = Counter(dict.fromkeys(QUALITY_OUTCOMES, 0))
    criteria: Counter[str] = Counter(dict.fromkeys(CRITERIA, 0))
    usable: list[int] = []
    wanted: list[int] = []
    passed: list[int] = []
    decided: list[int] = []
    covered = ended = fully_passed = fully_decided = votes = 0
    for item in items:
        bundle = _bundle_of(item.outcome, name)
        statuses[bundle.status] += 1
        mine = [
            quality
            for ref, quality in known[item.outcome.scenario_id].items()
            if ref.generator == name
        ]
        outcomes.update(quality.outcome for quality in mine)
        has_ended = bundle.status in ENDED
        usable.append(len(bundle.usable) if has_ended else 0)
        wanted.append(plan.per_scenario if has_ended else 0)
        passed.append(sum(quality.outcome == "passed" for quality in mine))
        decided.append(sum(quality.outcome in ("passed", "failed") for quality in mine))
        ended += has_ended
        covered += has_ended and bundle.status == "complete"
        if has_ended and decided[-1] == len(mine):
            fully_decided += 1
            fully_passed += passed[-1] == plan.per_scenario
        for vote in item.outcome.votes:
            if vote.prompt.generator == name and vote.asked.status == "read":
                votes += 1
                criteria.update(key for key in CRITERIA if vote.asked.value[key] is (key in FLAWS))
    level = plan.level
    return GeneratorFigures(
        source=source,
        generator=name,
        scenarios=len(items),
        statuses=dict(statuses),
        wanted=sum(wanted),
        usable=sum(usable),
        quality=dict(outcomes),
        yield_rate=clustered_rate(usable, wanted, level=level, empty="no bundle came to an end"),
        pass_rate=clustered_rate(passed, decided, level=level, empty="no prompt is decided"),
        coverage=wilson(covered, ended, level=level, unit="scenario"),
        coverage_passed=wilson(fully_passed, fully_decided, level=level, unit="scenario"),
        criteria=dict(criteria),
        votes=votes,
    )


def _bundle_of(outcome: Constructed, name: str) -> Bundle:
    return next(bundle for bundle in outcome.bundles if bundle.generator == name)


def _generator_json(item: GeneratorFigures) -> dict[str, Any]:
    return {
        "source": item.source,
        "generator": item.generator,
        "scenarios": item.scenarios,
        "bundles": dict(item.statuses),
        "prompts_wanted": item.wanted,
        "prompts_usable": item.usable,
        "quality": dict(item.quality),
        "yield": item.yield_rate.to_json(),
        "pass_rate": item.pass_rate.to_json(),
        "coverage": item.coverage.to_json(),
        "coverage_passed": item.coverage_passed.to_json(),
        "votes_read": item.votes,
        "criteria_missed": dict(item.criteria),
    }


def _diversity_json(source: str | None, item: Diversity) -> dict[str, Any]:
    return {
        "source": source,
        "first": None if item.of is None else item.of[0],
        "second": None if item.of is None else item.of[1],
        "is_within": item.of is not None and item.of[0] == item.of[1],
        "mean": item.mean.to_json(),
        "other_rule": item.other_rule if math.isfinite(item.other_rule) else None,
        "pairs": item.pairs,
        "equivalent": item.equivalent,
        "judges": item.judges,
    }
