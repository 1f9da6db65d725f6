"""The environment: the user's folder, and which variables hold keys or have changed."""

from __future__ import annotations

import gc
import itertools
import os
import re
from collections.abc import Hashable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_SHORTEST = 8
_SHORTEST_OF_KEY = 4

_numbers = itertools.count(1)
_seen: list[tuple[Mapping[Any, Any] | None, int]] = [(None, 0)]
_key_names: set[str] = set()
_own: list[bool] = []


def home() -> Path:
    """The user's folder: `$AREOPAGUS_HOME`, else the platform's user data folder; not made here."""
    named = os.environ.get("AREOPAGUS_HOME")
    if named:
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("areopagus", appauthor=False))


def environment_state() -> int:
    """A number that stays the same for as long as no variable is set, changed or taken away.

    What is derived from the environment at every call is kept together with this: to compare the
    variables takes a fraction of a millionth of a second, to decode them all a hundred times that.
    It becomes another one also when a variable is first said to hold a key.
    """
    # The encoded variables, as CPython keeps them; elsewhere the decoded ones do as well.
    variables = getattr(os.environ, "_data", os.environ)
    known, number = _seen[0]
    if variables != known:
        # In one step: another thread must not see the new variables with the old number.
        number = next(_numbers)
        _seen[0] = dict(variables), number
    return number


def holds_key(name: str) -> None:
    """Says that this variable holds a key, however it is called; so it stays in this process."""
    if name not in _key_names:
        _key_names.add(name)
        # Only after that: a state that is counted from here on has the name in it.
        _seen[0] = None, 0


def environment_secrets() -> tuple[tuple[str, str], ...]:
    """Every secret that the environment holds, with its variable's name; the longest first.

    Of variables that are named as secrets a value under eight characters is taken for a word; of
    those that hold a key (see `holds_key`), one under four.
    """
    return _secrets_in(environment_state())


@lru_cache(maxsize=1)
def _secrets_in(_state: Hashable) -> tuple[tuple[str, str], ...]:
    """The secrets, while the environment is in this state."""
    found = {
        value: name
        for name, value in os.environ.items()
        if len(value) >= _SHORTEST and _SECRET_NAME.search(name)
    }
    for name in tuple(_key_names):
        value = os.environ.get(name, "")
        if len(value) >= _SHORTEST_OF_KEY:
            found[value] = name
    # One may be the beginning of another.
    return tuple(sorted(found.items(), key=lambda secret: len(secret[0]), reverse=True))


def own_process() -> None:
    """Says that nobody else works in this process: it is our own command line.

    There litellm, which prints advice when a call fails, may be told to be silent, and garbage is
    looked for less often: libraries hold half a million objects for good, and to look through them
    again and again takes a fifth of the time in which a command starts.
    """
    _own[:] = [True]
    gc.set_threshold(20_000)


def is_own_process() -> bool:
    """Whether this process is our own command line."""
    return bool(_own)
