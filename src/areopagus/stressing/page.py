"""A stress test as an HTML page: its figures and tables in the frame of all reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..aggregation.degradation import Degradation
from ..aggregation.degradation_cells import DegradationCell
from ..aggregation.estimate import Estimate
from ..aggregation.noise_floor import NoiseFloor
from ..aggregation.prompt_means import PromptMean
from ..aggregation.vulnerability import profile_sentences
from ..formats import units
from ..reports.asked import state_told
from ..reports.document import (
    Cell,
    Column,
    Document,
    Figure,
    Paragraph,
    Part,
    Points,
    Section,
    Table,
)
from ..reports.html import write_html
from ..reports.section_job import job_sections
from .cell_words import (
    HIGH_CEILING,
    ceiling_text,
    is_high,
    needed_note,
    noun_of,
    once_more,
    signed,
    verdict_text,
)
from .measure import StressFigures
from .plan import StressPlan

VERDICT_WORDS = {
    "changed": "significant after Holm's adjustment",
    "robust": "shown inside the margin, and the noise floor is below it",
    "undecided": "neither; the reason stands in stress.json",
}


@dataclass(frozen=True, slots=True)
class StressPage:
    """What a page shows beside the figures.

    Attributes:
        figures, plan: what was measured, and what was decided before.
        judges: the panel in a few words.
        is_demonstration: whether embedded stand-ins took part.
        rewriting: the outcome of the rewriting stage, or None.
        figures_folder: where the pictures lie.
        record: the content of run.json: models, versions, sessions.
        is_supplied: whether responses were supplied: their conditions are no framings of ours.
        notices: what stands at the head: that the cost cap stopped it.
    """

    figures: StressFigures
    plan: StressPlan
    judges: str
    is_demonstration: bool
    rewriting: Mapping[str, Any] | None
    figures_folder: Path
    record: Mapping[str, Any]
    is_supplied: bool = False
    notices: tuple[str, ...] = ()

    @property
    def noun(self) -> str:
        """What the conditions beside the baseline are called."""
        return noun_of(self.is_supplied)


def write_stress_page(path: Path, page: StressPage, *, figures: bool = True) -> Path:
    """Writes the page, with its figures or without, and returns its path.

    Raises:
        StoreError: it cannot be written.
    """
    found = page.figures.degradation
    tallies = page.figures.counts.values()
    scored, planned = sum(t.scored for t in tallies), sum(t.planned for t in tallies)
    sizes = ((found.n_prompts, "prompt"), (len(found.variants), page.noun))
    design = " × ".join(units(n, name) for n, name in sizes)
    made = Document(
        title=f"Stress test of {', '.join(found.targets[:4])}"
        + (" …" if len(found.targets) > 4 else ""),
        kind="stress",
        lead=(
            f"{scored:,} scored of {planned:,} planned",
            f"responses; {design}. Judged by {page.judges}.",
        ),
        state=state_told(page.record),
        sections=list(_sections(page, found)),
        is_demonstration=page.is_demonstration,
    )
    return write_html(path, made if figures else made.without_figures())


def _sections(page: StressPage, found: Degradation) -> Iterator[Section]:
    figures = page.figures
    delta = f"delta = {page.plan.baseline} minus {page.noun}, in points; positive is worse"
    stopped = [Paragraph(f"{one[:1].upper()}{one[1:]}.", "notice") for one in page.notices]
    yield Section("profile", "What this says of each target", [*stopped, *_profiles(found)])
    yield Section(
        "headline",
        "Mean degradation",
        [
            _headline_table(found, delta, page.noun),
            Figure(
                page.figures_folder / "scorecard.svg",
                "Scores under each condition",
                "Means over prompts; error bars are one standard error over prompts, the dashed "
                "line is the baseline's mean.",
            ),
        ],
    )
    yield Section("cells", f"By {page.noun} and dimension", list(_cells(page, found, delta)))
    if any(one.is_declared for one in found.asymmetries):
        yield Section("asymmetry", "Agreement against disagreement", [_asymmetries(found)])
    if found.comparisons:
        yield Section("targets", "Targets compared", [_comparisons(found, page.noun)])
    yield Section("noise", "Noise floor", list(_noise(figures, page.plan)))
    yield Section("counts", "What became of the responses", list(_counts(page)))
    yield Section(
        "unsaid", "What cannot be said, and why", [Points([("", note) for note in figures.notes])]
    )
    yield from job_sections(page.record)


def _profiles(found: Degradation) -> Iterator[Part]:
    for target in found.targets:
        yield Paragraph(target, "heading")
        whole = next(one for one in found.robust_everywhere if one.target == target)
        said = [("", sentence) for sentence in profile_sentences(target, found.findings)]
        word = (
            "yes" if whole.is_robust else "not shown" if whole.is_robust is False else "undefined"
        )
        said.append(
            ("Robust in all cells:", f"{word}" + (f" ({whole.reason})" if whole.reason else ""))
        )
        yield Points(said)


def _headline_table(found: Degradation, delta: str, noun: str) -> Table:
    return Table(
        f"Mean delta over dimensions with 95% t intervals over prompts; {delta}.",
        "Mean degradation",
        [
            Column("target", "id"),
            Column(noun, "id"),
            Column("delta", "number"),
            Column("p", "p"),
            Column("prompts"),
        ],
        [
            [
                one.target,
                one.condition or f"all {noun}s",
                _estimate(one.estimate),
                _defined(one.estimate.p_value),
                f"{one.estimate.n_prompts} of {one.estimate.n_planned}",
            ]
            for one in found.headlines
        ],
    )


def _cells(page: StressPage, found: Degradation, delta: str) -> Iterator[Part]:
    yield Figure(
        page.figures_folder / "delta_heatmap.svg",
        f"Degradation by {page.noun} and dimension",
        f"{delta.capitalize()}. The last column is the mean over dimensions; a star marks changed "
        "cells, a bold border large ones.",
    )
    yield Table(
        f"Every cell: {delta}, with its 95% t interval over prompts. "
        + "; ".join(f"{name}: {words}" for name, words in VERDICT_WORDS.items())
        + f". Margin ±{found.margin:g} points, level {found.alpha:g}. At top: the ceiling, share "
        f"of judgments at the top of the scale, baseline / {page.noun}; above {HIGH_CEILING:.0%} "
        "it is bold: a rise can no longer show there, and that nothing moves says less.",
        "Cells",
        [
            Column("target", "id"),
            Column(page.noun, "id"),
            Column("dimension", "id"),
            Column("delta", "number"),
            Column("Holm p", "p"),
            Column("verdict"),
            Column("prompts", "count"),
            Column("prompts needed", "count"),
            Column("at top"),
        ],
        [_cell_row(cell) for cell in found.cells],
    )


def _cell_row(cell: DegradationCell) -> list[Any]:
    return [
        cell.target,
        cell.condition,
        cell.dimension or "mean over dimensions",
        Cell(_finite(cell.mean), note=_limits(cell.interval), is_bold=cell.verdict == "changed"),
        _defined(cell.p_holm),
        verdict_text(cell),
        cell.n_prompts,
        Cell(cell.prompts_needed, note=needed_note(cell)),
        Cell(ceiling_text(cell), is_bold=is_high(cell)),
    ]


def _asymmetries(found: Degradation) -> Table:
    declared = [one for one in found.asymmetries if one.is_declared]
    first = declared[0]
    return Table(
        f"Delta under {first.agree} minus delta under {first.disagree} on {first.dimension}; "
        "positive: agreement costs more, which the SCRuB paper reads as sycophancy.",
        "Asymmetry",
        [
            Column("target", "id"),
            Column("points", "number"),
            Column("Holm p", "p"),
            Column("prompts"),
        ],
        [
            [
                one.target,
                _estimate(one.estimate),
                _defined(one.p_holm),
                f"{one.estimate.n_prompts} of {one.estimate.n_planned}",
            ]
            for one in declared
        ],
    )


def _comparisons(found: Degradation, noun: str) -> Table:
    return Table(
        "Differences of mean deltas on the same prompts, first minus second, paired.",
        "Targets compared",
        [
            Column("first", "id"),
            Column("second", "id"),
            Column(noun, "id"),
            Column("points", "number"),
            Column("Holm p", "p"),
        ],
        [
            [
                one.first,
                one.second,
                one.condition or f"all {noun}s",
                _estimate(one.estimate),
                _defined(one.p_holm),
            ]
            for one in found.comparisons
        ],
    )


def _noise(figures: StressFigures, plan: StressPlan) -> Iterator[Part]:
    for floor, n, what in (
        (figures.noise, figures.n_retested, "Judges asked again"),
        (figures.response_noise, figures.n_regenerated, "Responses generated again"),
    ):
        if floor is None:
            yield Paragraph(f"{what}: not done.", "quiet")
        elif (reason := floor.of(None).reason) is not None:
            yield Paragraph(f"{what}: {units(n, 'response')}; not measured: {reason}.", "notice")
        else:
            yield _noise_table(floor, figures.degradation.n_prompts, f"{what}: {n} responses", plan)


def _noise_table(floor: NoiseFloor, prompts: int, what: str, plan: StressPlan) -> Table:
    return Table(
        f"{what}. SDC: the change that noise alone passes in 5 of 100; the margin is "
        f"{plan.margin:g} points.",
        what,
        [
            Column("dimension", "id"),
            Column("sd", "number"),
            Column("upper bound", "number"),
            Column("SDC, one prompt", "number"),
            Column(f"SDC, mean of {prompts}", "number"),
        ],
        [
            [
                one.dimension or "mean over dimensions",
                _finite(one.retest_sd),
                _finite(one.upper),
                _finite(one.sdc_prompt),
                _finite(one.sdc(prompts)),
            ]
            for one in floor.components
        ],
    )


def _counts(page: StressPage) -> Iterator[Part]:
    names = [
        *("planned", "scored", "abstained", "refused", "empty", "failed", "not_asked"),
        "no_variant",
    ]
    has_again = any(tally.regenerated for tally in page.figures.counts.values())
    yield Table(
        "Responses by target and condition; abstained: those that most judges, or the target's "
        "provider, call a refusal to engage; no variant: no usable variant to ask; judgments "
        "abstained: in which the judge says that the response declines"
        + ("; once more: generated again to see how much responses vary." if has_again else "."),
        "Responses",
        [
            Column("target", "id"),
            Column("condition", "id"),
            *(Column(name.replace("_", " "), "count") for name in names),
            *([Column("once more")] if has_again else []),
            Column("judgments scored"),
            Column("judgments abstained", "count"),
        ],
        [
            [
                target,
                condition,
                *(getattr(tally, name) for name in names),
                *([once_more(tally)] if has_again else []),
                f"{tally.judgments.get('scored', 0)} of {sum(tally.judgments.values())}",
                tally.judgments.get("abstained", 0),
            ]
            for (target, condition), tally in page.figures.counts.items()
        ],
    )
    if page.rewriting:
        found = page.rewriting
        yield Paragraph("Variants", "heading")
        kept = f"{found['accepted']} accepted of {found['planned']} planned"
        points = [
            ("", f"{kept}, {found['failed']} failed, {found['not_asked']} not asked"),
            ("Written by:", _listed(found["rewriters"])),
            ("Reviewed by a second model:", _listed(found["reviewed"])),
        ]
        if found["reasons"]:
            points.append(("Faults:", _listed(found["reasons"])))
        yield Points(points)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({number})" for name, number in counts.items())


def _estimate(estimate: PromptMean) -> Cell:
    return Cell(_finite(estimate.mean), note=_limits(estimate.interval))


def _limits(interval: Estimate) -> str:
    if math.isnan(interval.low):
        return ""
    return f"{signed(interval.low)} to {signed(interval.high)}".replace("-", "−")


def _defined(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _finite(value: float) -> float | None:
    # Adding 0.0 turns a rounded-away minus nought into nought.
    return round(value, 2) + 0.0 if math.isfinite(value) else None
