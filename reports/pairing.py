"""Two runs' scores on the same responses, or on the same prompts by the same respondents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .numbers import parsed

if TYPE_CHECKING:
    from ..aggregation.estimate import Estimate

Floats = npt.NDArray[np.float64]
Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Values of two runs, side by side.

    Attributes:
        unit: "response" or "respondent on a prompt": what a pair is.
        keys: shape (pairs,), names of the pairs: (response, prompt, respondent), the first ""
            where the pair is no response.
        first, second: shape (pairs, columns): composite, then the criteria; nan = no score.
    """

    unit: str
    keys: tuple[tuple[str, str, str], ...]
    first: Floats
    second: Floats


@dataclass(frozen=True, slots=True)
class Difference:
    """How one column differs, second minus first.

    Attributes:
        interval: mean over prompts of the prompts' mean differences, with its t interval.
        n_pairs: pairs scored in both runs.
        sd: SD of the single differences; nan below two.
        tau: Kendall's tau-b between the runs over the pairs; nan where undefined.
    """

    interval: Estimate
    n_pairs: int
    sd: float
    tau: float


def pairs_of(
    first: Sequence[Row], second: Sequence[Row], columns: Sequence[str], *, different: set[str]
) -> Pairs:
    """The pairs of two tables of scores.

    Responses are paired by their id, where prompt and respondent are the same as well. Where the
    runs share none, the means of each respondent on each prompt are.

    Args:
        first, second: rows of scores.csv.
        columns: "composite" and the criteria.
        different: ids whose texts are known to differ between the runs: never paired.
    """
    here = {row["response_id"]: row for row in first}
    shared = [
        (here[row["response_id"]], row)
        for row in second
        if row["response_id"] in here
        and row["response_id"] not in different
        and _place(here[row["response_id"]]) == _place(row)
    ]
    if shared:
        return Pairs(
            "response",
            tuple(
                (row["response_id"], row["prompt_id"], row["respondent_id"]) for row, _ in shared
            ),
            _table([_values(one, columns) for one, _ in shared], columns),
            _table([_values(other, columns) for _, other in shared], columns),
        )
    left, right = _by_place(first, columns), _by_place(second, columns)
    places = [place for place in left if place in right]
    return Pairs(
        "respondent on a prompt",
        tuple(("", prompt, respondent) for prompt, respondent in places),
        _table([left[place] for place in places], columns),
        _table([right[place] for place in places], columns),
    )


def differences(pairs: Pairs) -> list[Difference]:
    """The differences, one a column, with prompts as the unit."""
    from ..aggregation.intervals import t_interval
    from ..aggregation.kendall import kendall_tau_b

    prompts = [prompt for _, prompt, _ in pairs.keys]
    found = []
    for column in range(pairs.first.shape[1]):
        left, right = pairs.first[:, column], pairs.second[:, column]
        known = ~(np.isnan(left) | np.isnan(right))
        delta = (right - left)[known]
        by_prompt: dict[str, list[float]] = {}
        for place, value in zip(np.flatnonzero(known).tolist(), delta.tolist(), strict=True):
            by_prompt.setdefault(prompts[place], []).append(value)
        means = [sum(values) / len(values) for values in by_prompt.values()]
        found.append(
            Difference(
                interval=t_interval(means),
                n_pairs=int(known.sum()),
                sd=float(delta.std(ddof=1)) if len(delta) > 1 else float("nan"),
                tau=kendall_tau_b(left[known], right[known]) if len(delta) > 1 else float("nan"),
            )
        )
    return found


def _place(row: Row) -> tuple[str, str]:
    return row["prompt_id"], row["respondent_id"]


def _values(row: Row, columns: Sequence[str]) -> list[float]:
    numbers = [parsed(row.get(name)) for name in columns]
    return [float("nan") if value is None else value for value in numbers]


def _by_place(rows: Sequence[Row], columns: Sequence[str]) -> dict[tuple[str, str], list[float]]:
    gathered: dict[tuple[str, str], list[list[float]]] = {}
    for row in rows:
        if parsed(row["composite"]) is not None:
            gathered.setdefault(_place(row), []).append(_values(row, columns))
    return {place: np.mean(values, axis=0).tolist() for place, values in gathered.items()}


def _table(rows: Sequence[Sequence[float]], columns: Sequence[str]) -> Floats:
    return np.asarray(rows, dtype=np.float64).reshape(len(rows), len(columns))
