"""The page of a calibration: what may be done with the panel, and what cannot be said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..formats import said, units
from ..reports.document import Cell, Column, Figure, Paragraph, Part, Points, Scalar, Section, Table
from .alt import AltTestResult
from .corrections import Corrections
from .how_many import Design, HowMany
from .page_parts import cut, finite, measures, value
from .unsaid import Unsaid


def how_many_section(size: HowMany, folder: Path) -> Section:
    """How many judges are enough."""
    return Section("how-many", "How many judges", list(_how_many(size, folder)))


def _how_many(size: HowMany, folder: Path) -> Iterator[Part]:
    yield measures(
        "How many independent judgments the panel is worth, for these personas and models.",
        "Worth in independent judgments",
        [
            ("from how its judges agree", size.effective),
            (
                f"from their errors against people{_of(size.errors_from)}",
                size.effective_of_errors,
            ),
        ],
        digits=1,
    )
    yield Table(
        "What so many independent judges come out as on such data. A panel inside is not shown to "
        "share errors; one below shares some.",
        "Independent judges",
        [
            Column("worth", "id"),
            Column("low", "number", 1),
            Column("median", "number", 1),
            Column("high", "number", 1),
            Column("note", "wide"),
        ],
        [
            [
                name,
                finite(null.null_low),
                finite(null.null_median),
                finite(null.null_high),
                said(null.reason),
            ]
            for name, null in (
                ("from how its judges agree", size.effective_null),
                ("from their errors against people", size.effective_of_errors_null),
            )
        ],
        is_short=True,
    )
    if size.components:
        sample = ", a sample of prompts" if size.is_sample else ""
        yield Table(
            f"Variance components of {size.n_scores:,} judgments{sample}.",
            "Variance components",
            [
                Column("component", "id"),
                Column("levels", "count"),
                Column("variance", "number", 3),
                Column("note"),
            ],
            [
                [
                    one.meaning,
                    one.n_levels,
                    value(one.variance, digits=3),
                    "negative: counts as 0" if one.is_negative else "",
                ]
                for one in size.components
            ],
        )
    if size.few_levels:
        few = ", ".join(size.few_levels)
        yield Points([("Hardly known:", f"{few}: fewer than five levels.")])
    if size.reason:
        yield Paragraph(f"Designs: undefined: {size.reason}.")
    if size.designs:
        yield Figure(
            folder / "designs.svg",
            "Reliability by number of judges",
            "Expected generalizability (Erho2) of the best design for each budget of calls a "
            "response, as personas × models × repeats; the star is this panel.",
        )
        here = [size.this_panel] if size.this_panel else []
        yield Table(
            "Best design for each budget of calls a response, with the standard error of a "
            "response's mean in points. What is told apart are responses to one prompt.",
            "Designs",
            [
                Column("budget"),
                Column("personas", "count"),
                Column("models", "count"),
                Column("repeats", "count"),
                Column("calls", "count"),
                Column("Erho2", "number", 3),
                Column("standard error", "number"),
            ],
            [_design(one, f"{one.budget:,}") for one in size.designs],
            [_design(one, "this panel") for one in here],
        )
    if size.needed:
        yield Table(
            "Fewest calls a response for a standard error in points: of the order of responses to "
            "one prompt, or of the level of a score.",
            "Calls needed",
            [
                Column("standard error", "number"),
                Column("for the"),
                Column("personas", "count"),
                Column("models", "count"),
                Column("repeats", "count"),
                Column("calls", "count"),
                Column("note"),
            ],
            [
                [
                    one.standard_error,
                    one.aim,
                    one.personas,
                    one.models,
                    one.repeats,
                    one.calls,
                    "not reached" if one.calls is None else "",
                ]
                for one in size.needed
            ],
        )


def _of(target: str | None) -> str:
    return f" ({target})" if target else ""


def _design(one: Design, budget: str) -> list[Scalar | Cell]:
    return [
        budget,
        one.personas,
        one.models,
        one.repeats,
        one.calls,
        finite(one.e_rho2),
        finite(one.standard_error),
    ]


def corrections_section(found: Corrections, folder: Path) -> Section:
    """What is earned out of fold."""
    return Section("corrections", "Corrections, out of fold", list(_corrections(found, folder)))


def _corrections(found: Corrections, folder: Path) -> Iterator[Part]:
    weights, score_map = found.weights, found.score_map
    points = [
        (
            "Weights of judges:",
            "keep equal weights." if weights.adopted == "equal" else f"adopt {weights.adopted}.",
        ),
        (
            "Map to people's scale:",
            f"{score_map.reason}."
            if score_map.reason
            else "keep the scores as they are."
            if score_map.adopted == "as is"
            else f"adopt the {score_map.adopted} map.",
        ),
    ]
    if weights.reason:
        points.insert(1, ("", f"{weights.reason}."))
    if score_map.note:
        points.append(("", f"{score_map.note[:1].upper()}{score_map.note[1:]}."))
    if found.levels_from:
        points.append(("People's level:", f"{found.levels_from}, for maps, means and widths."))
    if found.group_means_reason:
        points.append(("Means of people's ratings:", f"undefined: {found.group_means_reason}."))
    yield Points(points)
    yield Figure(
        folder / "reliability.svg",
        "Calibration curve",
        "Mean score by people over groups of responses with like panel scores (whiskers: one "
        "standard deviation), beside the line of equality.",
    )
    if weights.tau:
        yield Table(
            "Tau with people by way of weighting; p of the gain over equal weights.",
            "Weights",
            [
                Column("weights", "id"),
                Column("out of fold", "number", 3),
                Column("in sample", "number", 3),
                Column("p", "p"),
                Column("note", "wide"),
            ],
            [
                [
                    name.replace("_", " "),
                    value(number, digits=3),
                    finite(weights.tau_in_sample[name].value)
                    if name in weights.tau_in_sample
                    else None,
                    finite(weights.p[name].value) if name in weights.p else None,
                    said(number.reason),
                ]
                for name, number in weights.tau.items()
            ],
        )
    if score_map.error:
        yield Table(
            "Root mean squared error against people's means, out of fold, and p of its difference "
            "from the simpler way of telling people's level, and from people's mean given to every "
            "response: a map must be better than both.",
            "Maps",
            [
                Column("map", "id"),
                Column("error", "number"),
                Column("p", "p"),
                Column("p, people's mean", "p"),
                Column("note", "wide"),
            ],
            [
                [
                    "people's mean" if name == "mean" else name,
                    value(number),
                    *(
                        finite(score_map.p[test].value) if test in score_map.p else None
                        for test in (name, f"{name} over mean")
                    ),
                    "; ".join(
                        score_map.p[test].method.removeprefix("two-sided sign-flip, ")
                        for test in (name, f"{name} over mean")
                        if test in score_map.p
                    ),
                ]
                for name, number in score_map.error.items()
            ],
        )
    if found.group_means:
        yield Table(
            "People's mean of groups of responses: of those rated alone, and with the panel's "
            "scores of the others; earned where that is narrower.",
            "Means of people's ratings",
            [
                Column("group", "id"),
                Column("rated", "count"),
                Column("not rated", "count"),
                Column("rated alone", "number"),
                Column("with the panel", "number"),
                Column("weight", "number"),
                Column("earned"),
            ],
            [
                [
                    one.group,
                    one.n_labelled,
                    one.n_unlabelled,
                    value(one.labelled_only),
                    value(one.prediction_powered),
                    finite(one.weight),
                    "yes" if one.earned else "no",
                ]
                for one in found.group_means
            ],
        )
    yield measures(
        "Half-width of the interval around a calibrated score that covers people's mean.",
        "Conformal half-width",
        [("conformal half-width, points", found.conformal)],
    )


def alt_section(tests: tuple[AltTestResult, ...], reason: str | None, folder: Path) -> Section:
    """The alternative annotator test."""
    parts: list[Part] = []
    if reason:
        parts.append(Paragraph(f"Not made: {reason}."))
    if tests:
        parts += [
            Points(
                [
                    (
                        f"{one.form}: {one.verdict}.",
                        f"Closeness by {one.score}, unit {one.unit}, epsilon {one.epsilon:g}."
                        + (f" {one.note[:1].upper()}{one.note[1:]}." if one.note else ""),
                    )
                    for one in tests
                ]
            ),
            Figure(
                folder / "alt_test.svg",
                "Alternative annotator test",
                "Winning rate of the panel against single raters, and what a copy of a human, a "
                "random and a constant judge get. The panel passes from one half on.",
            ),
            _alt_table(tests),
        ]
    title = "May the panel stand in for a rater?"
    return Section("alt-test", title, parts or [Paragraph("Not made.")])


def _alt_table(tests: tuple[AltTestResult, ...]) -> Table:
    rows: list[list[Scalar | Cell]] = []
    for one in tests:
        rows.append(
            [
                f"{one.form}: the panel",
                value(one.winning_rate),
                value(one.advantage),
                finite(one.power.value),
                finite(one.power_of_truth.value),
                units(one.winning_rate.n, one.winning_rate.unit),
            ]
        )
        rows += [
            [f"{one.form}: a {name} judge", finite(rate), finite(advantage), None, None, ""]
            for name, (rate, advantage) in one.references.items()
        ]
    return Table(
        "Winning rate: share of raters whom the panel may replace, being as close to the others as "
        "they are, epsilon allowed for what a human costs. Advantage: how often it is as close or "
        "closer. Power: of a judge as good as one human, and of one who knows the truth.",
        "Alternative annotator test",
        [
            Column("judge", "id"),
            Column("winning rate", "number"),
            Column("advantage", "number"),
            Column("power, as a human", "number"),
            Column("power, the truth", "number"),
            Column("over"),
        ],
        rows,
    )


def unsaid_section(unsaid: tuple[Unsaid, ...]) -> Section:
    """What these data leave open."""
    title = "What cannot be said with these data"
    if not unsaid:
        return Section("unsaid", title, [Paragraph("Nothing was left out for want of data.")])
    rows, told = cut(
        [[one.what, said(one.reason), one.n_figures or None] for one in unsaid], "lines"
    )
    table = Table(
        "Each with its reason, and the number of figures that it concerns.",
        "What cannot be said",
        [Column("what", "wide"), Column("why", "wide"), Column("figures", "count")],
        rows,
    )
    return Section("unsaid", title, [table, *told])
