"""How harsh each judge is, and how much of it belongs to personas and to models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .generalizability import henderson

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class AdditiveFit:
    """Least squares of score = response + judge + error, fed block by block.

    It frees a mean from which judges happened to be there: where a harsh one is missing, the plain
    mean of a response rises, and its adjusted mean does not. The judges' effects sum to zero over
    those who scored anything; where nothing is missing, every adjusted mean is the plain one. What
    is held does not grow with the responses. It cannot make up for a judge that would have scored
    just this response otherwise than its severity says.

    Source: the additive two-way layout with unequal numbers, Searle (1987), Linear Models for
    Unbalanced Data, ch. 4; responses eliminated from its normal equations.
    """

    def __init__(self, judges: int, columns: int) -> None:
        """Begins without a response: how many judges there are, and columns of scores."""
        self._system: Floats = np.zeros((judges, judges))
        self._right: Floats = np.zeros((judges, columns))
        self._n: Floats = np.zeros(judges)

    def add(self, totals: Floats, counts: Floats) -> None:
        """Takes responses in.

        Args:
            totals: shape (responses, judges, columns), sums of a judge's scores; 0 without any.
            counts: shape (responses, judges), how many scores these are.
        """
        size = counts.sum(axis=1)
        weight = np.zeros(len(size))
        np.divide(1.0, size, out=weight, where=size > 0)
        self._n = self._n + counts.sum(axis=0)
        self._system = self._system - counts.T @ (counts * weight[:, None])
        mean = totals.sum(axis=1) * weight[:, None]
        self._right = self._right + totals.sum(axis=0) - counts.T @ mean

    @property
    def severity(self) -> Floats:
        """Shape (judges, columns): effects, positive is lenient; 0 for a judge without a score."""
        system = self._system + np.diag(self._n)
        # of all solutions the shortest: effects then sum to zero
        found = np.linalg.lstsq(system, self._right, rcond=1e-10)[0]
        return np.asarray(found, dtype=np.float64)

    def moved(self, counts: Floats) -> Floats:
        """Shape (responses, columns): what adjusting adds to the plain mean of each response.

        Args:
            counts: as in `add`; a response without any score is moved by 0.
        """
        size = counts.sum(axis=1, keepdims=True)
        share = np.zeros(counts.shape)
        np.divide(counts, size, out=share, where=size > 0)
        seen: Floats = (self._n > 0).astype(np.float64)
        # Over equal shares the effects sum to zero but for rounding: that must not show.
        equal = seen / max(1.0, float(seen.sum()))
        is_off = np.abs(share - equal).max(axis=1) > 1e-12
        moved: Floats = -(share @ self.severity) * is_off[:, None]
        return moved

    def spread(self, totals: Floats, counts: Floats, weights: Floats | None = None) -> Floats:
        """Shape (responses, columns): values whose mean is that of the adjusted means.

        Adjusted means share the errors of the severities, so their scatter is too small for the
        error of their mean, and far too small where a judge scored a few responses only. With e_r
        the residuals of response r by judge, w_r its weight, A the normal equations of the
        severities, and d = Σ w_r (share_r − 1 / J) how far the judges of all are from equal shares:

            v_r = adjusted_r − d' A⁺ e_r / w_r

        Args:
            totals, counts: everything that was added, each response with a score.
            weights: shape (responses,), of each in the mean, none 0; None: the same for all.

        Source: the infinitesimal jackknife, Jaeckel (1972); Efron (1982), ch. 6.
        """
        size = counts.sum(axis=1, keepdims=True)
        share = counts / size
        plain: Floats = totals.sum(axis=1) / size
        adjusted: Floats = plain + self.moved(counts)
        of_all = np.full(len(size), 1 / max(len(size), 1)) if weights is None else weights
        seen: Floats = (self._n > 0).astype(np.float64)
        off = of_all @ share - of_all.sum() * seen / max(1.0, float(seen.sum()))
        if np.abs(off).max(initial=0.0) <= 1e-12:
            return adjusted
        pull = np.linalg.lstsq(self._system + np.diag(self._n), off, rcond=1e-10)[0]
        severity = self.severity
        error = np.tensordot(totals, pull, axes=(1, 0)) - counts @ (severity * pull[:, None])
        error -= (counts @ pull)[:, None] * (plain - share @ severity)
        return np.asarray(adjusted - error / of_all[:, None], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class SeverityFit:
    """Adjusted scores of responses and severities of judges; nan where not separable.

    Attributes:
        responses, judges: labels, sorted.
        adjusted: one score a response, freed from who judged it.
        raw: the plain mean of each response.
        severity: one deviation a judge; positive is lenient, negative is harsh. Sums to zero
            over the judges of a connected component.
        judge_component: connected component of each judge; values compare within one only.
        n_components: how many there are.
        shrinkage: s2_e / s2_judge, the ridge on severities; 0 for plain least squares, inf where
            judges do not differ more than noise makes them.
        n: observations used.
        reason: what cannot be compared, or None.
    """

    responses: tuple[Any, ...]
    judges: tuple[Any, ...]
    adjusted: Floats
    raw: Floats
    severity: Floats
    judge_component: Integers
    n_components: int
    shrinkage: float
    n: int
    reason: str | None = None


def severity(
    scores: npt.ArrayLike,
    response: Sequence[Any] | npt.NDArray[Any],
    judge: Sequence[Any] | npt.NDArray[Any],
    *,
    shrink: bool = True,
) -> SeverityFit:
    """Returns the additive fit score = response + severity of the judge + error.

    Plain: least squares with severities summing to zero in each connected component. Shrunk (the
    default): severities are random with variance s2_j, so sum (y - theta - b)^2 + (s2_e/s2_j)
    sum b^2 is minimised (best linear unbiased prediction), the components from Henderson's
    method I; where s2_j comes out at or below zero all severities are zero.

    In a complete design the order of the responses is that of their raw means. Severity is a shift:
    a judge who uses half the scale is not made comparable by it.

    Args:
        scores: shape (N,), nan is left out.
        response: N response ids.
        judge: N judge ids.
        shrink: whether to shrink.

    Returns:
        Judges alone in their component (each of their responses was judged by nobody else)
        have severity nan and their responses adjusted nan: nothing is separable there.

    Raises:
        ValueError: lengths that differ, or no score.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    y = np.asarray(scores, dtype=np.float64)
    kept = np.isfinite(y)
    if y.ndim != 1 or not len(y) == len(response) == len(judge) or not kept.any():
        raise ValueError(
            "severity needs scores with one response and one judge each, got "
            f"{y.shape}, {len(response)}, {len(judge)}, of which {int(kept.sum())} known"
        )
    responses, r = np.unique(np.asarray(response)[kept], return_inverse=True)
    judges, j = np.unique(np.asarray(judge)[kept], return_inverse=True)
    y, r, j = y[kept], r.reshape(-1).astype(np.int64), j.reshape(-1).astype(np.int64)
    R, J = len(responses), len(judges)

    counts = sparse.coo_matrix((np.ones(len(y)), (r, j)), shape=(R, J)).tocsr()
    graph = sparse.bmat([[None, counts], [counts.T, None]])
    n_components, component = connected_components(graph, directed=False)
    of_response = component[:R].astype(np.int64)
    of_judge = component[R:].astype(np.int64)
    alone = np.bincount(of_judge, minlength=n_components) == 1

    ridge = _ridge(y, r, j) if shrink else 0.0
    per_response = np.bincount(r, minlength=R)
    raw = np.bincount(r, weights=y, minlength=R) / per_response
    if np.isinf(ridge):
        b = np.zeros(J)
    else:
        # responses eliminated: (D_j + ridge - N' D_r^-1 N) b = sums of y - mean of its response
        share = sparse.diags(1 / per_response) @ counts
        system = np.diag(np.bincount(j, minlength=J) + ridge) - (counts.T @ share).toarray()
        right = np.bincount(j, weights=y - raw[r], minlength=J)
        # of all solutions the shortest: severities then sum to zero in every component
        b = np.linalg.lstsq(system, right, rcond=1e-10)[0]
    adjusted = raw - np.bincount(r, weights=b[j], minlength=R) / per_response
    b = np.where(alone[of_judge], np.nan, b)
    adjusted = np.where(alone[of_response], np.nan, adjusted)
    reason = None
    if alone.all():
        reason = "every response was judged by one judge only: severity cannot be separated"
    elif n_components > 1:
        reason = (
            f"{n_components} groups of responses share no judge: scores and severities compare "
            "within a group only"
        )
    return SeverityFit(
        responses=tuple(responses.tolist()),
        judges=tuple(judges.tolist()),
        adjusted=adjusted,
        raw=raw,
        severity=b,
        judge_component=of_judge,
        n_components=int(n_components),
        shrinkage=ridge,
        n=len(y),
        reason=reason,
    )


def _ridge(y: Floats, r: Integers, j: Integers) -> float:
    """Returns s2_e / s2_judge; inf where judges do not differ, 0 where the fit is exact."""
    _, of_judge, residual = henderson(y, [r, j])
    if np.isnan(of_judge) or of_judge <= 0:
        # nan: too little to estimate, and what cannot be estimated is not corrected for
        return float("inf")
    return max(residual, 0.0) / of_judge


BLOCKS: Final = 50
"""Prompts are left out one by one up to this many, above it in this many blocks."""
