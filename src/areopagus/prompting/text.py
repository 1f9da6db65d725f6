"""A construction of prompts as a person reads it on a terminal, in at most 80 columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..aggregation.estimate import Estimate
from ..formats import listed, units
from ..graphs.prompt_writing import CRITERIA, FLAWS
from ..number import WIDTH, heading, item, table
from .bounded_means import BoundedMean
from .diversity import Diversity
from .plan import PromptPlan
from .statistics import GeneratorFigures, PromptFigures

if TYPE_CHECKING:
    from ..experiment.cost_cap import CapStop
    from .map import PromptMap

_MOST_GAPS = 12
_RULES = {
    "others": "the models that did not write it",
    "all": "all models, its writer among them",
}


def prompt_lines(
    figures: PromptFigures,
    plan: PromptPlan,
    *,
    generators: Sequence[str],
    judges: Sequence[str],
    n_scenarios: int,
    n_prompts: int,
    demonstration: bool,
    notices: Sequence[str],
    embedding: str | None = None,
    drawn: PromptMap | None = None,
    stop: CapStop | None = None,
) -> list[str]:
    """The whole report."""
    lines: list[str] = [] if stop is None else [*stop.lines(WIDTH), ""]
    if demonstration:
        lines += ["DEMONSTRATION: an embedded stand-in took part; these are no findings.", ""]
    wanted = n_scenarios * len(generators) * plan.per_scenario
    lines.append(
        f"Prompt set: {units(n_prompts, 'prompt')} of {wanted:,} wanted "
        f"({units(n_scenarios, 'scenario')} × {units(len(generators), 'generator')} × "
        f"{plan.per_scenario})"
    )
    lines += item("generators", ", ".join(generators), indent=0)
    lines += item("judges", ", ".join(judges) or "none", indent=0)
    for notice in notices:
        lines += item("note", notice, indent=0)
    lines += heading("What became of the bundles")
    lines += _bundles(figures.generators)
    lines += _gaps(figures)
    lines += heading(f"Yield and coverage, {100 * plan.level:g}% interval over scenarios")
    lines += _rates(figures.generators)
    lines += heading("Quality")
    lines += item("", f"asked: {_RULES[plan.filter_judges]}; passed by more than half of them")
    lines += _quality(figures.generators)
    lines += _criteria(figures.generators)
    lines += heading("Functional diversity")
    lines += _diversity(figures, plan)
    lines += heading("Map")
    lines += _map(embedding, drawn)
    return lines


def _name(one: GeneratorFigures) -> str:
    return f"{one.source or 'all'}, {one.generator}"


def _bundles(rows: Sequence[GeneratorFigures]) -> list[str]:
    names = [
        name
        for name in ("complete", "partial", "refused", "unreadable", "failed", "not_asked")
        if name == "complete" or any(one.statuses[name] for one in rows)
    ]
    header = ["source, generator", "scenarios", *(name.replace("_", " ") for name in names)]
    body = [
        [_name(one), f"{one.scenarios:,}", *(f"{one.statuses[name]:,}" for name in names)]
        for one in rows
    ]
    return table(header, body)


def _gaps(figures: PromptFigures) -> Iterator[str]:
    by_model: dict[str, list[tuple[str, str]]] = {}
    for _, stratum, scenario, generator in figures.gaps:
        by_model.setdefault(generator, []).append((stratum, scenario))
    for generator, gaps in by_model.items():
        yield from item(
            "refused by", f"{generator}: {listed([name for _, name in gaps], most=_MOST_GAPS)}"
        )
        strata = Counter(stratum for stratum, _ in gaps if stratum)
        if len(gaps) > 1 and strata:
            said = [f"{name} {n}" for name, n in strata.most_common()]
            yield from item("", f"by stratum: {listed(said)}", indent=4)


def _rates(rows: Sequence[GeneratorFigures]) -> Iterator[str]:
    body = [
        [
            _name(one),
            f"{one.usable:,} of {one.wanted:,}",
            _mean(one.yield_rate),
            _share(one.coverage),
            _limits(one.coverage),
        ]
        for one in rows
    ]
    yield from table(["source, generator", "usable", "yield ± SE", "coverage", "interval"], body)
    yield from item(
        "",
        "usable: prompts without a fault of those wanted, where the bundle came to an end; "
        "coverage: share of scenarios with every prompt wanted",
    )
    yield from _reasons([one.coverage for one in rows])


def _quality(rows: Sequence[GeneratorFigures]) -> Iterator[str]:
    names = [
        name
        for name in ("undecided", "not_checked", "not_asked")
        if any(one.quality[name] for one in rows)
    ]
    body = [
        [
            _name(one),
            f"{one.quality['passed']:,}",
            f"{one.quality['failed']:,}",
            *(f"{one.quality[name]:,}" for name in names),
            _mean(one.pass_rate),
            _limits(one.pass_rate.interval),
            _share(one.coverage_passed),
        ]
        for one in rows
    ]
    heads = ["source, generator", "passed", "failed", *(n.replace("_", " ") for n in names)]
    yield from table([*heads, "rate ± SE", "interval", "all passed"], body)
    yield from item("", "all passed: share of scenarios in which every prompt wanted has passed")
    yield from _reasons([one.pass_rate.interval for one in rows])


def _criteria(rows: Sequence[GeneratorFigures]) -> Iterator[str]:
    """Which criteria votes name; one line a generator over all its sources."""
    last = {one.generator: one for one in rows}  # the rows over all sources come last
    if not any(one.votes for one in last.values()):
        return
    named = {
        key: ("" if key in FLAWS else "not ") + key.replace("_", " ")
        for key in CRITERIA
        if any(one.criteria.get(key) for one in last.values())
    }
    for one in last.values():
        counts = sorted(
            ((one.criteria.get(key, 0), text) for key, text in named.items()), reverse=True
        )
        said = ", ".join(f"{text} {n:,}" for n, text in counts if n) or "none"
        yield from item("missed", f"{one.generator}: {said} (of {units(one.votes, 'vote')} read)")


def _diversity(figures: PromptFigures, plan: PromptPlan) -> Iterator[str]:
    if plan.diversity_of == "none":
        yield from item("", "not measured: left out by the plan")
        return
    other = "either" if plan.equivalence == "both" else "both"
    body = [
        [
            f"{source or 'all'}, {_of(one)}",
            _mean(one.mean),
            _limits(one.mean.interval),
            _plain(one.other_rule),
            f"{one.equivalent:,} of {one.pairs:,}",
            f"{one.mean.interval.n} of {one.mean.n_planned}",
            str(one.judges) if one.pairs else "–",
        ]
        for source, one in figures.diversity
    ]
    header = ["source, generators", "FD ± SE", "interval", other, "equivalent", "n", "judges"]
    yield from table(header, body)
    judged = "both judges call it so" if plan.equivalence == "both" else "either judge calls it so"
    yield from item(
        "",
        f"FD: 1 minus the share of equivalent pairs among the prompts {plan.diversity_of}; a pair "
        f"is equivalent where {judged}; column {other}: under the other rule; n: scenarios with a "
        "value, of all; judges: asked about a pair, none of them its writer",
    )
    yield from _reasons([one.mean.interval for _, one in figures.diversity])


def _map(embedding: str | None, drawn: PromptMap | None) -> Iterator[str]:
    if embedding is None:
        yield from item("", "left out: no embedding model is named (--embedding MODEL)")
        return
    if drawn is None:
        yield from item("", f"not drawn yet: {embedding} was not asked to the end")
        return
    body = [
        [
            f"{one.source}, {one.generator}",
            f"{one.prompts:,}",
            "undef." if one.normalised_area is None else f"{one.normalised_area:.2f}",
            "undef." if one.mean_scenario_area is None else f"{one.mean_scenario_area:.3g}",
        ]
        for one in drawn.hulls
    ]
    if body:
        yield from table(["source, generator", "prompts", "hull, largest 1", "a scenario"], body)
    yield from item("embedded", f"{drawn.placed:,} of {units(drawn.texts, 'text')} by {embedding}")
    said = [
        f"{source} {100 * share:.0f}%"
        for source, share in drawn.variance_shares.items()
        if share is not None
    ]
    held = f"; its two components hold of the variance: {', '.join(said)}" if said else ""
    yield from item(
        "",
        f"projection {drawn.projection}, each source for itself{held}; areas grow with the number "
        "of prompts and with a single outlier; a scenario: mean area of one scenario's prompts",
    )


def _of(one: Diversity) -> str:
    if one.of is None:
        return "across all generators"
    first, second = one.of
    return f"within {first}" if first == second else f"{first} × {second}"


def _mean(mean: BoundedMean) -> str:
    value, error = mean.interval.value, mean.standard_error
    if math.isnan(value):
        return "undef."
    return f"{value:.3f} ± {error:.3f}" if not math.isnan(error) else f"{value:.3f}"


def _share(interval: Estimate) -> str:
    return "undef." if math.isnan(interval.value) else f"{100 * interval.value:.1f}%"


def _limits(interval: Estimate) -> str:
    return "–" if math.isnan(interval.low) else f"{interval.low:.3f}–{interval.high:.3f}"


def _plain(value: float) -> str:
    return "undef." if math.isnan(value) else f"{value:.3f}"


def _reasons(intervals: Sequence[Estimate]) -> Iterator[str]:
    counts = Counter(interval.reason for interval in intervals if interval.reason)
    for reason, n in counts.items():
        yield from item("", f"{units(n, 'figure')}: {reason}", indent=4)
