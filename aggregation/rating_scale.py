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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

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
        R, J, C: responses, raters, criteria.
        rater, criterion, scale: of each cell.
        n_steps: categories but the lowest, of each scale.
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
    scale: Integers
    n_steps: tuple[int, ...]
    given: Any
    counts: Any
    sums: Any
    cluster: Integers
    can_differ: Mask

    @property
    def n_fixed(self) -> int:
        """Parameters that every fit has: severities, difficulties, steps, mean and spread."""
        return self.J + self.C + sum(self.n_steps) + 2

    def first_step(self, scale: int) -> int:
        """The place of the first step of a scale among the parameters."""
        return self.J + self.C + sum(self.n_steps[:scale])


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


def counted(
    code: Integers,
    r: Integers,
    j: Integers,
    c: Integers,
    g: Integers,
    sc: Integers,
    n_steps: Sequence[int],
) -> Data:
    from scipy import sparse

    J, C, K = int(j.max()) + 1, int(c.max()) + 1, max(n_steps) + 1
    cells, cell = np.unique((j * C + c) * len(n_steps) + sc, return_inverse=True)
    rater, rest = np.divmod(cells, C * len(n_steps))
    criterion, scale = np.divmod(rest, len(n_steps))
    R = int(r.max()) + 1
    given = sparse.coo_matrix(
        (np.ones(len(code)), (r, cell * K + code)), shape=(R, len(cells) * K)
    ).tocsr()
    cluster = np.zeros(R, dtype=np.int64)
    cluster[r] = g
    of_rater = np.bincount(j, minlength=J)
    can_differ = (of_rater >= FEWEST_RATINGS) & (max(n_steps) > 1)
    codes = np.tile(np.arange(K, dtype=np.float64), (len(cells), 1))
    return Data(
        R, J, C, K, rater, criterion, scale, tuple(n_steps), given,
        given @ _blocks(np.ones_like(codes)), given @ _blocks(codes),
        np.unique(cluster, return_inverse=True)[1].reshape(-1), can_differ,
    )  # fmt: skip


def steps_of(data: Data, scale: int) -> slice:
    first = data.first_step(scale)
    return slice(first, first + data.n_steps[scale])


def start_of(data: Data, code: Integers, sc: Integers) -> Floats:
    """Steps from how often neighbouring categories were given; all else at its centre."""
    start = np.concatenate([np.zeros(data.n_fixed), np.ones(2 * data.J)])
    for scale, n_steps in enumerate(data.n_steps):
        counts = np.bincount(code[sc == scale], minlength=n_steps + 1).astype(np.float64)
        step = np.log(counts[:-1] / counts[1:])
        start[steps_of(data, scale)] = step - step.mean()
        if scale == 0:
            start[data.n_fixed - 2] = -step.mean()
    return start


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
        sums = np.full((len(data.n_steps), data.K), np.inf)
        for scale, n_steps in enumerate(data.n_steps):
            sums[scale, 0] = 0.0
            sums[scale, 1 : n_steps + 1] = np.cumsum(parameters[steps_of(data, scale)])
        self.sums = sums[data.scale]  # (cells, K), of thresholds up to each category
        self.is_there = np.isfinite(self.sums)
        self.sums = np.where(self.is_there, self.sums, 0.0)
        k = np.arange(data.K)
        eta = k * place[:, :, None] - (self.w[:, None] * self.sums)[:, None, :]
        eta = np.where(self.is_there[:, None, :], eta, -np.inf)
        top = eta.max(axis=2, keepdims=True)
        self.log_p = eta - top - np.log(np.exp(eta - top).sum(axis=2, keepdims=True))
        self.p = np.exp(self.log_p)

    def by_response(self) -> Floats:
        """Shape (R, nodes): log likelihood of each response's ratings at each node."""
        flat = self.log_p.transpose(0, 2, 1).reshape(-1, len(self.z))
        found: Floats = self.data.given @ np.where(np.isfinite(flat), flat, 0.0)
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
        found[..., 4] = -self.sums[:, None, :]
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
        for scale, n_steps in enumerate(data.n_steps):
            mine = cells[data.scale == scale]
            for step in range(n_steps):
                found[mine, 5 + step, data.first_step(scale) + step] = 1.0
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
    for scale, n_steps in enumerate(data.n_steps):
        mine = data.scale == scale
        for step in range(n_steps):
            above = np.outer(np.where(mine, -model.w, 0.0), np.arange(data.K) > step)
            reached = given @ above.reshape(-1)
            found[data.first_step(scale) + step] = reached[:, None] - (
                counts[:, mine] @ expected[mine, :, 5 + step]
            )
    if n_parameters > data.n_fixed:
        of_sums = (given @ _blocks(-model.sums)).toarray()
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
    for scale in range(len(data.n_steps)):
        held(steps_of(data, scale))
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


class MeanSquares(NamedTuple):
    """Mean squares of each rater, and as standard normal deviates."""

    infit: tuple[float, ...]
    outfit: tuple[float, ...]
    infit_z: tuple[float, ...]
    outfit_z: tuple[float, ...]


def mean_squares(data: Data, fit: Fit) -> MeanSquares:
    """Infit, outfit and their standardised forms; see `many_facet`."""
    model = Model(data, fit.parameters, fit.z)
    everything = model.by_response() - fit.z**2 / 2
    k = np.arange(data.K)
    found: dict[str, list[float]] = {"infit": [], "outfit": [], "infit_z": [], "outfit_z": []}
    for who in range(data.J):
        cells = np.flatnonzero(data.rater == who)
        columns = (cells[:, None] * data.K + k).reshape(-1)
        given = data.given[:, columns].tocsr()
        rows = np.flatnonzero(np.diff(given.indptr))
        given = given[rows]
        flat = model.log_p[cells].transpose(0, 2, 1).reshape(-1, len(fit.z))
        others = everything[rows] - given @ np.where(np.isfinite(flat), flat, 0.0)
        weights = np.exp(others - others.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        squares, variances, fourths = [], [], []
        dense = given.toarray().reshape(len(rows), len(cells), data.K)
        for place, cell in enumerate(cells.tolist()):
            at = np.flatnonzero(dense[:, place].any(axis=1))
            predicted = weights[at] @ model.p[cell]
            mean = predicted @ k
            away = (k[None, :] - mean[:, None]) ** 2
            times = dense[at, place]
            variance, fourth = (predicted * away).sum(axis=1), (predicted * away**2).sum(axis=1)
            for category in range(data.K):  # nearly always one rating a cell
                n = times[:, category].astype(np.int64)
                squares.append(np.repeat(away[:, category], n))
                variances.append(np.repeat(variance, n))
                fourths.append(np.repeat(fourth, n))
        square, variance, fourth = (
            np.concatenate(one) for one in (squares, variances, fourths)
        )  # fmt: skip
        n_all = len(square)
        infit, outfit = square.sum() / variance.sum(), (square / variance).mean()
        q_in = math.sqrt(max((fourth - variance**2).sum(), 0.0)) / variance.sum()
        q_out = math.sqrt(max((fourth / variance**2 - 1).sum(), 0.0)) / n_all
        for name, value, q in (("infit", infit, q_in), ("outfit", outfit, q_out)):
            found[name].append(float(value))
            z = (value ** (1 / 3) - 1) * 3 / q + q / 3 if q > 0 else math.nan
            found[f"{name}_z"].append(float(z))
    return MeanSquares(**{name: tuple(values) for name, values in found.items()})
