"""Variance components of crossed, nested and ragged designs (generalizability study).

Henderson's method I: for every effect a with cells i, T_a = sum_i (sum of y in i)^2 / n_i; with
independent effects of variances s2_b,

    E[T_a] = N mu^2 + sum_b k(a, b) s2_b,    k(a, b) = sum_ij n_ij^2 / n_i.

The same holds for the mean (one cell) and for the single observations (the residual); subtracting
the mean's line leaves one linear equation a component. The equations depend on the design alone, so
that many vectors of observations of one design, as in a simulation, share them.
Source: Henderson (1953), Biometrics 9, 226; Brennan (2001), Generalizability Theory, ch. 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, stdtrit

from .design import CONFOUNDED, Design, design_of
from .estimate import Estimate
from .intervals import MIN_UNITS
from .jackknife import jackknife_error

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def henderson(y: Floats, codes: Sequence[Integers]) -> list[float]:
    """Returns one component an effect and the residual; nan throughout where not separable.

    Args:
        y: shape (N,), no nan.
        codes: one integer code from 0 an observation, without gaps, for each effect.
    """
    estimates = henderson_of_many([y], codes, n=len(y))
    return [float(value) for value in estimates[0]]


def henderson_of_many(
    observations: Iterable[Floats], codes: Sequence[Integers], *, n: int
) -> Floats:
    """Returns the estimates of `henderson`, a row for each vector of observations of one design.

    Args:
        observations: vectors of shape (n,), no nan.
        codes: as in `henderson`.
        n: observations in each.
    """
    size, N = len(codes), n
    counts = [np.bincount(code).astype(np.float64) for code in codes]
    system = _system(codes, counts, N) if N > 1 else None
    rows = []
    for y in observations:
        if system is None:
            rows.append(np.full(size + 1, np.nan))
            continue
        centred = y - y.mean()  # T of the mean is then zero, and no digits are lost
        right = np.array(
            [
                *(
                    (np.bincount(code, weights=centred) ** 2 / cells).sum()
                    for code, cells in zip(codes, counts, strict=True)
                ),
                (centred**2).sum(),
            ]
        )
        scaled, scale = system
        rows.append(np.linalg.solve(scaled, right) / scale)
    return np.array(rows)


def _system(
    codes: Sequence[Integers], counts: Sequence[Floats], N: int
) -> tuple[Floats, Floats] | None:
    """Returns what a design makes of components, column by column scaled, and the scale.

    None where the design does not separate its effects.
    """
    size = len(codes)
    system = np.empty((size + 1, size + 1))
    of_mean = np.array([*((n**2).sum() / N for n in counts), 1.0])
    for a in range(size):
        system[a, a] = N
        system[a, size] = len(counts[a])
        for b in range(a):
            system[a, b], system[b, a] = _overlap(codes[a], codes[b], counts[a], counts[b])
    system[size, :] = N
    system -= of_mean[None, :]
    scale = np.abs(system).max(axis=0)
    if (scale < 1e-9).any() or np.linalg.cond(system / scale) > 1e10:
        return None
    return system / scale, scale


def _overlap(a: Integers, b: Integers, n_a: Floats, n_b: Floats) -> tuple[float, float]:
    """Returns k(a, b) and k(b, a), both from one table of joint counts."""
    joint = a * len(n_b) + b
    room = len(n_a) * len(n_b)
    if room <= 4 * len(a) + 1000:
        table = np.bincount(joint, minlength=room)
        cells = np.flatnonzero(table)
        n = table[cells].astype(np.float64)
    else:
        cells, found = np.unique(joint, return_counts=True)
        n = found.astype(np.float64)
    return (
        float((n**2 / n_a[cells // len(n_b)]).sum()),
        float((n**2 / n_b[cells % len(n_b)]).sum()),
    )


RESIDUAL: Final = "residual"
"""The name of the component of single observations."""

FEWEST_LEVELS: Final = 5
"""Facets with fewer levels are named in `GStudy.few_levels`."""

BLOCKS: Final = 50
"""The jackknife leaves out prompts one by one up to this many, above it in this many blocks."""


@dataclass(frozen=True, slots=True)
class GStudy:
    """Variance components with what they rest on.

    Attributes:
        components: estimate by effect, in the order given, the residual last; negative estimates
            stand as they came out (averaging them is unbiased, cutting them off is not); nan
            where the data cannot tell an effect from others.
        levels: levels of each effect; for the residual the observations.
        negative: effects with a negative estimate; a report shows them as 0 with a flag.
        few_levels: main facets with fewer than five levels: their component is hardly known
            (`level_bounds` gives the factor).
        n: observations.
        replicated: whether the residual is re-ask noise alone; else it also holds the
            interaction of all facets.
        intervals: jackknife interval over prompts by component, where there is one; the
            components of persona and model main effects have none, whatever the prompts.
        left_out: the components without each prompt (or block of prompts) of the jackknife, for
            intervals of what is computed from them.
        reason: why a component is nan, or None.
    """

    components: dict[str, float]
    levels: dict[str, int]
    negative: tuple[str, ...]
    few_levels: tuple[str, ...]
    n: int
    replicated: bool
    intervals: dict[str, Estimate] = field(default_factory=dict)
    left_out: tuple[dict[str, float], ...] = field(default=(), repr=False)
    reason: str | None = None


def level_bounds(levels: int, *, level: float = 0.95) -> tuple[float, float]:
    """Returns the factors that bound a component estimated from so many normal levels.

    (df / chi2_{1-a/2}, df / chi2_{a/2}) with df = levels - 1: 3 levels .27 and 39.5, 10 levels
    .47 and 3.33. nan for fewer than two levels.
    """
    if levels < 2:
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    df = levels - 1
    return float(df / chdtri(df, tail)), float(df / chdtri(df, 1 - tail))


def crossed(*labels: npt.ArrayLike) -> Integers:
    """Returns one code for each combination of labels that occurs: the cells of an interaction.

    Args:
        labels: arrays of one length, one label an observation.
    """
    out = np.zeros(np.asarray(labels[0]).shape, dtype=np.int64)
    for array in labels:
        _, code = np.unique(np.asarray(array), return_inverse=True)
        _, out = np.unique(out * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    return out.astype(np.int64)


def g_study(scores: npt.ArrayLike, effects: Mapping[str, npt.ArrayLike]) -> GStudy:
    """Returns the variance components of any crossed, nested or unbalanced random design.

    Args:
        scores: shape (N,), one observation an entry; nan entries are left out.
        effects: labels of shape (N,) by effect name; a nested effect or an interaction is given
            by labels that differ between its cells (`crossed(prompt, response)`). The residual
            of single observations is added and must not be among them.

    Returns:
        Unbiased estimates where observations are missing at random. Effects that the design
        cannot separate (the same cells, one level only, or no replication beyond the finest) make
        the equations singular: then every component is nan, with the reason.

    Raises:
        ValueError: lengths that differ, no effect, or one named "residual".

    Source: Henderson (1953), Biometrics 9, 226, method I; Brennan (2001), Generalizability Theory,
    ch. 7.
    """
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 1 or not effects or RESIDUAL in effects:
        raise ValueError(
            f"g_study needs a vector of scores and effects other than {RESIDUAL!r}, got shape "
            f"{y.shape} and {sorted(effects)}"
        )
    codes = {}
    kept = np.isfinite(y)
    for name, labels in effects.items():
        array = np.asarray(labels)
        if array.shape != y.shape:
            raise ValueError(f"{name}: needs one label a score, got {array.shape} for {y.shape}")
        codes[name] = np.unique(array[kept], return_inverse=True)[1].astype(np.int64).reshape(-1)
    estimates = henderson(y[kept], list(codes.values()))
    return _study(dict(zip([*codes, RESIDUAL], estimates, strict=True)), codes, y[kept], True)


def _study(
    components: dict[str, float],
    codes: Mapping[str, Integers],
    y: Floats,
    replicated: bool,
    facets: Sequence[str] | None = None,
) -> GStudy:
    levels = {name: int(code.max(initial=-1)) + 1 for name, code in codes.items()}
    levels[RESIDUAL] = len(y)
    undefined = any(np.isnan(value) for value in components.values())
    return GStudy(
        components=components,
        levels=levels,
        negative=tuple(name for name, value in components.items() if value < 0),
        few_levels=tuple(
            name for name in (facets or codes) if 1 < levels.get(name, 0) < FEWEST_LEVELS
        ),
        n=len(y),
        replicated=replicated,
        reason="the design does not tell the effects apart" if undefined else None,
    )


PANEL_EFFECTS: Final = ("q", "r:q", "P", "M", "PM", "qP", "qM", "rP", "rM", "rPM")
"""Effects of the panel design: prompt, response in prompt, persona, model and interactions."""

_OBSERVED: Final = frozenset({"q", "r:q", "qP", "qM", "rP", "rM", "rPM", RESIDUAL})
_PARTS: Final = {
    "q": "q",
    "r:q": "r",
    "P": "P",
    "M": "M",
    "PM": "PM",
    "qP": "qP",
    "qM": "qM",
    "rP": "rP",
    "rM": "rM",
    "rPM": "rPM",
}


def panel_g_study(
    scores: npt.ArrayLike,
    *,
    prompt: Sequence[Any] | npt.NDArray[Any],
    jackknife: bool = True,
    level: float = 0.95,
) -> GStudy:
    """Returns the variance components of a panel: responses in prompts x personas x models.

    Effects q, r:q, P, M, PM, qP, qM, rP, rM and the residual; with repeats also rPM, and the
    residual is then re-ask noise alone. Effects that the data cannot hold are left out: with one
    model all that contain M, with one persona all that contain P. Where the design has one response
    a prompt (`Design.target`), r:q, rP and rM are left out, and what they hold stands in q, qP and
    qM, whose unit is the prompt with its response. Where every response was judged once, the
    residual holds how the responses differ: it is undefined then, never their spread.

    The jackknife leaves out one prompt at a time (above 50 prompts one of 50 blocks): mean ± t
    with prompts - 1 degrees of freedom. It is given for components that vary between responses;
    what few personas or models do to P, M and PM no number of prompts can show.
    Measured coverage of the 95% jackknife interval (benchmarks/simulate_calibration.py, 2,000
    worlds, Monte Carlo error .006): r:q .914 and rM .925 with 9 prompts of 4, .944 and .947
    with 26. At nine prompts it falls short.

    Args:
        scores: shape (R, P, M) or (R, P, M, repeats), nan where missing.
        prompt: R prompt ids.
        jackknife: whether to make the intervals.
        level: confidence level.

    Raises:
        ValueError: shapes that do not fit.
    """
    y, codes, question, replicated, design = panel_cells(scores, prompt)
    estimates = henderson(y, list(codes.values()))
    components = dict(zip([*codes, RESIDUAL], estimates, strict=True))
    study = _study(components, codes, y, replicated, ("P", "M"))
    if design is not None and design.is_confounded:
        components[RESIDUAL] = float("nan")
        study = replace(study, components=components, reason=CONFOUNDED)
    if not jackknife or study.reason:
        return study
    intervals, left_out = _jackknife(y, codes, question, components, level)
    return replace(study, intervals=intervals, left_out=left_out)


class PanelCells(NamedTuple):
    """The known scores of a panel, one an entry.

    Attributes:
        y: shape (N,).
        effects: the codes of each effect that the scores can hold, shape (N,) each.
        prompt: shape (N,), codes.
        replicated: whether a judge was asked twice of one response.
        design: None without a score.
    """

    y: Floats
    effects: dict[str, Integers]
    prompt: Integers
    replicated: bool
    design: Design | None


def panel_cells(scores: npt.ArrayLike, prompt: Sequence[Any] | npt.NDArray[Any]) -> PanelCells:
    """Returns the known scores of a panel with the effects that their design can hold.

    Args:
        scores, prompt: as in `panel_g_study`.

    Raises:
        ValueError: shapes that do not fit.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim == 3:
        table = table[..., None]
    if table.ndim != 4 or len(prompt) != len(table):
        raise ValueError(
            "scores must have shape (responses, personas, models[, repeats]) with one prompt a "
            f"response, got {table.shape} and {len(prompt)} prompts"
        )
    response, persona, model, repeat = (
        index.astype(np.int64) for index in np.nonzero(np.isfinite(table))
    )
    y = table[np.isfinite(table)]
    of_response = np.unique(np.asarray(prompt, dtype=str), return_inverse=True)[1].reshape(-1)
    question = of_response[response].astype(np.int64)
    design = None
    if len(y):
        design = design_of(question, response, persona, model, repeat=repeat)
    is_across = design is not None and design.target == "response"
    parts = {"q": response if is_across else question, "r": response, "P": persona, "M": model}
    labels = {name: crossed(*(parts[letter] for letter in _PARTS[name])) for name in PANEL_EFFECTS}
    names, replicated = _estimable(labels, len(y))
    return PanelCells(y, {name: labels[name] for name in names}, question, replicated, design)


def _estimable(labels: Mapping[str, Integers], n: int) -> tuple[list[str], bool]:
    """Returns the effects with cells of their own, and whether cells are replicated."""
    if not n:
        return [], False
    levels = {name: int(code.max(initial=-1)) + 1 for name, code in labels.items()}
    names: list[str] = []
    taken = {1}
    for name in PANEL_EFFECTS:
        if levels[name] in taken:
            # as many cells as a coarser effect already has: the same cells (or one alone)
            coarser = [other for other in names if levels[other] == levels[name]]
            if levels[name] == 1 or any(_same_cells(labels[name], labels[o]) for o in coarser):
                continue
        names.append(name)
        taken.add(levels[name])
    replicated = n > levels["rPM"]
    names = [name for name in names if levels[name] < n]
    return names, replicated


def _same_cells(a: Integers, b: Integers) -> bool:
    return len(np.unique(a * (int(b.max()) + 1) + b)) == int(a.max()) + 1


def _jackknife(
    y: Floats,
    codes: Mapping[str, Integers],
    prompt: Integers,
    components: Mapping[str, float],
    level: float,
) -> tuple[dict[str, Estimate], tuple[dict[str, float], ...]]:
    """Returns intervals by component, and the components without each block of prompts."""
    present = np.unique(prompt)
    names = [*codes, RESIDUAL]
    if len(present) < MIN_UNITS:
        reason, nan = f"fewer than {MIN_UNITS} prompts", np.nan
        G = len(present)
        return {
            name: Estimate(components[name], nan, nan, G, "prompt", "jackknife", level, reason)
            for name in names
            if name in _OBSERVED
        }, ()
    blocks = np.searchsorted(present, prompt) % min(len(present), BLOCKS)
    G = int(blocks.max()) + 1
    without = np.empty((G, len(names)))
    for block in range(G):
        kept = blocks != block
        fewer = [np.unique(code[kept], return_inverse=True)[1] for code in codes.values()]
        without[block] = henderson(y[kept], [code.astype(np.int64) for code in fewer])
    whole = np.array([components[name] for name in names])
    error = jackknife_error(without)
    half = float(stdtrit(G - 1, (1 + level) / 2)) * error
    out = {}
    method = "delete-one-prompt jackknife, t"
    if len(present) > BLOCKS:
        method = f"delete-a-block jackknife over {G} blocks of prompts, t"
    for name, value, width, one in zip(names, whole.tolist(), half.tolist(), error, strict=True):
        if name in _OBSERVED:
            why = None if np.isfinite(width) else "a prompt cannot be left out of this design"
            out[name] = Estimate(
                value, value - width, value + width, len(present), "prompt", method, level,
                why, se=float(one),
            )  # fmt: skip
    return out, tuple(dict(zip(names, row, strict=True)) for row in without.tolist())
