"""Matches human ratings to the responses of a run; what does not fit is listed with its rows."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .table import HumanTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

Scale = tuple[float, float] | Mapping[str, tuple[float, float]]
"""Lowest and highest score: one for all criteria, or by criterion."""

SHOWN = 1000
"""So many of each kind are spelled out, and so many rows of each; all are counted."""


class Places(NamedTuple):
    """An id and the ratings it stands in: how many, and the first rows."""

    id: str
    n: int
    lines: tuple[int, ...]


class Repeated(NamedTuple):
    """One rater's several ratings of one response on one criterion (and kind); the first stands."""

    rater_id: str
    response_id: str
    criterion: str
    kind: str
    values: tuple[float, ...]
    lines: tuple[int, ...]


class OutOfRange(NamedTuple):
    """A score off the scale, or a rank below 1."""

    rater_id: str
    response_id: str
    criterion: str
    value: float
    line: int


class OtherPrompt(NamedTuple):
    """A response whose ratings name another prompt than the run does."""

    response_id: str
    prompt_id: str
    expected: str
    n: int
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MatchReport:
    """What fits and what does not. Nothing is removed from the table.

    Attributes:
        n_ratings: ratings in the table.
        n_matched: those whose response is in the run.
        n_raters, n_responses_rated: different raters; responses of the run with a rating.
        n_responses: responses in the run.
        unmatched_ratings: rated responses that the run does not have.
        unrated_responses: responses of the run without a rating.
        repeated: ratings given more than once; `n_repeated` counts the ratings beyond the first.
        out_of_range: ratings off the scale; `n_out_of_range` counts all.
        unknown_raters: raters that the roster does not approve.
        other_prompts: ratings whose prompt differs from the run's.
    """

    n_ratings: int
    n_matched: int
    n_raters: int
    n_responses_rated: int
    n_responses: int
    unmatched_ratings: tuple[Places, ...]
    unrated_responses: tuple[str, ...]
    repeated: tuple[Repeated, ...]
    n_repeated: int
    out_of_range: tuple[OutOfRange, ...]
    n_out_of_range: int
    unknown_raters: tuple[Places, ...]
    other_prompts: tuple[OtherPrompt, ...]

    @property
    def is_clean(self) -> bool:
        """Whether every rating fits; responses that nobody rated do not count against it."""
        return not (
            self.unmatched_ratings
            or self.n_repeated
            or self.n_out_of_range
            or self.unknown_raters
            or self.other_prompts
        )


def match(
    table: HumanTable,
    responses: Mapping[str, str] | Iterable[str],
    *,
    scale: Scale | None = None,
    raters: Collection[str] | None = None,
) -> MatchReport:
    """Returns how the ratings fit the responses of a run.

    Args:
        table: the ratings.
        responses: the run's response ids, or response to prompt.
        scale: see `Scale`; without it only ranks are checked (at least 1). A criterion that a
            mapping does not name is not checked.
        raters: the raters there may be; by default any.
    """
    import numpy as np

    prompt_of = dict(responses) if isinstance(responses, Mapping) else {}
    known = dict.fromkeys(responses)
    names = table.response_id.names
    is_known = np.array([name in known for name in names], dtype=bool)
    codes = table.response_id.codes
    matched = is_known[codes] if len(table) else np.zeros(0, dtype=bool)
    rated = set(table.response_id.used())
    out = np.flatnonzero(off_scale(table, scale))
    repeated, n_repeated = _repeated(table)
    strangers: tuple[Places, ...] = ()
    if raters is not None:
        allowed = set(raters)
        wrong = np.array([name not in allowed for name in table.rater_id.names], dtype=bool)
        strangers = _places(table, table.rater_id.codes, table.rater_id.names, wrong)
    return MatchReport(
        n_ratings=len(table),
        n_matched=int(matched.sum()),
        n_raters=len(table.rater_id.used()),
        n_responses_rated=sum(name in rated for name in known),
        n_responses=len(known),
        unmatched_ratings=_places(table, codes, names, ~is_known),
        unrated_responses=tuple(name for name in known if name not in rated),
        repeated=repeated,
        n_repeated=n_repeated,
        out_of_range=tuple(
            OutOfRange(
                table.rater_id.names[table.rater_id.codes[at]],
                names[codes[at]],
                table.criterion.names[table.criterion.codes[at]],
                float(table.value[at]),
                int(table.line[at]),
            )
            for at in out[:SHOWN].tolist()
        ),
        n_out_of_range=len(out),
        unknown_raters=strangers,
        other_prompts=_other_prompts(table, prompt_of),
    )


def _places(
    table: HumanTable, codes: NDArray[Any], names: tuple[str, ...], is_wrong: NDArray[Any]
) -> tuple[Places, ...]:
    """Returns each wrong name that occurs, by order of first appearance, with its rows."""
    import pandas as pd

    if not len(table) or not is_wrong.any():
        return ()
    lines: Any = pd.Series(table.line)[is_wrong[codes]]
    return tuple(
        Places(names[code], len(found), tuple(found[:SHOWN].tolist()))
        for code, found in lines.groupby(codes[lines.index])
    )


def _repeated(table: HumanTable) -> tuple[tuple[Repeated, ...], int]:
    import pandas as pd

    keys = ["rater", "response", "criterion", "is_rank"]
    ratings = pd.DataFrame(
        {
            "rater": table.rater_id.codes,
            "response": table.response_id.codes,
            "criterion": table.criterion.codes,
            "is_rank": table.is_rank,
            "value": table.value,
            "line": table.line,
        }
    )
    groups: Any = ratings[ratings.duplicated(keys, keep=False)].groupby(keys, sort=False)
    found = tuple(
        Repeated(
            table.rater_id.names[rater],
            table.response_id.names[response],
            table.criterion.names[criterion],
            "rank" if is_rank else "score",
            tuple(group["value"][:SHOWN].tolist()),
            tuple(group["line"][:SHOWN].tolist()),
        )
        for (rater, response, criterion, is_rank), group in itertools.islice(groups, SHOWN)
    )
    return found, int(ratings.duplicated(keys).sum())


def off_scale(table: HumanTable, scale: Scale | None) -> NDArray[Any]:
    """Returns bool of shape (ratings,): scores off the scale, and ranks below 1.

    Args:
        table: the ratings.
        scale: see `Scale`; None checks ranks only.
    """
    wrong: NDArray[Any] = table.is_rank & (table.value < 1)
    if isinstance(scale, tuple):
        low, high = scale
        wrong = wrong | (~table.is_rank & ((table.value < low) | (table.value > high)))
    elif scale is not None:
        for code, name in enumerate(table.criterion.names):
            if name in scale:
                low, high = scale[name]
                here = (table.criterion.codes == code) & ~table.is_rank
                wrong = wrong | (here & ((table.value < low) | (table.value > high)))
    return wrong


def _other_prompts(table: HumanTable, prompt_of: Mapping[str, str]) -> tuple[OtherPrompt, ...]:
    import pandas as pd

    if not prompt_of or not len(table):
        return ()
    ratings = pd.DataFrame(
        {
            "response": table.response_id.texts(),
            "stated": table.prompt_id.texts(),
            "line": table.line,
        }
    )
    ratings["expected"] = ratings["response"].map(dict(prompt_of))
    other = ratings.dropna()
    other = other[other["stated"] != other["expected"]]
    groups: Any = other.groupby(["response", "stated", "expected"], sort=False)["line"]
    return tuple(
        OtherPrompt(response, stated, expected, len(lines), tuple(lines[:SHOWN].tolist()))
        for (response, stated, expected), lines in itertools.islice(groups, SHOWN)
    )
