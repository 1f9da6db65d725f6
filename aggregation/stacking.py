"""Weights for the judges of a panel, adopted only when they earn it out of fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from .intervals import MIN_UNITS
from .kendall import within_group_pairs
from .multiplicity import holm
from .pair_counting import Labels, group_codes
from .sign_flips import sign_flip_test

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

Weighting = Literal["equal", "shrunk", "best_single"]

PENALTIES: Final = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Penalties tried, in units of the mean sum of squares of a judge."""

MOST_FOLDS: Final = 10
"""Prompts are left out one by one up to this many, above it in this many folds."""


@dataclass(frozen=True, slots=True)
class StackedJudges:
    """What fitted weights gain over equal ones.

    Attributes:
        adopted: "equal" unless a fitted weighting's out-of-fold gain has p below alpha.
        weights: shape (J,), of the adopted weighting, fitted on everything; they sum to 1.
        shrunk_weights: shape (J,), of the shrink-to-equal fit on everything.
        best_judge: index of the judge with the highest within-prompt tau on everything.
        agreement: of each weighting, out of fold: the mean over prompts of Somers' d,
            (C - D) / pairs that the target decides; the equal weights need no fit.
        gain: agreement less that of equal weights; what is tested.
        p: two-sided sign-flip p of the gain over prompts, Holm-adjusted for the two.
        fold: shape (items,), the fold an item was predicted in; -1 without a target.
        penalty: of the fit on everything.
        n_items, n_prompts: what it rests on.
        reason: why nothing could be adopted, or None.
    """

    adopted: Weighting
    weights: Floats
    shrunk_weights: Floats
    best_judge: int
    agreement: dict[Weighting, float]
    gain: dict[Weighting, float]
    p: dict[Weighting, float]
    fold: Integers
    penalty: float
    n_items: int
    n_prompts: int
    reason: str | None = None


def stack_judges(
    scores: npt.ArrayLike,
    target: npt.ArrayLike,
    prompt: Labels,
    *,
    alpha: float = 0.05,
    seed: int = 0,
) -> StackedJudges:
    """Returns equal, shrink-to-equal and best-single weights with their out-of-fold agreement.

    The shrunk weights minimise ||yc - Xc w||^2 + c ||w - s/J||^2 over w >= 0 on scores and
    targets centred within prompts, s the least-squares slope on the equally weighted mean. The
    penalty c is chosen by cross-validation by prompt inside each outer fold, the outer folds by
    prompt as well. "Best single" is the judge with the best tau in the training prompts.

    Agreement is Somers' d within prompts, in which a tie is no order, so that no weighting gains by
    tying. The mean of its difference from equal weights is tested by flipping signs over prompts.
    At ten prompts fitted weights usually lose: with exchangeable judges 9 prompts of 5 gave tau
    .588 equal, .676 fitted in sample, .573 nested. Measured share of worlds that adopt a fitted
    weighting where judges are exchangeable (alpha .05, benchmarks/simulate_calibration.py, 2,000
    worlds): .0005 with 9 prompts of 5, .0010 with 26 (Monte Carlo error below .001). It is far
    below alpha because out of fold a fitted weighting then loses rather than draws.

    Args:
        scores: shape (items, judges). A missing score is set to what the other judges of the
            item say on average, each centred within the prompt: neutral to equal weights.
        target: shape (items,), human means; items without one are left out.
        prompt: one label an item.
        alpha: level of adoption.
        seed: of the folds, where there are more than ten prompts.

    Raises:
        ValueError: shapes that do not fit, fewer than two judges, or an item with a target and
            no score.

    Source: Wolpert (1992), Neural Networks 5, 241; Breiman (1996), Machine Learning 24, 49, for
    weights of at least 0; the pull towards equal weights is ours.
    """
    table, y = np.asarray(scores, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2 or y.shape != table.shape[:1]:
        raise ValueError(
            f"scores must be (items, judges >= 2) with one target an item, got {table.shape}, "
            f"{y.shape}"
        )
    codes_all, _ = group_codes(prompt, len(y))
    kept = np.isfinite(y)
    if not np.isfinite(table[kept]).any(axis=1).all():
        raise ValueError("an item with a target needs at least one score")
    codes = np.unique(codes_all[kept], return_inverse=True)[1].reshape(-1).astype(np.int64)
    X, y = _centre(table[kept], codes), _centre(y[kept][:, None], codes)[:, 0]
    J = X.shape[1]
    prompts = int(codes.max(initial=-1)) + 1
    equal = np.full(J, 1 / J)

    shrunk, penalty = _fit(X, y, codes, seed)
    best = _best_judge(X, y, codes)
    baseline = _concordance(X @ equal, y, codes)
    fold = np.full(len(table), -1, dtype=np.int64)
    agreement: dict[Weighting, float] = {"equal": _mean(baseline)}
    gain: dict[Weighting, float] = {}
    p: dict[Weighting, float] = {}
    weights = equal
    adopted: Weighting = "equal"
    if prompts < MIN_UNITS:
        agreement |= {"shrunk": float("nan"), "best_single": float("nan")}
        gain = {"shrunk": float("nan"), "best_single": float("nan")}
        p = dict(gain)
        return StackedJudges(
            "equal",
            equal,
            shrunk,
            best,
            agreement,
            gain,
            p,
            fold,
            penalty,
            len(y),
            prompts,
            f"fewer than {MIN_UNITS} prompts",
        )
    folds = _folds(prompts, seed)[codes]
    fold[kept] = folds
    names: tuple[Weighting, Weighting] = ("shrunk", "best_single")
    predicted: dict[Weighting, Floats] = {name: np.empty(len(y)) for name in names}
    for out in range(int(folds.max()) + 1):
        test = folds == out
        train_codes = np.unique(codes[~test], return_inverse=True)[1].reshape(-1).astype(np.int64)
        w, _ = _fit(X[~test], y[~test], train_codes, seed)
        predicted["shrunk"][test] = X[test] @ w
        predicted["best_single"][test] = X[test, _best_judge(X[~test], y[~test], train_codes)]
    raw: list[float] = []
    for name in names:
        found = _concordance(predicted[name], y, codes)
        agreement[name] = _mean(found)
        gains = found - baseline
        gains = gains[np.isfinite(gains)]
        gain[name] = _mean(gains)
        raw.append(_sign_flip(gains, seed))
    p |= dict(zip(names, holm(raw).tolist(), strict=True))
    earned: list[Weighting] = [name for name in names if p[name] < alpha and gain[name] > 0]
    if earned:
        by_gain: Callable[[Weighting], float] = gain.__getitem__
        adopted = max(earned, key=by_gain)
        weights = shrunk if adopted == "shrunk" else np.eye(J)[best]
    return StackedJudges(
        adopted, weights, shrunk, best, agreement, gain, p, fold, penalty, len(y),
        prompts,
    )  # fmt: skip


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _centre(values: Floats, codes: Integers) -> Floats:
    """Returns columns centred within prompts, gaps filled with the item's mean over the others."""
    there = np.isfinite(values)
    filled = np.where(there, values, 0.0)
    size = int(codes.max(initial=-1)) + 1
    sums, counts = np.zeros((size, values.shape[1])), np.zeros((size, values.shape[1]))
    np.add.at(sums, codes, filled)
    np.add.at(counts, codes, there)
    centred = np.where(there, filled - (sums / np.maximum(counts, 1))[codes], 0.0)
    others = centred.sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return np.where(there, centred, others[:, None])


def _folds(prompts: int, seed: int) -> Integers:
    if prompts <= MOST_FOLDS:
        return np.arange(prompts, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(prompts)
    return (np.argsort(order) % MOST_FOLDS).astype(np.int64)


def _solve(gram: Floats, cross: Floats, penalty: float) -> Floats:
    """Returns the shrink-to-equal non-negative weights from X'X and X'y, summing to 1."""
    J = len(cross)
    total = gram.sum()
    slope = max(float(cross.sum() * J / total), 0.0) if total > 0 else 0.0
    if slope == 0.0:
        # the mean does not go with the target: there is no scale to shrink towards
        return np.full(J, 1 / J)
    ridge = penalty * np.trace(gram) / J
    root = np.linalg.cholesky(gram + (ridge + 1e-9 * np.trace(gram)) * np.eye(J))
    right = np.linalg.solve(root, cross + ridge * slope / J)
    w = nnls(root.T, right)[0]
    return w / w.sum() if w.sum() > 0 else np.full(J, 1 / J)


def _fit(X: Floats, y: Floats, codes: Integers, seed: int) -> tuple[Floats, float]:
    """Returns weights with the penalty that predicts left-out prompts best, and that penalty."""
    prompts = int(codes.max(initial=-1)) + 1
    gram, cross = X.T @ X, X.T @ y
    if prompts < 3:
        return _solve(gram, cross, PENALTIES[-1]), PENALTIES[-1]
    folds = _folds(prompts, seed)[codes]
    loss = np.zeros(len(PENALTIES))
    for out in range(int(folds.max()) + 1):
        test = folds == out
        rest_gram = gram - X[test].T @ X[test]
        rest_cross = cross - X[test].T @ y[test]
        for index, penalty in enumerate(PENALTIES):
            w = _solve(rest_gram, rest_cross, penalty)
            spread = w @ rest_gram @ w
            slope = w @ rest_cross / spread if spread > 0 else 0.0
            loss[index] += ((y[test] - slope * (X[test] @ w)) ** 2).sum()
    # of equal losses the strongest pull towards equal weights
    chosen = len(PENALTIES) - 1 - int(np.argmin(loss[::-1]))
    return _solve(gram, cross, PENALTIES[chosen]), PENALTIES[chosen]


def _best_judge(X: Floats, y: Floats, codes: Integers) -> int:
    first, second = within_group_pairs(codes)
    signs = np.sign(np.round(X[first] - X[second], 12))
    truth = np.sign(np.round(y[first] - y[second], 12))
    decided = np.sqrt(np.maximum(np.abs(signs).sum(axis=0), 1))
    return int(np.argmax(truth @ signs / decided))


def _concordance(x: Floats, y: Floats, codes: Integers) -> Floats:
    """Returns (C - D) / pairs decided by y for each prompt; nan where it decides none."""
    first, second = within_group_pairs(codes)
    truth = np.sign(np.round(y[first] - y[second], 12))
    agreement = np.sign(np.round(x[first] - x[second], 12)) * truth
    size = int(codes.max()) + 1
    top = np.bincount(codes[first], weights=agreement, minlength=size)
    bottom = np.bincount(codes[first], weights=np.abs(truth), minlength=size)
    out = np.full(size, np.nan)
    np.divide(top, bottom, out=out, where=bottom > 0)
    return out


def _sign_flip(gains: Floats, seed: int) -> float:
    if len(gains) == 0 or not np.abs(gains).max() > 0:
        return 1.0
    return float(sign_flip_test(gains, rng=seed).p)
