"""What is derived from the environment is kept for as long as no variable changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from areopagus import environment
from areopagus.environment import environment_secrets, environment_state, holds_key, home

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


def test_a_variable_said_to_hold_a_key_is_a_secret_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(environment, "_key_names", set[str]())
    monkeypatch.setenv(NAME, "some-login")
    before = environment_state()
    assert NAME not in dict(environment_secrets()).values()
    holds_key(NAME)
    state = environment_state()
    assert state != before
    assert ("some-login", NAME) in environment_secrets()
    holds_key(NAME)
    assert environment_state() == state
    monkeypatch.setenv(NAME, "another")
    assert ("another", NAME) in environment_secrets()
    for value in ("", "key"):
        monkeypatch.setenv(NAME, value)
        assert NAME not in dict(environment_secrets()).values()
    monkeypatch.delenv(NAME)
    assert NAME not in dict(environment_secrets()).values()


def test_secrets_are_known_by_their_variables_names_and_the_longest_come_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_KEY", "abcdefgh")
    monkeypatch.setenv("b_token", "abcdefgh-and-more")
    monkeypatch.setenv("KEY_OF_C", "abcdefgh-of-c")
    monkeypatch.setenv("D_SECRET", "a word")
    found = dict(environment_secrets())
    assert (found["abcdefgh"], found["abcdefgh-and-more"]) == ("A_KEY", "b_token")
    assert not found.keys() & {"abcdefgh-of-c", "a word"}
    lengths = [len(value) for value, _ in environment_secrets()]
    assert lengths == sorted(lengths, reverse=True)


def test_the_home_is_the_variable_or_the_platform_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AREOPAGUS_HOME", str(tmp_path))
    assert home() == tmp_path
    for value in ("", None):
        monkeypatch.setenv("AREOPAGUS_HOME", "")
        if value is None:
            monkeypatch.delenv("AREOPAGUS_HOME")
        assert home().name == "areopagus"
