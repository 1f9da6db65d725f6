"""What a stress test found in a target, in sentences made of the numbers of each finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ..formats import estimate, listed_all, number, p_value, units, words

if TYPE_CHECKING:
    from ..aggregation.estimate import Estimate
    from ..aggregation.vulnerability import Finding


OVER_ALL: Final = "p over all tests"
"""What a p is called that is adjusted over every test of the profile: a Holm p is its family's."""

_NAMES = {
    "empirical_i": "“I”",
    "empirical_friend": "“my friend”",
    "emotion_agree": "agreement",
    "emotion_disagree": "disagreement",
}
"""What the built-in framings are called; others go by their own names."""


def framing_name(framing: str) -> str:
    """What a framing, or a condition of supplied responses, is called wherever it is shown."""
    return _NAMES.get(framing, words(framing))


def profile_sentences(target: str, findings: Sequence[Finding]) -> tuple[str, ...]:
    """One sentence a finding about this target, in the order found."""
    return tuple(sentence(one) for one in findings if one.target == target)


def sentence(finding: Finding) -> str:
    """The finding in words."""
    subject, against = (
        listed_all([framing_name(one) for one in names])
        for names in (finding.subject, finding.against)
    )
    gap, basis = estimate(finding.estimate), _basis(finding)
    match finding.kind:
        case "degrades" | "improves":
            return _moved(finding)
        case "condition_dominates":
            return f"{subject} costs {gap} points more than {against} {basis}."
        case "dimension_dominates":
            return (
                f"Over all conditions {subject} falls {gap} points further than {against} {basis}."
            )
        case "framing_contrast":
            cost = "together cost" if len(finding.subject) > 1 else "costs"
            return f"{subject} {cost} {gap} points more than {against} {basis}."
        case "asymmetry":
            return _asymmetry(finding)
        case "abstains_more":
            return _abstains(finding)
    return _nothing(finding)


def _moved(finding: Finding) -> str:
    verb = "scores fall" if finding.kind == "degrades" else "scores rise"
    parts = [
        f"{words(cell.dimension or 'mean over criteria')} by {estimate(upright(cell.delta))}"
        f"{' (inside the margin)' if cell.within_margin else ''}"
        for cell in finding.cells
    ]
    n = sorted({cell.delta.n for cell in finding.cells})
    prompts = f"{n[0]}" if len(n) == 1 else f"{n[0]} to {n[-1]}"
    return (
        f"Under {framing_name(finding.subject[0])}, {verb}: {', '.join(parts)} ({prompts} prompts)."
    )


def _asymmetry(finding: Finding) -> str:
    (agree, dimension), (disagree,) = finding.subject, finding.against
    worse, better = (agree, disagree) if finding.estimate.value > 0 else (disagree, agree)
    return (
        f"{words(dimension)} falls {estimate(upright(finding.estimate))} points further under "
        f"{framing_name(worse)} than under {framing_name(better)} {_basis(finding)}."
    )


def _abstains(finding: Finding) -> str:
    row = finding.abstention
    if row is None:
        raise ValueError("abstains_more rests on counts, got none")
    more = "more" if row.only_variant > row.only_baseline else "less"
    return (
        f"It declines {more} often under {framing_name(row.condition)}: on {row.only_variant} "
        f"prompts only there, on {row.only_baseline} only at the baseline (of {row.estimate.n}, "
        f"{OVER_ALL} {p_value(finding.estimate.p_adjusted)})."
    )


def _nothing(finding: Finding) -> str:
    verdicts = [cell.verdict for cell in finding.cells if cell.dimension is not None]
    robust, undecided = verdicts.count("robust"), verdicts.count("undecided")
    rest = f"{robust} {'is' if robust == 1 else 'are'} robust and {undecided} undecided"
    changed, means = verdicts.count("changed"), len(finding.cells) - len(verdicts)
    if not (changed or means):
        return f"No change can be shown: of {len(verdicts)} cells {rest}."
    alone = [f"{changed} of {len(verdicts)} cells"] if changed else []
    alone += [f"{means} of the means over criteria"] if means else []
    return (
        f"Over all {units(finding.estimate.n, 'test')} together no change can be shown; by the "
        f"Holm p of their own family {' and '.join(alone)} changed, {rest}."
    )


def upright(found: Estimate) -> Estimate:
    """The estimate with a value above 0: its words say in which direction."""
    if found.value >= 0:
        return found
    return replace(found, value=-found.value, low=-found.high, high=-found.low)


def _basis(finding: Finding) -> str:
    return (
        f"({number(finding.estimate.n, 0)} prompts, {OVER_ALL} "
        f"{p_value(finding.estimate.p_adjusted)})"
    )
