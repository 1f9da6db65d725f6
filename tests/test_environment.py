"""What is derived from the environment is kept for as long as no variable changes."""

from __future__ import annotations

import pytest

from areopagus.environment import environment_state

NAME = "AREOPAGUS_TEST_VARIABLE"


def test_the_state_is_another_one_after_every_change(monkeypatch: pytest.MonkeyPatch) -> None:
    states = [environment_state()]
    for value in ("one", "two", "one"):
        monkeypatch.setenv(NAME, value)
        states.append(environment_state())
    monkeypatch.delenv(NAME)
    states.append(environment_state())
    assert len(set(states)) == len(states)


def test_the_state_is_the_same_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "one")
    state = environment_state()
    monkeypatch.setenv(NAME, "one")
    assert environment_state() == state
