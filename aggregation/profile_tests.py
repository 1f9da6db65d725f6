"""The tests that feed a target's vulnerability profile, adjusted together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .abstention_change import Abstention
from .degradation_cells import DegradationCell
from .framing_asymmetry import Asymmetry
from .framing_contrasts import FramingContrast
from .prompt_means import Floats

Test = DegradationCell | FramingContrast | Asymmetry | Abstention


@dataclass(frozen=True, slots=True)
class ProfileTests:
    """Every test behind a profile with its p-value adjusted over all of them.

    Attributes:
        tests: in the order handed in, family by family.
        p_adjusted: of each; nan where it has no p-value.
        n_tests, n_families: those with a p-value.
    """

    tests: tuple[Test, ...]
    p_adjusted: tuple[float, ...]
    n_tests: int
    n_families: int

    def p_of(self, test: Test) -> float:
        """Returns the adjusted p of one of these very tests.

        Raises:
            KeyError: another one.
        """
        for one, p_value in zip(self.tests, self.p_adjusted, strict=True):
            if one is test:
                return p_value
        raise KeyError(test)


def profile_tests(
    targets: Sequence[str],
    *,
    cells: Sequence[DegradationCell],
    contrasts: Sequence[FramingContrast],
    asymmetries: Sequence[Asymmetry],
    abstentions: Sequence[Abstention],
) -> ProfileTests:
    """Returns the tests of these targets' profile, adjusted over five families together.

    The families are the dimension cells, the mean cells, the contrasts, the declared asymmetry and
    differential abstention; each takes part by its raw p-values. Were each tested at alpha by
    itself, some sentence would stand on noise in about twice alpha of all studies.

    Args:
        targets: whose; those of one declared family.
        cells, contrasts, asymmetries, abstentions: as measured, of any targets.
    """
    names = set(targets)
    families: list[list[tuple[Test, float]]] = [
        [(c, c.p_value) for c in cells if c.target in names and c.dimension is not None],
        [(c, c.p_value) for c in cells if c.target in names and c.dimension is None],
        [(c, c.estimate.p_value) for c in contrasts if c.target in names],
        [(a, a.estimate.p_value) for a in asymmetries if a.target in names and a.is_declared],
        [(a, a.p_value) for a in abstentions if a.target in names],
    ]
    adjusted = holm_over_families([[p for _, p in family] for family in families])
    known = [int((~np.isnan(one)).sum()) for one in adjusted]
    return ProfileTests(
        tuple(test for family in families for test, _ in family),
        tuple(float(p) for one in adjusted for p in one),
        n_tests=sum(known),
        n_families=sum(n > 0 for n in known),
    )


def holm_over_families(families: Sequence[npt.ArrayLike]) -> list[Floats]:
    """Returns Holm's adjusted p-values over several families at once, each of equal weight.

    Holm's weighted procedure: a family with a test has weight 1, shared equally by its tests, so
    that one declared test beside twenty cells is not judged at a twenty-first of the level. With
    tests ordered by p / w, p~_(i) = max_{j ≤ i} min(1, p_(j) Σ_{l ≥ j} w_(l) / w_(j)). The
    family-wise error over all tests of all families together is at most alpha, under any
    dependence. nan stays nan and takes no weight. One family alone gives Holm's own p-values.

    Raises:
        ValueError: a p-value outside [0, 1].

    Source: Holm (1979), section 4.
    """
    tables = [np.asarray(family, dtype=float) for family in families]
    if any(((one < 0) | (one > 1)).any() for one in tables):
        raise ValueError("p-values must be in [0, 1]")
    sizes = [int((~np.isnan(one)).sum()) for one in tables]
    p = np.concatenate([one[~np.isnan(one)] for one in tables]) if tables else np.empty(0)
    weight = np.concatenate([np.full(n, 1 / max(n, 1)) for n in sizes]) if sizes else np.empty(0)
    order = np.argsort(p / weight, kind="stable")
    left = np.cumsum(weight[order][::-1])[::-1]
    stepped = np.maximum.accumulate(np.minimum(1.0, p[order] / weight[order] * left))
    adjusted = np.empty_like(p)
    adjusted[order] = stepped
    found, start = [], 0
    for one, size in zip(tables, sizes, strict=True):
        row = np.full(one.shape, np.nan)
        row[~np.isnan(one)] = adjusted[start : start + size]
        found.append(row)
        start += size
    return found
