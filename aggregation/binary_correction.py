"""A pass rate said by a judge of known error rates, corrected for them."""

import math

from scipy import stats

from .estimate import Estimate


def rogan_gladen(
    share: float,
    n: int,
    *,
    specificity: float,
    n_negative: int,
    sensitivity: float,
    n_positive: int,
    level: float = 0.95,
    unit: str = "item",
) -> Estimate:
    """Returns the true share of passes behind the share that an imperfect judge passes.

    θ = (p + q0 − 1) / (q0 + q1 − 1)        p: share passed; q0: specificity; q1: sensitivity
    Limits after Lee et al.: p is taken as (n p + z²/2) / (n + z²) and q as (m q + 1) / (m + 2),
    m people's labels of that kind; then θ + 2 z² (θ v1 − (1 − θ) v0) ± z SE within [0, 1],
    v = q (1 − q) / (m + 2),
    SE² = (p (1 − p) / (n + z²) + (1 − θ)² v0 + θ² v1) / (q0 + q1 − 1)².

    It is for yes/no verdicts. A score cut at a threshold loses information: use `ppi_mean`. Items
    count as independent, which responses to one prompt are not.

    Args:
        share: of n items that the judge passed.
        n: items judged.
        specificity, sensitivity: shares of people's n_negative fails and n_positive passes that
            the judge calls rightly.
        n_negative, n_positive: items that people labeled, by their label.
        level: nominal coverage.
        unit: what the items are.

    Returns:
        The plain estimate clipped to [0, 1] with its limits; undefined, with the reason, where
        q0 + q1 is at most 1 (a judge no better than chance holds no information).

    Raises:
        ValueError: a share outside [0, 1], a number below 1, or a level outside (0, 1).

    Source: Rogan & Gladen (1978), American Journal of Epidemiology 107; Lee et al.,
    arXiv 2511.21140 (interval).
    """
    shares = (share, specificity, sensitivity)
    if not all(0 <= value <= 1 for value in shares) or min(n, n_negative, n_positive) < 1:
        raise ValueError(
            "shares must lie in [0, 1] and numbers be at least 1, got "
            f"{shares} and {(n, n_negative, n_positive)}"
        )
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}")
    method = "Rogan-Gladen, adjusted Wald"
    z = float(stats.norm.ppf((1 + level) / 2))
    p, q0, q1 = (
        (n * share + z * z / 2) / (n + z * z),
        (n_negative * specificity + 1) / (n_negative + 2),
        (n_positive * sensitivity + 1) / (n_positive + 2),
    )
    if specificity + sensitivity <= 1 or q0 + q1 <= 1:
        nan = math.nan
        reason = (
            "specificity and sensitivity add up to 1 or less: the judge is no better than chance"
        )
        return Estimate(nan, nan, nan, n, unit, method, level, reason)
    theta = (p + q0 - 1) / (q0 + q1 - 1)
    v0, v1 = q0 * (1 - q0) / (n_negative + 2), q1 * (1 - q1) / (n_positive + 2)
    shift = 2 * z * z * (theta * v1 - (1 - theta) * v0)
    variance = p * (1 - p) / (n + z * z) + (1 - theta) ** 2 * v0 + theta**2 * v1
    reach = z * math.sqrt(variance) / (q0 + q1 - 1)
    value, low, high = (
        min(max(limit, 0.0), 1.0)
        for limit in (
            (share + specificity - 1) / (specificity + sensitivity - 1),
            theta + shift - reach,
            theta + shift + reach,
        )
    )
    return Estimate(value, low, high, n, unit, method, level)
