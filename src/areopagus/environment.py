"""The environment's variables, and whether they are still the same."""

from __future__ import annotations

import os
from collections.abc import Hashable


def environment_state() -> Hashable:
    """Something that is equal for as long as no variable is set, changed or taken away.

    What is derived from the environment at every call is kept together with this: to compare it
    takes a few millionths of a second, to decode every variable ten times that.
    """
    # The encoded variables, as CPython keeps them; elsewhere the decoded ones do as well.
    return tuple(getattr(os.environ, "_data", os.environ).items())
