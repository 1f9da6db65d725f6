"""Whether models differ in bias: the paper's chi-square, and tests of paired answers."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ...aggregation.estimate import Estimate, undefined
from ...aggregation.multiplicity import bonferroni, holm
from ...aggregation.proportions import chi_square_test, cochran_q, mcnemar_test, paired_difference
from ...aggregation.sign_flips import sign_flip_tests
from .figures import Comparison, PairFigures
from .outcomes import Floats, Outcomes

ALPHA = 0.05


def compare(outcomes: Outcomes, *, resamples: int = 9_999) -> Comparison:
    """The tests over models, and over each pair of them.

    With repeats, chi-square counts all answers, Cochran's Q and McNemar take the first asking, and
    the permutations take the shares over repeats.
    """
    biased = outcomes.biased
    first, shares = biased[:, :, 0], _shares(biased)
    templates = outcomes.prompts.template
    counts = np.stack([np.nansum(biased, axis=(1, 2)), np.nansum(1 - biased, axis=(1, 2))], axis=1)
    whole = chi_square_test(counts, resamples=resamples)
    paired = cochran_q(first, resamples=0)
    clustered = cochran_q(shares, clusters=templates, resamples=resamples)
    pairs = list(combinations(range(len(outcomes.targets)), 2))
    tests = [mcnemar_test(first[a], first[b]) for a, b in pairs]
    mid = np.asarray([test.p_mid for test in tests])
    flips = [_template_p(shares[a], shares[b], templates, resamples) for a, b in pairs]
    independent = [chi_square_test(counts[[a, b]], resamples=0).p for a, b in pairs]
    mid_bonferroni, mid_holm = bonferroni(mid), holm(mid)
    flips_holm = holm([number.value for number in flips])
    independent_bonferroni = bonferroni(independent)
    found = []
    for at, (a, b) in enumerate(pairs):
        test = tests[at]
        n, family = test.n, f"over {len(pairs)} pairs"
        found.append(
            PairFigures(
                a=outcomes.targets[a],
                b=outcomes.targets[b],
                difference=paired_difference(test.only_a, test.only_b, n).of("difference of rates"),
                only_a=test.only_a,
                only_b=test.only_b,
                p_mid=_p(test.p_mid, n, "McNemar mid-p"),
                p_mid_bonferroni=_p(mid_bonferroni[at], n, f"McNemar mid-p, Bonferroni {family}"),
                p_mid_holm=_p(mid_holm[at], n, f"McNemar mid-p, Holm {family}"),
                p_templates=flips[at],
                p_templates_holm=_p(
                    flips_holm[at], flips[at].n, f"sign flips of templates, Holm {family}",
                    unit="template",
                ),
                p_independent=_p(independent[at], n, "chi-square of independent samples"),
                p_independent_bonferroni=_p(
                    independent_bonferroni[at], n, f"chi-square, Bonferroni {family}"
                ),
            )
        )  # fmt: skip
    chi_method = "chi-square over models"
    return Comparison(
        chi_square=_statistic(whole.statistic, whole.n, chi_method, whole.reason, "answer"),
        chi_square_df=whole.df,
        chi_square_p=_p(whole.p, whole.n, f"{chi_method}, {whole.method}", whole.reason, "answer"),
        cochran_q=_statistic(paired.q, paired.n, "Cochran's Q", paired.reason),
        cochran_p=_p(paired.p_chi2, paired.n, f"Cochran's Q, {paired.df} df", paired.reason),
        permutation_p=_p(
            clustered.p_permutation,
            clustered.n_clusters,
            f"Cochran's Q, {clustered.resamples:,} permutations of whole templates",
            clustered.reason or (None if resamples else "no permutations asked for"),
            "template",
        ),
        alpha_bonferroni=ALPHA / len(pairs),
        pairs=tuple(found),
    )


def _shares(biased: Floats) -> Floats:
    """(models, prompts): share over the repeats that have a category; nan where none has."""
    known = (~np.isnan(biased)).sum(axis=2)
    total = np.nansum(biased, axis=2)
    found: Floats = np.divide(total, known, out=np.full(total.shape, np.nan), where=known > 0)
    return found


def _template_p(a: Floats, b: Floats, templates: tuple[str, ...], resamples: int) -> Estimate:
    """Sign-flip test of the difference with whole templates as units."""
    sums: dict[str, float] = {}
    for template, gap in zip(templates, a - b, strict=True):
        if not np.isnan(gap):
            sums[template] = sums.get(template, 0.0) + float(gap)
    method = "sign flips of templates"
    values = np.asarray(list(sums.values()))
    if not values.size or not np.abs(values).any():
        reason = "no template on which the two differ" if values.size else "no prompt in common"
        return undefined(reason, unit="template", method=method, n=values.size)
    # Templates without a difference say nothing about its sign.
    differing = values[np.abs(values) > 1e-12]
    found = sign_flip_tests(differing[:, None], flips=max(resamples, 999))
    return Estimate(float(found.p_value[0]), n=values.size, unit="template", method=method)


def _p(
    value: float, n: int, method: str, reason: str | None = None, unit: str = "prompt"
) -> Estimate:
    if np.isnan(value):
        return undefined(
            reason or "no prompt on which the two differ", unit=unit, method=method, n=n
        )
    return Estimate(float(value), n=n, unit=unit, method=method)


def _statistic(
    value: float, n: int, method: str, reason: str | None, unit: str = "prompt"
) -> Estimate:
    if np.isnan(value):
        return undefined(reason or "undefined", unit=unit, method=method, n=n)
    return Estimate(float(value), n=n, unit=unit, method=method)
