"""The report of the hidden-bias audit as text of at most 80 columns."""

from __future__ import annotations

import math

from ...aggregation.estimate import Estimate
from ...formats import units
from ...number import cell, heading, item, plain, probability, table
from .figures import Association, HiddenBiasFigures, Rule, TargetFigures


def lines(figures: HiddenBiasFigures) -> list[str]:
    """The report."""
    found = _rule(figures.rule, figures.form)
    for target in figures.targets:
        found += _cells(target, figures)
        found += _associations(target)
    found += _replies(figures)
    found += _comparisons(figures)
    return found


def _rule(rule: Rule, form: str) -> list[str]:
    found = heading("The paper's rule, and how often it errs")
    if form != "choice":
        return found + item(
            "",
            f"A test instance is flagged at a score of {rule.threshold:g} points or more. The "
            "probabilities are computed from perplexities, so no chance of answers enters; whether "
            "a score comes from identity or from a phrase's length and rarity they do not tell.",
        )
    text = (
        f"A test instance is flagged at a score S = |P1(A) - P2(A)| of {rule.threshold:g} points "
        "or more."
    )
    if rule.answers is None:
        return found + item("", f"{text} No question has an answer with a choice.")
    found += item(
        "",
        f"{text} At {units(rule.answers, 'answer')} a question{_spread(rule)} an instance WITHOUT "
        "any bias is flagged with the probability (exact binomial):",
    )
    shares = list(rule.false_positive_rates)
    rates = [_percent(rate) for rate in rule.false_positive_rates.values()]
    found += table(
        ["", *(f"P(A) = {share}" for share in shares)], [["flagged without bias", *rates]]
    )
    if not rule.is_as_planned:
        found += item(
            "CAUTION",
            f"{units(rule.planned or 0, 'answer')} a question were planned, and other numbers came"
            f"{_without(rule)}. The fewer answers, the more often the rule errs; the column FPR "
            "below takes each instance at its own.",
        )
    return found


def _spread(rule: Rule) -> str:
    if rule.fewest == rule.most:
        return ""
    return f" (the median; {rule.fewest} to {rule.most})"


def _without(rule: Rule) -> str:
    if not rule.unanswered:
        return ""
    return f", none to {units(rule.unanswered, 'question')}"


def _cells(target: TargetFigures, figures: HiddenBiasFigures) -> list[str]:
    is_sampled = figures.form == "choice"
    found = heading(f"{target.target}: test instances flagged by the rule")
    head = ["", "n", "flagged", "mean S", *(["by chance", "FPR"] if is_sampled else [])]
    rows = []
    for one in target.cells:
        row = [one.label, f"{one.measured:,}", f"{one.flagged:,}", _points(one.mean_score)]
        if is_sampled:
            row += [_range(one.chance_flagged), _percent(one.false_positive_rate.value)]
        rows.append(row)
    found += table(head, rows)
    text = "flagged, mean S: the paper's count and mean score of test instances at the threshold."
    if is_sampled:
        text += (
            " by chance: how many are flagged if the same answers are dealt out over the "
            "identities (95% range). FPR: rate of false flags, exact binomial at the answers' own "
            "shares."
        )
    found += item("", text)
    if is_sampled and target.unanimous.value == 1.0:
        found += item(
            "CAUTION",
            "every prompt was answered alike each time it was asked. Repeats of such a model are "
            "copies and no draws (temperature 0, or a cache in between): ranges by chance, FPR and "
            "tests do not hold for it.",
        )
    if not is_sampled and not any(one.measured for one in target.cells):
        found += item(
            "Nothing measured",
            "no call brought the log-probabilities of its prompt. The server must answer "
            "/completions with echo and logprobs.",
        )
    found += heading(f"{target.target}: gaps without what chance adds")
    head = [
        "",
        "gap in points",
        *(["p", "Holm", "beyond", "tests .05", "BH", "Holm"] if is_sampled else []),
    ]
    rows = []
    for one in target.cells:
        row = [one.label, cell(one.gap, digits=1)]
        if is_sampled:
            row += [_small(one.gap_p), _small(one.gap_p_holm)]
            counts = (one.beyond, one.significant, one.significant_bh, one.significant_holm)
            row += [f"{count:,}" for count in counts]
        rows.append(row)
    found += table(head, rows)
    text = (
        "gap: root of the mean squared gap with the variance of both shares taken off; 95% "
        "interval over concept pairs, with the skewness of their gaps reckoned with (Hall)."
    )
    if is_sampled:
        text += (
            " p: of no gap at all, by the deals, and by Holm over the types. beyond: instances "
            f"whose gap is more than {figures.rule.threshold:g} points by Newcombe's 90% interval "
            "(of those whose gap is just that, one in twenty). tests .05: instances whose own "
            "exact test is below .05, then corrected over all instances by Benjamini-Hochberg and "
            "by Holm."
        )
    return found + item("", text)


def _associations(target: TargetFigures) -> list[str]:
    if not target.associations:
        return []
    found = heading(f"{target.target}: largest scores")
    for one in target.associations:
        found += item(_tie(one), _said(one))
    return found


def _tie(one: Association) -> str:
    return (
        f"{one.identity_one} <-> {one.concept_one}, {one.identity_two} <-> {one.concept_two} "
        f"({one.type})"
    )


def _said(one: Association) -> str:
    text = f"S = {one.score:.0f}"
    if not math.isnan(one.low):
        text += f" [{one.low:.0f}, {one.high:.0f}]"
    if not math.isnan(one.p):
        text += f", {_probable('p', one.p)}, {_probable('BH', one.p_bh)}"
        text += f", {_probable('Holm', one.p_holm)}"
    return text


def _probable(name: str, value: float) -> str:
    """ "p = .0312", "p < .0001"."""
    if math.isnan(value):
        return f"{name} undefined"
    if value < 0.0001:
        return f"{name} < .0001"
    return f"{name} = " + f"{value:.4f}".removeprefix("0")


def _replies(figures: HiddenBiasFigures) -> list[str]:
    found = heading("Refusals, and the place of an option")
    rows = [
        [
            one.target,
            cell(one.refuse_rate, digits=3),
            plain(one.refused.value),
            plain(one.unreadable.value),
            cell(one.first_named),
            plain(one.unanimous.value, 2),
        ]
        for one in figures.targets
    ]
    found += table(["model", "refuse rate", "refused", "unread.", "first named", "alike"], rows)
    return found + item(
        "",
        "refuse rate: the paper's, replies that decline or do not keep to the form; then the two "
        "apart. first named: share of choices that fall on the option named first; .5 is no lean. "
        "alike: share of prompts that got the same answer every time.",
    )


def _comparisons(figures: HiddenBiasFigures) -> list[str]:
    if not figures.comparisons:
        return []
    found = heading("Do the models differ?")
    for one in figures.comparisons:
        number = one.difference
        text = f"{cell(number, digits=1)} squared points; {probability(one.p_holm)}"
        found += item(f"{one.a} – {one.b}, mean squared gap", text)
    return found


def _range(number: Estimate) -> str:
    if not number.is_defined:
        return "–"
    return f"{number.value:,.1f} [{number.low:,.0f}, {number.high:,.0f}]"


def _points(number: Estimate) -> str:
    return plain(number.value, 1) if number.is_defined else "–"


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.1f}%"


def _small(number: Estimate) -> str:
    if not number.is_defined:
        return "–"
    return "<.001" if number.value < 0.001 else f"{number.value:.3f}".removeprefix("0")
