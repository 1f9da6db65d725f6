"""Human ratings of one criterion as long arrays, and prompt by prompt as small tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .pair_counting import group_codes

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST_CELLS = 20_000_000
"""Cells of one table (raters x responses of a prompt, or places x responses) that are still held;
beyond that a design is too uneven for the figures that need the table."""


@dataclass(frozen=True, slots=True)
class Rankings:
    """Rankings, one a rater and prompt, as they were given.

    Attributes:
        n: how many.
        n_incomplete: of fewer responses than others ranked under the prompt.
        n_gapped: whose ranks skip numbers that no tie accounts for (1, 2, 4), or begin above 1.
        n_beyond: with a rank above the number of responses of the prompt.
    """

    n: int
    n_incomplete: int
    n_gapped: int
    n_beyond: int


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of one criterion and kind, oriented so that higher is better.

    Attributes:
        criterion: a dimension, "overall", or "composite" (a rater's mean over the dimensions).
        kind: "score" or "rank"; ranks were negated once: best is −1.
        rater: shape (N,), codes into the dataset's raters.
        response: shape (N,), codes into the dataset's responses.
        prompt: shape (N,), codes of prompts.
        value: shape (N,).
        rankings: of ranks, how many rankings there are and what is unusual about them; None of
            scores, and of a selection.
    Sorted by prompt, rater and response; one rating a rater and response.
    """

    criterion: str
    kind: Literal["score", "rank"]
    rater: Integers
    response: Integers
    prompt: Integers
    value: Floats
    rankings: Rankings | None = None

    def __len__(self) -> int:
        return len(self.value)

    @property
    def name(self) -> str:
        """The criterion with its kind: "overall, rank"."""
        return f"{self.criterion}, {self.kind}"

    @property
    def n_raters(self) -> int:
        return len(np.unique(self.rater))

    @property
    def n_prompts(self) -> int:
        return len(np.unique(self.prompt))

    @property
    def n_responses(self) -> int:
        return len(np.unique(self.response))

    def select(self, mask: npt.NDArray[np.bool_]) -> Ratings:
        """Returns the ratings at which the mask is true."""
        return Ratings(
            self.criterion,
            self.kind,
            self.rater[mask],
            self.response[mask],
            self.prompt[mask],
            self.value[mask],
        )

    def mean_by_response(self, n_responses: int) -> tuple[Floats, Integers]:
        """Returns the mean and number of ratings of each response; nan and 0 where none."""
        counts = np.bincount(self.response, minlength=n_responses).astype(np.int64)
        sums = np.bincount(self.response, weights=self.value, minlength=n_responses)
        mean = np.full(n_responses, np.nan)
        np.divide(sums, counts, out=mean, where=counts > 0)
        return mean, counts


class PromptTables(NamedTuple):
    """Prompts of one shape as a stack of tables.

    Attributes:
        prompt: shape (B,).
        rater: shape (B, m), codes.
        response: shape (B, n), codes.
        values: shape (B, m, n), nan where a rater did not rate a response.
    """

    prompt: Integers
    rater: Integers
    response: Integers
    values: Floats

    @property
    def complete(self) -> npt.NDArray[np.bool_]:
        """Shape (B, m): whether the rater rated every response of the prompt."""
        known: npt.NDArray[np.bool_] = ~np.isnan(self.values)
        return np.asarray(known.all(axis=2), dtype=np.bool_)

    def part(self, rows: slice) -> PromptTables:
        """Returns some of the prompts."""
        return PromptTables(
            self.prompt[rows], self.rater[rows], self.response[rows], self.values[rows]
        )


def make_ratings(
    criterion: str,
    kind: Literal["score", "rank"],
    rater: Integers,
    response: Integers,
    prompt: Integers,
    value: Floats,
) -> tuple[Ratings, int]:
    """Returns sorted ratings and how many repeated ones were left out: the first one stands."""
    order = np.lexsort((np.arange(len(value)), response, rater, prompt))
    rater, response, prompt = rater[order], response[order], prompt[order]
    value = value[order]
    is_repeat = np.zeros(len(value), dtype=bool)
    if len(value) > 1:
        is_repeat[1:] = (rater[1:] == rater[:-1]) & (response[1:] == response[:-1])
    keep = ~is_repeat
    made = Ratings(criterion, kind, rater[keep], response[keep], prompt[keep], value[keep])
    return made, int(is_repeat.sum())


def ranked_among_all(ratings: Ratings) -> Ratings:
    """Returns ranks so that means over raters who ranked different responses can be compared.

    A rater who ranks k of the n responses of a prompt gives the best of them rank 1, whatever was
    not shown. The rank to be expected among all n is rank (n + 1) / (k + 1), with mid-ranks for
    ties; it stands in every prompt with an incomplete or a gapped ranking (1, 2, 4: an order of
    three). Prompts whose rankings are complete keep their ranks as given.

    Agreement with the true order of six responses, of which raters see two to six
    (benchmarks/simulate_rankings.py, 1,000 worlds of ten prompts, Monte Carlo error .003): raw
    ranks .589 and .691 with 5 and 10 raters, these .613 and .711, Plackett-Luce a prompt (these
    ranks where it has no maximum) .606 and .706.
    """
    if ratings.kind != "rank" or not len(ratings):
        return ratings
    changes = np.ones(len(ratings), dtype=bool)
    changes[1:] = (np.diff(ratings.prompt) != 0) | (np.diff(ratings.rater) != 0)
    starts = np.flatnonzero(changes)
    cell = np.cumsum(changes) - 1
    size = np.diff(np.append(starts, len(ratings)))
    _, _, of_prompt = _local(ratings.prompt, ratings.response)
    n = of_prompt[ratings.prompt[starts]]
    least, middle, dense = _ranks_in_cells(cell, -ratings.value, starts, size)
    most = 2 * middle - least
    given = -ratings.value
    is_plain = np.zeros(len(starts), dtype=bool)
    for own in (least, middle, dense, most):
        is_plain |= np.logical_and.reduceat(np.abs(given - own) < 1e-9, starts)
    incomplete, gapped = size < n, ~is_plain
    counts = Rankings(
        len(starts), int(incomplete.sum()), int(gapped.sum()),
        int((np.maximum.reduceat(given, starts) > n).sum()),
    )  # fmt: skip
    is_odd = np.zeros(len(of_prompt), dtype=bool)
    is_odd[ratings.prompt[starts[incomplete | gapped]]] = True
    among_all = middle * ((n + 1) / (size + 1))[cell]
    value = np.where(is_odd[ratings.prompt], -among_all, ratings.value)
    return replace(ratings, value=value, rankings=counts)


def _ranks_in_cells(
    cell: Integers, value: Floats, starts: Integers, size: Integers
) -> tuple[Floats, Floats, Floats]:
    """Returns the lowest, the middle and the dense rank of each value within its cell."""
    order = np.lexsort((value, cell))
    ordered, owner = value[order], cell[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (owner[1:] != owner[:-1]) | (ordered[1:] != ordered[:-1])
    first = np.flatnonzero(is_new)
    run = np.cumsum(is_new) - 1
    length = np.diff(np.append(first, len(order)))
    low = (first - starts[owner[first]])[run] + 1
    dense = run - run[starts][owner] + 1
    found = np.empty((3, len(order)))
    found[:, order] = low, low + (length[run] - 1) / 2, dense
    return found[0], found[1], found[2]


def ratings_of_table(table: npt.ArrayLike, prompt: npt.ArrayLike | None = None) -> Ratings:
    """Returns the ratings of a table of scores (raters, responses), nan where there is none.

    Args:
        table: shape (raters, responses).
        prompt: a label a response; None: all answer one prompt.

    Raises:
        ValueError: not two-dimensional, or labels that do not fit.
    """
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"ratings must be (raters, responses), got shape {values.shape}")
    codes, _ = group_codes(None if prompt is None else np.asarray(prompt), values.shape[1])
    rater, response = np.nonzero(np.isfinite(values))
    found, _ = make_ratings(
        "overall", "score", rater, response, codes[response], values[rater, response]
    )
    return found


def prompt_tables(ratings: Ratings) -> Iterator[PromptTables]:
    """Yields the prompts with two or more raters and responses, stacked by shape.

    Nothing of the size raters x responses of everything is made; a prompt whose own table passes
    `MOST_CELLS` is left out (see `n_too_large`).
    """
    if not len(ratings):
        return
    local_rater, raters, n_raters = _local(ratings.prompt, ratings.rater)
    local_response, responses, n_responses = _local(ratings.prompt, ratings.response)
    cells = n_raters * n_responses
    usable = (n_raters > 1) & (n_responses > 1) & (cells <= MOST_CELLS)
    shapes = np.unique(np.stack([n_raters[usable], n_responses[usable]], axis=1), axis=0)
    rater_start = np.cumsum(n_raters) - n_raters
    response_start = np.cumsum(n_responses) - n_responses
    for m, n in shapes.tolist():
        members = np.flatnonzero(usable & (n_raters == m) & (n_responses == n))
        step = max(1, MOST_CELLS // 5 // (m * n))
        for start in range(0, len(members), step):
            codes = members[start : start + step]
            place = np.full(len(n_raters), -1, dtype=np.int64)
            place[codes] = np.arange(len(codes))
            mine = place[ratings.prompt] >= 0
            values = np.full((len(codes), m, n), np.nan)
            values[place[ratings.prompt[mine]], local_rater[mine], local_response[mine]] = (
                ratings.value[mine]
            )
            yield PromptTables(
                codes,
                raters[rater_start[codes][:, None] + np.arange(m)],
                responses[response_start[codes][:, None] + np.arange(n)],
                values,
            )


class Rotation(NamedTuple):
    """Prompts of which most raters saw only part of the responses.

    Attributes:
        n_prompts: how many.
        n_balanced: of them balanced: each rater saw as many responses, each response has as many
            raters, and each pair of responses met as often.
        seen: fewest and most responses that a rater saw of a prompt.
        responses: fewest and most responses of a prompt.
    """

    n_prompts: int
    n_balanced: int
    seen: tuple[int, int]
    responses: tuple[int, int]


def rotation_of(ratings: Ratings) -> Rotation | None:
    """Returns the prompts that were rated in rotation; None where there are none.

    In such a prompt fewer than half of the raters of two responses or more rated all of it. Raters
    who give one value throughout do not count.
    """
    ratings = ratings.select(~np.isin(ratings.rater, constant_raters(ratings)))
    sizes: list[int] = []
    responses: list[int] = []
    n_balanced = 0
    for tables in prompt_tables(ratings):
        is_seen = ~np.isnan(tables.values)
        usable = (is_seen.sum(axis=2) >= 2).sum(axis=1)
        rotated = (usable >= 2) & (2 * tables.complete.sum(axis=1) < usable)
        for seen in is_seen[rotated]:
            n_seen = seen.sum(axis=1)
            sizes += n_seen[n_seen > 1].tolist()
            responses.append(seen.shape[1])
            n_balanced += _is_balanced(seen[n_seen > 1])
    if not responses:
        return None
    return Rotation(
        len(responses), n_balanced, (min(sizes), max(sizes)), (min(responses), max(responses))
    )


def _is_balanced(seen: npt.NDArray[np.bool_]) -> bool:
    """Whether a table (raters, responses) is a balanced incomplete block design.

    Equal are the responses of each rater, the raters of each response, and those of each pair.
    """
    seen = seen[:, seen.any(axis=0)]
    together = seen.T.astype(np.int64) @ seen.astype(np.int64)
    meetings = together[~np.eye(len(together), dtype=bool)]
    counts = (seen.sum(axis=1), np.diag(together), meetings)
    return bool(meetings.min() > 0) and all(count.min() == count.max() for count in counts)


def constant_raters(ratings: Ratings) -> Integers:
    """Returns the raters (codes) who gave one value throughout, in two ratings or more."""
    raters, j = np.unique(ratings.rater, return_inverse=True)
    low, high = np.full(len(raters), np.inf), np.full(len(raters), -np.inf)
    np.minimum.at(low, j, ratings.value)
    np.maximum.at(high, j, ratings.value)
    found: Integers = raters[(low == high) & (np.bincount(j, minlength=len(raters)) > 1)]
    return found


def n_too_large(ratings: Ratings) -> int:
    """Returns how many prompts are too large for a table of their own."""
    if not len(ratings):
        return 0
    _, _, n_raters = _local(ratings.prompt, ratings.rater)
    _, _, n_responses = _local(ratings.prompt, ratings.response)
    return int((n_raters * n_responses > MOST_CELLS).sum())


def by_place(ratings: Ratings) -> Floats | None:
    """Returns ratings as (places, responses): who rated is forgotten, what was rated is kept.

    Alpha and AC2 do not ask who the raters were, so that a thousand raters of whom five saw each
    response make five rows. None where one response has so many ratings that this is too large.
    """
    responses, column = np.unique(ratings.response, return_inverse=True)
    order = np.argsort(column, kind="stable")
    sizes = np.bincount(column, minlength=len(responses))
    if not len(sizes) or int(sizes.max()) * len(responses) > MOST_CELLS:
        return None
    row = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    table = np.full((int(sizes.max()), len(responses)), np.nan)
    table[row, column[order]] = ratings.value[order]
    return table


def _local(prompt: Integers, code: Integers) -> tuple[Integers, Integers, Integers]:
    """Returns each rating's place among its prompt's codes, those codes, and their number."""
    width = int(code.max()) + 1
    found, inverse = np.unique(prompt * width + code, return_inverse=True)
    owner, codes = np.divmod(found, width)
    counts = np.bincount(owner, minlength=int(prompt.max()) + 1).astype(np.int64)
    starts = np.cumsum(counts) - counts
    return inverse.reshape(-1) - starts[prompt], codes, counts
