"""Which of a group's phrasings goes with which rephrasing of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Place = TypeVar("Place", int, "NDArray[np.int64]")


def phrasing_at(scenario: Place, rephrasing: Place, n_phrasings: int) -> Place:
    """The phrasing's place when phrasings rotate: (scenario + rephrasing) mod phrasings.

    Within a scenario every phrasing comes up equally often, or one time more than another; and
    over scenarios each phrasing meets each rephrasing equally often, up to one. So neither is a
    phrasing bound to a wording, nor is a group's mean bound to one phrasing.

    Args:
        scenario: place of the scenario among all, from 0; or an array of them.
        rephrasing: place of the wording, from 0; likewise.
        n_phrasings: of the group, at least 1.
    """
    return (scenario + rephrasing) % n_phrasings


def phrasings_at(scenario: int, rephrasing: int, n_phrasings: int, *, crossed: bool) -> range:
    """The phrasings asked of a scenario's wording: all of them if crossed, else one."""
    if crossed:
        return range(n_phrasings)
    at = phrasing_at(scenario, rephrasing, n_phrasings)
    return range(at, at + 1)
