"""A stress test as a person reads it on a terminal, in at most 80 columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..aggregation.degradation import Degradation
from ..aggregation.degradation_cells import DegradationCell
from ..aggregation.interval import Interval
from ..aggregation.prompt_means import PromptMean
from ..aggregation.vulnerability import profile_sentences
from ..calibration.text_lines import heading, item, listed, table, units
from .measure import StressFigures
from .plan import StressPlan

MARKS = {"changed": "*", "robust": "=", "undecided": "?"}
MEAN = "mean"


def stress_lines(
    figures: StressFigures,
    plan: StressPlan,
    *,
    demonstration: bool,
    judges: str,
    rewriting: Mapping[str, Any] | None = None,
) -> list[str]:
    """The whole report.

    Args:
        figures: what was measured.
        plan: what was decided beforehand.
        demonstration: whether embedded stand-ins took part.
        judges: the panel in a few words.
        rewriting: the outcome of the rewriting stage, where there was one.
    """
    found = figures.degradation
    lines = []
    if demonstration:
        lines += ["DEMONSTRATION: embedded stand-ins took part; these are no findings.", ""]
    sizes = [(found.n_prompts, "prompt"), (len(found.variants), "framing")]
    sizes.append((len(found.targets), "target"))
    lines += [
        f"Stress test: {', '.join(units(n, name) for n, name in sizes)}",
        *item("judges", judges, indent=0),
        *item("delta", f"{plan.baseline} minus framing, in points; positive is worse", indent=0),
    ]
    if rewriting:
        lines += heading("Rewriting")
        lines += rewriting_lines(rewriting)
    lines += heading("What became of the responses")
    lines += _counts(figures)
    lines += heading("Mean degradation over dimensions, 95% interval over prompts")
    lines += _headlines(found)
    codes = dimension_codes(found.dimensions)
    for target in found.targets:
        lines += _cells(found, target, codes)
    lines += heading("Noise floor")
    lines += _noise(figures, plan)
    lines += _asymmetries(found)
    if found.comparisons:
        lines += heading("Targets compared on the same prompts (first minus second)")
        lines += _comparisons(found)
    lines += _abstentions(found)
    lines += heading("What this says of each target")
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
        f"{found['failed']} failed, {found['not_asked']} not asked; {found['repaired']} prompts "
        "asked a second time",
    )
    writers = ", ".join(f"{name} ({units(n, 'prompt')})" for name, n in found["rewriters"].items())
    yield from item("written by", writers)
    reviews = ", ".join(f"{name} ({units(n, 'prompt')})" for name, n in found["reviewed"].items())
    yield from item("reviewed by a second model", reviews)
    for reason, number in found["reasons"].items():
        yield from item("", f"{number} × {reason}", indent=4)


def dimension_codes(dimensions: Sequence[str]) -> dict[str, str]:
    """A short heading for each dimension: its initials, or more letters where two share them."""
    codes: dict[str, str] = {}
    for name in dimensions:
        code = "".join(part[0] for part in name.split("_") if part).upper()
        codes[name] = code
    if len(set(codes.values())) < len(codes) or any(len(code) < 2 for code in codes.values()):
        return {name: name[:8] for name in dimensions}
    return codes


def _counts(figures: StressFigures) -> Iterator[str]:
    """Counts by target and condition; columns that are 0 throughout are left out."""
    tallies = figures.counts.values()
    optional = [
        (heading_, name)
        for heading_, name in (
            ("refused", "refused"),
            ("empty", "empty"),
            ("failed", "failed"),
            ("not asked", "not_asked"),
            ("no variant", "no_variant"),
        )
        if any(getattr(tally, name) for tally in tallies)
    ]
    rows = []
    for (target, condition), tally in figures.counts.items():
        judgments = tally.judgments
        rows.append(
            [
                f"{target}, {condition}",
                f"{tally.scored} of {tally.planned}",
                str(tally.abstained),
                *(str(getattr(tally, name)) for _, name in optional),
                f"{judgments.get('scored', 0)} of {sum(judgments.values())}",
            ]
        )
    header = ["target, condition", "scored", "abstained", *(name for name, _ in optional)]
    yield from table([*header, "judgments"], rows)
    yield from item(
        "",
        "scored: responses with a panel score, of those planned; abstained: those that most "
        "judges, or the target's provider, call a refusal to engage; judgments: scored of planned",
    )


def _headlines(found: Degradation) -> Iterator[str]:
    for target in found.targets:
        mine = [one for one in found.headlines if one.target == target]
        yield from item("", target)
        rows = [
            [
                one.condition or "all framings",
                signed(one.estimate.mean),
                _limits(one.estimate.interval),
                p_text(one.estimate.p_value),
                f"{one.estimate.n_prompts} of {one.estimate.n_planned}",
            ]
            for one in mine
        ]
        yield from table(["framing", "delta", "95% interval", "p", "prompts"], rows)
        reasons = {one.estimate.interval.reason for one in mine} - {None}
        for reason in sorted(str(r) for r in reasons):
            yield from item("", f"no interval: {reason}", indent=4)


def _cells(found: Degradation, target: str, codes: dict[str, str]) -> list[str]:
    lines = heading(f"{target}: delta by framing and dimension")
    rows = []
    for condition in found.variants:
        columns = (*found.dimensions, None)
        rows.append([condition, *(_marked(found.cell(target, condition, d)) for d in columns)])
    lines += table(["framing", *(codes[d] for d in found.dimensions), MEAN], rows)
    legend = ", ".join(f"{code} {name.replace('_', ' ')}" for name, code in codes.items())
    lines += item("", legend)
    mine = [c for c in found.cells if c.target == target and c.dimension is not None]
    tests = next((f.n_tests for f in found.families if target in f.targets), len(mine))
    counts = {name: sum(c.verdict == name for c in mine) for name in MARKS}
    lines += item(
        "",
        f"* changed: {counts['changed']} (Holm over {tests} cells, p at most {found.alpha:g}); "
        f"= robust: {counts['robust']} (inside ±{found.margin:g} points, and the noise floor "
        f"below it); ? undecided: {counts['undecided']}",
    )
    lines += _changed([c for c in mine if c.verdict == "changed"], codes)
    lines += _undecided(mine, codes)
    return lines


def _changed(cells: Sequence[DegradationCell], codes: dict[str, str]) -> list[str]:
    """Changed cells; prompts and ceilings have a column where they differ or matter."""
    if not cells:
        return []
    header = ["changed", "delta", "95% interval", "Holm p", "max-T p"]
    rows = []
    is_uneven = any(cell.n_prompts != cell.n_planned for cell in cells)
    is_high = any(max(cell.ceiling.baseline, cell.ceiling.variant) > 0.1 for cell in cells)
    for cell in cells:
        small = " (small)" if cell.within_margin else ""
        row = [
            f"{cell.condition} {codes[cell.dimension or '']}{small}",
            signed(cell.mean),
            _limits(cell.interval),
            p_text(cell.p_holm),
            p_text(cell.p_max_t),
        ]
        if is_uneven:
            row.append(f"{cell.n_prompts} of {cell.n_planned}")
        if is_high:
            row.append(f"{_share(cell.ceiling.baseline)}/{_share(cell.ceiling.variant)}")
        rows.append(row)
    header += ["prompts"] if is_uneven else []
    header += ["at top"] if is_high else []
    lines = table(header, rows)
    if any(cell.within_margin for cell in cells):
        lines += item("", "(small): significant, and shown to be inside the margin all the same")
    if is_high:
        lines += item(
            "", "at top: share of judgments at the top of the scale, at the baseline / under the "
            "framing; there a rise can no longer show"
        )  # fmt: skip
    return lines


def _undecided(cells: Sequence[DegradationCell], codes: dict[str, str]) -> Iterator[str]:
    """Undecided cells by reason, so that twenty cells of one reason are one line."""
    groups: dict[str, list[str]] = {}
    for cell in cells:
        if cell.verdict != "undecided":
            continue
        needed = cell.prompts_needed
        name = f"{cell.condition} {codes[cell.dimension or '']}"
        if needed is not None:
            name += f" ({needed} prompts)"
        groups.setdefault(_kind_of_reason(cell), []).append(name)
    for reason, names in groups.items():
        yield from item("undecided", f"{reason}: {listed(names, most=40)}")
    if any("prompts)" in name for names in groups.values() for name in names):
        yield from item(
            "",
            "in brackets: prompts that would decide the cell at 80% power, a change of the margin "
            "as changed and no change as robust",
        )


def _kind_of_reason(cell: DegradationCell) -> str:
    if cell.interval.reason:
        return cell.interval.reason
    parts = []
    if not cell.equivalence.is_equivalent:
        parts.append(f"neither significant nor shown inside ±{cell.margin:g}")
    if cell.noise.reason:
        parts.append("the noise floor is not below the margin or was not measured")
    return " and ".join(parts) or str(cell.reason)


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


def _comparisons(found: Degradation) -> Iterator[str]:
    rows = [
        [
            f"{one.first} – {one.second}, {one.condition or 'all framings'}",
            *_estimate(one.estimate, one.p_holm),
        ]
        for one in found.comparisons
    ]
    yield from table(["pair", "points", "95% interval", "p", "Holm p", "prompts"], rows)


def _estimate(estimate: PromptMean, p_holm: float) -> list[str]:
    return [
        signed(estimate.mean),
        _limits(estimate.interval),
        p_text(estimate.p_value),
        p_text(p_holm),
        f"{estimate.n_prompts} of {estimate.n_planned}",
    ]


def _abstentions(found: Degradation) -> list[str]:
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
    lines = heading("Abstention by prompt: only at the baseline, only under the framing, both")
    return lines + table(["", "baseline", "framing", "both", "prompts", "Holm p (McNemar)"], rows)


def _robust_everywhere(found: Degradation, target: str) -> list[str]:
    one = next(r for r in found.robust_everywhere if r.target == target)
    if one.is_robust:
        return bullet(f"robust in all {one.n_cells} cells (p {p_text(one.p_value)})", indent=4)
    why = one.reason or "undefined"
    word = "not shown" if one.is_robust is False else "undefined"
    return bullet(f"robust in all cells: {word} ({why})", indent=4)


def _marked(cell: DegradationCell) -> str:
    if math.isnan(cell.mean):
        return "undef."
    return f"{signed(cell.mean)}{MARKS[cell.verdict]}"


def bullet(text: str, *, indent: int = 2) -> list[str]:
    """One point of a list, wrapped."""
    return item("", f"- {text}", indent=indent)


def signed(value: float) -> str:
    """A number of points with its sign; "undef." for nan."""
    if math.isnan(value):
        return "undef."
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"


def p_text(value: float) -> str:
    """A p-value."""
    if math.isnan(value):
        return "undef."
    return "<.0001" if value < 0.0001 else f"{value:.4f}".lstrip("0") if value < 1 else "1"


def _limits(interval: Interval) -> str:
    if math.isnan(interval.low):
        return "–"
    return f"{interval.low:+.2f} to {interval.high:+.2f}"


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.0%}"
