"""The environment's variables, and whether they are still the same."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from typing import Any

_numbers = itertools.count(1)
_seen: list[tuple[Mapping[Any, Any], int]] = [({}, 0)]


def environment_state() -> int:
    """A number that stays the same for as long as no variable is set, changed or taken away.

    What is derived from the environment at every call is kept together with this: to compare the
    variables takes a fraction of a millionth of a second, to decode them all a hundred times that.
    """
    # The encoded variables, as CPython keeps them; elsewhere the decoded ones do as well.
    variables = getattr(os.environ, "_data", os.environ)
    known, number = _seen[0]
    if variables != known:
        # In one step: another thread must not see the new variables with the old number.
        number = next(_numbers)
        _seen[0] = dict(variables), number
    return number
