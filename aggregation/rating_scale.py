"""Marginal maximum likelihood of the many-facet rating-scale model: its arithmetic.

    log P(k) / P(k − 1) = a (quality − difficulty) − severity − w · threshold of step k

with a and w 1 but for raters with a range and a consistency of their own. A rater who gives scores
at random has a = 0, and one who counts from the other end a below 0, without leaving the model.

Ratings are counts of categories in cells, a cell being a rater and a criterion that met; a cell's
probabilities are the same for every response, at each node of quality. Nothing of the size
ratings x nodes x categories is made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

FEWEST_RATINGS: Final = 20
"""Ratings that a rater needs for a range and a consistency of its own."""

_WIDTH: Final = 5.0  # standard deviations of quality, on either side, that the ruler is summed over
_MOST_NODES: Final = 401
_MOST_STEPS: Final = 60


@dataclass(frozen=True, slots=True)
class Data:
    """Ratings as counts. A cell is a rater and a criterion that met.

    Attributes:
        R, J, C, K: responses, raters, criteria, categories.
        rater, criterion: of each cell.
        given: sparse (R, cells * K), how often a response got a category in a cell.
        counts, sums: sparse (R, cells), ratings of a response in a cell, and their sum of codes.
        cluster: shape (R,), the prompt of each response.
        can_differ: shape (J,), raters with a range and a consistency of their own.
    """

    R: int
    J: int
    C: int
    K: int
    rater: Integers
    criterion: Integers
    given: Any
    counts: Any
    sums: Any
    cluster: Integers
    can_differ: Mask

    @property
    def n_fixed(self) -> int:
        """Parameters that every fit has: severities, difficulties, steps, mean and spread."""
        return self.J + self.C + self.K - 1 + 2

    @property
    def steps(self) -> slice:
        """The places of the steps among the parameters."""
        return slice(self.J + self.C, self.J + self.C + self.K - 1)


@dataclass(frozen=True, slots=True)
class Fit:
    """A maximum of the likelihood.

    Attributes:
        parameters: severities, difficulties, steps, mean, log spread, a, w.
        covariance: of them, over prompts.
        weights: shape (R, nodes), the posterior of each response's quality.
        z: shape (nodes,).
        is_reached: whether the steps came to an end.
    """

    parameters: Floats
    covariance: Floats
    weights: Floats
    z: Floats
    is_reached: bool


def counted(y: Floats, r: Integers, j: Integers, c: Integers, g: Integers) -> tuple[Data, Floats]:
    """Returns ratings as counts, and where the search for the maximum starts.

    Scores that nobody gave are no category. Steps start from how often neighbouring categories were
    given, all else at its centre.

    Args:
        y: shape (N,), scores.
        r, j, c, g: shape (N,), codes of response, rater, criterion and prompt.
    """
    from scipy import sparse

    categories, code = np.unique(y, return_inverse=True)
    r, j, c = (np.unique(codes, return_inverse=True)[1].reshape(-1) for codes in (r, j, c))
    R, J, C, K = *(int(codes.max()) + 1 for codes in (r, j, c)), len(categories)
    cells, cell = np.unique(j * C + c, return_inverse=True)
    rater, criterion = np.divmod(cells, C)
    given = sparse.coo_matrix(
        (np.ones(len(code)), (r, cell * K + code)), shape=(R, len(cells) * K)
    ).tocsr()
    cluster = np.zeros(R, dtype=np.int64)
    cluster[r] = g
    codes = np.tile(np.arange(K, dtype=np.float64), (len(cells), 1))
    data = Data(
        R, J, C, K, rater, criterion, given,
        given @ _blocks(np.ones_like(codes)), given @ _blocks(codes),
        np.unique(cluster, return_inverse=True)[1].reshape(-1),
        (np.bincount(j, minlength=J) >= FEWEST_RATINGS) & (K > 2),
    )  # fmt: skip
    start = np.concatenate([np.zeros(data.n_fixed), np.ones(2 * J)])
    counts = np.bincount(code, minlength=K).astype(np.float64)
    step = np.log(counts[:-1] / counts[1:])
    start[data.steps] = step - step.mean()
    start[data.n_fixed - 2] = -step.mean()
    return data, start


class Model:
    """Probabilities and derivatives at one place of the parameters."""

    def __init__(self, data: Data, parameters: Floats, z: Floats) -> None:
        """Takes the parameters and the nodes of quality, in its standard deviations."""
        J, C, at = data.J, data.C, data.n_fixed - 2
        self.data, self.z = data, z
        self.spread = math.exp(float(parameters[at + 1]))
        self.a = parameters[at + 2 : at + 2 + J][data.rater]
        self.w = parameters[at + 2 + J :][data.rater]
        of_criterion = parameters[J : J + C][data.criterion]
        self.place = parameters[at] + self.spread * z - of_criterion[:, None]  # (cells, nodes)
        place = self.a[:, None] * self.place - parameters[:J][data.rater][:, None]
        # of thresholds up to each category, shape (K,)
        self.sums = np.concatenate([[0.0], np.cumsum(parameters[data.steps])])
        eta = np.arange(data.K) * place[:, :, None] - (self.w[:, None] * self.sums)[:, None, :]
        top = eta.max(axis=2, keepdims=True)
        self.log_p = eta - top - np.log(np.exp(eta - top).sum(axis=2, keepdims=True))
        self.p = np.exp(self.log_p)

    def by_response(self) -> Floats:
        """Shape (R, nodes): log likelihood of each response's ratings at each node."""
        flat = self.log_p.transpose(0, 2, 1).reshape(-1, len(self.z))
        found: Floats = self.data.given @ flat
        return found

    def posterior(self) -> tuple[Floats, float]:
        """Shape (R, nodes), and the log likelihood."""
        prior = -(self.z**2) / 2
        joint = self.by_response() + prior - np.log(np.exp(prior).sum())
        top = joint.max(axis=1, keepdims=True)
        raw = np.exp(joint - top)
        total = raw.sum(axis=1, keepdims=True)
        return raw / total, float((np.log(total) + top).sum())

    def local(self) -> Floats:
        """Shape (cells, nodes, K, 4 + K): derivatives of eta by a cell's own parameters.

        By place on the ruler as the rater has it (less it: severity), by quality (less it:
        difficulty), log spread, a, w, and each step.
        """
        data = self.data
        k = np.arange(data.K)
        found = np.zeros((*self.p.shape, 4 + data.K))
        by_quality = self.a[:, None, None] * k
        found[..., 0] = k
        found[..., 1] = by_quality
        found[..., 2] = by_quality * (self.spread * self.z)[None, :, None]
        found[..., 3] = k * self.place[:, :, None]
        found[..., 4] = -self.sums
        reached = (k[:, None] >= k[None, 1:]).astype(np.float64)
        found[..., 5:] = -self.w[:, None, None, None] * reached
        return found

    def columns(self, n_parameters: int) -> Floats:
        """Shape (cells, 4 + K, n_parameters): which parameters a cell's own ones are."""
        data = self.data
        found = np.zeros((len(data.rater), 4 + data.K, n_parameters))
        cells = np.arange(len(data.rater))
        at = data.n_fixed - 2
        found[cells, 0, data.rater] = -1.0
        found[cells, 1, data.J + data.criterion] = -1.0
        found[:, 1, at] = 1.0
        found[:, 2, at + 1] = 1.0
        if n_parameters > data.n_fixed:
            found[cells, 3, data.n_fixed + data.rater] = 1.0
            found[cells, 4, data.n_fixed + data.J + data.rater] = 1.0
        for step in range(data.K - 1):
            found[:, 5 + step, data.steps.start + step] = 1.0
        return found


def _derivatives(model: Model, weights: Floats, n_parameters: int) -> tuple[Floats, Floats]:
    """Each response's score (R, parameters), and the observed information by Louis' identity."""
    data = model.data
    local, columns = model.local(), model.columns(n_parameters)
    expected = np.einsum("cqk,cqkl->cql", model.p, local)
    n_cells, n_nodes, K = model.p.shape
    at_node = data.counts.T @ weights  # (cells, nodes)
    information = np.zeros((n_parameters, n_parameters))
    for cell in range(n_cells):
        weight = (at_node[cell][:, None] * model.p[cell]).reshape(-1)
        flat = local[cell].reshape(n_nodes * K, -1)
        own = (flat * weight[:, None]).T @ flat
        own -= (expected[cell] * at_node[cell][:, None]).T @ expected[cell]
        information += columns[cell].T @ own @ columns[cell]
    scores = np.zeros((data.R, n_parameters))
    block = max(1, int(8_000_000 / (n_nodes * n_parameters)))
    for first in range(0, data.R, block):
        rows = slice(first, min(first + block, data.R))
        found = _at_nodes(model, expected, rows, n_parameters)
        scores[rows] = np.einsum("rq,prq->rp", weights[rows], found)
        found *= np.sqrt(weights[rows])
        flat = found.reshape(n_parameters, -1)
        information -= flat @ flat.T
        information += scores[rows].T @ scores[rows]
    return scores, information


def _at_nodes(model: Model, expected: Floats, rows: slice, n_parameters: int) -> Floats:
    """Shape (parameters, rows, nodes): what some responses' ratings say if quality were there."""
    data, at = model.data, model.data.n_fixed - 2
    given = data.given[rows]
    counts, sums = data.counts[rows].toarray(), data.sums[rows].toarray()
    mean = expected[..., 0]
    found = np.zeros((n_parameters, len(counts), len(model.z)))

    def more(cells: Mask, weight: Floats) -> Floats:
        """Shape (rows, nodes): how far ratings in these cells are above what is expected."""
        own, times = weight[cells], mean[cells]
        one: Floats = sums[:, cells] @ own - counts[:, cells] @ (times * own)
        return one

    ones = np.ones((len(data.rater), 1))
    for rater in range(data.J):
        found[rater] = -more(data.rater == rater, ones)
    for criterion in range(data.C):
        found[data.J + criterion] = -more(data.criterion == criterion, model.a[:, None])
    found[at] = -found[data.J : data.J + data.C].sum(axis=0)
    found[at + 1] = found[at] * (model.spread * model.z)
    for step in range(data.K - 1):
        above = np.outer(-model.w, np.arange(data.K) > step)
        reached = given @ above.reshape(-1)
        found[data.steps.start + step] = reached[:, None] - counts @ expected[:, :, 5 + step]
    if n_parameters > data.n_fixed:
        every = np.tile(-model.sums, (len(data.rater), 1))
        of_sums = (given @ _blocks(every)).toarray()
        for rater in np.flatnonzero(data.can_differ).tolist():
            mine = data.rater == rater
            found[data.n_fixed + rater] = more(mine, model.place)
            found[data.n_fixed + data.J + rater] = of_sums[:, mine].sum(axis=1, keepdims=True) - (
                counts[:, mine] @ expected[mine, :, 4]
            )
    return found


def _blocks(values: Floats) -> Any:
    """Sparse (cells * K, cells): the values of each cell's categories in its own column."""
    from scipy import sparse

    n_cells, K = values.shape
    rows = np.arange(n_cells * K)
    return sparse.coo_matrix((values.reshape(-1), (rows, rows // K))).tocsr()


def _free(data: Data, n_parameters: int) -> Floats:
    """Shape (parameters, free): a basis of what may move, the mean of each kind held at 0."""
    from scipy.linalg import null_space

    rows = []

    def held(places: Any) -> None:
        row = np.zeros(n_parameters)
        row[places] = 1.0
        rows.append(row)

    held(slice(0, data.J))
    held(slice(data.J, data.J + data.C))
    held(data.steps)
    if n_parameters > data.n_fixed:
        for first in (data.n_fixed, data.n_fixed + data.J):
            held(first + np.flatnonzero(data.can_differ))
            for alone in np.flatnonzero(~data.can_differ):
                held([first + int(alone)])
    found: Floats = null_space(np.array(rows))
    return found


def _nodes(n: int) -> Floats:
    return np.linspace(-_WIDTH, _WIDTH, n)


def maximum(data: Data, start: Floats, *, is_extended: bool, n_nodes: int = 41) -> Fit:
    """Newton, with as many nodes as the sharpest posterior needs."""
    n_parameters = data.n_fixed + (2 * data.J if is_extended else 0)
    basis = _free(data, n_parameters)
    parameters = start.copy()
    while True:
        z = _nodes(n_nodes)
        model = Model(data, parameters, z)
        weights, likelihood = model.posterior()
        scores, information = _derivatives(model, weights, n_parameters)
        is_reached = True
        for _ in range(_MOST_STEPS):
            step = basis @ _solved(basis.T @ information @ basis, basis.T @ scores.sum(axis=0))
            step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
            found = _uphill(data, parameters, step, z, likelihood)
            if found is None:
                break
            parameters, model, weights, reached, step = found
            gain, likelihood = reached - likelihood, reached
            scores, information = _derivatives(model, weights, n_parameters)
            if gain < 1e-7 and float(np.abs(step).max()) < 1e-4:
                break
        else:
            is_reached = False
        mean = weights @ z
        sharpest = np.sqrt(np.maximum(weights @ z**2 - mean**2, 0.0)).min()
        needed = min(_MOST_NODES, math.ceil(2 * _WIDTH / max(sharpest, 1e-3)) | 1)
        if needed <= n_nodes:
            break
        n_nodes = needed
    return Fit(
        parameters, _sandwich(scores, information, basis, data.cluster), weights, z, is_reached
    )


_Stand = tuple[Floats, "Model", Floats, float, Floats]
"""Parameters, what they say, posteriors, log likelihood, and the step that led there."""


def _uphill(
    data: Data, parameters: Floats, step: Floats, z: Floats, likelihood: float
) -> _Stand | None:
    """The better of the step and its half, halved on until neither falls; None: nowhere.

    Louis' information leaves out second derivatives by a and w, so that a step may be twice too
    long: without its half the search goes to and fro about the maximum.
    """

    def at(step: Floats) -> _Stand:
        trial = parameters.copy()
        trial[: len(step)] += step
        model = Model(data, trial, z)
        weights, reached = model.posterior()
        return trial, model, weights, reached, step

    best = at(step)
    for _ in range(12):
        step = step / 2
        half = at(step)
        if best[3] >= max(half[3], likelihood - 1e-9):
            return best
        best = half
    return best if best[3] >= likelihood - 1e-9 else None


def _solved(matrix: Floats, right: Floats) -> Floats:
    """The Newton step; where the likelihood is not concave, one that still goes up."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    floor = 1e-6 * max(float(np.abs(values).max()), 1e-12)
    found: Floats = vectors @ ((vectors.T @ right) / np.maximum(np.abs(values), floor))
    return found


def _sandwich(scores: Floats, information: Floats, basis: Floats, cluster: Integers) -> Floats:
    """Covariance of the parameters with prompts as units, G/(G − 1)."""
    n = int(cluster.max()) + 1
    sums = np.zeros((n, scores.shape[1]))
    np.add.at(sums, cluster, scores)
    bread = basis @ np.linalg.pinv(basis.T @ information @ basis, hermitian=True) @ basis.T
    part = sums @ bread
    found: Floats = part.T @ part * (n / max(n - 1, 1))
    return found


def infit_deviates(data: Data, fit: Fit) -> tuple[float, ...]:
    """Returns each rater's infit as a standard normal deviate (Wilson and Hilferty).

    infit = Σ (x − m)² / Σ v, m and v the mean and variance of a rating that the *other* raters'
    ratings predict, so that its expectation is 1 with few raters too.
    """
    model = Model(data, fit.parameters, fit.z)
    everything = model.by_response() - fit.z**2 / 2
    k = np.arange(data.K)
    deviates = []
    for who in range(data.J):
        cells = np.flatnonzero(data.rater == who)
        columns = (cells[:, None] * data.K + k).reshape(-1)
        given = data.given[:, columns].tocsr()
        rows = np.flatnonzero(np.diff(given.indptr))
        given = given[rows]
        flat = model.log_p[cells].transpose(0, 2, 1).reshape(-1, len(fit.z))
        others = everything[rows] - given @ flat
        weights = np.exp(others - others.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        square = expected = spread = 0.0
        dense = given.toarray().reshape(len(rows), len(cells), data.K)
        for place, cell in enumerate(cells.tolist()):
            predicted = weights @ model.p[cell]
            away = (k - (predicted @ k)[:, None]) ** 2
            variance, fourth = (predicted * away).sum(axis=1), (predicted * away**2).sum(axis=1)
            times = dense[:, place].sum(axis=1)  # nearly always one rating a cell
            square += float((dense[:, place] * away).sum())
            expected += float(times @ variance)
            spread += float(times @ (fourth - variance**2))
        q = math.sqrt(max(spread, 0.0)) / expected
        infit = square / expected
        deviates.append((infit ** (1 / 3) - 1) * 3 / q + q / 3 if q > 0 else math.nan)
    return tuple(deviates)
