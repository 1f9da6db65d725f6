"""The page of a calibration: what was matched, and people with people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..formats import listed, units
from ..reports.document import Column, Figure, Paragraph, Part, Points, Section, Table
from .matched import Matched
from .page_parts import cut, finite, measures, reasons, value
from .paper import PaperFigures
from .people import CriterionAgreement, People


def matched_section(matched: Matched) -> Section:
    """What the figures rest on, and what was left out."""
    return Section("matched", "What was matched", list(_matched(matched)))


def _matched(matched: Matched) -> Iterator[Part]:
    panel = matched.panel
    people = ", ".join(
        units(n, name)
        for n, name in (
            (matched.n_raters, "rater"),
            (matched.n_prompts, "prompt"),
            (matched.n_responses, "response"),
            (matched.n_ratings, "rating"),
        )
    )
    points = [("People:", f"{people}.")]
    if panel is not None:
        statuses = ", ".join(f"{n:,} {name}" for name, n in panel.by_status.items() if n)
        design = f"{units(panel.personas, 'persona')} × {units(panel.models, 'model')}"
        judges = f"{units(panel.judges, 'judge')} ({design}, {units(panel.repeats, 'repeat')})"
        points.append(("Panel:", f"{judges}; judgments: {statuses}."))
        both = f"{panel.n_calibrated:,} of {units(panel.n_responses, 'judged response')}"
        prompts = units(panel.n_prompts_calibrated, "prompt")
        points.append(("Rated and scored:", f"{both}, in {prompts}."))
        if panel.n_without_score:
            points.append(("Without a panel score:", f"{panel.n_without_score:,} responses."))
    left_out = (
        (matched.n_calibration_ratings, "rating", "of calibration items, kept apart"),
        (matched.n_unrated, "judged response", "that nobody rated"),
        (matched.n_missing, "rating cell", "empty"),
    )
    points += [("", f"{units(n, what)} {said}.") for n, what, said in left_out if n]
    for misfit in matched.misfits():
        points.append((f"{misfit.said}:", f"{'; '.join(misfit.shown(20))}."))
    points += [
        ("Left out on reading:", f"{n:,}: {reason}.") for reason, n in matched.exclusions.items()
    ]
    points += [("Note:", f"{notice}.") for notice in matched.notices]
    yield Points(points)
    if matched.unmatched:
        rows, told = cut(
            [[name, n, rows[0] if rows else None] for name, n, rows in matched.unmatched],
            "ids",
        )
        yield Table(
            "Ids of rated responses that the run does not have.",
            "Unmatched ids",
            [Column("id", "id"), Column("ratings", "count"), Column("first row", "count")],
            rows,
            is_short=True,
        )
        yield from told


def people_section(people: People, folder: Path) -> Section:
    """How far people agree with each other, and who is harsh or lenient."""
    return Section("people", "People with people", list(_people(people, folder)))


def _people(people: People, folder: Path) -> Iterator[Part]:
    if not people.criteria:
        yield Paragraph("Undefined: nobody's ratings count.")
        return
    yield Figure(
        folder / "agreement.svg",
        "Agreement of people by criterion",
        "Pairwise tau within prompts, Krippendorff's ordinal alpha, and the ICC of one rater, with "
        "their intervals over prompts; a marker without a bar has none.",
    )
    yield _counts_table(people.criteria)
    yield _agreement_table(people.criteria)
    numbers = [
        one for c in people.criteria for one in (c.pairwise.tau, c.alpha_ordinal, c.concordance.w)
    ]
    yield from reasons("A figure", numbers)
    pooled = [
        ("alpha, interval, all scored criteria pooled", people.pooled_alpha_interval),
        ("alpha, ordinal, all scored criteria pooled", people.pooled_alpha_ordinal),
        ("one score on all criteria", people.same_on_all),
    ]
    yield measures(
        "Over all criteria; differences between criteria count as agreement in the pooled alpha.",
        "Pooled",
        [row for row in pooled if row[1].is_defined or row[1].reason],
    )
    yield from _severity(people.criteria, folder)
    yield from _items(people)


def _counts_table(criteria: tuple[CriterionAgreement, ...]) -> Table:
    return Table(
        "What there is of each criterion.",
        "Ratings",
        [
            Column("criterion", "id"),
            Column("raters", "count"),
            Column("prompts", "count"),
            Column("responses", "count"),
            Column("ratings", "count"),
        ],
        [
            [one.name, one.n_raters, one.n_prompts, one.n_responses, one.n_ratings]
            for one in criteria
        ],
        is_short=True,
    )


def _agreement_table(criteria: tuple[CriterionAgreement, ...]) -> Table:
    return Table(
        "Criterion by criterion. W is 1/m when nobody agrees, and r̄ = (mW − 1)/(m − 1) is then 0. "
        "AC2 stands beside alpha because it stays high where one value prevails. ICC(3,1) is one "
        "rater, ICC(3,m) the mean of the raters of a prompt.",
        "People with people",
        [
            Column("criterion", "id"),
            Column("pairwise tau", "number"),
            Column("W", "number"),
            Column("chance W", "number"),
            Column("r̄", "number"),
            Column("alpha, ordinal", "number"),
            Column("alpha, interval", "number"),
            Column("AC2", "number"),
            Column("ICC(3,1)", "number"),
            Column("ICC(3,m)", "number"),
            Column("same first choice", "number"),
            Column("by chance", "number"),
        ],
        [
            [
                one.name,
                value(one.pairwise.tau),
                value(one.concordance.w),
                finite(one.concordance.chance_w),
                value(one.concordance.mean_spearman),
                value(one.alpha_ordinal),
                value(one.alpha_interval),
                value(one.ac2),
                value(one.concordance.icc_one),
                value(one.concordance.icc_mean),
                value(one.concordance.top_one),
                finite(one.concordance.top_one_chance),
            ]
            for one in criteria
        ],
    )


def _severity(criteria: tuple[CriterionAgreement, ...], folder: Path) -> Iterator[Part]:
    yield Paragraph("Severity of raters", "heading")
    yield Figure(
        folder / "severity.svg",
        "Severity of raters",
        "Points above (lenient, to the right) or below (harsh, to the left) the other usual raters "
        "on the same responses, with intervals over prompts. Open diamonds are called harsh or "
        "lenient after Holm's correction.",
    )
    rows = [
        [
            row.rater,
            one.name,
            row.n,
            value(row.deviation),
            value(row.shrunk),
            finite(row.p),
            row.verdict,
        ]
        for one in criteria
        for row in one.severity.raters
    ]
    shown, left_out = cut(rows, "rows")
    if rows:
        yield Table(
            "Deviation in points from the other usual raters on the same responses, the same "
            "shrunk towards 0 for what chance adds, and p after Holm's correction.",
            "Severity of raters",
            [
                Column("rater", "id"),
                Column("criterion", "id"),
                Column("ratings", "count"),
                Column("deviation", "number"),
                Column("shrunk", "number"),
                Column("p (Holm)", "p"),
                Column("verdict"),
            ],
            shown,
        )
    yield from left_out
    points = [
        (f"{one.name}:", f"severity is undefined: {one.severity.reason}.")
        for one in criteria
        if one.severity.reason
    ]
    for one in criteria:
        flat = one.straightlining
        if flat.constant_raters:
            names = listed(flat.constant_raters)
            points.append((f"{one.name}:", f"one value throughout, undefined: {names}."))
        if flat.tied_prompts.is_defined and flat.tied_prompts.value > 0:
            share = f"{flat.tied_prompts.value:.1%} of {flat.tied_prompts.n:,}"
            told = f"one value for all responses of a prompt in {share} cells of rater and prompt."
            points.append((f"{one.name}:", told))
    if points:
        yield Points(points)


def _items(people: People) -> Iterator[Part]:
    if not people.items:
        return
    yield Paragraph("Calibration items", "heading")
    yield Table(
        "Packets mixed in unmarked: whether raters put the weak response last, and what they make "
        "of packets by models alone.",
        "Calibration items",
        [
            Column("prompt", "id"),
            Column("kind"),
            Column("criterion", "id"),
            Column("raters", "count"),
            Column("responses", "count"),
            Column("lowest", "id"),
            Column("weak one last", "number"),
            Column("W", "number"),
            Column("models here less elsewhere", "number"),
        ],
        [
            [
                one.prompt,
                one.role,
                one.criterion,
                one.n_raters,
                one.n_responses,
                one.lowest,
                value(one.floor_last),
                value(one.w),
                value(one.gap_to_standard),
            ]
            for one in people.items
        ],
    )


def paper_section(people: People, paper: PaperFigures) -> Section:
    """The paper's definitions and figures."""
    rows = [
        pair
        for one in people.criteria
        if one.kind == "rank"
        for pair in (
            (f"{one.name}: W, raw ranks, no tie correction", one.as_published.w),
            (f"{one.name}: pairwise tau, ranks concatenated", one.as_published.pairwise_tau),
            (f"{one.name}: ordinal alpha of raw ranks", one.as_published.alpha),
        )
    ]
    word = "mean rank" if paper.rated.endswith("rank") else "mean score"
    for row in paper.means:
        place = "" if row.domain == "all" else f", {row.domain}"
        rows.append((f"{word}, {row.group}{place}", row.mean))
    for domain in paper.by_domain:
        rows += [(f"W, {domain.domain}", domain.w), (f"tau, {domain.domain}", domain.tau)]
    if not paper.reason:
        rows += [
            ("model-person pairs won by the model (paper .744)", paper.model_wins),
            ("the same without ties", paper.model_wins_untied),
            ("rankings with a model first (paper .808)", paper.model_first),
        ]
    if paper.inferred.is_defined:
        rows += [
            ("inferred from justifications, all responses (paper .308)", paper.inferred),
            ("inferred from justifications, within prompts", paper.inferred_within),
        ]
    parts: list[Part] = []
    if rows:
        parts.append(
            measures(
                "Computed as the SCRuB paper does, to be held against its figures and for nothing "
                "else.",
                "The paper's figures",
                rows,
            )
        )
    if paper.reason:
        parts.append(Paragraph(f"By source: undefined: {paper.reason}.", "quiet"))
    return Section("paper", "The paper's figures", parts)
