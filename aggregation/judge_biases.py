"""What moves judges beside the quality of a response, where it is no difference of two arms.

Scores come as arrays: R responses, J judges, C criteria, T askings; nan is missing. The prompt is
the unit: a bias is one value a prompt whose mean is the figure (`ByPrompt`), to be decided by
`rules.decided`. A statistic of all prompts has its jackknife's pseudo-values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from .estimate import Estimate, undefined
from .intervals import mean_of_known
from .jackknife import BLOCKS, jackknife

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_RESPONDENTS: Final = 100
"""Respondents up to which each is held fixed in `form_slopes`."""
_SINGULAR: Final = 1e-9
_ROUNDS: Final = 100


class ByPrompt(NamedTuple):
    """A figure as the mean of one value a prompt.

    Attributes:
        values: shape (prompts,), nan where a prompt plays no part.
        method: the estimator.
        n_planned: prompts that have scores.
        value: the figure, where its values could not be made; else their mean.
        n: prompts that it rests on; those with a value, but for blocks of prompts.
        reason: why the figure or its values are missing, or None.
    """

    values: Floats
    method: str
    n_planned: int
    value: float
    n: int
    reason: str | None = None


def by_prompt(values: Floats, method: str, n_planned: int, reason: str) -> ByPrompt:
    """A figure of these values; the reason is for where there are none."""
    known = values[~np.isnan(values)]
    if not known.size:
        return ByPrompt(values, method, n_planned, math.nan, 0, reason)
    return ByPrompt(values, method, n_planned, float(known.mean()), known.size)


def _pseudo_values(
    value: float, left_out: Floats, places: Integers, n_prompts: int, n: int, method: str,
    n_planned: int,
) -> ByPrompt:  # fmt: skip
    """Values θ + (B − 1)(mean θ_(−b) − θ_(−b)), of mean θ and with the jackknife's error.

    Args:
        value: θ.
        left_out: shape (B,), the statistic without each prompt or block of prompts.
        places: shape (B,), the prompt of each, or the first of its block.
        n_prompts: of all.
        n: prompts in the statistic.
        method, n_planned: as in `ByPrompt`.

    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, 11.
    """
    values = np.full(n_prompts, np.nan)
    if np.isnan(left_out).any():
        reason = f"undefined without one of {int(np.isnan(left_out).sum())} prompts"
        return ByPrompt(values, method, n_planned, value, n, reason)
    values[places] = value + (len(left_out) - 1) * (left_out.mean() - left_out)
    return ByPrompt(values, method, n_planned, value, n)


def place_weights(turn: Integers, n_criteria: int) -> Floats:
    """Returns shape (R, C): weights of criteria whose sum is the effect of the last place.

        (C − 1) Δ / Σ Δ²      Δ: places later than in the plain order

    The weighted sum of a response's scores in the turned order, less the same in the plain one, is
    the least-squares slope on places, from the first to the last. A criterion is compared with
    itself, so that an easy one that happens to stand first is not taken for an effect of its place;
    the Δ of a rotation sum to 0, so that a shift of all criteria is none either.

    Args:
        turn: shape (R,), rotation of each response, from 1 to C − 1: criterion c stood at place
            (c − turn) mod C.
        n_criteria: C.
    """
    places = np.arange(n_criteria)
    later = (places[None, :] - np.asarray(turn)[:, None]) % n_criteria - places[None, :]
    weights: Floats = (n_criteria - 1) * later / (later**2).sum(axis=1, keepdims=True)
    return weights


def own_family_by_prompt(
    by_family: npt.ArrayLike, own: Mask, prompt: Integers, n_prompts: int
) -> Floats:
    """Returns shape (prompts,): points more that judges give to responses of their own family.

        Σ ô y / Σ ô²      ô: own family or not, freed from response and family of judges

    Additive fit within a prompt: score = response + family of judges + δ own. The quality of a
    response is held by the other families' judges, the severity of a family by the other responses.

    Args:
        by_family: shape (R, F), mean score of each family's judges.
        own: shape (R, F), whether the response is of that family.
        prompt: shape (R,), codes below `n_prompts`.
        n_prompts: how many there are.

    Returns:
        nan for a prompt with fewer than two families of judges or two responses that all of them
        scored, or without both kinds of responses.
    """
    table = np.asarray(by_family, dtype=np.float64)
    whole = ~np.isnan(table).any(axis=1)
    table, is_own, codes = table[whole], own[whole].astype(np.float64), prompt[whole]
    counts = np.bincount(codes, minlength=n_prompts)
    freed = _doubly_centred(is_own, codes, counts)
    bottom = np.bincount(codes, (freed**2).sum(axis=1), n_prompts)
    top = np.bincount(codes, (freed * table).sum(axis=1), n_prompts)
    found: Floats = np.divide(top, bottom, out=np.full(n_prompts, np.nan), where=bottom > _SINGULAR)
    return found


def _doubly_centred(table: Floats, codes: Integers, counts: Integers) -> Floats:
    """Within each prompt: less the row's mean and the column's, plus that of all."""
    sums = np.stack([np.bincount(codes, one, len(counts)) for one in table.T], axis=1)
    columns = sums / np.maximum(counts, 1)[:, None]
    rows = table.mean(axis=1, keepdims=True)
    found: Floats = table - rows - columns[codes] + columns.mean(axis=1)[codes][:, None]
    return found


# Statistics of all prompts


def place_effects(
    plain: npt.ArrayLike,
    turned: npt.ArrayLike,
    turn: Integers,
    prompt: Integers,
    n_prompts: int,
    *,
    level: float = 0.95,
) -> tuple[Estimate, ...]:
    """Returns what each place adds, in points against the mean of all places.

    Least squares of d = a(place turned) − a(place in the plain order), the a summing to 0. Places
    from first to last.

    Args:
        plain: shape (R, J, C), scores with the criteria in the order of the last axis.
        turned: likewise, with the criteria rotated.
        turn: as in `place_weights`.
        prompt, n_prompts: as in `own_family_by_prompt`.
        level: nominal coverage.

    Returns:
        All undefined, with the reason, where the rotations leave the places of some criteria
        without a comparison: of four, a rotation by two never compares the first with the second.
    """
    difference = np.asarray(turned, dtype=np.float64) - np.asarray(plain, dtype=np.float64)
    n_criteria = difference.shape[2]
    known = np.asarray(~np.isnan(difference).any(axis=2), dtype=bool)
    sums = np.where(known[..., None], difference, 0.0).sum(axis=1)
    judges = known.sum(axis=1)
    tops = np.zeros((n_prompts, n_criteria))
    grams = np.zeros((n_prompts, n_criteria, n_criteria))
    for k, turned_by in enumerate(np.asarray(turn).tolist()):
        design = np.roll(np.eye(n_criteria), -turned_by, axis=1) - np.eye(n_criteria)
        tops[prompt[k]] += design.T @ sums[k]
        grams[prompt[k]] += judges[k] * design.T @ design
    is_there = grams.any(axis=(1, 2))
    tops, grams = tops[is_there], grams[is_there]
    method = "least squares of turned less plain on places"
    if not len(tops):
        return tuple([undefined("no judge scored both orders", method=method)] * n_criteria)

    def fit(top: Floats, gram: Floats) -> Floats:
        # Every design has rows that sum to 0: the a are known but for a constant at best.
        if np.linalg.matrix_rank(gram, hermitian=True) < n_criteria - 1:
            return np.full(n_criteria, np.nan)
        found: Floats = np.linalg.pinv(gram, hermitian=True) @ top
        return found

    top, gram = tops.sum(axis=0), grams.sum(axis=0)
    value = fit(top, gram)
    if np.isnan(value).any():
        why = "the orders that were asked do not compare every place with every other"
        return tuple([undefined(why, method=method, n=len(tops))] * n_criteria)
    left_out = np.stack(
        [
            fit(top - tops[mine].sum(axis=0), gram - grams[mine].sum(axis=0))
            for mine in _blocks(len(tops))
        ]
    )
    return tuple(
        jackknife(float(value[k]), left_out[:, k], n=len(tops), method=method, level=level)
        for k in range(n_criteria)
    )


def form_slopes(
    score: npt.ArrayLike,
    form: npt.ArrayLike,
    prompt: Integers,
    respondent: Integers,
    n_prompts: int,
    *,
    of: str = "",
) -> tuple[ByPrompt, ...]:
    """Returns the slope of a score on each column of form, prompt and respondent held fixed.

    Least squares: score = prompt + respondent + Σ β form. It is an association: better responses
    may be longer, and a longer one may be better for what it says more.

    Args:
        score: shape (R,).
        form: shape (R, K), such as log2 of the words.
        prompt, respondent: shape (R,), codes. More than `MOST_RESPONDENTS` respondents are not held
            fixed, which `method` then says.
        n_prompts: codes of prompts.
        of: what the slopes are, for the method.

    Returns:
        K slopes; n counts the prompts between whose responses the column varies, n planned those
        with a score. All undefined, with the reason, where no prompt has two responses, or one of
        the columns does not vary once prompt, respondent and the other columns are held.
    """
    y, x = np.asarray(score, dtype=np.float64), np.asarray(form, dtype=np.float64)
    known = np.isfinite(y) & np.isfinite(x).all(axis=1)
    n_forms = x.shape[1]
    if not known.any():
        nothing = np.full(n_prompts, np.nan)
        none_known = ByPrompt(
            nothing, of, 0, math.nan, 0, "no response has both a score and a form"
        )
        return tuple([none_known] * n_forms)
    y, x, codes = y[known], x[known], prompt[known]
    who = np.unique(respondent[known], return_inverse=True)[1].reshape(-1)
    groups, codes = np.unique(codes, return_inverse=True)
    codes = codes.reshape(-1)
    n_who = int(who.max(initial=-1)) + 1
    held = "prompt and respondent held fixed"
    if n_who > MOST_RESPONDENTS:
        held = f"prompt held fixed; {n_who} respondents are too many to be held as well"
        n_who = 1
    method = f"{of}; least squares, {held}"

    def none(reason: str) -> tuple[ByPrompt, ...]:
        nothing = np.full(n_prompts, np.nan)
        return tuple([ByPrompt(nothing, method, len(groups), math.nan, 0, reason)] * n_forms)

    counts = np.bincount(codes, minlength=len(groups))
    if not (counts > 1).any():
        return none("one response a prompt: its form and the prompt cannot be told apart")
    dummies = (who[:, None] == np.arange(1, n_who)[None, :]).astype(np.float64)
    columns = np.hstack([x, dummies, y[:, None]])
    means = np.zeros((len(groups), columns.shape[1]))
    np.add.at(means, codes, columns)
    columns = np.asarray(columns - (means / counts[:, None])[codes], dtype=np.float64)
    products = np.zeros((len(groups), columns.shape[1], columns.shape[1]))
    np.add.at(products, codes, columns[:, :, None] * columns[:, None, :])
    products = products[counts > 1]

    def slopes(total: Floats) -> Floats:
        rest, mine = slice(n_forms, -1), slice(0, n_forms)
        inverse = np.linalg.pinv(total[rest, rest], hermitian=True)
        gram = total[mine, mine] - total[mine, rest] @ inverse @ total[rest, mine]
        top = total[mine, -1] - total[mine, rest] @ inverse @ total[rest, -1]
        size = np.sqrt(np.maximum(np.diag(total)[mine], 1e-30))
        if np.linalg.eigvalsh(gram / np.outer(size, size))[0] < _SINGULAR:
            return np.full(n_forms, np.nan)
        return np.asarray(np.linalg.solve(gram, top), dtype=np.float64)

    total = products.sum(axis=0)
    value = slopes(total)
    if np.isnan(value).any():
        return none("it does not vary between the responses of a prompt, respondents held fixed")
    found = []
    for k in range(n_forms):
        # Where the responses of a prompt are of one form, it tells of respondents, not of the form.
        varies = np.flatnonzero(products[:, k, k] > _SINGULAR)
        left_out = np.array([slopes(total - products[place])[k] for place in varies])
        places = groups[counts > 1][varies]
        found.append(
            _pseudo_values(
                float(value[k]), left_out, places, n_prompts, len(varies), method, len(groups)
            )
        )
    return tuple(found)


def criterion_correlation(values: npt.ArrayLike, *, beyond_response: bool = False) -> Floats:
    """Returns shape (C, C): correlation among criteria over judgments.

    Each judge's mean on each criterion is taken out, so that a harsh judge makes no correlation.
    With `beyond_response` the response's mean over judges is taken out too: what is left says
    whether one judge's criteria move together where the other judges' do not, which is halo.

    Args:
        values: shape (R, J, C).
        beyond_response: see above.

    Returns:
        nan where a criterion does not vary, or there is nothing left: one judge, one response.
    """
    table = np.array(values, dtype=np.float64)
    table[np.isnan(table).any(axis=2)] = np.nan
    n_criteria = table.shape[2]
    table[~compared_responses(table, beyond_response=beyond_response)] = np.nan
    for _ in range(_ROUNDS if beyond_response else 1):
        of_judge = mean_of_known(table, axis=0)
        table = table - of_judge[None]
        if not beyond_response:
            break
        of_response = mean_of_known(table, axis=1)
        table = table - of_response[:, None]
        if not np.nanmax(np.abs(mean_of_known(table, axis=0)), initial=0.0) > 1e-9:
            break
    flat = table.reshape(-1, n_criteria)
    flat = flat[~np.isnan(flat[:, 0])]
    products = flat.T @ flat
    size = np.sqrt(np.diag(products))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(size > _SINGULAR, products / np.outer(size, size), np.nan)
    found[~(size > _SINGULAR)] = np.nan
    return found


def compared_responses(values: npt.ArrayLike, *, beyond_response: bool = False) -> Mask:
    """Returns shape (R,): the responses that add to `criterion_correlation` of these values.

    One judge must have scored all criteria; with `beyond_response` two, one to compare the other
    with.
    """
    n = (~np.isnan(np.asarray(values, dtype=np.float64)).any(axis=2)).sum(axis=1)
    return np.asarray(n >= (2 if beyond_response else 1), dtype=bool)


def mean_correlation(matrix: Floats) -> float:
    """Returns the mean of a correlation matrix off its diagonal; nan where one is undefined."""
    n = len(matrix)
    return float((matrix.sum() - np.trace(matrix)) / (n * (n - 1))) if n > 1 else math.nan


def jackknifed(
    statistic: Callable[[Integers], float],
    prompt: Integers,
    n_prompts: int,
    *,
    counts: Mask | None = None,
    method: str,
) -> ByPrompt:
    """Returns a statistic of responses as values of prompts, or of `BLOCKS` blocks of them.

    Args:
        statistic: of the places of responses.
        prompt: shape (R,), codes of prompts below `n_prompts`.
        n_prompts: how many there are.
        counts: shape (R,), responses that add to the statistic; None: all. n counts their prompts,
            and n planned those of all.
        method: the estimator.
    """
    everything = np.arange(len(prompt)) if counts is None else np.flatnonzero(counts)
    names, codes = np.unique(prompt[everything], return_inverse=True)
    codes = codes.reshape(-1)
    n, n_planned = len(names), len(np.unique(prompt))
    value = statistic(everything) if n else math.nan
    if math.isnan(value):
        nothing = np.full(n_prompts, np.nan)
        return ByPrompt(nothing, method, n_planned, math.nan, n, "undefined on these data")
    blocks = _blocks(n)
    left_out = np.array([statistic(everything[~np.isin(codes, b)]) for b in blocks])
    places = np.array([names[block[0]] for block in blocks])
    return _pseudo_values(value, left_out, places, n_prompts, n, method, n_planned)


def repeat_spread(
    values: npt.ArrayLike, prompt: Integers, n_prompts: int, *, level: float = 0.95
) -> tuple[Estimate, Estimate]:
    """Returns (SD between askings, share of pairs of askings with equal scores).

        SD = √(Σ (y − ȳ)² / Σ (T − 1))      ȳ: mean of one judge's askings on one response

    Args:
        values: shape (R, J, T), one score or several a cell as further judges.
        prompt, n_prompts: as in `own_family_by_prompt`.
        level: nominal coverage.

    Returns:
        Undefined, with the reason, where no judge scored a response twice.
    """
    table = np.asarray(values, dtype=np.float64)
    n = (~np.isnan(table)).sum(axis=2)
    centred = table - mean_of_known(table, axis=2)[:, :, None]
    squares = np.nansum(centred**2, axis=2).sum(axis=1)
    degrees = np.maximum(n - 1, 0).sum(axis=1)
    first, second = np.triu_indices(table.shape[2], 1)
    gaps = table[:, :, first] - table[:, :, second]
    pairs = (~np.isnan(gaps)).sum(axis=(1, 2))
    equal = (np.abs(np.where(np.isnan(gaps), 1.0, gaps)) < _SINGULAR).sum(axis=(1, 2))
    sums = np.stack(
        [np.bincount(prompt, one, n_prompts) for one in (squares, degrees, equal, pairs)], axis=1
    )
    sums = sums[sums[:, 1] > 0]
    methods = ("SD between askings of one judge on one response, pooled",
               "share of pairs of askings with the same score")  # fmt: skip
    if not len(sums):
        why = "no judge scored a response twice: score with repeats, or probe"
        return undefined(why, method=methods[0]), undefined(why, method=methods[1])
    rest = np.stack([sums.sum(axis=0) - sums[mine].sum(axis=0) for mine in _blocks(len(sums))])
    total = sums.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = jackknife(
            math.sqrt(total[0] / total[1]), np.sqrt(rest[:, 0] / rest[:, 1]), n=len(sums),
            method=methods[0], level=level, bounds=(0.0, math.inf),
        )  # fmt: skip
        same = jackknife(
            float(total[2] / total[3]), rest[:, 2] / rest[:, 3], n=len(sums), method=methods[1],
            level=level, bounds=(0.0, 1.0),
        )  # fmt: skip
    return spread, same


def _blocks(n: int) -> list[Integers]:
    """The places of each block that a jackknife leaves out: one each, or `BLOCKS` of them."""
    return [np.arange(start, n, min(n, BLOCKS)) for start in range(min(n, BLOCKS))]
