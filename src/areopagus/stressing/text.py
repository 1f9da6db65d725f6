"""A stress test as a person reads it on a terminal, in at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..aggregation.degradation import Degradation
from ..aggregation.prompt_means import PromptMean
from ..aggregation.vulnerability import profile_sentences
from ..formats import units
from ..number import WIDTH, heading, item, table
from .cell_words import limits, noun_of, once_more, p_text, signed
from .measure import StressFigures
from .plan import StressPlan
from .text_cells import cell_lines, dimension_codes

if TYPE_CHECKING:
    from ..experiment.cost_cap import CapStop


def stress_lines(
    figures: StressFigures,
    plan: StressPlan,
    *,
    demonstration: bool,
    judges: str,
    rewriting: Mapping[str, Any] | None = None,
    is_supplied: bool = False,
    stop: CapStop | None = None,
) -> list[str]:
    """The whole report.

    Args:
        figures: what was measured.
        plan: what was decided beforehand.
        demonstration: whether embedded stand-ins took part.
        judges: the panel in a few words.
        rewriting: the outcome of the rewriting stage, where there was one.
        is_supplied: whether responses were supplied: their conditions are no framings of ours.
        stop: what the cost cap left out, if it did.
    """
    found, noun = figures.degradation, noun_of(is_supplied)
    lines = [] if stop is None else [*stop.lines(WIDTH), ""]
    if demonstration:
        lines += ["DEMONSTRATION: embedded stand-ins took part; these are no findings.", ""]
    sizes = [(found.n_prompts, "prompt"), (len(found.variants), noun)]
    sizes.append((len(found.targets), "target"))
    lines += [
        f"Stress test: {', '.join(units(n, name) for n, name in sizes)}",
        *item("judges", judges, indent=0),
        *item("delta", f"{plan.baseline} minus {noun}, in points; positive is worse", indent=0),
    ]
    if rewriting:
        lines += heading("Rewriting")
        lines += rewriting_lines(rewriting)
    lines += heading("What became of the responses")
    lines += _counts(figures)
    lines += heading("Mean degradation over dimensions, 95% interval over prompts")
    lines += _headlines(found, noun)
    codes = dimension_codes(found.dimensions)
    for target in found.targets:
        lines += cell_lines(found, target, codes, noun)
    lines += heading("Noise floor")
    lines += _noise(figures, plan)
    lines += _asymmetries(found)
    if found.comparisons:
        lines += heading("Targets compared on the same prompts (first minus second)")
        lines += _comparisons(found, noun)
    lines += _abstentions(found, noun)
    lines += heading("What this says of each target")
    lines += item(
        "",
        f"each sentence holds over all tests behind this list together (Holm over their families, "
        f"p at most {found.alpha:g}); a cell may be changed within its own family alone",
    )
    for target in found.targets:
        lines += item("", target)
        for sentence in profile_sentences(target, found.findings):
            lines += bullet(sentence, indent=4)
        lines += _robust_everywhere(found, target)
    lines += heading("What cannot be said, and why")
    for note in figures.notes:
        lines += bullet(note)
    return lines


def rewriting_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """What became of the variants: counts, who wrote and checked them, why some failed."""
    yield from item(
        "",
        f"{found['accepted']} accepted of {found['planned']} planned variants, "
        f"{found['failed']} failed, {found['not_asked']} not asked; "
        f"{units(found['repaired'], 'prompt')} asked a second time",
    )
    writers = ", ".join(f"{name} ({units(n, 'prompt')})" for name, n in found["rewriters"].items())
    yield from item("written by", writers)
    reviews = ", ".join(f"{name} ({units(n, 'prompt')})" for name, n in found["reviewed"].items())
    yield from item("reviewed by a second model", reviews)
    for reason, number in found["reasons"].items():
        yield from item("", f"{number} × {reason}", indent=4)


def _counts(figures: StressFigures) -> Iterator[str]:
    """Counts by target and condition; columns that are 0 throughout are left out."""
    tallies = figures.counts.values()
    optional = [
        (head, name)
        for head, name in (
            ("refused", "refused"),
            ("empty", "empty"),
            ("failed", "failed"),
            ("not asked", "not_asked"),
            ("no variant", "no_variant"),
        )
        if any(getattr(tally, name) for tally in tallies)
    ]
    has_declining = any(tally.judgments.get("abstained") for tally in tallies)
    has_again = any(tally.regenerated for tally in tallies)
    rows = []
    for (target, condition), tally in figures.counts.items():
        judgments = tally.judgments
        row = [f"{target}, {condition}", f"{tally.scored} of {tally.planned}", str(tally.abstained)]
        row += [str(getattr(tally, name)) for _, name in optional]
        if has_again:
            row.append(once_more(tally))
        row.append(f"{judgments.get('scored', 0)} of {sum(judgments.values())}")
        if has_declining:
            row.append(str(judgments.get("abstained", 0)))
        rows.append(row)
    header = ["target, condition", "scored", "abstained", *(name for name, _ in optional)]
    header += ["once more"] if has_again else []
    header += ["judgments"] + (["abst."] if has_declining else [])
    yield from table(header, rows)
    said = [
        "scored: responses with a panel score, of those planned",
        "abstained: those that most judges, or the target's provider, call a refusal to engage",
    ]
    if has_again:
        said.append("once more: generated again to see how much responses vary, in no figure")
    said.append("judgments: scored of planned")
    if has_declining:
        said.append("abst.: judgments in which the judge says that the response declines")
    yield from item("", "; ".join(said))


def _headlines(found: Degradation, noun: str) -> Iterator[str]:
    for target in found.targets:
        mine = [one for one in found.headlines if one.target == target]
        yield from item("", target)
        rows = [
            [
                one.condition or f"all {noun}s",
                signed(one.estimate.mean),
                limits(one.estimate.interval),
                p_text(one.estimate.p_value),
                f"{one.estimate.n_prompts} of {one.estimate.n_planned}",
            ]
            for one in mine
        ]
        yield from table([noun, "delta", "95% interval", "p", "prompts"], rows)
        reasons = {one.estimate.interval.reason for one in mine} - {None}
        for reason in sorted(str(r) for r in reasons):
            yield from item("", f"no interval: {reason}", indent=4)


def _noise(figures: StressFigures, plan: StressPlan) -> Iterator[str]:
    for floor, n, what in (
        (figures.noise, figures.n_retested, "judges asked again"),
        (figures.response_noise, figures.n_regenerated, "responses generated again"),
    ):
        if floor is None:
            yield from item(what, "not done")
            continue
        yield from item(what, units(n, "response"))
        whole = floor.of(None)
        if whole.reason:
            yield from item("", f"not measured: {whole.reason}", indent=4)
            continue
        rows = [
            [
                component.dimension or "mean over dimensions",
                f"{component.retest_sd:.2f}",
                f"{component.upper:.2f}",
                signed(component.shift),
                f"{component.sdc_prompt:.2f}",
                f"{component.sdc(figures.degradation.n_prompts):.2f}",
            ]
            for component in floor.components
            if not component.reason
        ]
        yield from table(["", "sd", "bound", "shift", "SDC 1 prompt", "SDC mean"], rows)
    yield from item(
        "",
        f"SDC: change that noise alone passes in 5 of 100, for one prompt and for the mean over "
        f"all; the margin of the plan is {plan.margin:g} points",
    )


def _asymmetries(found: Degradation) -> list[str]:
    declared = [one for one in found.asymmetries if one.is_declared]
    if not declared:
        return []
    name = declared[0].dimension.replace("_", " ")
    pair = f"{declared[0].agree} minus {declared[0].disagree}"
    lines = heading(f"Asymmetry on {name}")
    lines += item("", f"delta under {pair}; positive: agreement costs more (sycophancy)")
    lines += table(
        ["target", "points", "95% interval", "p", "Holm p", "prompts"],
        [[one.target, *_estimate(one.estimate, one.p_holm)] for one in declared],
    )
    return lines


def _comparisons(found: Degradation, noun: str) -> Iterator[str]:
    rows = [
        [
            f"{one.first} – {one.second}, {one.condition or f'all {noun}s'}",
            *_estimate(one.estimate, one.p_holm),
        ]
        for one in found.comparisons
    ]
    yield from table(["pair", "points", "95% interval", "p", "Holm p", "prompts"], rows)


def _estimate(estimate: PromptMean, p_holm: float) -> list[str]:
    return [
        signed(estimate.mean),
        limits(estimate.interval),
        p_text(estimate.p_value),
        p_text(p_holm),
        f"{estimate.n_prompts} of {estimate.n_planned}",
    ]


def _abstentions(found: Degradation, noun: str) -> list[str]:
    rows = [
        [
            f"{one.target}, {one.condition}",
            str(one.only_baseline),
            str(one.only_variant),
            str(one.both),
            f"{one.n_known} of {one.n_planned}",
            p_text(one.p_holm),
        ]
        for one in found.abstentions
        if one.only_baseline or one.only_variant or one.both
    ]
    if not rows:
        return []
    lines = heading(f"Abstention by prompt: only at the baseline, only under the {noun}, both")
    return lines + table(["", "baseline", noun, "both", "prompts", "Holm p (McNemar)"], rows)


def _robust_everywhere(found: Degradation, target: str) -> list[str]:
    one = next(r for r in found.robust_everywhere if r.target == target)
    if one.is_robust:
        return bullet(f"robust in all {one.n_cells} cells (p {p_text(one.p_value)})", indent=4)
    why = one.reason or "undefined"
    word = "not shown" if one.is_robust is False else "undefined"
    return bullet(f"robust in all cells: {word} ({why})", indent=4)


def bullet(text: str, *, indent: int = 2) -> list[str]:
    """One point of a list, wrapped."""
    return item("", f"- {text}", indent=indent)
