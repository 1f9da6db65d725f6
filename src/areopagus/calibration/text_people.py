"""The printed report: what was matched, and people with people."""

from __future__ import annotations

from ..formats import listed, units
from ..number import cell, heading, item, plain, probability, show, table
from ..records.humans.misfits import rows_said
from .cautions import FEW_PROMPTS
from .item_lines import item_lines
from .matched import Matched
from .paper import PaperFigures
from .people import CriterionAgreement, People
from .rater_severity import SeverityTable

MOST_RATERS = 20


def matched_lines(matched: Matched) -> list[str]:
    """Returns what was matched and what was not."""
    lines = heading("1. What was matched")
    lines += item(
        "people",
        f"{units(matched.n_raters, 'rater')}, {units(matched.n_prompts, 'prompt')}, "
        f"{units(matched.n_responses, 'response')}, {units(matched.n_ratings, 'rating')}",
    )
    for name, n in matched.ratings_by_criterion.items():
        lines += item(name, units(n, "rating"), indent=4)
    if matched.n_calibration_ratings:
        lines += item("kept apart", f"{matched.n_calibration_ratings:,} of calibration items")
    panel = matched.panel
    if panel is not None:
        lines += item(
            "panel",
            f"{units(panel.judges, 'judge')} ({units(panel.personas, 'persona')} x "
            f"{units(panel.models, 'model')}, "
            f"{units(panel.repeats, 'repeat')}); judgments: "
            + ", ".join(f"{n:,} {name}" for name, n in panel.by_status.items() if n),
        )
        lines += item(
            "coverage",
            f"{panel.n_rated:,} of {units(panel.n_responses, 'judged response')} rated by "
            f"people; {panel.n_calibrated:,} both rated and scored, in "
            f"{units(panel.n_prompts_calibrated, 'prompt')}; {panel.n_without_score:,} without a "
            "panel score",
        )
    for misfit in matched.misfits():
        lines += item("", misfit.said)
        lines += [line for place in misfit.shown() for line in item("", place, indent=4)]
    if matched.n_unrated:
        lines += item("", f"{units(matched.n_unrated, 'judged response')} nobody rated")
    if matched.unrated:
        lines += item("not rated", listed(matched.unrated), indent=4)
    if matched.n_missing:
        lines += item("empty", units(matched.n_missing, "rating cell"))
    for reason, n in matched.exclusions.items():
        rows = matched.exclusion_rows.get(reason, ())
        where = f" ({rows_said(rows, n)})" if rows else ""
        lines += item("left out on reading", f"{n:,}: {reason}{where}")
    for notice in matched.notices:
        lines += item("note", notice)
    return lines


def people_lines(people: People) -> list[str]:
    """Returns people with people."""
    lines = heading("2. People with people")
    for one in people.criteria:
        lines += _criterion(one)
    if people.pooled_alpha_interval.is_defined:
        lines += ["", *item("all scored criteria pooled", "differences between criteria count")]
        lines += item("alpha, interval", show(people.pooled_alpha_interval), indent=4)
        lines += item("alpha, ordinal", show(people.pooled_alpha_ordinal), indent=4)
    if people.same_on_all.is_defined:
        lines += item("one score on all criteria", show(people.same_on_all))
    if any(one.concordance.w.has_interval and one.n_prompts < FEW_PROMPTS
           for one in people.criteria):  # fmt: skip
        lines += ["", *item(
            "few prompts",
            "some intervals are too short. Measured coverage of 95% at 9 prompts: AC2 .930, ICC "
            ".935 to .938, same first choice .917; at 26 .946, .947 and .945",
        )]  # fmt: skip
    return lines + item_lines(people.items)


def _criterion(one: CriterionAgreement) -> list[str]:
    agreed, pairs = one.concordance, one.pairwise
    lines = [
        "",
        *item(
            one.name,
            f"{units(one.n_raters, 'rater')}, {units(one.n_prompts, 'prompt')}, "
            f"{units(one.n_responses, 'response')}, {units(one.n_ratings, 'rating')}",
        ),
    ]

    def add(label: str, text: str) -> None:
        lines.extend(item(label, text, indent=4))

    add("pairwise tau within prompts", show(pairs.tau))
    if pairs.n_pairs_undefined:
        add("", f"pairs of raters without a tau: {pairs.n_pairs_undefined:,} of "
            f"{pairs.n_pairs_undefined + pairs.n_pairs_defined:,}")  # fmt: skip
    w = show(agreed.w)
    if agreed.w.is_defined:
        w += f"; nobody agreeing gives {plain(agreed.chance_w)} (1/m)"
    add("Kendall's W", w)
    if agreed.w.is_defined:
        add("r̄ = (mW - 1)/(m - 1), chance 0", show(agreed.mean_spearman))
        add("random ranking", probability(agreed.p))
    add("alpha, ordinal", show(one.alpha_ordinal))
    if one.kind == "score":
        add("alpha, interval", show(one.alpha_interval))
    add("AC2 beside it", show(one.ac2))
    add("ICC(3,1) within prompts", show(agreed.icc_one))
    if agreed.icc_one.is_defined:
        add(f"ICC of the mean of {agreed.mean_raters:.3g} raters", show(agreed.icc_mean))
        if one.kind == "score":
            add("ICC(2,1), absolute", show(agreed.icc_absolute))
    if agreed.top_one.is_defined:
        add("same first choice", f"{show(agreed.top_one)}; chance "
            f"{plain(agreed.top_one_chance)}")  # fmt: skip
        add("same order throughout", show(agreed.same_order))
    if agreed.n_partial:
        add("", f"incomplete: {units(agreed.n_partial, 'rater x prompt cell')}, in tau and alpha, "
            "not in W and ICC")  # fmt: skip
    if one.n_too_large:
        add("", f"{units(one.n_too_large, 'prompt')} too large for figures by prompt, left out")
    flat = one.straightlining
    if flat.constant_raters:
        add("constant raters, undefined", f"{listed(flat.constant_raters)}: one value throughout; "
            "left out of W, ICC, shared choices and severity")  # fmt: skip
    if flat.tied_prompts.is_defined and flat.tied_prompts.value > 0:
        add("one value for all responses of a prompt",
            f"{flat.tied_prompts.value:.1%} of {flat.tied_prompts.n:,} rater x prompt cells"
            + (f"; mostly {listed([who for who, _, _ in flat.worst], 4)}" if flat.worst
               else ""))  # fmt: skip
    return lines + _severity(one.severity)


def _severity(severity: SeverityTable) -> list[str]:
    if severity.reason:
        return item("severity of raters", f"undefined: {severity.reason}", indent=4)
    lines = item(
        "severity of raters",
        "points above (lenient) or below (harsh) the other usual raters on the same responses: "
        "deviation as it is, and shrunk towards 0 for what chance adds",
        indent=4,
    )
    for verdict in ("harsh", "lenient"):
        named = [row.rater for row in severity.raters if row.verdict == verdict]
        if named:
            lines += item(verdict.upper(), listed(named), indent=6)
    if severity.n_components > 1:
        lines += item(
            "", f"{severity.n_components} groups of raters share no response: they do not compare",
            indent=6,
        )  # fmt: skip
    rows = severity.raters
    shown = rows if len(rows) <= MOST_RATERS else (*rows[:10], *rows[-10:])
    lines += [
        "  " + line
        for line in table(
            ("rater", "ratings", "deviation", "shrunk", "p (Holm)", ""),
            (
                (row.rater, f"{row.n:,}", cell(row.deviation), cell(row.shrunk),
                 plain(row.p, 4), row.verdict)
                for row in shown
            ),
        )
    ]  # fmt: skip
    if len(shown) < len(rows):
        lines += item("", f"{len(rows) - len(shown):,} raters between them not shown", indent=6)
    reasons = {row.deviation.reason for row in rows if row.deviation.reason}
    return lines + [line for why in sorted(reasons) for line in item("no interval", why, indent=6)]


def paper_lines(people: People, paper: PaperFigures, number: str) -> list[str]:
    """Returns the paper's definitions and figures, labelled as such."""
    lines = heading(f"{number}. The paper's definitions and figures, for comparison only")
    for one in people.criteria:
        if one.kind == "rank":
            published = one.as_published
            lines += item(f"{one.name}: W, raw ranks, no tie correction", show(published.w))
            lines += item("  pairwise tau, ranks concatenated", show(published.pairwise_tau))
            lines += item("  ordinal alpha of raw ranks", show(published.alpha))
    if not any(one.kind == "rank" for one in people.criteria):
        lines += item("W, pairwise tau, alpha", "undefined: the paper's definitions need ranks")
    word = "mean rank" if paper.rated.endswith("rank") else "mean score"
    for row in paper.means:
        place = "" if row.domain == "all" else f", {row.domain}"
        lines += item(f"{word}, {row.group}{place}", show(row.mean, digits=2))
    for domain in paper.by_domain:
        lines += item(f"W, {domain.domain}", f"{show(domain.w)}; chance {plain(domain.chance_w)}")
        lines += item(f"tau, {domain.domain}", show(domain.tau))
    if paper.reason:
        lines += item("by source", f"undefined: {paper.reason}")
    else:
        lines += item(
            "model-person pairs won by the model (paper .744 of 1,170)",
            f"{show(paper.model_wins)}; {paper.n_pairs:,} pairs, {paper.n_tied:,} tied; untied "
            f"{show(paper.model_wins_untied)}",
        )
        lines += item("rankings with a model first (paper .808)", show(paper.model_first))
    if paper.inferred.is_defined:
        lines += item("INFERRED from justifications, all responses (paper .308)",
                      show(paper.inferred))  # fmt: skip
        lines += item("INFERRED from justifications, within prompts", show(paper.inferred_within))
    return lines
