"""Sentences on what does not fit in a file of ratings: each kind counted, each place with its rows.

The same words stand in `humans inspect`, in a printed report and on its page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...formats import short
from .match import SHOWN, OtherPrompt, OutOfRange, Places, Repeated

PLACES_SHOWN = 5
ROWS_SHOWN = 6
NAME_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Misfit:
    """One kind of what does not fit.

    Attributes:
        n: how many ratings (of raters: how many raters).
        said: the count as a sentence, without a full stop.
        places: where, one phrase a place; those that were kept.
        n_places: all places.
    """

    n: int
    said: str
    places: tuple[str, ...]
    n_places: int

    def shown(self, most: int = PLACES_SHOWN) -> list[str]:
        """Returns the first places, and how many more there are."""
        left = self.n_places - len(self.places[:most])
        return [*self.places[:most], *([f"and {left:,} more"] if left > 0 else [])]


def joined(places: Iterable[Places]) -> tuple[Places, ...]:
    """Returns each id once, with the ratings and rows of all its entries."""
    found: dict[str, tuple[int, tuple[int, ...]]] = {}
    for name, n, rows in places:
        before, lines = found.get(name, (0, ()))
        found[name] = (before + n, tuple(sorted((*lines, *rows))))
    return tuple(Places(name, n, rows) for name, (n, rows) in found.items())


def off_scale(n: int, places: Sequence[OutOfRange]) -> Misfit:
    """Scores off the scale, and ranks below 1."""
    return _misfit(
        n, n, "rating is off the scale, and left out", "ratings are off the scale, and left out",
        (
            f"{value:g} by {rater} of {short(response, NAME_SHOWN)}, {criterion}: row {row}"
            for rater, response, criterion, value, row in places
        ),
    )  # fmt: skip


def repeated(n: int, places: Sequence[Repeated]) -> Misfit:
    """Ratings beyond a rater's first of a response."""
    return _misfit(
        n, len(places) if len(places) < SHOWN else n,
        "rating repeats an earlier one of the same rater; the first stands",
        "ratings repeat an earlier one of the same rater; the first stands",
        (
            f"{rater} of {short(response, NAME_SHOWN)}, {criterion}, {kind}: "
            f"{', '.join(f'{value:g}' for value in values[:ROWS_SHOWN])} in {rows_said(rows)}"
            for rater, response, criterion, kind, values, rows in places
        ),
    )  # fmt: skip


def unknown_raters(places: Sequence[Places]) -> Misfit:
    """Raters that the roster does not name or approve."""
    return _misfit(
        len(places), len(places), "rater is not on the roster; the ratings count",
        "raters are not on the roster; their ratings count",
        (f"{rater}: {_ratings(n)}, {rows_said(rows, n)}" for rater, n, rows in places),
    )  # fmt: skip


def unmatched(n: int, places: Sequence[Places]) -> Misfit:
    """Ratings of responses that the run does not have."""
    return _misfit(
        n, len(places), "rating is of a response that the run does not have, and left out",
        "ratings are of responses that the run does not have, and left out",
        (
            f"no such response: {short(name, NAME_SHOWN)} ({_ratings(k)}, {rows_said(rows, k)})"
            for name, k, rows in places
        ),
    )  # fmt: skip


def other_prompts(places: Sequence[OtherPrompt]) -> Misfit:
    """Responses that stand under another prompt in the run."""
    return _misfit(
        len(places), len(places), "response stands under another prompt in the run, which holds",
        "responses stand under another prompt in the run, which holds",
        (
            f"{response}: {here} here, {there} in the run ({_ratings(n)}, {rows_said(rows, n)})"
            for response, here, there, n, rows in places
        ),
    )  # fmt: skip


def rows_said(rows: Sequence[int], n: int | None = None) -> str:
    """Returns "row 4", or "rows 4, 7 and 12 more".

    Args:
        rows: the rows that were kept.
        n: all of them, where not all were kept.
    """
    left = (len(rows) if n is None else n) - len(rows[:ROWS_SHOWN])
    words = ", ".join(map(str, rows[:ROWS_SHOWN])) or "unknown"
    more = f" and {left:,} more" if left > 0 else ""
    return f"{'row' if len(rows) == 1 and not more else 'rows'} {words}{more}"


def _ratings(n: int) -> str:
    return f"{n:,} rating" if n == 1 else f"{n:,} ratings"


def _misfit(n: int, n_places: int, one: str, many: str, places: Iterable[str]) -> Misfit:
    return Misfit(n, f"{n:,} {one if n == 1 else many}", tuple(places), n_places)
